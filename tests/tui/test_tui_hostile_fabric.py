"""Whatever nodes are called, and whatever a tool's text holds: the fabric's pages show it literally."""

from __future__ import annotations

import re

from rich.cells import cell_len
from support.answers import Answers
from support.tui_captures import settled
from support.tui_pilot import Driver, running
from support.tui_scenes import HCAS, LEAVES, fabric_of, small_links, small_names

from ibkit.display import clean
from ibkit.model.counters import FabricCounters, PortCounters, change_between
from ibkit.model.fabric import Fabric
from ibkit.model.findings import CRITICAL, Diagnosis, Finding, Place
from ibkit.model.ids import Guid, PKey
from ibkit.model.partitions import IntendedMember, IntendedPartition, Partitions, PortKeys
from ibkit.model.routes import ForwardingTable, Routes
from ibkit.rules.evidence import Collected
from ibkit.tui.counting import Counting
from ibkit.tui.diagnosing import Diagnosed
from ibkit.tui.snapshot import CHECK, FABRIC, PORTS, Reading
from ibkit.tui.view.subnet import SubnetView

CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff]")
#: Markup, an action, an escape sequence, text that runs backwards, wide letters, and more than any screen takes.
NAME = "sw[/U1][@click=app.quit]\x1b[31m\u202e\u061c\u200b日本語" + "x" * 400


def named(name: str) -> Fabric:
    return fabric_of(small_links(), {**small_names(), LEAVES[0]: name, HCAS[0]: name, HCAS[1]: name})


def evidence(name: str, fabric: Fabric) -> tuple[Diagnosed, object]:
    """Counters, keys, tables and a finding, all with this name where a name can be."""
    port = PortCounters(HCAS[0], Guid(HCAS[0] + 1), 5, 1, name, {"SymbolErrorCounter": 9, "PortXmitData": 5})
    before = FabricCounters((port._replace(counters={"SymbolErrorCounter": 2, "PortXmitData": 1}),), None)
    counters = FabricCounters((port, port._replace(guid=None, port_guid=None, lid=999)), None)
    keys = PortKeys(HCAS[0], 1, (PKey(0xFFFF),), name=name, source=name)
    intended = IntendedPartition(0x7FFF, name, False, (IntendedMember(None, name, "full", 1),), (1,))
    partitions = Partitions((keys, keys._replace(port=2, whole=False)), (), (intended,))
    routes = Routes({LEAVES[0]: (ForwardingTable(LEAVES[0], bytes([255, 1, 2]), (), name),)}, False)
    finding = Finding(name, (Place(guid=LEAVES[0], name=name, port=1),), severity=CRITICAL, rule="R69", fix=name)
    collected = Collected(fabric=fabric, counters=counters, partitions=partitions, routes=routes,
                          change=change_between(before, counters, 30.0))  # fmt: skip
    sample = Diagnosed(collected, Diagnosis((finding,), (), ()))
    return sample, Counting()({CHECK: Reading(sample), FABRIC: Reading(SubnetView(fabric))})


def look(tui: Driver, shown: str, where: str) -> None:
    assert not CONTROLS.search("".join(tui.lines)), where
    assert max(map(cell_len, tui.lines)) <= 200, where
    assert shown in tui.screen, where
    assert tui.app.is_running, where
    assert tui.app.crash is None, where


async def test_names_are_shown_literally() -> None:
    shown = clean(NAME).strip(" ")[:12]
    fabric = named(NAME)
    sample, counted = evidence(NAME, fabric)
    async with running("fabric", (200, 60), fabric=fabric) as tui:
        tui.app.site = tui.app.site._replace(subnet=Answers({}))
        tui.app._take({CHECK: Reading(sample), PORTS: Reading(counted)})
        for key in ("V", "V", "space", "down", "space", "E", "E", "D", "D", "L", "L", "f", "f"):
            await tui.press(key)
            look(tui, shown if key != "D" else "", f"fabric, {key}")  # of 144 ports some are below the screen
        await tui.press("slash")
        await tui.press("s", "w", "escape", "escape", "V", "V")
        tui.app.screen.table.go_to(HCAS[0])
        await tui.press("m")
        tui.app.screen.table.go_to(HCAS[1])
        await tui.press("m")
        look(tui, shown, "marks")
        await tui.press("X")
        await settled(tui)
        look(tui, shown, "path")
        await tui.press("escape", "V")
        tui.app.screen.table.go_to(LEAVES[0])
        await tui.press("enter")
        look(tui, shown, "node")
        await tui.press("i")
        look(tui, shown, "port")
        await tui.press("3", "b", "C")
        look(tui, shown, "counters")
        await tui.press("5", "K")
        look(tui, shown, "partitions")
        await tui.press("enter")
        look(tui, shown, "group")
        await tui.press("escape", "V", "enter")
        look(tui, shown, "partition")
        await tui.press("escape", "escape", "R")
        look(tui, shown, "routes")
        tui.app.screen.table.go_to(LEAVES[0])
        await tui.press("enter")
        look(tui, shown, "exits")
