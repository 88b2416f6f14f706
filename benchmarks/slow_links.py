"""The CPU of `ibkit fabric links --slow` on a fabric of 11,200 HCAs, against that of `ibkit fabric`, which loads it.

The text is what ibnetdiscover prints of a fat tree that is built by rule, with 60 degraded links.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from frame import Result, cpu_median, ibkit, in_turn, print_results

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests"))

from support.fattree import three_levels

ROUNDS = 7
TARGET = 1.5
#: Every so many cables one is slow.
EVERY = 560
RATES = (("1x", "HDR"), ("4x", "EDR"), ("4x", "QDR"))


def measure() -> list[Result]:
    """Both commands on the same text."""
    tree = three_levels(40, 28)
    tree = tree.degraded({index: RATES[index % 3] for index in range(0, len(tree.cables), EVERY)})
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "fabric.txt"
        text.write_text(f"# Topology file\n\n{tree.netlist()}")
        programs = [ibkit("fabric", "--from", str(text)), ibkit("fabric", "links", "--slow", "--from", str(text))]
        # Nobody has a LID without a subnet manager, which is a finding.
        load, slow = (cpu_median(usages) for usages in in_turn(programs, ROUNDS, statuses=(1,)))
    return [
        Result(
            f"`ibkit fabric links --slow` of {len(tree.hcas):,} HCAs, {len(tree.cables):,} links",
            f"{slow:.2f} s CPU",
            f"`ibkit fabric` {load:.2f} s",
            f"{slow / load:.2f}",
            f"at most {TARGET:g}",
            slow / load <= TARGET,
        )
    ]


if __name__ == "__main__":
    raise SystemExit(print_results(measure()))
