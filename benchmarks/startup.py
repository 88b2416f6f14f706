"""The CPU of starting ibkit, against the bare interpreter's: the price of each command in a script or a prolog.

python benchmarks/startup.py [ROUNDS]
"""

from __future__ import annotations

import os
import sys
import tempfile

from frame import Result, cpu_floor, cpu_median, ibkit, in_turn, milliseconds, print_results

#: Many short runs: the floor of few is luck on a busy machine.
ROUNDS = 60
TARGET = 4.0
#: What a person would replay first: one port of one HCA, as ibstat prints it (linux-rdma/rdma-core, ibstat(8)).
IBSTAT = """\
CA 'mlx5_0'
	CA type: MT4123
	Number of ports: 1
	Firmware version: 20.31.1014
	Hardware version: 0
	Node GUID: 0x0c42a10300000001
	System image GUID: 0x0c42a10300000001
	Port 1:
		State: Active
		Physical state: LinkUp
		Rate: 200
		Base lid: 4
		LMC: 0
		SM lid: 1
		Capability mask: 0x2651e848
		Port GUID: 0x0c42a10300000001
		Link layer: InfiniBand
"""
FIXTURES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fixtures")


def measure(rounds: int = ROUNDS) -> list[Result]:
    """``--help``, ``status`` from a tool's output and from captures, against ``python3 -c pass``."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as text:
        text.write(IBSTAT)
        text.flush()
        commands = {
            "`ibkit --help`": ibkit("--help"),
            "`ibkit status --from ibstat.txt`": ibkit("status", "--from", text.name),
        }
        for capture, holds in (("fat-tree", "ibstat's output"), ("multirail-host", "/sys of 7 HCAs")):
            what = f"`ibkit status --from` a capture with {holds}"
            commands[what] = ibkit("status", "--from", os.path.join(FIXTURES, capture))
        pass_only, *ours = in_turn([[sys.executable, "-c", "pass"], *commands.values()], rounds)
    results = []
    for what, usages in zip(commands, ours, strict=True):
        ratio = cpu_floor(usages) / cpu_floor(pass_only)
        medians = cpu_median(usages) / cpu_median(pass_only)
        results.append(
            Result(
                what,
                f"{milliseconds(cpu_floor(usages))} CPU",
                f"`python3 -c pass` {milliseconds(cpu_floor(pass_only))}",
                f"{ratio:.1f} (of medians {medians:.1f})",
                f"at most {TARGET:.0f}",
                ratio <= TARGET,
            )
        )
    return results


if __name__ == "__main__":
    raise SystemExit(print_results(measure(*map(int, sys.argv[1:]))))
