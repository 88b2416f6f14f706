"""`ibkit tui` against textual itself, in one run: first frame, a table of 73,520 rows, rest, memory.

Each program runs in a process of its own on a terminal of 120 columns and 40 lines (a pty), with textual's own driver,
and writes what it measured into a file. All find their modules compiled, as those of an installed package are. The
empty application is textual's App without a widget; textual's own table is its DataTable with the same rows. CPU is
that of the process (user and system) since its start, that of the table what the event loop takes from the call to the
painted screen.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import shutil
import statistics
import struct
import sys
import tempfile
import termios
import threading
from pathlib import Path
from typing import Any

from frame import Result, milliseconds, print_results

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests"))

from support.fattree import three_levels

ROOT = Path(__file__).parent.parent
ROUNDS = 9
FIRST_FRAME, WORST_FRAME_MS, STEP_MS = 1.3, 50.0, 300.0
IDLE, LIVE, MEMORY_MB = 0.02, 0.05, 700.0
ROWS = 73_520
#: Where the modules are compiled to: a checkout's own may be older than they are, or not there.
COMPILED = Path(tempfile.gettempdir()) / f"ibkit-bench-{os.getpid()}"
#: How long a screen is left alone (seconds).
REST_SECONDS = 20.0

EMPTY = """
import sys, time
from textual.app import App
class Empty(App):
    def on_mount(self):
        self.call_after_refresh(self.done)
    def done(self):
        open(sys.argv[1], "w").write(repr(time.process_time())); self.exit()
Empty().run()
"""
FIRST = """
import sys, time
from ibkit.tui.app import IbkitApp
from ibkit.cli.main import main
def mounted(screen):
    original(screen)
    screen.call_after_refresh(done, screen)
def done(screen):
    open(sys.argv[1], "w").write(repr(time.process_time())); screen.app.exit()
from ibkit.tui.screen import PageScreen
original, PageScreen.on_mount = PageScreen.on_mount, mounted
main(["tui", "--from", sys.argv[2]])
"""
TABLES = """
import asyncio, gc, json, sys, time
from textual.app import App
from textual.widgets import DataTable
from ibkit.tui import themes
from ibkit.tui.start import RARELY
from ibkit.tui.view.table import Column, Row, Table
from ibkit.tui.widgets.table import LineTable
ROWS = int(sys.argv[2])
TITLES = ("Name", "Port", "State", "Rate", "Peer", "Remark")
def row(i):
    peer = f"n{i * 7919 % ROWS:05} mlx5_0"
    return f"leaf-{i // 40:04}", i % 40 + 1, "up" if i % 7 else "no link", "4x HDR", peer, None
values = [row(i) for i in range(ROWS)]

class Bench(App):
    @property
    def role_styles(self):
        return themes.role_styles(themes.DARK)
    def __init__(self, own):
        super().__init__()
        self.own = own
        self.register_theme(themes.DARK)
        self.theme = "ibkit-dark"
        self.animation_level = "none"
    def compose(self):
        yield LineTable(id="table") if self.own else DataTable()

async def settled(pilot):
    await pilot.pause()

async def timed(work, pilot):
    begun = time.process_time()
    work()
    await settled(pilot)
    return (time.process_time() - begun) * 1000

async def ours():
    gc.set_threshold(*RARELY)  # as on the screen
    app, told = Bench(True), {}
    async with app.run_test(size=(120, 40)) as pilot:
        table = app.query_one(LineTable)
        begun = time.process_time()
        rows = Table("port", [Column(t) for t in TITLES], [Row(i, 0, v) for i, v in enumerate(values)]).prepare()
        told["prepare"] = (time.process_time() - begun) * 1000
        told["open"] = await timed(lambda: table.show(rows), pilot)
        told["sort"] = await timed(lambda: table.sort_by("Peer"), pilot)
        told["invert"] = await timed(table.action_invert, pilot)
        told["filter"] = await timed(lambda: table.set_filter("n0 !link"), pilot)
        table.set_filter("")
        await settled(pilot)
        table.focus()
        told["scroll"] = max([await timed(lambda: table.action_page(1), pilot) for _ in range(60)]
                             + [await timed(lambda: table.action_move(1), pilot) for _ in range(60)])
        told["end"] = await timed(lambda: table.action_end(True), pilot)
    return told

async def theirs():
    app = Bench(False)
    async with app.run_test(size=(120, 40)) as pilot:
        table = app.query_one(DataTable)
        table.add_columns(*TITLES)
        def fill():
            table.add_rows([tuple(str(v) for v in row) for row in values])
        opened = await timed(fill, pilot)
        column = list(table.columns)[4]
        ordered = await timed(lambda: table.sort(column), pilot)
        return {"open": opened, "sort": ordered}
