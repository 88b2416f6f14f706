"""Pictures of `ibkit tui` for the documents, and its screens as text for reviews, made of the shipped captures.

    python tools/screenshots.py            write docs/screenshots/*.svg and tests/tui/screens/*.txt anew
    python tools/screenshots.py --check    say which of them a run would change; exit status 1 where there are any

A replay holds no clock, so that two runs write the same bytes. Another version of textual or rich may spell a picture
in another way: the check compares its words, and the texts byte for byte.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, NamedTuple

from quiet_app import press, quiet

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CAPTURE = os.path.join("fixtures", "fat-tree")
SIZES = ((80, 24), (120, 40), (200, 60))


class Shot(NamedTuple):
    """A picture: the page, the keys that are pressed on it, the size of the terminal."""

    name: str
    page: str
    keys: tuple[str, ...] = ()
    size: tuple[int, int] = (100, 28)


SHOTS = (
    Shot("overview", "overview"),
    Shot("fabric", "fabric", ("f",)),
    Shot("node", "fabric", ("enter",)),
    Shot("jobs", "jobs"),
    Shot("findings", "findings"),
    Shot("links", "links", ("f",)),
)


class Screens:
    """The screens of the capture, which is read once."""

    def __init__(self) -> None:
        from ibkit.sources.opening import open_site
        from ibkit.tui.snapshot import Task, read_all

        self._site = open_site(CAPTURE)
        self._tasks = [Task(part, partial(_value, reading)) for part, reading in read_all(self._site).readings.items()]

    async def screen(self, page: str, keys: tuple[str, ...], size: tuple[int, int]) -> tuple[str, str]:
        """A screen as text and as a picture, when everything has been read."""
        from ibkit.tui.app import IbkitApp
        from ibkit.tui.exporting import picture

        app = IbkitApp(self._site, page=page, tasks=self._tasks)
        async with app.run_test(size=size):
            await _settled(app)
            for key in keys:
                await press(app, key)
            await _settled(app)
            made = _text(app), picture(app.export_screenshot(title="ibkit tui", simplify=True))
        app.collecting.stop()
        return made


async def _settled(app: Any) -> None:
    """Until everything was read and drawn."""
    await quiet(app)
    while app.snapshot.waiting:
        await asyncio.sleep(0.02)
        await quiet(app)


def _value(reading: Any) -> Any:
    if reading.failure is not None:
        raise RuntimeError(reading.failure)
    return reading.value


def _text(app: Any) -> str:
    """The compositor's strips as plain lines."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips) + "\n"


async def files() -> AsyncIterator[tuple[str, str]]:
    """Each file's path and its text."""
    from ibkit.tui.pages import NAMES

    screens = Screens()
    for shot in SHOTS:
        _, svg = await screens.screen(shot.page, shot.keys, shot.size)
        yield os.path.join("docs", "screenshots", f"{shot.name}.svg"), svg + "\n"
    for name in NAMES:
        for size in SIZES:
            text, _ = await screens.screen(name, (), size)
            yield os.path.join("tests", "tui", "screens", f"{name}-{size[0]}x{size[1]}.txt"), text


def words(path: str, text: str) -> str:
    """What is compared: of a picture its words in their order, a text as it is."""
    if not path.endswith(".svg"):
        return text
    shown = re.findall(r"<text[^>]*>([^<]*)</text>", text)
    return " ".join(" ".join(shown).replace("&#160;", " ").split())


async def changed(write: bool) -> list[str]:
    """The files that differ from what is there."""
    found = []
    async for path, text in files():
        try:
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                old = file.read()
        except FileNotFoundError:
            old = ""
        if words(path, old) != words(path, text):
            found.append(path)
            if write:
                os.makedirs(os.path.dirname(os.path.join(ROOT, path)), exist_ok=True)
                with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
                    file.write(text)
    return found


def main(arguments: list[str]) -> int:
    """Write the files, or check them."""
    if arguments not in ([], ["--check"]):
        print("usage: screenshots.py [--check]", file=sys.stderr)
        return 2
    os.chdir(ROOT)
    os.environ.pop("NO_COLOR", None)
    found = asyncio.run(changed(write=not arguments))
    for path in found:
        print(path)
    return 1 if arguments and found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
