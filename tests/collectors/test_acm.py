"""ibacm and ibarr asked: as they were recorded, as they should not be, and replayed from a capture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.answers import Answers, said
from support.services import recorded_reply

from ibkit.collectors.acm import MAX_ENDPOINTS, ask_acm, collect_acm
from ibkit.collectors.doctor_acm import acm_checks
from ibkit.collectors.ibarr import ask_ibarr
from ibkit.model.acm import AcmAnswer, AcmEndpoint, AcmService
from ibkit.model.ids import Gid, Guid, PKey
from ibkit.model.path_record import PathRecord
from ibkit.parsers import acm_protocol, ibarr
from ibkit.parsers.acm_file import key_of
from ibkit.sources.base import CLOSED, LATE, CommandAnswer, ExchangeAnswer
from ibkit.sources.opening import open_site
from ibkit.sources.recording import RecordingSource
from ibkit.sources.writer import Recorded, write_capture

SOCKET, LINK = "unix:/run/ibacm-unix.sock", "unix:/run/ibacm.sock"
RUNNING = {"/run/ibacm.pid": "4242\n", "/proc/4242/comm": "ibacm\n"}
A1 = Gid.parse("fec0::1:a1:0:0:11")
Replies = Callable[[bytes], bytes | str | None]


class AcmHost(Answers):
    """A host with ibacm. ``replies`` gives a request's reply: None is silence, empty a closed connection, a text an
    error.
    """

    def __init__(
        self,
        replies: Replies,
        *,
        files: dict[str, str] = RUNNING,
        errors: dict[str, str] | None = None,
        commands: dict[str, CommandAnswer] | None = None,
        at: str = SOCKET,
    ) -> None:
        super().__init__(commands or {}, files=files, errors=errors)
        self.asked: list[tuple[str, bytes, float]] = []
        self._replies = replies
        self._at = at

    def exchange(self, address: str, request: bytes, *, deadline_seconds: float = 5.0) -> ExchangeAnswer:
        self.asked.append((address, request, deadline_seconds))
        if address != self._at:
            return ExchangeAnswer(address, request, error="ENOENT")
        reply = self._replies(request)
        if isinstance(reply, str):
            return ExchangeAnswer(address, request, error=reply)
        error = LATE if reply is None else CLOSED if not reply else None
        return ExchangeAnswer(address, request, reply or b"", error)


def as_recorded(request: bytes) -> bytes | None:
    """The recorded reply; from the cache, where only a request that waits was recorded."""
    reply = recorded_reply(request)
    message = acm_protocol.decode(request)
    if reply == b"" and message and message.operation == acm_protocol.RESOLVE:
        elements = tuple(element._replace(flags=element.flags & ~acm_protocol.NODELAY) for element in message.elements)
        reply = recorded_reply(acm_protocol.encode(message._replace(elements=elements)))
    return reply


def host(replies: Replies = as_recorded, **more: object) -> AcmHost:
    return AcmHost(replies, errors={"/run/ibacm-tcp.port": "ENOENT"}, **more)  # type: ignore[arg-type]


def path_to(source: AcmHost, address: str, **more: float) -> list[AcmAnswer]:
    return list(ask_acm(source, collect_acm(source), *key_of(address), **more))


def test_the_service() -> None:
    assert collect_acm(host()) == AcmService(
        True,
        SOCKET,
        (
            AcmEndpoint(1, Guid(0xA1000000000010), 1, 1, PKey(0x8001), "ibacmp", ("hosta1-st", "10.10.1.1")),
            AcmEndpoint(2, Guid(0xA1000000000010), 1, 1, PKey(0xFFFF), "ibacmp", ("hosta1", "10.10.0.1", "fd00::a1")),
        ),
        {"error": 0, "resolve": 0, "no_data": 0, "addr_query": 0, "addr_cache": 0, "route_query": 0, "route_cache": 0},
    )


# Is it running? It is not asked where it is not: systemd would start it.


@pytest.mark.parametrize(
    ("files", "missing", "is_running"),
    [
        (RUNNING, "", True),
        ({"/run/ibacm.pid": "4242\n", "/proc/4242/comm": "bash\n"}, "", False),
        ({"/run/ibacm.pid": "4242\n"}, "/proc/4242/comm", False),
        ({"/run/ibacm.pid": "x; reboot\n"}, "", False),
        ({}, "/run/ibacm.pid", False),
        ({}, "", None),
    ],
)
def test_whether_it_runs(files: dict[str, str], missing: str, is_running: bool | None) -> None:
    source = AcmHost(as_recorded, files=files, errors={missing: "ENOENT"})
    assert collect_acm(source).is_running is is_running
    assert bool(source.asked) is bool(is_running)


@pytest.mark.parametrize(
    ("pgrep", "is_running"),
    [(said("4242\n"), True), (said("", exit_status=1), False), (said(failure="missing", exit_status=None), None),
     (said("", "pgrep: error", 3), None)],
)  # fmt: skip
def test_its_file_is_roots(pgrep: CommandAnswer, is_running: bool | None) -> None:
    """Others ask pgrep."""
    errors = {"/run/ibacm.pid": "EACCES", "/run/ibacm-tcp.port": "ENOENT"}
    source = AcmHost(as_recorded, files={}, errors=errors, commands={"pgrep -x ibacm": pgrep})
    assert collect_acm(source).is_running is is_running


def test_its_addresses() -> None:
    assert collect_acm(host(at=LINK)).address == LINK
    files = {**RUNNING, "/run/ibacm-tcp.port": "6125\n"}
    assert collect_acm(AcmHost(as_recorded, files=files, at="tcp:127.0.0.1:6125")).address == "tcp:127.0.0.1:6125"
    assert collect_acm(AcmHost(as_recorded, files={**RUNNING, "/run/ibacm-tcp.port": "x\n"})).address == SOCKET
    (problem,) = collect_acm(host(at="elsewhere")).problems
    assert (problem.kind, "nobody listens" in problem.text) == ("acm-no-socket", True)


@pytest.mark.parametrize(
    ("replies", "text"),
    [
        (lambda request: None, "no whole answer in 2 seconds"),
        (lambda request: b"", "closed the connection"),
        (lambda request: "EACCES", "EACCES"),
        (lambda request: bytes(16), "no message of ibacm's: version 0"),
        (lambda request: bytes(15), "no message of ibacm's"),
        (lambda request: request, "did not tell its endpoint 1: SUCCESS"),
        (lambda request: as_recorded(request)[:100], "tells of 224 bytes"),  # type: ignore[index]
        (lambda request: recorded_reply(acm_protocol.counters_request()), "another request"),
        (lambda request: as_recorded(request)[:8] + b"12345678" + bytes(8), "tells of"),  # type: ignore[index]
    ],
)
def test_a_service_that_does_not_answer(replies: Replies, text: str) -> None:
    service = collect_acm(host(replies))
    assert (service.is_running, service.endpoints) == (True, None)
    assert text in service.problems[0].text
    assert service.problems[0].source == SOCKET


def test_a_service_that_never_ends() -> None:
    endless = host(lambda request: as_recorded(acm_protocol.endpoint_request(1)) if request[1] == 3 else None)
    service = collect_acm(endless)
    assert service.endpoints is not None and len(service.endpoints) == MAX_ENDPOINTS
    assert service.counters is None


def test_it_stops_answering_in_the_middle() -> None:
    service = collect_acm(host(lambda request: as_recorded(request) if request[3] < 2 else None))
    assert service.endpoints is not None and [endpoint.number for endpoint in service.endpoints] == [1]
    assert "endpoint 2: no whole answer" in service.problems[0].text


# What the doctor says of it


def checks(source: AcmHost) -> list[tuple[str, str, str]]:
    return [(check.id, check.state, check.text) for check in acm_checks(source)]


def test_the_doctor_on_ibacm() -> None:
    assert checks(host()) == [("ibacm", "ok", "ibacm serves 2 endpoints: hosta1-st, hosta1")]
    nobody = host(lambda request: recorded_reply(acm_protocol.endpoint_request(3)) if request[1] == 3 else b"")
    ((_, state, text),) = checks(nobody)
    assert (state, "serves no port" in text) == ("limited", True)
    ((_, state, text),) = checks(host(lambda request: None))
    assert (state, "no whole answer" in text) == ("broken", True)
    ((_, state, text),) = checks(host(at="elsewhere"))
    assert (state, "nobody listens" in text) == ("broken", True)


def test_a_host_without_ibacm_lacks_nothing() -> None:
    assert checks(AcmHost(as_recorded, files={}, errors={"/run/ibacm.pid": "ENOENT"})) == []
    assert checks(AcmHost(as_recorded, files={})) == []


# Paths


def test_a_path_from_each_endpoint() -> None:
    """In partition 0x8001 that path is another one: each endpoint has a cache of its own."""
    storage, default = path_to(host(), "10.10.0.2")
    assert default == AcmAnswer(
        AcmEndpoint(2, Guid(0xA1000000000010), 1, 1, PKey(0xFFFF), "ibacmp", ("hosta1", "10.10.0.1", "fd00::a1")),
        PathRecord(
            A1, Gid.parse("fec0::1:a1:0:0:21"), 1, 5, PKey(0xFFFF), 0, 2048, 10.0, 0, pytest.approx(1.07, 0.01), 0, 0,
            True,
        ),
        "lookup",
        0,
    )  # fmt: skip
    assert storage.path and storage.path.pkey == 0x8001


def test_a_path_through_the_router() -> None:
    """By name; the LID is the router's, the hop limit says that a GRH is needed."""
    _, answer = path_to(host(), "hostb3")
    assert answer.path and (answer.path.dlid, answer.path.hop_limit, answer.path.is_routed) == (4, 255, True)
    assert answer.path.dgid == Gid.parse("fec0::2:b2:0:0:31")


