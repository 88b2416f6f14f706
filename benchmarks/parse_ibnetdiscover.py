"""The CPU of reading a fabric of 11,200 HCAs, against what the C tools take to load their own cache of it.

ibsim runs the fabric (no subnet manager is needed), `ibnetdiscover --cache` sweeps it once; its text is what ibkit
reads, its cache what `ibnetdiscover --load-cache` reads. Takes about a minute, most of it ibsim's start and the sweep.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from frame import Result, cpu_median, ibkit, in_turn, print_results

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests"))

from support.fattree import three_levels
from support.ibsim import simulation

ROUNDS = 5
#: ibsim's own limits are for smaller fabrics.
LIMITS = ("-N", "16000", "-S", "2000", "-P", "90000")
PARSE = "import sys; from ibkit.parsers.ibnetdiscover import parse; parse(open(sys.argv[1]).read())"


def measure() -> list[Result]:
    """The parser alone, and the whole command."""
    tree = three_levels(40, 28)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text, cache = folder / "fabric.txt", folder / "fabric.cache"
        attach_to = f"H-{next(iter(tree.hcas)):016x}"
        with simulation(tree.netlist(), folder, attach_to=attach_to, manager=False, options=LIMITS) as fabric:
            swept = fabric.run("ibnetdiscover", "--cache", str(cache), deadline_seconds=300)
            if swept.returncode or swept.stderr:
                raise RuntimeError(f"ibnetdiscover on ibsim: exit status {swept.returncode}, {swept.stderr}")
            text.write_text(swept.stdout)
        what = f"{len(tree.hcas):,} HCAs, {len(tree.cables):,} links, {text.stat().st_size / 1e6:.1f} MB"
        commands = {
            f"parse the text of {what}": ([sys.executable, "-c", PARSE, str(text)], 0.5),
            "`ibkit fabric --from` the same text": (ibkit("fabric", "--from", str(text)), 1.0),
        }
        # Without a subnet manager nobody has a LID, which `ibkit fabric` finds: exit status 1.
        programs = [["ibnetdiscover", "--load-cache", str(cache)], *(argv for argv, _ in commands.values())]
        peer, *ours = in_turn(programs, ROUNDS, statuses=(0, 1))
    results = []
    for (label, (_, target)), usages in zip(commands.items(), ours, strict=True):
        ratio = cpu_median(usages) / cpu_median(peer)
        memory = max(usage.peak_bytes for usage in usages) / 1e6
        results.append(
            Result(
                label,
                f"{cpu_median(usages):.2f} s CPU, {memory:.0f} MB",
                f"`ibnetdiscover --load-cache` {cpu_median(peer):.2f} s",
                f"{ratio:.2f}",
                f"at most {target:g}",
                ratio <= target,
            )
        )
    return results


if __name__ == "__main__":
    print_results(measure())
