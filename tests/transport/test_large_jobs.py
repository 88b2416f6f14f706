"""10,240 ranks on 1,280 hosts: the whole answer, in bounded memory. The numbers of pairs are counted by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import large_jobs

from ibkit.model.host_matrix import fold
from ibkit.model.mpi import Layer, Pair

MAX_MIB = 320
#: Judges a log, and tells the peak of its own memory.
CHILD = """
import json, re, sys
from ibkit.transport.logs.job import open_job
from ibkit.transport.logs.verdict import judge
answer = judge(open_job(sys.argv[1]))
(layer,) = answer.layers
peak = int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) // 1024  # ru_maxrss knows the parent's
json.dump([peak, layer.verdict, layer.status, layer.ranks, layer.hosts, [r.id for r in layer.reasons],
           [[p.a, p.b, p.transport] for p in layer.pairs], [[p.kind, p.text] for p in answer.problems]], sys.stdout)
"""


def judged(tmp_path: Path, log: Callable[[], Iterator[str]]) -> tuple[Layer, list[Any]]:
    """The layer as far as it is told, and what the child said of it."""
    path = tmp_path / "job.log"
    with path.open("w", encoding="ascii") as file:
        file.writelines(f"{line}\n" for line in log())
    said = subprocess.run([sys.executable, "-c", CHILD, path], capture_output=True, check=True, timeout=120).stdout
    told = json.loads(said)
    pairs = tuple(Pair(a, b, transport) for a, b, transport in told[6])
    return Layer("mpi", told[1], told[2], hosts=tuple(told[4]), ranks=told[3], pairs=pairs), told


def counts(layer: Layer) -> Counter[str]:
    """Pairs of two hosts by their transport, and hosts with pairs inside."""
    return Counter("inside" if pair.a == pair.b else pair.transport for pair in layer.pairs)


@pytest.mark.parametrize(
    ("log", "rdma", "between", "odd", "starts"),
    [
        # Rings between neighbours, 1,280 pairs; trees, 1,279, of which n0001 - n0002 is in a ring, too. n0417 has two
        # neighbours, a parent and two children.
        (large_jobs.nccl_log, "ib", 1280 + 1279 - 1, 5, []),
        # Eight next hosts of each, and so sixteen of n0417.
        (large_jobs.bml_log, "rdma", 1280 * 8, 16, []),
        # Each row's neighbour, and all of n0417's row: 1,279 neighbours, two of them n0417's. The others are counted.
        (large_jobs.comm_method_log, "rdma", 1279 - 2 + 1279, 1279, [f"{1279 * 1278 // 2 - (1279 - 2)} more pairs"]),
    ],
    ids=["nccl", "bml", "comm-method"],
)
def test_one_host_of_1280_is_on_tcp(
    tmp_path: Path, log: Callable[[], Iterator[str]], rdma: str, between: int, odd: int, starts: list[str]
) -> None:
    layer, told = judged(tmp_path, log)
    assert (layer.verdict, layer.status, layer.ranks, len(layer.hosts)) == ("mixed", "mixed", 10_240, 1280)
    assert counts(layer) == {rdma: between - odd, "tcp": odd, "inside": 1280}
    assert {host for pair in layer.pairs if pair.transport == "tcp" for host in (pair.a, pair.b)} >= {"n0417"}
    assert all("n0417" in (pair.a, pair.b) for pair in layer.pairs if pair.transport == "tcp")
    assert [text[: len(start)] for (_, text), start in zip(told[7], starts, strict=True)] == starts
    matrix = fold(layer)
    assert matrix.usual == (rdma if odd < 1000 else "tcp")
    (alone,) = [group for group in matrix.groups if group.name == "n0417"]
    assert alone.hosts == ("n0417",)
    assert {cell.transport for cell in matrix.between if matrix.groups.index(alone) in (cell.row, cell.column)} == {
        "tcp"
    }
    assert told[0] < MAX_MIB


def test_all_hosts_alike_are_one_group(tmp_path: Path) -> None:
    layer, told = judged(tmp_path, lambda: large_jobs.comm_method_log(odd=None))
    assert (layer.verdict, layer.status, told[5]) == ("rdma", "as-expected", [])
    (group,) = fold(layer).groups
    assert group.name == "n[0001-1280]"
