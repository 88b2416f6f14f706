"""The overview never says more than what was seen, and misses nothing that was."""

from __future__ import annotations

import pytest
from support.tui_scenes import MASTER, empty_snapshot, fabric_of, small_fabric, small_host, small_job, snapshot

from ibkit.model.host import Hca, HcaPort, HostHcas
from ibkit.model.mpi import Layer
from ibkit.model.subnet_manager import NO_SM, SubnetManager, SubnetManagers
from ibkit.parsers.base import Problem
from ibkit.sources.site import Origin
from ibkit.tui.snapshot import HOST, Part, Reading, Snapshot
from ibkit.tui.view.banner import Clock, banner
from ibkit.tui.view.level import CRITICAL, INFO, OK, UNKNOWN, WARNING
from ibkit.tui.view.lines import plain
from ibkit.tui.view.notices import notice_table
from ibkit.tui.view.overview import overview, overview_more, part_lines

WELL = HostHcas("n00", (Hca("mlx5_0", (HcaPort(1, "Active", "LinkUp", "InfiniBand", 5, rate_gbps=200.0),)),))
AS_EXPECTED = small_job()._replace(verdict="ib", status="as-expected", layers=(Layer("mpi", "ib", "as-expected"),))
FINE = fabric_of([], {})


def fine_fabric(**more: object):  # type: ignore[no-untyped-def]
    """The small fabric without its two faults."""
    fabric = small_fabric(**more)
    links = tuple(link._replace(width="4x", speed="HDR") for link in fabric.links)
    return fabric._replace(links=links)


def headline(**changed: object) -> str:
    return plain(overview(snapshot(**changed)).headline).strip()


def notices(**changed: object) -> list[tuple[int, str, str]]:
    rows = notice_table(overview(snapshot(**changed)).notices).rows
    return [(row.level, *row.values) for row in rows]


def test_all_that_is_wrong_in_the_scene_worst_first() -> None:
    assert headline() == "x   1 critical, 3 warnings"
    assert notices() == [
        (CRITICAL, "job: TCP, not RDMA: a fall-back: locked memory is limited to 64 KiB", "job.out"),
        (WARNING, "the link is up, and no subnet manager has configured the port", "n00 mlx5_2/1"),
        (WARNING, "link at 1x HDR, one lane only", "S-1 [1] -- L-0 [22]"),
        (WARNING, "link at 4x EDR, both ends have faster links", "S-0 [2] -- L-1 [21]"),
        (INFO, "port Down: no link: no cable, or the other side is off", "n00 mlx5_1/1"),
        (INFO, "the doctor would mend: umad", "host n00"),
    ]


def test_a_fine_site() -> None:
    found = overview(snapshot(host=WELL, job=AS_EXPECTED, fabric=fine_fabric()))
    assert plain(found.headline).strip() == "ok  nothing wrong in what was seen"
    assert [(part.caption, part.level, part.text) for part in found.parts] == [
        ("host n00", OK, "1 of 1 ports Active on 1 device: InfiniBand 200 Gb/s"),
        ("subnet manager", OK, "master 0x0c42a10300000001 LID 5 priority 14"),
        ("fabric", OK, "4 switches, 8 HCAs, 12 links; all was reached"),
        ("job", OK, "InfiniBand, as expected (job.out)"),
    ]


def test_nothing_is_ok_before_all_has_answered() -> None:
    text = plain(overview(empty_snapshot()).headline)
    assert "reading" in text
    assert "ok" not in text
    partly = empty_snapshot().with_reading(Part(HOST, "n00"), Reading(WELL))
    assert "nothing wrong" not in plain(overview(partly).headline)
    assert [part.level for part in overview(partly).parts] == [OK, None, None, None]


def test_a_fault_is_told_while_the_rest_is_still_read() -> None:
    partly = empty_snapshot().with_reading(Part(HOST, "n00"), Reading(small_host()))
    text = plain(overview(partly).headline)
    assert "1 warning" in text
    assert "still reading: doctor, fabric, subnet managers, job" in text


def test_what_was_not_seen_is_named() -> None:
    unseen = fabric_of([], {}, None, problems=(Problem("tool-missing", "ibnetdiscover is not installed"),))
    text = headline(host=WELL, job=AS_EXPECTED, fabric=unseen)
    assert text == "?   nothing wrong in what was seen; not seen: fabric"
    parts = overview(snapshot(fabric=unseen)).parts
    assert (parts[2].level, parts[2].text) == (UNKNOWN, "ibnetdiscover is not installed")


def test_an_incomplete_sweep_is_not_ok() -> None:
    assert headline(host=WELL, job=AS_EXPECTED, fabric=fine_fabric(complete=None)).startswith(
        "?   nothing wrong in what"
    )
    assert headline(host=WELL, job=AS_EXPECTED, fabric=fine_fabric(complete=False)) == "!   1 warning"


def test_problems_in_a_complete_sweep_are_not_ok_either() -> None:
    fabric = fine_fabric(problems=(Problem("bad-line", "line 7 holds no link", 7, "ibnetdiscover"),))
    assert headline(host=WELL, job=AS_EXPECTED, fabric=fabric) == "?   nothing wrong in what was seen; 1 unknown"


def test_a_collector_that_broke_off_is_told_in_its_place() -> None:
    found = overview(snapshot(host=WELL, job=AS_EXPECTED, subnet_managers=RuntimeError("boom [red]")))
    assert [part.text for part in found.parts if part.caption == "subnet manager"] == [
        "could not be read: RuntimeError: boom [red]"
    ]
    assert (UNKNOWN, "could not be read: RuntimeError: boom [red]") in [(n.level, n.what) for n in found.notices]


