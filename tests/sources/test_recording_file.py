"""A recording holds captures: whole ones, whatever happens to its writer, and nothing else, whoever made the file."""

import io
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
import zlib
from pathlib import Path

import pytest

from ibkit.errors import IbkitError, UnreadableInput
from ibkit.sources.base import CommandAnswer
from ibkit.sources.opening import open_site
from ibkit.sources.recording import RecordingSource
from ibkit.sources.recording_file import Frame, FrameStore, append, frames, pick
from ibkit.sources.site import JobFile
from ibkit.sources.writer import Recorded

GIB = 1 << 30
ARGV = ("ibnetdiscover",)


class Says:
    """A source that answers one command."""

    def __init__(self, stdout: bytes) -> None:
        self.stdout = stdout

    def run(self, argv, *, deadline_seconds=60.0):
        return CommandAnswer(tuple(argv), self.stdout, b"", 0, 0.1)


def recorded(stdout: bytes, time: str | None = "2026-12-01T10:00:00+01:00", job: tuple[JobFile, ...] = ()) -> Recorded:
    source = RecordingSource(Says(stdout))
    source.run(ARGV)
    return Recorded("n01", time, (), source, job)


def said(path: object, which: str = "last") -> bytes:
    return open_site(f"{path}@{which}").subnet.run(ARGV).stdout


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "a recording")


def test_each_frame_is_a_capture_of_its_own(path: str) -> None:
    job = JobFile("job.out", lambda: io.BytesIO(b"a log"))
    assert append(path, recorded(b"one"), GIB) == Frame(1, "2026-12-01T10:00:00+01:00", "n01")
    append(path, recorded(b"two", "2026-12-01T11:00:00+01:00", (job,)), GIB)
    assert [frame.id for frame in frames(path)] == [1, 2]
    assert (said(path, "1"), said(path, "2"), open_site(path).subnet.run(ARGV).stdout) == (b"one", b"two", b"two")
    site = open_site(path)
    assert site.origin.time == "2026-12-01T11:00:00+01:00"
    assert site.job[0].open().read() == b"a log"
    assert open_site(f"{path}@1").job == ()


def test_what_did_not_change_is_kept_once(path: str) -> None:
    big = os.urandom(3 << 20)
    append(path, recorded(big), GIB)
    size = os.path.getsize(path)
    for _ in range(5):
        append(path, recorded(big), GIB)
    assert os.path.getsize(path) < size + (256 << 10)
    assert said(path, "1") == said(path, "6") == big


def test_the_oldest_frames_make_room_and_their_numbers_do_not_come_again(path: str) -> None:
    written = [os.urandom(1 << 20) for _ in range(6)]
    for data in written:
        append(path, recorded(data), 3 << 20)
        assert os.path.getsize(path) < (4 << 20) + (256 << 10)
    kept = [frame.id for frame in frames(path)]
    assert kept == list(range(kept[0], 7))
    assert 2 <= len(kept) <= 3
    assert [said(path, str(number)) for number in kept] == written[kept[0] - 1 :]
    with pytest.raises(UnreadableInput, match=rf"no frame @1; it holds frames {kept[0]} to 6"):
        said(path, "1")


def test_two_frames_stay_however_large_they_are(path: str) -> None:
    for _ in range(3):
        append(path, recorded(os.urandom(2 << 20)), 1 << 20)
    assert [frame.id for frame in frames(path)] == [2, 3]


@pytest.mark.parametrize(
    ("which", "number"),
    [
        ("first", 1),
        ("last", 3),
        ("2", 2),
        ("2026-12-01T10:00", 1),
        ("2026-12-01T10:59:59", 1),
        ("2026-12-01T11:00", 2),
        ("2026-12-01T10:00:00Z", 2),  # the recording's zone is an hour ahead
        ("2030-01-01", 3),
    ],
)
def test_a_frame_has_a_number_and_a_time(path: str, which: str, number: int) -> None:
    for hour in (10, 11, 12):
        append(path, recorded(b"x", f"2026-12-01T{hour}:00:00+01:00"), GIB)
    assert pick(path, which).id == number


