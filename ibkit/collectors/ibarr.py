"""ibarr, asked at the peer itself: does it run there, and which GID does it claim for its IP address."""

from __future__ import annotations

from ibkit.model.acm import IbarrAnswer
from ibkit.model.ids import Gid
from ibkit.parsers import ibarr
from ibkit.parsers.acm_file import IP4, key_of
from ibkit.sources.base import LATE, NOT_RECORDED, Source

#: Four datagrams, one a second.
DEADLINE_SECONDS = 4.0


def ask_ibarr(source: Source, address: str) -> IbarrAnswer:
    """The GID that the host at this IPv4 address claims. Datagrams go to that host, so only where somebody wants it."""
    kind, packed = key_of(address)
    if kind != IP4:
        return IbarrAnswer(None, "ibarr knows IPv4 addresses only")
    answer = source.exchange(f"udp:{address}:{ibarr.PORT}", ibarr.question(packed), deadline_seconds=DEADLINE_SECONDS)
    if answer.error == "ECONNREFUSED":
        return IbarrAnswer(None, f"nobody listens at {address} UDP port {ibarr.PORT}: ibarr does not run there")
    if answer.error == LATE:
        text = f"no answer from {address} UDP port {ibarr.PORT} in {DEADLINE_SECONDS:g} seconds"
        return IbarrAnswer(None, f"{text}: no ibarr there, a firewall, or not an address of an IPoIB interface")
    if answer.error == NOT_RECORDED:
        return IbarrAnswer(None, "it was not asked when this was recorded")
    if answer.error is not None:
        return IbarrAnswer(None, f"{address}: {answer.error}")
    message = ibarr.decode(answer.reply)
    wrong = "it is too short" if message is None else ibarr.fault(message)
    if message is None or wrong:
        return IbarrAnswer(None, f"what answers at {address} UDP port {ibarr.PORT} is not ibarr: {wrong}")
    gid = ibarr.gid_of(message)
    if gid is None:
        return IbarrAnswer(None, f"the host that answers does not have the address {address}")
    return IbarrAnswer(Gid(gid))
