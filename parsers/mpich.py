"""MPICH's summary of its libfabric module, in logs of a job; MVAPICH 3 and 4 print the same.

``MPIR_CVAR_DEBUG_SUMMARY=1`` makes rank 0 print the candidates (``provider: NAME, score = 5, ...``, which decide
nothing) and the chosen one (``libfabric provider: NAME - FABRIC``); ``=2`` adds a row for every rank with its place on
its host and its NIC. Source: pmodels/mpich src/mpid/ch4/netmod/ofi/ofi_init.c and ofi_nic.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.parsers.job_facts import Failure, Provider, RankPlace, Said
from ibkit.parsers.log_lines import CONTEXT, IGNORE, Line, shape

NAME = "MPICH"
#: Intel MPI's line has "MPI startup(): " before it.
_PROVIDER = re.compile(r"\s{0,9}libfabric provider: {1,9}(\S[^\n]{0,80}?)(?: - (\S.{0,200}?))?\s{0,99}\Z")
_RANK = re.compile(r"\s{0,9}Rank: (\d{1,7}), Local_rank: (\d{1,7}), NIC: (\S.{0,200})\Z")
_NO_PROVIDER = re.compile(r"OFI fi_getinfo\(\) failure|No valid libfabric provider|OFI addrinfo\(\) failed")
_MARKS = (
    b"libfabric provider: ",
    b"Local_rank: ",
    b"OFI fi_getinfo() failure",
    b"No valid libfabric",
    b"OFI addrinfo()",
)
_SHAPES = re.compile(b"|".join(re.escape(shape(mark)) for mark in _MARKS))


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader. Rows of ranks of two jobs may be alike."""
    return CONTEXT if _SHAPES.search(form) else IGNORE


def read(line: Line) -> Iterator[Provider | RankPlace | Failure]:
    """What the line says. Never raises."""
    said = Said(line.number, line.raw, None, None, line.rank)
    if found := _PROVIDER.match(line.text):
        yield Provider(said, NAME, found.group(1), found.group(2))
    elif found := _RANK.match(line.text):
        yield RankPlace(said, NAME, int(found.group(1)), None, int(found.group(2)))
    elif _NO_PROVIDER.search(line.text):
        yield Failure(said, "mpich", "no-provider", True)
