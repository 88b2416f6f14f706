"""Resolves what was typed, in a collector's thread."""

from __future__ import annotations

import time

from ibkit.model.resolution import DEFAULT_SOURCES, Resolution
from ibkit.resolve.queries import read_queries
from ibkit.resolve.resolver import Resolver
from ibkit.resolve.view import MANY_QUERIES, View
from ibkit.sources.site import Host, Site


def resolve(site: Site, text: str) -> Resolution:
    """The answers to one line of addresses. Raises IbkitError for brackets that do not fit."""
    queries = list(read_queries(text.split()))
    host = site.hosts[0] if site.hosts else Host("", site.subnet)
    view = View(site, host, now=_now_of(site), many=len(queries) >= MANY_QUERIES)
    return Resolver(view, DEFAULT_SOURCES).resolve(queries)


def _now_of(site: Site) -> float | None:
    """The time that ages are counted against: a capture's own, else now."""
    if site.origin.kind == "live":
        return time.time()
    from datetime import datetime

    try:
        return datetime.fromisoformat(site.origin.time or "").timestamp()
    except (ValueError, OverflowError, OSError):
        return None
