"""`ibkit resolve` on SoftRoCE: the GID and the index that it gives are those that an RC connection then works with."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.rxe,
    pytest.mark.skipif(socket.gethostname() != "rxe-guest", reason="needs rxe0 and rxe1"),
]

PROGRAM = Path(__file__).parents[1] / "support/rc_send.py"
IBKIT = [sys.executable, "-m", "ibkit"]


def resolve(*words: str) -> list[dict[str, Any]]:
    command = [*IBKIT, "resolve", "--json", "--via", "hosts,acm,gids,neighbours,fabric,sa", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    answers: list[dict[str, Any]] = json.loads(done.stdout)["answers"]
    return answers


def addresses() -> dict[str, str]:
    """The IPv4 address of each of the two interfaces below the devices."""
    rows = json.loads(subprocess.run(["ip", "-j", "addr"], capture_output=True, check=True).stdout)
    found = {}
    for row in rows:
        for one in row.get("addr_info", ()):
            if one.get("family") == "inet" and row["ifname"].startswith("ve"):
                found[row["ifname"]] = one["local"]
    return found


def test_the_gid_that_a_connection_uses() -> None:
    here, there = (address for _, address in sorted(addresses().items()))
    first, second = resolve(here, there)
    ends = []
    for answer, address in ((first, here), (second, there)):
        mapped = ":".join(f"{part:04x}" for part in (*[0] * 5, 0xFFFF, *_halves(address)))
        assert answer["gid"] == mapped
        entry = Path(
            f"/sys/class/infiniband/{answer['source_port']['device']}/ports/1/gids/{answer['roce']['gid_index']}"
        )
        assert entry.read_text().strip() == mapped
        ends += [answer["source_port"]["device"], str(answer["roce"]["gid_index"]), answer["gid"]]
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *ends], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "over the GID that was resolved\n"), done.stderr


def test_an_address_that_is_reached_over_roce_is_its_own_gid() -> None:
    here = sorted(addresses().values())[0]
    other = f"{here.rpartition('.')[0]}.77"
    (answer,) = resolve(other)
    assert answer["gid"].endswith("{:04x}:{:04x}".format(*_halves(other)))
    assert answer["roce"]["type"] == "RoCE v2"
    settings = {one["library"]: one["setting"] for one in answer["roce"]["libraries"]}
    assert settings["UCX"] == "UCX_IB_GID_INDEX=0"  # on SoftRoCE its own choice, the IPv4 entry, gets no answer


def _halves(address: str) -> tuple[int, int]:
    a, b, c, d = map(int, address.split("."))
    return a << 8 | b, c << 8 | d
