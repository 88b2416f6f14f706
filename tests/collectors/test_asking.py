"""When a tool of the infiniband-diags is run once more, and when not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.answers import Answers, said

from ibkit.collectors.mad_tools import ANY_PORT, Through, ask
from ibkit.sources.base import MISSING, TIMEOUT, TOO_MUCH, CommandAnswer

LOST = said(
    "ibnetdiscover: iberror: failed: discover failed\n\n",
    "ibwarn: [7] mad_rpc: _do_madrpc failed; dport (Lid 1)\n",
    255,
)
SECOND = "ibnetdiscover -t 3000"


class Counting(Answers):
    """Answers, and what was asked."""

    def __init__(self, commands: dict[str, CommandAnswer]) -> None:
        super().__init__(commands)
        self.asked: list[str] = []

    def run(self, argv: Sequence[str], *, deadline_seconds: float = 60.0) -> CommandAnswer:
        self.asked.append(" ".join(argv))
        return super().run(argv, deadline_seconds=deadline_seconds)


def asked(first: CommandAnswer, through: Through = ANY_PORT) -> tuple[list[str], CommandAnswer]:
    name = " ".join(through.command("ibnetdiscover"))
    source = Counting({name: first, SECOND: said("better"), "ibnetdiscover -C a -P 1 -t 3000": said("better")})
    return source.asked, ask(source, through, "ibnetdiscover", deadline_seconds=1.0, longer_ms=3000)


def test_a_lost_packet_is_asked_for_once_more_with_more_patience() -> None:
    words, answer = asked(LOST)
    assert words == ["ibnetdiscover", SECOND]
    assert answer.out == "better"
    words, answer = asked(LOST, Through("a", 1))
    assert words == ["ibnetdiscover -C a -P 1", "ibnetdiscover -C a -P 1 -t 3000"]


def test_killed_by_a_signal() -> None:
    assert len(asked(said("half", "", -11))[0]) == 2


@pytest.mark.parametrize(
    "answer",
    [
        said("good"),
        said("of a file", exit_status=None),
        said("", exit_status=None, failure=TIMEOUT),
        said("", exit_status=None, failure=MISSING),
        said("", exit_status=None, failure=TOO_MUCH),
        said("", "ibwarn: [7] mad_rpc_open_port: can't open UMAD port ((null):0)\n", 255),
        said("", "ibwarn: [7] mad_rpc_open_port: client_register for mgmt 1 failed\n", 255),
        said("", "ibpanic: [7] main: 'mlx5_9' IB device can't be found: Success\n", 255),
        said(
            "", "ibwarn: [7] sa_get_handle: No SM/SA found on port (null):0\nFailed to bind to the SA: Success\n", 255
        ),
        said("", "ERROR: Query result returned 0x0200, SA(SA_ERR_REQ_INVALID)\n", 5),
    ],
)
def test_what_another_try_would_not_change(answer: CommandAnswer) -> None:
    """Nor is our own time-out repeated: it would only take as long again."""
    assert asked(answer)[0] == ["ibnetdiscover"]


def test_without_a_second_answer_the_first_one_stands() -> None:
    source = Answers({"ibnetdiscover": LOST})
    assert ask(source, ANY_PORT, "ibnetdiscover", deadline_seconds=1.0, longer_ms=3000).exit_status == 255
