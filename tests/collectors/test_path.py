"""The way between two ports of a capture: what is looked up for it, and what a saved trace alone shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.answers import Answers, said
from support.recorded import Recorded
from support.recorded import said as heard
from support.schemas import strict

from ibkit.collectors.path import collect_path
from ibkit.export.path import hop_rows, path_document, sentence
from ibkit.model.ends import NotOne
from ibkit.sources.base import CommandAnswer, Source
from ibkit.sources.opening import open_site

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
TREE = (TOOLS / "ibnetdiscover/tree.txt").read_text()
DUMP = (TOOLS / "ibroute/ft12/dump-fts.txt").read_text()
BULK = (TOOLS / "saquery/ft12/pkeys.txt").read_text()
TRACE = (TOOLS / "ibtracert/ft12/to-switch.txt").read_text()
CAPTURE = {"ibnetdiscover": said(TREE), "dump_fts": said(DUMP), "saquery PKTR": said(BULK)}
LEAF, SPINE_2 = "0xb8599f0300000000", "0xb8599f0300000200"
HCA_1, HCA_12 = "0x0c42a10300000000", "0x0c42a103000000b0"
FE80 = "0xfe80000000000000"
#: The leaf's table alone, as ``ibroute 2`` prints it.
OF_LEAF = next(f"Unicast lids {one}" for one in DUMP.split("Unicast lids ") if "guid 0xb8599f0300000000 " in one)


def document(source: Source, a: str | None, b: str | None, **options: Any) -> dict[str, Any]:
    made = path_document(collect_path(source, a, b, **options))
    jsonschema.validate(made, strict("path"))
    again: dict[str, Any] = json.loads(json.dumps(made))
    return again


def answers(made: dict[str, Any]) -> dict[str, str]:
    return {check["id"]: check["answer"] for check in made["checks"]}


def steps(hops: list[dict[str, Any]]) -> list[tuple[str, int, str, int]]:
    return [(hop["guid"], hop["port"], hop["peer_guid"], hop["peer_port"]) for hop in hops]


def port_info(lid: int, number: int, state: str = "Active", mtu: int = 4096, *, outer: bool = False) -> CommandAnswer:
    """What ``smpquery portinfo`` prints, the fields that count here; a switch's outer port has no prefix."""
    fields = {
        "GidPrefix": "0x0000000000000000" if outer else FE80, "Lid": 0 if outer else lid, "SMLid": 0 if outer else 1,
        "CapMask": "0x10c048", "LinkWidthActive": "4X", "LinkState": state, "PhysLinkState": "LinkUp", "LMC": 0,
        "LinkSpeedActive": "10.0 Gbps", "NeighborMTU": mtu, "MtuCap": 4096, "LinkSpeedExtActive": "53.125 Gbps",
    }  # fmt: skip
    text = f"# Port info: Lid {lid} port {number}\n" + "".join(
        f"{name}:{'.' * (32 - len(name))}{value}\n" for name, value in fields.items()
    )
    return heard(f"smpquery portinfo {lid} {number}", text)


#: All that a live subnet would answer about the way from HCA 12 (LID 15) to HCA 1 (LID 1).
LIVE = [
    heard("ibnetdiscover", TREE), heard("ibroute -n 2", OF_LEAF), heard("dump_fts", DUMP),
    heard("saquery PKTR", BULK), port_info(15, 1), port_info(1, 1), port_info(2, 12, outer=True),
    port_info(2, 1, outer=True),
]  # fmt: skip


