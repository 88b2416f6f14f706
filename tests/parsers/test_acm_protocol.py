"""The messages of ibacm and ibarr: 63 recorded exchanges against what another client read in them, then any bytes."""

from __future__ import annotations

import ast
import ipaddress
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import acm_protocol, ibarr
from ibkit.parsers.acm_protocol import (
    DEST,
    EP_QUERY,
    IP4,
    IP6,
    NAME,
    NODELAY,
    PATH,
    PERF_QUERY,
    QUERY_SA,
    RESOLVE,
    SOURCE,
    Element,
    Endpoint,
    Message,
    PathRecord,
    decode,
    decode_path,
    encode,
    encode_path,
    fault,
)  # fmt: skip

FRAMES = json.loads((Path(__file__).parents[2] / "fixtures/acm/frames.json").read_text())["frames"]
IDS = [f"{number}-{frame['name']}" for number, frame in enumerate(FRAMES)]
#: Requests that ibacm refuses by closing the connection, and what is wrong with them.
REFUSED = {59: "version 2", 60: "unknown operation: 4", 62: "88 bytes, and 160 are there"}


def message_of(text: str) -> Message:
    message = decode(bytes.fromhex(text))
    assert message is not None
    return message


def gid(text: str) -> int:
    return int(ipaddress.IPv6Address(text))


# What was recorded


def test_there_are_63() -> None:
    assert len(FRAMES) == 63
    assert [number for number, frame in enumerate(FRAMES) if not frame["reply"]] == [35, 59, 60, 61, 62]


@pytest.mark.parametrize("frame", FRAMES, ids=IDS)
def test_each_is_encoded_as_it_was(frame: dict[str, Any]) -> None:
    for text in filter(None, (frame["request"], frame["reply"])):
        message = message_of(text)
        assert encode(message).hex() == text
        for element in message.elements:
            if element.type == PATH:
                path = decode_path(element.info)
                assert path is not None and encode_path(path) == element.info


@pytest.mark.parametrize(("number", "frame"), list(enumerate(FRAMES)), ids=IDS)
def test_what_ibacm_accepts_is_well_formed(number: int, frame: dict[str, Any]) -> None:
    wrong = fault(message_of(frame["request"]))
    if number in REFUSED:
        assert wrong and REFUSED[number] in wrong
    else:  # the length of number 61 is well in the other byte order, in which it is read then
        assert wrong is None
    if frame["reply"]:
        assert fault(message_of(frame["reply"])) is None


@pytest.mark.parametrize("frame", [frame for frame in FRAMES if frame["reply"]], ids=lambda frame: frame["name"])
def test_each_reply_means_what_another_client_read(frame: dict[str, Any]) -> None:
    reply = message_of(frame["reply"])
    for note in frame["notes"]:
        if head := re.match(r"ver=1 op=0x(\w+) status=(\d+)\((\w+)\) .* len=(\d+) tid=0x(\w+)", note):
            assert (reply.operation | reply.is_ack << 7, reply.status) == (int(head[1], 16), int(head[2]))
            assert acm_protocol.STATUSES[reply.status][0] == head[3]
            assert (reply.length, int.from_bytes(reply.id, "little")) == (int(head[4]), int(head[5], 16))
        elif path_note := re.match(r" *ep flags=0x(\w+) type=0x10 (\{.*\})", note):
            told = ast.literal_eval(path_note[2])
            (element,) = [element for element in reply.elements if element.type == PATH]
            path = decode_path(element.info)
            assert path is not None and element.flags == int(path_note[1], 16)
            assert (path.dgid, path.sgid) == (gid(told["dgid"]), gid(told["sgid"]))
            assert (path.dlid, path.slid, path.sl, path.hop_limit) == (
                told["dlid"],
                told["slid"],
                told["sl"],
                told["hop"],
            )
            assert path.pkey == int(told["pkey"], 16)
            assert path.mtu_selector << 6 | path.mtu_code == told["mtu"]
            assert path.rate_selector << 6 | path.rate_code == told["rate"]
            assert path.life_selector << 6 | path.life_code == told["life"]
            assert (path.reversible, path.path_count) == (bool(told["rev"]), told["npath"])
            assert (path.flow_label, path.traffic_class) == (told["flow"], told["tclass"])
        elif perf := re.match(r"status (\d+) n (\d+) (\[.*\])", note):
            assert (reply.status, list(reply.counters)) == (int(perf[1]), ast.literal_eval(perf[3]))
        elif state := re.match(r"status (\d+) len (\d+)\Z", note):
            assert (reply.status, reply.length) == (int(state[1]), int(state[2]))
        else:
            end = re.match(
                r"guid 0x(\w+) port (\d+) physports (\d+) pkey 0x(\w+) naddr (\d+) prov (\w+) (\[.*\])", note
            )
            assert end and reply.endpoint, note
            found = reply.endpoint
            assert (found.guid, found.port, found.port_count) == (int(end[1], 16), int(end[2]), int(end[3]))
            assert (found.pkey, found.address_count) == (int(end[4], 16), int(end[5]))
            assert acm_protocol.text(found.provider) == end[6]
            assert list(map(acm_protocol.text, found.addresses)) == ast.literal_eval(end[7])


