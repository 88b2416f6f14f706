"""All collectors in one list: what a capture asks for, so that each command can be replayed from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ibkit.collectors.consumers import collect_consumers
from ibkit.collectors.counters import collect_counters
from ibkit.collectors.doctor import collect_checks
from ibkit.collectors.fabric import collect_fabric
from ibkit.collectors.hca import collect_hcas
from ibkit.collectors.subnet_manager import collect_subnet_managers
from ibkit.parsers.base import Problem
from ibkit.sources.base import Source

#: What is asked of a host: its name for people, and the collector's problems.
OF_A_HOST: tuple[tuple[str, Callable[[Source, str], Sequence[Problem]]], ...] = (
    ("devices and ports", lambda source, host: collect_hcas(source, host).problems),
    ("users of the devices", lambda source, host: collect_consumers(source, host).problems),
    ("tools and rights", lambda source, host: collect_checks(source, host).problems),
)
#: What is asked of the subnet, once.
OF_THE_SUBNET: tuple[tuple[str, Callable[[Source], Sequence[Problem]]], ...] = (
    ("topology", lambda source: collect_fabric(source).problems),
    ("subnet managers", lambda source: collect_subnet_managers(source).problems),
    ("counters", lambda source: collect_counters(source).problems),
)
