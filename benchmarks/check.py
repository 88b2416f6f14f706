"""The CPU of all rules of `ibkit check` on two captures of 11,200 HCAs, against that of loading these captures.

The captures are made for it: the topology with LIDs, the data counters of all 67,200 cabled ports as `ibqueryerrors
--counters --report-port` prints them, and a listing of errors; the second one an hour later, with some faults. They lie
in a temporary folder that is removed at the end. Both are measured in this process: what the collectors do is loading,
and the rules are what follows.

    python benchmarks/check.py
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from frame import Result, print_results
from ibkit.rules import catalogue
from ibkit.rules.collecting import collect, compare_with
from ibkit.rules.engine import diagnose
from ibkit.rules.evidence import Evidence
from ibkit.sources.opening import open_site
from path import PODS, RADIX, lids_of, topology

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests"))

from support.fattree import Tree, three_levels

ROUNDS = 3
#: One port of so many has errors.
ERRORS_EACH = 100
MAX_RATIO = 1.0
HOUR = 3600.0


def data_sweep(tree: Tree, lids: dict[int, int], sent: int) -> Iterator[str]:
    """All ports with a cable, by node."""
    ports: dict[int, list[tuple[int, int, int]]] = {}
    for cable in tree.cables:
        for (guid, port), (peer, peer_port) in ((cable.a, cable.b), (cable.b, cable.a)):
            ports.setdefault(guid, []).append((port, peer, peer_port))
    names = {**tree.hcas, **tree.switches}
    for guid, name in names.items():
        yield f'Data Counters for 0x{guid:x} "{name}"\n'
        for port, peer, peer_port in sorted(ports[guid]):
            counted = " ".join(
                f"[{what} == {sent} (1.000GB)]" for what in ("PortXmitData", "PortRcvData", "PortXmitPkts")
            )
            yield f"   GUID 0x{guid:x} port {port}: {counted} [PortRcvPkts == 9 (9.000)]\n"
            yield (
                f"       Link info: {lids[guid]:6} {port:3}[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>  "
                f'0x{peer:016x} {lids[peer]:6} {peer_port:4}[  ] "{names[peer]}" ( )\n'
            )
    yield from summary(tree)


def error_sweep(tree: Tree, lids: dict[int, int], counted: int) -> Iterator[str]:
    """A switch port of so many, with symbol errors, and with discards in the second sample."""
    names = {**tree.hcas, **tree.switches}
    for cable in tree.cables[::ERRORS_EACH]:
        (peer, peer_port), (guid, port) = cable.a, cable.b
        yield f'Errors for 0x{guid:x} "{names[guid]}"\n'
        errors = f"[SymbolErrorCounter == {counted}] [PortXmitDiscards == {counted // 10}]"
        yield f"   GUID 0x{guid:x} port {port}: {errors}\n"
        yield (
            f"       Link info: {lids[guid]:6} {port:3}[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>  "
            f'0x{peer:016x} {lids[peer]:6} {peer_port:4}[  ] "{names[peer]}" ( )\n'
        )
    yield from summary(tree)


def summary(tree: Tree) -> Iterator[str]:
    """The end mark of a sweep."""
    nodes = len(tree.hcas) + len(tree.switches)
    yield f"\n## Summary: {nodes} nodes checked, 0 bad nodes found\n"
    yield f"##          {2 * len(tree.cables)} ports checked, 0 ports have errors beyond threshold\n"
    yield "## Thresholds: \n## Suppressed:\n"


def write_capture(folder: Path, tree: Tree, hour: int) -> None:
    """A capture of that hour; the later one lacks some links."""
    lids = lids_of(tree)
    shown = tree.without(range(20_000, 20_010)) if hour else tree
    answers = [
        (["ibnetdiscover"], topology(shown, lids)),
        (["ibqueryerrors", "--counters", "--report-port"], "".join(data_sweep(tree, lids, 10**9 * (hour + 1)))),
        (
            ["ibqueryerrors", "--details", "--report-port", "--threshold-file", "/dev/null"],
            "".join(error_sweep(tree, lids, 2000 * (hour + 1))),
        ),
    ]
    entries = []
    folder.mkdir()
    for number, (argv, text) in enumerate(answers):
        (folder / f"{number}.out").write_text(text)
        entries.append({"kind": "command", "argv": argv, "exit_status": 0, "seconds": 1, "stdout": f"{number}.out"})
    head = {"format": "ibkit-capture/1", "time": f"2026-01-01T0{hour}:00:00+00:00", "hosts": [], "subnet": entries}
    (folder / "manifest.json").write_text(json.dumps(head))


def measure() -> list[Result]:
    """Load both captures, run the rules; the best of some rounds of each."""
    tree = three_levels(RADIX, PODS)
    with tempfile.TemporaryDirectory(prefix="ibkit-bench-") as name:
        folders = [Path(name) / word for word in ("before", "after")]
        for hour, folder in enumerate(folders):
            write_capture(folder, tree, hour)
        loads, runs = [], []
        for _ in range(ROUNDS):
            begun = time.process_time()
            before, after = (collect(open_site(str(folder))) for folder in folders)
            loaded = time.process_time()
            found = diagnose(Evidence(compare_with(before, after, HOUR, "in an hour")), catalogue.ALL).findings
            loads.append(loaded - begun)
            runs.append(time.process_time() - loaded)
    ratio = min(runs) / min(loads)
    return [
        Result(
            f"the rules of `ibkit check` on two samples of {len(tree.hcas):,} HCAs, {len(found)} findings",
            f"{min(runs):.2f} s CPU",
            f"loading the two captures {min(loads):.2f} s",
            f"{ratio:.2f}",
            f"at most {MAX_RATIO:g}",
            ratio <= MAX_RATIO,
        )
    ]


if __name__ == "__main__":
    sys.exit(print_results(measure()))
