"""Findings of one cause are one incident, the cause in front: made-up fabrics with a fault and what follows from it."""

from __future__ import annotations

from support.made_fabric import change, counters, diagnosis, fabric, hosts, port_counters, told

from ibkit.model.expectations import Expectations, NodeGroup, PortGroup
from ibkit.model.ids import Guid
from ibkit.model.subnet_manager import NO_SM, NamedLid, SubnetManager, SubnetManagers
from ibkit.parsers.base import Problem

#: Two leaves with four hosts each, two spines.
TREE = (
    *(f"h{number}[1]-s1[{number}]" for number in range(1, 5)),
    *(f"h{number}[1]-s2[{number}]" for number in range(5, 9)),
    "s1[20]-s3[1]", "s1[21]-s4[1]", "s2[20]-s3[2]", "s2[21]-s4[2]",
)  # fmt: skip
NO_MANAGER = SubnetManagers((), None, (Problem(NO_SM, "nobody answers", None, "sminfo"),))


def tree(*changed: str, **parts: object) -> object:
    """The tree, with other cables in the place of those with the same ends."""
    ends = {text.split()[0]: text for text in changed}
    return fabric(*(ends.get(cable, cable) for cable in TREE), **parts)  # type: ignore[arg-type]


def test_a_healthy_fabric_has_none() -> None:
    made = diagnosis(fabric=tree(), counters=counters(*(port_counters(f"s1[{n}]") for n in range(1, 5))))
    assert made.findings == ()


def test_both_ends_of_a_link_are_one_finding() -> None:
    made = diagnosis(
        fabric=tree(),
        counters=counters(
            port_counters("s1[2]", SymbolErrorCounter=11), port_counters("h2[1]", SymbolErrorCounter=4000)
        ),
    )
    assert told(made) == [("symbol-errors", "warning", "h2[1] s1[2]")], "the end that counted more is in front"
    assert "SymbolErrorCounter 4000; SymbolErrorCounter 11 at the other end" in made.findings[0].what


def test_all_that_one_cable_does_is_one_incident() -> None:
    made = diagnosis(
        fabric=tree("h2[1]-s1[2] 1x HDR"),
        counters=counters(
            port_counters("s1[2]", SymbolErrorCounter=50, LinkDownedCounter=12, PortRcvErrors=40),
            port_counters("h2[1]", LinkErrorRecoveryCounter=20, PortXmitDiscards=300),
        ),
    )
    assert told(made) == [
        ("link-downed", "warning", "s1[2] h2[1]"),
        ("- symbol-errors", "warning", "s1[2] h2[1]"),
        ("- receive-errors", "warning", "s1[2] h2[1]"),
        ("- link-error-recovery", "warning", "h2[1] s1[2]"),
        ("- single-lane", "warning", "s1[2] h2[1]"),
        ("- discards", "warning", "h2[1] s1[2]"),
    ]


def test_two_cables_are_two_incidents() -> None:
    made = diagnosis(fabric=tree("h2[1]-s1[2] 1x HDR", "h3[1]-s1[3] 1x HDR"))
    assert told(made) == [("single-lane", "warning", "s1[2] h2[1]"), ("single-lane", "warning", "s1[3] h3[1]")]


def test_the_worst_of_its_members_makes_the_severity_of_an_incident() -> None:
    made = diagnosis(
        fabric=tree(),
        change=change(3600, port_counters("s1[2]", LinkErrorRecoveryCounter=1, PortNeighborMTUDiscards=1)),
    )
    assert told(made) == [
        ("link-error-recovery", "critical", "s1[2] h2[1]"), ("- mtu-discards", "critical", "s1[2] h2[1]")
    ]  # fmt: skip


