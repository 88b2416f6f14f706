"""One collection feeds the pages and the rules: a fabric is swept once, not once for each of them."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.tui_pilot import Driver

from ibkit.sources.opening import open_site
from ibkit.sources.site import Origin, Site
from ibkit.tui.app import IbkitApp
from ibkit.tui.collecting import Collecting
from ibkit.tui.snapshot import CHECK, DOCTOR, FABRIC, HOST, MANAGERS, Part, Reading, Task, read_all, tasks_of

FAT_TREE = Path(__file__).parents[2] / "fixtures" / "fat-tree"
MULTIRAIL = FAT_TREE.parent / "multirail-host"


class Counted:
    """A source that counts what it is asked, and may hold one tool back."""

    def __init__(self, source: Any, held: str = "") -> None:
        self._source = source
        self._held = held
        self.gate = threading.Event()
        self.asked: Counter[str] = Counter()

    def run(self, argv: Any, **more: Any) -> Any:
        self.asked[" ".join(argv)] += 1
        if argv[0] == self._held:
            self.gate.wait(20)
        return self._source.run(argv, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


def counted(held: str = "", kind: str = "live") -> tuple[Site, Counted]:
    """The fat tree as a host that answers now: its subnet is asked through a counter."""
    site = open_site(str(FAT_TREE))
    source = Counted(site.subnet, held)
    origin = Origin(kind, "c001", site.origin.time if kind != "live" else None)
    return site._replace(origin=origin, subnet=source), source


def sweeps(source: Counted) -> Counter[str]:
    """How often each tool that crosses the fabric was asked."""
    return Counter({
        command: count for command, count in source.asked.items()
        if command.split()[0] in ("ibnetdiscover", "iblinkinfo", "ibqueryerrors", "perfquery", "sminfo", "saquery")
    })  # fmt: skip


def once() -> Counter[str]:
    """How often `ibkit check` alone asks."""
    from ibkit.rules.collecting import collect

    site, source = counted()
    collect(site)
    assert sweeps(source)["ibqueryerrors --details --report-port --threshold-file /dev/null"] == 1
    return sweeps(source)


def test_all_parts_ask_the_fabric_once() -> None:
    site, source = counted()
    snapshot = read_all(site)
    assert snapshot.check is not None
    assert snapshot.check.value is not None, snapshot.check.failure
    assert snapshot.fabric.value is not None
    assert snapshot.check.value.collected.fabric is snapshot.fabric.value.fabric
    assert sweeps(source) == once()


def test_a_host_is_read_once_for_its_page_and_the_rules() -> None:
    """Each reading starts a process for pyverbs."""
    site = open_site(str(MULTIRAIL))
    asked: Counter[str] = Counter()

    class Verbs(Counted):
        def verbs(self, *arguments: Any, **more: Any) -> Any:
            asked["verbs"] += 1
            return self._source.verbs(*arguments, **more)

    hosts = tuple(host._replace(source=Verbs(host.source)) for host in site.hosts)
    snapshot = read_all(site._replace(hosts=hosts))
    assert snapshot.check is not None
    assert snapshot.check.value is not None, snapshot.check.failure
    assert asked == {"verbs": 2 * len(hosts)}, "once for the host, once by the doctor, who looks how pyverbs is"
    assert snapshot.check.value.collected.hosts == tuple(reading.value for reading in snapshot.hosts.values())


def test_the_rules_say_the_same_as_when_they_collect_themselves() -> None:
    from ibkit.rules import catalogue
    from ibkit.rules.collecting import collect
    from ibkit.rules.engine import diagnose
    from ibkit.rules.evidence import Evidence

    site = open_site(str(FAT_TREE))
    shared = read_all(site).check
    assert shared is not None
    assert shared.value is not None
    assert shared.value.diagnosis == diagnose(Evidence(collect(site)), catalogue.ALL)


async def test_a_refresh_asks_once_more_and_the_fabric_comes_before_the_counters() -> None:
    site, source = counted("ibqueryerrors")
    app = IbkitApp(site, page="fabric", interval_seconds=0.0)
    async with app.run_test(size=(120, 40)) as pilot:
        tui = Driver(app, pilot)
        await tui.until("123 nodes")
        assert app.snapshot.readings[CHECK].is_waiting, "the counters are held back"
        source.gate.set()
        for times in (1, 2):
            await tui.wait_for(lambda: not app.collecting.running())
            await tui.settled()
            assert sweeps(source) == Counter({command: times * count for command, count in once().items()})
            if times == 1:
                await tui.press("r")
    app.collecting.stop()


def test_a_task_waits_for_those_it_needs_and_gets_what_they_read() -> None:
    collecting, gate, done = Collecting(), threading.Event(), threading.Event()
    got: dict[Part, Reading[Any]] = {}

    def swept() -> str:
        gate.wait(10)
        return "swept"

    def judge(readings: dict[Part, Reading[Any]]) -> str:
        got.update(readings)
        return "judged"

    tasks = [Task(FABRIC, swept), Task(CHECK, judge, (FABRIC, MANAGERS))]
    collecting.start(tasks, lambda part, reading: done.set() if part == CHECK else None)
    assert not done.wait(0.1)
    gate.set()
    assert done.wait(10)
    assert got[FABRIC].value == "swept"
    assert MANAGERS not in got, "nobody reads it"
    collecting.stop()


def test_a_task_that_waits_can_be_stopped() -> None:
    collecting, never = Collecting(), threading.Event()
    tasks = [Task(FABRIC, never.wait), Task(CHECK, lambda readings: 1, (FABRIC,))]
    collecting.start(tasks, lambda part, reading: None)
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "check"]
    collecting.stop(0.2)
    thread.join(5)
    assert not thread.is_alive()
    never.set()


def test_the_check_needs_what_has_a_task_of_its_own() -> None:
    (check,) = [task for task in tasks_of(open_site(str(FAT_TREE))) if task.part == CHECK]
    assert {part.kind for part in check.needs} == {HOST, DOCTOR, FABRIC.kind, MANAGERS.kind}


@pytest.mark.parametrize("names", [("n01", "n01"), ("n01", "n02")])
def test_checks_of_two_hosts_of_one_name_are_not_mixed_up(names: tuple[str, str]) -> None:
    from ibkit.model.checks import HostChecks
    from ibkit.tui.diagnosing import given_by

    site, _ = counted()
    site = site._replace(hosts=tuple(site.hosts[0]._replace(name=name) for name in names))
    readings = {Part(DOCTOR, name): Reading(HostChecks(name, ())) for name in names}
    assert set(given_by(site, readings).checks) == (set() if names[0] == names[1] else set(names))
