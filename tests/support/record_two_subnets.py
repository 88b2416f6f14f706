"""Record the shipped pair of subnets: ibsim runs them, OpenSM manages them, `ibkit capture` records what their SAs say.

    python tests/support/record_two_subnets.py fixtures/two-subnets

What the subnets say is recorded; what host hostA1 says of itself (its /sys, addresses, neighbours, /etc/hosts and
ibacm's files) is written here by hand in the formats of the kernel and the tools, since a simulator has no host.
Needs ibsim, OpenSM, infiniband-diags and gcc.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

from support.two_subnets import add_answers, two_subnets

TIME = "2026-12-02T00:00:00+00:00"
SECONDS = 1796169600  # the same
NOTE = "subnet {} of two simulated ones with a router; what host {} says of itself is made up"
SGID, DGID, ROUTER_B = "fec0::1:a1:0:0:11", "fec0::2:b2:0:0:31", "fec0::2:b2:0:0:f01"
KEYS = ("0xffff", "0x8001")

HOSTS = """\
127.0.0.1 localhost
10.10.0.1 hostA1-ib0 hostA1
10.10.0.2 hostA2-ib0 hostA2
10.10.0.3 hostA3-ib0
10.10.0.5 hostA3-ib1
10.20.0.3 hostB3-ib0
"""
#: 10.10.0.3 has the GID of an adapter that was swapped; 10.10.0.5 that of another host; 10.10.0.6 is out of date.
HOSTS_DATA = """\
# key GID
10.10.0.2 fec0:0:0:1:a1:0:0:21
10.10.0.3 fec0:0:0:1:a1:0:0:99
10.10.0.4 fec0:0:0:1:a1:0:0:31
10.10.0.5 fec0:0:0:1:a1:0:0:21
10.10.0.6 fec0:0:0:1:a1:0:0:21
10.10.0.9 fec0:0:0:1:a1:0:0:21
10.10.0.13 ::ffff:10.10.0.13
10.20.0.3 fec0:0:0:2:b2:0:0:31
10.90.0.3 fec0:0:0:9:b2:0:0:31
hosta2 fec0:0:0:1:a1:0:0:21
"""
OPTS = "addr_preload acm_hosts\naddr_timeout -1\n"
IPOIB = "80:00:00:{:02x}:fe:c0:00:00:00:00:00:01:00:a1:00:00:00:00:00:{}"
ADDRESSES = [
    {
        "ifname": "ib0", "flags": ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"], "mtu": 2044,
        "link_type": "infiniband", "address": IPOIB.format(0x47, "11"),
        "addr_info": [{"family": "inet", "local": "10.10.0.1", "prefixlen": 24}],
    },
    {
        "ifname": "eth0", "flags": ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"], "mtu": 1500, "link_type": "ether",
        "address": "02:00:00:00:00:01", "addr_info": [{"family": "inet", "local": "192.0.2.11", "prefixlen": 24}],
    },
]  # fmt: skip
NEIGHBOURS = [
    {"dst": "10.10.0.2", "dev": "ib0", "lladdr": IPOIB.format(0x48, "21"), "used": 3, "confirmed": 7, "updated": 7,
     "probes": 1, "state": ["REACHABLE"]},
    {"dst": "10.10.0.6", "dev": "ib0", "lladdr": IPOIB.format(0x49, "31"), "used": 90, "confirmed": 95, "updated": 60,
     "probes": 1, "state": ["STALE"]},
    {"dst": "10.10.0.9", "dev": "ib0", "used": 30, "confirmed": 900, "updated": 4, "probes": 6, "state": ["FAILED"]},
    {"dst": "10.10.0.254", "dev": "ib0", "lladdr": IPOIB.format(0x50, "21"), "used": 9, "confirmed": 9, "updated": 9,
     "probes": 1, "state": ["REACHABLE"]},
]  # fmt: skip
ROUTES = [
    {"dst": "default", "gateway": "192.0.2.1", "dev": "eth0", "flags": []},
    {"dst": "192.0.2.0/24", "dev": "eth0", "protocol": "kernel", "scope": "link", "flags": []},
    {"dst": "10.10.0.0/24", "dev": "ib0", "protocol": "kernel", "scope": "link", "prefsrc": "10.10.0.1", "flags": []},
    {"dst": "10.20.0.0/16", "gateway": "10.10.0.254", "dev": "ib0", "flags": []},
]
DEVICE = "/sys/class/infiniband/mlx5_0"
SYS = {
    f"{DEVICE}/node_guid": "00a1:0000:0000:0010",
    f"{DEVICE}/sys_image_guid": "00a1:0000:0000:0010",
    f"{DEVICE}/node_type": "1: CA",
    f"{DEVICE}/hca_type": "MT4123",
    f"{DEVICE}/node_desc": "hostA1 mlx5_0",
    f"{DEVICE}/ports/1/state": "4: ACTIVE",
    f"{DEVICE}/ports/1/phys_state": "5: LinkUp",
    f"{DEVICE}/ports/1/link_layer": "InfiniBand",
    f"{DEVICE}/ports/1/lid": "0x1",
    f"{DEVICE}/ports/1/lid_mask_count": "0",
    f"{DEVICE}/ports/1/sm_lid": "0x1",
    f"{DEVICE}/ports/1/sm_sl": "0",
    f"{DEVICE}/ports/1/rate": "10 Gb/sec (4X SDR)",
    f"{DEVICE}/ports/1/gids/0": "fec0:0000:0000:0001:00a1:0000:0000:0011",
    f"{DEVICE}/ports/1/gids/1": "0000:0000:0000:0000:0000:0000:0000:0000",
    f"{DEVICE}/ports/1/pkeys/0": "0xffff",
    f"{DEVICE}/ports/1/pkeys/1": "0x8001",
    f"{DEVICE}/ports/1/pkeys/2": "0x0000",
    "/sys/class/net/ib0/pkey": "0xffff",
}
FOLDERS: dict[str, list[list[str]]] = {
    "/sys/class/infiniband": [["mlx5_0", "link"]],
    f"{DEVICE}/ports": [["1", "folder"]],
    f"{DEVICE}/device/net": [["ib0", "link"]],
}
FILES = {
    "/etc/hosts": HOSTS,
    "/etc/rdma/ibacm_hosts.data": HOSTS_DATA,
    "/etc/rdma/ibacm_opts.cfg": OPTS,
}


def host_answers() -> list[dict[str, Any]]:
    """What hostA1 says of itself."""
    changed = f"{SECONDS - 90 * 86_400} /etc/rdma/ibacm_hosts.data\n"
    told = {
        "ip -j -s neigh": json.dumps(NEIGHBOURS),
        "ip -j -d addr": json.dumps(ADDRESSES),
        "ip -j route": json.dumps(ROUTES),
        "ip -j -6 route": "[]",
        "stat -c %Y %n /etc/rdma/ibacm_hosts.data": changed,
    }
    argvs = {"stat -c %Y %n /etc/rdma/ibacm_hosts.data": ["stat", "-c", "%Y %n", "/etc/rdma/ibacm_hosts.data"]}
    answers: list[dict[str, Any]] = [
        {"kind": "command", "argv": argvs.get(words, words.split()), "exit_status": 0, "text": text}
        for words, text in told.items()
    ]
    missing = {"kind": "file", "path": "/etc/rdma/ibacm_route.data", "error": "ENOENT"}
    answers += [{"kind": "folder", "path": path, "entries": entries} for path, entries in FOLDERS.items()]
    answers += [{"kind": "file", "path": path, "text": f"{text}\n"} for path, text in SYS.items()]
    answers += [{"kind": "file", "path": path, "text": text} for path, text in FILES.items()]
    return [*answers, missing, {"kind": "file", "path": "/run/ibacm.pid", "error": "ENOENT"}]


def main(target: str) -> int:
    """Record into ``target``, which is made anew."""
    shutil.rmtree(target, ignore_errors=True)
    Path(target).mkdir()
    with tempfile.TemporaryDirectory() as name, two_subnets(Path(name)) as fabrics:
        for subnet, fabric in fabrics.items():
            capture = Path(target).resolve() / subnet
            done = fabric.ibkit("capture", "-o", str(capture), deadline_seconds=300)
            if done.returncode:
                print(done.stderr, file=sys.stderr)
                return done.returncode
            finish(capture, subnet)
        there = [["saquery", "PR", "--sgid", SGID, "--dgid", DGID, "--pkey", key] for key in KEYS]
        other = [["saquery", "PR", "--sgid", SGID, "--dgid", gid, "--pkey", key] for key in KEYS for gid in (
            "fec0::9:b2:0:0:31", "fec0::1:a1:0:0:99",
        )]  # fmt: skip
        own = [["saquery", "PR", "--slid", "1", "--pkey", key] for key in KEYS]
        add_answers(Path(target) / "a", fabrics["a"], [*own, *there, *other])
        legs = [(ROUTER_B, DGID), (DGID, SGID)]
        add_answers(
            Path(target) / "b", fabrics["b"],
            [["saquery", "PR", "--sgid", one, "--dgid", other, "--pkey", key] for one, other in legs for key in KEYS],
        )  # fmt: skip
    return 0


def finish(capture: Path, subnet: str) -> None:
    """The subnet's answers stay, the host's are those above or none."""
    manifest = json.loads((capture / "manifest.json").read_text())
    host = f"host{subnet.upper()}1"
    shutil.rmtree(capture / "hosts")
    answers = host_answers() if subnet == "a" else []
    for number, answer in enumerate(one for one in answers if one["kind"] == "command"):
        name = f"hosts/{host}/{number}.out"
        (capture / name).parent.mkdir(parents=True, exist_ok=True)
        (capture / name).write_text(answer.pop("text"))
        answer["stdout"] = name
    kept = [one for one in manifest["subnet"] if not one.get("path", "").startswith("/sys/")]
    manifest |= {
        "host": host, "time": TIME, "note": NOTE.format(subnet.upper(), host), "subnet": kept,
        "hosts": [{"name": host, "answers": answers}],
    }  # fmt: skip
    (capture / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
