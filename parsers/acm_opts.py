"""``ibacm_opts.cfg``: ibacm's settings, ``option value`` one a line.

Read as ibacm itself reads it (rdma-core, ``ibacm/src/acm.c``: acm_set_options and ``ibacm/prov/acmp/src/acmp.c``:
acmp_set_options): unknown options are ignored without a word, names count in any case except ``route_timeout``, and of
two lines the last counts.
"""

from __future__ import annotations

from collections.abc import Iterable

from ibkit.parsers.base import Parsed
from ibkit.parsers.records import NamedTuple


class Option(NamedTuple):
    """A line: the option and its value as written; ``rest`` is what else stands on the line and is ignored."""

    name: str
    value: str
    line: int
    rest: str = ""
    is_tail: bool = False


class Settings(NamedTuple):
    """What ibacm then does; the defaults are ibacm's own. Paths are None where the file names none."""

    server_mode: str = "unix"  # unix, loop, open
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
    min_rate: int = 10
    route_preload: str = "none"  # none, opensm_full_v1
    route_data_file: str | None = None
    addr_preload: str = "none"  # none, acm_hosts
    addr_data_file: str | None = None
    log_file: str | None = None
    log_level: int = 0


def parse(text: str, *, source: str = "") -> Parsed[tuple[Option, ...]]:
    """All lines in their order, known options or not; what is no option at all is a problem. Never raises."""
    raise NotImplementedError


def settings(options: Iterable[Option]) -> Settings:
    """What ibacm makes of the options."""
    raise NotImplementedError


def write(options: Iterable[tuple[str, str]]) -> str:
    """The file for (option, value) rows. Raises ValueError for what ibacm would not take as it is."""
    raise NotImplementedError
