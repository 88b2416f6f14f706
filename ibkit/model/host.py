"""A host's HCAs and their ports."""

from __future__ import annotations

from ibkit.model.ids import Gid, Guid, PKey
from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple


class GidEntry(NamedTuple):
    """One filled row of a port's GID table. ``type`` is IB, RoCE v1 or RoCE v2 as the kernel writes it, else None."""

    gid_index: int
    gid: Gid
    type: str | None = None
    netdev: str | None = None


class CounterTable(NamedTuple):
    """Counters as /sys names them: ``values``, and for those that have a file and no value the reason why.

    ``port_xmit_data`` and ``port_rcv_data`` are in units of 4 octets. What is in neither is not counted there.
    """

    values: dict[str, int]
    unreadable: dict[str, str]


class PciLink(NamedTuple):
    """A PCIe link: lanes and GT/s of one lane, and the most that both of its ends can do. None is what is not told."""

    address: str
    width: int | None = None
    speed_gts: float | None = None
    ceiling_width: int | None = None
    ceiling_speed_gts: float | None = None


class PciFunction(NamedTuple):
    """The PCI function of a device. ``links`` are those from the root to it, the last one its own.

    ``numa_node`` is None where the platform tells none, ``virtual_functions`` and ``virtual_functions_max`` where it
    has no SR-IOV; ``is_virtual`` is whether it is a virtual function itself.
    """

    numa_node: int | None = None
    is_virtual: bool = False
    virtual_functions: int | None = None
    virtual_functions_max: int | None = None
    links: tuple[PciLink, ...] = ()


class VirtualFunction(NamedTuple):
    """A virtual function as the host of its physical one has set it up. ``address`` is what it is given as hardware
    address, ``link_state`` auto, enable or disable; ``node_guid`` and ``port_guid`` are InfiniBand's, and zero until
    somebody gives it one: then its port stays Down.
    """

    number: int
    address: str | None = None
    vlan: int | None = None
    link_state: str | None = None
    trusted: bool | None = None
    node_guid: Guid | None = None
    port_guid: Guid | None = None


class Interface(NamedTuple):
    """A network interface. ``hardware_address`` is whole, 20 octets on IPoIB, ``addresses`` are ``ADDRESS/PREFIX``.

    ``kind`` is ether, infiniband, loopback ...; ``detail`` ipoib, bond, vlan ... for a made one. ``master`` is the
    bond or bridge that it belongs to, ``parent`` the interface below it. ``device`` and ``port`` are the RDMA port
    behind it, ``pkey`` is IPoIB's partition, ``gid_indexes`` the port's GIDs that came from the interface.
    ``gateways`` are those of default routes through it, ``speed_mbps`` is Ethernet's, in Mb/s. ``virtual_functions``
    are those behind it; None where nobody listed them.
    """

    name: str
    kind: str | None = None
    detail: str | None = None
    is_up: bool | None = None
    has_carrier: bool | None = None
    mtu_bytes: int | None = None
    hardware_address: str | None = None
    addresses: tuple[str, ...] = ()
    master: str | None = None
    parent: str | None = None
    device: str | None = None
    port: int | None = None
    pkey: PKey | None = None
    gid_indexes: tuple[int, ...] = ()
    gateways: tuple[str, ...] | None = None
    speed_mbps: int | None = None
    virtual_functions: tuple[VirtualFunction, ...] | None = None


class Neighbour(NamedTuple):
    """An address of the link and the hardware address that the kernel knows for it."""

    interface: str
    address: str
    hardware_address: str


class HcaPort(NamedTuple):
    """One port of an HCA; None is what could not be seen.

    ``state`` is Active, Armed, Initializing, Down ... and ``physical_state`` LinkUp, Polling, Disabled ..., in the
    words of ibstat whichever source spoke; ``link_layer`` is InfiniBand or Ethernet; ``transport`` is ib, roce, iwarp,
    opa or efa.

    ``lid``, ``lmc``, ``sm_lid`` and ``sm_sl`` are None where they mean nothing: on Ethernet and on a port that is not
    Active (stale); a LID also for 0, 65535 and the multicast range. ``reported_lid`` is the register as it is.
    ``rate_gbps`` is the link's rate in Gb/s, ``effective_rate_gbps`` what is left of it on fewer planes, ``width`` is
    like 4x and ``speed`` like HDR; all four are None on a port without a link, whose registers may hold anything. On
    Ethernet, width and speed are the driver's translation of the rate.

    ``gids`` and ``pkeys`` are the filled entries, ``pkey_indexes`` the places of the latter; ``tables_whole`` is False
    where only their start was looked at, None where nobody looked at them nor at ``netdevs``. ``umad`` and ``issm`` are
    the names of the port's device nodes.
    """

    port: int
    state: str | None = None
    physical_state: str | None = None
    link_layer: str | None = None
    lid: int | None = None
    lmc: int | None = None
    sm_lid: int | None = None
    sm_sl: int | None = None
    rate_gbps: float | None = None
    width: str | None = None
    speed: str | None = None
    port_guid: Guid | None = None
    capability_mask: int | None = None
    gids: tuple[GidEntry, ...] = ()
    pkeys: tuple[PKey, ...] = ()
    netdevs: tuple[str, ...] = ()
    transport: str | None = None
    reported_lid: int | None = None
    effective_rate_gbps: float | None = None
    active_mtu_bytes: int | None = None
    max_mtu_bytes: int | None = None
    tables_whole: bool | None = True
    counters: CounterTable | None = None
    hw_counters: CounterTable | None = None
    pkey_indexes: tuple[int, ...] = ()
    umad: str | None = None
    issm: str | None = None


class Hca(NamedTuple):
    """An RDMA device. ``node_description`` is raw, ``name`` is empty where a damaged text did not tell it.

    ``node_type`` is CA, RNIC (iWARP) ... as the kernel says, ``driver`` the kernel's driver of the bus device.
    ``vendor_id`` is the IEEE OUI of the vendor, ``vendor_part_id`` his number for the part. ``source`` is who spoke:
    verbs, sysfs or the tool. ``planes_of`` names the device whose link's planes its ports are (XDR). ``error`` says why
    the device could not be read, then little else is known of it. ``protocol`` is what netlink says that it speaks: ib,
    roce, iw, opa or usnic. ``uverbs`` is the name of its device node.
    """

    name: str
    ports: tuple[HcaPort, ...] = ()
    node_guid: Guid | None = None
    system_image_guid: Guid | None = None
    hca_type: str | None = None
    firmware: str | None = None
    hardware: str | None = None
    board_id: str | None = None
    node_description: str | None = None
    node_type: str | None = None
    driver: str | None = None
    bus_address: str | None = None
    vendor_id: int | None = None
    vendor_part_id: int | None = None
    source: str | None = None
    error: str | None = None
    pci: PciFunction | None = None
    hw_counters: CounterTable | None = None
    planes_of: str | None = None
    protocol: str | None = None
    uverbs: str | None = None


class HostHcas(NamedTuple):
    """All devices of one host. ``interfaces`` and ``neighbours`` are None where nobody looked or could.

    ``has_gaps`` is True where the evidence itself shows that some of it is missing or contradicts itself, as a text
    that was cut does; then what is there may be well, and nobody knows of the rest.
    """

    host: str
    hcas: tuple[Hca, ...] = ()
    problems: tuple[Problem, ...] = ()
    interfaces: tuple[Interface, ...] | None = None
    neighbours: tuple[Neighbour, ...] | None = None
    has_gaps: bool = False
