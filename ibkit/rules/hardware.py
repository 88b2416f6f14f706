"""Rules about what is around the port: firmware, PCIe, the limits of the host."""

from __future__ import annotations

from collections.abc import Iterator

from ibkit.display import counted, first_few
from ibkit.model.checks import BROKEN, DIFFERENT, LIMITED, MISSING
from ibkit.model.findings import CRITICAL, WARNING, Fact, Finding, Place, Undecided
from ibkit.model.host import Hca, HostHcas, PciLink
from ibkit.rules.evidence import HOST_CHECKS, HOSTS, Evidence, host_place
from ibkit.rules.rule import Limits, rule


@rule(
    "R50", "firmware-differs", WARNING, needs=(HOSTS,),
    source="xcat2/xcat-core tools/test_hca_state; facebookresearch/gcm; scitix/sichek",
)  # fmt: skip
def firmware_differs(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """Boards of one kind (board id, PSID) run different firmware.

    Threshold: none. With expectations, each board is compared with what is written there.

    Why: the ports of equal cards behave differently, and a fault that an update mended comes back on some hosts.

    Next: update the older ones (`mlxfwmanager --online -u`), one at a time, and reset them.

    Else: an update that is going on.
    """
    boards: dict[str, dict[str, list[tuple[HostHcas, Hca]]]] = {}
    unknown = 0
    for host in evidence.hosts:
        for hca in host.hcas:
            if hca.board_id and hca.firmware:
                boards.setdefault(hca.board_id, {}).setdefault(hca.firmware, []).append((host, hca))
            elif hca.error is None:
                unknown += 1
    for board, versions in boards.items():
        if len(versions) > 1:
            usual = max(versions, key=lambda version: (len(versions[version]), version))
            odd = [one for version, devices in versions.items() if version != usual for one in devices]
            told = "; ".join(f"{version} on {counted(len(devices), 'device')}" for version, devices in versions.items())
            members = tuple(
                Finding(f"firmware {hca.firmware}, most have {usual}", (host_place(host, hca.name),),
                        (Fact(f"board {board}: firmware {hca.firmware}", hca.source),))
                for host, hca in odd
            )  # fmt: skip
            what = f"boards {board} run different firmware: {told}"
            if len(members) == 1:
                yield members[0]._replace(what=what)
            else:
                yield Finding(what, (), (Fact(told, odd[0][1].source),), members=members)
    if unknown:
        yield Undecided(f"board id or firmware of {counted(unknown, 'device')} is not known",
                        "`ibv_devinfo` and /sys tell both")  # fmt: skip


@rule(
    "R51", "slow-pcie", CRITICAL, needs=(HOSTS,),
    source="scitix/sichek #122; mej/nhc #90; PCI Express Base Specification (Link Status, Link Capabilities)",
)  # fmt: skip
def slow_pcie(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A PCIe link between the host and its adapter runs below what both of its ends can do. Where another link on the
    way is no faster, this is a warning.

    Threshold: the smaller maximum of the two ends of each hop, not what is printed on the card.

    Why: it bounds what the port can move; the fabric sees an adapter that reads too slowly, and congestion.

    Next: reseat the card and its riser; look at the slot's bifurcation in the BIOS; `lspci -vv -s ADDRESS` shows LnkCap
    and LnkSta.

    Else: a link that saves power while it is idle: look again under load.
    """
    unknown = 0
    slow: dict[tuple[str, PciLink], tuple[HostHcas, list[Hca]]] = {}
    for host in evidence.hosts:
        for hca in host.hcas:
            if hca.pci is None or hca.pci.is_virtual or hca.planes_of or hca.error:
                unknown += hca.pci is None and hca.error is None and hca.planes_of is None
                continue
            for link in hca.pci.links:
                if _is_slow(link):
                    slow.setdefault((host.host, link), (host, []))[1].append(hca)
    for (_, link), (host, devices) in slow.items():
        bound = any(_bandwidth(device, of_ceiling=False) < _bandwidth(device, of_ceiling=True) for device in devices)
        names = first_few(device.name for device in devices)
        what = (
            f"{names}: the PCIe link at {link.address} runs x{link.width} at {link.speed_gts:g} GT/s, both of its ends "
            f"can x{link.ceiling_width} at {link.ceiling_speed_gts:g} GT/s"
        )
        fact = Fact(f"{link.address}: x{link.width} {link.speed_gts:g} GT/s", devices[0].source)
        finding = Finding(what, (host_place(host, devices[0].name),), (fact,))
        if not bound:
            why = "another link on the way is no faster, so that it bounds nothing as long as that one is as it is"
            finding = finding._replace(severity=WARNING, why=why)
        yield finding
    if unknown:
        yield Undecided(f"the PCIe links of {counted(unknown, 'device')} are not known",
                        "record a capture on the host: /sys tells them")  # fmt: skip


def _is_slow(link: PciLink) -> bool:
    if None in (link.width, link.speed_gts, link.ceiling_width, link.ceiling_speed_gts):
        return False
    return bool((link.width or 0) < (link.ceiling_width or 0) or (link.speed_gts or 0) < (link.ceiling_speed_gts or 0))


def _bandwidth(hca: Hca, *, of_ceiling: bool) -> float:
    """Of the slowest hop, in lanes times GT/s: as it is, or as its ends could."""
    links = hca.pci.links if hca.pci else ()
    known = [
        (link.ceiling_width or 0) * (link.ceiling_speed_gts or 0)
        if of_ceiling
        else (link.width or 0) * (link.speed_gts or 0)
        for link in links
        if None not in link[1:]
    ]
    return min(known, default=0.0)


@rule("R50", "firmware-not-running", WARNING, needs=(HOST_CHECKS,), source="xcat2/xcat-core tools/test_hca_state")
def firmware_not_running(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """Other firmware is stored on a card than the one that runs: it waits for a reset.

    Threshold: none.

    Why: the card runs what somebody meant to replace, until the next reboot changes it unannounced.

    Next: `mlxfwreset -d DEVICE reset` or a power cycle, when no job uses the card.

    Else: an update whose reboot is planned.
    """
    yield from _of_checks(evidence, "firmware-stored")


@rule("R58", "host-not-ready", WARNING, needs=(HOST_CHECKS,), source="`ibkit doctor`, whose checks these are")
def host_not_ready(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """Something that programs need to use the ports of a host is missing: device nodes, libibverbs' provider for the
    driver, or for RoCE a GID of an IP address.

    Threshold: none. Limits of locked memory and tools that only ibkit needs are left to `ibkit doctor`.

    Why: the port is up, and no program can use it.

    Next: `ibkit doctor` names the command that mends it.

    Else: a host on which nobody is to use RDMA.
    """
    yield from _of_checks(evidence, "uverbs", "providers", "roce-address")


def _of_checks(evidence: Evidence, *ids: str) -> Iterator[Finding]:
    for host in evidence.checks:
        for check in host.checks:
            if check.id in ids and check.state in (BROKEN, DIFFERENT, LIMITED, MISSING):
                place = Place(host=host.host or None)
                yield Finding(check.text, (place,), (Fact(f"{check.id}: {check.text}", "ibkit doctor"),))
