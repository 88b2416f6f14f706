"""What MPICH can be asked for in the next run, by the release and the device that a log shows.

MPIR_CVAR_DEBUG_SUMMARY is from 4.0 on; before 4.3 its 2 ends the job, and from then on shows each rank's place. 3.4 has
another name for it, which later ones still take. Sources: pmodels/mpich src/mpi/init/mpi_init.h and
src/mpid/ch4/netmod/ofi/ofi_init.c at their release tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_UCX = "UCX_LOG_LEVEL=info"
_OLD_SUMMARY = "MPIR_CVAR_CH4_OFI_CAPABILITY_SETS_DEBUG=1"
_LIST = "put the host list or the job's environment (SLURM_JOB_NUM_NODES) beside the log"
_NUMBERS = re.compile(r"(\d{1,3})\.(\d{1,3})")


def transport_step(version: str | None, devices: Iterable[str] = ()) -> str:
    """What makes it tell its transport.

    >>> transport_step("4.1.2", ["ch4:ofi"])
    'run again with MPIR_CVAR_DEBUG_SUMMARY=1'
    """
    modules = {name for device in devices for name in re.split("[:,]", device)}
    if "ucx" in modules and "ofi" not in modules:
        return f"run again with {_UCX}"
    summary = _summary(version)
    return (
        f"run again with {summary}" if "ofi" in modules else f"run again with {_UCX} (ch4:ucx) or {summary} (ch4:ofi)"
    )


def hosts_step(version: str | None, *, has_rows: bool = False) -> str:
    """What shows how many hosts there are; ``has_rows``: some of its ranks have told their places already."""
    release = _release(version)
    if has_rows:
        return f"not all ranks' places are in the log: give the whole output, or {_LIST}"
    if release is None:
        return f"{_LIST}, or run again with MPIR_CVAR_DEBUG_SUMMARY=2 (4.3 or later), which shows each rank's place"
    if release < (4, 3):
        return f"{_LIST}: this release does not show its ranks' places"
    return "run again with MPIR_CVAR_DEBUG_SUMMARY=2, which shows each rank's place"


def sharing_step(version: str | None, otherwise: str) -> str:
    """What shows that the ranks of one host share memory; ``otherwise`` is another way."""
    release = _release(version)
    if release is None:
        return f"run again with MPIR_CVAR_DEBUG_SUMMARY=2 (4.3 or later), or {otherwise}"
    return otherwise if release < (4, 3) else f"run again with MPIR_CVAR_DEBUG_SUMMARY=2, or {otherwise}"


def _summary(version: str | None) -> str:
    release = _release(version)
    if release is None:
        return "MPIR_CVAR_DEBUG_SUMMARY=1 (4.0 or later)"
    if release < (3, 4):
        return "FI_LOG_LEVEL=info"
    return _OLD_SUMMARY if release < (4, 0) else f"MPIR_CVAR_DEBUG_SUMMARY={1 if release < (4, 3) else 2}"


def _release(version: str | None) -> tuple[int, int] | None:
    found = _NUMBERS.match(version or "")
    return (int(found.group(1)), int(found.group(2))) if found else None
