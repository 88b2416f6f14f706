"""The answers of an SA about the small subnet of ``fixtures/tools/saquery/mixed``."""

from __future__ import annotations

from pathlib import Path

from support.answers import said

from ibkit.collectors.mad_tools import ANY_PORT, Through
from ibkit.sources.base import CommandAnswer

MIXED = Path(__file__).parents[2] / "fixtures/tools/saquery/mixed"
FILES = {"NR": "nodes", "LR": "links", "PIR": "ports", "GIR": "guids"}
#: The links that OpenSM does not tell, for both ends are limited members of their one partition: (LID, port), twice.
HIDDEN = (((4, 2), (6, 1)), ((4, 3), (8, 2)), ((4, 4), (12, 1)))


def text_of(name: str) -> str:
    """A recorded answer."""
    return (MIXED / f"{name}.txt").read_text()


def all_links() -> str:
    """The links as an SA would tell them if no partition hid any."""
    rows = [row for a, b in HIDDEN for row in ((a, b), (b, a))]
    return text_of("links") + "".join(
        f"LinkRecord dump:\n\t\tFromLID....................{lid}\n\t\tFromPort...................{port}\n"
        f"\t\tToPort.....................{peer_port}\n\t\tToLID......................{peer_lid}\n"
        for (lid, port), (peer_lid, peer_port) in rows
    )


def answers(through: Through = ANY_PORT, **texts: str) -> dict[str, CommandAnswer]:
    """All four answers, as an SA gives them that hides no link; ``texts`` replaces some."""
    given = {name: text_of(file) for name, file in FILES.items()} | {"LR": all_links()} | texts
    return {" ".join(through.command("saquery", name)): said(text) for name, text in given.items()}
