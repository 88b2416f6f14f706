"""The grade of one link by its ends. Each truth is a rule of the specification applied by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.model.fabric import End, FabricPort, Link
from ibkit.model.ids import Guid
from ibkit.model.link_grade import OK, SLOW, SUSPECTED, UNKNOWN, LinkGrade, grade_ends
from ibkit.model.rates import LANE_GBPS

TO_QDR = "2.5 Gbps or 5.0 Gbps or 10.0 Gbps"
TO_FDR = f"{TO_QDR} or 14.0625 Gbps"
TO_EDR = f"{TO_FDR} or 25.78125 Gbps"
TO_HDR = f"{TO_EDR} or 53.125 Gbps"
TO_NDR = f"{TO_HDR} or 106.25 Gbps"
TO_4X = "1X or 4X"


def port(
    enabled_width: str | None = TO_4X,
    enabled_speed: str | None = TO_HDR,
    supported_width: str | None = TO_4X,
    supported_speed: str | None = TO_HDR,
) -> FabricPort:
    return FabricPort(
        1,
        enabled_width=enabled_width,
        enabled_speed=enabled_speed,
        supported_width=supported_width,
        supported_speed=supported_speed,
    )


def graded(
    rate: str, a: FabricPort | None, b: FabricPort | None, *, has_hca: bool = False, is_plane: bool = False
) -> LinkGrade:
    width, _, speed = rate.partition(" ")
    link = Link(End(Guid(1), 1), End(Guid(2), 1), width or None, speed or None)
    return grade_ends(link, a, b, has_hca=has_hca, is_plane=is_plane)


NOTHING = port(None, None, None, None)
ANY = port()


@pytest.mark.parametrize(
    ("rate", "a", "b", "verdict", "cause"),
    [
        ("4x HDR", ANY, ANY, OK, None),
        ("4x EDR", ANY, ANY, SLOW, "below-enabled"),
        ("2x HDR", ANY, ANY, SLOW, "below-enabled"),
        ("1x HDR", ANY, ANY, SLOW, "one-lane"),
        ("1x HDR", NOTHING, NOTHING, SLOW, "one-lane"),
        ("1x HDR", None, None, SLOW, "one-lane"),
        ("1x SDR", port(enabled_width="1X"), ANY, SLOW, "one-lane"),
        # The ends differ: as fast as the lesser one can
        ("4x EDR", port(TO_4X, TO_EDR, TO_4X, TO_EDR), ANY, OK, "ends-differ"),
        ("4x EDR", ANY, port(TO_4X, TO_EDR, TO_4X, TO_EDR), OK, "ends-differ"),
        ("4x FDR", ANY, port(TO_4X, TO_EDR, TO_4X, TO_EDR), SLOW, "below-enabled"),
        # By configuration: enabled at one end or both is less than both support
        ("4x EDR", port(enabled_speed=TO_EDR), ANY, SLOW, "below-supported"),
        ("4x EDR", port(enabled_speed=TO_EDR), port(enabled_speed=TO_EDR), SLOW, "below-supported"),
        # Lanes are cages and splits, not a fault
        ("4x HDR", port(supported_width="1X or 4X or 8X or 12X or 2X"), port(supported_width="1X or 4X or 8X or 12X"),
         OK, "fewer-lanes"),
        ("2x HDR", port(enabled_width="1X or 2X"), port(enabled_width="1X or 2X or 4X"), OK, "fewer-lanes"),
        ("2x HDR", port("1X or 2X", TO_HDR, "1X or 2X"), port("1X or 4X or 2X", TO_HDR, "1X or 4X or 2X"), OK, None),
        # Without what is enabled, what is supported has to do
        ("4x HDR", port(None, None), ANY, OK, None),
        ("4x EDR", port(None, None), ANY, SLOW, "below-supported"),
        ("4x HDR", port(None, None, "1X or 4X or 12X"), port(None, None, "1X or 4X or 12X"), OK, "fewer-lanes"),
        ("2x HDR", port(None, None), ANY, UNKNOWN, "no-abilities"),  # it may be split
        # Evidence of one end is none
        ("4x HDR", NOTHING, ANY, UNKNOWN, "no-abilities"),
        ("4x SDR", NOTHING, ANY, UNKNOWN, "no-abilities"),
        ("4x HDR", None, ANY, UNKNOWN, "no-abilities"),
        # A word that is not known may be the best one
        ("4x HDR", port(enabled_speed=f"{TO_HDR} or undefined (64)", supported_speed=None),
         port(enabled_speed=f"{TO_HDR} or undefined (64)", supported_speed=None), UNKNOWN, "no-abilities"),
        ("4x EDR", port(enabled_speed=f"{TO_HDR} or undefined (64)"), ANY, SLOW, "below-enabled"),
        # FDR10 lies between QDR and FDR
        ("4x QDR", port(enabled_speed=f"{TO_QDR} or FDR10"), port(enabled_speed=f"{TO_QDR} or FDR10"), SLOW,
         "below-enabled"),
        ("4x FDR10", port(TO_4X, f"{TO_QDR} or FDR10", TO_4X, f"{TO_QDR} or FDR10"),
         port(TO_4X, f"{TO_QDR} or FDR10", TO_4X, f"{TO_QDR} or FDR10"), OK, None),
        ("4x FDR10", port(TO_4X, TO_FDR, TO_4X, TO_FDR), port(TO_4X, TO_FDR, TO_4X, TO_FDR), SLOW, "below-enabled"),
        # No rate, no grade
        ("", ANY, ANY, UNKNOWN, "no-rate"),
        ("4x ???", ANY, ANY, UNKNOWN, "no-rate"),
        ("?? HDR", ANY, ANY, UNKNOWN, "no-rate"),
        ("1x ???", ANY, ANY, UNKNOWN, "no-rate"),  # it may be XDR
        # One lane of XDR may be one plane of four
        ("1x XDR", NOTHING, NOTHING, UNKNOWN, "one-plane"),
    ],
)  # fmt: skip
def test_between_switches(
    rate: str, a: FabricPort | None, b: FabricPort | None, verdict: str, cause: str | None
) -> None:
    assert graded(rate, a, b)[:2] == (verdict, cause)


@pytest.mark.parametrize(
    ("rate", "speeds", "verdict", "cause"),
    [
        ("2x HDR", TO_HDR, SUSPECTED, "half-rate"),  # HDR100
        ("4x EDR", TO_HDR, SUSPECTED, "half-rate"),  # HDR100, too
        ("2x NDR", TO_NDR, SUSPECTED, "half-rate"),  # NDR200
        ("4x HDR", TO_NDR, SUSPECTED, "half-rate"),
        ("2x EDR", TO_HDR, SLOW, "below-enabled"),
        ("4x FDR", TO_HDR, SLOW, "below-enabled"),
        ("4x EDR", TO_NDR, SLOW, "below-enabled"),
        ("4x FDR", TO_EDR, SLOW, "below-enabled"),  # no such adapter in that generation
        ("1x HDR", TO_HDR, SLOW, "one-lane"),
        ("4x HDR", TO_HDR, OK, None),
    ],
)
def test_an_adapter_of_half_the_rate_is_no_proven_fault(
    rate: str, speeds: str, verdict: str, cause: str | None
) -> None:
    end = port("1X or 2X or 4X", speeds, "1X or 2X or 4X", speeds)
    assert graded(rate, end, end, has_hca=True)[:2] == (verdict, cause)


def test_a_plane_has_one_lane() -> None:
    end = port("1X", f"{TO_NDR} or 212.5 Gbps", "1X or 4X", f"{TO_NDR} or 212.5 Gbps")
    assert graded("1x XDR", end, end, is_plane=True)[:2] == (OK, "fewer-lanes")
    assert graded("1x NDR", end, end, is_plane=True)[:2] == (SLOW, "below-enabled")
    assert graded("1x XDR", NOTHING, NOTHING, is_plane=True)[:2] == (UNKNOWN, "no-abilities")


def test_what_is_said() -> None:
    assert graded("4x EDR", ANY, ANY).text == "both ends have 4x HDR enabled"
    assert graded("4x EDR", port(enabled_speed=TO_EDR), ANY).text == "both ends support HDR, and have less enabled"
    assert graded("4x EDR", port(None, None), ANY).text == (
        "both ends support HDR, what they have enabled is not known"
    )


WORDS = st.sampled_from([None, "1X", TO_4X, "1X or 2X", "1X or 4X or undefined (64)", "undefined (0)", "x"])
SPEEDS = st.sampled_from([None, TO_QDR, TO_EDR, TO_HDR, f"{TO_QDR} or undefined (64)", "No Extended Speed", "y"])
PORTS = st.none() | st.builds(port, WORDS, SPEEDS, WORDS, SPEEDS)
RATES = st.builds("{} {}".format, st.sampled_from(["1x", "2x", "4x", "12x", "?"]), st.sampled_from([*LANE_GBPS, "?"]))


@given(RATES, PORTS, PORTS, st.booleans(), st.booleans())
def test_both_directions_have_one_grade(
    rate: str, a: FabricPort | None, b: FabricPort | None, has_hca: bool, is_plane: bool
) -> None:
    there = graded(rate, a, b, has_hca=has_hca, is_plane=is_plane)
    assert there == graded(rate, b, a, has_hca=has_hca, is_plane=is_plane)
    assert there.text


@given(st.sampled_from(list(LANE_GBPS)), PORTS, PORTS)
def test_more_evidence_needed_than_one_end(speed: str, a: FabricPort | None, b: FabricPort | None) -> None:
    """A link of four lanes is never called slow on the word of one end."""
    for ends in ((a, None), (None, b), (a, NOTHING)):
        assert graded(f"4x {speed}", *ends).verdict != SLOW
