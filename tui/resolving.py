"""Resolves what was typed, in a collector's thread."""

from __future__ import annotations

from ibkit.model.resolution import DEFAULT_SOURCES, Resolution
from ibkit.resolve.queries import read_queries
from ibkit.resolve.resolver import Resolver
from ibkit.resolve.view import MANY_QUERIES, View, host_of, now_of
from ibkit.sources.site import Site


def resolve(site: Site, text: str) -> Resolution:
    """The answers to one line of addresses. Raises IbkitError for brackets that do not fit."""
    queries = list(read_queries(text.split()))
    view = View(site, host_of(site, None), now=now_of(site), many=len(queries) >= MANY_QUERIES)
    return Resolver(view, DEFAULT_SOURCES).resolve(queries)
