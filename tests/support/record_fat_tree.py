"""Record the shipped fat tree: ibsim runs it, OpenSM manages it, and `ibkit capture` records it on the first host.

    python tests/support/record_fat_tree.py fixtures/fat-tree

Needs ibsim, OpenSM, infiniband-diags, gcc, and root (for a host name of its own, in a UTS namespace).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from support.fattree import HCA_BASE, SWITCH_BASE, two_levels
from support.ibsim import simulation

FIXTURES = Path(__file__).parents[2] / "fixtures"
#: 6 leaves with 18 hosts each, 9 spines, 216 cables: two of the hosts' and one between switches are slow, two between
#: switches are missing.
TREE = two_levels(36, 6).degraded({3: ("1x", "HDR"), 50: ("4x", "EDR"), 120: ("4x", "QDR")}).without([110, 215])
LEAF_1, LEAF_3 = SWITCH_BASE, SWITCH_BASE + 2 * 256
#: Counters of ports with a bad cable: host c004's link at its leaf, and a leaf's link to a spine.
COUNTERS = (
    f'PerformanceSet "S-{LEAF_1:016x}"[4] PortCounters.SymbolErrorCounter=4711',
    f'PerformanceSet "S-{LEAF_1:016x}"[4] PortCounters.LinkDownedCounter=3',
    f'PerformanceSet "S-{LEAF_3:016x}"[22] PortCounters.PortRcvErrors=12',
)
#: The job of the corpus that is put in, on hosts of this fabric.
JOB = "ompi-4.1-ucx-memlock-ob1-tcp"
HOSTS = {"n01": "c001", "n02": "c002"}
NOTE = "a simulated fat tree of 108 HCAs with faults, seen from host c001; the job's log is made up"


def main(target: str) -> int:
    """Record into ``target``, which must not exist."""
    with tempfile.TemporaryDirectory() as name:
        log = Path(name) / "job.log"
        text = (FIXTURES / "jobs" / JOB / "job.log").read_text()
        for old, new in HOSTS.items():
            text = text.replace(old, new)
        log.write_text(text)
        attach_to = f"H-{HCA_BASE:016x}"
        with simulation(TREE.netlist(), Path(name), attach_to=attach_to, whole_answers=True) as fabric:
            for line in COUNTERS:
                fabric.console(line)
            words = [sys.executable, "-m", "ibkit", "capture", "-o", str(Path(target).resolve())]
            words += ["--job", str(log), "--note", NOTE]
            # A host name of its own: hostname works in the namespace that unshare makes.
            shell = 'hostname c001 && exec "$@"'
            done = fabric.run("unshare", "--uts", "sh", "-c", shell, "sh", *words, deadline_seconds=300)
    print(done.stdout, done.stderr, sep="")
    return done.returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
