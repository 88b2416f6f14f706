"""Two simulated subnets with a router between them: a switch pair with three hosts in each, and an OpenSM each.

The router is one box with a port in each subnet, ``ibrouter swid A`` and ``ibrouter swid B``. Subnet A has a second
partition, 0x8001, of two hosts and the router's port; in its default partition all but the manager's host are limited
members. The managers route each other's prefix to the router's port.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from support.ibsim import Simulation, simulation

PREFIXES = {"a": 0xFEC0000000000001, "b": 0xFEC0000000000002}
BASES = {"a": 0x00A1000000000000, "b": 0x00B2000000000000}
PARTITIONS = {
    "a": (
        "Default=0x7fff, ipoib : ALL=limited, SELF=full ;\n"
        "storage=0x8001, ipoib : 0x00a1000000000011=full, 0x00a1000000000021=full, 0x00a1000000000f01=full ;\n"
    ),
    "b": "Default=0x7fff, ipoib : ALL=full ;\n",
}
#: As OpenSM gave them, so that a new run gives them again: hosts 1 to 3, the router, the switches.
LIDS = {"11": 1, "21": 5, "31": 6, "f01": 4, "1000": 2, "2000": 3}


def netlist(subnet: str) -> str:
    """The subnet for ibsim."""
    base, name = BASES[subnet], subnet.upper()
    text = f"vendid=0x2c9\ndevid=0xd2f0\nsysimgguid={base:#x}\n"
    text += f'switchguid={base + 0x1000:#x}\nSwitch 8 "sw1" # "acm-sw{name}1"\n'
    text += '[1] "host1"[1]\n[2] "host2"[1]\n[3] "sw2"[3]\n[4] "router"[1]\n\n'
    text += f'devid=0xd2f0\nswitchguid={base + 0x2000:#x}\nSwitch 8 "sw2" # "acm-sw{name}2"\n'
    text += '[1] "host3"[1]\n[3] "sw1"[3]\n\n'
    for number, switch, port in ((1, "sw1", 1), (2, "sw1", 2), (3, "sw2", 1)):
        text += f'devid=0x101b\ncaguid={base + number * 16:#x}\nCa 1 "host{number}" # "host{name}{number} mlx5_0"\n'
        text += f'[1] "{switch}"[{port}]\n\n'
    return f'{text}devid=0xcb20\nrtguid={base + 0xF00:#x}\nRt 1 "router" # "ibrouter swid {name}"\n[1] "sw1"[4]\n'


@contextlib.contextmanager
def two_subnets(folder: Path) -> Iterator[dict[str, Simulation]]:
    """Both subnets by their letters, each attached to its first host; gone when the block is left."""
    with contextlib.ExitStack() as stack:
        made = {}
        for subnet, other in (("a", "b"), ("b", "a")):
            home = folder / subnet
            home.mkdir()
            fabric = stack.enter_context(simulation(netlist(subnet), home, attach_to="host1", manager=False))
            fabric.give_whole_answers()
            (home / "partitions.conf").write_text(PARTITIONS[subnet])
            (home / "prefix-routes.conf").write_text(f"{PREFIXES[other]:#018x} {BASES[subnet] + 0xF01:#018x}\n")
            _give_lids(home, subnet)
            fabric.start_manager(
                "--subnet_prefix", f"{PREFIXES[subnet]:#018x}", "-P", str(home / "partitions.conf"),
                "--prefix_routes_file", str(home / "prefix-routes.conf"),
            )  # fmt: skip
            made[subnet] = fabric
        yield made


def add_answers(capture: Path, fabric: Simulation, commands: Sequence[Sequence[str]]) -> None:
    """Run commands and put their answers into a capture, as the subnet's."""
    manifest = json.loads((capture / "manifest.json").read_text())
    for number, words in enumerate(commands):
        done = fabric.run(*words)
        name = f"subnet/more-{number}.out"
        (capture / name).write_text(done.stdout)
        manifest["subnet"] = [one for one in manifest["subnet"] if one.get("argv") != list(words)]
        manifest["subnet"].append(
            {"kind": "command", "argv": list(words), "stdout": name, "exit_status": done.returncode}
        )
    (capture / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


def _give_lids(home: Path, subnet: str) -> None:
    """The file in which OpenSM remembers them."""
    (home / "opensm").mkdir()
    lines = [f"0x{BASES[subnet] + int(part, 16):016x} 0x{lid:04x} 0x{lid:04x}\n\n" for part, lid in LIDS.items()]
    (home / "opensm/guid2lid").write_text("".join(lines))
