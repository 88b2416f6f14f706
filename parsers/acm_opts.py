"""``ibacm_opts.cfg``: ibacm's settings, ``option value`` one a line.

Read as ibacm itself reads it (rdma-core, ``ibacm/src/acm.c``: acm_set_options, and ``ibacm/prov/acmp/src/acmp.c``:
acmp_set_options): unknown options are ignored without a word, names count in any case except ``route_timeout``, a value
that an option does not know leaves it as it was, numbers are read by ``atoi``, and of two lines the last counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ibkit.parsers.acm_file import MAX_LINE_BYTES, atoi, fits, long_line_text, pieces_of, text_of, words_of
from ibkit.parsers.base import Parsed
from ibkit.parsers.erased import Any
from ibkit.parsers.lines import Problems
from ibkit.parsers.records import NamedTuple

#: The longest option and the longest value (bytes).
MAX_NAME_BYTES, MAX_VALUE_BYTES = 31, 255

#: The options whose value is one of a few words; ``no`` is another word for ``none``.
WORDS = {
    "server_mode": ("unix", "loop", "open"),
    "addr_prot": ("acm",),
    "route_prot": ("sa", "acm"),
    "loopback_prot": ("local", "none"),
    "route_preload": ("none", "no", "opensm_full_v1"),
    "addr_preload": ("none", "no", "acm_hosts"),
}
NUMBERS = (
    "log_level", "umad_debug_level", "server_port", "support_ips_in_addr_cfg", "addr_timeout", "route_timeout",
    "timeout", "retries", "resolve_depth", "sa_depth", "send_depth", "recv_depth", "min_mtu", "min_rate",
)  # fmt: skip
TEXTS = (
    "log_file", "lock_file", "acme_plus_kernel_only", "provider_lib_path", "provider", "route_data_file",
    "addr_data_file",
)  # fmt: skip
OPTIONS = frozenset((*WORDS, *NUMBERS, *TEXTS))
#: What min_mtu (bytes) and min_rate (Gbit/s) know; they take 2048 and 10 for anything else.
MTUS = (256, 512, 1024, 2048, 4096)
RATES = (2, 5, 10, 14, 20, 25, 30, 40, 56, 60, 80, 100, 112, 120, 168, 200, 300)


class Option(NamedTuple):
    """A line: the option and its value as written; ``rest`` is what else stands on the line and is ignored."""

    name: str
    value: str
    line: int
    rest: str = ""


class Settings(NamedTuple):
    """What ibacm does after reading; the defaults are ibacm's own. A path is None where the file names none."""

    server_mode: str = "unix"  # unix, loop (TCP on 127.0.0.1), open (TCP for all)
    server_port: int = 6125
    acme_plus_kernel_only: bool = False
    support_ips_in_addr_cfg: bool = False
    addr_timeout_minutes: int = 1440  # negative: never
    route_timeout_minutes: int = -1
    route_prot: str = "sa"  # sa, acm
    loopback_prot: str = "local"  # local, none
    timeout_ms: int = 2000
    retries: int = 2
    resolve_depth: int = 1
    min_mtu_bytes: int = 2048
    min_rate_gbps: int = 10
    route_preload: str = "none"  # none, opensm_full_v1
    route_data_file: str | None = None
    addr_preload: str = "none"  # none, acm_hosts
    addr_data_file: str | None = None
    log_file: str | None = None
    log_level: int = 0


#: A number other than 0, as ``strtol`` reads it in any of its bases.
_NOT_ZERO = re.compile(r"[+-]?(?:0[xX]0*[1-9a-fA-F]|00*[1-7]|[1-9])")
#: The settings that a number fills as it is.
_PLAIN = {
    "addr_timeout": "addr_timeout_minutes", "route_timeout": "route_timeout_minutes", "timeout": "timeout_ms",
    "retries": "retries", "resolve_depth": "resolve_depth", "log_level": "log_level",
}  # fmt: skip


def parse(text: str, *, source: str = "") -> Parsed[tuple[Option, ...]]:
    """All lines in their order, known options or not; a line that ibacm skips is a problem. Never raises."""
    problems = Problems(source, [])
    options = []
    for line, data, is_tail in pieces_of(text):
        words, rest = words_of(data, MAX_NAME_BYTES, MAX_VALUE_BYTES)
        if len(words) == 2:
            if is_tail:
                problems.add("acm-long-line", long_line_text(data), line)
            options.append(Option(words[0], words[1], line, text_of(rest)))
        elif not is_tail:
            problems.add("acm-no-value", f"ibacm skips the line: no value behind {words[0]!r}", line)
    return Parsed(tuple(options), problems.all())


def known(name: str) -> str | None:
    """The option that a name stands for, None for one that ibacm ignores."""
    lower = name.lower()
    if lower == "route_timeout" and name != lower:
        return None
    return lower if lower in OPTIONS else None


def settings(options: Iterable[Option]) -> Settings:
    """What ibacm makes of the options."""
    found: dict[str, Any] = {}
    for option in options:
        name = known(option.name)
        if name is not None:
            found.update(_effect(name, option.value))
    return Settings()._replace(**found)


def _effect(name: str, value: str) -> dict[str, Any]:
    """The settings that a line changes."""
    if name == "server_mode":
        lower = value.lower()
        return {name: lower if lower in WORDS[name] else "unix"}
    if name in WORDS:
        lower = value.lower()
        if lower not in WORDS[name] or name == "addr_prot":
            return {}
        return {name: "none" if lower == "no" else lower}
    if name in _PLAIN:
        return {_PLAIN[name]: atoi(value)}
    if name == "server_port":
        return {name: atoi(value) & 0xFFFF}
    if name == "support_ips_in_addr_cfg":
        return {name: atoi(value) != 0}
    if name == "min_mtu":
        return {"min_mtu_bytes": atoi(value) if atoi(value) in MTUS else 2048}
    if name == "min_rate":
        return {"min_rate_gbps": atoi(value) if atoi(value) in RATES else 10}
    if name == "acme_plus_kernel_only":
        return {name: value.lower() in ("true", "yes") or _NOT_ZERO.match(value) is not None}
    return {name: value} if name in ("route_data_file", "addr_data_file", "log_file") else {}


def write(options: Iterable[tuple[str, object]]) -> str:
    """The file for pairs of option and value, in their order.

    Raises ValueError for an option that ibacm does not know and for a value that it would not take as it stands here.
    """
    lines = []
    for name, value in options:
        text = str(value)
        line = f"{name} {text}"
        if known(name) is None or not fits(text, MAX_VALUE_BYTES) or len(line.encode()) > MAX_LINE_BYTES:
            raise ValueError(f"ibacm_opts.cfg cannot hold {line[:120]!r}")
        if (name in WORDS and text.lower() not in WORDS[name]) or (name in NUMBERS and str(atoi(text)) != text):
            raise ValueError(f"ibacm does not know the value of {line[:120]!r}")
        lines.append(line + "\n")
    return "".join(lines)
