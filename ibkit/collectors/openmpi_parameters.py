"""What Open MPI's parameter files say about its transports, as a rank sees these files.

``~/.openmpi/mca-params.conf`` is read before ``openmpi-mca-params.conf`` of the installation, and the first one that
has a parameter counts; ``openmpi-mca-params-override.conf`` there counts for more, even than the environment.
Sources: opal/mca/base/mca_base_var.c and mca_base_parse_paramfile.c of Open MPI 4.1 and 5.0 (names, order, the syntax
``name = value``); where distributions put the files: /etc/openmpi (Debian, Ubuntu), /etc/openmpi-ARCH (Fedora, RHEL).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ibkit.collectors.processes import PROC
from ibkit.parsers.records import NamedTuple
from ibkit.sources.base import Source

_LIBRARY = re.compile(r"(?P<prefix>/.{0,400}?)/lib(?:32|64)?/(?:[^/]{1,100}/){0,3}lib(?:mpi|open-pal)\.so[\d.]{0,20}\Z")
_LINE = re.compile(r"[ \t]*((?:pml|btl|mtl)[a-z0-9_]{0,60})[ \t]*=[ \t]*([^\r\n]{0,400})")
_NAME = "openmpi-mca-params.conf"
_OVERRIDE = "openmpi-mca-params-override.conf"
_OF_A_USER = ".openmpi/mca-params.conf"
_LISTS = ("OMPI_MCA_mca_base_param_files", "OMPI_MCA_mca_param_files")
_MAX_BYTES = 1 << 20


class Parameter(NamedTuple):
    """A line of a parameter file; ``file`` is its path as the rank sees it."""

    name: str
    value: str
    file: str
    line: int
    text: str


def openmpi_parameters(
    source: Source, pid: int, libraries: Sequence[str], environment: Mapping[str, str]
) -> tuple[Parameter, ...]:
    """The parameters for transports that files give a rank, as far as nothing stronger gives it another value.

    ``libraries`` are the ones that it has mapped: those of Open MPI tell where its files are. None for other MPIs.
    """
    library = next((match for one in libraries if (match := _LIBRARY.match(one))), None)
    if library is None:
        return ()
    folders = list(_folders(environment.get("OPAL_PREFIX") or library["prefix"]))
    listed = next((environment[name] for name in _LISTS if environment.get(name)), None)
    files = re.split("[,:]", listed) if listed is not None else []
    if listed is None:
        if home := environment.get("HOME"):
            files.append(f"{home}/{_OF_A_USER}")
        files += [f"{folder}/{_NAME}" for folder in folders]
    found: dict[str, Parameter] = {}
    for path in (f"{folder}/{_OVERRIDE}" for folder in folders):
        for one in _read(source, pid, path):
            found.setdefault(one.name, one)
    for path in files:
        for one in _read(source, pid, path):
            if f"OMPI_MCA_{one.name}" not in environment:
                found.setdefault(one.name, one)
    return tuple(found.values())


def _folders(prefix: str) -> Iterator[str]:
    """Where an installation below ``prefix`` keeps its files."""
    yield f"{prefix}/etc"
    if prefix == "/usr":
        yield "/etc/openmpi"
        yield "/etc/openmpi-x86_64"
        yield "/etc/openmpi-aarch64"


def _read(source: Source, pid: int, path: str) -> Iterator[Parameter]:
    """The lines of one file, of several with one name the last one, as it replaces those before."""
    if not path.startswith("/"):
        return
    text = source.read(f"{PROC}/{pid}/root{path}").text or ""
    last: dict[str, Parameter] = {}
    for number, line in enumerate(text[:_MAX_BYTES].split("\n"), 1):
        if found := _LINE.match(line):
            value = found[2].strip().strip("\"'")
            last[found[1]] = Parameter(found[1], value, path, number, line.strip())
    yield from last.values()