json.dump({"ours": asyncio.run(ours()), "theirs": asyncio.run(theirs())}, open(sys.argv[1], "w"))
"""
REST = """
import json, resource, sys, time
from ibkit.sources.opening import open_site
from ibkit.sources.site import Origin
from ibkit.tui.app import IbkitApp
path, kind, seconds = sys.argv[2], sys.argv[3], float(sys.argv[4])
site = open_site(path)
if kind == "live":  # the same tools' output again and again, as a live fabric gives it
    site = site._replace(origin=Origin("live", "n00"))
class Resting(IbkitApp):
    def on_mount(self):  # textual calls that of the base class, too
        self.call_after_refresh(ready)
app = Resting(site, page="links", interval_seconds=30.0)
def ready():
    if app.snapshot.waiting or app.collecting.running():
        app.set_timer(0.2, ready)
    else:
        app.set_timer(1.0, begin)
def begin():
    at = time.process_time(), time.monotonic()
    def end():
        spent = (time.process_time() - at[0]) / (time.monotonic() - at[1])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        json.dump([spent, peak], open(sys.argv[1], "w"))
        app.exit()
    app.set_timer(seconds, end)
app.run()
"""


def on_a_terminal(program: str, *arguments: str) -> Any:
    """Run a program on a pty; what it wrote into the file that it was given."""
    with tempfile.TemporaryDirectory() as folder:
        told, script = Path(folder) / "told", Path(folder) / "program.py"
        script.write_text(program)
        child, terminal = pty.fork()
        if child == 0:
            os.environ.update(TERM="xterm-256color", PYTHONPATH=str(ROOT), PYTHONPYCACHEPREFIX=str(COMPILED))
            os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
            os.execv(sys.executable, [sys.executable, str(script), str(told), *arguments])
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        reader = threading.Thread(target=_drain, args=(terminal,), daemon=True)
        reader.start()
        _, status = os.waitpid(child, 0)
        if status or not told.exists():
            raise RuntimeError(f"a program of the benchmark ended with status {status}")
        return json.loads(told.read_text())


def _drain(terminal: int) -> None:
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        pass


def measure() -> list[Result]:
    """All of it."""
    try:
        return _measure()
    finally:
        shutil.rmtree(COMPILED, ignore_errors=True)


def _measure() -> list[Result]:
    tree = three_levels(40, 28)
    with tempfile.TemporaryDirectory() as folder:
        fabric = Path(folder) / "ibnetdiscover.txt"
        fabric.write_text(f"# Topology file\n\n{tree.netlist()}")
        pairs = [
            (on_a_terminal(EMPTY), on_a_terminal(FIRST, str(ROOT / "fixtures/fat-tree"))) for _ in range(ROUNDS + 1)
        ]
        rounds = pairs[1:]  # the first one compiles
        empty, first = (min(times) for times in zip(*rounds, strict=True))
        medians = statistics.median(b / a for a, b in rounds)
        tables = on_a_terminal(TABLES, str(ROWS))
        idle, peak = on_a_terminal(REST, str(fabric), "capture", str(REST_SECONDS))
        live, _ = on_a_terminal(REST, str(ROOT / "fixtures/fat-tree"), "live", "62")
    ours, theirs = tables["ours"], tables["theirs"]
    results = [
        Result(
            "`ibkit tui`, CPU to the first frame", milliseconds(first), f"empty textual app {milliseconds(empty)}",
            f"{first / empty:.2f} (median of pairs {medians:.2f})", f"at most {FIRST_FRAME:g}",
            first / empty <= FIRST_FRAME,
        )
    ]  # fmt: skip
    for what, key in (("opens", "open"), ("sorts", "sort"), ("filters", "filter")):
        peer = f"textual's DataTable {theirs[key]:,.0f} ms" if key in theirs else "-"
        ratio = f"{ours[key] / theirs[key]:.3f}" if key in theirs else "-"
        met = ours[key] <= STEP_MS
        results.append(
            Result(
                f"a table of {ROWS:,} ports {what}", f"{ours[key]:.0f} ms", peer, ratio, f"at most {STEP_MS:g} ms", met
            )
        )
    frame, rest = ours["scroll"], f"`ibkit tui` at rest, {len(tree.hcas):,} HCAs"
    figures = (
        (
            "its slowest frame while it scrolls",
            f"{frame:.0f} ms",
            f"at most {WORST_FRAME_MS:g} ms",
            frame <= WORST_FRAME_MS,
        ),
        (rest, f"{idle:.2%} of a core", f"under {IDLE:.0%}", idle < IDLE),
        ("live, the fat tree read anew every 30 s", f"{live:.2%} of a core", f"under {LIVE:.0%}", live < LIVE),
        ("its peak memory with them", f"{peak:.0f} MB", f"under {MEMORY_MB:g} MB", peak < MEMORY_MB),
    )
    return results + [Result(what, told, "-", "-", target, met) for what, told, target, met in figures]


if __name__ == "__main__":
    raise SystemExit(print_results(measure()))
