"""The cache's file: what goes in comes out, two writers, a writer that is killed, and files that are no cache."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibkit.model.address_cache import EXPIRED, FRESH, LIFE_SECONDS, NEGATIVE, NEGATIVE_LIFE_SECONDS, OLD, Entry
from ibkit.model.ids import Gid, PKey
from ibkit.model.path_record import PathRecord
from ibkit.resolve.cache import AddressCache, CacheError, default_path

PREFIX = 0xFEC0000000000001
NOW = 1_796_169_600


def entry(address: str, end: int = 1, via: str = "hosts", learned: int = NOW, pkey: int | None = 0xFFFF) -> Entry:
    gid = Gid(PREFIX << 64 | end)
    path = PathRecord(Gid(PREFIX << 64 | 0x11), gid, 1, end, PKey(0xFFFF), 0, 2048, 56.0, 0, 1.07374, 0, 0, True)
    return Entry(address, via, gid, learned, PREFIX, None if pkey is None else PKey(pkey), "said", path, "n01")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "deep/er/addresses.db")


def put(path: str, *entries: Entry) -> None:
    with AddressCache(path, make=True) as cache:
        cache.put(entries)


def everything(path: str) -> list[Entry]:
    with AddressCache(path) as cache:
        return cache.all()


def test_what_goes_in_comes_out(path: str) -> None:
    negative = Entry("10.0.0.9", "cache", None, NOW)
    roce = Entry("10.1.0.1", "gids", Gid(0xFFFF0A010001), NOW, None, None)
    put(path, entry("10.0.0.1"), negative, roce)
    assert everything(path) == [entry("10.0.0.1"), negative, roce]
    with AddressCache(path) as cache:
        assert cache.find(["10.0.0.1", "10.0.0.2"]) == {"10.0.0.1": [entry("10.0.0.1")]}


def test_nobody_who_looks_makes_a_file(path: str) -> None:
    assert everything(path) == []
    assert not Path(path).parent.exists()


def test_the_key_is_subnet_partition_and_address(path: str) -> None:
    put(path, entry("10.0.0.1", pkey=0xFFFF), entry("10.0.0.1", pkey=0x8001))
    put(path, entry("10.0.0.1", pkey=0x7FFF, learned=NOW + 5))  # the same partition, seen as a limited member
    assert [(one.pkey, one.learned) for one in everything(path)] == [(PKey(0x8001), NOW), (PKey(0x7FFF), NOW + 5)]


def test_the_newer_word_of_a_source_counts_whoever_writes_first(path: str) -> None:
    put(path, entry("10.0.0.1", 2, learned=NOW + 10))
    put(path, entry("10.0.0.1", 1, learned=NOW))
    assert [one.gid for one in everything(path)] == [Gid(PREFIX << 64 | 2)]


def test_a_swapped_adapter_leaves_nothing_behind_in_another_subnet(path: str) -> None:
    put(path, entry("10.0.0.1", 1), entry("10.0.0.1", 1, via="neighbours"))
    moved = entry("10.0.0.1", 2, learned=NOW + 1)._replace(prefix=PREFIX + 1)
    put(path, moved)
    assert {(one.via, one.prefix) for one in everything(path)} == {("hosts", PREFIX + 1), ("neighbours", PREFIX)}


def test_an_address_that_is_known_again_was_not_unknown(path: str) -> None:
    put(path, Entry("10.0.0.1", "cache", None, NOW))
    put(path, entry("10.0.0.1"))
    assert [one.gid is None for one in everything(path)] == [False]


def test_names_keep_their_case_and_are_found_in_any(path: str) -> None:
    put(path, entry("hosta2", 1), entry("HostA2", 2))
    with AddressCache(path) as cache:
        assert {one.address for one in cache.find(["HOSTA2"])["hosta2"]} == {"hosta2", "HostA2"}


def test_states() -> None:
    life = LIFE_SECONDS["hosts"]
    assert entry("a").state(NOW + life) == FRESH
    assert entry("a").state(NOW + life + 1) == OLD
    assert entry("a").age_seconds(NOW - 50) == 0
    unknown = Entry("a", "cache", None, NOW)
    assert unknown.state(NOW + NEGATIVE_LIFE_SECONDS) == NEGATIVE
    assert unknown.state(NOW + NEGATIVE_LIFE_SECONDS + 1) == EXPIRED


ADDRESSES = st.sampled_from(["10.0.0.1", "10.0.0.2", "n1", "N1"])
ENTRIES = st.builds(
    entry, ADDRESSES, st.integers(1, 3), st.sampled_from(["hosts", "gids"]), st.integers(NOW, NOW + 3), st.just(0xFFFF)
)


@settings(max_examples=30, deadline=None)
@given(st.lists(ENTRIES, max_size=12))
def test_the_last_told_is_what_is_left(tmp_path_factory: pytest.TempPathFactory, entries: list[Entry]) -> None:
    path = str(tmp_path_factory.mktemp("c") / "c.db")
    kept: dict[tuple[str, str], Entry] = {}
    for one in entries:
        put(path, one)
        key = one.address, one.via
        if key not in kept or one.learned >= kept[key].learned:
            kept[key] = one
    assert everything(path) == [kept[key] for key in sorted(kept)]


WRITER = """
import sys
from ibkit.model.address_cache import Entry
from ibkit.model.ids import Gid
from ibkit.resolve.cache import AddressCache
who, path, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("go", flush=True)
for number in range(rounds):
    with AddressCache(path, make=True) as cache:
        cache.put([Entry(f"{who}-{number}-{one}", "hosts", Gid(one + 1), 1) for one in range(50)])
    print(number, flush=True)
