"""The hosts' HCAs and ports: a table of ports, and all that is known of one of them.

What is wrong with a port is decided by ibkit.model.host_findings, so that the screen and `ibkit status` agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ibkit.display import counted
from ibkit.model.host import GidEntry, Hca, HcaPort, HostHcas
from ibkit.model.host_findings import findings
from ibkit.model.ids import PKey
from ibkit.model.port_state import ACTIVE, DORMANT, FAULTY, condition
from ibkit.model.rates import width_speed
from ibkit.sources.base import NOT_RECORDED
from ibkit.tui.view.level import CRITICAL, INFO, OK, UNKNOWN, WARNING, word
from ibkit.tui.view.lines import BLANK, Line, facts, heading, line, span
from ibkit.tui.view.notices import Notice, Target
from ibkit.tui.view.problems import first_text, told
from ibkit.tui.view.table import Column, Row, Table

COLUMNS = (
    Column("Host", flexible=True, least=8),
    Column("Port"),
    Column("State", tinted=True),
    Column("Physical", drop=2),
    Column("Layer", drop=1),
    Column("LID", right=True, unknown="-"),
    Column("SM LID", right=True, unknown="-", drop=5),
    Column("Gb/s", right=True, unknown="-"),
    Column("Rate", drop=4, unknown="-"),
    Column("Netdev", unknown="-", drop=6),
    Column("Remark", flexible=True, least=22, drop=3, unknown="", tinted=True),
    Column("Port GUID", drop=7),
    Column("HCA type", drop=8),
    Column("Firmware", drop=9),
)
LEVELS = {ACTIVE: OK, DORMANT: INFO, FAULTY: WARNING}
#: Why a port has no link, by its physical state.
DORMANT_WORDS = {
    "Polling": "no link: no cable, or the other side is off",
    "Disabled": "switched off on this side",
    "Sleep": "asleep",
}
#: Kinds of problems that a finding or the host's own line tells already (ibkit.collectors). What a capture does not
#: hold is no problem of the host: the rules say what is not complete for it.
NO_DEVICE, DEVICE_UNREADABLE = "no-rdma-device", "device-unreadable"


class PortKey(NamedTuple):
    """A port of a host's HCA; port 0 is an HCA whose ports are not known."""

    host: str
    hca: str
    port: int


def port_table(hosts: Sequence[HostHcas]) -> Table:
    """One row for each port, and one for an HCA without any; the host is a column only where there are several."""
    several = len(hosts) > 1
    rows = []
    for host in hosts:
        wrong = wrong_with(host)
        for hca in host.hcas:
            for port in hca.ports or (HcaPort(0),):
                key = PortKey(host.host, hca.name, port.port)
                level, remark = judge(key, port, wrong)
                values = (
                    host.host,
                    port_name(hca, port),
                    port.state,
                    port.physical_state,
                    port.link_layer,
                    port.lid,
                    port.sm_lid,
                    whole(port.rate_gbps),
                    width_speed(port.width, port.speed),
                    ", ".join(port.netdevs) or None,
                    remark,
                    port.port_guid,
                    hca.hca_type,
                    hca.firmware,
                )
                rows.append(Row(key, level, values if several else values[1:]))
    return Table("port", COLUMNS if several else COLUMNS[1:], rows)


def port_name(hca: Hca, port: HcaPort) -> str:
    """``mlx5_0/1``; the device alone where its ports are not known."""
    name = hca.name or "?"
    return f"{name}/{port.port}" if port.port else name


def wrong_with(host: HostHcas) -> dict[tuple[str | None, int | None], str]:
    """What is wrong, by device and port; with the device, or with the host where the port or both are None."""
    return {(finding.device, finding.port): finding.text for finding in findings([host])}


def judge(key: PortKey, port: HcaPort, wrong: dict[tuple[str | None, int | None], str]) -> tuple[int, str | None]:
    """How well a port is, and what is to be said of it."""
    text = wrong.get((key.hca, key.port)) or wrong.get((key.hca, None))
    if text is not None:
        return WARNING, text
    found = condition(port)
    if found == DORMANT:
        return INFO, DORMANT_WORDS.get(port.physical_state or "", "no link")
    if found == ACTIVE:
        return OK, None
    return UNKNOWN, "its state is not known"


def port_page(host: HostHcas, key: PortKey) -> list[Line]:
    """All that is known of one port; empty where it is gone."""
    for hca in host.hcas:
        for port in hca.ports or (HcaPort(0),):
            if (hca.name, port.port) == (key.hca, key.port):
                return _page(hca, port, *judge(key, port, wrong_with(host)))
    return []


