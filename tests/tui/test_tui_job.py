"""The job page: the answer in words that say no more than the verdict does."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from support.tui_pilot import SIZES, Driver
from support.tui_scenes import site, small_job

from ibkit.collectors.running_jobs import RunningJob
from ibkit.export.mpi_sentence import sentence
from ibkit.model.host_matrix import fold
from ibkit.model.mpi import STATUSES, VERDICTS, Evidence, JobVerdict, Layer, Pair
from ibkit.sources.opening import open_site
from ibkit.tui.app import IbkitApp
from ibkit.tui.snapshot import ASKED_JOB, FABRIC, MANAGERS, RUNNING, Part, Task, read_all
from ibkit.tui.view import matrix
from ibkit.tui.view.excerpt import excerpt_of
from ibkit.tui.view.job import STATUS_LEVELS, evidence_rows, evidence_table, notices, page
from ibkit.tui.view.level import CRITICAL, OK, UNKNOWN
from ibkit.tui.view.lines import plain
from ibkit.tui.view.table import fit

JOBS = Path(__file__).parent.parent.parent / "fixtures" / "jobs"
FAT_TREE = Path(__file__).parent.parent.parent / "fixtures" / "fat-tree"


def test_every_status_has_a_level() -> None:
    assert set(STATUS_LEVELS) == set(STATUSES)


@pytest.mark.parametrize(
    ("verdict", "status", "text"),
    [
        ("ib", "as-expected", "InfiniBand, as expected"),
        ("rdma", "as-expected", "RDMA (verbs; the log does not show whether InfiniBand or RoCE), as expected"),
        ("tcp", "fallback", "TCP, not RDMA: a fall-back"),
        ("tcp", "by-configuration", "TCP, as configured, not RDMA"),
        ("tcp", "undecided", "TCP, not RDMA; the log cannot tell whether RDMA was to be had"),
        ("mixed", "mixed", "the ranks' transports differ"),
        ("mixed", "fallback", "the ranks' transports differ"),
        ("ib", "mixed", "InfiniBand, but the hosts differ"),
        ("none", "aborted", "no data path was established, the job aborted"),
        ("ib", "aborted", "InfiniBand, then the job aborted"),
        ("unknown", "undecided", "not decided"),
        ("shm", "as-expected", "shared memory on one host, as expected"),
        ("shm", "aborted", "shared memory on one host, then the job aborted"),
    ],
)
def test_sentence(verdict: str, status: str, text: str) -> None:
    """The same words as on the command line."""
    assert sentence(JobVerdict("x", verdict, status, (Layer("mpi", verdict, status),))) == text


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("status", STATUSES)
def test_any_pair_of_words_has_a_page(verdict: str, status: str) -> None:
    layer = Layer("mpi", verdict, status)
    assert page(JobVerdict("x", verdict, status, (layer, layer._replace(layer="nccl"))))


def test_layers_of_several_jobs_are_told_apart() -> None:
    layers = (Layer("mpi", "ib", "as-expected", 1), Layer("nccl", "tcp", "fallback", 2))
    text = "\n".join(map(plain, page(JobVerdict("x", "mixed", "fallback", layers))))
    assert "run 1, mpi  InfiniBand, as expected" in text
    assert "run 2, nccl  TCP, not RDMA: a fall-back" in text


@pytest.mark.parametrize(
    ("hosts", "told"),
    [
        (("n2", "n1"), "2: n2, n1"),
        (tuple(f"n{number:04}" for number in range(1, 1281)), "1,280: n[0001-1280]"),
        (tuple("abcdefghij"), "10: a, b, c, d, e, f, g, h and 2 more"),
    ],
)
def test_many_hosts_are_told_in_short(hosts: tuple[str, ...], told: str) -> None:
    layer = Layer("mpi", "ib", "as-expected", hosts=hosts)
    text = "\n".join(map(plain, page(JobVerdict("x", "ib", "as-expected", (layer,)))))
    assert f"hosts    {told}" in text


@pytest.mark.parametrize(("available", "where"), [(75, 24), (115, 36)])
def test_a_place_that_is_a_command_of_a_host_has_room(available: int, where: int) -> None:
    """Its line is told in full below the table; the place is 36 cells wide."""
    seen = Evidence(1, "process", "/sys/class/infiniband/mlx5_0/ports/1", 0, "x" * 90, "n01", 0, "ib")
    table = evidence_rows([seen])
    assert [slot.width for slot in fit(table, available) if table.columns[slot.column].title == "Where"] == [where]


def layer_of(*pairs: Pair) -> Layer:
    hosts = tuple(dict.fromkeys(host for pair in pairs for host in (pair.a, pair.b)))
    return Layer("mpi", "mixed", "mixed", hosts=hosts, pairs=pairs)


def test_what_differs_is_a_group_of_its_own_in_the_picture() -> None:
    names = [f"n{number}" for number in range(1, 9)]
    pairs = [Pair(a, b, "tcp" if "n7" in (a, b) else "ib") for i, a in enumerate(names) for b in names[i + 1 :]]
    layer = layer_of(*pairs)
    text = [plain(line) for line in page(JobVerdict("x", "mixed", "mixed", (layer,)))]
    rows = [line.split() for line in text if line.strip().startswith("(") and "n" in line]
    assert rows == [["(1)", "n[1-6,8]", "ib", "tcp"], ["(2)", "n7", "tcp", "-"]]


def test_the_matrix_is_square_and_says_what_is_not_known() -> None:
    layer = layer_of(Pair("a", "b", "ib"), Pair("b", "c", "ib"), Pair("a", "a", "shm"))
    made = matrix.table(fold(layer))
    assert len(made.columns) == len(made.rows) + 1
    texts = {str(value) for row in made.rows for value in row.values[1:]}
    assert any("*" in text for text in texts), "a - c is not known"
    assert any("shm" in text for text in texts)
    assert matrix.level_of("ib*") == OK
    assert matrix.level_of("ib | ?") == UNKNOWN


def test_lines_of_a_log_around_one() -> None:
    data = b"".join(b"line %d \xff\n" % number for number in range(1, 100_001)) + b"the end"
    found = excerpt_of(io.BytesIO(data), 70_000)
    assert found.first == 69_700
    assert len(found.lines) == 601
    assert found.lines[300] == "line 70000 \\xff"
    assert excerpt_of(io.BytesIO(data), 100_001).lines[-1] == "the end"
    assert excerpt_of(io.BytesIO(data), 1).lines[0].startswith("line 1 ")
    with pytest.raises(ValueError, match="100001 lines, and no line 100002"):
        excerpt_of(io.BytesIO(data), 100_002)


def test_a_line_without_end_is_cut_and_counted_once() -> None:
    data = b"a\n" + b"x" * (5 << 20) + b"\nlast\n"
    found = excerpt_of(io.BytesIO(data), 3)
    assert (found.first, [len(text) for text in found.lines]) == (1, [1, 4000, 4])


async def settled(tui: Driver) -> None:
    await tui.settled()


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_from_a_cell_to_the_line_in_its_file(size: tuple[int, int]) -> None:
    """fixtures/fat-tree/README.md: two hosts over TCP, seen in lines 40 and 42 of job.log."""
    app = IbkitApp(open_site(str(FAT_TREE)), page="jobs")
    async with app.run_test(size=size) as pilot:
        tui = Driver(app, pilot)
        await settled(tui)
        assert "TCP, not RDMA: a fall-back" in tui.screen
        await tui.press("M")
        assert tui.title.startswith("Jobs > mpi matrix")
        assert tui.row == ("c[001-002]", "tcp")
        await tui.press("enter")
        assert tui.row[:3] == ("c001", "c002", "tcp")
        await tui.press("enter")
        if "evidence" not in tui.title and "line" not in tui.title:
            await tui.press("enter")
        await tui.press("enter")
        await settled(tui)
        assert "Using tcp btl for send to" in tui.screen
        assert tui.row[0] in (40, 42)
        await tui.press("M")
        assert tui.row == ("c[001-002]", "tcp"), "from a line, too"
        await tui.press("escape", "escape", "escape")
        assert "matrix" in tui.title or "Jobs" in tui.title


async def test_the_names_of_the_hosts_stay_when_a_wide_matrix_is_scrolled(tmp_path: Path) -> None:
    """A ring of TCP among InfiniBand: no host is like another one, and the matrix is wider than the screen."""
    size = 24
    rows = [
        f"[node{host:03}:{5000 + host}] mca: bml: Using {'tcp' if (host - peer) % size in (1, size - 1) else 'openib'} "
        f"btl for send to [[31337,1],{peer}] on node node{peer:03}\n"
        for host in range(size)
        for peer in range(size)
        if host != peer
    ]
    (tmp_path / "ring.log").write_text("".join(rows))
    app = IbkitApp(open_site(str(FAT_TREE)), page="jobs")
    async with app.run_test(size=(80, 24)) as pilot:
        tui = Driver(app, pilot)
        await settled(tui)
        await tui.press("o")
        await tui.type(str(tmp_path / "ring.log"))
        await tui.press("enter")
        await settled(tui)
        await tui.press("M")
        assert tui.row[0] == "node000"
        await tui.press(*["right"] * (size - 1))
        line = next(line for line in tui.lines if "node000" in line and "tcp" in line)
        assert line.split()[-1] == "tcp", "the last host is the first one's neighbour"
        await tui.click_at(line.index("node000"), tui.lines.index(line))
        assert tui.app.screen.table.column == 0
        await tui.press(*["right"] * 2)
        line = next(line for line in tui.lines if "node000" in line and "tcp" in line)
        assert line.split("node000")[1].split()[:3] == ["-", "tcp", "rdma"], "back at the left"


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_a_log_is_asked_for_and_judged_and_a_bad_one_is_told(size: tuple[int, int]) -> None:
    app = IbkitApp(open_site(str(FAT_TREE)), page="jobs")
    async with app.run_test(size=size) as pilot:
        tui = Driver(app, pilot)
        await settled(tui)
        for target, words in (
            (str(JOBS / "nccl-2.18-ib" / "job.log"), "as expected"),
            ("/nonexistent", "No such file"),
        ):
            await tui.press("o")
            await tui.type(target)
            await tui.press("enter")
            await settled(tui)
            assert words in tui.words
            await tui.press("7")
        rows = tui.app.screen.table.table.rows
        assert [row.values[1] for row in rows] == ["log", "asked for", "asked for"], "several jobs are a list"
        assert "could not be read" not in await tui.press("1"), "what was asked for in vain is no state of the site"


async def test_running_jobs_are_listed_and_judged_when_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    import ibkit.tui.judging as judging

    asked: list[str] = []

    def judged(_site: object, target: str) -> JobVerdict:
        asked.append(target)
        return small_job()._replace(target=target)

    monkeypatch.setattr(judging, "judge_target", judged)
    job = RunningJob("run", {4711: 0, 4712: 1}, 2, 4700, "mpirun", 0, "root", "mpirun \x1b[31m./a.out")
    tasks = [Task(Part(RUNNING, "n00"), lambda: (job,)), Task(FABRIC, lambda: None), Task(MANAGERS, lambda: None)]
    app = IbkitApp(site("live"), page="jobs", tasks=tasks, interval_seconds=0.0)
    async with app.run_test(size=(120, 40)) as pilot:
        tui = Driver(app, pilot)
        await tui.until("pid:4711")
        assert "enter judges it" in tui.screen
        assert "\\x1b[31m" in tui.screen
        assert asked == []
        await tui.press("enter")
        await tui.until("TCP, not RDMA: a fall-back")
        assert asked == ["pid:4711"]
        await tui.press("u")
        await settled_job(tui)
        assert asked == ["pid:4711"] * 2
        await tui.press("enter")
        assert "select: path btl:tcp to n01" in tui.screen
        await tui.press("7", "7")
        assert "fall-back" in tui.row[2]


async def settled_job(tui: Driver) -> None:
    def is_judged() -> bool:
        return not any(part.kind == ASKED_JOB for part in tui.app.snapshot.waiting)

    await tui.wait_for(is_judged)
    await tui.quiet()


def test_only_what_is_not_as_expected_is_a_notice() -> None:
    assert [n.level for n in notices(small_job())] == [CRITICAL]
    assert notices(JobVerdict("x", "ib", "as-expected")) == []
    assert notices(JobVerdict("x", "tcp", "by-configuration")) == []
    assert [n.level for n in notices(JobVerdict("x", "unknown", "undecided"))] == [UNKNOWN]


def test_a_log_alone_is_judged() -> None:
    """As `ibkit tui --from job.log`: no capture around it."""
    log = JOBS / "nccl-2.18-ib" / "job.log"
    snapshot = read_all(open_site(str(log)))
    assert snapshot.job is not None
    verdict = snapshot.job.value
    assert verdict is not None, snapshot.job.failure
    assert (verdict.verdict, verdict.status) == ("ib", "as-expected")
    assert {item.file for item in verdict.evidence} == {str(log)}
    assert STATUS_LEVELS[verdict.status] == OK


async def test_processes_cannot_be_asked_for_in_a_recording_and_it_says_what_can() -> None:
    app = IbkitApp(open_site(str(FAT_TREE)), page="jobs")
    async with app.run_test(size=(80, 24)) as pilot:
        tui = Driver(app, pilot)
        await settled(tui)
        await tui.press("o")
        await tui.type("pid:4711")
        await tui.press("enter")
        await settled(tui)
        assert "pid:4711: processes can only be looked at where they run" in tui.words
        assert "start `ibkit tui` without --from on the job's host, or give a log or a capture of the job" in tui.words


def test_running_jobs_are_told_apart_by_a_process_of_theirs() -> None:
    layers = (
        Layer("mpi", "tcp", "fallback", 1, process="pid:89"),
        Layer("mpi", "shm", "as-expected", 2, process="pid:7"),
    )
    text = "\n".join(map(plain, page(JobVerdict("running", "mixed", "fallback", layers))))
    assert "job pid:89, mpi  TCP" in text
    assert "job pid:7, mpi  shared memory" in text


def test_evidence_of_several_runs_tells_whose_it_is() -> None:
    evidence = (Evidence(1, "path", "job.log", 1, "one"), Evidence(2, "path", "job.log", 2, "two"))
    layers = (
        Layer("mpi", "ib", "as-expected", 1, evidence=(1,)),
        Layer("mpi", "tcp", "fallback", 2, evidence=(2,)),
    )
    found = evidence_table(JobVerdict("x", "mixed", "fallback", layers, evidence))
    assert [column.title for column in found.columns][:3] == ["#", "Class", "Run"]
    assert [row.values[2] for row in found.rows] == ["run 1", "run 2"]
    alone = evidence_table(JobVerdict("x", "ib", "as-expected", layers[:1], evidence[:1]))
    assert [column.title for column in alone.columns][:3] == ["#", "Class", "Where"]
