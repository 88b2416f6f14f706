"""The CPU of reading a fabric of 11,200 HCAs, against what the C tools take to load their own cache of it.

ibsim runs the fabric (no subnet manager is needed), `ibnetdiscover --cache` sweeps it once; its text is what ibkit
reads, its cache what the C tools read. `iblinkinfo --load-cache` wants a port to open even so: that of a small fabric.
Takes about a minute, most of it ibsim's start and the sweep.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from frame import Result, Usage, cpu_median, ibkit, in_turn, print_results

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests"))

from support.fattree import Tree, three_levels, two_levels
from support.ibsim import Simulation, simulation

ROUNDS = 5
#: ibsim's own limits are for smaller fabrics.
LIMITS = ("-N", "16000", "-S", "2000", "-P", "90000")
PARSE = "import sys; from ibkit.parsers.ibnetdiscover import parse; parse(open(sys.argv[1]).read())"
MAX_MB = 600.0
#: How much more than the text may the CPU grow, beyond the start.
GROWTH = 1.1


def measure() -> list[Result]:
    """The parser alone, the whole command of a text and of a capture, and how its cost grows."""
    large, small = three_levels(40, 28), two_levels(64, 32)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text, cache = folder / "fabric.txt", folder / "fabric.cache"
        text.write_text(_sweep(large, folder, "--cache", str(cache)))
        little = folder / "little.txt"
        little.write_text(_sweep(small, folder))
        capture = _capture(folder / "capture", text)
        with simulation(two_levels(4, 2).netlist(), folder, attach_to=_first(small), manager=False) as fabric:
            programs = [
                ["ibnetdiscover", "--load-cache", str(cache)],
                _on(fabric, "iblinkinfo", "--load-cache", str(cache)),
                [sys.executable, "-c", PARSE, str(text)],
                ibkit("fabric", "--from", str(text)),
                ibkit("fabric", "--from", capture),
                ibkit("fabric", "--from", str(little)),
                ibkit("fabric", "--help"),
            ]
            # Without a subnet manager nobody has a LID, which `ibkit fabric` finds: exit status 1.
            discover, linkinfo, parsed, of_text, of_capture, of_little, start = in_turn(
                programs, ROUNDS, statuses=(0, 1)
            )
        size, little_size = text.stat().st_size, little.stat().st_size
    what = f"{len(large.hcas):,} HCAs, {len(large.cables):,} links, {size / 1e6:.1f} MB"
    beyond = cpu_median(of_text) - cpu_median(start)
    growth = beyond / (cpu_median(of_little) - cpu_median(start)) / (size / little_size)
    peak = max(usage.peak_bytes for usage in of_capture) / 1e6
    return [
        _result(f"parse the text of {what}", parsed, "ibnetdiscover", discover, 0.5),
        _result("`ibkit fabric --from` the same text", of_text, "iblinkinfo", linkinfo, 1.0),
        _result("`ibkit fabric --from` a capture with it", of_capture, "iblinkinfo", linkinfo, 1.0),
        Result("its peak memory", f"{peak:.0f} MB", "-", "-", f"under {MAX_MB:.0f} MB", peak < MAX_MB),
        Result(
            f"its growth from {len(small.hcas):,} HCAs, beyond the start", f"{beyond:.2f} s CPU",
            f"the text is {size / little_size:.1f} times as long", f"{growth:.2f}", f"at most {GROWTH:g}",
            growth <= GROWTH,
        ),
    ]  # fmt: skip


def _sweep(tree: Tree, folder: Path, *options: str) -> str:
    with simulation(tree.netlist(), folder, attach_to=_first(tree), manager=False, options=LIMITS) as fabric:
        swept = fabric.run("ibnetdiscover", *options, deadline_seconds=300)
    if swept.returncode or swept.stderr:
        raise RuntimeError(f"ibnetdiscover on ibsim: exit status {swept.returncode}, {swept.stderr}")
    return swept.stdout


def _first(tree: Tree) -> str:
    return f"H-{next(iter(tree.hcas)):016x}"


def _on(fabric: Simulation, *argv: str) -> list[str]:
    """A command of the simulated fabric, in the folder where its library may write."""
    names = ("IBSIM_SOCKNAME", "LD_PRELOAD", "SIM_HOST", "PATH")
    return ["env", "-C", str(fabric.folder), *(f"{name}={fabric.environment[name]}" for name in names), *argv]


def _capture(folder: Path, text: Path) -> str:
    """A capture with the one answer."""
    folder.mkdir()
    (folder / "subnet").mkdir()
    (folder / "subnet/sweep.out").write_bytes(text.read_bytes())
    answer = {
        "kind": "command",
        "argv": ["ibnetdiscover"],
        "stdout": "subnet/sweep.out",
        "exit_status": 0,
        "seconds": 12,
    }
    manifest = {
        "format": "ibkit-capture/1", "ibkit": "0.1.0", "host": "c001", "time": "2026-12-01T00:00:00+00:00",
        "hosts": [], "subnet": [answer], "job": [],
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return str(folder)


def _result(what: str, ours: Sequence[Usage], tool: str, peer: Sequence[Usage], target: float) -> Result:
    ratio = cpu_median(ours) / cpu_median(peer)
    memory = max(usage.peak_bytes for usage in ours) / 1e6
    return Result(
        what,
        f"{cpu_median(ours):.2f} s CPU, {memory:.0f} MB",
        f"`{tool} --load-cache` {cpu_median(peer):.2f} s",
        f"{ratio:.2f}",
        f"at most {target:g}",
        ratio <= target,
    )


if __name__ == "__main__":
    raise SystemExit(print_results(measure()))
