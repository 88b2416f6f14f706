"""Logs in a ticket or on a page: each line behind a list's bullet, between backticks, before a line break."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable

import pytest
from support.job_logs import bml_lines, judged, nccl_lines, text, ucx_lines
from test_corpus import JOBS, NAMES, truth_of

WRAPS: tuple[Callable[[str], str], ...] = (
    lambda line: f"- {line}",
    lambda line: f"  * {line}",
    lambda line: f"`{line}`",
    lambda line: f"> - `{line}`<br>",
    lambda line: f"<li><code>{line}</code></li>",
    lambda line: f"2026-03-01T12:00:07Z - {line}",
    lambda line: f"{line}<br/>",
)
#: What each kind of reader decides by.
DECIDING = [
    (
        "libfabric provider: tcp;ofi_rxm - 192.168.1.0/24",
        "Rank: 0, Local_rank: 0, NIC: eth0",
        "Rank: 1, Local_rank: 0, NIC: eth0",
    ),
    bml_lines(),
    ucx_lines("ep_cfg[2]: tag(tcp/eth0)"),
    nccl_lines(network="Socket", before=["NET/Socket : Using [0]eth0:10.0.0.1<0>", "Using network Socket"]),
    ("MPICH Device: ch3:sock", "SLURM_JOB_NUM_NODES=2"),
]


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("lines", DECIDING)
def test_the_verdict_stays(wrap: Callable[[str], str], lines: list[str]) -> None:
    plain = judged(text(lines))
    wrapped = judged(text("Dear admins,", "", "this is what it prints:", [wrap(line) for line in lines], "", "Thanks!"))
    assert (wrapped.verdict, wrapped.status) == (plain.verdict, plain.status)


def test_the_verdicts_of_the_corpus_stay() -> None:
    lost = []
    for name in NAMES:
        number = zlib.crc32(name.encode())  # that others come to the corpus changes nothing of this one
        if number % 16:
            continue
        truth = truth_of(name)
        if truth["target"] != "job.log":
            continue
        with open(os.path.join(JOBS, name, "job.log"), "rb") as file:
            data = file.read()
        if "verdict" not in truth or not data.isascii() or b"\r" in data or not data.endswith(b"\n"):
            continue
        wrap = WRAPS[number // 16 % len(WRAPS)]
        lines = [wrap(line) if line.strip() else line for line in data.decode().splitlines()]
        if (verdict := judged(text(lines)).verdict) != truth["verdict"]:
            lost.append(f"{name}: {truth['verdict']} became {verdict} by {wrap('x')}")
    assert not lost


PROVIDER = "libfabric provider: verbs;ofi_rxm"
TABLE = ("Rank: 0, Local_rank: 0, NIC: eth0", "Rank: 1, Local_rank: 0, NIC: eth0")


@pytest.mark.parametrize("quote", [f"- {PROVIDER}", f"* {PROVIDER}", f"`{PROVIDER}`", f"- `{PROVIDER}`"])
def test_what_a_text_lists_beside_a_log_is_not_the_jobs(quote: str) -> None:
    """The log's own lines stand alone: a list before or after them says what should be there."""
    log = ("libfabric provider: tcp;ofi_rxm - 192.168.1.0/24", *TABLE)
    for lines in ((quote, *log), (*log, quote), (log[0], quote, *TABLE)):
        assert judged(text("It should print", lines)).verdict == "tcp"


def test_prose_in_a_list_is_no_line_of_a_job() -> None:
    lines = (
        "- check that the libfabric provider: tcp is not used",
        "- `NET/IB : No device found` means no HCA",
        *TABLE,
    )
    assert judged(text(lines)).verdict == "unknown"


def test_the_last_item_may_be_cut() -> None:
    lines = [f"- {line}" for line in (*TABLE, "libfabric provider: tcp")]
    assert judged(text(lines)).verdict == "tcp"
    assert judged(text(lines).removesuffix("\n")).verdict in ("unknown", "tcp")
