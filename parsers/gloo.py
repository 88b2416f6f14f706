"""Gloo's lines, in logs of PyTorch and Horovod jobs.

Gloo names its transport when it opens a device, when its TCP transport has connected all ranks, and by the source file
in its errors. ``[Gloo] Rank 0 is connected to 3 peer ranks`` is printed by the TCP transport and by no other one
(gloo/transport/tcp/context.cc; since September 2025 only at GLOO_LOG_LEVEL=INFO, in other words). Sources: pytorch/gloo
gloo/transport/{tcp,ibverbs}/{context,device,pair,unbound_buffer}.cc, gloo/common/{error,logging}.h.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.parsers.job_facts import Failure, Mesh, Provider, Said
from ibkit.parsers.log_lines import CONTEXT, IGNORE, Line, shape

NAME = "Gloo"
_VERBS = re.compile(r"Using ibverbs device=([\w.-]{1,64}) port=(\d{1,3}) index=\d{1,4}")
_TCP = re.compile(r"\btcp, pci=[^,\n]{0,64}, iface=([\w.@:-]{1,32}), speed=-?\d{1,9}, addr=\[?")
_MESH = re.compile(
    r"(?:\[Gloo\] |gloo/transport/tcp/context\.cc:\d{1,6}\] INFO )Rank (\d{1,9}) is connected to (\d{1,9})"
    r"(?: peer ranks)?\. Expected number of connected peer(?:s| ranks) is ?: (\d{1,9})"
)
_APART = re.compile(
    r"(?:\[Gloo\] |gloo/transport/tcp/context\.cc:\d{1,6}\] INFO )Rank (\d{1,9}) is NOT connected to: \["
)
_FAILED = re.compile(r"Gloo connectFullMesh failed with \[\S{0,200}/transport/(tcp|ibverbs|uv)/")
#: A pair's or a buffer's own error: the source file tells the transport, the text what happened.
_ERROR = re.compile(
    r"\[\S{0,200}gloo/transport/(tcp|ibverbs|uv)/(?:tls/)?(?:pair|unbound_buffer|buffer|loop)\.(?:cc|h):\d{1,6}\] "
    r"(?P<lost>Connection closed by peer|Connection reset by peer|Read timeout|Write timeout|Socket closed|"
    r"Socket unexpectedly closed|Timed out waiting|Application timeout caused|Read error|readv|writev|recv)?"
    r"(?P<connect>Connect timeout|connect|Connection refused)?"
)
#: The interface or the host's name that was given has no address here, before anything is connected.
_NO_ADDRESS = re.compile(
    r"gloo/transport/(tcp|uv)/device\.cc:\d{1,6}\] .{0,200}Unable to find (?:address|interface) for"
)
#: ``monitored_barrier``, which TORCH_DISTRIBUTED_DEBUG=DETAIL has before each collective (c10d/ProcessGroupGloo.cpp).
_BARRIER = re.compile(
    r"(?:RuntimeError: |\A)\[?Rank \d{1,9}\]?:? ?(?:Ranks? [\d, ]{1,400} failed to pass monitoredBarrier in \d{1,12} ms"
    r"|successfully reached monitoredBarrier, but received errors)"
)
_NO_VERBS = re.compile(r"No ibverbs devices present|Unable to find device named: ")
_MARKS = (
    b"Using ibverbs device=", b"tcp, pci=", b"Gloo connectFullMesh failed", b"No ibverbs devices present",
    b"monitoredBarrier", b"Unable to find device named: ", b"[Gloo] Rank ", b" connected to", b"gloo/transport/",
)  # fmt: skip
_SHAPES = re.compile(b"|".join(re.escape(shape(mark)) for mark in _MARKS))


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader: each time, as no line names its process."""
    return CONTEXT if _SHAPES.search(form) else IGNORE


def read(line: Line) -> Iterator[Provider | Mesh | Failure]:
    """What the line says. Never raises."""
    text = line.text
    said = Said(line.number, line.raw, None, None, line.rank)
    if found := _VERBS.search(text):
        yield Provider(said, NAME, "verbs", f"{found.group(1)}:{found.group(2)}")
    elif found := _TCP.search(text):
        yield Provider(said, NAME, "tcp", found.group(1))
    elif found := _MESH.search(text):
        yield Mesh(said, int(found.group(1)), int(found.group(2)), int(found.group(3)) + 1)
    elif _APART.search(text):
        yield Failure(said, "gloo", "not-connected", True)
    if (found := _FAILED.search(text)) or (found := _NO_ADDRESS.search(text)):
        yield Failure(said, "gloo", "not-connected", True, detail=_transport(found.group(1)))
    elif found := _ERROR.search(text):
        topic = "connection-lost" if found["lost"] else "not-connected" if found["connect"] else "error"
        yield Failure(said, "gloo", topic, topic != "error", detail=_transport(found.group(1)))
    elif _BARRIER.search(text):
        yield Failure(said, "gloo", "barrier", True)
    elif _NO_VERBS.search(text):
        yield Failure(said, "gloo", "no-device", True)


def _transport(folder: str) -> str:
    return "verbs" if folder == "ibverbs" else "tcp"
