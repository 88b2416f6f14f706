"""Why UCX has no verbs on a host that has an HCA: it was told to use one that is not there, or may lock no memory.

Sources: ucp_context.c of UCX 1.13, where a name of UCX_NET_DEVICES that fits no device is left out with a warning; what
its ranks do with 64 KiB of locked memory: they open the device, and ask for ever for memory for their first messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ibkit.parsers.job_facts import Setting
from ibkit.transport.evidence import Mark
from ibkit.transport.live.moves import Part
from ibkit.transport.live.reasons import Marks, of_rank, settings_of, uses_ucx

#: Lists and patterns of later versions, and what is to be left out: more than a name with its port.
_PATTERNS = frozenset("*?[]^")
_SHOWN = 5


def wrong_devices(parts: Sequence[Part]) -> Marks:
    """The settings that give UCX devices with their ports (``mlx5_0:1``), none of which the host has."""
    return _marks(
        "wrongdev",
        "configuration",
        [
            mark
            for part in parts
            for setting, mark in settings_of(part)
            if (setting.runtime, setting.name) == ("ucx", "UCX_NET_DEVICES") and _is_absent(setting, part)
        ],
    )


def locked_out(parts: Sequence[Part]) -> Marks:
    """The limits of ranks that have an RDMA device open, and cannot have set up what sends there."""
    return _marks("memlock", "failure", [mark for part in parts for mark in _locked_out(part)])


def _is_absent(setting: Setting, part: Part) -> bool:
    hcas = part.watch.hcas.hcas
    ports = {f"{hca.name}:{port.port}" for hca in hcas for port in hca.ports}
    interfaces = {*part.watch.interfaces.by_address.values()}
    names = {name for name in setting.value.split(",") if name}
    if not ports or "all" in names or _PATTERNS & {*setting.value} or names & {*ports, *(hca.name for hca in hcas)}:
        return False
    return any(":" in name and name.split(":")[0] not in interfaces for name in names) and uses_ucx(part)


def _locked_out(part: Part) -> Iterator[Mark]:
    if part.has_connected or not any(port.state == "Active" for hca in part.watch.hcas.hcas for port in hca.ports):
        return
    opened = {part.owner(thread) for threads in (part.watch.contexts or {}).values() for thread in threads}
    for pid, rank in sorted(part.ranks.ranks.items()):
        if pid in opened:
            yield from (mark for id, mark in of_rank(part, pid, rank) if id == "memlock")


def _marks(id: str, kind: str, found: list[Mark]) -> Marks:
    return {id: [(mark, kind) for mark in found[:_SHOWN]]} if found else {}
