"""The guest's link between its two RDMA devices, taken down and up again."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE_SECONDS = 30


@contextmanager
def down(interface: str) -> Iterator[None]:
    """An end of the pair is down meanwhile, and so are the ports of both: the other one's a moment later."""
    _set(interface, "down", "DOWN")
    try:
        yield
    finally:
        _set(interface, "up", "ACTIVE")


def _set(interface: str, state: str, ports: str) -> None:
    subprocess.run(["ip", "link", "set", interface, state], check=True, timeout=60)
    end = time.monotonic() + _PATIENCE_SECONDS
    while {link["state"] for link in _links()} != {ports}:
        assert time.monotonic() < end, _links()
        time.sleep(0.1)


def _links() -> list[dict[str, str]]:
    told = subprocess.run(["rdma", "-j", "link"], capture_output=True, check=True, timeout=60).stdout
    links: list[dict[str, str]] = json.loads(told)
    return links
