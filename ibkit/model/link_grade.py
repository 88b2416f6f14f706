"""Does a link run as well as both of its ends can? The grade by what is known of its ends.

Two ports train to the best that both have enabled (InfiniBand Architecture Specification volume 1, 14.2.5.6, and volume
2, the link training state machine). So a link below that is slow, and the cable, a connector or a port is at fault; one
at what is enabled, but below the speed that both support, is slow by configuration; one whose ends differ is limited by
the lesser (opareport of OPA FastFabric keeps the same three apart). Where this is not known of an end, one lane alone
is proof (a rule of OpenIB's ibcheckport); ``ibkit.model.graded_links`` looks at chips and like links for the others.

Traps: 2x is what a split port has. XDR shows each plane of a link as a 1x link of its own. Cages carry four lanes, so
that more of them are supported says nothing. An HDR100 adapter takes HDR on two lanes or EDR on four, and its PortInfo
supports HDR on four; NDR200 is the same, a generation later.
"""

from __future__ import annotations

from ibkit.model.fabric import FabricPort, Link
from ibkit.model.rates import best_common, generation_of_rank, lanes, speed_choice, speed_rank, width_choice
from ibkit.parsers.records import NamedTuple

#: It runs at its best; below what both ends can do; slower than like links, which may have a reason; not known.
OK, SLOW, SUSPECTED, UNKNOWN = "ok", "slow", "suspected", "unknown"

#: Why it is slow, or suspected to be (``planes-differ`` may be either).
ONE_LANE, PLANES_DIFFER = "one-lane", "planes-differ"
BELOW_ENABLED, BELOW_SUPPORTED = "below-enabled", "below-supported"
HALF_RATE, BOTH_FASTER, HCAS_FASTER = "half-rate", "both-ends-faster", "hcas-faster"
TOOLS_HINT = "tools-hint"
#: Why there is more to say of a link that runs at its best: the lesser end decides; fewer lanes are enabled than
#: supported; it is at the chip's limit.
ENDS_DIFFER, FEWER_LANES, CHIP_LIMIT = "ends-differ", "fewer-lanes", "chip-limit"
#: Why it is not known.
NO_RATE, NO_ABILITIES, ONE_PLANE = "no-rate", "no-abilities", "one-plane"

_FOUR_LANES = 4
_HDR, _XDR = speed_rank("HDR") or 0, speed_rank("XDR") or 0


class LinkGrade(NamedTuple):
    """``verdict`` is one of the four above, ``cause`` a stable word or None, ``text`` what was seen, for people."""

    verdict: str
    cause: str | None
    text: str


_BEST = LinkGrade(OK, None, "as fast as both ends can")
_ENDS_DIFFER = LinkGrade(OK, ENDS_DIFFER, "as fast as the lesser end can")
_FEWER_LANES = LinkGrade(OK, FEWER_LANES, "as fast as is enabled; both ends support more lanes")
_NO_RATE = LinkGrade(UNKNOWN, NO_RATE, "rate not known")
_NO_ABILITIES = LinkGrade(UNKNOWN, NO_ABILITIES, "what its ends can do is not known")
_ONE_LANE = LinkGrade(SLOW, ONE_LANE, "one lane only")
_ONE_PLANE = LinkGrade(UNKNOWN, ONE_PLANE, "one lane only, or one plane of an XDR link whose others are not seen")


def grade_ends(link: Link, a: FabricPort | None, b: FabricPort | None, *, has_hca: bool, is_plane: bool) -> LinkGrade:
    """The grade by the link's rate and by what its two ends have enabled and support, as far as these are known.

    ``has_hca``: one end is of a channel adapter. ``is_plane``: it is one plane of an XDR link.
    """
    count, rank = lanes(link.width), speed_rank(link.speed)
    if count is None or rank is None:
        return _NO_RATE
    if count == 1 and not is_plane:
        return _ONE_LANE if rank < _XDR else _ONE_PLANE
    if a is None or b is None:
        return _NO_ABILITIES
    enabled = _common(a.enabled_width, b.enabled_width, a.enabled_speed, b.enabled_speed)
    supported = _common(a.supported_width, b.supported_width, a.supported_speed, b.supported_speed)
    if enabled.speed > rank or (enabled.width > count and not is_plane):
        if has_hca and _is_half(count, rank, enabled):
            return _half(enabled)
        return LinkGrade(SLOW, BELOW_ENABLED, f"both ends have {enabled.text()} enabled")
    if supported.speed > rank:
        if has_hca and not enabled.is_certain and _is_half(count, rank, supported):
            return _half(supported)
        enabling = "and have less enabled" if enabled.is_certain else "what they have enabled is not known"
        return LinkGrade(SLOW, BELOW_SUPPORTED, f"both ends support {generation_of_rank(supported.speed)}, {enabling}")
    may_be_split = count < _FOUR_LANES and not is_plane
    if not enabled.is_certain and (may_be_split or not supported.is_certain):
        return _NO_ABILITIES
    if speed_choice(a.supported_speed) != speed_choice(b.supported_speed):
        return _ENDS_DIFFER
    return _FEWER_LANES if supported.width > count else _BEST


def enabled_is_known(a: FabricPort | None, b: FabricPort | None) -> bool:
    """Whether it is known of both ends which widths and speeds they have enabled."""
    if a is None or b is None:
        return False
    return _common(a.enabled_width, b.enabled_width, a.enabled_speed, b.enabled_speed).is_certain


class _Common(NamedTuple):
    """The best that both ends have, -1 where it is not known; ``is_certain``: no word of either end is unknown."""

    width: int
    speed: int
    is_certain: bool

    def text(self) -> str:
        """``4x HDR``."""
        known = (f"{self.width}x" if self.width > 0 else "", generation_of_rank(self.speed) if self.speed >= 0 else "")
        return " ".join(filter(None, known))


def _common(a_width: str | None, b_width: str | None, a_speed: str | None, b_speed: str | None) -> _Common:
    width, all_widths = best_common(width_choice(a_width), width_choice(b_width))
    speed, all_speeds = best_common(speed_choice(a_speed), speed_choice(b_speed))
    certain = all_widths and all_speeds and width is not None and speed is not None
    return _Common(-1 if width is None else width, -1 if speed is None else speed, certain)


def _is_half(count: int, rank: int, best: _Common) -> bool:
    """Whether an adapter of half the rate (HDR100, NDR200) would run like this: two lanes, or a generation less."""
    if best.speed < _HDR or best.width < _FOUR_LANES:
        return False
    return (count, rank) in ((_FOUR_LANES // 2, best.speed), (_FOUR_LANES, best.speed - 1))


def _half(best: _Common) -> LinkGrade:
    generation = generation_of_rank(best.speed)
    text = f"half of {best.text()}: an adapter for half the rate ({generation} on two lanes), or a fault"
    return LinkGrade(SUSPECTED, HALF_RATE, text)
