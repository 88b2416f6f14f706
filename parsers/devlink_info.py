"""Read ``devlink -j dev info``: the versions of firmware that a card runs, and those that stand in its flash.

Format: iproute2 ``devlink/devlink.c``; what the names mean: the kernel's ``Documentation/networking/devlink``
(``devlink-info.rst``, ``mlx5.rst``). A virtual function tells no versions.
"""

from __future__ import annotations

import json

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.erased import Any
from ibkit.parsers.records import NamedTuple


class CardVersions(NamedTuple):
    """A function of a card; ``running`` and ``stored`` map a component (``fw.version``) to its version."""

    address: str
    driver: str | None
    running: dict[str, str]
    stored: dict[str, str]


def parse(text: str, *, source: str = "") -> Parsed[tuple[CardVersions, ...]]:
    """Read all functions on the PCI bus. Raises NotThisFormat where it is no such JSON."""
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        value = None
    cards = value.get("info") if isinstance(value, dict) else None
    if not isinstance(cards, dict):
        raise NotThisFormat(f"{source or 'input'}: no JSON object 'info', so not output of devlink -j dev info")
    found = []
    for handle, card in cards.items():
        bus, _, address = handle.partition("/")
        if bus == "pci" and isinstance(card, dict):
            versions, driver = card.get("versions"), card.get("driver")
            of = versions if isinstance(versions, dict) else {}
            name = driver if isinstance(driver, str) else None
            found.append(CardVersions(address, name, _texts(of.get("running")), _texts(of.get("stored"))))
    return Parsed(tuple(found), complete=True)


def _texts(value: Any) -> dict[str, str]:
    return {name: text for name, text in value.items() if isinstance(text, str)} if isinstance(value, dict) else {}
