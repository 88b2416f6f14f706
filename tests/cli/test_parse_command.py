"""`ibkit parse`: a parser's records as they are, of a file that is recognised or that somebody names."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import jsonschema
import pytest
from support.schemas import strict

from ibkit.cli.main import main
from ibkit.export.parse import plain
from ibkit.parsers import identify
from ibkit.parsers.base import Parsed, Problem

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "fixtures/tools"
#: Samples of tools that have a parser.
READ = [
    path for path in sorted(TOOLS.glob("*/*.txt")) if ".stderr." not in path.name and identify(path.read_text()).module
]
SCHEMA = strict("parse")


def document(capsys, *words: str) -> dict:
    assert main(["parse", *words, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    jsonschema.validate(made, SCHEMA)
    return made


def refusal(capsys, *words: str) -> str:
    assert main(["parse", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize("words", [(), ("sminfo",)])
def test_records_as_they_are(capsys, words):
    """fixtures/tools/sminfo/master.txt: lid 1, guid 0x100001, activity 86, priority 0, state 3 MASTER."""
    made = document(capsys, *words, str(TOOLS / "sminfo/master.txt"))
    (answer,) = made["value"]["answers"]
    assert made["tool"] == "sminfo"
    assert made["problems"] == []
    assert (answer["lid"], answer["guid"], answer["activity"], answer["state"]) == (1, "0x0000000000100001", 86, 3)


@pytest.mark.parametrize("path", READ, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_sample_is_read(capsys, path):
    """No number is larger than what JSON's readers keep."""
    made = document(capsys, str(path))
    assert made["tool"]
    assert largest(made) < 1 << 53
    assert main(["parse", str(path)]) == 0


def largest(value) -> int:
    if isinstance(value, dict | list):
        return max(map(largest, value.values() if isinstance(value, dict) else value), default=0)
    return value if isinstance(value, int) else 0


def test_problems_are_in_it_and_on_stderr(capsys, tmp_path):
    text = (TOOLS / "ibnetdiscover/topology.txt").read_text().replace('"H-', '"H-?', 1)
    (tmp_path / "t").write_text(text)
    assert main(["parse", str(tmp_path / "t"), "--json"]) == 0
    out, err = capsys.readouterr()
    made = json.loads(out)
    assert [problem["line"] for problem in made["problems"]] == [
        1 + next(index for index, line in enumerate(text.splitlines()) if '"H-?' in line)
    ]
    assert made["complete"] is False
    assert f"{tmp_path}/t:{made['problems'][0]['line']}: " in err


def test_for_people(capsys):
    assert main(["parse", str(TOOLS / "ibstat/two-devices.txt")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "- name: rxe0"
    assert "      physical_state: LinkUp" in lines
    assert "- name: rxe1" in lines


def test_stdin(capsys, monkeypatch):
    data = (TOOLS / "sminfo/master.txt").read_bytes()
    for words in (["-"], ["sminfo", "-"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert document(capsys, *words)["tool"] == "sminfo"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert main(["--from", "-", "parse", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tool"] == "sminfo"


def test_what_is_refused(capsys, tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "prose").write_text("nothing of a tool\n")
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 10)
    file = str(next((TOOLS / "ibsim-netlist").glob("*.txt")))
    assert f"{file}: this is ibsim netlist output, which no command reads yet; " in refusal(capsys, file)
    assert "is for `ibkit check-mpi-transport`" in refusal(
        capsys, str(next((ROOT / "fixtures/jobs").glob("nccl*/*.log")))
    )
    assert "so not output of ibstat" in refusal(capsys, "ibstat", str(TOOLS / "sminfo/master.txt"))
    assert "there is no parser 'ibsta'; TOOL is one of ibnetdiscover" in refusal(capsys, "ibsta", "x")
    assert "there is no parser 'ibsim netlist'" in refusal(capsys, "ibsim netlist", file)
    assert "name the file that shall be read" in refusal(capsys)
    assert "No such file or directory; check the name" in refusal(capsys, str(tmp_path / "none"))
    assert "empty; the tool may have printed on stderr" in refusal(capsys, str(tmp_path / "empty"))
    assert "no known format; tried ibnetdiscover" in refusal(capsys, str(tmp_path / "prose"))
    assert "binary data" in refusal(capsys, str(tmp_path / "binary"))
    assert "a folder; name a file in it" in refusal(capsys, str(tmp_path))


def test_a_forced_parser_reads_what_is_not_recognised(capsys, tmp_path):
    """A terminal log in which the job's line comes first is a job's, and still holds ibstat's text."""
    (tmp_path / "log").write_text("n:1:2 [0] NCCL INFO x\n" + (TOOLS / "ibstat/two-devices.txt").read_text())
    assert "job log" in refusal(capsys, str(tmp_path / "log"))
    assert [device["name"] for device in document(capsys, "ibstat", str(tmp_path / "log"))["value"]] == ["rxe0", "rxe1"]


def test_nothing_raw_reaches_the_terminal(capsys, tmp_path):
    evil = "\x1b[2J\x9b\u202e"
    text = (TOOLS / "ibnetdiscover/topology.txt").read_text().replace("Hca1", evil)
    (tmp_path / "t").write_text(text)
    assert main(["parse", str(tmp_path / "t")]) == 0
    out, err = capsys.readouterr()
    assert not set("\x1b\x9b\u202e") & set(out + err)
    assert "\\x1b[2J\\x9b\\u202e" in out
    made = document(capsys, str(tmp_path / "t"))
    assert any(block["name"] == evil for block in made["value"]["blocks"])


def test_values_become_plain():
    problem = Problem("kind", "text", 3, None)
    assert plain((problem, [{1: (2, None)}], True)) == [
        {"kind": "kind", "text": "text", "line": 3, "source": None},
        [{"1": [2, None]}],
        True,
    ]
    assert plain(Parsed({"a": 1.5})) == {"value": {"a": 1.5}, "problems": [], "complete": None}
    with pytest.raises(TypeError):
        plain(object())
