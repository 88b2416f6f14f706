"""Plans of cabling. Truth: the cables as counted by hand in the fixtures; labels as the vendors pair them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import cabling_csv, topology_file
from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.cable_plans import CableEnd, ExpectedLink
from ibkit.parsers.port_labels import normalised

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
PARSERS = (topology_file.parse, cabling_csv.parse)
ReadsAPlan = Callable[..., Parsed[tuple[ExpectedLink, ...]]]


def topology(name: str) -> Parsed[tuple[ExpectedLink, ...]]:
    return topology_file.parse((TOOLS / f"topology-file/{name}.txt").read_text())


def cabling(name: str) -> Parsed[tuple[ExpectedLink, ...]]:
    return cabling_csv.parse((TOOLS / f"cabling-csv/{name}.txt").read_text())


def ends_of(links: tuple[ExpectedLink, ...]) -> list[str]:
    return [" - ".join(f"{end.name} {end.port}" if end else "nothing" for end in (link.a, link.b)) for link in links]


def test_a_topology_that_a_tool_wrote() -> None:
    parsed = topology("hdr")
    assert ends_of(parsed.value) == [
        "sw-hdr01 P2 - node04 mlx5_0/P1",
        "sw-hdr01 P3 - node04 mlx5_1/P1",
        "sw-hdr01 P5 - node05 mlx5_2/P1",
        "sw-hdr01 P40 - sw-ndr05 P62",  # listed from both ends
        "sw-ndr05 P61 - sw-hdr01 P39",
        "sw-ndr05 P1/2 - sw-ndr06 P1/1",
    ]
    assert [(link.width, link.speed) for link in parsed.value] == [
        ("4x", "HDR"), ("4x", "HDR"), ("2x", "HDR"), ("4x", "HDR"), ("4x", "HDR"), ("4x", "NDR"),
    ]  # fmt: skip
    assert parsed.value[0].a == CableEnd("sw-hdr01", "P2", type="MQM8700")
    assert parsed.value[0].b == CableEnd("node04", "mlx5_0/P1", type="HCA_mlx5_3")
    assert (parsed.problems, parsed.complete) == ((), None)


def test_a_topology_that_a_person_wrote() -> None:
    parsed = topology("by-hand")
    assert ends_of(parsed.value) == [
        "S-1 P1 - H-1 P1", "S-1 P2 - H-1 P2", "S-1 P24 - H-2 P1",
        "Gz1 L1/P1 - H-3 P1", "Gz1 L2/P3 - H-3 P2", "Gz1 L2/P4 - H-4 P1",
    ]  # fmt: skip
    assert [(link.width, link.speed) for link in parsed.value[2:]] == [
        (None, None), ("4x", "QDR"), ("1x", None), (None, "FDR"),
    ]  # fmt: skip
    assert [(problem.kind, problem.line) for problem in parsed.problems] == [("bad-line", 11), ("bad-line", 13)]
    assert parsed.complete is False


def test_an_arrow_of_another_kind_keeps_the_cable() -> None:
    parsed = topology_file.parse("A a\n P1 -4x-320G-> B b P1\n P2 -fast-> B b P2\n")
    assert ends_of(parsed.value) == ["a P1 - b P1", "a P2 - b P2"]
    assert [(link.width, link.speed) for link in parsed.value] == [("4x", "320G"), (None, None)]
    assert [problem.kind for problem in parsed.problems] == ["bad-arrow"]


def test_a_port_with_two_cables() -> None:
    parsed = topology_file.parse("A a\n P1 -> B b P1\n\nB b\n P1 -> A a P2\n")
    assert ends_of(parsed.value) == ["a P1 - b P1", "b P1 - a P2"]
    assert [(problem.kind, problem.line, problem.text) for problem in parsed.problems] == [
        ("contradiction", 5, "b P1 goes to a P2, but in line 2 to a P1")
    ]


def test_an_ndt_file() -> None:
    parsed = cabling("ndt")
    assert ends_of(parsed.value) == [
        "leaf1 Port 21 - core1 Blade 1_Port 1/1",
        "leaf1 Port 22 - core2 Blade 1_Port 1/1",
        "SwitchX -  Mellanox Technologies Port 26 - host64 mlx5_0 Port 1",
        "leaf1 Port 23 - nothing",
    ]
    first, boundary, plain, down = parsed.value
    assert (first.speed, first.length, first.state, first.domain) == ("200000", "10", "Active", "In-Scope")
    assert (first.a.location, first.b and first.b.location) == ("F01-DR426", "F01-DR429")
    assert boundary.domain == "Boundary"
    assert (plain.speed, plain.length, plain.a.location) == (None, None, None)
    assert (down.b, down.state, down.domain) == (None, "Disabled", "Disconnected")
    assert (parsed.problems, parsed.complete) == ((), None)


def test_a_short_ndt_file_with_dos_lines() -> None:
    text = (TOOLS / "cabling-csv/brief.txt").read_text().replace("\n", "\r\n")
    assert ends_of(cabling_csv.parse(f"\ufeff{text}").value) == [
        "host53 host53 ibp11s0f0 - leaf1 Port 1",
        "host53 host53 ibp21s0f0 - leaf1 Port 2",
    ]


def test_a_point_to_point_list_of_two_sheets() -> None:
    parsed = cabling("p2p")
    assert ends_of(parsed.value) == [
        "c-0329s 1 - c-mqm9700-0327 1/1",
        "c-0331s 1 - c-mqm9700-0327 1/2",
        "c-0333s 1 - nothing",
        "c-mqm9700-0327 17/1 - spine; row 2 3/2",
        "c-mqm9700-0327 17/1 - spine-2 3/2",
    ]
    assert parsed.value[0].a.location == "316 22"
    assert [(problem.kind, problem.line) for problem in parsed.problems] == [("contradiction", 10), ("noise", 1)]
    assert parsed.complete is None


def test_columns_of_source_and_destination() -> None:
    parsed = cabling("src-dst")
    assert ends_of(parsed.value) == ["a08-p1-dgx-01 mlx5_0 - IBLEAF-01 sw1p1", "a08-p1-dgx-01 mlx5_1 - IBLEAF-02 sw1p1"]
    assert [(problem.kind, problem.line) for problem in parsed.problems] == [("bad-line", 4)]  # no source port
    assert parsed.complete is False


def test_nodes_by_guid() -> None:
    named, by_guid = cabling("a-z").value
    assert (named.a.guid, named.b and named.b.guid) == (None, None)
    assert (by_guid.a.guid, by_guid.b and by_guid.b.guid) == (0xE41D2D03006786A0, 0x7CFE900300BDF4F0)


def test_a_column_of_the_unit_that_is_called_name_as_well() -> None:
    """As in an example of NVIDIA's Cable Validation Tool."""
    text = "Rack,U,Name,HCA/Port,Rack,Name,Name,Port\n316,22,c-0329s,1,R113,22,c-mqm9700-0327,1\n"
    assert ends_of(cabling_csv.parse(text).value) == ["c-0329s 1 - c-mqm9700-0327 1"]


