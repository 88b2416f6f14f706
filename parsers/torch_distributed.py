"""PyTorch's own lines about its process groups and its elastic launcher, torchrun.

PyTorch prints no transport. It tells which backend a group has (TORCH_DISTRIBUTED_DEBUG=INFO or DETAIL prints a list of
DDP's settings, a line for each: torch/csrc/distributed/c10d/logger.cpp), and torchrun tells its attempts: after a
failure, or when nodes come and go, all workers are started anew (torch/distributed/elastic/agent/server/api.py).
vLLM and SGLang have NCCL move the GPUs' tensors beside a Gloo group that coordinates their workers (pynccl.py and
parallel_state.py of both), as do Megatron and DeepSpeed; a file of theirs in a traceback tells them, a line of
ProcessGroupNCCL.cpp a group of NCCL. The store behind MASTER_ADDR and the rendezvous are control traffic, and nothing
is read of them. On Linux PyTorch gives Gloo a TCP device unless GLOO_DEVICE_TRANSPORT names another one
(c10d/GlooDeviceFactory.cpp), which cannot be one for verbs before 2.8 (pytorch/pytorch#153015, #153425).
A traceback tells what a failure of Gloo's was about: the gradients in the backward pass go by the group of the model,
and what fails in init_process_group is the first group of its process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.parsers.job_facts import Attempt, Backend, Failure, Said, Setting
from ibkit.parsers.log_lines import CONTEXT, IGNORE, Line, shape

NAME = "PyTorch"
#: Detail of a death after which torchrun starts the workers anew: the attempt has failed, and the job goes on.
RESTARTED = "restarted"
_DDP = re.compile(r"(backend_name|gloo_device_transport|gloo_socket_ifname): (\S{1,200})\s*\Z")
_BACKENDS = re.compile(
    r"\bdistributed_backend=(?P<lightning>nccl|gloo|mpi)\b"
    r"|Distributed environment: .{0,60}\bBackend: (?P<accelerate>nccl|gloo|mpi)\b"
    r"|\bProcessGroup(?P<group>NCCL|Gloo)(?:\.cpp:\d{1,6}\].{0,200})? initialization options"
    r"|\bis using (?P<library>nccl)==\d|distributed_init_method=\S{1,200} backend=(?P<method>nccl|gloo|mpi)\b"
    # a call that a traceback shows, or a setting that a program prints, and no list of what may be set
    r"|\binit_process_group\(\s{0,8}(?:backend\s?=\s?)?[\"'](?P<call>nccl|gloo|mpi)[\"'](?= {0,8}[,)])"
    r"|(?:\A|[\s(,{\"'-])(?:dist|distributed|ddp|torch|process_group)[_-]backend[\"']?(?:\s?[=:]\s?| )[\"']?"
    r"(?P<setting>nccl|gloo)\b(?![\"']?\s?(?:[|/]|,\s?[\"']?(?:nccl|mpi|gloo)\b|or\b))"
    r"|\bNamespace\(.{0,4000}\bbackend='(?P<namespace>nccl|gloo)'|(?<![\w-])--backend[ =](?P<option>nccl|gloo)(?=\s|\Z)"
    r"|(?:\A|\b[Rr]ank \d{1,7}\b[^a-z]{0,20}(?:of \d{1,7}: )?|\b(?:[Uu]sing|[Dd]istributed) )[Bb]ackend"
    r"(?:\s?[=:]\s?| )(?P<print>gloo)\.?\s{0,8}\Z|\bin DeepSpeed with backend (?P<deepspeed>nccl|gloo|mpi)\b"
    r"|(?P<file>\bProcessGroupNCCL)\.cpp:\d"
)
#: What a traceback is about, as a Backend's purpose: nothing was connected yet, or gradients were being reduced.
START, BACKWARD = "start", "backward"
_FRAMES = re.compile(
    r"File \"\S{1,400}/torch/(?:(?P<start>distributed/distributed_c10d\.py\", line \d{1,7}, in init_process_group\s*\Z)"
    r"|(?P<backward>autograd/(?:graph|__init__)\.py\", line \d{1,7}, in (?:_engine_run_)?backward\s*\Z))"
)
#: As programs print it, often by torch.utils.collect_env. An environment of packages (``torch==2.1``) may be another.
_VERSION = re.compile(
    r"\A[ *-]{0,8}PyTorch(?: version)?(?: \((?:GPU|XPU|NPU)\?\))? ?: ?v?(?P<version>\d{1,2}\.\d{1,3}[\w.+]{0,60})"
)
VERSION = "PYTORCH_VERSION"
#: Files of frameworks that have groups of Gloo beside NCCL's.
_FRAME = re.compile(r"File \"\S{1,400}/(vllm|sglang|megatron|deepspeed)/")
#: vLLM deals out the ranks of its GPUs' groups.
_DEALT = re.compile(r"\brank \d{1,7} in world size \d{1,7} is assigned as DP rank \d")
_RESTART = re.compile(r"(?:(?P<failed> attempts left;)|new nodes from group_rank=\d{1,6};) will restart worker group")
_FIRST = re.compile(r"Starting elastic_operator with launch configs|\] starting workers for entrypoint: ")

#: What a line that names a backend holds: a setting's name and its end, or the name of Gloo behind it.
BACKEND_WORDS = (
    b"_backend=", b"_backend:", b"_backend ", b'_backend"', b"_backend'", b"-backend ", b"-backend=",
    b"ackend gloo", b"ackend: gloo", b"ackend=gloo", b"ackend = gloo", b"ackend='", b"DeepSpeed with ",
    b"in init_process_group", b"/torch/autograd/", b"PyTorch version", b"PyTorch: ", b"PyTorch :", b"monitoredBarrier",
)  # fmt: skip

_SHAPES = re.compile(
    b"|".join(
        re.escape(shape(mark))
        for mark in (
            b"backend_name: ", b"gloo_device_transport: ", b"gloo_socket_ifname: ", b"distributed_backend=",
            b"Backend: ", b"initialization options", b"will restart worker group", b"is using nccl==", b" backend=",
            b" is assigned as DP rank ", b"init_process_group(", b"ProcessGroupNCCL.cpp:",
            *BACKEND_WORDS,
            b"/vllm/", b"/sglang/", b"/megatron/", b"/deepspeed/",
            b"elastic_operator", b"starting workers for entrypoint",
        )
    )
)  # fmt: skip


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader."""
    return CONTEXT if _SHAPES.search(form) else IGNORE


def read(line: Line) -> Iterator[Backend | Setting | Failure | Attempt]:
    """What the line says. Never raises."""
    said = Said(line.number, line.raw, None, None, line.rank)
    text = line.text
    if found := _DDP.match(text.strip()):
        name, value = found.groups()
        if name == "backend_name":
            yield Backend(said, NAME, value.lower(), "data")
        else:
            yield Setting(said, "gloo", name.upper(), "" if value == "N/A" else value)
    elif found := _BACKENDS.search(text):
        name = next(filter(None, found.groups())).lower().removeprefix("processgroup")
        yield Backend(said, NAME, name, "data")
    elif found := _FRAMES.search(text):
        yield Backend(said, NAME, "gloo", found.lastgroup or "")
    elif found := _VERSION.search(text):
        yield Setting(said, "gloo", VERSION, found["version"])
    elif _DEALT.search(text):
        yield Backend(said, "vLLM", "nccl", "data")
    elif found := _FRAME.search(text):
        yield Backend(said, found.group(1), "nccl", "data")
    elif found := _RESTART.search(text):
        if found["failed"]:
            yield Failure(said, "job", "died", True, detail=RESTARTED)
        yield Attempt(said)
    elif _FIRST.search(text):
        yield Attempt(said, True)
