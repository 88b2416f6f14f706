"""``perfquery``: a port's counters, one page of them per attribute that was asked for.

Formats: the tool of rdma-core and of the infiniband-diags before it. A page is a ``#`` header and one line per field,
padded with dots. ``-l`` prints a page per port, ``-a`` one page that is the sum of all ports (port 255). There is no
end mark; a page that lacks fields which its own capability mask promises is a cut one.

What a capability bit means: InfiniBand Architecture Specification volume 1, release 1.4, section 16.1.3.1
(PerfMgt ClassPortInfo). Versions before rdma-core 29 print counters that the port does not have as 0, and all
versions do so for PortXmitWait and QP1Dropped of the plain page: the mask decides, not the zero.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.diag_messages import SIMULATOR, Message, parse_line
from ibkit.parsers.endings import is_cut
from ibkit.parsers.lines import BEFORE, Problems, count_of, lines_of
from ibkit.parsers.records import NamedTuple

PORT_COUNTERS = "PortCounters"
PORT_COUNTERS_EXTENDED = "PortCountersExtended"
#: A page that was pasted without its header.
UNKNOWN_PAGE = "unknown"
#: PortSelect of the sum over all ports of a node.
ALL_PORTS = 255
MAX_LID = 0xFFFF

ERROR_COUNTERS = (
    "SymbolErrorCounter",
    "LinkErrorRecoveryCounter",
    "LinkDownedCounter",
    "PortRcvErrors",
    "PortRcvRemotePhysicalErrors",
    "PortRcvSwitchRelayErrors",
    "PortXmitDiscards",
    "PortXmitConstraintErrors",
    "PortRcvConstraintErrors",
    "LocalLinkIntegrityErrors",
    "ExcessiveBufferOverrunErrors",
    "VL15Dropped",
)
DATA_COUNTERS = ("PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts")
CAST_COUNTERS = ("PortUnicastXmitPkts", "PortUnicastRcvPkts", "PortMulticastXmitPkts", "PortMulticastRcvPkts")

_EXTENDED_WIDTH = 1 << 9
_EXTENDED_WIDTH_NO_IETF = 1 << 10
_XMIT_WAIT = 1 << 12
_QP1_DROPPED = 1 << 15
#: CapabilityMask2: the error counters in 64 bits on the extended page.
_ADDITIONAL_EXTENDED = 1 << 1

_HEADER = re.compile(
    r"#\s*(?P<name>Port(?: extended)? counters|Port\w+(?: with RS-FEC Active)? counters|SwPort\w+ counters"
    r"|PortSamplesControl):\s+(?P<address>.*?)\s?port (?P<port>\d{1,3}|ALL)\b(?P<rest>.*)"
)
_CAP_MASK = re.compile(r"CapMask:\s*(0x[0-9A-Fa-f]{1,8})\b")
_CAP_MASK2 = re.compile(r"CapMask2:\s*(0x[0-9A-Fa-f]{1,8})\b")
_CAP_MASK2_WRAPPED = re.compile(r"(0x[0-9A-Fa-f]{1,8})\)\s*\Z")
_LID = re.compile(r"Lid (\d{1,5})\b")
#: The dots end at column 33; a name that reaches it has none.
_FIELD = re.compile(r"(?P<name>[A-Za-z]\w{2,47}):(?:\.++|(?<=\w{31}:))\s*+(?P<value>\S*+)\s*\Z")
#: What a page without a header is, by its first counter.
_FIRST_COUNTERS = {"SymbolErrorCounter": PORT_COUNTERS, "PortXmitData": PORT_COUNTERS_EXTENDED}
#: A counter's name, perhaps with some of the dots behind it.
_CUT_FIELD = re.compile(r"[A-Z][A-Za-z0-9]{0,47}:?\.{0,40}\Z")
_CUT_HEADER = re.compile(r"# [A-Z][A-Za-z ]*:?.{0,200}\Z")
_SELECTS = ("PortSelect", "CounterSelect", "CounterSelect2")
_OWN_FAILURE = re.compile(r"(?:\S*/)?perfquery: ")


class CounterPage(NamedTuple):
    """One answer. ``attribute`` is the PerfMgt attribute, e.g. PortCounters; ``address`` is as printed (a LID, a LID
    with a GID, a directed route). ``port`` is None where neither header nor PortSelect could be read; 255 is the sum
    of all ports. ``counters`` has each counter by the name it was printed with; None is one that the port does not
    have or may not have. PortXmitData and PortRcvData are in units of 4 octets.
    """

    attribute: str
    address: str | None
    lid: int | None
    port: int | None
    cap_mask: int | None
    cap_mask2: int | None
    counters: dict[str, int | None]
    line: int

    @property
    def is_sum(self) -> bool:
        """True for the sum over all ports, which is no port."""
        return self.port == ALL_PORTS


def supports(attribute: str, counter: str, cap_mask: int | None, cap_mask2: int | None) -> bool | None:
    """Whether a port with these masks counts ``counter`` on this page; None where a mask that decides is missing."""
    if attribute == PORT_COUNTERS:
        bits = {"PortXmitWait": _XMIT_WAIT, "XmtWait": _XMIT_WAIT, "QP1Dropped": _QP1_DROPPED}
        return _has(cap_mask, bits.get(counter, 0))
    if attribute == PORT_COUNTERS_EXTENDED:
        if counter in DATA_COUNTERS:
            return cap_mask is None or bool(cap_mask & (_EXTENDED_WIDTH | _EXTENDED_WIDTH_NO_IETF))
        if counter in CAST_COUNTERS:
            return _has(cap_mask, _EXTENDED_WIDTH)
        return _has(cap_mask2, _ADDITIONAL_EXTENDED) and supports(PORT_COUNTERS, counter, cap_mask, cap_mask2)
    return True


def _has(mask: int | None, bit: int) -> bool | None:
    return True if bit == 0 else None if mask is None else bool(mask & bit)


def parse(text: str, *, source: str = "") -> Parsed[tuple[CounterPage, ...]]:
    """All pages in the order of the text.

    Raises NotThisFormat where there is neither a page nor a failure of perfquery.
    """
    lines, long_lines = lines_of(text, source)
    problems = Problems(source, long_lines)
    reader = _Reader(problems)
    for number, line in enumerate(lines, 1):
        reader.feed(number, line)
    if is_cut(lines[-1]) and (_CUT_FIELD if reader.is_reading else _CUT_HEADER).match(lines[-1]):
        reader.cut = True
        problems.add("cut-page", "the text ends inside this line, so it is not taken", len(lines))
    reader.close(open_end=lines[-1] != "")
    if not reader.pages and not reader.failed:
        raise NotThisFormat(f"{source or 'input'}: not perfquery: no '# Port counters:' header and no PortSelect line")
    return Parsed(tuple(reader.pages), problems.all(), False if reader.failed or reader.cut else None)


class _Reader:
    """The page that is being read, and the finished ones."""

    def __init__(self, problems: Problems) -> None:
        self.pages: list[CounterPage] = []
        self.failed = False
        self.cut = False
        self._problems = problems
        self._page: CounterPage | None = None
        self._select: int | None = None

    @property
    def is_reading(self) -> bool:
        """Whether a page is open."""
        return self._page is not None

    def feed(self, number: int, line: str) -> None:
        line = line.lstrip(BEFORE)
        if header := _HEADER.match(line):
            self.close()
            self._open(number, header)
        elif line.startswith("#"):
            self.close()  # another tool's output in the same log
            self._problems.noise.add(number, line)
        elif field := _FIELD.match(line):
            self._field(number, field["name"], field["value"], line)
        elif message := parse_line(line, number):
            self._message(message)
        elif self._page and number == self._page.line + 1 and (wrapped := _CAP_MASK2_WRAPPED.match(line)):
            self._page = self._page._replace(cap_mask2=int(wrapped[1], 16))  # a mail program broke the header
        else:
            self._problems.noise.add(number, line)

    def _message(self, message: Message) -> None:
        if _OWN_FAILURE.match(message.text):
            self.close()
            self.failed = True
        if message.kind != SIMULATOR:
            self._problems.add(message.kind, message.text, message.line)

    def _open(self, number: int, header: re.Match[str]) -> None:
        name = header["name"].removesuffix(" counters").removesuffix(" with RS-FEC Active")
        attribute = {"Port": PORT_COUNTERS, "Port extended": PORT_COUNTERS_EXTENDED}.get(name, name)
        lid = _LID.match(header["address"])
        mask, mask2 = _CAP_MASK.search(header["rest"]), _CAP_MASK2.search(header["rest"])
        self._page = CounterPage(
            attribute,
            header["address"] or None,
            int(lid[1]) if lid and int(lid[1]) <= MAX_LID else None,
            ALL_PORTS if header["port"] == "ALL" else int(header["port"]),
            int(mask[1], 16) if mask else None,
            int(mask2[1], 16) if mask2 else None,
            {},
            number,
        )
        self._select = None

    def _field(self, number: int, name: str, text: str, line: str) -> None:
        value = count_of(text)
        if self._page is None or (name == "PortSelect" and self._select is not None):
            if name != "PortSelect":
                self._problems.noise.add(number, line)
                return
            self.close()
            self._page = CounterPage(UNKNOWN_PAGE, None, None, None, None, None, {}, number)  # pasted without header
        if value is None or (name == "PortSelect" and value > ALL_PORTS):
            self._problems.add("bad-line", f"{name} is not a possible number: {text[:40]!r}", number)
        elif name == "PortSelect":
            self._select = value
        elif name in _SELECTS:
            pass
        elif name in self._page.counters:
            self._problems.add("bad-line", f"{name} a second time on one page", number)
        else:
            self._page.counters[name] = value

    def close(self, *, open_end: bool = False) -> None:
        """Finish the page: which port it is, which of its counters the port does not have, what it lacks.

        ``open_end`` says that its last line may have lost its end, and a number with it.
        """
        page, self._page = self._page, None
        if page is None:
            return
        if self._select is not None and page.port not in (None, self._select):
            text = f"the header says port {page.port}, PortSelect says {self._select}"
            self._problems.add("contradiction", text, page.line)
        page = page._replace(port=page.port if self._select is None else self._select)
        if page.attribute == UNKNOWN_PAGE:
            page = page._replace(attribute=_FIRST_COUNTERS.get(next(iter(page.counters), ""), UNKNOWN_PAGE))
        self._select = None
        if open_end and page.counters and (last := next(reversed(page.counters))) != _last_printed(page):
            del page.counters[last]
        if not page.counters:
            self.cut = True
            self._problems.add("cut-page", f"no counters of {page.attribute}, {_where(page)}", page.line)
            return
        self._mark_unsupported(page)
        if missing := [name for name in _promised(page) if name not in page.counters]:
            self.cut = True
            self._problems.add("cut-page", f"{_where(page)} lacks {', '.join(missing)}", page.line)
        self.pages.append(page)

    def _mark_unsupported(self, page: CounterPage) -> None:
        unsure = []
        for name, value in page.counters.items():
            supported = supports(page.attribute, name, page.cap_mask, page.cap_mask2)
            if supported is False:
                page.counters[name] = None
                if value:
                    text = f"{name} is {value} on {_where(page)}, though its capability mask says it does not count it"
                    self._problems.add("contradiction", text, page.line)
            elif supported is None and not value:
                page.counters[name] = None
                unsure.append(name)
        if unsure:
            text = f"0 of {', '.join(unsure)} may mean that {_where(page)} does not count it: no capability mask"
            self._problems.add("unknown-capability", text, page.line)


def _promised(page: CounterPage) -> list[str]:
    """The counters that every version prints on a page like this one, if the page is whole."""
    if page.attribute == PORT_COUNTERS and "SymbolErrors" not in page.counters:
        names = [*ERROR_COUNTERS, *DATA_COUNTERS, "PortXmitWait"]
    elif page.attribute == PORT_COUNTERS_EXTENDED and page.cap_mask is not None:
        names = [*DATA_COUNTERS, *CAST_COUNTERS, *ERROR_COUNTERS, "PortXmitWait"]
    else:
        return []
    return [name for name in names if supports(page.attribute, name, page.cap_mask, page.cap_mask2)]


def _last_printed(page: CounterPage) -> str:
    """The counter that ends a page like this one; of the pages of details, any one."""
    if page.attribute == PORT_COUNTERS:
        return "PortXmitWait"
    if page.attribute != PORT_COUNTERS_EXTENDED:
        return next(reversed(page.counters))
    if "SymbolErrorCounter" in page.counters:
        return "QP1Dropped"
    return CAST_COUNTERS[-1] if CAST_COUNTERS[0] in page.counters else DATA_COUNTERS[-1]


def _where(page: CounterPage) -> str:
    port = "the sum of all ports" if page.is_sum else f"port {page.port}"
    return f"{page.address}, {port}" if page.address else port