def test_a_capture_of_topology_tables_and_keys() -> None:
    made = document(Answers(CAPTURE), "c001-006 mlx5_1", "1")
    assert (made["a"]["lid"], made["b"]["lid"], made["lid"]) == (15, 1, 1)
    assert steps(made["hops"]) == [(HCA_12, 1, LEAF, 12), (LEAF, 1, HCA_1, 1)]
    assert steps(made["back"]) == [(HCA_1, 1, LEAF, 1), (LEAF, 12, HCA_12, 1)]
    assert (made["same_way"], made["route"]["result"], made["route"]["rate_gbps"]) == (True, "arrived", 200.0)
    assert answers(made) == {
        "link": "unknown", "lid": "yes", "sm": "unknown", "prefix": "unknown", "pkey": "yes", "route": "yes",
        "route_back": "yes", "mtu": "unknown", "rate": "yes",
    }  # fmt: skip
    assert made["can_talk"] is None, "states, manager, prefix and MTU are in none of the three"
    pkey = next(check for check in made["checks"] if check["id"] == "pkey")
    assert [(fact["text"], fact["source"]) for fact in pkey["evidence"]] == [
        ("0xffff 0x0001", "saquery PKTR"), ("0xffff 0x8001", "saquery PKTR"),
    ]  # fmt: skip


def test_the_ports_on_the_way_are_asked_for_what_is_missing() -> None:
    source = Recorded(*LIVE)
    made = document(source, "15", "1")
    assert (made["can_talk"], set(answers(made).values())) == (True, {"yes"})
    assert {command for command in source.asked if "portinfo" in command} == {
        "smpquery portinfo 15 1", "smpquery portinfo 1 1", "smpquery portinfo 2 12", "smpquery portinfo 2 1",
    }  # fmt: skip
    assert [hop["state"] for hop in made["hops"]] == ["Active", "Active"]
    assert [hop["mtu_bytes"] for hop in made["hops"]] == [4096, 4096]
    link = made["checks"][0]
    assert {fact["source"] for fact in link["evidence"]} == {
        command for command in source.asked if "portinfo" in command
    }


@pytest.mark.parametrize("status", [0, None])
def test_port_records_without_the_others_are_used(status: int | None) -> None:
    """A capture that somebody put together of a sweep, the tables and ``saquery PIR``."""
    subnet = TOOLS.parent / "fat-tree/subnet"
    records = (subnet / "saquery_PIR.out").read_text()
    names = ("ibnetdiscover", *(f"ibroute -n {lid}" for lid in range(2, 17)))
    holds = {name: said((subnet / f"{name.replace(' ', '_')}.out").read_text()) for name in names}
    whole = said(records)._replace(exit_status=status)
    made = document(Answers({**holds, "saquery PIR": whole}), "c001", "c108")
    assert answers(made) == {**dict.fromkeys(answers(made), "yes"), "pkey": "unknown"}
    assert {fact["source"] for fact in made["checks"][2]["evidence"]} == {"saquery PIR"}
    cut = said(records[: records.index("LMC")])
    assert answers(document(Answers({**holds, "saquery PIR": cut}), "c001", "c108"))["link"] == "unknown"


def test_a_port_on_the_way_that_is_not_active() -> None:
    source = Recorded(
        *(one for one in LIVE if one.command != "smpquery portinfo 2 12"), port_info(2, 12, "Initialize", outer=True)
    )
    path = collect_path(source, "15", "1")
    made = path_document(path)
    assert (made["can_talk"], answers(made)["link"]) == (False, "no")
    assert sentence(path) == "c001-006 mlx5_1 cannot talk to c001-001 mlx5_0: link"


def test_who_does_not_answer_is_not_asked_again_and_again() -> None:
    silent = [heard(f"smpquery portinfo {where}", "", "x", 255) for where in ("15 1", "1 1", "2 12", "2 1")]
    source = Recorded(*(one for one in LIVE if "portinfo" not in one.command), *silent)
    made = document(source, "15", "1")
    assert made["can_talk"] is None
    assert len([command for command in source.asked if "portinfo" in command]) == 2 + 2, (
        "two of the ends, two of the way"
    )
    assert [problem["kind"] for problem in made["problems"]].count("tool-failed") >= 1