def frame_of(name: str) -> dict[str, Any]:
    return next(frame for frame in FRAMES if frame["name"] == name)


def asked(request: bytes) -> str:
    """The bytes of a request with the id that the recorded ones have."""
    message = decode(request)
    assert message is not None and message.id == bytes(8)
    if message.operation != RESOLVE:
        return request.hex()
    return encode(message._replace(id=(0x1122334455667788).to_bytes(8, "little"))).hex()


@pytest.mark.parametrize(
    ("name", "request_bytes"),
    [
        ("ep query index=2 port=0", acm_protocol.endpoint_request(2)),
        ("ep query index=1 port=2", acm_protocol.endpoint_request(1, 2)),
        ("perf index=0 src=None", acm_protocol.counters_request()),
        ("perf index=0 src=10.10.0.1", acm_protocol.counters_request((IP4, b"\n\n\0\1"))),
        (
            "resolve dst=10.10.0.2 src=10.10.0.1 flags=0x0",
            acm_protocol.resolve_request((IP4, b"\n\n\0\2"), (IP4, b"\n\n\0\1")),
        ),
        (
            "resolve dst=10.20.0.9 src=10.10.0.1 flags=0x40000000",
            acm_protocol.resolve_request((IP4, b"\n\x14\0\x09"), (IP4, b"\n\n\0\1"), flags=NODELAY),
        ),
        ("resolve dst=hostb3 src=hosta1 flags=0x0", acm_protocol.resolve_request((NAME, b"hostb3"), (NAME, b"hosta1"))),
        (
            "resolve dst=hosta2 src=10.10.0.1 flags=0x0",
            acm_protocol.resolve_request((NAME, b"hosta2"), (IP4, b"\n\n\0\1")),
        ),
        ("resolve dst=10.10.0.2 src=None flags=0x0", acm_protocol.resolve_request((IP4, b"\n\n\0\2"))),
        ("resolve PATH {'dlid': 5} flags=0x0", acm_protocol.path_request(PathRecord(dlid=5))),
        (
            "resolve PATH {'dgid': 'fec0:0:0:2:b2:0:0:31', 'sgid': 'fec0:0:0:1:a1:0:0:11'} flags=0x80000000",
            acm_protocol.path_request(
                PathRecord(gid("fec0:0:0:2:b2:0:0:31"), gid("fec0:0:0:1:a1:0:0:11")), flags=QUERY_SA
            ),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_requests_are_those_that_ibacm_answered(name: str, request_bytes: bytes) -> None:
    assert asked(request_bytes) == frame_of(name)["request"]


def test_a_name_that_has_no_room() -> None:
    assert len(acm_protocol.resolve_request((NAME, b"n" * 64), (NAME, b"s"))) == 160
    with pytest.raises(ValueError, match="65 bytes"):
        acm_protocol.resolve_request((NAME, b"n" * 65))


def test_addresses_of_elements() -> None:
    request = decode(acm_protocol.resolve_request((IP6, bytes(15) + b"\1"), (NAME, b"n01")))
    assert request is not None
    source, dest = request.elements
    assert (source.flags, source.address, dest.flags, dest.address) == (SOURCE, b"n01", DEST, bytes(15) + b"\1")
    assert Element(0, PATH, bytes(64)).address is None


def test_a_status_is_told_in_words() -> None:
    assert acm_protocol.status_text(6).startswith("ETIMEDOUT: nobody answered")
    assert acm_protocol.status_text(22) == "22: choosing the source failed: Invalid argument"
    assert acm_protocol.status_text(255).startswith("255: ")


# Any bytes, any message


@given(st.binary(max_size=400) | st.binary(max_size=400).map(lambda data: b"\1\1" + data))
def test_any_bytes_are_a_message(data: bytes) -> None:
    message = decode(data)
    if len(data) < 16:
        assert message is None
    else:
        assert message is not None and encode(message) == data
        fault(message)


@given(st.sampled_from(FRAMES), st.sampled_from(["request", "reply"]), st.integers(0, 300), st.integers(0, 255))
def test_a_changed_byte_stays_one_changed_byte(frame: dict[str, Any], which: str, place: int, value: int) -> None:
    data = bytearray.fromhex(frame[which] or frame["request"])
    data[place % len(data)] = value
    message = decode(bytes(data))
    assert message is not None and encode(message) == data


infos = st.binary(min_size=64, max_size=64)
elements = st.builds(Element, st.integers(0, (1 << 32) - 1), st.integers(0, 0xFFFF), infos, st.integers(0, 0xFFFF))
counters = st.lists(st.integers(0, (1 << 64) - 1), max_size=9).map(tuple)


@given(
    st.lists(elements, max_size=7).map(tuple), st.sampled_from(["little", "big"]), st.integers(0, 255), st.booleans()
)
def test_any_resolve_message_comes_back(parts: tuple[Element, ...], order: Any, status: int, ack: bool) -> None:
    made = Message(RESOLVE, status, elements=parts, length=16 + 72 * len(parts), order=order, is_ack=ack)
    assert decode(encode(made)) == made and fault(made) is None


@given(counters)
def test_any_counters_come_back(values: tuple[int, ...]) -> None:
    made = Message(PERF_QUERY, data=(len(values), 0, 0), counters=values, is_ack=True, length=16 + 8 * len(values))
    assert decode(encode(made)) == made and fault(made) is None


@given(
    st.integers(0, (1 << 64) - 1), st.integers(0, 255), st.integers(0, 0xFFFF), st.lists(infos, max_size=9).map(tuple)
)
def test_any_endpoint_comes_back(guid: int, port: int, pkey: int, addresses: tuple[bytes, ...]) -> None:
    end = Endpoint(guid, port, 2, pkey, len(addresses), b"ibacmp".ljust(64, b"\0"), addresses)
    made = Message(EP_QUERY, endpoint=end, is_ack=True, length=96 + 64 * len(addresses))
    assert decode(encode(made)) == made and fault(made) is None


bits = {
    "dgid": 128, "sgid": 128, "dlid": 16, "slid": 16, "pkey": 16, "sl": 4, "hop_limit": 8, "flow_label": 20,
    "traffic_class": 8, "mtu_code": 6, "rate_code": 6, "life_code": 6, "mtu_selector": 2, "rate_selector": 2,
    "life_selector": 2, "path_count": 7, "qos_class": 12, "service_id": 64, "preference": 8, "raw_traffic": 4,
}  # fmt: skip
paths = st.builds(
    PathRecord, reversible=st.booleans(), reserved=st.binary(min_size=6, max_size=6),
    **{name: st.integers(0, (1 << width) - 1) for name, width in bits.items()},
)  # fmt: skip


@given(paths)
def test_any_path_comes_back(path: PathRecord) -> None:
    data = encode_path(path)
    assert len(data) == 64 and decode_path(data) == path


@given(infos)
def test_any_64_bytes_are_a_path(data: bytes) -> None:
    path = decode_path(data)
    assert path is not None and encode_path(path) == data


def test_fewer_bytes_are_none() -> None:
    assert decode_path(bytes(63)) is None and decode_path(bytes(65)) is None


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"length": 15}, "15 bytes"),
        ({"tail": b"x"}, "tells of"),
        ({"length": 90, "tail": b"xx"}, "2 bytes behind"),
        ({"version": 0}, "version 0"),
    ],
)
def test_faults_of_a_reply(change: dict[str, Any], wrong: str) -> None:
    reply = message_of(frame_of("resolve dst=10.10.0.2 src=10.10.0.1 flags=0x0")["reply"])
    assert wrong in (fault(reply._replace(**change)) or "")


