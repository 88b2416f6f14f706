"""Parsers of the tools that show a host's ports: hostile texts cost a problem, never more, and take linear time."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import ibdev2netdev, ibstatus, ibv_devinfo, ip_json, mlxlink, show_gids
from ibkit.parsers.base import NotThisFormat

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
PARSERS: list[Callable[[str], Any]] = [
    ibdev2netdev.parse, ibstatus.parse, ibv_devinfo.parse, show_gids.parse, ip_json.parse_addresses,
    ip_json.parse_neighbours, mlxlink.parse,
]  # fmt: skip
PIECES = [
    "Infiniband device 'a' port 1 status:", "\tstate:\t\t 4: ACTIVE", "\tbase lid:\t 0x1", "\trate:", "hca_id:\tm",
    "\t\tport:\t1", "\t\t\tstate:\t\t\tPORT_ACTIVE (4)", "\t\t\tGID[  0]:\t\tfe80::1, RoCE v2", "\t\tport:\t9999",
    "a port 1 ==> b (Up)", "a\t1\t0\tfe80:0000:0000:0000:0000:0000:0000:0001\tv1", "n_gids_found=7", "\x00", "(4)",
    "\tphys_port_cnt:\t" + "9" * 5000, "[{", "\ud800",
]  # fmt: skip
LINES = st.lists(st.sampled_from(PIECES) | st.text(max_size=40))


@given(LINES)
def test_they_never_raise_anything_else(lines: list[str]) -> None:
    for parse in PARSERS:
        with suppress(NotThisFormat):
            parse("\n".join(lines))


@pytest.mark.parametrize("parse", PARSERS, ids=lambda parse: parse.__module__.rpartition(".")[2])
def test_linear_time(parse: Callable[[str], Any]) -> None:
    piece = "a (b - c " * 50 + "port 1 " * 50 + "GID[ 1]: " + ":" * 300 + "\n"
    start = time.process_time()
    for text in (piece * 2000, "(" * 60_000 + "\n" + piece, "hca_id:\tm\n" + piece * 500):
        with suppress(NotThisFormat):
            parse(text)
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    ("parse", "name"), [(ibstatus.parse, "ibstatus/two-devices"), (ibv_devinfo.parse, "ibv_devinfo/verbose")]
)
def test_every_cut_is_told_or_harmless(parse: Callable[[str], Any], name: str) -> None:
    """What a cut text still shows is what the whole one shows."""
    text = (TOOLS / f"{name}.txt").read_text()
    whole = parse(text).value
    for end in range(0, len(text), 7):
        with suppress(NotThisFormat):
            for part, full in zip(parse(text[:end]).value, whole, strict=False):
                for field in part._fields:
                    value = getattr(part, field)
                    if field not in ("ports", "gids"):
                        assert value in (None, getattr(full, field)), (end, field)
                for one, other in zip(getattr(part, "ports", ()), getattr(full, "ports", ()), strict=False):
                    for field in one._fields[:-1]:
                        assert getattr(one, field) in (None, getattr(other, field)), (end, field)


def test_a_device_whose_ports_were_cut_off() -> None:
    text = (TOOLS / "ibv_devinfo/two-devices.txt").read_text()
    parsed = ibv_devinfo.parse(text[: text.rindex("\t\tport:")])
    assert [(problem.kind, problem.text) for problem in parsed.problems] == [
        ("truncated", "rxe1 has 1 ports, 0 are listed")
    ]


def test_a_netdev_that_lost_its_end_is_not_taken() -> None:
    text = "mlx5_0\t1\t0\tfe80:0000:0000:0000:0202:0aff:fe4d:0001\t\tv1\tenp3"
    read = show_gids.parse(text)
    assert (read.value[0].netdev, [problem.kind for problem in read.problems]) == (None, ["truncated"])
    assert show_gids.parse(f"{text}s0\n").value[0].netdev == "enp3s0"


@pytest.mark.parametrize(("end", "kinds"), [("mlx5_1 port 1 ==> ib", ["truncated"]), ("[root@n01 ~]# ", []), ("", [])])
def test_a_row_of_ibdev2netdev_that_lost_its_end_is_told(end: str, kinds: list[str]) -> None:
    read = ibdev2netdev.parse(f"mlx5_0 port 1 ==> ib0 (Up)\n{end}")
    assert (len(read.value), [problem.kind for problem in read.problems]) == (1, kinds)


def test_ibv_devinfo_that_ends_within_a_port_of_the_long_form() -> None:
    """In the long form the states are in front, and much follows."""
    text = (TOOLS / "ibv_devinfo/verbose.txt").read_text()
    start = text.rindex("port_cap_flags")
    for cut in (text[: text.index("\n", start) + 1], text[: text.index("init_type_reply", start) + 3]):
        assert {problem.kind for problem in ibv_devinfo.parse(cut).problems} == {"truncated"}
    assert ibv_devinfo.parse(text).problems == ()