def _page(hca: Hca, port: HcaPort, level: int, remark: str | None) -> list[Line]:
    state = f"{port.state or 'state not known'}, physical {port.physical_state or 'not known'}"
    told_of = f"   {remark}" if remark else ""
    lids = f"{_dash(port.lid)}   LMC {_dash(port.lmc)}   SM LID {_dash(port.sm_lid)}   SM SL {_dash(port.sm_sl)}"
    stale = f"   (its register says {port.reported_lid})" if port.lid is None and port.reported_lid else ""
    rate = "no link" if port.rate_gbps is None and condition(port) == DORMANT else f"{_or(whole(port.rate_gbps))} Gb/s"
    about: list[tuple[str, object]] = [
        ("port", f"{port_name(hca, port)}   {port.link_layer or 'link layer not known'}"),
        ("state", (span(state, word(level)), span(told_of, word(level)))),
        ("rate", f"{rate}   {width_speed(port.width, port.speed) or ''}".rstrip()),
        ("LID", lids + stale),
        ("GUIDs", f"port {_or(port.port_guid)}   node {_or(hca.node_guid)}"),
        ("", f"system image {_or(hca.system_image_guid)}"),
        ("HCA", f"{_or(hca.hca_type)}   firmware {_or(hca.firmware)}   board {_or(hca.board_id)}"),
        ("read from", hca.source),
        ("name", hca.node_description),
        ("netdev", ", ".join(port.netdevs) or ("?" if port.tables_whole is None else "-")),
    ]
    return [*facts(about), BLANK, *_gids(port), BLANK, *_pkeys(port)]


def _gids(port: HcaPort) -> list[Line]:
    if not port.gids:
        return [_none("GIDs", port)]
    return [heading(f"  GIDs ({len(port.gids)})"), *(line(span(_gid(gid))) for gid in port.gids)]


def _gid(gid: GidEntry) -> str:
    return f"    {gid.gid_index:>3}  {gid.gid}  {gid.type or '?':<8}  {gid.netdev or ''}".rstrip()


def _pkeys(port: HcaPort) -> list[Line]:
    if not port.pkeys:
        return [_none("P_Keys", port)]
    return [heading(f"  P_Keys ({len(port.pkeys)})"), *(line(span(f"    {_pkey(pkey)}")) for pkey in port.pkeys)]


def _pkey(pkey: PKey) -> str:
    return f"{pkey}  {'full' if pkey.is_full_member else 'limited'} member"


def _none(what: str, port: HcaPort) -> Line:
    text = "not recorded" if port.tables_whole is None else "none"
    return line(span(f"  {what}  ", "caption"), text)


def is_seen(host: HostHcas) -> bool:
    """Whether a device of the host could be read."""
    return any(hca.error is None for hca in host.hcas)


def notices(host: HostHcas) -> list[Notice]:
    """What to look at on a host."""
    target = Target("host")
    level = WARNING if any(condition(port) == ACTIVE for hca in host.hcas for port in hca.ports) else CRITICAL
    found = []
    for finding in findings([host]):
        where = " ".join(part for part in (host.host, finding.device) if part)
        where += f"/{finding.port}" if finding.port else ""
        found.append(Notice(level, finding.text, where, target))
    for hca in host.hcas:
        for port in hca.ports:
            port_level, remark = judge(PortKey(host.host, hca.name, port.port), port, {})
            if port_level in (INFO, UNKNOWN) and remark and condition(port) != FAULTY:
                where = f"{host.host} {port_name(hca, port)}".strip()
                found.append(Notice(port_level, f"port {port.state or 'state unknown'}: {remark}", where, target))
    absent = [problem for problem in host.problems if problem.kind == NO_DEVICE]
    found += [Notice(UNKNOWN, problem.text, host.host, target) for problem in absent]
    if is_seen(host):
        told_elsewhere = (NO_DEVICE, DEVICE_UNREADABLE, NOT_RECORDED)
        rest = [problem for problem in host.problems if problem.kind not in told_elsewhere]
        found += told(f"host {host.host}".rstrip(), rest)
    return found


def summary(host: HostHcas) -> str:
    """A host in one line: how many ports are Active, and what they are."""
    if not is_seen(host):
        return first_text(host.problems)
    ports = [port for hca in host.hcas for port in hca.ports]
    active = [port for port in ports if condition(port) == ACTIVE]
    kinds = dict.fromkeys(f"{port.link_layer or '?'} {_or(whole(port.rate_gbps))} Gb/s" for port in active)
    about = f": {', '.join(kinds)}" if kinds else ""
    unread = sum(1 for hca in host.hcas if hca.error is not None)
    also = f"; {unread} cannot be read" if unread else ""
    devices = counted(len(host.hcas), "device")
    return f"{len(active)} of {len(ports)} ports Active on {devices}{about}{also}"


def whole(value: float | None) -> float | int | None:
    """200.0 as 200."""
    return int(value) if value is not None and value == int(value) else value


def _or(value: object) -> str:
    return "?" if value is None else str(value)


def _dash(value: object) -> str:
    return "-" if value is None else str(value)
