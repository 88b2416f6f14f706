"""All rules, in order of their numbers."""

from __future__ import annotations

from ibkit.rules import (
    changes,
    counters,
    environment,
    expected,
    hardware,
    hosts,
    identity,
    links,
    managers,
    partitions,
    routing,
    states,
)
from ibkit.rules.rule import Rule

_MODULES = (
    states,
    changes,
    hosts,
    links,
    counters,
    identity,
    managers,
    partitions,
    routing,
    hardware,
    environment,
    expected,
)

#: By number, those of one number in the order of their modules.
ALL: tuple[Rule, ...] = tuple(
    sorted(
        (found for module in _MODULES for found in vars(module).values() if isinstance(found, Rule)),
        key=lambda rule: rule.number,
    )
)


def find(word: str) -> tuple[Rule, ...]:
    """The rules of a number (R44), a name (no-subnet-manager) or a part of the evidence (fabric); none for another."""
    wanted = word.lower()
    return tuple(rule for rule in ALL if wanted in (rule.number.lower(), rule.name, *rule.needs))