@pytest.mark.parametrize("which", ["0", "4", "2026-12-01T09:59", "yesterday", "-1", "", "9" * 30])
def test_what_names_no_frame_is_told_with_what_there_is(path: str, which: str) -> None:
    for hour in (10, 11, 12):
        append(path, recorded(b"x", f"2026-12-01T{hour}:00:00+01:00"), GIB)
    with pytest.raises(UnreadableInput, match=r"frames 1 to 3|give a number, first, last, or a time"):
        pick(path, which)


@pytest.mark.parametrize(
    ("which", "number"),
    [
        ("2026-12-01T10:30", 2),
        ("2026-12-01T11:00", 3),
        ("2026-12-01T11:30", 3),
        ("2026-12-01T12:00", 4),
        ("2027-01-01", 4),
    ],
)
def test_frames_that_are_not_in_the_order_of_their_times(path: str, which: str, number: int) -> None:
    """Old captures may be put together in any order; of two at the same time the later frame counts."""
    for hour in (12, 10, 11, 12):
        append(path, recorded(b"x", f"2026-12-01T{hour}:00:00+01:00"), GIB)
    assert pick(path, which).id == number
    with pytest.raises(UnreadableInput, match=r"1 to 4, 2026-12-01T10:00:00\+01:00 to 2026-12-01T12:00:00\+01:00"):
        pick(path, "2026-12-01T09:00")


@pytest.mark.parametrize(("content", "told"), [(None, "No such file"), (b"# words\n" * 99, "no recording of")])
def test_what_is_no_recording_is_told_as_such(path: str, content: bytes | None, told: str) -> None:
    if content is not None:
        Path(path).write_bytes(content)
    with pytest.raises(UnreadableInput, match=told):
        frames(path)


def test_a_frame_without_a_time_is_found_by_its_number_only(path: str) -> None:
    append(path, recorded(b"x", None), GIB)
    assert pick(path, "1").time is None
    with pytest.raises(UnreadableInput, match="no frame"):
        pick(path, "2026-12-01")


def test_a_name_with_an_at_is_a_name_where_there_is_such_a_file(tmp_path: Path) -> None:
    path = str(tmp_path / "rec@1")
    append(path, recorded(b"one"), GIB)
    append(path, recorded(b"two"), GIB)
    assert open_site(path).subnet.run(ARGV).stdout == b"two"
    assert said(path, "1") == b"one"


WRITER = """
    import os, sys
    sys.path.insert(0, {tests!r})
    from sources.test_recording_file import recorded
    from ibkit.sources.recording_file import append
    for number in range(1000):
        append({path!r}, recorded(b"%d " % number + os.urandom(300_000)), 4 << 20)
        print(number, flush=True)
"""


def writer(path: str) -> subprocess.Popen[str]:
    code = textwrap.dedent(WRITER).format(tests=str(Path(__file__).parents[1]), path=path)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_a_kill_at_any_moment_leaves_the_frames_before(path: str) -> None:
    for pause in (0.0, 0.003, 0.011, 0.017, 0.023):
        child = writer(path)
        assert child.stdout
        for _ in range(2):
            assert child.stdout.readline()
        time.sleep(pause)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        for frame in frames(path):
            assert said(path, str(frame.id)).split(b" ", 1)[0].isdigit()
            assert len(said(path, str(frame.id))) > 300_000
    append(path, recorded(b"the next one"), GIB)
    assert said(path) == b"the next one"


def test_two_writers_and_a_reader_at_once(path: str) -> None:
    children = [writer(path) for _ in range(2)]
    try:
        for child in children * 3:
            assert child.stdout
            assert child.stdout.readline()
            last = frames(path)[-1]
            assert len(said(path, str(last.id))) > 300_000
    finally:
        for child in children:
            child.kill()
            child.wait()
            assert child.stdout
            child.stdout.close()
    numbers = [frame.id for frame in frames(path)]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))


