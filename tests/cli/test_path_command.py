"""`ibkit path A B` on files and captures: what is printed, exit statuses, and what is not exactly one port."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.schemas import strict

from ibkit.cli.main import main

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
TWO_SUBNETS = Path(__file__).parents[2] / "fixtures/two-subnets"
TREE = (TOOLS / "ibnetdiscover/tree.txt").read_text()
DUMP = (TOOLS / "ibroute/ft12/dump-fts.txt").read_text()
BULK = (TOOLS / "saquery/ft12/pkeys.txt").read_text()
TRACE = str(TOOLS / "ibtracert/ft12/to-switch.txt")
#: What OpenSM had told each of the ports on the way from LID 15 to LID 1.
PORTS = {(15, 1): False, (1, 1): False, (2, 12): True, (2, 1): True}


def port_info(lid: int, number: int, outer: bool) -> str:
    fields = {
        "GidPrefix": "0x0000000000000000" if outer else "0xfe80000000000000", "Lid": 0 if outer else lid,
        "SMLid": 0 if outer else 1, "LinkState": "Active", "PhysLinkState": "LinkUp", "NeighborMTU": 4096,
        "MtuCap": 4096,
    }  # fmt: skip
    rows = "".join(f"{name}:{'.' * (32 - len(name))}{value}\n" for name, value in fields.items())
    return f"# Port info: Lid {lid} port {number}\n{rows}"


def write_capture(folder: Path, answers: dict[str, str]) -> str:
    folder.mkdir()
    entries = []
    for index, (command, text) in enumerate(answers.items()):
        (folder / f"{index}.out").write_text(text)
        entries.append({"kind": "command", "argv": command.split(), "exit_status": 0, "stdout": f"{index}.out"})
    (folder / "manifest.json").write_text(json.dumps({"format": "ibkit-capture/1", "hosts": [], "subnet": entries}))
    return str(folder)


@pytest.fixture
def capture(tmp_path: Path) -> str:
    answers = {"ibnetdiscover": TREE, "dump_fts": DUMP, "saquery PKTR": BULK}
    answers |= {f"smpquery portinfo {lid} {n}": port_info(lid, n, outer) for (lid, n), outer in PORTS.items()}
    return write_capture(tmp_path / "capture", answers)


def document(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> dict[str, Any]:
    assert main(["path", "--json", *arguments]) == status
    made: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(made, strict("path"))
    return made


def test_they_can_talk(capsys: pytest.CaptureFixture[str], capture: str) -> None:
    made = document(capsys, "c001-006 mlx5_1", "c001-001 mlx5_0", "--from", capture)
    assert (made["can_talk"], {check["answer"] for check in made["checks"]}) == (True, {"yes"})
    assert main(["path", "15", "1", "--from", capture]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[-1] == "c001-006 mlx5_1 can talk to c001-001 mlx5_0"
    assert "B to A: back over the same cables" in out
    assert [line.split()[:5] for line in out if line[:1].isdigit()] == [
        ["1", "c001-006", "mlx5_1", "1", "MF0;swib-l001:MQM8700/U1"],
        ["2", "MF0;swib-l001:MQM8700/U1", "1", "c001-001", "mlx5_0"],
    ]


def test_the_same_bytes_twice(capsys: pytest.CaptureFixture[str], capture: str) -> None:
    texts = []
    for _ in range(2):
        main(["--from", capture, "path", "--json", "15", "1"])
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]


def test_they_cannot(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    limited = BULK.replace("0xffff", "0x7fff")
    capture = write_capture(tmp_path / "x", {"ibnetdiscover": TREE, "dump_fts": DUMP, "saquery PKTR": limited})
    assert main(["path", "15", "14", "--from", capture]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "c001-006 mlx5_1 cannot talk to c001-006 mlx5_0: pkey"


def test_it_is_not_settled(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    capture = write_capture(tmp_path / "x", {"ibnetdiscover": TREE})
    assert main(["path", "15", "1", "--from", capture]) == 3
    out = capsys.readouterr().out
    assert "whether c001-006 mlx5_1 can talk to c001-001 mlx5_0 is not settled: link, sm" in out
    assert "`ibroute 2` and `saquery LFTR 2` tell it" in out


def test_csv(capsys: pytest.CaptureFixture[str], capture: str) -> None:
    assert main(["path", "15", "1", "--csv", "--from", capture]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["direction"], row["hop"], row["port"], row["peer_port"], row["rate_gbps"]) for row in rows] == [
        ("there", "1", "1", "12", "200.0"), ("there", "2", "1", "1", "200.0"), ("back", "1", "1", "1", "200.0"),
        ("back", "2", "12", "1", "200.0"),
    ]  # fmt: skip


def test_a_trace_without_a_and_b(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["path", "--from", TRACE]) == 3
    out = capsys.readouterr().out
    assert "A to B: LID 4 is reached over 2 links" in out
    assert document(capsys, "--from", TRACE, status=3)["b"]["name"] == "MF0;swib-s002:MQM8700/U1"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["15"], "name two ports"),
        ([], "name two ports"),
        (["15", "nobody"], "no node of this fabric is called 'nobody'"),
        (["15", "mlx5_1"], "give one of these"),
        (["c001-006", "1"], "0x0c42a103000000a0/1 (c001-006 mlx5_0), 0x0c42a103000000b0/1 (c001-006 mlx5_1)"),
        (["15", "70000"], "from 1 to 49151"),
        (["15", "1", "--lid", "7"], "has not LID 7: it has 1"),
        (["15", "1", "--lid", "x"], "not a LID"),
    ],
)
def test_not_exactly_one_port(capsys: pytest.CaptureFixture[str], capture: str, words: list[str], told: str) -> None:
    try:
        status = main(["path", *words, "--from", capture])
    except SystemExit as error:  # argparse
        status = error.code  # type: ignore[assignment]
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert told in err


@pytest.mark.parametrize("name", ["sminfo/master.txt", "ibstat/two-devices.txt", "partitions.conf/ft12.txt"])
def test_foreign_files(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["path", "1", "2", "--from", str(TOOLS / name)]) == 2
    assert "`ibkit path` reads that of ibtracert or ibnetdiscover" in capsys.readouterr().err


def test_a_dump_of_tables_alone_has_no_cables(capsys: pytest.CaptureFixture[str]) -> None:
    made = document(capsys, "15", "1", "--from", str(TOOLS / "ibroute/ft12/dump-fts.txt"), status=3)
    assert (made["can_talk"], made["hops"]) == (None, [])


def test_hostile_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    evil = TREE.replace("MF0;swib-l001:MQM8700/U1", "\x1b[2J\x1b]0;evil\x07").replace("c001-006 mlx5_1", "a\u202eb")
    capture = write_capture(tmp_path / "x", {"ibnetdiscover": evil, "dump_fts": DUMP})
    for output in ([], ["--csv"]):
        main(["path", "15", "1", *output, "--from", capture])
        out, err = capsys.readouterr()
        assert not {"\x1b", "\x07", "\u202e"} & set(out + err)
    assert main(["path", "\x1b[31mx", "1", "--from", capture]) == 2
    assert "\x1b" not in capsys.readouterr().err


ACROSS = ("hostA1", "fec0:0:0:2:b2:0:0:31")  # the second is hostB3, behind the router


@pytest.mark.parametrize(("far", "second"), [((), "unknown"), (("--far", str(TWO_SUBNETS / "b")), "ok")])
def test_both_legs_across_a_router(capsys: pytest.CaptureFixture[str], far: tuple[str, ...], second: str) -> None:
    assert main(["--from", str(TWO_SUBNETS / "a"), "path", "--json", *far, *ACROSS]) == 3
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, strict("path"))
    states = {step["step"]: step["state"] for step in document["routed"]}
    assert sorted(states) == list(range(1, 12))
    assert (states[1], states[4], states[5], states[7]) == ("ok", "ok", "ok", second)


def test_from_another_host_the_tests_would_be_of_this_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--from", str(TWO_SUBNETS / "a"), "path", "--json", "hostA2", ACROSS[1]]) == 3
    assert json.loads(capsys.readouterr().out)["routed"] == []


def test_the_tests_are_shown_to_people(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--from", str(TWO_SUBNETS / "a"), "path", *ACROSS])
    out = capsys.readouterr().out
    assert "Across the router, from this host's port" in out
    assert "first leg" in out
