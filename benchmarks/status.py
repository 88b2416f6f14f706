"""The CPU of `ibkit status` live on a host with 10 devices of 2 ports, against ibstat on the same devices; and of
`ibkit status -v` there, against the tools that it asks.

python benchmarks/status.py [ROUNDS]

No such host is at hand everywhere, so both read a generated tree in place of /sys: a mount namespace of its own shows
it to them and to nobody else. That takes root; without, nothing is measured.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from frame import Result, cpu_floor, ibkit, in_turn, milliseconds, print_results

ROUNDS = 40
TARGET = 3.0
#: What `ibkit status -v` needs of others: pyverbs in an interpreter of its own, the libraries for interfaces, iproute2.
ASKED = (
    (sys.executable, "-c", "import pyverbs.device"),
    (sys.executable, "-c", "import netifaces, psutil"),
    *(("rdma", "-j", what) for what in ("link", "dev", "statistic")),
    ("ip", "-j", "-d", "addr"),
    ("ip", "-j", "link"),
    ("ip", "-j", "neigh"),
)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def measure(rounds: int = ROUNDS) -> list[Result]:
    """``ibkit status`` less the interpreter's start, against ``ibstat``."""
    if os.geteuid() or not shutil.which("unshare") or not shutil.which("ibstat"):
        print("status: not measured, which takes root, unshare and ibstat", file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, os.path.join(ROOT, "tests"))
        from support.sysfs_tree import many_ports_host

        many_ports_host(Path(folder))
        inside = ["unshare", "-m", sys.executable, os.path.abspath(__file__), "--inside", folder, str(rounds)]
        told = json.loads(subprocess.run(inside, check=True, stdout=subprocess.PIPE).stdout)
    ours, start, peer = told["ibkit"], told["start"], told["ibstat"]
    ratio = (ours - start) / peer
    whole, asked = told["whole"], told["asked"]
    return [
        Result(
            "`ibkit status`, 10 devices of 2 ports, beyond the interpreter's start",
            f"{milliseconds(ours - start)} CPU",
            f"`ibstat` {milliseconds(peer)}",
            f"{ratio:.1f}",
            f"at most {TARGET:.0f}",
            ratio <= TARGET,
        ),
        Result(
            "`ibkit status -v` there, with all that it starts",
            f"{milliseconds(whole)} CPU",
            f"pyverbs, psutil, `rdma` and `ip` alone {milliseconds(asked)}",
            f"{whole / asked:.1f}",
            f"at most {TARGET:.0f}",
            whole / asked <= TARGET,
        ),
    ]


def inside(folder: str, rounds: int) -> None:
    """In the mount namespace: put the tree over /sys, measure, print the CPU in seconds."""
    subprocess.run(["mount", "--bind", os.path.join(folder, "sys"), "/sys"], check=True)
    commands = {"ibkit": ibkit("status"), "ibstat": ["ibstat"], "start": [sys.executable, "-c", "pass"]}
    commands["whole"] = ibkit("status", "-v")
    floors = [cpu_floor(runs) for runs in in_turn([*commands.values(), *ASKED], rounds, statuses=(0, 1))]
    told = dict(zip(commands, floors, strict=False))
    json.dump({**told, "asked": sum(floors[len(commands) :])}, sys.stdout)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2], int(sys.argv[3]))
    else:
        raise SystemExit(print_results(measure(*map(int, sys.argv[1:]))))