def test_an_unfinished_frame_is_undone(path: str) -> None:
    append(path, recorded(b"whole"), GIB)
    code = f"""
import os, sqlite3
database = sqlite3.connect({path!r}, isolation_level=None)
database.execute("PRAGMA cache_size = 2")
database.execute("BEGIN IMMEDIATE")
database.execute("INSERT INTO frame VALUES (2, 'half', 'n01')")
for number in range(50):
    database.execute("INSERT INTO content (digest, packed) VALUES (?, ?)", (os.urandom(32), os.urandom(100_000)))
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code], check=False)
    assert os.path.exists(f"{path}-journal")
    assert [frame.id for frame in frames(path)] == [1]
    assert said(path) == b"whole"


def test_another_file_is_not_written_to(path: str) -> None:
    Path(path).write_text("a letter\n" * 100)
    with pytest.raises(IbkitError, match="exists and is no recording; remove it"):
        append(path, recorded(b"x"), GIB)
    assert Path(path).read_text() == "a letter\n" * 100


def test_a_database_of_somebody_else_is_neither_read_nor_written_to(path: str) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE cookies (name TEXT)")
    database.close()
    before = Path(path).read_bytes()
    with pytest.raises(IbkitError, match="no recording of `ibkit record`"):
        append(path, recorded(b"x"), GIB)
    with pytest.raises(UnreadableInput, match="no recording of `ibkit record`"):
        open_site(path)
    assert Path(path).read_bytes() == before


def spoilt(path: str, *statements: str) -> None:
    append(path, recorded(b"x"), GIB)
    database = sqlite3.connect(path)
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()


ENDLESS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, 'x' AS time, 'y' AS host FROM n"
)


def test_a_view_that_never_ends_is_not_asked(path: str) -> None:
    spoilt(path, "DROP TABLE frame", f"CREATE VIEW frame AS {ENDLESS}")
    with pytest.raises(UnreadableInput, match="other tables"):
        frames(path)


def test_a_later_format_is_not_read(path: str) -> None:
    spoilt(path, "PRAGMA user_version = 2")
    with pytest.raises(UnreadableInput, match="format 2, this ibkit reads 1"):
        frames(path)


def test_what_unpacks_to_too_much_is_refused(path: str) -> None:
    append(path, recorded(b"x"), GIB)
    bomb = zlib.compress(bytes(8 << 20), 9)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE content SET packed = ?", (bomb,))
    database.close()
    with pytest.raises(UnreadableInput, match="larger than 1 MiB"):
        FrameStore(path, frames(path)[0]).read("manifest.json", 1 << 20)


@pytest.mark.parametrize("packed", [b"", b"garbage", zlib.compress(b"x" * 100)[:-6], None, "text", 5])
def test_damaged_contents_are_told(path: str, packed: object) -> None:
    append(path, recorded(b"x"), GIB)
    with sqlite3.connect(path) as database:
        if packed is None:
            database.execute("DELETE FROM file WHERE name = 'manifest.json'")
        else:
            database.execute("UPDATE content SET packed = ?", (packed,))
    database.close()
    with pytest.raises(UnreadableInput, match=r"damaged|missing"):
        open_site(path)


def test_a_cut_file_is_told(path: str) -> None:
    append(path, recorded(os.urandom(1 << 20)), GIB)
    data = Path(path).read_bytes()
    for size in (16, 100, 5000, len(data) // 2):
        Path(path).write_bytes(data[:size])
        with pytest.raises(UnreadableInput):
            said(path)


def test_types_that_nobody_wrote_do_not_get_through(path: str) -> None:
    spoilt(path, "UPDATE frame SET time = x'00ff', host = 5")
    assert frames(path) == (Frame(1, None, "5"),)
