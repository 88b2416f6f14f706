"""What tools put before all lines of a log, and words of messages that look alike and stay."""

from __future__ import annotations

import pytest
from support.job_logs import judged

from ibkit.parsers.line_prefixes import HostLabels
from ibkit.parsers.log_lines import Line

#: Open MPI 5's table has rows without a head, which only a known frame makes readable.
TABLE = """\
[n01:4711] select: component ob1 selected
[n02:4712] select: component ob1 selected
--------------------------------------------------------------------------
Host 0 [n01] ranks 0
Host 1 [n02] ranks 1

 host | 0    1
======|==========
    0 : self tcp
    1 : tcp  self

Connection summary: (this is not a full list)
  on-host:  all connections are self
  off-host: all connections are tcp
"""


@pytest.mark.parametrize(
    "frame",
    [
        "{line}",
        "{number:7d} {line}",
        "{number:6d}  {line}",
        "{shifted:5d} {line}",
        "login01:{line}",
        "trainer: {line}",
        "| {line}",
        "   | {line}",
        "/aws/batch/job\tjobdef/default/0123456789abcdef\t{line}",
        "/aws/batch/job\tjobdef/default/0123456789abcdef\t1706000000{number:03d}\t{line}",
        "EVENTS\t1706000000{number:03d}\t{line}\t1706000000{number:03d}",
    ],
)
def test_what_stands_before_all_lines_is_taken_away(frame: str) -> None:
    lines = [
        frame.format(number=number, shifted=number + 811, line=line) + "\n"
        for number, line in enumerate(TABLE.splitlines(), 1)
    ]
    (layer,) = judged("".join(lines)).layers
    assert (layer.verdict, layer.ranks, layer.hosts) == ("tcp", 2, ("n01", "n02"))


def texts(*lines: str) -> list[str]:
    labels = HostLabels()
    return [labels.without(Line(number, line, line)).text for number, line in enumerate(lines, 1)]


def test_words_of_messages_stay() -> None:
    lines = (
        "Device: mlx4_0",
        "Error: Cannot allocate memory",
        "libfabric:4711:core: x",
        "| row | 1 |",
        "3 [n01:4711] x",
    )
    assert texts(*lines) == list(lines)


def test_a_word_before_a_line_is_a_label_only_as_long_as_all_lines_have_one() -> None:
    assert texts("Error: [n01:1] a", "[n01:1] b", "Error: Cannot allocate memory") == [
        "[n01:1] a",
        "[n01:1] b",
        "Error: Cannot allocate memory",
    ]


def test_numbers_that_do_not_count_the_lines_stay() -> None:
    assert texts("1 [n01:1] a", "7 [n01:1] b", "3 [n01:1] c") == ["[n01:1] a", "7 [n01:1] b", "3 [n01:1] c"]


def test_the_bars_of_a_table_stay() -> None:
    rows = ("| ucp_context_0 self cfg#0 | active message |", "| 0..inf | short | rc_mlx5/mlx5_0:1 |")
    assert texts(*rows) == list(rows)
