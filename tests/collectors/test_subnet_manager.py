"""The subnet manager of a source: who answers, that nobody does, or that nobody could be asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.answers import Answers, said

from ibkit.cli.sm import exit_status
from ibkit.collectors.subnet_manager import collect_subnet_managers
from ibkit.model.ids import Guid
from ibkit.model.subnet_manager import SubnetManager, SubnetManagers
from ibkit.sources.base import MISSING, CommandAnswer

FIXTURES = Path(__file__).parents[2] / "fixtures/tools/sminfo"


def sample(name: str) -> str:
    return (FIXTURES / name).read_text()


def ask(answer: CommandAnswer) -> SubnetManagers:
    return collect_subnet_managers(Answers({"sminfo": answer}))


def line(guid: str, state: str) -> str:
    return f"sminfo: sm lid 7 sm guid {guid}, activity count 5 priority 14 state {state}\n"


def test_a_master() -> None:
    managers = ask(said(sample("master.txt")))
    assert managers == SubnetManagers((SubnetManager(Guid(0x100001), 1, "master", 0, 86),))
    assert exit_status(managers) == 0


def test_a_manager_asked_by_route_has_no_lid_told() -> None:
    assert ask(said(sample("directed-route.txt"))).managers[0].lid is None


@pytest.mark.parametrize(
    ("stdout", "stderr", "word"),
    [
        ("no-sm.txt", "never-a-manager.stderr.txt", "no subnet manager has set up this port"),
        ("manager-gone.txt", "manager-gone.stderr.txt", "at LID 1, and nobody answers"),
        ("no-sm.txt", None, "nobody answers as the subnet manager"),
    ],
)
def test_nobody_answers(stdout: str, stderr: str | None, word: str) -> None:
    managers = ask(said(sample(stdout), sample(stderr) if stderr else "", 255))
    (problem,) = managers.problems
    assert (managers.managers, problem.kind) == ((), "no-sm")
    assert word in problem.text
    assert exit_status(managers) == 1


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (said(failure=MISSING, exit_status=None), "tool-missing"),
        (said(sample("no-device.txt"), sample("no-device.stderr.txt"), 255), "no-umad"),
        (said("sminfo: iberror: failed: can't resolve sm port (null)\n", "", 255), "tool-failed"),
        (said(sample("master.txt")[:40]), "bad-line"),
    ],
)
def test_nobody_could_be_asked(answer: CommandAnswer, kind: str) -> None:
    managers = ask(answer)
    assert managers.managers == ()
    assert managers.problems[0].kind == kind
    assert exit_status(managers) == 3


@pytest.mark.parametrize(
    ("states", "told", "problems", "status"),
    [
        (["2 SMINFO_STANDBY"], ["standby"], ["no-master"], 1),
        (["1 SMINFO_DISCOVER"], ["discovering"], ["no-master"], 1),
        (["0 SMINFO_NOTACT"], ["not-active"], ["no-master"], 1),
        (["7 ???"], ["7"], ["no-master"], 1),
        (["2 SMINFO_MASTER"], [None], ["contradiction"], 3),
        (["3 SMINFO_MASTER", "3 SMINFO_MASTER"], ["master", "master"], ["several-masters"], 1),
        (["3 SMINFO_MASTER", "2 SMINFO_STANDBY"], ["master", "standby"], [], 0),
    ],
)
def test_states(states: list[str], told: list[str | None], problems: list[str], status: int) -> None:
    managers = ask(said("".join(line(f"0x{number}", state) for number, state in enumerate(states, 1))))
    assert [manager.state for manager in managers.managers] == told
    assert [problem.kind for problem in managers.problems] == problems
    assert exit_status(managers) == status


def test_one_manager_asked_twice_is_one() -> None:
    text = line("0x2", "3 SMINFO_MASTER") + line("0x2", "3 SMINFO_MASTER").replace("count 5", "count 6")
    assert [manager.activity for manager in ask(said(text)).managers] == [6]


@pytest.mark.parametrize(
    ("old", "new", "kind", "field"),
    [
        ("lid 7", "lid 65535", "bad-lid", "lid"),
        ("lid 7", "lid 49153", "bad-lid", "lid"),  # 0xC001: multicast
        ("guid 0x2", "guid 0x0", "bad-guid", "guid"),
        ("priority 14", "priority 99", "bad-priority", "priority"),  # four bits
        ("priority 14", "priority 16", "bad-priority", "priority"),
    ],
)
def test_values_that_cannot_be(old: str, new: str, kind: str, field: str) -> None:
    managers = ask(said("\n" + line("0x2", "3 SMINFO_MASTER").replace(old, new)))
    assert [(problem.kind, problem.line) for problem in managers.problems] == [(kind, 2)]
    assert getattr(managers.managers[0], field) is None
    assert exit_status(managers) == 1


@pytest.mark.parametrize(
    ("old", "new", "field", "status"),
    [
        ("lid 7", "lid 8", "lid", 1), ("priority 14", "priority 1", "priority", 1),
        ("3 SMINFO_MASTER", "2 SMINFO_STANDBY", "state", 3),
    ],
)  # fmt: skip
def test_two_answers_of_one_manager_that_differ(old: str, new: str, field: str, status: int) -> None:
    text = line("0x2", "3 SMINFO_MASTER")
    managers = ask(said(text + text.replace(old, new)))
    assert [(problem.kind, problem.line) for problem in managers.problems] == [("contradiction", 2)]
    assert [getattr(manager, field) for manager in managers.managers] == [None]
    assert exit_status(managers) == status


def test_the_highest_values_there_are() -> None:
    text = line("0xffffffffffffffff", "3 SMINFO_MASTER").replace("lid 7", "lid 49151").replace("14", "15")
    assert ask(said(text)).problems == ()
