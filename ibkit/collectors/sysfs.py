"""HCAs from ``/sys/class/infiniband``: no file is read twice, and none that is not needed.

Formats: the kernel's ``drivers/infiniband/core/sysfs.c`` (ports, GIDs, P_Keys) and the drivers' own attributes
(``board_id``, ``hca_type``, ``hw_rev``); ``Documentation/ABI/stable/sysfs-class-infiniband``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import count

from ibkit.model.host import GidEntry, Hca, HcaPort
from ibkit.model.ids import Gid, Guid, PKey
from ibkit.model.port_state import ETHERNET, INFINIBAND, PHYSICAL_STATE_OF_CODE, STATE_OF_CODE, what_counts
from ibkit.parsers.base import Problem
from ibkit.sources.base import NOT_RECORDED, Source

CLASS = "/sys/class/infiniband"
LINK_LOCAL_PREFIX = 0xFE80 << 48
NETDEV_CLASS = "/sys/class/net"

_CODED = re.compile(r"([0-9]{1,3}): ?(.+)\Z")
_RATE = re.compile(r"([0-9]{1,6}(?:\.[0-9])?) G[bB]/sec(?: \(([0-9]{1,3})X(?: ([A-Z0-9]{2,8}))?\))?\Z")
_PKEY = re.compile(r"0x[0-9a-fA-F]{1,4}\Z")
_REPRESENTOR = re.compile(r"(?:c[0-9]{1,5})?pf[0-9]{1,5}(?:[vs]f[0-9]{1,6})?\s*\Z")
_NUMBER = re.compile(r"(?:0x[0-9a-fA-F]{1,16}|[0-9]{1,10})\Z")


def read_hca(source: Source, name: str, *, whole: bool, verbs: Hca | None = None) -> tuple[Hca, list[Problem]]:
    """One device, and what of it could not be read.

    The tables of GIDs and P_Keys have hundreds of entries and are filled from the front; holes come with addresses
    that went away. Only ``whole`` reads all of them; without it the first run of filled entries is read. Where
    ``verbs`` has told which entries are filled, these are read and no others.
    """
    problems: list[Problem] = []
    device = _Folder(source, f"{CLASS}/{name}", problems)
    numbers = _port_numbers(source, device)
    node_guid = device.guid("node_guid", expected=True)
    if node_guid is None and not numbers:
        error = next((problem.text for problem in problems), "it has no port")
        return Hca(name, error=error), [Problem("device-unreadable", f"device {name} cannot be read: {error}")]
    bus = dict(line.partition("=")[::2] for line in (device.text("device/uevent") or "").splitlines())
    hca = Hca(
        name,
        node_guid=node_guid,
        system_image_guid=device.guid("sys_image_guid"),
        hca_type=device.text("hca_type"),
        firmware=device.text("fw_ver"),
        hardware=device.text("hw_rev"),
        board_id=device.text("board_id"),
        node_description=device.text("node_desc"),
        node_type=device.coded("node_type", {}),
        driver=bus.get("DRIVER"),
        bus_address=bus.get("PCI_SLOT_NAME"),
        source="sysfs",
    )
    netdevs = _netdevs_by_port(source, device, numbers)
    told = {port.port: port for port in verbs.ports} if verbs else {}
    ports = [_port(_Folder(source, f"{device.path}/ports/{n}", problems), n, hca, whole, told.get(n)) for n in numbers]
    ports = [port._replace(netdevs=_netdevs(source, netdevs.get(port.port, ()), port)) for port in ports]
    if whole:
        hca, ports = _with_counters(source, device, hca, ports)
    if ports and all(port.state is None and port.physical_state is None for port in ports):
        error = problems[0].text
        return hca._replace(error=error), [Problem("device-unreadable", f"device {name} cannot be read: {error}")]
    return hca._replace(ports=tuple(ports)), problems


class _Folder:
    """A folder of attributes. A file that is not there is None; one that cannot be read is None and a problem."""

    def __init__(self, source: Source, path: str, problems: list[Problem]) -> None:
        self.source = source
        self.path = path
        self.problems = problems

    def text(self, name: str, *, expected: bool = False) -> str | None:
        """The file's text without blanks around it; None where it is empty, too."""
        path = f"{self.path}/{name}"
        answer = self.source.read(path)
        text = answer.text
        if text is None:
            if expected or answer.error not in ("ENOENT", NOT_RECORDED):
                self.problem(f"{name} cannot be read ({answer.error})", name)
            return None
        text = text.strip()
        if not text and expected:
            self.problem(f"{name} is empty", name)
        return text or None

    def problem(self, text: str, name: str, kind: str = "unreadable-file") -> None:
        self.problems.append(Problem(kind, text, None, f"{self.path}/{name}"))

    def guid(self, name: str, *, expected: bool = False) -> Guid | None:
        """Four groups of four digits."""
        text = self.text(name, expected=expected)
        try:
            return None if text is None else Guid.parse(text)
        except ValueError:
            self.problem(f"{name} is {text!r:.80}, no GUID", name, "bad-value")
            return None

    def coded(self, name: str, words: dict[int, str], *, expected: bool = False) -> str | None:
        """The word of a code, see :func:`word_of`."""
        return word_of(self.text(name, expected=expected), words)

    def number(self, name: str) -> int | None:
        """A decimal or ``0x`` number."""
        text = self.text(name)
        if text is None:
            return None
        if _NUMBER.match(text):
            return int(text, 16 if text.startswith("0x") else 10)
        self.problem(f"{name} is {text!r:.80}, no number", name, "bad-value")
        return None

    def table(self, name: str, *, whole: bool, only: Iterable[int] = ()) -> Iterator[tuple[int, str]]:
        """Index and text of each entry, up to the end of the table, or of the ``only`` ones that are worth a read.

        Unless ``whole``, up to the first empty entry behind a filled one: in a container, the first entries may be
        another namespace's and look empty.
        """
        filled = False
        for index in only or count():
            answer = self.source.read(f"{self.path}/{name}/{index}")
            text = answer.text
            if text is not None:
                yield index, text.strip()
                empty = not text.strip(" \n0x:")
                if empty and filled and not whole:
                    return
                filled |= not empty
            elif answer.error == "ENOENT":
                return
            elif answer.error == NOT_RECORDED:
                if whole and index:
                    self.problem(f"{name} is recorded up to entry {index - 1} only", name, NOT_RECORDED)
                return
            else:
                self.problem(f"{name}/{index} cannot be read ({answer.error})", f"{name}/{index}")
                if answer.error != "EINVAL":  # a device that is going away answers so for each of its entries
                    return


