"""Reading files and folders of the live host: what is odd in /sys, /proc and /dev costs an error, never a hang."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from ibkit.sources import live
from ibkit.sources.base import Entry
from ibkit.sources.live import MAX_FILE_BYTES, LiveSource
from ibkit.sources.recording import RecordingSource

LIVE = LiveSource()


def test_a_file_is_read_whole(tmp_path):
    (tmp_path / "a").write_bytes(b"\xff\0\n")
    (tmp_path / "empty").touch()
    assert LIVE.read(f"{tmp_path}/a").data == b"\xff\0\n"
    assert LIVE.read(f"{tmp_path}/a").text == "\\xff\0\n"
    assert LIVE.read(f"{tmp_path}/empty").data == b""
    assert (LIVE.read("/proc/self/status").data or b"").startswith(b"Name:")  # its size is said to be 0


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("none", "ENOENT"),
        ("a/b", "ENOTDIR"),
        ("dir", "not-a-file"),
        ("fifo", "not-a-file"),
        ("null", "not-a-file"),
        ("dangling", "ENOENT"),
        ("loop", "ELOOP"),
        ("large", "EFBIG"),
        ("x" * 300, "ENAMETOOLONG"),
        ("a\0b", "EINVAL"),
    ],
)
def test_why_a_file_is_not_read(tmp_path, name, error):
    (tmp_path / "a").write_text("x")
    (tmp_path / "dir").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", MAX_FILE_BYTES + 1)
    started = time.monotonic()
    answer = LIVE.read(f"{tmp_path}/{name}")
    assert (answer.data, answer.error) == (None, error)
    assert time.monotonic() - started < 1


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EOPNOTSUPP, errno.ENODEV, errno.EIO])
def test_a_sysfs_attribute_that_refuses(tmp_path, monkeypatch, number):
    """As ``gid_attrs/types/2`` of an empty entry: it opens, and reading it fails."""
    (tmp_path / "types").write_text("x")
    descriptors = len(os.listdir("/proc/self/fd"))

    def refuse(descriptor, size):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("ibkit.sources.live.os.read", refuse)
    answer = LIVE.read(f"{tmp_path}/types")
    monkeypatch.undo()
    assert (answer.data, answer.error) == (None, errno.errorcode[number])
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_a_real_attribute_that_refuses():
    """The kernel has write-only files everywhere; for root they open, and say EINVAL, EIO or EPERM when read."""
    for path in ("/proc/self/mem", "/proc/sysrq-trigger"):
        if Path(path).exists():
            assert LIVE.read(path).data is None
            assert LIVE.read(path).error


def test_a_folder(tmp_path):
    (tmp_path / "b").touch(mode=0o640)
    (tmp_path / "a").mkdir()
    (tmp_path / "c").symlink_to("../nowhere")
    (tmp_path / "d").symlink_to("a")
    os.mkfifo(tmp_path / "e")
    entries = LIVE.list(str(tmp_path)).entries
    assert entries is not None
    assert [(entry.name, entry.kind, entry.target) for entry in entries] == [
        ("a", "folder", None),
        ("b", "file", None),
        ("c", "link", "../nowhere"),
        ("d", "link", "a"),
        ("e", "other", None),
    ]
    assert (entries[1].mode, entries[1].uid, entries[1].gid) == (0o640, os.geteuid(), os.getegid())
    assert LIVE.list("/dev").entries
    null = next(entry for entry in LIVE.list("/dev").entries or () if entry.name == "null")
    assert (null.kind, null.mode) == ("device", 0o666)


def test_why_a_folder_is_not_listed(tmp_path):
    (tmp_path / "a").touch()
    for name, error in (("none", "ENOENT"), ("a", "ENOTDIR"), ("a\0b", "EINVAL")):
        answer = LIVE.list(f"{tmp_path}/{name}")
        assert (answer.entries, answer.error, answer.names) == (None, error, ())


def test_ten_thousand_entries(tmp_path):
    for number in range(10_000):
        (tmp_path / f"{number:05}").symlink_to("x")
    started = time.monotonic()
    names = LIVE.list(str(tmp_path)).names
    assert time.monotonic() - started < 2
    assert names == tuple(f"{number:05}" for number in range(10_000))


def test_an_entry_that_goes_away_meanwhile(tmp_path, monkeypatch):
    (tmp_path / "a").touch()
    real = os.listdir
    monkeypatch.setattr("ibkit.sources.live.os.listdir", lambda path: [*real(path), "gone"])
    assert LIVE.list(str(tmp_path)).names == ("a",)


def test_names_that_are_no_text(tmp_path):
    Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9")).write_text("x")
    (name,) = LIVE.list(str(tmp_path)).names
    assert LIVE.read(f"{tmp_path}/{name}").data == b"x"


def test_another_root(tmp_path):
    (tmp_path / "sys").mkdir()
    (tmp_path / "sys/a").write_text("recorded")
    source = LiveSource(str(tmp_path))
    assert source.read("/sys/a") == ("/sys/a", b"recorded", None)
    assert source.list("/sys").names == ("a",)
    assert source.read("/proc/self/status").error == "ENOENT"


def test_a_recording_asks_once(tmp_path):
    """What a command shows while it records is what the replay will show, even if the host has changed meanwhile."""
    (tmp_path / "a").write_text("1")
    source = RecordingSource(LIVE)
    first = source.read(f"{tmp_path}/a"), source.list(str(tmp_path)), source.run(["date", "+%N"])
    (tmp_path / "a").write_text("2")
    (tmp_path / "b").touch()
    assert (source.read(f"{tmp_path}/a"), source.list(str(tmp_path)), source.run(["date", "+%N"])) == first
    assert first[1].entries == (Entry("a", "file", None, *first[1].entries[0][3:]),)
    assert source.verbs() is source.verbs()


def test_a_link_that_may_not_be_read_is_listed_all_the_same(tmp_path, monkeypatch):
    """As another user's /proc/PID/ns."""
    (tmp_path / "ns").mkdir()
    (tmp_path / "ns/pid").symlink_to("pid:[4026531836]")

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(live.os, "readlink", refuse)
    (entry,) = LiveSource().list(f"{tmp_path}/ns").entries
    assert (entry.name, entry.kind, entry.target) == ("pid", "link", None)
