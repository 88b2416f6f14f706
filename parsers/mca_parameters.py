"""Open MPI's parameter files, as a job script prints them or as they lie beside a log, and ``ompi_info``'s parameters.

Only the two parameters that choose what carries the data are read, and only with names of Open MPI's own modules: a
program's ``btl = 3`` is none of them. An indented line may be an advice. What ``ompi_info`` calls the current value of
these is empty unless somebody has set it. Sources: opal/util/keyval of Open MPI (``name = value``), mca_base_var.c
(``current value: "...", data source: file (...)``, ``mca:btl:base:param:btl:value:...``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.parsers.job_facts import Said, Setting
from ibkit.parsers.log_lines import IGNORE, KEEP, Line, shape

_MODULES = {
    "btl": frozenset(
        ("self", "sm", "vader", "smcuda", "tcp", "sctp", "openib", "ofi", "uct", "usnic", "ugni", "mx", "udapl",
         "mvapi", "scif", "portals4", "gm", "elan")
    ),
    "pml": frozenset(("ob1", "ucx", "cm", "yalla", "dr", "bfo", "csum", "monitoring", "v")),
}  # fmt: skip
_VALUE = r"(\^?\w{1,20}(?:, ?\w{1,20}){0,20})"
_LINE = re.compile(rf"(btl|pml)[ \t]{{0,20}}=[ \t]{{0,20}}[\"']?{_VALUE}[\"']?[ \t]{{0,20}}\Z")
_INFO = re.compile(
    rf"[ \t]{{0,40}}MCA (?:btl|pml)(?: base)?: (?:parameter|information) \"(btl|pml)\" \(current value: "
    rf"\"{_VALUE}\"[,)]"
    rf"|mca:(?:btl|pml):base:param:(btl|pml):value:\"?{_VALUE}\"?\Z"
)
#: Each shape is looked at: the words of a module's name may be gone from it.
_SHAPES = re.compile(
    rb"(?:tl|pml)(?:[ \t]|\\t){0,20}=|(?:tl|pml)\\{0,4}\" \("
    + re.escape(shape(b"current value"))
    + rb"|:prm:(?:tl|pml):vlu:"
)


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader."""
    return KEEP if _SHAPES.search(form) else IGNORE


def read(line: Line) -> Iterator[Setting]:
    """What the line sets, unless the environment or a command line does. Never raises."""
    found = _LINE.match(line.text) or _INFO.match(line.text)
    if not found or "data source: default" in line.text:
        return
    name, value = (group for group in found.groups() if group is not None)
    names = value.lstrip("^").replace(" ", "").split(",")
    if _MODULES[name].issuperset(names):
        said = Said(line.number, line.raw, None, None, line.rank)
        yield Setting(said, "ompi", name, value.replace(" ", ""), scope="parameters")
