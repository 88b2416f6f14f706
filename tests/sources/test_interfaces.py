"""netifaces and psutil as the live host's source asks them."""

from __future__ import annotations

import json
import subprocess

import pytest

from ibkit.sources.interfaces import NO_IMPORT, ask_interfaces, with_prefix
from ibkit.sources.live import LiveSource, find_tool


@pytest.mark.parametrize(
    ("address", "netmask", "expected"),
    [
        ("192.0.2.2", "255.255.255.0", "192.0.2.2/24"),
        ("127.0.0.1", "255.0.0.0", "127.0.0.1/8"),
        ("192.0.2.9", "0.0.0.0", "192.0.2.9/0"),
        ("fe80::fc:ff:fe00:1%eth0", "ffff:ffff:ffff:ffff::/64", "fe80::fc:ff:fe00:1/64"),
        ("::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", "::1/128"),
        ("192.0.2.2", "255.0.255.0", None),
        ("192.0.2.2", None, None),
        (None, "255.0.0.0", None),
        ("x", "y", None),
    ],
)
def test_prefix_of_a_mask(address: str | None, netmask: str | None, expected: str | None) -> None:
    assert with_prefix(address, netmask) == expected


def test_this_host_is_what_ip_says_it_is() -> None:
    ip = find_tool("ip")
    if ip is None:
        pytest.skip("no iproute2 on this machine")
    rows = json.loads(subprocess.run([ip, "-j", "addr"], capture_output=True, check=True, timeout=30).stdout)
    found = {one["name"]: one for one in ask_interfaces().interfaces}
    assert found.keys() == {row["ifname"] for row in rows}
    for row in rows:
        one = found[row["ifname"]]
        assert sorted(one["addresses"]) == sorted(
            f"{entry['local']}/{entry['prefixlen']}" for entry in row["addr_info"]
        )
        assert (one["mtu_bytes"], "up" in one["flags"]) == (row["mtu"], "UP" in row["flags"])


def test_a_recorded_tree_has_no_interfaces(tmp_path) -> None:  # type: ignore[no-untyped-def]
    assert LiveSource(root=str(tmp_path)).interfaces().error == "not-recorded"


def test_without_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "netifaces", None)
    answer = ask_interfaces()
    assert answer.interfaces is None
    assert (answer.error or "").startswith(NO_IMPORT)
