"""`status` is never ok where the evidence shows that some of it is missing, failed, or contradicts itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ibkit.cli.main import main
from ibkit.collectors.hca import collect_hcas
from ibkit.export.status import OK, UNKNOWN, verdict
from ibkit.sources.base import MISSING, NOT_RECORDED, CommandAnswer, FileAnswer, FolderAnswer, VerbsAnswer

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
TWO = (TOOLS / "ibstat/two-devices.txt").read_text()
#: Lines that say nothing of a port's health, and that people leave out who abridge.
DECIDE_NOTHING = (
    "CA type", "Firmware version", "Hardware version", "Node GUID", "System image GUID", "LMC", "Capability mask",
)  # fmt: skip


class Tools:
    """A host of which nothing is recorded but what some tools said."""

    def __init__(self, **answers: CommandAnswer) -> None:
        self._answers = answers

    def run(self, argv: Any, *, deadline_seconds: float = 60.0) -> CommandAnswer:
        return self._answers.get(argv[0], CommandAnswer(tuple(argv), failure=NOT_RECORDED))

    def read(self, path: str) -> FileAnswer:
        return FileAnswer(path, error=NOT_RECORDED)

    def list(self, path: str) -> FolderAnswer:
        return FolderAnswer(path, error=NOT_RECORDED)

    def verbs(self) -> VerbsAnswer:
        return VerbsAnswer(error=NOT_RECORDED)


def judged(text: str, tool: str = "ibstat", **more: Any) -> tuple[str, list[str]]:
    """The verdict and the kinds of problems."""
    answer = CommandAnswer((tool,), text.encode(), **more)
    host = collect_hcas(Tools(**{tool: answer}), "n01", whole=False)
    return verdict([host]), [problem.kind for problem in host.problems]


def test_every_cut_of_a_listing_is_seen_but_at_a_devices_end() -> None:
    first = TWO[: TWO.index("CA 'rxe1'")]
    assert judged(TWO) == judged(first) == (OK, [])
    old_version = TWO[: TWO.index("\t\tLink layer")]  # which had no such line, so its outputs end here
    wrong = [
        end
        for end in range(len(TWO))
        if TWO[:end].strip() not in (TWO.strip(), first.strip(), old_version.strip()) and judged(TWO[:end])[0] == OK
    ]
    assert wrong == []


def test_every_lost_line_is_seen_that_decides_anything() -> None:
    lines = TWO.splitlines(keepends=True)
    for index, line in enumerate(lines):
        found, problems = judged("".join(lines[:index] + lines[index + 1 :]))
        if line.strip().startswith(DECIDE_NOTHING):
            assert (found, problems) == (OK, []), line
        else:
            assert found == UNKNOWN, line
            assert problems, line


@pytest.mark.parametrize(
    ("name", "tool", "ends"),
    [("ibstatus/two-devices", "ibstatus", ("Infiniband device 'rxe1'",)),
     ("ibv_devinfo/two-devices", "ibv_devinfo", ("hca_id:\trxe1",))],
)  # fmt: skip
def test_cuts_of_other_tools(name: str, tool: str, ends: tuple[str, ...]) -> None:
    text = (TOOLS / f"{name}.txt").read_text()
    whole = {text.strip(), *(text[: text.index(end)].strip() for end in (*ends, "link_layer"))}
    assert judged(text, tool) == (OK, [])
    wrong = [end for end in range(len(text)) if text[:end].strip() not in whole and judged(text[:end], tool)[0] == OK]
    assert wrong == []


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"failure": "timeout"}, "did not end in time"),
        ({"failure": "too-much-output"}, "more than is kept"),
        ({"exit_status": 255}, "exit status 255"),
        ({"exit_status": -11}, "signal 11"),
        ({"exit_status": 0, "stderr": b"Segmentation fault (core dumped)\n"}, "Segmentation fault"),
        (
            {"exit_status": 139, "stderr": b"./x.sh: line 1:  1323 Segmentation fault      (core dumped) ibstat\n"},
            "139",
        ),
        ({"exit_status": 0, "stderr": b"ibpanic: [7] main: can't get list of IB device names\n"}, "device names"),
    ],
)
def test_a_tool_that_failed_leaves_a_gap(more: dict[str, Any], words: str) -> None:
    host = collect_hcas(Tools(ibstat=CommandAnswer(("ibstat",), TWO.encode(), **more)), "n01")
    assert verdict([host]) == UNKNOWN
    assert [hca.name for hca in host.hcas] == ["rxe0", "rxe1"]
    assert words in " ".join(problem.text for problem in host.problems)


@pytest.mark.parametrize("prompt", ["[root@n01 ~]# ", "n01:~$ ", "$", "> "])
@pytest.mark.parametrize("tool", ["ibstat", "ibstatus", "ibv_devinfo"])
def test_the_prompt_at_the_end_of_a_terminal_log_cuts_nothing(tool: str, prompt: str) -> None:
    assert judged((TOOLS / tool / "two-devices.txt").read_text() + prompt, tool)[0] == OK


@pytest.mark.parametrize("tool", ["ibstat", "ibstatus", "ibv_devinfo"])
def test_a_paste_without_its_last_newline_is_whole(tool: str) -> None:
    assert judged((TOOLS / tool / "two-devices.txt").read_text().rstrip(), tool) == (OK, [])


def test_a_crash_in_a_terminal_log() -> None:
    assert judged(TWO + "Segmentation fault (core dumped)\n") == (UNKNOWN, ["tool-error"])


def test_ibstat_that_printed_nothing_saw_no_device() -> None:
    assert judged("", exit_status=0) == (UNKNOWN, ["no-rdma-device"])
    assert judged("", exit_status=255) == (UNKNOWN, ["tool-failed"])
    assert judged("", failure=MISSING) == (UNKNOWN, [NOT_RECORDED])


def test_an_output_that_is_there_twice() -> None:
    assert judged(TWO + TWO) == (OK, ["repeated", "repeated"])


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [("Active", "Down", "rxe0 port 1: state is first Active, then Down, by ibstat"),
     ("Rate: 10", "Rate: 25", "rxe0 port 1: rate_gbps is first 10.0, then 25.0, by ibstat"),
     ("Node GUID: 0xb4f0", "Node GUID: 0xb4f1", "rxe0: node_guid is first")],
)  # fmt: skip
def test_two_outputs_that_differ(old: str, new: str, says: str) -> None:
    text = TWO + TWO.replace(old, new, 1)
    host = collect_hcas(Tools(ibstat=CommandAnswer(("ibstat",), text.encode())), "n01")
    assert verdict([host]) == UNKNOWN
    assert [hca.name for hca in host.hcas] == ["rxe0", "rxe1"]
    (problem,) = [problem for problem in host.problems if problem.kind == "contradiction"]
    assert problem.text.startswith(says)


def test_a_device_without_ports_is_not_well() -> None:
    text = TWO + "CA 'mlx5_9'\n\tCA type: MT4129\n\tNumber of ports: 0\n"
    assert judged(text)[0] == UNKNOWN


def test_a_problem_has_no_empty_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    down = TWO.replace("Active", "Down").replace("LinkUp", "Disabled")
    (tmp_path / "ibstat.txt").write_text(down)
    assert main(["status", "--from", str(tmp_path / "ibstat.txt")]) == 1
    assert "ibkit: no port of this host has a link\n" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(path.name for path in (TOOLS / "rdma").glob("*.txt")))
def test_a_refusal_names_who_reads_it(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["status", "--json", "--from", str(TOOLS / "rdma" / name)])
    out, err = capsys.readouterr()
    if status == 2:
        assert "for `ibkit status`" not in err
    else:
        assert json.loads(out)["schema"] == "ibkit.status/1"


def test_a_list_of_queue_pairs_names_who_reads_it() -> None:
    text = (TOOLS / "rdma/queue-pairs.txt").read_text()
    host = collect_hcas(Tools(rdma=CommandAnswer(("rdma",), text.encode())), "n01")
    assert verdict([host]) == UNKNOWN
    assert [(problem.kind, "`ibkit consumers`" in problem.text) for problem in host.problems] == [(NOT_RECORDED, True)]


def test_planes_are_named_in_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "Node GUID: 0xb4f034fffe8ed331"
    image = "System image GUID: 0xb4f034fffe8ed331"
    smi = TWO[TWO.index("CA 'rxe1'") :].replace("rxe1", "smi1")
    lines = [
        image
        if line.strip().startswith("System image GUID")
        else name
        if line.strip().startswith("Node GUID")
        else line
        for line in smi.splitlines()
    ]
    text = TWO[: TWO.index("CA 'rxe1'")] + "\n".join(lines) + "\n"
    (tmp_path / "ibstat.txt").write_text(text)
    assert main(["status", "--from", str(tmp_path / "ibstat.txt")]) == 0
    assert "smi1 (planes of rxe0)" in capsys.readouterr().out
