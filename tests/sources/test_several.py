"""A folder of captures is one site."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.answers import Answers, said

from ibkit.cli.main import main
from ibkit.errors import UnreadableInput
from ibkit.sources.base import NOT_RECORDED
from ibkit.sources.opening import open_site
from ibkit.sources.recording import RecordedWatch, RecordingSource
from ibkit.sources.writer import Recorded, write_capture


def capture(path: Path, host: str, *, subnet: str | None = None) -> None:
    first, later, asked = (
        RecordingSource(Answers({"ss": said(text), "sminfo": said(subnet or "")})) for text in ("1", "2", "3")
    )
    first.run(["ss"])
    later.run(["ss"])
    first.watched = RecordedWatch("pid:7", 2.125, later)
    if subnet:
        asked.run(["sminfo"])
    write_capture(str(path), Recorded(host, "2026-02-03T04:05:06+01:00", ((host, first),), asked))


@pytest.mark.parametrize("ending", ["", ".tar.gz"])
def test_the_hosts_of_all_captures_are_one_site(tmp_path: Path, ending: str) -> None:
    (tmp_path / "notes.txt").write_text("x")
    for number in (1, 2):
        capture(tmp_path / f"n0{number}{ending}", f"n0{number}", subnet="here" if number == 2 else None)
    site = open_site(str(tmp_path))
    assert [host.name for host in site.hosts] == ["n01", "n02"]
    assert site.subnet.run(["sminfo"]).out == "here"
    assert site.origin.label == f"{tmp_path.name} (2 captures)"


def test_a_second_look_is_kept(tmp_path: Path) -> None:
    capture(tmp_path / "n01.tar.gz", "n01")
    copy = tmp_path / "copy"
    assert main(["capture", "--from", str(tmp_path / "n01.tar.gz"), "-o", str(copy)]) == 0
    (host,) = open_site(str(copy)).hosts
    assert host.watched is not None
    assert host.watched[:2] == ("pid:7", 2.125)
    assert (host.source.run(["ss"]).out, host.watched.later.run(["ss"]).out) == ("1", "2")


def test_two_views_of_the_subnet_are_none(tmp_path: Path) -> None:
    for number in (1, 2):
        capture(tmp_path / f"n0{number}", f"n0{number}", subnet=f"view {number}")
    site = open_site(str(tmp_path))
    assert site.subnet.run(["sminfo"]).failure == NOT_RECORDED
    assert "2 of the captures hold a subnet, so none is shown" in (site.origin.note or "")


def test_one_host_twice_is_refused(tmp_path: Path) -> None:
    for name in ("monday", "tuesday"):
        capture(tmp_path / name, "n01")
    with pytest.raises(UnreadableInput, match="monday and tuesday are both of host n01"):
        open_site(str(tmp_path))


def test_a_folder_without_captures_is_what_it_was(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("x")
    with pytest.raises(UnreadableInput, match="the folder is no capture"):
        open_site(str(tmp_path))


@pytest.mark.parametrize(
    ("look", "text"),
    [
        (7, r"hosts\[0\].watched is 7, not an object"),
        ({"target": 1}, r"watched.target is 1"),
        ({"target": "pid:1", "seconds": True, "answers": []}, "True, not a time"),
        ({"target": "pid:1", "seconds": float("1e10"), "answers": []}, "not a time"),
        ({"target": "pid:1", "seconds": 1, "answers": {}}, r"watched.answers is an object of 0, not a list"),
        ({"target": "p", "seconds": 1, "answers": [{"kind": "text", "path": "a", "file": "b"}]}, "no second look"),
    ],
)
def test_a_broken_second_look_is_named(tmp_path: Path, look: object, text: str) -> None:
    manifest = {"format": "ibkit-capture/1", "hosts": [{"name": "n", "answers": [], "watched": look}]}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(UnreadableInput, match=text):
        open_site(str(tmp_path))