"""


def writer(who: str, path: str, rounds: int) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", WRITER, who, path, str(rounds)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def test_two_writers_lose_nothing(path: str) -> None:
    processes = [writer(who, path, 15) for who in ("one", "two")]  # both make the file
    assert [process.wait(60) for process in processes] == [0, 0]
    for process in processes:
        assert process.stdout
        process.stdout.close()
    names = {one.address for one in everything(path)}
    assert names == {f"{who}-{number}-{one}" for who in ("one", "two") for number in range(15) for one in range(50)}


def test_a_writer_that_is_killed_leaves_whole_batches(path: str) -> None:
    put(path, entry("10.0.0.1"))
    for pause in range(4):
        process = writer(f"w{pause}", path, 10_000)
        assert process.stdout
        for _ in range(3 + pause):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        process.stdout.close()
    counts: dict[str, int] = {}
    for one in everything(path):
        counts[one.address.rpartition("-")[0]] = counts.get(one.address.rpartition("-")[0], 0) + 1
    assert counts.pop("") == 1
    assert set(counts.values()) == {50}
    assert len(counts) >= 10
    with AddressCache(path) as cache:
        assert cache.faults() == []
    put(path, entry("10.0.0.2"))


def test_a_writer_that_dies_within_a_transaction_is_rolled_back(path: str) -> None:
    put(path, entry("10.0.0.1"))
    code = (
        "import os, sqlite3, sys\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute('PRAGMA cache_size = 1')\n"  # so that pages go to the file before the end
        "c.execute('BEGIN IMMEDIATE')\n"
        "c.execute('DELETE FROM entries')\n"
        "c.executemany('INSERT INTO entries VALUES (?, ?, 1, ?, NULL, NULL, 1, ?, NULL, NULL)',"
        " [(str(n), 'p', 'v', 'x' * 500) for n in range(2000)])\n"
        "os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == -9
    assert Path(f"{path}-journal").exists()
    assert everything(path) == [entry("10.0.0.1")]


def damaged(path: str, how: str) -> None:
    put(path, *(entry(f"10.0.{n // 250}.{n % 250}") for n in range(2000)))
    data = bytearray(Path(path).read_bytes())
    if how == "text":
        data[:] = b"10.0.0.1 fec0::1\n" * 100
    elif how == "cut":
        del data[len(data) // 3 :]
    elif how == "scribbled":
        data[4096:] = b"\xa5" * (len(data) - 4096)
    Path(path).write_bytes(data)


@pytest.mark.parametrize("how", ["text", "cut", "scribbled"])
def test_a_damaged_file_is_named_with_the_mend(path: str, how: str) -> None:
    damaged(path, how)
    with pytest.raises(CacheError) as caught:
        everything(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "remove" in str(caught.value)


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    theirs = tmp_path / "firefox.db"
    with sqlite3.connect(theirs) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()
    before = theirs.read_bytes()
    for make in (False, True):
        with pytest.raises(CacheError, match="another program"):
            AddressCache(str(theirs), make=make)
    assert theirs.read_bytes() == before
    empty = tmp_path / "empty.db"
    empty.touch()
    with pytest.raises(CacheError, match="empty"):
        AddressCache(str(empty))
    os.mkfifo(tmp_path / "pipe")
    for odd in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(CacheError, match="no plain file"):
            AddressCache(str(odd), make=True)


def test_a_newer_format_is_not_touched(path: str) -> None:
    put(path, entry("10.0.0.1"))
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(CacheError, match="format 2"):
        AddressCache(path)


def test_an_entry_that_ibkit_did_not_write(path: str) -> None:
    put(path, entry("10.0.0.1"))
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE entries SET gid = 'nonsense'")
    connection.close()
    with pytest.raises(CacheError, match=r"10\.0\.0\.1"):
        everything(path)


def test_a_folder_that_nobody_may_write_to() -> None:
    with pytest.raises(CacheError, match="/proc/closed"):  # not even root
        AddressCache("/proc/closed/x/addresses.db", make=True)


def test_the_default_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/tmp/cache")
    assert default_path() == "/var/tmp/cache/ibkit/addresses.db"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/me")
    assert default_path() == "/home/me/.cache/ibkit/addresses.db"
