"""Lines of Open MPI's parameter files and of ompi_info: which of them set what carries the data."""

from __future__ import annotations

import pytest

from ibkit.parsers.log_lines import IGNORE, Line, shape
from ibkit.parsers.mca_parameters import read, worth


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("btl = ^openib,ofi", ("btl", "^openib,ofi")),
        ("pml=ob1", ("pml", "ob1")),
        ("btl\t=\tself, vader, tcp  ", ("btl", "self,vader,tcp")),
        ('btl = "tcp,self"', ("btl", "tcp,self")),
        (
            '                 MCA btl: parameter "btl" (current value: "tcp,self", data source: environment, level: 2',
            ("btl", "tcp,self"),
        ),
        (
            '                 MCA pml: parameter "pml" (current value: "ob1", data source: file [/e/m.conf])',
            ("pml", "ob1"),
        ),
        ('mca:btl:base:param:btl:value:"^openib"', ("btl", "^openib")),
        ("mca:pml:base:param:pml:value:ucx", ("pml", "ucx")),
    ],
)
def test_a_line_that_sets_a_parameter(text: str, found: tuple[str, str]) -> None:
    assert worth(shape(text.encode())) != IGNORE
    assert [(fact.name, fact.value, fact.scope) for fact in read(Line(1, text, text))] == [(*found, "parameters")]


@pytest.mark.parametrize(
    "text",
    [
        "# btl = tcp,self",
        "    btl = tcp,self",
        "btl = 3",
        "btl = tcp and self are the modules",
        "btl_tcp_if_include = eth0",
        "mtl = ofi",
        "subtl = tcp",
        '                 MCA btl: parameter "btl" (current value: <none>, data source: default value)',
        '                 MCA btl: parameter "btl" (current value: "", data source: default, level: 2 user/detail',
        '                 MCA btl: parameter "btl" (current value: "self", data source: default, level: 2 user/detail',
        '                 MCA btl: parameter "btl_base_verbose" (current value: "0", data source: default',
    ],
)
def test_other_lines_set_nothing(text: str) -> None:
    assert list(read(Line(1, text, text))) == []
