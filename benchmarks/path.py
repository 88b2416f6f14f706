"""The CPU of a way between two HCAs of 11,200 in a capture, against that of loading the fabric from the same capture.

The capture is made for it: the topology with LIDs, the forwarding table of each switch as `ibroute -n` prints it (by an
up/down rule, 210 MB in all), and the P_Keys of all ports as the SA tells them. It lies in a temporary folder that is
removed at the end. Nothing is simulated, so it takes seconds.

    python benchmarks/path.py
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from frame import Result, cpu_median, ibkit, in_turn, print_results

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests"))

from support.fattree import SWITCH_BASE, Tree, three_levels

ROUNDS = 5
#: Three levels of radix 40 with 28 pods: 11,200 HCAs on 560 leaves, 560 spines and 400 cores.
RADIX, PODS = 40, 28
HALF = RADIX // 2
#: Of the fabric's loading.
MAX_RATIO = 1.5
#: HCAs by their place: below one leaf, in one pod, in two pods, the first and the last.
PAIRS = ((0, 7), (3, 399), (100, 7_777), (0, 11_199))


def lids_of(tree: Tree) -> dict[int, int]:
    """GUID of a node -> its LID: the HCAs from 1 on, then the switches."""
    return {guid: lid for lid, guid in enumerate((*tree.hcas, *tree.switches), 1)}


def topology(tree: Tree, lids: dict[int, int]) -> str:
    """What `ibnetdiscover` prints of it: the netlist, with LIDs in place of each `lid 0`."""
    lines = []
    node = peer = 0
    for line in tree.netlist().splitlines():
        if line.startswith(("Ca", "Switch")):
            node = int(line.split('"')[1][2:], 16)
            line = line.replace("lid 0 lmc", f"lid {lids[node]} lmc")
        elif line.startswith("["):
            peer = int(line.split('"')[1][2:], 16)
            line = line.replace("# lid 0 lmc 0", f"# lid {lids[node]} lmc 0")
            head, _, rate = line.rpartition(" lid 0 ")
            line = f"{head} lid {lids[peer]} {rate}"
        lines.append(line)
    first = next(iter(tree.hcas))
    return f"#\n# Initiated from node {first:016x} port {first + 1:016x}\n\n" + "\n".join(lines) + "\n"


def exits(switch: int, hcas: int) -> Iterator[int]:
    """The exit ports of a switch for all HCAs: down where it has them below, else up by the destination."""
    pod, place = divmod(switch, RADIX)
    is_core = switch >= PODS * RADIX
    for hca in range(hcas):
        its_pod, rest = divmod(hca, HALF * HALF)
        leaf, port = divmod(rest, HALF)
        if is_core:
            yield its_pod + 1
        elif place >= HALF:  # a spine
            yield leaf + 1 if its_pod == pod else HALF + 1 + leaf % HALF
        elif (pod, place) == (its_pod, leaf):
            yield port + 1
        else:
            yield HALF + 1 + port


def write_capture(folder: Path, tree: Tree) -> dict[int, int]:
    """The capture; returns the LIDs."""
    lids = lids_of(tree)
    answers = [(["ibnetdiscover"], topology(tree, lids))]
    keys = " ".join(["0xffff"] + ["0x0000"] * 7)
    table = "\n".join([f"\t\t{keys}", *[f"\t\t{keys.replace('0xffff', '0x0000')}"] * 3])
    pkeys = (
        f"PKeyTableRecord dump:\n\t\tLID........................{lid}\n"
        f"\t\tPort.......................{int(guid in tree.hcas)}\n"
        f"\t\tBlock......................0\n\t\tPKey Table:\n{table}\n\n"
        for guid, lid in lids.items()
    )
    answers.append((["saquery", "PKTR"], "".join(pkeys)))
    rows = [f"0x{lid:04x} " for lid in range(1, len(tree.hcas) + 1)]
    for guid, name in tree.switches.items():
        text = f"Unicast lids [0x0-0x{len(lids):x}] of switch Lid {lids[guid]} guid 0x{guid:016x} ({name}):\n"
        text += "  Lid  Out   Destination\n       Port     Info \n"
        text += "".join(
            f"{row}{port:03d} \n" for row, port in zip(rows, exits((guid - SWITCH_BASE) // 256, len(rows)), strict=True)
        )
        answers.append((["ibroute", "-n", str(lids[guid])], f"{text}{len(rows)} valid lids dumped \n"))
    entries = []
    for number, (argv, text) in enumerate(answers):
        (folder / f"{number}.out").write_text(text)
        entries.append({"kind": "command", "argv": argv, "exit_status": 0, "seconds": 0.1, "stdout": f"{number}.out"})
    (folder / "manifest.json").write_text(json.dumps({"format": "ibkit-capture/1", "hosts": [], "subnet": entries}))
    return lids


def measure() -> list[Result]:
    """Loading the fabric, and a way in it, in turn."""
    tree = three_levels(RADIX, PODS)
    with tempfile.TemporaryDirectory(prefix="ibkit-bench-") as name:
        folder = Path(name)
        lids = write_capture(folder, tree)
        size = sum(path.stat().st_size for path in folder.iterdir())
        hcas = list(tree.hcas)
        load = ibkit("--from", name, "fabric")
        ways = [ibkit("--from", name, "path", str(lids[hcas[a]]), str(lids[hcas[b]])) for a, b in PAIRS]
        # The topology alone does not settle whether two ports can talk: exit status 3.
        loading, *running = in_turn([load, *ways], ROUNDS, statuses=(0, 3))
    base = cpu_median(loading)
    slowest = max(running, key=cpu_median)
    ratio = cpu_median(slowest) / base
    memory = max(usage.peak_bytes for usage in slowest) / 1e6
    return [
        Result(
            f"`ibkit path A B` in a capture of {len(hcas):,} HCAs with all forwarding tables, {size / 1e6:.0f} MB",
            f"{cpu_median(slowest):.2f} s CPU, {memory:.0f} MB",
            f"`ibkit fabric` of the same {base:.2f} s",
            f"{ratio:.2f}",
            f"at most {MAX_RATIO:g}",
            ratio <= MAX_RATIO,
        )
    ]


if __name__ == "__main__":
    raise SystemExit(print_results(measure()))
