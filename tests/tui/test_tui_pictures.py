"""The pictures in the documents and the screens under review are those of today."""

from __future__ import annotations

from pathlib import Path

import pytest

import screenshots

MEND = "`python tools/screenshots.py` writes them anew; look at what it changed (git diff) before you commit it"


@pytest.fixture(autouse=True)
def in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(screenshots.ROOT)
    monkeypatch.delenv("NO_COLOR", raising=False)


async def test_pictures_and_screens_are_up_to_date() -> None:
    assert await screenshots.changed(write=False) == [], MEND


async def test_a_screen_that_changed_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def one() -> object:
        yield "tests/tui/screens/links-80x24.txt", "another\n"
        yield "docs/screenshots/links.svg", "<text>another</text>"

    monkeypatch.setattr(screenshots, "files", one)
    assert await screenshots.changed(write=False) == [
        "tests/tui/screens/links-80x24.txt", "docs/screenshots/links.svg",
    ]  # fmt: skip


async def test_two_runs_make_the_same_bytes() -> None:
    shots = [await screenshots.Screens().screen("links", ("f",), (100, 28)) for _ in range(2)]
    assert shots[0] == shots[1]
    assert "http" not in shots[0][1].replace("http://www.w3.org/2000/svg", "").replace("https://www.textualize.io", "")


def test_each_picture_is_in_a_document() -> None:
    documents = Path("README.md").read_text() + Path("docs/tui.md").read_text()
    for shot in screenshots.SHOTS:
        assert f"screenshots/{shot.name}.svg" in documents
