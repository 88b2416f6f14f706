"""fixtures/fat-tree, what `make run` shows: ibkit says of it what its README knows, counted by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
CAPTURE = "fixtures/fat-tree"
LEAF_1, LEAF_3, LEAF_6 = "0xb8599f0300000000", "0xb8599f0300000200", "0xb8599f0300000500"
SPINE_7 = "0xb8599f0300000c00"


def ibkit(*arguments: str, status: int = 0) -> str:
    command = [sys.executable, "-m", "ibkit", *arguments, "--from", CAPTURE]
    done = subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == status, done.stderr
    return done.stdout


def document(*arguments: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(ibkit(*arguments, "--json"))
    return made


def test_nodes_and_links() -> None:
    made = document("fabric", "links")
    assert made["summary"] == {
        "switches": 15, "channel_adapters": 108, "routers": 0, "aggregation_nodes": 0, "links": 214,
    }  # fmt: skip
    assert (made["complete"], made["problems"]) == (True, [])
    slow = {
        (frozenset([(link["a"]["guid"], link["a"]["port"]), (link["b"]["guid"], link["b"]["port"])]),
         link["width"], link["speed"])
        for link in made["links"] if (link["width"], link["speed"]) != ("4x", "HDR")
    }  # fmt: skip
    assert slow == {
        (frozenset([("0x0c42a10300000030", 1), (LEAF_1, 4)]), "1x", "HDR"),
        (frozenset([("0x0c42a10300000320", 1), (LEAF_3, 15)]), "4x", "EDR"),
        (frozenset([(LEAF_1, 31), (SPINE_7, 1)]), "4x", "QDR"),
    }
    ends = {(end["guid"], end["port"]) for link in made["links"] for end in (link["a"], link["b"])}
    assert not ends & {(LEAF_1, 21), (LEAF_6, 36)}


def test_subnet_manager_and_host() -> None:
    (manager,) = document("sm")["managers"]
    assert (manager["lid"], manager["state"], manager["priority"]) == (1, "master", 0)
    (device,) = document("status")["devices"]
    (port,) = device["ports"]
    assert (port["state"], port["physical_state"], port["lid"], port["sm_lid"]) == ("Active", "LinkUp", 1, 1)


def test_without_a_terminal_all_of_it_is_printed() -> None:
    text = ibkit("tui")
    assert "REPLAY of fat-tree" in text
    assert "15 switches, 108 HCAs, 214 links" in text
    assert "1x HDR" in text and "c004 mlx5_0" in text
    assert "TCP, not RDMA: a fall-back" in text
    assert "locked memory" in text
    assert "\x1b" not in text
