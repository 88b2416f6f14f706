"""Whether ibacm, where it runs, serves anything."""

from __future__ import annotations

from collections.abc import Iterator

from ibkit.collectors.acm import collect_acm
from ibkit.model.checks import BROKEN, LIMITED, OK, Check, Fix
from ibkit.sources.base import Source

_MEANS = "librdmacm asks it for paths to InfiniBand hosts, and `ibkit resolve` for what it knows"
_RESTART = Fix("any", "systemctl restart ibacm")


def acm_checks(source: Source) -> Iterator[Check]:
    """One check where ibacm runs; a host without it lacks nothing."""
    service = collect_acm(source)
    if not service.is_running:
        return
    if service.endpoints is None:
        yield Check("ibacm", BROKEN, "; ".join(problem.text for problem in service.problems), _MEANS, (_RESTART,))
    elif not service.endpoints:
        text = "ibacm runs and serves no port: it knows no name and no IPoIB address of an active InfiniBand port"
        look = Fix("any", "ibkit cache check /etc/rdma   # what is wrong with its files")
        yield Check("ibacm", LIMITED, text, _MEANS, (look, Fix("any", "ib_acme -A"), _RESTART))
    else:
        names = ", ".join(end.addresses[0] if end.addresses else "?" for end in service.endpoints)
        yield Check("ibacm", OK, f"ibacm serves {len(service.endpoints)} endpoints: {names}", _MEANS)