@pytest.mark.parametrize(
    ("managers", "level", "what"),
    [
        (MASTER, None, ""),
        (SubnetManagers((*MASTER.managers, SubnetManager(state="standby"))), None, ""),
        (SubnetManagers(MASTER.managers * 2), CRITICAL, "2 subnet managers say that they are master"),
        (SubnetManagers((SubnetManager(state="standby"),)), WARNING, "no subnet manager that was seen is master"),
        (SubnetManagers((), problems=(Problem(NO_SM, "nobody answers"),)), CRITICAL, "nobody answers"),
        (SubnetManagers((), problems=(Problem("tool-missing", "no sminfo"),)), None, ""),
    ],
)
def test_subnet_managers(managers: SubnetManagers, level: int | None, what: str) -> None:
    found = [n for n in notices(host=WELL, job=AS_EXPECTED, fabric=fine_fabric(), subnet_managers=managers)
             if n[2] != "host n00"]  # fmt: skip
    assert found == ([(level, what, "subnet")] if level else [])


@pytest.mark.parametrize(
    ("port", "level"),
    [
        (HcaPort(1, "Active", "LinkUp", "Ethernet"), None),
        (HcaPort(1, "Down", "Polling", "InfiniBand"), CRITICAL),  # it is the only one: the host is cut off
        (HcaPort(1, "Initializing", "LinkUp", "InfiniBand"), CRITICAL),
        (HcaPort(1, "Armed", "LinkUp", "InfiniBand"), CRITICAL),
        (HcaPort(1), UNKNOWN),
        (HcaPort(1, "Frobnicating", "LinkUp"), UNKNOWN),
    ],
)
def test_the_only_port_of_a_host(port: HcaPort, level: int | None) -> None:
    host = HostHcas("n00", (Hca("mlx5_0", (port,)),))
    found = [n for n in notices(host=host, job=AS_EXPECTED, fabric=fine_fabric()) if n[0] > INFO]
    assert max([n[0] for n in found], default=None) == level


def test_a_host_without_a_device() -> None:
    bare = HostHcas("n00", problems=(Problem("no-rdma-device", "no RDMA device: ib_core is not loaded"),))
    assert (UNKNOWN, "no RDMA device: ib_core is not loaded", "n00") in notices(host=bare)
    assert "ok" not in headline(host=bare, job=AS_EXPECTED, fabric=fine_fabric())


def test_one_cause_is_told_once() -> None:
    problem = Problem("no-rdma-device", "no RDMA device: ib_core is not loaded")
    bare, unseen = HostHcas("n00", problems=(problem,)), fabric_of([], {}, None, problems=(problem,))
    made = overview(snapshot(host=bare, fabric=unseen, subnet_managers=SubnetManagers((), problems=(problem,))))
    assert [part.text for part in made.parts[:3]] == [problem.text, *["not seen, for the same reason"] * 2]


def test_many_hosts_are_one_line() -> None:
    names = [f"n{i:02}" for i in range(12)]
    readings = {Part(HOST, name): Reading(small_host(name)) for name in names}
    whole = snapshot()
    rest = {part: reading for part, reading in whole.readings.items() if part.kind != HOST}
    found = overview(Snapshot(whole.origin, readings | rest))
    assert [part.caption for part in found.parts] == ["hosts", "subnet manager", "fabric", "job"]
    assert found.parts[0].text == "12 of 36 ports Active on 12 hosts"
    assert found.parts[0].level == WARNING


def test_parts_are_aligned() -> None:
    lines = [plain(line) for line in part_lines(overview(snapshot()).parts)]
    assert lines[0].index("1 of 3 ports") == lines[1].index("master") == lines[2].index("4 switches")


def test_a_large_screen_shows_ports_and_rates() -> None:
    text = "\n".join(map(plain, overview_more(snapshot(), 200, 30)))
    assert "mlx5_0/1" in text
    assert "4x HDR" in text
    assert max(map(len, text.splitlines())) < 200


@pytest.mark.parametrize(
    ("origin", "clock", "text"),
    [
        (Origin("capture", "ft", "2026-12-01T20:53:07+00:00", "two faults"), Clock(3.0, 0.0),
         "REPLAY  of ft, recorded 2026-12-01 20:53:07 +00:00: two faults"),
        (Origin("capture", "ft", "2026-12-01T20:53:07Z"), None, "REPLAY  of ft, recorded 2026-12-01 20:53:07 UTC"),
        (Origin("capture", "ft", "yesterday"), None, "REPLAY  of ft, recorded yesterday"),
        (Origin("raw", "x.txt (ibstat output)"), None, "REPLAY  of x.txt (ibstat output), time not recorded"),
        (Origin("live", "head1"), None, "LIVE  on head1"),
        (Origin("live", "head1"), Clock(12.4, 30.0), "LIVE  head1, read 12 s ago, every 30 s"),
        (Origin("live", "head1"), Clock(None, 30.0, running=("ibnetdiscover 3 s",)),
         "LIVE  head1, reading, every 30 s, running ibnetdiscover 3 s"),
        (Origin("live", "head1"), Clock(200.0, 30.0, True), "PAUSED  head1, read 3 min ago"),
        (Origin("live", "\x1b[31mhead"), None, "LIVE  on \\x1b[31mhead"),
    ],
)  # fmt: skip
def test_banner(origin: Origin, clock: Clock | None, text: str) -> None:
    assert plain(banner(origin, clock)).strip() == text
