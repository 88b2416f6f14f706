"""What is given as a job's log, and is none."""

from __future__ import annotations

from contextlib import closing

from ibkit.errors import UnreadableInput
from ibkit.transport.logs.heap import Heap
from ibkit.transport.logs.job import Job

#: What no program prints, a tenth of random bytes: control characters but for NUL, the bell, a spinner's backspaces,
#: tabs, ends of lines and pages and the start of a colour.
_CONTROLS = tuple(bytes((code,)) for code in (*range(1, 7), *range(14, 27), *range(28, 32), 127))


def refuse(job: Job, heap: Heap) -> None:
    """Nothing was recognised: an empty or binary file is no log, and another tool's output has its own command."""
    if heap.size == 0 and (damaged := next((p for p in heap.problems if p.kind == "unreadable"), None)):
        raise UnreadableInput(f"{job.target}: {damaged.text}")
    if heap.size == 0:
        raise UnreadableInput(f"{job.target}: empty; the job has printed nothing (yet)")
    if heap.nul_bytes > 16:
        raise UnreadableInput(f"{job.target}: binary data, not a log")
    from ibkit.parsers import JOB_COMMAND, identify
    from ibkit.parsers.base import NotThisFormat

    if len(job.logs) != 1 or job.target == "-":
        return
    with closing(job.logs[0].open()) as stream:
        head = stream.read(1 << 16)
    if sum(map(head.count, _CONTROLS)) > len(head) // 25:
        raise UnreadableInput(f"{job.target}: binary data, not a log")
    try:
        form = identify(head.decode("utf-8", "replace"), source=job.target)
    except NotThisFormat:
        return
    if form.command != JOB_COMMAND:
        raise UnreadableInput(f"{job.target}: {form.tool} output, not a job's log, {form.reader}")


def refuse_script(job: Job) -> None:
    """A script in which no runtime speaks is no log; batch jobs print theirs before they start."""
    if len(job.logs) != 1 or job.target == "-" or job.logs[0].name != job.target:
        return
    with closing(job.logs[0].open()) as stream:
        if stream.read(2) == b"#!":
            text = f"a script, not a log; to launch it: ibkit check-mpi-transport -- {job.target}"
            raise UnreadableInput(f"{job.target}: {text}")
