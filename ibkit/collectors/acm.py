"""ibacm, asked over its socket: is it running, which endpoints does it serve, which path does it know to an address.

No rights are needed. Two traps of the service: systemd starts ibacm when anybody touches its socket, so it is asked
only where its process is there; and it looks up one unknown address at a time, 9 seconds by default, so it is asked for
what is in its cache (NODELAY), or waited for a short time only. Either way it starts to look up what it does not know.
"""

from __future__ import annotations

from collections.abc import Iterator

from ibkit.model.acm import CACHE, LOOKUP, AcmAnswer, AcmEndpoint, AcmService
from ibkit.model.ids import Guid, PKey
from ibkit.model.path_record import of_codes
from ibkit.parsers import acm_protocol
from ibkit.parsers.acm_file import IP4, IP6, NAME, key_of
from ibkit.parsers.acm_protocol import Message
from ibkit.parsers.base import Problem
from ibkit.sources.base import CLOSED, LATE, NOT_RECORDED, Source

#: Of the process that runs, written as root (rdma-core, ``ibacm/src/acm.c``: acm_open_lock_file).
PID_FILE = "/run/ibacm.pid"
#: Where ibacm publishes its TCP port, if it listens on one.
PORT_FILE = "/run/ibacm-tcp.port"
#: Its sockets: the one itself, and the name by which librdmacm looks for it (the only one of old versions).
SOCKETS = ("unix:/run/ibacm-unix.sock", "unix:/run/ibacm.sock")
#: What ibacm answers from its memory takes no longer (seconds).
DEADLINE_SECONDS = 2.0
#: A path that the SA tells is there in milliseconds; an address that no file tells takes three tries of 3 seconds each,
#: behind others that wait (seconds).
PATH_SECONDS, LOOKUP_SECONDS = 0.5, 20.0
#: An index has 8 bits.
MAX_ENDPOINTS = 255

_EINVAL = 2
_TYPES = {NAME: acm_protocol.NAME, IP4: acm_protocol.IP4, IP6: acm_protocol.IP6}


def collect_acm(source: Source) -> AcmService:
    """The service, its endpoints and its counters; nothing is asked of a service that does not run."""
    is_running = _is_running(source)
    if not is_running:
        return AcmService(is_running)
    problems: list[Problem] = []
    for address in _addresses(source):
        reply = _ask(source, address, acm_protocol.endpoint_request(1), DEADLINE_SECONDS)
        if reply != "ENOENT" and reply != "ECONNREFUSED":
            endpoints = tuple(_endpoints(source, address, problems))
            known = endpoints or not problems
            counters = _counters(source, address, problems)
            return AcmService(True, address, endpoints if known else None, counters, tuple(problems))
    text = f"ibacm runs, but nobody listens at {' or '.join(_addresses(source))}; restart it"
    return AcmService(True, problems=(Problem("acm-no-socket", text, None, "ibacm"),))


def ask_acm(
    source: Source, service: AcmService, kind: str, packed: bytes, *, seconds: float = PATH_SECONDS
) -> Iterator[AcmAnswer]:
    """What each endpoint knows of an address: ``kind`` and ``packed`` are those of ibkit.parsers.acm_file.key_of.

    Each endpoint has a cache of its own, for its partition; none holds a name of more than 64 bytes. ``seconds`` is how
    long to wait for what is not in it: an entry of ibacm_hosts.data that was not used yet needs PATH_SECONDS, other
    addresses LOOKUP_SECONDS. With 0 only the cache answers. (To ask the cache first and then again would lose the SA's
    refusal: with it ibacm forgets the entry, and answers the second time that nobody has the address.)
    """
    if service.address is None or len(packed) > acm_protocol.ADDRESS_BYTES:
        return
    dest = _TYPES[kind], packed
    for endpoint in service.endpoints or ():
        if endpoint.addresses:
            local = _own_address(endpoint, kind)
            request = acm_protocol.resolve_request(dest, local, flags=0 if seconds else acm_protocol.NODELAY)
            by, deadline = (LOOKUP, seconds) if seconds else (CACHE, DEADLINE_SECONDS)
            yield _path_answer(source, service.address, request, endpoint, by, deadline)


def _own_address(endpoint: AcmEndpoint, kind: str) -> tuple[int, bytes]:
    """An address by which ibacm knows the endpoint, of the kind that is asked for where there is one."""
    keys = [key_of(address) for address in endpoint.addresses]
    own_kind, packed = next((key for key in keys if key[0] == kind), keys[0])
    return _TYPES[own_kind], packed


