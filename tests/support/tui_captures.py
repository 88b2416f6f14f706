"""The application over a shipped capture, which is read once for all tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path

from support.tui_pilot import Driver

from ibkit.sources.opening import open_site
from ibkit.sources.site import Site
from ibkit.tui.app import IbkitApp
from ibkit.tui.snapshot import Snapshot, Task, tasks_of

FIXTURES = Path(__file__).parents[2] / "fixtures"
FAT_TREE, TWO_SUBNETS, MULTIRAIL, ROCE = "fat-tree", "two-subnets/a", "multirail-host", "roce-host"


@cache
def site_of(name: str) -> Site:
    """The capture of this name."""
    return open_site(str(FIXTURES / name))


@cache
def snapshot_of(name: str) -> Snapshot:
    """All that is known of it."""
    readings = {}
    for task in tasks_of(site_of(name)):
        readings[task.part] = task.read(readings)
        assert readings[task.part].failure is None, readings[task.part]
    return Snapshot(site_of(name).origin, readings)


def _given(value: object) -> object:
    return value


@asynccontextmanager
async def showing(name: str, page: str, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Driver]:
    """The application on one of its pages."""
    readings = snapshot_of(name).readings
    tasks = [Task(part, partial(_given, reading.value)) for part, reading in readings.items()]
    app = IbkitApp(site_of(name), page=page, tasks=tasks, interval_seconds=0.0)
    async with app.run_test(size=size, notifications=True) as pilot:
        tui = Driver(app, pilot)
        await settled(tui)
        yield tui
    app.collecting.stop()


async def settled(tui: Driver) -> None:
    """Wait until everything that was asked for is there."""
    await tui.settled()