def test_damaged_packets_point_upstream() -> None:
    """h1's cable damages what s1 receives; s1, s3 and s2 forward it to h5 and h6."""
    made = diagnosis(
        fabric=tree(),
        counters=counters(
            port_counters("s1[1]", SymbolErrorCounter=300, PortRcvErrors=250),
            port_counters("s3[1]", PortRcvRemotePhysicalErrors=250),
            port_counters("s2[20]", PortRcvRemotePhysicalErrors=250),
            port_counters("h5[1]", PortRcvRemotePhysicalErrors=125),
            port_counters("h6[1]", PortRcvRemotePhysicalErrors=125),
        ),
    )
    assert told(made) == [
        ("symbol-errors", "warning", "s1[1] h1[1]"),
        ("- receive-errors", "warning", "s1[1] h1[1]"),
        ("- remote-physical-errors", "warning", "s3[1] s1[20]"),
        ("- remote-physical-errors", "warning", "s2[20] s3[2]"),
        ("- remote-physical-errors", "warning", "h5[1] s2[5]"),
        ("- remote-physical-errors", "warning", "h6[1] s2[6]"),
    ]


def test_of_two_sources_at_one_switch_neither_is_blamed() -> None:
    made = diagnosis(
        fabric=tree(),
        counters=counters(
            port_counters("s1[1]", SymbolErrorCounter=300),
            port_counters("s1[2]", SymbolErrorCounter=300),
            port_counters("s3[1]", PortRcvRemotePhysicalErrors=250),
        ),
    )
    assert [one[0] for one in told(made)] == ["remote-physical-errors", "symbol-errors", "symbol-errors"][::-1]


def test_damage_that_a_host_receives_goes_no_further() -> None:
    made = diagnosis(
        fabric=tree(),
        counters=counters(
            port_counters("h1[1]", SymbolErrorCounter=300), port_counters("s3[1]", PortRcvRemotePhysicalErrors=250)
        ),
    )
    assert [one[0] for one in told(made)] == ["symbol-errors", "remote-physical-errors"]


def test_a_missing_manager_explains_ports_that_nobody_configures() -> None:
    ports = {text: {"state": "Initialize", "physical_state": "LinkUp"} for cable in TREE for text in cable.split("-")}
    no_lid = Problem("no-lid", "none of the 12 ports in use has a LID", 3, "ibnetdiscover")
    made = diagnosis(
        fabric=tree(ports=ports, problems=(no_lid,)),
        managers=NO_MANAGER,
        hosts=hosts("n1: mlx5_0 1 Initializing LinkUp"),
    )
    assert [(one.name, one.severity) for one in made.findings] == [("no-subnet-manager", "critical")]
    names = [member.name for member in made.findings[0].members]
    assert names.count("port-initializing") == len(TREE)
    assert names.count("no-lid") == 1
    assert names.count("host-port-initializing") == 1


def test_two_masters_of_which_one_cannot_be_reached() -> None:
    """As on a simulated fabric of two halves: the SA's record of the other one is not believed, but its ports are."""
    managers = SubnetManagers(
        (SubnetManager(Guid(1), 1, "master", 3, 490, True), SubnetManager(Guid(2), 9, None, 1)),
        False,
        (
            Problem("silent-manager", "the manager 0x2 does not answer at LID 9", None, "sminfo 9"),
            Problem("other-sm-lid", "5 ports name LID 9 as their manager's", None, "saquery SMIR"),
        ),
        (NamedLid(1, 7), NamedLid(9, 5)),
    )
    made = diagnosis(managers=managers)
    assert [(line[0], line[1]) for line in told(made)] == [
        ("several-masters", "critical"), ("- silent-manager", "warning"), ("- other-sm-lid", "warning")
    ]  # fmt: skip
    assert "set up 5 ports" in made.findings[0].what


def test_ports_of_a_managed_fabric_that_are_not_configured_are_their_own_findings() -> None:
    ports = {text: {"state": "Active", "physical_state": "LinkUp"} for cable in TREE for text in cable.split("-")}
    ports["h1[1]"] = ports["s1[1]"] = {"state": "Initialize", "physical_state": "LinkUp"}
    made = diagnosis(fabric=tree(ports=ports))
    assert told(made) == [("port-initializing", "warning", "h1[1] s1[1]")]