def test_rows_are_not_taken_for_names_of_columns() -> None:
    text = "A-Node,A-Port,Z-Node,Z-Port\nhost 1,Port 1,host 2,Port 2\na,b,start,end port\n"
    assert ends_of(cabling_csv.parse(text).value) == ["host 1 Port 1 - host 2 Port 2", "a b - start end port"]


@pytest.mark.parametrize(
    "labels",
    [
        ("1/17/1", "17/1", "P17/1", "P1/17/1", "IB1/17/1", "sw17p1", "Port 17/1", " 1/17/01 "),
        ("17", "P17", "IB1/17", "Port 17", "IB Port 17", "Port_17"),
        ("mlx5_0/1", "mlx5_0/P1", "mlx5_0 P1", "mlx5_0 Port 1"),
        ("U1/1", "U1/P1"),
        ("2/17/1",),
        ("HCA-1",), ("ibp3s0",), ("rail5",), ("Blade 16_Port 2/20",), ("L01/U1/P11",), ("",), ("swp1s0",),
    ],
)  # fmt: skip
def test_labels_of_one_port_are_one(labels: tuple[str, ...]) -> None:
    assert {normalised(label) for label in labels} == {labels[0] if labels[0] != "1/17/1" else "17/1"}


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize(
    "text", ["", "StartDevice,StartPort\n", "MQM8700 leaf1\n\n", "a,b,c,d\n1,2,3,4\n", "lrwx 1 a -> b\n"]
)
def test_other_texts(parse: ReadsAPlan, text: str) -> None:
    with pytest.raises(NotThisFormat, match=r"^f: not a "):
        parse(text, source="f")


PIECES = [
    "A a", "P1", " -> ", "-4x-50G-> ", "B b P2", "\n", " ", ",", ";", "\t", '"', "#", "StartDevice", "EndPort", "Name",
    "StartDevice,StartPort,EndDevice,EndPort\n", "Rack,U,Name,HCA/Port,Rack,U,Name,Port\n", "0x1", "\r", "\0", "ä",
    "CFG:",
]  # fmt: skip


@pytest.mark.parametrize("parse", PARSERS)
@given(text=st.lists(st.sampled_from(PIECES), max_size=60).map("".join) | st.text(max_size=200))
def test_it_never_raises_anything_else(parse: ReadsAPlan, text: str) -> None:
    with suppress(NotThisFormat):
        for link in parse(text).value:
            assert all(end.name and end.port for end in (link.a, link.b) if end)


@given(st.text(max_size=40))
def test_a_normal_label_stays(label: str) -> None:
    assert normalised(normalised(label)) == normalised(label)


def test_linear_time() -> None:
    head = "StartDevice,StartPort,EndDevice,EndPort\n"
    start = time.process_time()
    for line in (
        "A " * 30_000,
        "P1 -" + ">" * 60_000,
        "," * 60_000,
        '"' * 60_000,
        "Start" * 12_000,
        "P1 " + "-4x" * 20_000,
    ):
        for parse in PARSERS:
            with suppress(NotThisFormat):
                parse(f"A a\n P1 -> B b P1\n{head}" + f"{line}\n" * 50)
    for label in ("P" * 60_000, "a " * 30_000, "1" * 60_000, "IB " * 20_000):
        normalised(label)
    assert time.process_time() - start < 10
