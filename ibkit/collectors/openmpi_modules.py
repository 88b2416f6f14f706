"""Which transports an installation of Open MPI has, where they are files in a folder, as a rank sees that folder.

Open MPI 1 to 4 has a file for each module in ``$libdir/openmpi`` (Debian and Ubuntu: ``openmpi3``); where they are
built into its libraries, as 5 does it, there is no such file of any, and nothing is told.
Sources: opal/mca/base/mca_base_open.c and opal/mca/installdirs/env of Open MPI 4.1 (the folders, and the variables that
name others), config/opal_mca.m4 (``--enable-mca-dso``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ibkit.collectors.processes import PROC
from ibkit.parsers.records import NamedTuple
from ibkit.sources.base import Source

_LIBRARY = re.compile(r"(/.{1,400})/libmpi\.so[\d.]{0,20}\Z")
_FOLDERS = ("openmpi", "openmpi3")
_MODULE = re.compile(r"mca_((?:btl|mtl|pml)_[a-z0-9]{1,40})\.so\Z")
#: Each installation has these; where they are files, the others are, too.
_ALWAYS = frozenset(("btl_self", "btl_tcp", "pml_ob1"))
#: Variables by which modules are looked for elsewhere.
_ELSEWHERE = (
    "OMPI_MCA_mca_base_component_path", "OMPI_MCA_mca_component_path", "OPAL_PREFIX", "OPAL_LIBDIR", "OPAL_PKGLIBDIR",
)  # fmt: skip


class Modules(NamedTuple):
    """The modules for messages (``btl_tcp``), sorted, and the folder that has them."""

    folder: str
    names: tuple[str, ...]


def openmpi_modules(
    source: Source, pid: int, libraries: Sequence[str], environment: Mapping[str, str]
) -> Modules | None:
    """What a rank can load, of which ``libraries`` are mapped; None where it may have others, or none were seen."""
    library = next((match for one in libraries if (match := _LIBRARY.match(one))), None)
    home = environment.get("HOME")
    if library is None or home is None or any(name in environment for name in _ELSEWHERE):
        return None
    root = f"{PROC}/{pid}/root"
    if source.list(f"{root}{home}/.openmpi/components").error != "ENOENT":
        return None  # a user's own
    for name in _FOLDERS:
        folder = f"{library[1]}/{name}"
        found = {match[1] for file in source.list(f"{root}{folder}").names if (match := _MODULE.match(file))}
        if found >= _ALWAYS:
            return Modules(folder, tuple(sorted(found)))
    return None
