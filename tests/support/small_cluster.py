"""A made-up InfiniBand cluster for tests of addresses: a fabric in ibnetdiscover's words, and hosts in the kernel's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from support.answers import Answers, said

from ibkit.sources.base import CommandAnswer
from ibkit.sources.base import Entry as FolderEntry
from ibkit.sources.site import Host, Origin, Site

PREFIX = 0xFEC0000000000001
TIME = "2026-12-02T00:00:00+00:00"
SECONDS = 1796169600


def guid(number: int) -> int:
    """The GUID of the numbered adapter's only port."""
    return 0x0C42A10300000000 + number * 16 + 1


def gid(number: int, prefix: int = PREFIX) -> str:
    """The GID of that port, in full."""
    digits = f"{prefix << 64 | guid(number):032x}"
    return ":".join(digits[i : i + 4] for i in range(0, 32, 4))


def fabric(names: Mapping[int, str], *, lmc: int = 0, first_lid: int = 16, number: int = 0) -> str:
    """What ibnetdiscover prints: adapter N is ``names[N]`` on port N of a switch, with LID ``first_lid + N << lmc``."""
    digits = f"b8599f03{number:08x}"
    switch = f"S-{digits}"
    text = f"vendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0x{digits}\nswitchguid=0x{digits}({digits})\n"
    text += f'Switch\t36 "{switch}"\t\t# "sw1" enhanced port 0 lid 2 lmc 0\n'
    for adapter, name in names.items():
        lid = first_lid + (adapter << lmc)
        text += f'[{adapter}]\t"H-{guid(adapter) - 1:016x}"[1]({guid(adapter):x}) \t\t# "{name}" lid {lid} 4xHDR\n'
    for adapter, name in names.items():
        node = guid(adapter) - 1
        text += f"\nvendid=0x2c9\ndevid=0x101b\nsysimgguid={node:#x}\ncaguid={node:#x}\n"
        text += f'Ca\t1 "H-{node:016x}"\t\t# "{name}"\n'
        lid = first_lid + (adapter << lmc)
        text += f'[1]({guid(adapter):x}) \t"{switch}"[{adapter}]\t\t# lid {lid} lmc {lmc} "sw1" lid 2 4xHDR\n'
    return text


def ipoib(number: int, prefix: int = PREFIX) -> str:
    """The hardware address of an IPoIB interface on that port."""
    digits = f"80000{number:03x}{prefix:016x}{guid(number):016x}"
    return ":".join(digits[i : i + 2] for i in range(0, 40, 2))


def interface(
    name: str, address: str, number: int | None = None, *, prefix: int = PREFIX, **more: Any
) -> dict[str, Any]:
    """A row of ``ip -j -d addr``; with a number it is IPoIB's, else Ethernet's."""
    local, _, length = address.partition("/")
    return {
        "ifname": name, "flags": ["UP", "LOWER_UP"], "mtu": 2044,
        "link_type": "infiniband" if number is not None else "ether",
        "address": ipoib(number, prefix) if number is not None else "02:00:00:00:00:01",
        "addr_info": [{"family": "inet6" if ":" in local else "inet", "local": local, "prefixlen": int(length)}],
        **more,
    }  # fmt: skip


def neighbour(
    address: str, device: str, number: int | None, state: str = "REACHABLE", *, prefix: int = PREFIX
) -> dict[str, Any]:
    """A row of ``ip -j -s neigh``."""
    row = {"dst": address, "dev": device, "confirmed": 5, "state": [state]}
    return row if number is None else row | {"lladdr": ipoib(number, prefix)}


def infiniband_port(
    device: str, number: int, lid: int, netdev: str, pkeys: Sequence[str] = ("0xffff",), prefix: int = PREFIX
) -> Tree:
    """A device's files in /sys."""
    top = f"/sys/class/infiniband/{device}"
    node = f"{guid(number) - 1:016x}"
    spelled = ":".join(node[i : i + 4] for i in range(0, 16, 4))
    files = {
        f"{top}/node_guid": spelled, f"{top}/node_type": "1: CA", f"{top}/ports/1/state": "4: ACTIVE",
        f"{top}/ports/1/phys_state": "5: LinkUp", f"{top}/ports/1/link_layer": "InfiniBand",
        f"{top}/ports/1/lid": hex(lid), f"{top}/ports/1/sm_lid": "0x1", f"{top}/ports/1/rate": "200 Gb/sec (4X HDR)",
        f"{top}/ports/1/gids/0": gid(number, prefix), f"/sys/class/net/{netdev}/pkey": "0xffff",
    }  # fmt: skip
    files |= {f"{top}/ports/1/pkeys/{index}": pkey for index, pkey in enumerate(pkeys)}
    return Tree(device, netdev, files)


