"""What `ibkit doctor` looks at in devices and ports: partitions, addresses, PCIe, firmware, providers of verbs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ibkit.collectors.pci import PciBus
from ibkit.collectors.sysfs import LINK_LOCAL_PREFIX
from ibkit.display import first_few
from ibkit.model.checks import DIFFERENT, LIMITED, MISSING, OK, UNKNOWN, Check, Fix
from ibkit.model.host import Hca, HcaPort, PciLink
from ibkit.parsers.base import NotThisFormat
from ibkit.sources.base import Source

DEFAULT_PARTITION = 0x7FFF
_IPOIB_MODULE = "/sys/module/ib_ipoib"
PROVIDERS = "/etc/libibverbs.d"
VERSIONS = ("devlink", "-j", "dev", "info")
#: A card that is busy answers late (seconds).
_DEADLINE_SECONDS = 10.0

#: The provider of libibverbs for a kernel driver, by the name of its file (rdma-core ``providers/``).
_PROVIDER_OF = {
    "mlx5_core": "mlx5", "mlx4_core": "mlx4", "hfi1": "hfi1verbs", "qib": "ipathverbs", "bnxt_en": "bnxt_re",
    "efa": "efa", "erdma": "erdma", "cxgb4": "cxgb4", "mana": "mana", "ice": "irdma", "i40e": "irdma",
    "vmw_pvrdma": "vmw_pvrdma",
}  # fmt: skip


def port_checks(source: Source, hcas: Iterable[Hca]) -> Iterator[Check]:
    """All checks of readable devices that /sys shows."""
    hcas = [hca for hca in hcas if hca.error is None]
    active = [(hca, port) for hca in hcas for port in hca.ports if port.state == "Active" and not hca.planes_of]
    infiniband = [(hca, port) for hca, port in active if port.transport == "ib"]
    if infiniband:
        yield _default_partition(infiniband)
        yield _ipoib(source, infiniband)
    roce = [(hca, port) for hca, port in active if port.transport == "roce"]
    if roce:
        yield _roce_addresses(roce)
    yield from _pcie(source, hcas)
    yield from _same_boards(hcas)
    yield from _stored_firmware(source, hcas)
    yield from _providers(source, hcas)


def _default_partition(ports: list[tuple[Hca, HcaPort]]) -> Check:
    """InfiniBand volume 1, 10.9: two limited members do not reach each other."""
    means = "jobs and IPoIB use the default partition unless told otherwise; limited members reach only full ones"
    fix = Fix("any", "echo 'Default=0x7fff, ipoib: ALL=full;' in partitions.conf of OpenSM, then: killall -HUP opensm")
    without, limited = [], []
    for hca, port in ports:
        mine = [pkey for pkey in port.pkeys if pkey.partition == DEFAULT_PARTITION]
        if not mine:
            without.append(_place(hca, port))
        elif not any(pkey.is_full_member for pkey in mine):
            limited.append(_place(hca, port))
    if without:
        return Check("pkeys", MISSING, f"not in the default partition (0x7fff): {first_few(without)}", means, (fix,))
    if limited:
        return Check("pkeys", LIMITED, f"limited member of the default partition: {first_few(limited)}", means, (fix,))
    return Check("pkeys", OK, "every port is a full member of the default partition (0xffff)", means)


def _ipoib(source: Source, ports: list[tuple[Hca, HcaPort]]) -> Check:
    """Many a cluster does without: that there is none is told, and is no finding."""
    means = "IPoIB gives the ports IP addresses, by which rdma_cm, MPI launchers and storage find each other"
    named = sum(bool(port.netdevs) for _, port in ports)
    if not named:  # a host with several rails may well have IPoIB on one of them
        absent = source.list(_IPOIB_MODULE).error == "ENOENT"
        text = "not loaded" if absent else "no active port has an IPoIB interface"
        fixes = (Fix("any", "modprobe ib_ipoib"), Fix("any", "ip link set ib0 up; ip address add ADDRESS/24 dev ib0"))
        return Check("ib_ipoib", OK, f"{text}; who needs IPoIB: {fixes[0].command}", means, fixes)
    return Check("ib_ipoib", OK, f"{named} of {len(ports)} active ports have an IPoIB interface", means)


def _roce_addresses(ports: list[tuple[Hca, HcaPort]]) -> Check:
    means = "RoCE addresses packets by IP: a port with link-local GIDs alone reaches its own link, no router beyond it"
    bare = [
        (hca, port)
        for hca, port in ports
        if not any(entry.gid.subnet_prefix != LINK_LOCAL_PREFIX for entry in port.gids)
    ]
    if bare:
        netdev = next((port.netdevs[0] for _, port in bare if port.netdevs), "NETDEV")
        fixes = (Fix("any", f"ip address add ADDRESS/24 dev {netdev}; ip link set {netdev} up"),)
        return Check(
            "roce-address",
            LIMITED,
            f"no GID of an IP address: {first_few([_place(*one) for one in bare])}",
            means,
            fixes,
        )
    return Check("roce-address", OK, "every active RoCE port has a GID of an IP address", means)


def _pcie(source: Source, hcas: list[Hca]) -> Iterator[Check]:
    means = "the link to the host is slower than both of its ends can, and bounds what the port can move"
    fix = Fix(
        "any", "reseat the card or riser; lspci -vv -s ADDRESS | grep -e LnkCap -e LnkSta; look at BIOS bifurcation"
    )
    bus = PciBus(source)
    known = False
    slow: dict[PciLink, list[str]] = {}
    for hca in hcas:
        for link in bus.function(hca.bus_address).links if hca.bus_address else ():
            known = known or link.width is not None
            if _is_slow(link):
                slow.setdefault(link, []).append(hca.name)
    for link, names in slow.items():
        text = (
            f"{first_few(names)}: link at {link.address} runs x{link.width} at {link.speed_gts:g} GT/s, "
            f"both ends can x{link.ceiling_width} at {link.ceiling_speed_gts:g} GT/s"
        )
        yield Check("pcie", LIMITED, text, means, (fix,))
    if known and not slow:
        yield Check("pcie", OK, "every link runs as both of its ends can", means)


def _is_slow(link: PciLink) -> bool:
    if None in (link.width, link.speed_gts, link.ceiling_width, link.ceiling_speed_gts):
        return False
    return bool((link.width or 0) < (link.ceiling_width or 0) or (link.speed_gts or 0) < (link.ceiling_speed_gts or 0))


def _same_boards(hcas: list[Hca]) -> Iterator[Check]:
    """Boards of one kind should run one firmware, with one driver."""
    means = "ports of one kind of board behave differently; update the older ones"
    boards: dict[str, dict[tuple[str | None, str | None], list[str]]] = {}
    for hca in hcas:
        if hca.board_id and hca.firmware:
            boards.setdefault(hca.board_id, {}).setdefault((hca.firmware, hca.driver), []).append(hca.name)
    for board, kinds in boards.items():
        if len(kinds) > 1:
            told = "; ".join(
                f"{first_few(names)}: {firmware}{f', driver {driver}' if len({d for _, d in kinds}) > 1 else ''}"
                for (firmware, driver), names in kinds.items()
            )
            fix = Fix("any", "mlxfwmanager --online -u -d PCI-ADDRESS   # or: mstflint -d PCI-ADDRESS -i IMAGE burn")
            yield Check("firmware", DIFFERENT, f"board {board}: {told}", means, (fix,))
    if boards and all(len(kinds) == 1 for kinds in boards.values()):
        yield Check("firmware", OK, "boards of one kind run one firmware", means)


def _stored_firmware(source: Source, hcas: list[Hca]) -> Iterator[Check]:
    """What was burnt runs only after a reset of the card. Old kernels and drivers do not tell."""
    names = {hca.bus_address: hca.name for hca in hcas if hca.bus_address and not hca.planes_of}
    answer = source.run(VERSIONS, deadline_seconds=_DEADLINE_SECONDS) if names else None
    if answer is None or answer.failure or answer.exit_status:
        return
    from ibkit.parsers.devlink_info import parse

    try:
        cards = parse(answer.out, source=answer.command).value
    except NotThisFormat:
        return
    means = "new firmware stands in the card's flash, and the card still runs the old one until it is reset"
    told = [card for card in cards if card.address in names and card.running and card.stored]
    waiting = [
        (card.address, f"{names[card.address]} runs {running}, {card.stored[part]} is stored")
        for card in told
        for part, running in card.running.items()
        if part.startswith("fw") and card.stored.get(part, running) != running
    ]
    if waiting:
        address = waiting[0][0]
        fixes = (
            Fix("any", f"devlink dev reload pci/{address} action fw_activate   # its links go down meanwhile"),
            Fix("any", f"mlxfwreset -d {address} reset   # or: mstfwreset; or power the host off and on"),
        )
        texts = list(dict.fromkeys(text for _, text in waiting))
        yield Check("firmware-stored", DIFFERENT, first_few(texts), means, fixes)
    elif told:
        yield Check("firmware-stored", OK, "every card runs the firmware in its flash", means)


def _providers(source: Source, hcas: list[Hca]) -> Iterator[Check]:
    """A device opens in libibverbs through a provider, which distributions list in a folder."""
    wanted = {_PROVIDER_OF[hca.driver]: hca.name for hca in hcas if hca.driver in _PROVIDER_OF}
    if not wanted:
        return
    means = "programs see a device by verbs only where libibverbs has a provider for its driver"
    fixes = (Fix("apt", "apt install ibverbs-providers"), Fix("dnf", "dnf install libibverbs"))
    listing = source.list(PROVIDERS)
    if listing.error == "ENOENT":
        yield Check("providers", MISSING, f"no {PROVIDERS}: libibverbs is not installed here", means, fixes)
        return
    if listing.error:
        yield Check("providers", UNKNOWN, f"{PROVIDERS}: {listing.error}", means)
        return
    missing = [f"{name} ({device})" for name, device in wanted.items() if f"{name}.driver" not in listing.names]
    if missing:
        yield Check("providers", MISSING, f"{PROVIDERS} has no provider {first_few(missing)}", means, fixes)
    else:
        yield Check("providers", OK, f"libibverbs has {', '.join(wanted)}", means)


def _place(hca: Hca, port: HcaPort) -> str:
    return f"{hca.name} port {port.port}"