def test_only_the_cache_is_asked() -> None:
    source = host()
    _, answer = path_to(source, "10.20.0.9", seconds=0)
    assert (answer.by, answer.status, answer.path) == ("cache", 3, None)
    assert answer.error == "ENODATA: not in ibacm's cache, or the SA has no such path"
    assert flags_of(source) == [acm_protocol.NODELAY] * 2 and source.asked[-1][2] == 2.0


def test_a_look_up_is_waited_for() -> None:
    source = host()
    _, answer = path_to(source, "10.10.0.77", seconds=3)
    assert (answer.by, answer.status, answer.error) == ("lookup", None, "no whole answer in 3 seconds")
    assert flags_of(source) == [0, 0] and source.asked[-1][2] == 3


def flags_of(source: AcmHost) -> list[int]:
    """What the requests for a path say of time."""
    messages = (acm_protocol.decode(request) for _, request, _ in source.asked)
    return [message.elements[1].flags & acm_protocol.NODELAY for message in messages if message and message.elements]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda reply: reply[:16], "tells of 88 bytes"),
        (lambda reply: reply[:6] + b"\x10\0" + reply[8:16], "success and tells no path"),
        (lambda reply: reply[:20] + b"\2\0" + reply[22:], "success and tells no path"),
        (lambda reply: reply[:64] + b"\0\0" + reply[66:], "success and tells no path"),  # no DLID
        (lambda reply: reply[:2] + b"\x16" + reply[3:], "22: choosing the source failed"),
        (lambda reply: reply[:8] + b"12345678" + reply[16:], "another request"),
        (lambda reply: b"\1\3" + reply[2:], "tells of"),
    ],
)
def test_replies_that_tell_no_path(change: Callable[[bytes], bytes], error: str) -> None:
    source = host()
    service = collect_acm(source)
    source._replies = lambda request: change(as_recorded(request) or b"")
    for answer in ask_acm(source, service, *key_of("10.10.0.2")):
        assert answer.path is None and error in (answer.error or "")