def roce_port(device: str, netdev: str, gids: Sequence[tuple[str, str, str]]) -> Tree:
    """A RoCE device: ``gids`` are (GID, type, netdev) from index 0 on."""
    top = f"/sys/class/infiniband/{device}"
    files = {
        f"{top}/node_guid": "9c63:c0ff:fe12:3450", f"{top}/node_type": "1: CA", f"{top}/ports/1/state": "4: ACTIVE",
        f"{top}/ports/1/phys_state": "5: LinkUp", f"{top}/ports/1/link_layer": "Ethernet",
        f"{top}/ports/1/rate": "100 Gb/sec (4X EDR)", f"{top}/ports/1/pkeys/0": "0xffff",
    }  # fmt: skip
    for index, (text, kind, name) in enumerate(gids):
        files[f"{top}/ports/1/gids/{index}"] = text
        files[f"{top}/ports/1/gid_attrs/types/{index}"] = kind
        files[f"{top}/ports/1/gid_attrs/ndevs/{index}"] = name
    return Tree(device, netdev, files)


class Tree:
    """The files of one device, and the network interface on it."""

    def __init__(self, device: str, netdev: str, files: dict[str, str]) -> None:
        self.device = device
        self.netdev = netdev
        self.files = files


def host(
    name: str,
    trees: Iterable[Tree] = (),
    interfaces: Sequence[dict[str, Any]] = (),
    *,
    neighbours: Sequence[dict[str, Any]] = (),
    routes: Sequence[dict[str, Any]] | None = None,
    files: Mapping[str, str] | None = None,
    commands: Mapping[str, str] | None = None,
) -> Host:
    """A host with these devices, interfaces and files."""
    trees = list(trees)
    told = {"ip -j -d addr": json.dumps(interfaces), "ip -j -s neigh": json.dumps(neighbours), **(commands or {})}
    if routes is not None:
        told["ip -j route"] = json.dumps(routes)
    seen, folders = _sysfs(trees)
    answers: dict[str, CommandAnswer] = {words: said(text) for words, text in told.items()}
    return Host(name, Answers(answers, files=seen | dict(files or {}), folders=folders))


def _sysfs(trees: Sequence[Tree]) -> tuple[dict[str, str], dict[str, list[FolderEntry]]]:
    files = {path: f"{text}\n" for tree in trees for path, text in tree.files.items()}
    folders = {"/sys/class/infiniband": [FolderEntry(tree.device, "link") for tree in trees]}
    for tree in trees:
        top = f"/sys/class/infiniband/{tree.device}"
        folders[f"{top}/ports"] = [FolderEntry("1", "folder")]
        folders[f"{top}/device/net"] = [FolderEntry(tree.netdev, "link")]
    return files, folders


def path_record(
    source: int, target: int, slid: int, dlid: int, *, pkey: str = "0xFFFF", mtu: str = "0x85", prefix: int = PREFIX
) -> str:
    """What ``saquery PR`` prints of a path in the cluster's subnet."""
    fields = {
        "service_id": "0x0000000000000000", "dgid": gid(target, prefix), "sgid": gid(source, prefix),
        "dlid": dlid, "slid": slid,
        "hop_flow_raw": "0x0", "tclass": "0x0", "num_path_revers": "0x80", "pkey": pkey, "qos_class": "0x0",
        "sl": "0x1", "mtu": mtu, "rate": "0x91", "pkt_life": "0x92", "preference": "0x0", "resv2": "0x000000000000",
    }  # fmt: skip
    return "PathRecord dump:\n" + "".join(f"\t\t{name:.<24}{value}\n" for name, value in fields.items())


def site(*hosts: Host, subnet: Mapping[str, str] | None = None, trees: Sequence[Tree] = ()) -> Site:
    """All of it as a capture. ``trees``: the devices of the host that asked the subnets."""
    files, folders = _sysfs(trees)
    answers = Answers({words: said(text) for words, text in (subnet or {}).items()}, files=files, folders=folders)
    return Site(Origin("capture", "made up", TIME), hosts, answers)