def page(lid: int, port: int, **errors: int) -> CommandAnswer:
    """What ``perfquery`` prints of a port's error counters."""
    names = (
        "SymbolErrorCounter", "LinkErrorRecoveryCounter", "LinkDownedCounter", "PortRcvErrors",
        "PortRcvRemotePhysicalErrors", "PortRcvSwitchRelayErrors", "PortXmitDiscards", "PortXmitConstraintErrors",
        "PortRcvConstraintErrors", "LocalLinkIntegrityErrors", "ExcessiveBufferOverrunErrors", "VL15Dropped",
        "PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts", "PortXmitWait",
    )  # fmt: skip
    text = f"# Port counters: Lid {lid} port {port} (CapMask: 0x5200)\nPortSelect:......................{port}\n"
    text += "CounterSelect:...................0x0000\n"
    text += "".join(f"{name}:{'.' * (33 - len(name))}{errors.get(name, 0)}\n" for name in names)
    return heard(f"perfquery {lid} {port}", text)


def test_errors_of_the_ports_on_the_way() -> None:
    pages = [page(15, 1), page(2, 12, SymbolErrorCounter=7), page(2, 1), page(1, 1, LinkDownedCounter=2)]
    made = document(Recorded(*LIVE, *pages), "15", "1")
    assert [(hop["errors"], hop["peer_errors"]) for hop in made["hops"]] == [
        ({}, {"SymbolErrorCounter": 7}), ({}, {"LinkDownedCounter": 2}),
    ]  # fmt: skip
    made = document(Recorded(*LIVE), "15", "1")
    assert [(hop["errors"], hop["peer_errors"]) for hop in made["hops"]] == [(None, None)] * 2, "not known is not none"


#: The fabric of the samples of ibqueryerrors, whose README says which errors were set.
SWEPT = """\
switchguid=0xb0001000(b0001000)
Switch\t8 "S-00000000b0001000"\t\t# "leaf1" enhanced port 0 lid 2 lmc 0
[1]\t"H-00000000a0001000"[1](a0001001) \t\t# "host1 mlx5_0" lid 1 4xHDR
[2]\t"H-00000000a0002000"[1](a0002001) \t\t# "host2" lid 4 4xHDR

caguid=0xa0002000
Ca\t2 "H-00000000a0002000"\t\t# "host2"
[1](a0002001) \t"S-00000000b0001000"[2]\t\t# lid 4 lmc 0 "leaf1" lid 2 4xHDR

caguid=0xa0001000
Ca\t1 "H-00000000a0001000"\t\t# "host1 mlx5_0"
[1](a0001001) \t"S-00000000b0001000"[1]\t\t# lid 1 lmc 0 "leaf1" lid 2 4xHDR
"""


def test_errors_from_a_captures_sweep() -> None:
    sweeps = {
        "--counters --report-port": "counters-report",
        "--details --report-port --threshold-file /dev/null": "details",
    }
    answers = {
        f"ibqueryerrors {options}": said(
            (TOOLS / f"ibqueryerrors/{name}.txt").read_text(), exit_status=name == "details"
        )
        for options, name in sweeps.items()
    }
    made = document(Answers({"ibnetdiscover": said(SWEPT), "ibtracert 1 4": said(
        'From ca {0xa0001000} portnum 1 lid 1-1 "host1 mlx5_0"\n[1] -> switch port {0xb0001000}[1] lid 2-2 "leaf1"\n'
        '[2] -> ca port {0xa0002001}[1] lid 4-4 "host2"\nTo ca {0xa0002000} portnum 1 lid 4-4 "host2"\n'
    ), **answers}), "host1", "host2/1")  # fmt: skip
    first, second = made["hops"]
    assert first["errors"] == {"SymbolErrorCounter": 65535, "LinkDownedCounter": 255, "VL15Dropped": 3}
    assert first["peer_errors"] == {"PortXmitDiscards": 8, "PortInactiveDiscards": 8}
    assert second["errors"] == {"PortRcvErrors": 12, "PortLocalPhysicalErrors": 5, "PortMalformedPktErrors": 7}
    assert second["peer_errors"] == {}


