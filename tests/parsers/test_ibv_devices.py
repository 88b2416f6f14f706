"""``ibv_devices``: the devices of a SoftRoCE guest, a host without any, and logs that hold more than that."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.ibv_devices import ListedDevice, parse

SAMPLE = (Path(__file__).parents[2] / "fixtures/tools/ibv_devices/two-devices.txt").read_text()
HEADING = "    device          \t   node GUID\n    ------          \t----------------\n"
DEVICES = (ListedDevice("rxe0", "b4f034fffe8ed331"), ListedDevice("rxe1", "542af6fffee2aeda"))


def test_two_devices() -> None:
    assert parse(SAMPLE) == (DEVICES, (), None)


def test_in_a_log_with_other_lines_that_look_alike() -> None:
    log = f"[root@n01 ~]# ibv_devices\n{SAMPLE}[root@n01 ~]# other\nrxe7 \t0000000000000007\n[root@n01 ~]# "
    assert parse(log.replace("\n", "\r\n")) == (DEVICES, (), None)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (HEADING, "no-rdma-device"),
        ("Failed to get IB devices list: Function not implemented\n", "tool-error"),
        ("Failed to get IB devices list: No such file or directory\n", "tool-error"),
    ],
)
def test_a_host_without_a_device(text: str, kind: str) -> None:
    parsed = parse(text)
    assert (parsed.value, [problem.kind for problem in parsed.problems]) == ((), [kind])


def test_a_line_that_was_cut_is_not_taken() -> None:
    parsed = parse(SAMPLE[:-8])
    assert (parsed.value, [problem.kind for problem in parsed.problems]) == (DEVICES[:1], ["truncated"])


@given(st.text(alphabet=st.sampled_from("device node GUID-\t\n0f "), max_size=200))
def test_it_never_raises_anything_else(text: str) -> None:
    with contextlib.suppress(NotThisFormat):
        parse(text)
        parse(HEADING + text)
