"""Record the multi-rail GPU host of :mod:`support.sysfs_tree`, by the collectors that `ibkit capture` runs.

    python tests/support/record_multirail.py fixtures/multirail-host

The tools' answers are made up here, in the words of the real ones (infiniband-diags 44, iproute2 6.1).
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from support.sysfs_tree import RAILS, multirail_host, write
from support.tree_source import TreeSource

from ibkit.collectors.doctor_launchers import COMMAND as LAUNCHERS
from ibkit.collectors.everything import OF_A_HOST
from ibkit.sources.recording import RecordingSource
from ibkit.sources.writer import Recorded, write_capture

HOST = "gpu01"
TIME = "2026-12-01T12:00:00+00:00"
DEVICES = [*RAILS, "mlx5_4", "mlx5_5", "mlx5_bond_0"]
TOOLS = {
    "id -u": "1000\n", "id -G": "1000 998\n", "ibstat -V": "ibstat BUILD VERSION: 44.0\n",
    "ibnetdiscover -V": "ibnetdiscover BUILD VERSION: 44.0\n", "sminfo -V": "sminfo BUILD VERSION: 44.0\n",
    "rdma -V": "rdma utility, iproute2-6.1.0\n", "ip -V": "ip utility, iproute2-6.1.0, libbpf 1.1.2\n",
}  # fmt: skip
#: Management datagrams everywhere, IPoIB on the rails, and a storage client's two queues on mlx5_4.
KERNEL_QUEUE_PAIRS = [
    *((name, 1, "GSI", "ib_core") for name in DEVICES),
    *((name, 96 + rail, "UD", "ib_ipoib") for rail, name in enumerate(RAILS)),
    *(("mlx5_4", number, "RC", "nvme_rdma") for number in (210, 211)),
]
ROWS = [
    {
        "ifindex": DEVICES.index(device), "ifname": device, "port": 1, "lqpn": number,
        **({"rqpn": number + 1000} if kind == "RC" else {}), "type": kind, "state": "RTS", "sq-psn": 0, "comm": owner,
    }
    for device, number, kind, owner in KERNEL_QUEUE_PAIRS
]  # fmt: skip
#: Device, GUID, firmware, and its port's row of ``rdma link``.
LINKED = [
    *(
        (name, guid, "28.39.1002", {
            "subnet_prefix": "fe80:0000:0000:0000", "lid": 0x41 + rail, "sm_lid": 1, "lmc": 0, "state": "ACTIVE",
            "physical_state": "LINK_UP",
        })
        for rail, (name, guid) in enumerate(RAILS.items())
    ),
    ("mlx5_4", "9c63:c003:0012:3450", "22.36.1010",
     {"state": "ACTIVE", "physical_state": "LINK_UP", "netdev": "ens3f0np0", "netdev_index": 6}),
    ("mlx5_5", "9c63:c003:0012:3451", "22.36.1010",
     {"state": "DOWN", "physical_state": "DISABLED", "netdev": "ens3f1np1", "netdev_index": 7}),
    ("mlx5_bond_0", "e8eb:d303:0077:8800", "26.36.1010",
     {"state": "ACTIVE", "physical_state": "LINK_UP", "netdev": "bond0", "netdev_index": 10}),
]  # fmt: skip
TOOLS |= {
    "rdma -j link": json.dumps(
        [{"ifindex": index, "ifname": name, "port": 1, **row} for index, (name, _, _, row) in enumerate(LINKED)],
        separators=(",", ":"),
    ) + "\n",
    "rdma -j dev": json.dumps(
        [
            {"ifindex": index, "ifname": name, "node_type": "ca", "protocol": "ib" if "lid" in row else "roce",
             "fw": fw, "node_guid": guid, "sys_image_guid": guid}
            for index, (name, guid, fw, row) in enumerate(LINKED)
        ],
        separators=(",", ":"),
    ) + "\n",
    "rdma -j statistic": json.dumps(
        [{"ifname": name, "port": 1, "out_of_sequence": 0, "rnr_nak_retry_err": 2} for name in RAILS],
        separators=(",", ":"),
    ) + "\n",
}  # fmt: skip
TOOLS |= {
    "rdma -j -d resource show qp": json.dumps(ROWS, separators=(",", ":")) + "\n",
    **{f"rdma -j -d resource show {kind}": "[]\n" for kind in ("cm_id", "ctx", "pd", "mr", "cq")},
}


def _interface(name: str, kind: str, hardware: str, address: str | None, **more: object) -> dict[str, object]:
    addresses = [{"family": "inet", "local": address, "prefixlen": 24, "scope": "global"}] if address else []
    flags = (
        ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"] if address or more.get("master") else ["BROADCAST", "MULTICAST"]
    )
    return {
        "ifname": name, "flags": flags, "mtu": 2044 if kind == "infiniband" else 9000, **more, "link_type": kind,
        "address": hardware, "addr_info": addresses,
    }  # fmt: skip


#: IPoIB's hardware address is flags, queue pair number (96 and up) and GID.
INTERFACES = [
    *(
        _interface(
            f"ib{rail}", "infiniband",
            f"00:00:00:{96 + rail:02x}:fe:80:00:00:00:00:00:00:b8:ce:f6:03:00:aa:00:{16 * rail:02x}",
            f"10.10.{rail}.1", linkinfo={"info_kind": "ipoib", "info_data": {"mode": "datagram"}},
        )
        for rail in range(4)
    ),
    _interface("ens3f0np0", "ether", "9c:63:c0:12:34:50", "10.20.0.1"),
    _interface("ens3f1np1", "ether", "9c:63:c0:12:34:51", None),
    _interface("eno1np0", "ether", "e8:eb:d3:77:88:00", None, master="bond0"),
    _interface("eno2np1", "ether", "e8:eb:d3:77:88:00", None, master="bond0"),
    _interface("bond0", "ether", "e8:eb:d3:77:88:00", "10.0.0.21", linkinfo={"info_kind": "bond"}),
]  # fmt: skip
#: Two virtual functions of mlx5_4, as ``ip link`` lists them.
VIRTUAL_FUNCTIONS = [
    {
        "vf": number,
        "link_type": "ether",
        "address": f"02:63:c0:12:34:{number:02x}",
        "broadcast": "ff:ff:ff:ff:ff:ff",
        "vlan_list": [{"vlan": 120} if number else {}],
        "rate": {"max_tx": 0, "min_tx": 0},
        "spoofchk": False,
        "link_state": "auto",
        "trust": False,
        "query_rss_en": False,
    }
    for number in range(2)
]
LINKS = [
    {
        **{key: value for key, value in row.items() if key not in ("addr_info", "linkinfo")},
        **({"num_vf": 2, "vfinfo_list": VIRTUAL_FUNCTIONS} if row["ifname"] == "ens3f0np0" else {}),
    }
    for row in INTERFACES
]
NEIGHBOURS = [
    {
        "dst": "10.10.0.2", "dev": "ib0", "lladdr": "00:00:00:61:fe:80:00:00:00:00:00:00:b8:ce:f6:03:00:bb:00:00",
        "state": ["STALE"],
    },
    {"dst": "10.0.0.99", "dev": "bond0", "state": ["FAILED"]},
]  # fmt: skip
TOOLS |= {
    "ip -j -d addr": json.dumps(INTERFACES, separators=(",", ":")) + "\n",
    "ip -j neigh": json.dumps(NEIGHBOURS, separators=(",", ":")) + "\n",
    "ip -j link": json.dumps(LINKS, separators=(",", ":")) + "\n",
}
#: Whoever updated the firmware also reset the cards.
TOOLS |= {
    "devlink -j dev info": json.dumps(
        {"info": {
            f"pci/0000:{0x18 + 16 * rail:02x}:00.0": {
                "driver": "mlx5_core",
                "versions": {
                    "fixed": {"fw.psid": "MT_0000000838"},
                    **{key: {"fw.version": "28.39.1002", "fw": "28.39.1002"} for key in ("running", "stored")},
                },
            }
            for rail in range(4)
        }},
        separators=(",", ":"),
    ) + "\n",
}  # fmt: skip
TOOLS |= {
    " ".join(LAUNCHERS): (
        "Id=slurmd.service\nLoadState=loaded\nLimitMEMLOCK=infinity\n\n"
        "Id=kubelet.service\nLoadState=not-found\nLimitMEMLOCK=8388608\n\n"
        "Id=ssh.service\nLoadState=loaded\nLimitMEMLOCK=8388608\n\n"
        "Id=ssh.service\nLoadState=loaded\nLimitMEMLOCK=8388608\n"
    )
}
#: umad belongs to root alone, as most distributions have it.
NODES = {
    "rdma_cm": (0o666, 0, 0),
    **{f"uverbs{index}": (0o666, 0, 0) for index in range(len(DEVICES))},
    **{f"umad{index}": (0o600, 0, 0) for index in range(len(DEVICES))},
}
#: What systemd gives every service and session that nobody configured: 8 MiB.
LIMITS = (
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max locked memory         8388608              8388608              bytes     \n"
)


def record(target: str) -> None:
    """Write the capture; ``target`` must not exist or be empty."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        multirail_host(root)
        write(root, "/sys/class/misc/rdma_cm/dev", "10:58\n")
        write(root, "/proc/self/limits", LIMITS)
        write(root, "/etc/libibverbs.d/mlx5.driver", "driver mlx5\n")
        source = RecordingSource(TreeSource(root, tools=TOOLS, nodes=NODES))
        for _, collect in OF_A_HOST:
            collect(source, HOST)
        note = "a GPU host with four NDR rails, two RoCE ports and a bond; made by tests/support/record_multirail.py"
        write_capture(target, Recorded(HOST, TIME, ((HOST, source),), RecordingSource(TreeSource(root)), note=note))


if __name__ == "__main__":
    record(sys.argv[1])