def _with_counters(source: Source, device: _Folder, hca: Hca, ports: list[HcaPort]) -> tuple[Hca, list[HcaPort]]:
    from ibkit.collectors.port_counters import read_counters  # only who asks for all of it pays for it

    return hca._replace(hw_counters=read_counters(source, f"{device.path}/hw_counters")), [
        port._replace(
            counters=read_counters(source, f"{device.path}/ports/{port.port}/counters"),
            hw_counters=read_counters(source, f"{device.path}/ports/{port.port}/hw_counters"),
        )
        for port in ports
    ]


def _port_numbers(source: Source, device: _Folder) -> list[int]:
    answer = source.list(f"{device.path}/ports")
    if answer.error:
        device.problem(f"ports cannot be listed ({answer.error})", "ports")
    return sorted(int(name) for name in answer.names if name.isascii() and name.isdigit() and len(name) < 6)


def _port(folder: _Folder, number: int, hca: Hca, whole: bool, verbs: HcaPort | None) -> HcaPort:
    link_layer = folder.text("link_layer")
    rate, width, speed = _rate(folder)
    # Entry 0 is the port's GUID, whatever verbs says of it.
    filled = sorted({0, *(entry.gid_index for entry in verbs.gids)}) if verbs and verbs.gids else []
    gids = list(_gids(folder, whole, filled))
    pkeys = dict(_pkeys(folder, whole))
    port = HcaPort(
        number,
        state=folder.coded("state", STATE_OF_CODE, expected=True),
        physical_state=folder.coded("phys_state", PHYSICAL_STATE_OF_CODE, expected=True),
        link_layer=link_layer,
        lid=folder.number("lid"),
        lmc=folder.number("lid_mask_count"),
        sm_lid=folder.number("sm_lid"),
        sm_sl=folder.number("sm_sl"),
        rate_gbps=rate,
        width=width,
        speed=speed,
        port_guid=_port_guid(gids, link_layer),
        capability_mask=folder.number("cap_mask"),
        gids=tuple(_gid_entry(folder, hca, link_layer, index, gid) for index, gid in gids if gid),
        pkeys=tuple(pkeys.values()),
        pkey_indexes=tuple(pkeys),
        tables_whole=whole,
    )
    return what_counts(port, hca)


def _rate(folder: _Folder) -> tuple[float | None, str | None, str | None]:
    """``100 Gb/sec (4X EDR)``. An empty cage gives ``0 GB/sec`` or EINVAL: unknown."""
    text = folder.text("rate")
    if text is None:
        return None, None, None
    told = rate_of(text)
    if told is None:
        folder.problem(f"rate is {text!r:.80}", "rate", "bad-value")
    return told or (None, None, None)


