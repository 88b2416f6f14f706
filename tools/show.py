"""Open ``ibkit tui``: on this host where it has an InfiniBand or RoCE port, else on a capture that ibkit ships.

python tools/show.py [CAPTURE]
"""

from __future__ import annotations

import glob
import os
import sys

from system_packages import say

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: A fat tree with faults, recorded by `ibkit capture`, with a job's log; its README tells what is wrong in it.
DEMO = os.path.join("fixtures", "fat-tree")


def main(arguments: list[str]) -> None:
    """Become ``ibkit tui``."""
    os.chdir(ROOT)
    command = [sys.executable, "-m", "ibkit", "tui"]
    if arguments:
        command += ["--from", arguments[0]]
    elif not has_rdma_port():
        say(f"this host has no InfiniBand or RoCE port, so this is a replay of the shipped capture {DEMO}")
        command += ["--from", DEMO]
    os.execv(command[0], command)


def has_rdma_port(devices: str = "/sys/class/infiniband") -> bool:
    """Whether a device of this host is an InfiniBand or RoCE HCA with a port.

    The kernel writes ``1: CA`` into ``node_type`` for both; iWARP, EFA and usNIC devices have other numbers
    (include/rdma/ib_verbs.h, enum rdma_node_type).
    """
    for device in glob.glob(os.path.join(glob.escape(devices), "*")):
        try:
            with open(os.path.join(device, "node_type"), encoding="ascii") as file:
                if file.read().startswith("1:") and os.listdir(os.path.join(device, "ports")):
                    return True
        except (OSError, ValueError):
            continue
    return False


if __name__ == "__main__":
    main(sys.argv[1:])