def test_a_large_sweep_is_read_when_asked_for() -> None:
    large = Answers({**CAPTURE, "ibqueryerrors --counters --report-port": said("x" * (5 << 20))})
    made = document(large, "15", "1")
    assert "counters-not-read" in [problem["kind"] for problem in made["problems"]]
    made = document(large, "15", "1", counters=True)
    assert "counters-not-read" not in [problem["kind"] for problem in made["problems"]]


def test_tables_alone_and_with_what_they_are_about(tmp_path: Path) -> None:
    file = tmp_path / "saved.txt"
    file.write_text(DUMP)
    made = document(open_site(str(file)).subnet, "15", "1")
    assert made["can_talk"] is None
    (problem,) = made["problems"]
    assert (problem["kind"], problem["source"]) == ("no-output", str(file))
    assert "tells no nodes and cables" in problem["text"]
    file.write_text(TREE + DUMP)
    made = document(open_site(str(file)).subnet, "15", "1")
    assert (answers(made)["route"], answers(made)["route_back"]) == ("yes", "yes")


def test_a_trace_alone() -> None:
    source = open_site(str(TOOLS / "ibtracert/ft12/to-switch.txt")).subnet
    made = document(source, None, None)
    assert steps(made["hops"]) == [(HCA_12, 1, LEAF, 12), (LEAF, 28, SPINE_2, 1)]
    assert [hop["peer_name"] for hop in made["hops"]] == ["MF0;swib-l001:MQM8700/U1", "MF0;swib-s002:MQM8700/U1"]
    assert (made["route"]["result"], made["can_talk"], made["lid"]) == ("arrived", None, 4)
    assert (made["route_back"]["result"], made["back"]) == ("no-table", [])
    assert document(source, "15", "4")["hops"] == document(source, "c001-006", SPINE_2)["hops"] == made["hops"]


