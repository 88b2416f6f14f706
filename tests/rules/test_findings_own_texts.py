"""Where a rule's reason and next step do not hold for one of its findings, the finding brings its own."""

from __future__ import annotations

import pytest
from support.made_fabric import counters, diagnosis, fabric, port_counters

from ibkit.model.findings import Finding
from ibkit.model.ids import Guid
from ibkit.model.subnet_manager import MASTER, SubnetManager, SubnetManagers
from ibkit.rules import catalogue

PAIR = fabric("h1[1]-s1[1]")
HDR = "SDR or DDR or QDR or FDR or EDR or HDR"


def port(width: str | None, enabled: str | None = HDR, supported: str = HDR) -> dict[str, str | None]:
    return {
        "enabled_width": width, "supported_width": "1x or 4x", "enabled_speed": enabled, "supported_speed": supported
    }  # fmt: skip


def linked(cable: str, *ends: dict[str, str | None]) -> Finding:
    at = cable.split()[0].split("-")
    seen = fabric(cable, ports=dict(zip(at, ends, strict=True)))
    (finding,) = [one for rule in RULES for one in diagnosis(rule, fabric=seen).findings]
    return finding


RULES = ("slow-link", "slow-by-configuration", "single-lane")


def test_one_lane_that_is_all_that_is_enabled() -> None:
    """Nobody is sent to the cable for what is a setting."""
    found = linked("h1[1]-s1[1] 1x HDR", port("1x"), port("1x or 4x"))
    assert "has no more enabled" in found.what
    assert "host1" in found.what
    assert found.fix.startswith("find out who set it")
    both = linked("h1[1]-s1[1] 1x HDR", port("1x"), port("1x"))
    assert "both ends have no more enabled" in both.what


@pytest.mark.parametrize("width", [None, "1x or 4x", "1x or ???"])
def test_one_lane_that_may_be_a_fault(width: str | None) -> None:
    found = linked("h1[1]-s1[1] 1x HDR", port(width), port(width))
    assert "enabled" not in found.what
    assert found.fix == catalogue.find("single-lane")[0].paragraph("Next")


def test_a_slow_link_of_which_nobody_knows_what_is_enabled() -> None:
    found = linked("s2[1]-s1[1] 4x EDR", port(None, None), port(None, None))
    assert (found.name, "what they have enabled is not known" in found.what) == ("slow-link", True)
    assert "somebody has set" in found.otherwise
    assert "either less is enabled" in found.why


def test_an_unknown_word_among_what_is_enabled_is_no_setting() -> None:
    """R05 would say that somebody gave bandwidth away, and its evidence that it is not known."""
    found = linked("s2[1]-s1[1] 4x EDR", port("1x or 4x", "EDR or ???"), port("1x or 4x", "EDR or ???"))
    assert found.name == "slow-link"


def test_what_both_ends_support_is_the_evidence() -> None:
    found = linked("s2[1]-s1[1] 4x EDR", port("4x", "EDR"), port("4x", "EDR"))
    assert [fact.text.partition(": ")[2] for fact in found.evidence[1:]] == [
        f"enabled 4x at EDR; supported 1x or 4x at {HDR}"
    ] * 2


def test_malformed_packets_leave_the_cable_alone() -> None:
    counted = counters(port_counters("s1[1]", PortRcvErrors=20, PortMalformedPktErrors=15))
    (found,) = diagnosis("receive-errors", fabric=PAIR, counters=counted).findings
    assert "not on this link" in found.what
    assert found.fix.startswith("leave this cable alone")


def test_equal_priorities_are_nobodys_failure() -> None:
    master = SubnetManager(Guid(1), 1, MASTER, 5)
    managers = SubnetManagers((master, SubnetManager(Guid(2), 2, "standby", 5)), True)
    (found,) = diagnosis("wrong-master", managers=managers).findings
    assert (found.severity, "higher priority" in found.fix) == ("info", True)
    other = SubnetManagers((master, SubnetManager(Guid(2), 2, "standby", 6)), True)
    (found,) = diagnosis("wrong-master", managers=other).findings
    assert "why the other one did not take over" in found.fix


def test_a_link_that_was_moved_cuts_nothing_off() -> None:
    before, after = fabric("h1[1]-s1[1]", "h2[1]-s1[2]"), fabric("h1[1]-s1[3]", "h2[1]-s1[2]")
    (found,) = diagnosis("link-gone", fabric=after, earlier=before).findings
    assert "moved" in found.what
    assert "nothing is cut off" in found.why


def test_a_port_that_stays_unconfigured_was_not_plugged_in_a_moment_ago() -> None:
    state = {"state": "Initialize", "physical_state": "LinkUp"}
    seen = fabric("h1[1]-s1[1]", ports={"h1[1]": state, "s1[1]": state})
    (once,) = diagnosis("port-initializing", fabric=seen).findings
    (still,) = diagnosis("port-initializing", fabric=seen, earlier=seen).findings
    assert "a moment ago" in once.otherwise
    assert (still.severity, "a moment ago" in still.otherwise) == ("critical", False)