def _is_running(source: Source) -> bool | None:
    """By the process, not by the socket. The file of its id is root's; others ask pgrep."""
    answer = source.read(PID_FILE)
    if answer.text is not None:
        pid = answer.text.strip()
        return pid.isascii() and pid.isdigit() and source.read(f"/proc/{pid}/comm").text == "ibacm\n"
    if answer.error == "ENOENT":
        return False
    if answer.error == NOT_RECORDED:
        return None
    found = source.run(("pgrep", "-x", "ibacm"), deadline_seconds=DEADLINE_SECONDS)
    return None if found.failure or found.exit_status not in (0, 1) else found.exit_status == 0


def _addresses(source: Source) -> Iterator[str]:
    port = (source.read(PORT_FILE).text or "").strip()
    if port.isascii() and port.isdigit() and len(port) < 6:
        yield f"tcp:127.0.0.1:{port}"
    yield from SOCKETS


def _endpoints(source: Source, address: str, problems: list[Problem]) -> Iterator[AcmEndpoint]:
    for index in range(1, MAX_ENDPOINTS + 1):
        reply = _ask(source, address, acm_protocol.endpoint_request(index), DEADLINE_SECONDS)
        if isinstance(reply, Message) and reply.status == _EINVAL:
            return  # behind the last one
        endpoint = reply.endpoint if isinstance(reply, Message) else None
        if endpoint is None:
            why = reply if isinstance(reply, str) else acm_protocol.status_text(reply.status)
            problems.append(Problem("acm-no-answer", f"ibacm did not tell its endpoint {index}: {why}", None, address))
            return
        yield AcmEndpoint(
            index, Guid(endpoint.guid), endpoint.port, endpoint.port_count, PKey(endpoint.pkey),
            acm_protocol.text(endpoint.provider), tuple(map(acm_protocol.text, endpoint.addresses)),
        )  # fmt: skip


def _counters(source: Source, address: str, problems: list[Problem]) -> dict[str, int] | None:
    reply = _ask(source, address, acm_protocol.counters_request(), DEADLINE_SECONDS)
    if isinstance(reply, Message) and reply.status == 0:
        return dict(zip(acm_protocol.COUNTERS, reply.counters, strict=False))
    why = reply if isinstance(reply, str) else acm_protocol.status_text(reply.status)
    problems.append(Problem("acm-no-answer", f"ibacm did not tell its counters: {why}", None, address))
    return None


def _path_answer(
    source: Source, address: str, request: bytes, endpoint: AcmEndpoint, by: str, deadline_seconds: float
) -> AcmAnswer:
    reply = _ask(source, address, request, deadline_seconds)
    if isinstance(reply, str):
        return AcmAnswer(endpoint, None, by, None, reply)
    if reply.status:
        return AcmAnswer(endpoint, None, by, reply.status, acm_protocol.status_text(reply.status))
    infos = [element.info for element in reply.elements if element.type == acm_protocol.PATH]
    path = acm_protocol.decode_path(infos[0]) if infos else None
    if path is None or not path.dlid:  # of the SA's errors it keeps the upper byte only, which may be 0
        return AcmAnswer(endpoint, None, by, 0, "ibacm reports success and tells no path")
    return AcmAnswer(endpoint, of_codes(path), by, 0)


def _ask(source: Source, address: str, request: bytes, deadline_seconds: float) -> Message | str:
    """The reply to a request, or why there is none: an errno's name, or a sentence."""
    answer = source.exchange(address, request, deadline_seconds=deadline_seconds)
    if answer.error == LATE:
        return f"no whole answer in {deadline_seconds:g} seconds"
    if answer.error == CLOSED:
        return "ibacm closed the connection: it takes the request for a bad one, or it ended"
    if answer.error == NOT_RECORDED:
        return "it was not asked when this was recorded"
    if answer.error is not None:
        return answer.error
    asked, reply = acm_protocol.decode(request), acm_protocol.decode(answer.reply)
    if asked is None or reply is None:
        return "a reply that is no message of ibacm's"
    wrong = acm_protocol.fault(reply)
    if wrong is None and (reply.operation, reply.id) != (asked.operation, asked.id):
        wrong = "it answers another request"
    return f"a reply that is no message of ibacm's: {wrong}" if wrong else reply
