"""What launchers and collectors put around a line, stacked at random: the text, the rank and the verdict stay."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.job_logs import bml_lines, document, judged, nccl_lines, ucx_lines
from test_corpus import JOBS, NAMES, truth_of

from ibkit.parsers.line_prefixes import to_line

#: A line of some process, by its rank: what stands around it, and whether it tells the rank.
Wrap = tuple[Callable[[str, int], str], bool]

WRAPS: dict[str, Wrap] = {
    "tag-output": (lambda line, rank: f"[1,{rank}]<stdout>:{line}", True),
    "tag-output-stderr": (lambda line, rank: f"[1,{rank}]<stderr>: {line}", True),
    "prrte-tag": (lambda line, rank: f"[prterun-n01-4711@1,{rank}]<stdout>: {line}", True),
    "hydra": (lambda line, rank: f"[{rank}]: {line}", True),
    "srun": (lambda line, rank: f"{rank}: {line}", True),
    "srun-padded": (lambda line, rank: f"{rank:4d}: {line}", True),
    "horovodrun": (lambda line, rank: f"[{rank}]<stdout>:{line}", True),
    "sagemaker": (lambda line, rank: f"[1,mpirank:{rank},algo-2]<stdout>:{line}", True),
    "torch": (lambda line, rank: f"[rank{rank}]: {line}", True),
    "torchrun-tee": (lambda line, _: f"[default3]:{line}", False),
    "tag-xml": (lambda line, rank: f'<stdout rank="{rank}">{line}&#010;</stdout>', True),
    "pals": (lambda line, rank: f"nid001234 {rank}: {line}", True),
    "determined": (lambda line, rank: f"[1a2b3c4d] [rank={rank}] {line}", True),
    "torchrun-role": (lambda line, _: f"[trainer3]: {line}", False),
    "iso": (lambda line, _: f"2026-03-01T12:00:07.123456789Z {line}", False),
    "iso-zone": (lambda line, _: f"2026-03-01T12:00:07+01:00 {line}", False),
    "iso-brackets": (lambda line, _: f"[2026-03-01 12:00:07.123] {line}", False),
    "iso-comma": (lambda line, _: f"2026-03-01 12:00:07,123 {line}", False),
    "clock": (lambda line, _: f"12:00:07 {line}", False),
    "timestamp-output": (lambda line, _: f"Sun Mar  1 12:00:07 2026{line}", False),
    "syslog": (lambda line, _: f"Mar  1 12:00:07 n01 slurmstepd[4711]: {line}", False),
    "syslog-number": (lambda line, _: f"<14>Mar  1 12:00:07 n01 job[4711]: {line}", False),
    "syslog-5424": (lambda line, _: f"<14>1 2026-03-01T12:00:07.123Z n01 job 4711 - - {line}", False),
    "journal-iso": (lambda line, _: f"2026-03-01T12:00:07+0100 n01 job[4711]: {line}", False),
    "ts": (lambda line, _: f"Mar  1 12:00:07 {line}", False),
    "ts-epoch": (lambda line, _: f"1772366407.123456 {line}", False),
    "date": (lambda line, _: f"Sun Mar  1 12:00:07 UTC 2026 {line}", False),
    "date-american": (lambda line, _: f"03/01/2026 12:00:07 PM {line}", False),
    "date-european": (lambda line, _: f"01.03.2026 12:00:07 {line}", False),
    "multilog": (lambda line, _: f"@4000000065d9f10a12345678 {line}", False),
    "journal-monotonic": (lambda line, _: f"[12345.678901] n01 job[4711]: {line}", False),
    "journal-full": (lambda line, _: f"Sun 2026-03-01 12:00:07 CET n01 job[4711]: {line}", False),
    "syslog-without-process": (lambda line, _: f"Mar  1 12:00:07 n01 job: {line}", False),
    "syslog-5424-data": (
        lambda line, _: f'<14>1 2026-03-01T12:00:07Z n01 job 4711 - [a b="1\\]"][c d="2"] \ufeff{line}',
        False,
    ),
    "klog": (lambda line, _: f"I0301 12:00:07.123456    4711 main.go:12] {line}", False),
    "zap": (lambda line, _: f"2026-03-01T12:00:07.123Z\tINFO\tlauncher/run.go:42\t{line}", False),
    "python-logging": (lambda line, _: f"2026-03-01 12:00:07,123 - train.run - INFO - {line}", False),
    "python-basic-logging": (lambda line, _: f"INFO:train.run:{line}", False),
    "deepspeed": (lambda line, _: f"[2026-03-01 12:00:07,123] [INFO] [launch.py:253:main] {line}", False),
    "loguru": (lambda line, _: f"2026-03-01 12:00:07.123 | INFO     | run.run:main:12 - {line}", False),
    "gitlab": (lambda line, _: f"2026-03-01T12:00:07.123456Z 01O {line}", False),
    "github": (lambda line, _: f"build\tRun it\t2026-03-01T12:00:07.1234567Z {line}", False),
    "github-error": (lambda line, _: f"2026-03-01T12:00:07.1234567Z ##[error]{line}", False),
    "buildkite": (lambda line, _: f"\x1b_bk;t=1772366407123\x07{line}", False),
    "teamcity": (lambda line, _: f"[12:00:07] :\t [Step 1/1] {line}", False),
    "bamboo": (lambda line, _: f"build\t01-Mar-2026 12:00:07\t{line}", False),
    "swarm": (lambda line, _: f"train_worker.1.k2ab3cd4ef5g@n01    | {line}", False),
    "pm2": (lambda line, _: f"0|train    | {line}", False),
    "sagemaker-stream": (lambda line, _: f"2026-03-01T12:00:07.123000+00:00 train/algo-1-1772366407 {line}", False),
    "cri": (lambda line, _: f"2026-03-01T12:00:07.123456789Z stdout F {line}", False),
    "kubectl": (lambda line, _: f"[pod/train-worker-0/pytorch] {line}", False),
    "stern": (lambda line, _: f"train-worker-0 pytorch {line}", False),
    "stern-hash": (lambda line, _: f"train-launcher-x7k2p mpi-launcher {line}", False),
    "compose": (lambda line, _: f"worker-1  | {line}", False),
    "ray": (lambda line, _: f"(RayWorker pid=4711, ip=10.0.0.7) {line}", False),
    "quoted": (lambda line, _: f"> {line}", False),
    "quoted-twice": (lambda line, _: f">> {line}", False),
    "grep": (lambda line, _: f"slurm-4711.out:{line}", False),
    "grep-n": (lambda line, _: f"logs/train.err:17:{line}", False),
    "cat-n": (lambda line, _: f"17\t{line}", False),
    "web-page": (lambda line, _: f"<p>{line}<br />", False),
    "colour": (lambda line, _: f"\x1b[36m{line}\x1b[0m", False),
    "docker": (
        lambda line, _: json.dumps({"log": line + "\n", "stream": "stdout", "time": "2026-03-01T12:00:07Z"}),
        False,
    ),
    "fluent": (lambda line, _: json.dumps({"message": line, "level": "info"}), False),
    "fluentd": (
        lambda line, _: f"2026-03-01 12:00:07 +0000 kube: {json.dumps({'log': line, 'tag': 'F'})}",
        False,
    ),
    "fluent-bit": (lambda line, _: f'[7] kube.train: [[1772366407.123, {{}}], {{"log"=>{json.dumps(line)}}}]', False),
    "logfmt": (lambda line, _: f"time=2026-03-01T12:00:07Z level=info msg={json.dumps(line)}", False),
    "journal-json": (lambda line, _: json.dumps({"_HOSTNAME": "n01", "_PID": "4711", "MESSAGE": line}), False),
    "loki": (lambda line, _: f'2026-03-01T12:00:07Z {{app="train", pod="train-0"}} {line}', False),
}
LINES = [
    *nccl_lines(),
    *bml_lines(),
    *ucx_lines("ep_cfg[2]: tag(rc_mlx5/mlx5_0:1)", "mpi inter-node cfg#2 tag(rc_mlx5/mlx5_0:1)"),
    "NCCL version 2.19.3+cuda12.2",
    "[[31337,1],5] selected pml ob1, but peer [[31337,1],0] on n01 selected pml ucx",
    "MPI startup(): libfabric provider: mlx",
    "libfabric provider: verbs;ofi_rxm - IB-0xfe80000000000000",
    "libfabric:4711:1700000000::core:core:fi_getinfo_():1<info> x",
    "Host 0 [n01] ranks 0 - 31",
]
STACKS = st.lists(st.tuples(st.sampled_from(sorted(WRAPS)), st.integers(0, 9999)), max_size=5)


def wrapped(line: str, stack: list[tuple[str, int]]) -> str:
    """The first of the stack is the innermost."""
    for name, rank in stack:
        line = WRAPS[name][0](line, rank)
    return line


@example("NCCL version 2.19.3+cuda12.2", [("pals", 0), ("bamboo", 0)])  # a number is no logger's name
@example("NCCL version 2.19.3+cuda12.2", [("bamboo", 0), ("determined", 0), ("cat-n", 0)])  # nor a build's
@given(st.sampled_from(LINES), STACKS)
def test_text_and_rank_of_a_line(line: str, stack: list[tuple[str, int]]) -> None:
    bare = to_line(1, line.encode())
    found = to_line(1, wrapped(bare.text, stack).encode())
    ranks = [rank for name, rank in stack if WRAPS[name][1]]
    assert (found.text, found.rank) == (bare.text, ranks[0] if ranks else None)


@given(st.randoms(use_true_random=False), st.sampled_from(["nccl", "bml", "ucx"]))
def test_verdict_pairs_and_ranks(pick: random.Random, kind: str) -> None:
    """Each line in a stack of its own: as if parts of a job's output had gone different ways. Not as mails quote: what
    only such a line says of a process counts once that process has spoken itself, so that another line may be cited.
    """
    lines = {
        "nccl": nccl_lines(),
        "bml": bml_lines(btl="tcp"),
        "ucx": ucx_lines("ep_cfg[2]: tag(rc_mlx5/mlx5_0:1)"),
    }[kind]
    names = [name for name in sorted(WRAPS) if not WRAPS[name][1] and not name.startswith("quoted")]
    stacked = [wrapped(line, [(name, 0) for name in pick.choices(names, k=pick.randrange(4))]) for line in lines]
    before, after = (document(judged("\n".join(text) + "\n")) for text in (lines, stacked))
    for each in (before, after):
        for evidence in each["evidence"]:
            del evidence["text"]
    assert after == before


@pytest.mark.parametrize("seed", range(4))
def test_whole_logs(seed: int) -> None:
    """The same stack around all lines of a log: verdict, status, hosts and ranks of each layer."""
    pick = random.Random(seed)
    names = [n for n in NAMES if truth_of(n)["target"] == "job.log" and "open" not in truth_of(n) and "behind" not in n]
    wraps = [name for name in sorted(WRAPS) if not WRAPS[name][1] and name not in ("ray", "torchrun-tee")]
    different = []
    for name in pick.sample(names, 40):
        with open(os.path.join(JOBS, name, "job.log"), "rb") as file:
            data = file.read()
        try:
            text = data.decode("ascii")
        except ValueError:
            continue
        if "\r" in text or "\0" in text or not text.endswith("\n"):  # a last line that may be cut would get an end
            continue
        stack = [(wrap, 0) for wrap in pick.sample(wraps, pick.randrange(1, 4))]
        stacked = "\n".join(wrapped(line, stack) for line in text.removesuffix("\n").split("\n")) + "\n"
        one, other = (
            [(x.layer, x.verdict, x.status, x.hosts, x.ranks) for x in judged(t).layers] for t in (text, stacked)
        )
        if one != other:
            different.append((name, [wrap for wrap, _ in stack], one, other))
    assert not different, different


@pytest.mark.parametrize(
    "pasted",
    [
        "17:[n01:5101] mca: bml: Using tcp btl for send to [[31337,1],1] on node n02",  # grep -n
        "    17\t[n01:5101] mca: bml: Using tcp btl for send to [[31337,1],1] on node n02",  # cat -n
        "&gt; [1,0]&lt;stdout&gt;:[n01:5101] mca: bml: Using tcp btl for send to [[31337,1],1] on node n02",
        "[n01:5101]\N{NO-BREAK SPACE}mca: bml: Using tcp btl for send to [[31337,1],1] on\N{NO-BREAK SPACE}node n02",
    ],
)
def test_lines_as_they_are_pasted(pasted: str) -> None:
    """By grep, out of a web page's source, and with the blanks of a word processor."""
    (layer,) = judged(pasted + "\n").layers
    assert (layer.verdict, layer.hosts) == ("tcp", ("n01", "n02"))


def test_quotation_marks_of_a_word_processor() -> None:
    line = "network device \N{LEFT SINGLE QUOTATION MARK}mlx5_9:1\N{RIGHT SINGLE QUOTATION MARK} is not available"
    assert to_line(1, line.encode()).text == "network device 'mlx5_9:1' is not available"


def test_blanks_of_a_word_processor_in_all_lines() -> None:
    """Channel lines stay different ones: a third host's is not taken for one more of the others'."""
    lines = [*nccl_lines(), "n03:5:6 [0] NCCL INFO Channel 00/0 : 2[0] -> 3[0] [send] via NET/Socket/0"]
    one, other = (judged(text).layers for text in ("\n".join(lines), "\n".join(lines).replace(" ", "\u00a0")))
    assert [layer.pairs for layer in one] == [layer.pairs for layer in other]
    assert one[0].pairs


def test_a_file_that_was_emptied_while_it_was_written() -> None:
    (layer,) = judged("\0" * 5000 + "\n".join(bml_lines(btl="tcp")) + "\n").layers
    assert (layer.verdict, layer.hosts) == ("tcp", ("n01", "n02"))
    assert to_line(1, b"\0" * 300 + b"NCCL version 2.19.3").text == "NCCL version 2.19.3"
