"""Each rule with a case that fires, one in which it has nothing to say, and one that it cannot decide."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from support.made_fabric import (
    change,
    counters,
    diagnosis,
    end,
    fabric,
    guid,
    hosts,
    port_counters,
    routed,
    short,
)

from ibkit.model.checks import Check, HostChecks
from ibkit.model.expectations import (
    Expectations,
    ExpectedLink,
    ExpectedPartition,
    NodeGroup,
    PortGroup,
    Waiver,
)
from ibkit.model.findings import Place
from ibkit.model.hardware import BoardFirmware, Hardware, PortHardware, SwitchHardware
from ibkit.model.host import PciFunction, PciLink
from ibkit.model.ids import Guid, PKey
from ibkit.model.partitions import Partitions, PortKeys, look_at
from ibkit.model.routes import NO_EXIT
from ibkit.model.subnet_manager import MASTER, NO_SM, SubnetManager, SubnetManagers
from ibkit.parsers.base import Problem
from ibkit.parsers.bit_errors import ratio_of
from ibkit.parsers.ibdiagnet_records import SectionFinding
from ibkit.parsers.ibswinfo import Fan, PowerSupply, SwitchInfo
from ibkit.parsers.mlxlink import Measured, PhysicalCounters, TransceiverInfo
from ibkit.rules import catalogue

Parts = dict[str, Any]


class Case(NamedTuple):
    """``fires`` gives exactly ``found``: severity and places of each finding; ``unknown`` lacks the evidence."""

    fires: Parts
    found: list[tuple[str, str]]
    silent: Parts
    unknown: Parts


PAIR = fabric("h1[1]-s1[1]")
#: Eighteen adapters at one switch, which are alike.
LEAF = [f"h{n}[1]-s1[{n}]" for n in range(1, 19)]
UP = {"state": "Active", "physical_state": "LinkUp"}
BOTH_UP = fabric("h1[1]-s1[1]", ports={"h1[1]": UP, "s1[1]": UP})


def states(state: str, physical: str = "LinkUp") -> Parts:
    port = {"state": state, "physical_state": physical}
    return {"fabric": fabric("h1[1]-s1[1]", ports={"h1[1]": port, "s1[1]": port})}


def able(enabled: str, supported: str = "SDR or DDR or QDR or FDR or EDR or HDR") -> dict[str, str]:
    width = "1x or 4x"
    return {"enabled_width": width, "supported_width": width, "enabled_speed": enabled, "supported_speed": supported}


def abilities(cable: str, a: dict[str, str], b: dict[str, str]) -> Parts:
    ends = cable.split()[0].split("-")
    return {"fabric": fabric(cable, ports={ends[0]: a, ends[1]: b})}


ALL_SPEEDS = "SDR or DDR or QDR or FDR or EDR or HDR"
FULL = able(ALL_SPEEDS)
EDR_ONLY = able("SDR or DDR or QDR or FDR or EDR")


def one_sample(**values: int | None) -> Parts:
    return {"fabric": PAIR, "counters": counters(port_counters("s1[1]", **values))}


def two_samples(seconds: float = 3600, at: str = "s1[1]", **values: int | None) -> Parts:
    return {"fabric": PAIR, "change": change(seconds, port_counters(at, **values))}


def counter_case(name: str, limit: int, below: int, severity: str = "warning", *, places: str = "s1[1] h1[1]") -> Case:
    return Case(
        one_sample(**{name: limit}), [(severity, places)], one_sample(**{name: below}), one_sample(**{name: None})
    )


def waited(ticks: int) -> Parts:
    quantum = {"s1": {"device_id": 0xD2F0, "vendor_id": 0x2C9}}
    return {
        "fabric": fabric("h1[1]-s1[1]", nodes=quantum), "change": change(60, port_counters("s1[1]", PortXmitWait=ticks))
    }  # fmt: skip


def managed(*managers: SubnetManager, problems: tuple[Problem, ...] = ()) -> Parts:
    return {"managers": SubnetManagers(managers, None, problems)}


def keys(*tables: str, complete: bool | None = True, manager: str | None = None) -> Parts:
    """P_Key tables: ``h1[1] 0xffff 0x8001``."""
    ports = []
    for text in tables:
        where, *words = text.split()
        own = end(where)
        numbers = tuple(PKey(int(word, 16)) for word in words)
        name = f"host{where[1:].partition('[')[0]} mlx5_0"
        ports.append(PortKeys(own.guid, own.port, numbers, Guid(own.guid + own.port), name=name))
    found = Partitions(tuple(ports), complete=complete, source="saquery PKTR")
    if manager:
        found = found._replace(manager=Guid(end(manager).guid + end(manager).port))
    return {"partitions": found._replace(problems=look_at(found))}


def mtus(a: int, b: int) -> Parts:
    most = {"max_mtu_bytes": 4096}
    ports = {"h1[1]": {"mtu_bytes": a, **most}, "s1[1]": {"mtu_bytes": b, **most}}
    return {"fabric": fabric("h1[1]-s1[1]", ports=ports)}


def boards(*firmware: str) -> Any:
    """A host for each, all with one kind of board."""
    found = hosts(*(f"n{number}: mlx5_0 1 Active LinkUp" for number in range(1, len(firmware) + 1)))
    return tuple(
        host._replace(hcas=tuple(hca._replace(board_id="MT_0000000223", firmware=version) for hca in host.hcas))
        for host, version in zip(found, firmware, strict=True)
    )


def expect(**parts: Any) -> Parts:
    return {"expected": Expectations(source="expect.toml", **parts)}


def group(names: str, *ports: PortGroup) -> NodeGroup:
    return NodeGroup(tuple(names.split()), ports)


def one(number: int = 1, width: str | None = None, speed: str | None = None) -> PortGroup:
    return PortGroup(number, None, width, speed)


def cables(*texts: str) -> tuple[ExpectedLink, ...]:
    return tuple(ExpectedLink(end(a), end(b)) for a, b in (text.split("-") for text in texts))


def pci(*links: tuple[int, float, int, float]) -> PciFunction:
    return PciFunction(links=tuple(PciLink(f"0000:0{number}:00.0", *link) for number, link in enumerate(links)))


def rails(*rates: float) -> Any:
    """A host with a port of each rate, all of one kind of adapter."""
    (host,) = hosts(*(f"n1: mlx5_{number} 1 Active LinkUp" for number in range(len(rates))))
    return (
        host._replace(
            hcas=tuple(
                hca._replace(hca_type="MT4129", ports=(hca.ports[0]._replace(rate_gbps=rate),))
                for hca, rate in zip(host.hcas, rates, strict=True)
            )
        ),
    )


def checked(check: str, state: str) -> Any:
    return (HostChecks("n1", (Check(check, state, "what was seen", "what follows"),)),)


ONE_MASTER = SubnetManager(Guid(1), 1, MASTER, 14, 100)


def stood_still(seconds: float, activity: int) -> Parts:
    """What the one master counted before, so long ago."""
    before = SubnetManagers((ONE_MASTER._replace(activity=activity),))
    return {**managed(ONE_MASTER), "earlier_managers": before, "seconds": float(seconds)}


def swept(*problems: Problem) -> Parts:
    """The one link, and what the collector found."""
    return {"fabric": fabric("h1[1]-s1[1]", problems=problems)}


NOT_AS_INTENDED = Problem("not-as-intended", "partition 0x8001: 3 members are missing", 2, "partitions.conf")


def module(counters: PhysicalCounters | None = None, **measured: Measured) -> Parts:
    place = Place(host="n1", device="mlx5_0", port=1)
    port = PortHardware(place, True, TransceiverInfo(**measured), counters, "mlxlink -d mlx5_0 -m -c", 3)
    return {"hardware": Hardware((port,))}


def counted_for(minutes: float, ratio: str) -> PhysicalCounters:
    return PhysicalCounters(minutes, effective_ber=ratio_of(ratio))


def switch(**told: Any) -> Parts:
    info = SwitchInfo("all", 1, **told)
    return {"hardware": Hardware(switches=(SwitchHardware(Place(guid=guid("s1")), info, "ibswinfo"),))}


def firmware(*versions: str) -> Parts:
    nodes = (
        BoardFirmware(Place(guid=guid(f"s{number}")), "MT_0000000543", version, "db_csv", number)
        for number, version in enumerate(versions, 1)
    )
    return {"hardware": Hardware(firmware=tuple(nodes))}


WRONG_WIDTH = SectionFinding("error", "LINKS_CHECK", "LINK_UNEXPECTED_WIDTH", "Unexpected actual link width 1x", 66)
PROBLEM_OF_LIDS = Problem(
    "duplicate-lid", f"{guid('h1')}[1] and {guid('h2')}[1] both have the LID 5", 9, "ibnetdiscover"
)

CASES: dict[str, Case] = {
    "port-initializing": Case(
        states("Initialize"), [("warning", "h1[1] s1[1]")], states("Active"), {"fabric": PAIR}
    ),
    "port-armed": Case(states("Armed"), [("warning", "h1[1] s1[1]")], states("Active"), {"fabric": PAIR}),
    "port-training": Case(
        {
            "fabric": fabric(
                ports={"s1[4]": {"state": "Down", "physical_state": "PortConfigurationTraining"}}, nodes={"s1": {}}
            )
        },
        [("warning", "s1[4]")],
        {"fabric": fabric(ports={"s1[4]": {"state": "Down", "physical_state": "Polling"}}, nodes={"s1": {}})},
        {"fabric": PAIR},
    ),
    "host-port-initializing": Case(
        {"hosts": hosts("n1: mlx5_0 1 Initializing LinkUp")}, [("warning", "n1:mlx5_0:1")],
        {"hosts": hosts("n1: mlx5_0 1 Active LinkUp")}, {},
    ),
    "host-port-armed": Case(
        {"hosts": hosts("n1: mlx5_0 1 Armed LinkUp")}, [("warning", "n1:mlx5_0:1")],
        {"hosts": hosts("n1: mlx5_0 1 Initializing LinkUp")}, {},
    ),
    "host-port-training": Case(
        {"hosts": hosts("n1: mlx5_0 1 Down PortConfigurationTraining")}, [("warning", "n1:mlx5_0:1")],
        {"hosts": hosts("n1: mlx5_0 1 Down Polling")}, {},
    ),
    "host-without-link": Case(
        {"hosts": hosts("n1: mlx5_0 1 Down Polling", "n1: mlx5_1 1 Down Disabled")}, [("warning", "n1:None:None")],
        {"hosts": hosts("n1: mlx5_0 1 Active LinkUp", "n1: mlx5_1 1 Down Polling")}, {},
    ),
    "host-planes-differ": Case(
        {"hosts": hosts("n1: smi0 1 Active LinkUp", "n1: smi0 2 Down Polling", planes_of={"smi0": "mlx5_0"})},
        [("warning", "n1:smi0:None")],
        {"hosts": hosts("n1: smi0 1 Active LinkUp", "n1: smi0 2 Active LinkUp", planes_of={"smi0": "mlx5_0"})}, {},
    ),
    "host-single-lane": Case(
        {"hosts": hosts("n1: mlx5_0 1 Active LinkUp", width="1x", speed="HDR")}, [("warning", "n1:mlx5_0:1")],
        {"hosts": hosts("n1: mlx5_0 1 Active LinkUp", width="1x", speed="XDR")}, {},
    ),
    "host-rails-differ": Case(
        {"hosts": rails(400.0, 400.0, 200.0)}, [("warning", "n1:mlx5_2:1")], {"hosts": rails(400.0, 400.0)}, {},
    ),
    "host-no-lid": Case(
        {"hosts": hosts("n1: mlx5_0 1 Active LinkUp", lid=None, reported_lid=0xFFFF)},
        [("critical", "n1:mlx5_0:1")],
        {"hosts": hosts("n1: mlx5_0 1 Active LinkUp", lid=4, reported_lid=4)}, {},
    ),
    "device-unreadable": Case(
        {"hosts": hosts("n1: mlx5_0 1 Active LinkUp", error={"mlx5_0": "EIO"})}, [("critical", "n1:mlx5_0:None")],
        {"hosts": hosts("n1: mlx5_0 1 Active LinkUp")}, {},
    ),
    "slow-link": Case(
        abilities("h1[1]-s1[1] 4x FDR", FULL, FULL), [("warning", "s1[1] h1[1]")],
        abilities("h1[1]-s1[1] 4x EDR", FULL, able(EDR_ONLY["enabled_speed"], EDR_ONLY["enabled_speed"])),
        {"fabric": fabric("h1[1]-s1[1] 4x EDR")},
    ),
    "slow-by-configuration": Case(
        abilities("s2[1]-s1[1] 4x EDR", EDR_ONLY, EDR_ONLY), [("warning", "s1[1] s2[1]")],
        abilities("s2[1]-s1[1] 4x HDR", FULL, FULL),
        {"fabric": fabric("h1[1]-s1[1] 4x EDR")},
    ),
    "single-lane": Case(
        {"fabric": fabric("h1[1]-s1[1] 1x HDR")}, [("warning", "s1[1] h1[1]")], {"fabric": PAIR}, {}
    ),
    "half-rate": Case(
        abilities("h1[1]-s1[1] 2x HDR", FULL, FULL), [("info", "s1[1] h1[1]")],
        abilities("h1[1]-s1[1] 4x HDR", FULL, FULL), {},
    ),
    "planes-differ": Case(
        {
            "fabric": fabric(
                "h1[1]-s1[1] 1x XDR", "h1[2]-s1[2] 1x NDR",
                ports={"h1[1]": {"plane": 1}, "h1[2]": {"plane": 2}},
            )
        },
        [("warning", "s1[2] h1[2]")],
        {
            "fabric": fabric(
                "h1[1]-s1[1] 1x XDR", "h1[2]-s1[2] 1x XDR",
                ports={"h1[1]": {"plane": 1}, "h1[2]": {"plane": 2}},
            )
        },
        {},
    ),
    "slower-than-its-like": Case(
        {"fabric": fabric(*LEAF[:-1], "h18[1]-s1[18] 4x EDR")}, [("warning", "s1[18] h18[1]")],
        {"fabric": fabric(*LEAF)}, {},
    ),
    "link-gone": Case(
        {
            "fabric": fabric("h1[1]-s1[1]", "s1[20]-s2[1]"),
            "earlier": fabric("h1[1]-s1[1]", "s1[20]-s2[1]", "s1[21]-s2[2]"),
        },
        [("critical", "s1[21] s2[2]")],
        {"fabric": PAIR, "earlier": PAIR},
        {"fabric": fabric("h1[1]-s1[1]", complete=False), "earlier": fabric("h1[1]-s1[1]", "h2[1]-s1[2]")},
    ),
    "flapping-link": Case(
        two_samples(LinkDownedCounter=3), [("critical", "s1[1] h1[1]")], two_samples(LinkDownedCounter=2),
        one_sample(LinkDownedCounter=3),
    ),
    "bit-errors": Case(  # 200 Gb/s over 3,600 s are 7.2e14 bits, of which 1e-14 is 7.2
        two_samples(3600, SymbolErrorCounter=8), [("warning", "s1[1] h1[1]")], two_samples(3600, SymbolErrorCounter=7),
        two_samples(60, SymbolErrorCounter=1),
    ),
    "symbol-errors": counter_case("SymbolErrorCounter", 10, 9),
    "link-downed": counter_case("LinkDownedCounter", 10, 9),
    "link-error-recovery": counter_case("LinkErrorRecoveryCounter", 10, 9),
    "receive-errors": counter_case("PortRcvErrors", 10, 9),
    "remote-physical-errors": counter_case("PortRcvRemotePhysicalErrors", 100, 99),
    "undeliverable-packets": Case(
        one_sample(PortDLIDMappingErrors=100), [("info", "s1[1] h1[1]")],
        one_sample(PortDLIDMappingErrors=99, PortRcvSwitchRelayErrors=65535), {},
    ),
    "discards": counter_case("PortXmitDiscards", 100, 99),
    "congestion": Case(  # a Quantum switch counts 8 bytes; 25 GB/s for 60 s are 1.5e12 bytes: a tenth is 1.88e10 counts
        waited(19_000_000_000), [("info", "s1[1] h1[1]")], waited(18_000_000_000),
        {"fabric": PAIR, "change": change(60, port_counters("s1[1]", PortXmitWait=19_000_000_000))},
    ),
    "constraint-errors": counter_case("PortXmitConstraintErrors", 100, 99),
    "link-integrity": counter_case("LocalLinkIntegrityErrors", 10, 9),
    "management-dropped": counter_case("VL15Dropped", 100, 99, "info"),
    "saturated-counters": Case(
        one_sample(ExcessiveBufferOverrunErrors=15), [("info", "s1[1]")],
        one_sample(ExcessiveBufferOverrunErrors=14), {},
    ),
    "cleared-counters": Case(
        {"fabric": PAIR, "change": change(60, port_counters("s1[1]"), cleared=("SymbolErrorCounter",))},
        [("info", "s1[1]")], two_samples(), {},
    ),
    "duplicate-lid": Case(
        {"fabric": fabric("h1[1]-s1[1]", "h2[1]-s1[2]", problems=(PROBLEM_OF_LIDS,))}, [("critical", "h1[1] h2[1]")],
        {"fabric": PAIR}, {},
    ),
    "no-lid": Case(
        {"fabric": fabric("h1[1]-s1[1]", problems=(Problem("no-lid", f"{guid('h1')}[1] is in use and has no LID"),))},
        [("critical", "h1[1]")], {"fabric": PAIR}, {},
    ),
    "duplicate-guid": Case(
        {"fabric": fabric("h1[1]-s1[1]", "h2[1]-s1[2]", ports={"h2[1]": {"guid": Guid(guid("h1") + 1)}})},
        [("critical", "h1[1] h2[1]")], {"fabric": PAIR}, {},
    ),
    "duplicate-name": Case(
        {"fabric": fabric("h1[1]-s1[1]", "h2[1]-s1[2]", nodes={"h2": {"name": "host1 mlx5_0 "}})},
        [("warning", "h1 h2")],
        {
            "fabric": fabric(
                "h1[1]-s1[1]", "h2[1]-s1[2]", "a8[1]-s1[9]", "a9[1]-s2[9]",
                nodes={
                    "h1": {"name": "MT4119 ConnectX5   Mellanox Technologies"},
                    "h2": {"name": "MT4119 ConnectX5   Mellanox Technologies"},
                    "a8": {"name": "Mellanox Technologies Aggregation Node"},
                    "a9": {"name": "Mellanox Technologies Aggregation Node"},
                },
            )
        },
        {},
    ),
    "default-names": Case(
        {"fabric": fabric("h1[1]-s1[1]", nodes={"h1": {"name": "MT4119 ConnectX5   Mellanox Technologies"}})},
        [("info", "h1")],
        {
            "fabric": fabric(
                "h1[1]-s1[1]", "a8[1]-s1[9]", nodes={"a8": {"name": "Mellanox Technologies Aggregation Node"}}
            )
        },
        {},
    ),
    "no-subnet-manager": Case(
        managed(problems=(Problem(NO_SM, "nobody answers", None, "sminfo"),)), [("critical", "")],
        managed(ONE_MASTER), {},
    ),
    "several-masters": Case(
        managed(ONE_MASTER, SubnetManager(Guid(2), 2, MASTER, 14, 5)), [("critical", "s0 s0")], managed(ONE_MASTER), {}
    ),
    "wrong-master": Case(
        managed(ONE_MASTER, SubnetManager(Guid(2), 2, "standby", 15, 5)), [("warning", "s0 s0")],
        managed(ONE_MASTER, SubnetManager(Guid(2), 2, "standby", 3, 5)), managed(ONE_MASTER),
    ),
    "silent-manager": Case(
        managed(ONE_MASTER, problems=(Problem("silent-manager", "the manager 0x2 does not answer", None, "sminfo 2"),)),
        [("warning", "")], managed(ONE_MASTER), {},
    ),
    "other-sm-lid": Case(
        managed(ONE_MASTER, problems=(Problem("other-sm-lid", "3 ports name LID 9", None, "saquery"),)),
        [("warning", "")], managed(ONE_MASTER), {},
    ),
    "impossible-manager": Case(
        managed(ONE_MASTER, problems=(Problem("bad-priority", "the manager's priority is 16", 1, "sminfo"),)),
        [("warning", "")], managed(ONE_MASTER), {},
    ),
    "stalled-manager": Case(
        stood_still(60, 100), [("critical", "s0")], stood_still(60, 99), stood_still(59, 100),
    ),
    "not-in-default-partition": Case(
        keys("h1[1] 0x8001", "h2[1] 0xffff"), [("critical", "h1[1]")], keys("h1[1] 0x7fff", "h2[1] 0xffff"),
        keys("h2[1] 0xffff", complete=False),
    ),
    "manager-not-full": Case(
        keys("h1[1] 0x7fff", "h2[1] 0xffff", manager="h1[1]"), [("critical", "")],
        keys("h1[1] 0xffff", "h2[1] 0x7fff", manager="h1[1]"), {},
    ),
    "limited-pairs": Case(
        keys("h1[1] 0x7fff", "h2[1] 0x7fff", "h3[1] 0xffff"), [("warning", "")],
        keys("h1[1] 0x7fff", "h3[1] 0xffff"), keys("h1[1] 0x7fff", complete=None),
    ),
    "default-key-not-first": Case(
        keys("h1[1] 0x8001 0xffff"), [("info", "h1[1]")], keys("h1[1] 0xffff 0x8001"), {},
    ),
    "partitions-not-as-intended": Case(
        {"partitions": Partitions((), problems=(NOT_AS_INTENDED,))}, [("warning", "")], keys("h1[1] 0xffff"), {},
    ),
    "host-without-default-partition": Case(
        {"hosts": hosts("n1: mlx5_0 1 Active LinkUp", pkeys=(PKey(0x8001),))}, [("critical", "n1:mlx5_0:1")],
        {"hosts": hosts("n1: mlx5_0 1 Active LinkUp", pkeys=(PKey(0x8001), PKey(0x7FFF)))}, {},
    ),
    "mtu-differs": Case(
        mtus(4096, 2048), [("critical", "s1[1] h1[1]")], mtus(4096, 4096), {"fabric": PAIR},
    ),
    "mtu-discards": Case(
        one_sample(PortNeighborMTUDiscards=1), [("critical", "s1[1] h1[1]")], one_sample(PortInactiveDiscards=1), {},
    ),
    "same-prefix-two-subnets": Case(
        swept(Problem("same-prefix", "mlx5_1 has the subnet prefix", None, "ibnetdiscover")), [("warning", "")],
        {"fabric": PAIR}, {},
    ),
    "no-neighbour": Case(
        swept(Problem("no-neighbour", "alone", 3, "ibnetdiscover")), [("warning", "")], {"fabric": PAIR}, {},
    ),
    "contradicting-evidence": Case(
        swept(Problem("contradiction", "4x and 1x", 3, "ibnetdiscover")), [("warning", "")], {"fabric": PAIR}, {},
    ),
    "firmware-differs": Case(
        {"hosts": boards("20.31.1014", "20.31.1014", "20.29.1016")}, [("warning", "n3:mlx5_0:None")],
        {"hosts": boards("20.31.1014", "20.31.1014")}, {"hosts": hosts("n1: mlx5_0 1 Active LinkUp")},
    ),
    "slow-pcie": Case(
        {"hosts": hosts("n1: mlx5_0 1 Active LinkUp", fields={"mlx5_0": {"pci": pci((16, 8.0, 16, 16.0))}})},
        [("critical", "n1:mlx5_0:None")],
        {"hosts": hosts("n1: mlx5_0 1 Active LinkUp", fields={"mlx5_0": {"pci": pci((16, 16.0, 16, 16.0))}})},
        {"hosts": hosts("n1: mlx5_0 1 Active LinkUp")},
    ),
    "firmware-not-running": Case(
        {"checks": checked("firmware-stored", "different")}, [("warning", "n1:None:None")],
        {"checks": checked("firmware-stored", "ok")}, {},
    ),
    "host-not-ready": Case(
        {"checks": checked("providers", "missing")}, [("warning", "n1:None:None")],
        {"checks": checked("memlock", "limited")}, {},
    ),
    "missing-hosts": Case(
        {"fabric": PAIR, **expect(hosts=(group("host1 host2", one()),))}, [("critical", "host2")],
        {"fabric": PAIR, **expect(hosts=(group("host1", one()),))},
        {"fabric": fabric("h1[1]-s1[1]", complete=None), **expect(hosts=(group("host1 host2", one()),))},
    ),
    "missing-ports": Case(
        {"fabric": PAIR, **expect(hosts=(group("host1", one(2)),))}, [("critical", "h1")],
        {"fabric": PAIR, **expect(hosts=(group("host1", one(1)),), switches=(group("switch1"),))},
        {"fabric": fabric("h1[1]-s1[1]", complete=False), **expect(hosts=(group("host1", one(2)),))},
    ),
    "slower-than-expected": Case(
        {"fabric": PAIR, **expect(hosts=(group("host1", one(1, "4x", "NDR")),))}, [("warning", "s1[1] h1[1]")],
        {"fabric": PAIR, **expect(hosts=(group("host1", one(1, "4x", "EDR")),))},
        {"fabric": fabric("h1[1]-s1[1] 4x ???"), **expect(hosts=(group("host1", one(1, "4x", "EDR")),))},
    ),
    "unexpected-hosts": Case(
        {"fabric": PAIR, **expect(hosts=())}, [("info", "h1")],
        {"fabric": PAIR, **expect(hosts=(group("host1", one()),))}, {"fabric": PAIR},
    ),
    "cabling": Case(
        {"fabric": fabric("h1[1]-s1[1]", "h2[1]-s1[3]"), **expect(links=cables("h1[1]-s1[1]", "h2[1]-s1[2]"))},
        [("info", "s1[2] h2[1]")],
        {"fabric": PAIR, **expect(links=cables("h1[1]-s1[1]"))},
        {"fabric": fabric("h1[1]-s1[1]", complete=None), **expect(links=cables("h1[1]-s1[1]", "h2[1]-s1[2]"))},
    ),
    "extra-links": Case(
        {"fabric": PAIR, **expect(links=())}, [("info", "s1[1] h1[1]")],
        {"fabric": PAIR, **expect(links=cables("h1[1]-s1[1]"))}, {"fabric": PAIR},
    ),
    "firmware-not-expected": Case(
        {"hosts": boards("20.29.1016"), **expect(firmware={"MT_0000000223": "20.31.1014"})},
        [("warning", "n1:mlx5_0:None")],
        {"hosts": boards("20.31.1014"), **expect(firmware={"MT_0000000223": "20.31.1014"})},
        {"hosts": boards("20.31.1014")},
    ),
    "partition-not-expected": Case(
        {**keys("h1[1] 0x7fff"), **expect(partitions=(ExpectedPartition(0x7FFF, ("host1",), ()),))},
        [("warning", "host1")],
        {**keys("h1[1] 0x7fff"), **expect(partitions=(ExpectedPartition(0x7FFF, (), ("host1",)),))},
        {**keys(complete=False), **expect(partitions=(ExpectedPartition(0x7FFF, ("host1",), ()),))},
    ),
    "fewer-standbys": Case(
        {"managers": SubnetManagers((ONE_MASTER,), True), **expect(standbys=1)}, [("warning", "")],
        {"managers": SubnetManagers((ONE_MASTER,), True), **expect(standbys=0)},
        {"managers": SubnetManagers((ONE_MASTER,), None), **expect(standbys=1)},
    ),
    "broken-routes": Case(
        routed({1: 1, 2: 2, 3: 20}, {1: 20, 2: NO_EXIT, 3: 3}), [("critical", "s2")],
        routed({1: 1, 2: 2, 3: 20}, {1: 20, 2: 20, 3: 3}), routed({1: 1, 2: 2, 3: 20}, None),
    ),
    "bit-error-ratio": Case(
        module(counters=counted_for(1421.6, "2E-15")), [("warning", "n1:mlx5_0:1")],
        module(counters=counted_for(1421.6, "15E-255")), module(counters=counted_for(3.0, "2E-12")),
    ),
    "hot-module": Case(
        module(celsius=Measured((71.0,), -5, 85)), [("warning", "n1:mlx5_0:1")],
        module(celsius=Measured((69.0,), -5, 85)), module(celsius=Measured((0.0,), 0, 0)),
    ),
    "optical-power": Case(
        module(rx_power_dbm=Measured((1.9, -40, 2.3), -10.4, 6)), [("critical", "n1:mlx5_0:1")],
        module(rx_power_dbm=Measured((1.9, 2.3), -10.4, 6)), module(rx_power_dbm=Measured((0.0,), 0, 0)),
    ),
    "hot-switch": Case(
        switch(celsius=85, warn_high_celsius=95), [("warning", "s1")], switch(celsius=79, warn_high_celsius=95),
        switch(),
    ),
    "power-supply": Case(
        switch(power_supplies=(PowerSupply(1, "OK", "ERROR"),)), [("critical", "s1")],
        switch(power_supplies=(PowerSupply(1, "OK", "OK", "OK"),)), switch(power_supplies=(PowerSupply(1, "foo"),)),
    ),
    "switch-fans": Case(
        switch(fan_status="ERROR"), [("warning", "s1")], switch(fan_status="OK", fans=(Fan(1, 0),)), switch(),
    ),
    "node-firmware-differs": Case(
        firmware("27.2010.5108", "27.2010.5108", "27.2008.1"), [("warning", "s3")],
        firmware("27.2010.5108", "27.2010.5108"), switch(),
    ),
    "ibdiagnet-findings": Case(
        {"hardware": Hardware(reports=((Place(guid=guid("s1")), WRONG_WIDTH),), source="db_csv")}, [("warning", "s1")],
        switch(), {},
    ),
    "waiver-expired": Case(
        {**expect(waivers=(Waiver("R06", "*", "cable is ordered", "2026-11-30"),)), "day": "2026-12-01"},
        [("warning", "")],
        {**expect(waivers=(Waiver("R06", "*", "cable is ordered", "2026-12-01"),)), "day": "2026-12-01"}, {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_fires(name: str) -> None:
    case = CASES[name]
    made = diagnosis(name, **case.fires)
    assert [(one.severity, short(one)) for one in made.findings] == case.found
    for one in made.findings:
        assert one.name == name
        assert one.rule == catalogue.find(name)[0].number
        assert one.what
        assert one.why
        assert one.fix
        assert one.evidence


@pytest.mark.parametrize("name", CASES)
def test_has_nothing_to_say(name: str) -> None:
    made = diagnosis(name, **CASES[name].silent)
    assert (made.findings, made.undecided) == ((), ())


@pytest.mark.parametrize("name", CASES)
def test_cannot_decide(name: str) -> None:
    made = diagnosis(name, **CASES[name].unknown)
    assert made.findings == ()
    assert made.undecided
    assert all(one.missing and one.get and one.name == name for one in made.undecided)


def test_a_module_that_became_warmer() -> None:
    now, before = (module(celsius=Measured((degrees,), -5, 85))["hardware"] for degrees in (52.0, 41.0))
    made = diagnosis("hot-module", hardware=now, earlier_hardware=before)
    assert [(one.severity, one.what) for one in made.findings] == [
        ("warning", "the module has 52 degrees Celsius, before it had 41")
    ]
    assert diagnosis("hot-module", hardware=before, earlier_hardware=now).findings == ()


def test_each_rule_has_its_cases() -> None:
    assert set(CASES) == {rule.name for rule in catalogue.ALL}