def test_a_capture_replays_it(tmp_path: Path) -> None:
    live = RecordingSource(host())
    service = collect_acm(live)
    answers = list(ask_acm(live, service, *key_of("10.10.0.2")))
    write_capture(str(tmp_path / "c"), Recorded("n", None, (("n", live),), RecordingSource(Answers({}))))
    replay = open_site(str(tmp_path / "c")).hosts[0].source
    assert collect_acm(replay) == service
    assert list(ask_acm(replay, service, *key_of("10.10.0.2"))) == answers
    other = list(ask_acm(replay, service, *key_of("10.10.0.3")))
    assert {answer.error for answer in other} == {"it was not asked when this was recorded"}


# ibarr


def peer(*tlvs: ibarr.Tlv, number: int = 1) -> bytes:
    return ibarr.encode(ibarr.Message(number, tlvs, len(tlvs), 0))


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (peer(), "the host that answers does not have the address 10.0.0.1"),
        (peer(number=7), "is not ibarr: the answer to question 7"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "is not ibarr"),
        (bytes(5), "is not ibarr: it is too short"),
        (None, "no answer from 10.0.0.1 UDP port 4791 in 4 seconds"),
        ("ECONNREFUSED", "ibarr does not run there"),
        ("EHOSTUNREACH", "10.0.0.1: EHOSTUNREACH"),
        ("not-recorded", "was not asked when this was recorded"),
    ],
)
def test_a_peer_that_tells_no_gid(reply: bytes | str | None, error: str) -> None:
    answer = ask_ibarr(AcmHost(lambda request: reply, at="udp:10.0.0.1:4791"), "10.0.0.1")
    assert answer.gid is None and error in (answer.error or "")


def test_the_peers_own_word() -> None:
    source = AcmHost(lambda request: peer(ibarr.Tlv(0x10, int(A1).to_bytes(16, "big"))), at="udp:10.0.0.1:4791")
    assert ask_ibarr(source, "10.0.0.1") == (A1, None)
    assert source.asked[0][1] == ibarr.question(b"\n\0\0\1")


@pytest.mark.parametrize("address", ["fd00::1", "n01", "10.0.0.1/24"])
def test_ibarr_is_for_ipv4(address: str) -> None:
    source = AcmHost(lambda request: None)
    assert "IPv4" in (ask_ibarr(source, address).error or "") and source.asked == []
