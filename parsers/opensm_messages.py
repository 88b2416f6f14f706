"""What one message of OpenSM's log says. ``opensm_log`` splits a log into messages.

The words were read off the programs that print them (OpenSM 3.3.24: ``opensm/osm_state_mgr.c``, ``osm_sm_state_mgr.c``,
``osm_trap_rcv.c``, ``osm_inform.c``, ``osm_node_info_rcv.c``, ``osm_drop_mgr.c``, ``osm_ucast_mgr.c``,
``osm_prtn_config.c``, ``osm_sm_mad_ctrl.c``, ``libopensm/osm_helper.c``, ``libvendor/osm_vendor_ibumad.c``) and off
public logs of older versions and of NVIDIA's OpenSM 5, which word some messages otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ibkit.parsers.records import NamedTuple

#: ``kind`` of an event.
START, STOP = "start", "stop"  # START has the program's ``version``
STATE = "state"  # the SM enters ``state``: DISCOVERING, STANDBY, MASTER ...
HEAVY_SWEEP, LIGHT_SWEEP = "heavy-sweep", "light-sweep"  # one starts; only some logs tell
HEAVY_SWEEP_DONE, LIGHT_SWEEP_DONE = "heavy-sweep-done", "light-sweep-done"  # the fabric is discovered again
SUBNET_UP = "subnet-up"  # a heavy sweep has configured all of it
SUBNET_ERRORS = "subnet-errors"  # a heavy sweep that could not: the next one is heavy, too
SM_PORT = "sm-port"  # the port that the SM runs on is ``state`` up or down
TRAP = "trap"  # it came from a node
NOTICE = "notice"  # the SM tells those who subscribed of a trap, or of something of its own (64 to 69)
PORT_STATE = "port-state"  # a switch's port went to ``state``
NEW_PORT, LOST_PORT = "new-port", "lost-port"
ROUTED, ROUTING_FAILED = "routed", "routing-failed"  # by ``engine``; where one fails, another one takes its place
DUPLICATE_GUID = "duplicate-guid"  # a port by way of two ``neighbours``: or its cable was moved meanwhile
PARTITION_ERROR = "partition-error"  # partitions.conf is rejected, all of it
NO_ANSWER = "no-answer"  # a request was sent in vain
MAD_STATUS = "mad-status"  # an answer that says no
ERROR = "error"  # any other message of level error

#: Messages that complete the one before, see :func:`join`.
PATH, REQUEST, SAME_REQUEST, BAD_KEY = "path", "request", "same-request", "bad-key"

#: The words for notices that are printed without their number (``ib_get_trap_str``), with it (InfiniBand Architecture
#: Specification volume 1, 14.2.5.1).
NOTICES = {
    "GID in service": 64,
    "GID out of service": 65,
    "New mcast group created": 66,
    "Mcast group deleted": 67,
    "UnPath, Path no longer valid": 68,
    "RePath, Path recomputed": 69,
    "Link state change": 128,
    "Local Link integrity threshold reached": 129,
    "Excessive Buffer Overrun Threshold reached": 130,
    "Flow Control Update watchdog timer expired": 131,
    "CapabilityMask, NodeDescription, Link [Width|Speed] Enabled, SM priority changed": 144,
    "System Image GUID changed": 145,
    "Bad M_Key": 256,
    "Bad P_Key": 257,
    "Bad Q_Key": 258,
    "Bad P_Key (switch external port)": 259,
}


class NodePort(NamedTuple):
    """A node by its GUID, and a port of it."""

    guid: int
    port: int


class Event(NamedTuple):
    """What a message, or several that belong together, say. ``text`` is the first one's, with its lines joined.

    ``lid`` and ``guid`` are a trap's issuer, or the port that is new, lost, or did not answer; ``last_lid`` is the end
    of its LIDs. ``attribute`` is the management attribute's number, ``attribute_name`` its name (NodeInfo),
    ``modifier`` mostly the port it was asked about, ``status`` why there is no answer (IB_TIMEOUT) or the MAD's own
    (``0x1c``). ``routes`` are directed routes without their first 0: the ports to leave by, from the SM's own on.
    ``between`` are the LIDs between which a P_Key or Q_Key did not fit; ``pkey`` is a P_Key.

    ``time`` is as :mod:`ibkit.parsers.log_times` has it, None where the line has none. ``times`` equal events were
    logged before the next milestone, the last of them in ``last_line`` at ``last_time``.
    """

    kind: str
    text: str
    line: int = 0
    time: str | None = None
    level: int | None = None
    function: str | None = None
    code: str | None = None
    version: str | None = None
    state: str | None = None
    trap: int | None = None
    lid: int | None = None
    last_lid: int | None = None
    guid: int | None = None
    port: int | None = None
    gid: str | None = None
    node_name: str | None = None
    pkey: int | None = None
    between: tuple[int, int] | None = None
    engine: str | None = None
    neighbours: tuple[NodePort, ...] = ()
    method: str | None = None
    attribute: int | None = None
    attribute_name: str | None = None
    modifier: int | None = None
    status: str | None = None
    routes: tuple[tuple[int, ...], ...] = ()
    times: int = 1
    last_line: int | None = None
    last_time: str | None = None


_HEX16 = "0x[0-9a-fA-F]{1,16}"
_HEX8 = "0x[0-9a-fA-F]{1,8}"
_HOPS = r"[0-9]{1,3}(?:,[0-9]{1,3}){0,64}"
_METHODS = {1: "SubnGet", 2: "SubnSet"}
_BOXES = {
    "INITIATING HEAVY SWEEP": HEAVY_SWEEP,
    "HEAVY SWEEP START": HEAVY_SWEEP,
    "HEAVY SWEEP COMPLETE": HEAVY_SWEEP_DONE,
    "INITIATING LIGHT SWEEP": LIGHT_SWEEP,
    "LIGHT SWEEP START": LIGHT_SWEEP,
    "LIGHT SWEEP COMPLETE": LIGHT_SWEEP_DONE,
}
#: Messages without anything in them that varies. The others in boxes repeat one of these.
_FIXED = {
    "SUBNET UP": (SUBNET_UP, None),
    "Errors during initialization": (SUBNET_ERRORS, None),
    "Exiting SM": (STOP, None),
    "SM port is down": (SM_PORT, "down"),
    "SM port is up": (SM_PORT, "up"),
}
_BOX = re.compile(r"\*{2,80} ([A-Z][A-Z ]{2,60}) \*{2,80}\Z")


def read(text: str, more: list[str]) -> Event | None:
    """The event in a message without its head, function and code; ``more`` are its other lines. None where it is of
    no interest as such.

    >>> read("Entering MASTER state", []).state
    'MASTER'
    """
    if not text:
        found = next((box[1] for line in more if (box := _BOX.match(line))), None)
        return Event(_BOXES[found], found) if found in _BOXES else None
    if text in _FIXED:
        kind, state = _FIXED[text]
        return Event(kind, text, state=state)
    # What follows a message of one line may be somebody else's
    for whole in (text, joined(text, more)) if more else (text,):
        for words, pattern, make in _TELLING:
            if words in whole and (telling := pattern.match(whole)):
                return make(telling, whole)
    return None


def joined(text: str, more: list[str]) -> str:
    """A message of several lines as one."""
    return " ".join([text, *filter(None, more)])


def is_open(event: Event) -> bool:
    """Whether the next message of the same thread may add something."""
    if event.kind == TRAP:
        return event.trap in (257, 258) and event.between is None
    return event.kind in (NO_ANSWER, DUPLICATE_GUID, ERROR, START)


def join(event: Event, part: Event) -> Event | None:
    """``event`` with what the next message of the same thread adds to it; None where that is no part of it."""
    if part.kind == START == event.kind:  # it is printed for the log, then for syslog, too
        return event if part.version == event.version and part.level != event.level else None
    if part.kind == PATH and (part.level or 0) & 1:
        room = 2 if event.kind == DUPLICATE_GUID else 1
        return event._replace(routes=event.routes + part.routes) if len(event.routes) < room else None
    if part.kind == BAD_KEY and event.kind == TRAP:
        return event._replace(pkey=part.pkey, between=part.between)
    if event.kind != NO_ANSWER:
        return None
    if part.kind == REQUEST and event.attribute_name is None:
        return event._replace(
            status=event.status or part.status, method=part.method or event.method,
            attribute_name=part.attribute_name, modifier=part.modifier,
        )  # fmt: skip
    if part.kind == SAME_REQUEST and event.attribute in (None, part.attribute):
        return event._replace(attribute=part.attribute)
    return None


def _state(found: re.Match[str], text: str) -> Event:
    return Event(STATE, text, state=found["state"])


def _trap(found: re.Match[str], text: str) -> Event:
    return Event(TRAP, text, trap=_number(found["trap"]), lid=int(found["lid"]), port=_number(found["port"]))


_ISSUER = re.compile(r" from (?:switch )?LID[ :](\d{1,5})")
_ISSUER_GUID = re.compile(r", GUID 0x([0-9a-fA-F]{1,16})(?:,? port (\d{1,3}))?")
_NOTICE_GID = re.compile(r"[ ,]M?GID:([0-9a-fA-F:.]{2,45})")
_NOTICE_PKEY = re.compile(r", P_?Key 0x([0-9a-fA-F]{1,8})")
_NOTICE_LIDS = re.compile(r"[:,] LID1 (\d{1,5}), LID2 (\d{1,5}),")


def _notice(found: re.Match[str], text: str) -> Event:
    rest = found["rest"]
    issuer, whose = _ISSUER.match(rest), _ISSUER_GUID.search(rest)
    gid, pkey, lids = _NOTICE_GID.search(rest), _NOTICE_PKEY.search(rest), _NOTICE_LIDS.search(rest)
    return Event(
        NOTICE, text, trap=_number(found["trap"]) or NOTICES.get(found["words"] or ""),
        lid=int(issuer[1]) if issuer else None, guid=int(whose[1], 16) if whose else None,
        port=_number(whose[2]) if whose else None, gid=gid[1] if gid else None,
        pkey=int(pkey[1], 16) if pkey else None, between=(int(lids[1]), int(lids[2])) if lids else None,
    )  # fmt: skip


def _bad_key(found: re.Match[str], text: str) -> Event:
    pkey = int(found["key"], 16) if found["kind"] == "P" else None
    return Event(BAD_KEY, text, pkey=pkey, between=(int(found["one"]), int(found["two"])))


def _port_state(found: re.Match[str], text: str) -> Event:
    return Event(
        PORT_STATE, text, state=found["new"], guid=int(found["guid"], 16), port=int(found["port"]),
        node_name=found["name"],
    )  # fmt: skip


def _listed(found: re.Match[str], text: str) -> Event:
    return Event(
        LOST_PORT if found["what"] == "Removed" else NEW_PORT, text, lid=int(found["first"]),
        last_lid=int(found["last"]), guid=int(found["guid"], 16), node_name=found["name"],
    )  # fmt: skip


def _duplicate(found: re.Match[str], text: str) -> Event:
    ways = ((found["one"], found["one_port"]), (found["two"], found["two_port"]))
    return Event(
        DUPLICATE_GUID, text, guid=int(found["guid"], 16), port=int(found["port"]),
        neighbours=tuple(NodePort(int(guid, 16), int(port)) for guid, port in ways),
    )  # fmt: skip


def _no_answer(found: re.Match[str], text: str) -> Event:
    number = int(found["method"], 16)
    is_subnet = found["class"] in (None, "1", "81")
    return Event(
        NO_ANSWER, text, status=found["status"], lid=_number(found["lid"]),
        method=_METHODS.get(number, hex(number)) if is_subnet else hex(number), attribute=int(found["attribute"], 16),
    )  # fmt: skip


def _request(found: re.Match[str], text: str) -> Event:
    modifier = int(found["modifier"], 16) if found["modifier"] else None
    return Event(
        REQUEST, text, status=found["status"], method=found["method"], attribute_name=found["name"], modifier=modifier
    )


def _same_request(found: re.Match[str], text: str) -> Event:
    return Event(SAME_REQUEST, text, attribute=int(found["attribute"], 16))


def _mad_status(found: re.Match[str], text: str) -> Event:
    return Event(
        MAD_STATUS, text, status=f"0x{int(found['status'], 16):x}", method=found["method"],
        attribute_name=found["name"], modifier=int(found["modifier"], 16), routes=_routes(found["path"]),
    )  # fmt: skip


def _path(found: re.Match[str], text: str) -> Event:
    return Event(PATH, text, routes=_routes(found["path"]))


def _routed(found: re.Match[str], text: str) -> Event:
    return Event(ROUTED, text, engine=found["engine"])


def _not_routed(found: re.Match[str], text: str) -> Event:
    return Event(ROUTING_FAILED, text, engine=found["engine"])


def _partitions(found: re.Match[str], text: str) -> Event:
    return Event(PARTITION_ERROR, text)


def _routes(path: str | None) -> tuple[tuple[int, ...], ...]:
    hops = path.split(",") if path else []
    return (tuple(map(int, hops[1:])),) if hops and all(1 <= len(hop) <= 3 for hop in hops) else ()


def _number(text: str | None) -> int | None:
    return int(text) if text else None


#: Words that a message must have, its form, and what is made of it.
_TELLING: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str], str], Event]], ...] = (
    ("Entering ", re.compile(r"Entering (?P<state>[A-Z]{3,20}) state\Z"), _state),
    (
        " Notice type:",
        re.compile(
            r"Received (?:Generic Notice type:\d{1,3} num:(?P<trap>\d{1,5}) \(.{1,120}?\) Producer:\d{1,9} \(.{1,40}?\)"
            rf"|Vendor Notice type:\d{{1,3}} vend:{_HEX8} dev:\d{{1,6}}) from LID:(?P<lid>\d{{1,5}})"
            rf"(?: Port (?P<port>\d{{1,3}}))? TID:{_HEX16}\Z"
        ),
        _trap,
    ),
    (
        "Reporting ",
        re.compile(
            r"Reporting \w{5,15} Notice (?:\"(?P<words>[^\"]{1,120})\"|type:\d{1,3} "
            r"(?:num:(?P<trap>\d{1,5}) \(.{1,120}?\)(?= from LID)|vend:\d{1,10} dev:\d{1,6}))(?P<rest>.*)\Z"
        ),
        _notice,
    ),
    (
        "_Key:0x",
        re.compile(
            rf"Bad (?P<kind>[PQ])_Key:0x(?P<key>[0-9a-fA-F]{{1,8}}) on SL:\d{{1,2}} from LID1:(?P<one>\d{{1,5}}) "
            rf"QP1:{_HEX8} to LID2:(?P<two>\d{{1,5}}) QP2:{_HEX8}\Z"
        ),
        _bad_key,
    ),
    (
        " changed state from ",  # NVIDIA's OpenSM; the label of the port stands in brackets
        re.compile(
            r"Switch 0x(?P<guid>[0-9a-fA-F]{1,16}) (?P<name>.{0,80}) port (?P<port>\d{1,3})(?: ?\([^()]{0,40}\))? "
            r"changed state from [A-Z]{2,12} to (?P<new>[A-Z]{2,12})\Z"
        ),
        _port_state,
    ),
    (
        " port with GUID:",
        re.compile(
            r"(?P<what>Discovered new|Removed) port with GUID:0x(?P<guid>[0-9a-fA-F]{1,16}) LID range "
            r"\[(?P<first>\d{1,5}), ?(?P<last>\d{1,5})\] of node: ?(?P<name>.*)\Z"
        ),
        _listed,
    ),
    (
        " tables configured on all switches",
        re.compile(r"(?P<engine>[\w-]{2,20}) tables configured on all switches\Z"),
        _routed,
    ),
    (
        ": cannot build ",
        re.compile(r"(?P<engine>[\w-]{2,20}): cannot build (?:lid matrices|fwd tables)\.?\Z"),
        _not_routed,
    ),
    (
        "Found duplicated node",
        re.compile(
            r"Found duplicated node(?: GUID)?\. Node 0x(?P<guid>[0-9a-fA-F]{1,16}) port (?P<port>\d{1,3}) is reachable "
            r"from remote node 0x(?P<one>[0-9a-fA-F]{1,16}) port (?P<one_port>\d{1,3}) and remote node "
            r"0x(?P<two>[0-9a-fA-F]{1,16}) port (?P<two_port>\d{1,3})\."
        ),
        _duplicate,
    ),
    (
        "in error; retrying",
        re.compile(r"Partition configuration in error; retrying with default config\Z"),
        _partitions,
    ),
    ("PARSE ERROR", re.compile(r"PARSE ERROR(?: partition conf file line|: line) \d{1,9}: "), _partitions),
    (
        "end completed with error",
        re.compile(
            r"(?:DR SMP )?Send completed with error \((?P<status>[A-Z]\w{2,40})\) -- dropping "
            r"(?:Class 0x(?P<class>[0-9a-fA-F]{1,2}), )?Method 0x(?P<method>[0-9a-fA-F]{1,2}), Attr "
            rf"0x(?P<attribute>[0-9a-fA-F]{{1,4}}), TID {_HEX16}(?:, LID (?P<lid>\d{{1,5}}))?\Z"
        ),
        _no_answer,
    ),
    (
        "MAD completed in error",
        re.compile(
            r"MAD completed in error \((?P<status>\w{2,40})\)(?:: (?P<method>\w{3,20})\((?P<name>\w{2,40})\), attr_mod "
            rf"0x(?P<modifier>[0-9a-fA-F]{{1,8}}), TID {_HEX16})?\Z"
        ),
        _request,
    ),
    (
        " attribute 0x",
        re.compile(r"(?:Set method failed for|Timeout while getting) attribute 0x(?P<attribute>[0-9a-fA-F]{1,4}) \("),
        _same_request,
    ),
    (
        "Received MAD with error status",
        re.compile(
            r"Received MAD with error status = 0x(?P<status>[0-9a-fA-F]{1,4}) (?P<method>\w{3,20})\((?P<name>\w{2,40})"
            rf"\), attr_mod 0x(?P<modifier>[0-9a-fA-F]{{1,8}}), TID {_HEX16}"
            rf"(?: Initial path: (?P<path>{_HOPS}) Return path: {_HOPS})?\Z"
        ),
        _mad_status,
    ),
    (
        " hop path:",
        re.compile(
            r"(?:Received SMP on a|Directed Path Dump of) \d{1,2} hop path: ?(?:Initial path|Path) = "
            rf"(?P<path>{_HOPS})(?:,? ?Return path  ?= {_HOPS})?\Z"
        ),
        _path,
    ),
)
