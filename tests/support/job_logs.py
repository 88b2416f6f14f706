"""Logs for tests, line by line, in the formats of the runtimes' sources."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from typing import Any

from ibkit.export.mpi import mpi_document
from ibkit.model.mpi import JobVerdict, Layer
from ibkit.transport.logs.job import Job, Log
from ibkit.transport.logs.verdict import judge


def judged(*texts: str, names: Sequence[str] = ()) -> JobVerdict:
    """The answer about logs with these texts."""
    logs = tuple(
        Log(names[index] if names else f"log{index}", lambda text=text: io.BytesIO(text.encode()))  # type: ignore[misc]
        for index, text in enumerate(texts)
    )
    return judge(Job("test", logs))


def layer_of(answer: JobVerdict, name: str, job: int = 1) -> Layer:
    """One layer of an answer."""
    (found,) = [layer for layer in answer.layers if layer.layer == name and layer.job == job]
    return found


def transports(layer: Layer) -> dict[tuple[str, str], str]:
    """Transport by host pair."""
    return {(pair.a, pair.b): pair.transport for pair in layer.pairs}


def reason_ids(layer: Layer) -> list[str]:
    """The reasons given."""
    return [reason.id for reason in layer.reasons]


def document(answer: JobVerdict) -> dict[str, Any]:
    """The JSON document, through JSON."""
    found: dict[str, Any] = json.loads(json.dumps(mpi_document(answer)))
    return found


def nccl_lines(
    hosts: Sequence[str] = ("n01", "n02"),
    *,
    per_host: int = 2,
    network: str | None = "IB",
    device: int = 0,
    before: Iterable[str] = ("NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>", "Using network IB"),
    pid: int = 100,
    has_init: bool = True,
    comm_id: str = "0xabc",
) -> list[str]:
    """A ring over all ranks, 2.19 style: P2P inside a host, ``network`` between hosts (None: no channel lines)."""
    size = len(hosts) * per_host
    lines = ["NCCL version 2.19.3+cuda12.2"]

    def who(rank: int) -> str:
        return f"{hosts[rank // per_host]}:{pid + rank}:{pid + 50 + rank} [{rank % per_host}] NCCL INFO "

    for rank in range(size):
        lines += [who(rank) + text for text in before]
    for rank in range(size) if network else ():
        after = (rank + 1) % size
        text = f"Channel 00/0 : {rank}[{rank % per_host}] -> {after}[{after % per_host}] "
        if rank // per_host == after // per_host:
            lines.append(f"{who(rank)}{text}via P2P/CUMEM")
        else:
            lines.append(f"{who(rank)}{text}[send] via NET/{network}/{device}")
            lines.append(f"{who(after)}{text}[receive] via NET/{network}/{device}")
    for rank in range(size) if has_init else ():
        lines.append(
            f"{who(rank)}comm 0x7f{rank:02x} rank {rank} nranks {size} cudaDev {rank % per_host} "
            f"nvmlDev {rank % per_host} busId {rank % per_host + 1:x}b000 commId {comm_id} - Init COMPLETE"
        )
    return lines


SOCKET = ("NET/IB : No device found.", "NET/Socket : Using [0]eth0:10.0.0.1<0>", "Using network Socket")


def bml_lines(
    hosts: Sequence[str] = ("n01", "n02"),
    *,
    btl: str = "tcp",
    family: int = 31337,
    pid: int = 100,
    wording: str = "btl for send to",
) -> list[str]:
    """A rank on each host, each sending to all."""
    lines = []
    for rank, host in enumerate(hosts):
        who = f"[{host}:{pid + rank:05d}] "
        lines.append(f"{who}mca: bml: Using self {wording} [[{family},1],{rank}] on node {host}")
        lines += [
            f"{who}mca: bml: Using {btl} {wording} [[{family},1],{peer}] on node {other}"
            for peer, other in enumerate(hosts)
            if peer != rank
        ]
    return lines


def ucx_lines(*texts: str, hosts: Sequence[str] = ("n01", "n02"), pid: int = 200) -> list[str]:
    """Each text said by a process on each host."""
    return [
        f"[1771920031.19{number:04d}] [{host}:{pid + rank}  :0]      ucp_worker.c:1855 UCX  INFO    {text}"
        for number, text in enumerate(texts)
        for rank, host in enumerate(hosts)
    ]


def text(*parts: Iterable[str] | str) -> str:
    """Lines of all parts, joined."""
    lines: list[str] = []
    for part in parts:
        lines += [part] if isinstance(part, str) else part
    return "\n".join(lines) + "\n"
