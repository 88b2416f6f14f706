"""Services' messages in an anonymised capture: nothing of the names and addresses is left, and they still answer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.answers import Answers
from support.services import FRAMES, recorded_reply

from ibkit.collectors.acm import ask_acm, collect_acm
from ibkit.collectors.ibarr import ask_ibarr
from ibkit.model.ids import Gid
from ibkit.parsers import acm_hosts, acm_protocol, ibarr
from ibkit.parsers.acm_file import IP4, NAME, key_of
from ibkit.sources.anonymise import anonymised
from ibkit.sources.base import ExchangeAnswer
from ibkit.sources.messages import scrubbed
from ibkit.sources.pseudonyms import Pseudonyms
from ibkit.sources.recording import RecordingSource
from ibkit.sources.writer import Recorded

KEY = b"0" * 32
SOCKET = "unix:/run/ibacm-unix.sock"
#: A GUID with a vendor's part, which the recorded ones lack: theirs are small numbers, and stay.
HOSTS = "10.10.0.2 fec0:0:0:1:a1:0:0:21\nstorage7 fec0::1:c42:a103:aa:bb21\n"
GID_TEXT = "fec0::1:c42:a103:aa:bb21"


class Host(Answers):
    """ibacm as recorded, and a peer with ibarr."""

    def __init__(self) -> None:
        files = {"/run/ibacm.pid": "7\n", "/proc/7/comm": "ibacm\n", "/etc/rdma/ibacm_hosts.data": HOSTS}
        super().__init__({}, files=files, errors={"/run/ibacm-tcp.port": "ENOENT"})

    def exchange(self, address: str, request: bytes, *, deadline_seconds: float = 5.0) -> ExchangeAnswer:
        if address.startswith("udp:"):
            gid = int(Gid.parse(GID_TEXT)).to_bytes(16, "big")
            return ExchangeAnswer(address, request, ibarr.encode(ibarr.Message(1, (ibarr.Tlv(16, gid),), 1)))
        return ExchangeAnswer(address, request, recorded_reply(request) or b"", None)


def recorded() -> RecordingSource:
    source = RecordingSource(Host())
    service = collect_acm(source)
    assert service.endpoints and len(service.endpoints) == 2
    list(ask_acm(source, service, *key_of("10.10.0.77")))
    list(ask_acm(source, service, *key_of("hostb3")))
    ask_ibarr(source, "10.20.0.3")
    source.read("/etc/rdma/ibacm_hosts.data")
    return source


def test_names_and_addresses_are_gone_and_it_still_answers() -> None:
    other = anonymised(Recorded("head1", None, (("hosta1", recorded()),), RecordingSource(Answers({}))), KEY)
    source = other.hosts[0][1]
    left = json.dumps(
        [[exchange.address, exchange.request.hex(), exchange.reply.hex()] for exchange in source.exchanges.values()]
    )
    for name in ("hosta1", "hostb3"):
        assert name.encode().hex() not in left
    for address in ("10.10.0.1", "10.10.1.1", "10.20.0.3"):
        assert address not in left and address.encode().hex() not in left and key_of(address)[1].hex() not in left
    new = Pseudonyms(KEY)
    service = collect_acm(source)
    assert service.problems == () and service.endpoints is not None and service.address == SOCKET
    (_, default) = service.endpoints
    assert key_of(default.addresses[1])[1] == new.ipv4(0x0A0A0001).to_bytes(4, "big")
    assert default.addresses[0].endswith("1") and key_of(default.addresses[0])[0] == NAME
    hosts = acm_hosts.parse(source.read("/etc/rdma/ibacm_hosts.data").text or "").value
    assert [entry.kind for entry in hosts] == [IP4, NAME] and "storage" not in hosts[1].key
    peer = ".".join(map(str, new.ipv4(0x0A140003).to_bytes(4, "big")))
    assert ask_ibarr(source, peer).gid == hosts[1].gid != Gid.parse(GID_TEXT)


@pytest.mark.parametrize("frame", [frame for frame in FRAMES if frame["reply"]], ids=lambda frame: frame["name"])
def test_numbers_without_a_name_stay(frame: dict[str, str]) -> None:
    """LIDs, P_Keys, codes, statuses and counters say the same as before."""
    before = ExchangeAnswer(SOCKET, bytes.fromhex(frame["request"]), bytes.fromhex(frame["reply"]))
    after = scrubbed(before, Pseudonyms(KEY), lambda text: text)
    assert after is not None and len(after.reply) == len(before.reply)
    old, new = acm_protocol.decode(before.reply), acm_protocol.decode(after.reply)
    assert old and new and (old.status, old.counters, old.length) == (new.status, new.counters, new.length)
    for one, other in zip(old.elements, new.elements, strict=True):
        if one.type == acm_protocol.PATH:
            was, now = acm_protocol.decode_path(one.info), acm_protocol.decode_path(other.info)
            assert was and now and was._replace(dgid=0, sgid=0) == now._replace(dgid=0, sgid=0)


@given(st.binary(max_size=200), st.binary(max_size=200), st.sampled_from([SOCKET, "udp:10.0.0.1:4791"]))
def test_what_is_not_understood_is_left_out(request: bytes, reply: bytes, address: str) -> None:
    after = scrubbed(ExchangeAnswer(address, request, reply), Pseudonyms(KEY), lambda text: text)
    if len(request) < 12 or 0 < len(reply) < 12:
        assert after is None


def test_a_secret_in_the_unused_bytes_goes() -> None:
    """Behind a name's end, behind an address, in reserved bytes, in an unknown element."""
    secret = b"SECRET"
    infos = ((1, b"n\0" + secret), (2, b"\n\0\0\1" + secret), (0x10, bytes(58) + secret), (9, secret))
    elements = tuple(acm_protocol.Element(1, kind, info.ljust(64, b"\0")) for kind, info in infos)
    request = acm_protocol.encode(acm_protocol.Message(1, elements=elements, length=16 + 4 * 72))
    after = scrubbed(ExchangeAnswer(SOCKET, request), Pseudonyms(KEY), lambda text: text)
    assert after is not None and secret not in after.request