def test_a_switch_that_restarted_is_one_incident() -> None:
    """All of its links went down, and both ends of those to the spines counted it."""
    downs = [port_counters(f"s1[{number}]", LinkDownedCounter=1) for number in (1, 2, 3, 4, 20, 21)]
    downs += [port_counters(f"h{number}[1]", LinkDownedCounter=1) for number in range(1, 5)]
    downs += [port_counters("s3[1]", LinkDownedCounter=1), port_counters("s4[1]", LinkDownedCounter=1)]
    made = diagnosis(fabric=tree(), change=change(600, *downs))
    assert [one[0] for one in told(made)] == ["link-downed"] + ["- link-downed"] * 6
    assert told(made)[0] == ("link-downed", "warning", "s1")
    assert "6 of 6 links of switch1" in made.findings[0].what


def test_a_host_that_restarted_is_information() -> None:
    made = diagnosis(
        fabric=tree(), change=change(600, port_counters("s1[1]", LinkDownedCounter=1), port_counters("h1[1]"))
    )
    assert told(made) == [("link-downed", "info", "s1[1] h1[1]")]


def test_a_leaf_that_is_gone_takes_its_hosts_with_it() -> None:
    left = [cable for cable in TREE if "s2[" not in cable]
    made = diagnosis(fabric=fabric(*left), earlier=fabric(*TREE))
    (finding,) = made.findings
    assert told(made)[0] == ("link-gone", "critical", "s2")
    assert finding.what.startswith("the node is not there, nor are its 6 links; and what was behind it: host5")
    places = [line[2] for line in told(made)[1:]]
    assert places == ["h5", "h6", "h7", "h8", "s2[5] h5[1]", "s2[6] h6[1]", "s2[7] h7[1]", "s2[8] h8[1]",
                      "s2[20] s3[2]", "s2[21] s4[2]"]  # fmt: skip


def test_a_slow_generation_everywhere_is_one_incident() -> None:
    slow = [f"h{number}[1]-s1[{number}] 1x HDR" for number in range(1, 17)]
    made = diagnosis(fabric=fabric(*slow, "s1[20]-s2[1]"))
    assert [one[0] for one in told(made)] == ["single-lane"] + ["- single-lane"] * 16
    assert "16 of 17 links of the fabric" in made.findings[0].what


def test_default_names_are_counted_once() -> None:
    nodes = {f"h{number}": {"name": "MT4119 ConnectX5   Mellanox Technologies"} for number in range(1, 9)}
    made = diagnosis(fabric=tree(nodes=nodes))
    assert told(made)[0] == ("default-names", "info", "")
    assert len(made.findings) == 1
    assert made.findings[0].what.startswith("8 nodes have no name of their own")
    assert len(made.findings[0].members) == 8


def test_too_few_links_follow_from_the_one_that_is_missing() -> None:
    expected = Expectations(switches=(NodeGroup(("switch1", "switch2", "switch3", "switch4"), (PortGroup(2),)),))
    left = [cable for cable in TREE if cable != "s1[20]-s3[1]"]
    made = diagnosis(fabric=fabric(*left), earlier=fabric(*TREE), expected=expected)
    assert told(made) == [
        ("link-gone", "critical", "s1[20] s3[1]"),
        ("- missing-ports", "critical", "s1"),
        ("- missing-ports", "critical", "s3"),
    ]


def test_a_host_and_the_fabric_tell_of_one_port_once() -> None:
    """The host's port has the GUID of h1's port."""
    init = {"state": "Initialize", "physical_state": "LinkUp"}
    active = {text: {"state": "Active"} for cable in TREE for text in cable.split("-")}
    made = diagnosis(
        fabric=tree(ports={**active, "h1[1]": init, "s1[1]": init}), hosts=hosts("n1: mlx5_0 1 Initializing LinkUp")
    )
    assert told(made) == [
        ("port-initializing", "warning", "h1[1] s1[1]"), ("- host-port-initializing", "warning", "n1:mlx5_0:1")
    ]  # fmt: skip
