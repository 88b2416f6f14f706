"""The subnet manager of a source: who answers, that nobody does, or that nobody could be asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.answers import Answers, said
from support.sa_subnet import MIXED, answers, text_of

from ibkit.cli.sm import exit_status
from ibkit.collectors.mad_tools import Through
from ibkit.collectors.subnet_manager import collect_subnet_managers
from ibkit.model.ids import Guid
from ibkit.model.subnet_manager import NamedLid, SubnetManager, SubnetManagers
from ibkit.sources.base import MISSING, CommandAnswer
from ibkit.sources.opening import open_site

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


# What the SA lists

MASTER, STANDBY = Guid(0xC42A10300000001), Guid(0xC42A10300000021)


def record(lid: int, guid: int, state: int, activity: int = 5, priority: int = 0) -> str:
    """As OpenSM answered for two managers."""
    return (
        f"SMInfoRecord dump:\n\t\tRID\n\t\tLID...................{lid}\n\t\tSMInfo dump:\n"
        f"\t\tGUID..................0x{guid:016x}\n\t\tSM_Key................0x0000000000000000\n"
        f"\t\tActCount..............{activity}\n\t\tPriority..............{priority}\n\t\tSMState...............{state}\n"
    )


def info(lid: int, guid: int, state: str, activity: int, priority: int = 0) -> CommandAnswer:
    return said(
        f"sminfo: sm lid {lid} sm guid 0x{guid:x}, activity count {activity} priority {priority} state {state}\n"
    )


def silent(lid: int) -> CommandAnswer:
    words = f"ibwarn: [9] mad_rpc: _do_madrpc failed; dport (Lid {lid})\n"
    return said("sminfo: iberror: failed: query\n\n", words, 255)


def two_managers(**changes: CommandAnswer) -> dict[str, CommandAnswer]:
    """A master at LID 2 and a standby at LID 10, of which the SA has an old state, as it happens."""
    return {
        "sminfo": info(2, MASTER, "3 SMINFO_MASTER", 100),
        "saquery SMIR": said(record(2, MASTER, 3, 101) + record(10, STANDBY, 1, 7)),
        "sminfo 2": info(2, MASTER, "3 SMINFO_MASTER", 102),
        "sminfo -L 2": info(2, MASTER, "3 SMINFO_MASTER", 103),
        "sminfo 10": info(10, STANDBY, "2 SMINFO_STANDBY", 40),
        "sminfo -L 10": info(10, STANDBY, "2 SMINFO_STANDBY", 41),
        **{words.replace("_", " "): answer for words, answer in changes.items()},
    }


def test_all_managers() -> None:
    managers = collect_subnet_managers(Answers(two_managers()))
    assert managers == SubnetManagers(
        (
            SubnetManager(MASTER, 2, "master", 0, 103, True),
            SubnetManager(STANDBY, 10, "standby", 0, 41, True),
        ),
        complete=True,
    )  # fmt: skip
    assert exit_status(managers) == 0


def test_whom_the_ports_name() -> None:
    managers = collect_subnet_managers(Answers(two_managers() | answers()))
    assert managers.named == (NamedLid(2, 7),), "two switches and five ports of hosts and router"
    assert [manager.name for manager in managers.managers] == ["n01 mlx5_0", "n03 mlx5_0"]
    text = text_of("ports")
    text = text.replace(f"SMLid:{27 * '.'}2\n", f"SMLid:{27 * '.'}9\n", 1)
    managers = collect_subnet_managers(Answers(two_managers() | answers(PIR=text)))
    assert managers.named == (NamedLid(2, 6), NamedLid(9, 1))
    (problem,) = managers.problems
    assert problem.kind == "other-sm-lid"
    assert problem.text == "1 ports name LID 9 as their manager's, the first at LID 4; the master is at LID 2"
    assert exit_status(managers) == 1


def test_a_part_of_the_ports_is_nothing_to_count() -> None:
    cut = text_of("ports")
    cut = cut[: cut.rindex("PortInfoRecord dump:")]
    assert collect_subnet_managers(Answers(two_managers() | answers(PIR=cut))).named is None


def test_any_lid_of_the_master_is_the_masters() -> None:
    """An LMC of 1 gives it two."""
    text = text_of("ports").replace(f"SMLid:{27 * '.'}2\n", f"SMLid:{27 * '.'}3\n", 1)
    managers = collect_subnet_managers(Answers(two_managers() | answers(PIR=text)))
    assert (managers.problems, managers.named) == ((), (NamedLid(2, 6), NamedLid(3, 1)))


def test_a_standby_that_does_not_answer() -> None:
    given = two_managers(sminfo_10=silent(10)) | {"sminfo -L 10": silent(10)}
    managers = collect_subnet_managers(Answers(given))
    assert managers.managers[1] == SubnetManager(STANDBY, 10, None, 0, None)
    (problem,) = managers.problems
    assert (problem.kind, problem.source) == ("silent-manager", "sminfo 10")
    assert exit_status(managers) == 1


def test_one_packet_that_is_lost_is_no_silence() -> None:
    given = two_managers() | {"sminfo -L 10": silent(10)}
    managers = collect_subnet_managers(Answers(given))
    assert managers.managers[1] == SubnetManager(STANDBY, 10, "standby", 0, 40)
    assert managers.problems == ()


def test_a_manager_that_stands_still() -> None:
    given = two_managers() | {"sminfo -L 10": info(10, STANDBY, "2 SMINFO_STANDBY", 40)}
    managers = collect_subnet_managers(Answers(given))
    assert [manager.activity_moving for manager in managers.managers] == [True, False]


def test_a_port_that_claims_a_manager() -> None:
    """IsSM of its capability mask; the SA lists no manager there."""
    text = text_of("ports")
    at = text.index("EndPortLid..............10\n")
    mask = text.index("CapMask:", at)
    text = text[:mask] + text[mask:].replace("0x50c048", "0x50c04a", 1)
    given = two_managers() | answers(PIR=text) | {"saquery SMIR": said(record(2, MASTER, 3, 101))}
    assert len(collect_subnet_managers(Answers(given)).managers) == 2, "it answers"
    given |= {"sminfo 10": silent(10), "sminfo -L 10": silent(10)}
    managers = collect_subnet_managers(Answers(given))
    assert [problem.kind for problem in managers.problems] == ["silent-manager"]
    assert "its port claims" in managers.problems[0].text


def test_two_masters() -> None:
    given = two_managers(sminfo_10=info(10, STANDBY, "3 SMINFO_MASTER", 40))
    given["sminfo -L 10"] = info(10, STANDBY, "3 SMINFO_MASTER", 41)
    managers = collect_subnet_managers(Answers(given))
    assert [problem.kind for problem in managers.problems] == ["several-masters"]
    assert exit_status(managers) == 1


def test_records_without_answers_of_the_managers() -> None:
    """A capture that somebody put together, or a saved text: the SA's word stands."""
    given = {words: answer for words, answer in two_managers().items() if words in ("sminfo", "saquery SMIR")}
    managers = collect_subnet_managers(Answers(given))
    assert [(one.state, one.activity_moving) for one in managers.managers] == [("master", None), ("discovering", None)]
    managers = collect_subnet_managers(Answers({"saquery SMIR": given["saquery SMIR"]}))
    assert (len(managers.managers), managers.problems) == (2, ())


def test_a_saved_text_of_records(tmp_path: Path) -> None:
    file = tmp_path / "smir.txt"
    file.write_text((MIXED / "sm-info.txt").read_text())
    managers = collect_subnet_managers(open_site(str(file)).subnet)
    assert [(one.guid, one.lid, one.state) for one in managers.managers] == [(MASTER, 2, "master")]
    assert (managers.complete, managers.problems) == (None, ())


def test_through_another_port() -> None:
    given = {
        " ".join([words.split()[0], "-C mlx5_1", *words.split()[1:]]): answer
        for words, answer in two_managers().items()
    }  # fmt: skip
    assert len(collect_subnet_managers(Answers(given), Through("mlx5_1")).managers) == 2