def test_counts_that_lie() -> None:
    counters_reply = message_of(frame_of("perf index=0 src=None")["reply"])
    assert "8 counters, and 7" in (fault(counters_reply._replace(data=(8, 0, 0))) or "")
    endpoint_reply = message_of(FRAMES[0]["reply"])
    assert endpoint_reply.endpoint is not None
    lying = endpoint_reply._replace(endpoint=endpoint_reply.endpoint._replace(address_count=3))
    assert "3 addresses, and 2" in (fault(lying) or "")


# ibarr: by the layout of msg_spec.h, by hand


QUESTION = "01000000 00000001 0001 0000 0001 0008 0a140003"
ANSWER = "00000000 00000001 0001 0000 0010 0014 fec0000000000002 00b2000000000031"


def test_the_question() -> None:
    assert ibarr.question(b"\n\x14\0\3") == bytes.fromhex(QUESTION)


def test_the_answer() -> None:
    message = ibarr.decode(bytes.fromhex(ANSWER))
    assert message is not None and ibarr.fault(message) is None
    assert ibarr.gid_of(message) == gid("fec0:0:0:2:b2:0:0:31")
    nobody = ibarr.decode(bytes.fromhex("010000000000000100000000"))
    assert nobody is not None and ibarr.fault(nobody) is None and ibarr.gid_of(nobody) is None


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (ANSWER.replace("00000000", "02000000", 1), "version 2"),
        (ANSWER.replace("00000001", "00000002", 1), "question 2"),
        (ANSWER[:-2], "1 parts, and 0"),
        (ANSWER + "00", "1 parts, and 1"),
        (ANSWER.replace("0010 0014", "0001 0014"), "something else"),
        (ANSWER.replace("0014", "0000"), "1 parts, and 0"),
        (QUESTION, "something else"),
    ],
)
def test_answers_that_are_none(text: str, wrong: str) -> None:
    message = ibarr.decode(bytes.fromhex(text))
    assert message is not None and wrong in (ibarr.fault(message) or "")


@given(st.binary(max_size=120) | st.binary(max_size=60).map(lambda data: bytes.fromhex(ANSWER)[:12] + data))
def test_any_datagram_is_read_and_written_back(data: bytes) -> None:
    message = ibarr.decode(data)
    if len(data) < 12:
        assert message is None
    else:
        assert message is not None and ibarr.encode(message) == data
        if ibarr.fault(message) is None:
            ibarr.gid_of(message)