def test_a_trace_without_names_and_lids(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text(
        "From {0x0c42a103000000b0}[1]\n[1] -> {0xb8599f0300000000}[12]\n[1] -> {0x0c42a10300000001}[1]\n"
        "To {0x0c42a10300000000}[1]\n"
    )
    made = document(open_site(str(tmp_path / "trace")).subnet, None, None)
    assert steps(made["hops"]) == [(HCA_12, 1, LEAF, 12), (LEAF, 1, HCA_1, 1)]
    assert [made["hops"][0]["type"], made["hops"][0]["peer_type"], made["hops"][1]["peer_type"]] == [
        "channel_adapter", "switch", "channel_adapter",
    ]  # fmt: skip


def test_traces_of_both_directions(tmp_path: Path) -> None:
    there = (
        'From ca {0xa0} portnum 1 lid 1-1 "a"\n[1] -> switch port {0xc0}[3] lid 9-9 "s"\n'
        '[4] -> ca port {0xb1}[1] lid 2-2 "b"\nTo ca {0xb0} portnum 1 lid 2-2 "b"\n'
    )
    back = (
        'From ca {0xb0} portnum 1 lid 2-2 "b"\n[1] -> switch port {0xc0}[4] lid 9-9 "s"\n'
        '[3] -> ca port {0xa1}[1] lid 1-1 "a"\nTo ca {0xa0} portnum 1 lid 1-1 "a"\n'
    )
    (tmp_path / "traces").write_text(there + back)
    made = document(open_site(str(tmp_path / "traces")).subnet, "b", "a")
    assert (made["same_way"], answers(made)["route"], answers(made)["route_back"]) == (True, "yes", "yes")
    assert made["hops"][0]["name"] == "b"


def test_a_trace_that_does_not_arrive(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("\n".join(TRACE.splitlines()[:2]) + "\n")
    source = open_site(str(tmp_path / "trace")).subnet
    with pytest.raises(NotOne, match="name A and B"):
        collect_path(source, None, None)


def test_ibtracert_tells_where_no_table_does() -> None:
    trace = (
        'From ca {0x0c42a103000000b0} portnum 1 lid 15-15 "c001-006 mlx5_1"\n'
        '[1] -> switch port {0xb8599f0300000000}[12] lid 2-2 "MF0;swib-l001:MQM8700/U1"\n'
        '[1] -> ca port {0x0c42a10300000001}[1] lid 1-1 "c001-001 mlx5_0"\n'
        'To ca {0x0c42a10300000000} portnum 1 lid 1-1 "c001-001 mlx5_0"\n'
    )
    source = Recorded(heard("ibnetdiscover", TREE), heard("ibtracert 15 1", trace))
    made = document(source, "15", "1")
    assert (answers(made)["route"], answers(made)["route_back"]) == ("yes", "unknown")
    assert steps(made["hops"]) == [(HCA_12, 1, LEAF, 12), (LEAF, 1, HCA_1, 1)]
    assert {"ibtracert 15 1", "ibtracert 1 15"} <= set(source.asked)
    with_tables = Recorded(heard("ibnetdiscover", TREE), heard("dump_fts", DUMP))
    document(with_tables, "15", "1")
    assert not any("ibtracert" in command for command in with_tables.asked)


def test_a_lid_that_nobody_has() -> None:
    made = document(Answers(CAPTURE), "15", "0x63")
    assert (made["b"], made["lid"]) == (
        {**dict.fromkeys(made["b"]), "given": "0x63", "lid": 99}, 99,
    )  # fmt: skip
    assert (made["can_talk"], answers(made)["lid"], answers(made)["route"]) == (False, "no", "no")
    assert (made["route"]["result"], made["route"]["at"]) == ("unreachable", {"guid": LEAF, "port": 12})
    assert (made["route_back"], made["back"]) == (None, [])


def test_one_of_several_lids_of_an_end() -> None:
    tree = TREE.replace(
        '"H-0c42a10300000000"[1](c42a10300000001) \t\t# "c001-001 mlx5_0" lid 1',
        '"H-0c42a10300000000"[1](c42a10300000001) \t\t# "c001-001 mlx5_0" lid 16',
    )
    tree = tree.replace("# lid 1 lmc 0", "# lid 16 lmc 2")
    dump = DUMP.replace("0x000f 012", "0x0010 001 \n0x0011 019 \n0x0012 001 \n0x000f 012")
    source = Answers({"ibnetdiscover": said(tree), "dump_fts": said(dump)})
    made = document(source, "15", "16")
    assert (made["b"]["lid"], made["b"]["lmc"], made["lid"]) == (16, 2, 16)
    made = document(source, "15", "c001-001 mlx5_0", lid=17)
    assert (made["lid"], made["hops"][1]["port"]) == (17, 19)
    with pytest.raises(NotOne, match="has not LID 20: it has 16 to 19"):
        collect_path(source, "15", "c001-001 mlx5_0", lid=20)


def test_csv_has_both_ways() -> None:
    rows = list(hop_rows(collect_path(Recorded(*LIVE), "15", "1")))
    assert [(row[0], row[1], row[3], row[4]) for row in rows] == [
        ("there", 1, "c001-006 mlx5_1", 1), ("there", 2, "MF0;swib-l001:MQM8700/U1", 1),
        ("back", 1, "c001-001 mlx5_0", 1), ("back", 2, "MF0;swib-l001:MQM8700/U1", 12),
    ]  # fmt: skip
    assert {row[7] for row in rows} == {None}, "nobody told of errors, which is not that there are none"
    pages = [page(15, 1), page(2, 12, SymbolErrorCounter=7)]
    rows = list(hop_rows(collect_path(Recorded(*LIVE, *pages), "15", "1")))
    assert (rows[0][7], rows[0][13], rows[1][7]) == ("none", "SymbolErrorCounter=7", None)