def rate_of(text: str) -> tuple[float | None, str | None, str | None] | None:
    """Gb/s, width and speed of the kernel's text; None where it is not that."""
    found = _RATE.match(text)
    if not found:
        return None
    return float(found[1]) or None, f"{found[2]}x" if found[2] else None, found[3]


def word_of(text: str | None, words: dict[int, str]) -> str | None:
    """``4: ACTIVE``: the word of the code in ``words``, else the kernel's word."""
    found = _CODED.match(text or "")
    return words.get(int(found[1]), found[2]) if found else text


def _gids(folder: _Folder, whole: bool, only: Iterable[int]) -> Iterator[tuple[int, Gid]]:
    """Index and GID of each entry, empty ones (0) too."""
    for index, text in folder.table("gids", whole=whole, only=only):
        try:
            yield index, Gid.parse(text)
        except ValueError:
            folder.problem(f"gids/{index} is {text!r:.80}, no GID", f"gids/{index}", "bad-value")


def _gid_entry(folder: _Folder, hca: Hca, link_layer: str | None, index: int, gid: Gid) -> GidEntry:
    """A filled entry. Only on Ethernet ports do type and netdev differ between entries."""
    if link_layer != ETHERNET:
        return GidEntry(index, gid, "IB" if link_layer == INFINIBAND else None)
    # The kernel writes one name for the types IB and RoCE v1.
    kernel_type = None if hca.node_type == "RNIC" else _attribute(folder, "types", index)
    gid_type = "RoCE v1" if kernel_type == "IB/RoCE v1" else kernel_type
    return GidEntry(index, gid, gid_type, _attribute(folder, "ndevs", index))


def _attribute(folder: _Folder, kind: str, index: int) -> str | None:
    """None where the entry went away meanwhile or its netdev is in another namespace (EINVAL)."""
    text = folder.source.read(f"{folder.path}/gid_attrs/{kind}/{index}").text
    return (text or "").strip() or None


def _pkeys(folder: _Folder, whole: bool) -> Iterator[tuple[int, PKey]]:
    """Index and P_Key of each valid entry."""
    for index, text in folder.table("pkeys", whole=whole):
        if not _PKEY.match(text):
            folder.problem(f"pkeys/{index} is {text!r:.80}, no P_Key", f"pkeys/{index}", "bad-value")
        elif (pkey := PKey(text, 16)).partition:
            yield index, pkey


def _port_guid(gids: list[tuple[int, Gid]], link_layer: str | None) -> Guid | None:
    """The interface id of GID 0, as libibumad has it. On Ethernet, GID 0 may be an IPv4 address instead."""
    if not gids or gids[0][0] != 0:
        return None
    first = gids[0][1]
    if first and link_layer == ETHERNET and first.subnet_prefix != LINK_LOCAL_PREFIX:
        return None
    return first.guid


def _netdevs_by_port(source: Source, device: _Folder, numbers: list[int]) -> dict[int, tuple[str, ...]]:
    """The netdevs of the same bus device (IPoIB or Ethernet); ``dev_port`` tells the port, from 0."""
    names = source.list(f"{device.path}/device/net").names
    if len(numbers) == 1:
        return {numbers[0]: names}
    found: dict[int, tuple[str, ...]] = {}
    for name in names:
        text = source.read(f"{NETDEV_CLASS}/{name}/dev_port").text
        if text and _NUMBER.match(text.strip()):
            port = int(text, 0) + 1
            found[port] = (*found.get(port, ()), name)
    return found


def _netdevs(source: Source, own: tuple[str, ...], port: HcaPort) -> tuple[str, ...]:
    """On Ethernet those of its GIDs (a bond with its legs, VLANs); else those of the bus device, on which a card that
    switches between functions (SR-IOV's switchdev mode, BlueField) has representors of other functions, too.
    """
    found: dict[str, None] = {}
    for name in dict.fromkeys(entry.netdev for entry in port.gids if entry.netdev):
        found[name] = None
        for leg in (source.read(f"{NETDEV_CLASS}/{name}/bonding/slaves").text or "").split():
            # A bond that the card knows is one RDMA device over both legs; otherwise each leg has its own device.
            if leg in own or not source.list(f"{NETDEV_CLASS}/{leg}/device/infiniband").names:
                found[leg] = None
    if found or port.link_layer != ETHERNET or len(own) < 2:
        return tuple(found) or own
    return tuple(name for name in own if not _represents_another(source, name)) or own


def _represents_another(source: Source, name: str) -> bool:
    """Whether the netdev stands for another function (pf0, pf0vf3, c1pf0sf2), and not for the port (p0).

    The names are the kernel's: ``net/devlink/port.c``.
    """
    return bool(_REPRESENTOR.match(source.read(f"{NETDEV_CLASS}/{name}/phys_port_name").text or ""))
