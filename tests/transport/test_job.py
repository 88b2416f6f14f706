"""What a target may be: a log however it is packed, a folder, standard input, a capture; and what is refused."""

from __future__ import annotations

import builtins
import bz2
import contextlib
import errno
import gzip
import io
import lzma
import os
import random
import sys
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.job_logs import SOCKET, bml_lines, layer_of, nccl_lines, text, transports, ucx_lines
from support.tree_source import TreeSource

from ibkit.cli.main import main
from ibkit.errors import UnreadableInput
from ibkit.model.mpi import JobVerdict
from ibkit.parsers.hostfile import Hosts
from ibkit.transport.logs.job import Job, allocated, job_of_site, open_job
from ibkit.transport.logs.verdict import judge

LOG = text(nccl_lines())


def answer_of(path: Path) -> JobVerdict:
    return judge(open_job(str(path)))


def written(path: Path, data: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


# -- one log


@pytest.mark.parametrize(
    "data",
    [
        LOG.encode(),
        gzip.compress(LOG.encode()),
        gzip.compress(LOG[:900].encode()) + gzip.compress(LOG[900:].encode()),
        bz2.compress(LOG.encode()),
        lzma.compress(LOG.encode()),
        lzma.compress(LOG.encode(), lzma.FORMAT_ALONE),
        LOG.encode("utf-16"),
        b"\xfe\xff" + LOG.encode("utf-16-be"),
        b"\xef\xbb\xbf" + LOG.encode(),
        LOG.replace("\n", "\r\n").encode(),
        b"\0" * 8 + LOG.encode(),
        LOG.encode() + b"\x80\xff\n",
    ],
    ids=[
        "plain",
        "gzip",
        "gzip-members",
        "bz2",
        "xz",
        "lzma",
        "utf16",
        "utf16-be",
        "bom",
        "crlf",
        "some-nul",
        "broken-utf8",
    ],
)
def test_a_log_however_it_is_packed(tmp_path: Path, data: bytes) -> None:
    answer = answer_of(written(tmp_path / "job.log", data))
    assert (answer.verdict, answer.status) == ("ib", "as-expected")
    numbers = {evidence.line for evidence in answer.evidence if evidence.evidence_class == "path"}
    assert numbers
    assert all("via " in LOG.splitlines()[number - 1] for number in numbers)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_packed_log_that_breaks_off_is_read_as_far_as_it_goes(tmp_path: Path, pack) -> None:  # type: ignore[no-untyped-def]
    noise = "".join(f"step {number**7} loss {number**5 % 977}\n" for number in range(40_000))
    packed = pack((LOG + noise).encode())
    answer = answer_of(written(tmp_path / "job.log.gz", packed[: len(packed) // 2]))
    assert answer.problems[-1].kind == "unreadable"
    assert answer.verdict in ("ib", "unknown")  # bz2 and xz may not give the first block


def test_a_damaged_packed_log_never_raises(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(LOG.encode()))
    for place in range(0, len(packed), 7):
        damaged = bytes(packed[:place]) + b"\xa5\x5a" + bytes(packed[place + 2 :])
        path = written(tmp_path / "job.log.gz", damaged)
        with contextlib.suppress(UnreadableInput):
            answer_of(path)


@pytest.mark.parametrize(
    "data",
    [
        LOG.encode(), gzip.compress(LOG.encode()), bz2.compress(LOG.encode()), lzma.compress(LOG.encode()),
        lzma.compress(LOG.encode(), lzma.FORMAT_ALONE), LOG.encode("utf-16"),
    ],
    ids=["plain", "gzip", "bz2", "xz", "lzma", "utf16"],
)  # fmt: skip
def test_standard_input(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    answer = judge(open_job("-"))
    assert answer.target == "-"
    assert (answer.verdict, {evidence.file for evidence in answer.evidence}) == ("ib", {"-"})


def test_standard_input_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UnreadableInput, match="-: standard input is closed"):
        open_job("-")


def test_a_pipe_by_its_name(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, LOG[:60_000].encode())
    os.close(writer)
    assert judge(open_job(f"/dev/fd/{reader}")).verdict == "ib"
    os.close(reader)


def test_proc_environ_beside_the_log(tmp_path: Path) -> None:
    written(tmp_path / "job.log", text(bml_lines()))
    written(tmp_path / "environ", "HOME=/home/u\0OMPI_MCA_btl=tcp,self\0PATH=/bin\0")
    answer = answer_of(tmp_path)
    assert (answer.verdict, answer.status) == ("tcp", "by-configuration")
    (reason,) = layer_of(answer, "mpi").reasons
    assert reason.id == "wrongtls"
    (cited,) = [e for e in answer.evidence if e.id in reason.evidence]
    assert (cited.file, cited.line, cited.text) == ("environ", 2, "OMPI_MCA_btl=tcp,self")


# -- what is refused


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "empty"),
        (b"\x7fELF\x02\x01\x01" + bytes(9), "program"),
        (b"#!/bin/bash\nsrun ./a\n", "script"),
        (bytes(range(256)) * 64, "binary"),
        (random.Random(7).randbytes(600), "binary"),
        (gzip.compress(b""), "empty"),
    ],
    ids=["empty", "program", "script", "binary", "short-binary", "empty-gzip"],
)
def test_what_is_no_log_is_refused(tmp_path: Path, data: bytes, word: str) -> None:
    with pytest.raises(UnreadableInput, match=word):
        answer_of(written(tmp_path / "x", data))


#: The first bytes of each, by the formats' own descriptions, and how a text goes on behind them.
PACKED = {
    "zstd": b"\x28\xb5\x2f\xfd", "lz4": b"\x04\x22\x4d\x18", "lzop": b"\x89LZO\0\r\n\x1a\n", "lzip": b"LZIP\x01",
    "compress": b"\x1f\x9d\x90",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "magic"), [*PACKED.items(), ("zstd", b"\x50\x2a\x4d\x18\x04\0\0\0"), ("lz4", b"\x02\x21\x4c\x18")]
)
def test_what_nobody_unpacks_is_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, magic: bytes
) -> None:
    data = magic + LOG.encode()
    told = f"packed with {name}, which is not read; unpack it first"
    with pytest.raises(UnreadableInput, match=f"job.log: {told}"):
        answer_of(written(tmp_path / "job.log", data))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    with pytest.raises(UnreadableInput, match=f"^-: {told}"):
        open_job("-")
    with pytest.raises(UnreadableInput, match=f"holds no log; job.log: {told}"):
        answer_of(tmp_path)
    written(tmp_path / "rank1.log", LOG)
    answer = answer_of(tmp_path)
    assert answer.verdict == "ib"
    assert [(problem.kind, problem.source) for problem in answer.problems] == [("unreadable", "job.log")]


def test_the_kernels_messages_are_left_to_their_reader() -> None:
    with pytest.raises(UnreadableInput, match="not a log"):
        open_job("/proc/self/../kmsg")


def test_a_file_that_waits_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As trace_pipe does, which is a plain file by its mode."""
    path = written(tmp_path / "trace_pipe", b"")
    file = SimpleNamespace(read=lambda size: None, close=lambda: None)
    monkeypatch.setattr("ibkit.transport.logs.job._open", lambda path: file)
    with pytest.raises(UnreadableInput, match="it waits for something"):
        open_job(str(path))


def test_folders_that_are_too_deep_are_said(tmp_path: Path) -> None:
    written(tmp_path / "job.out", LOG)
    written(tmp_path.joinpath(*"abcdefghijklmn") / "rank1.out", LOG)
    answer = answer_of(tmp_path)
    assert answer.verdict == "ib"
    assert [(problem.kind, problem.source) for problem in answer.problems] == [
        ("many-files", "a/b/c/d/e/f/g/h/i/j/k/l/m")
    ]


def test_what_is_not_there_or_not_readable_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="No such file"):
        answer_of(tmp_path / "nothing")
    (tmp_path / "socket").mkdir()
    with pytest.raises(UnreadableInput, match="no log"):
        answer_of(tmp_path / "socket")
    with pytest.raises(UnreadableInput, match="not a plain file"):
        answer_of(Path("/dev/null"))


def test_a_file_may_be_called_like_a_running_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "pid:1", LOG)
    assert judge(open_job("pid:1")).verdict == "ib"


def test_another_tools_output_is_named(tmp_path: Path) -> None:
    recorded = Path(__file__).parents[1] / "parsers/recorded/ibstat-rxe.txt"
    with pytest.raises(UnreadableInput, match="ibkit status"):
        answer_of(written(tmp_path / "out.txt", recorded.read_bytes()))


@pytest.mark.parametrize(
    "data",
    [
        "计算结束\n".encode("gb18030") * 20,
        "Расчёт закончен\n".encode("cp1251") * 20,
        b"".join(b"\rstep %d \x08\x08\x08\x1b[32mok\x1b[0m\x07" % step for step in range(50)) + b"\n",
        b"\0\0\0\0the rest of a file that was emptied while it was written to\n",
    ],
    ids=["gb18030", "cp1251", "spinner", "a few NULs"],
)
def test_text_in_any_coding_is_no_binary_data(tmp_path: Path, data: bytes) -> None:
    assert answer_of(written(tmp_path / "x.log", data)).verdict == "unknown"


def test_text_of_no_known_runtime_is_unknown(tmp_path: Path) -> None:
    answer = answer_of(written(tmp_path / "job.log", "epoch 1 loss 0.3\nepoch 2 loss 0.2\n"))
    assert (answer.verdict, answer.status, answer.layers) == ("unknown", "undecided", ())
    assert answer.next_step
    assert "NCCL_DEBUG" in answer.next_step


# -- folders


def test_a_folder_of_one_log_per_rank(tmp_path: Path) -> None:
    for line in nccl_lines():
        host = line.split(":")[0] if ":" in line else "n01"
        path = tmp_path / f"rank-{host}" / "stdout"
        written(path, (path.read_bytes() if path.exists() else b"") + line.encode() + b"\n")
    answer = answer_of(tmp_path)
    layer = layer_of(answer, "nccl")
    assert (answer.verdict, layer.ranks, layer.hosts) == ("ib", 4, ("n01", "n02"))
    for evidence in answer.evidence:
        assert (tmp_path / evidence.file).read_text().splitlines()[evidence.line - 1] == evidence.text


def names(job: Job) -> list[str]:
    return [log.name for log in job.logs]


def test_a_copy_of_a_log_is_not_read_a_second_time(tmp_path: Path) -> None:
    for name in ("job.log", "job.log.bak", "old/job.log.1"):
        written(tmp_path / name, LOG)
    written(tmp_path / "other.log", LOG.replace("\n", " ", 1))  # as long, and another one
    assert names(open_job(str(tmp_path))) == ["job.log", "other.log"]


def test_each_attempt_of_torchrun_keeps_its_files(tmp_path: Path) -> None:
    for attempt in ("attempt_0", "attempt_1"):
        written(tmp_path / attempt / "0" / "stderr.log", "RuntimeError: NCCL error\n")
        written(tmp_path / attempt / "1" / "stderr.log", "RuntimeError: NCCL error\n")
    assert names(open_job(str(tmp_path))) == ["attempt_0/0/stderr.log", "attempt_1/0/stderr.log"]


def test_in_a_folder_documents_programs_and_links_are_passed_over(tmp_path: Path) -> None:
    tcp = text(nccl_lines(network="Socket", before=SOCKET))
    written(tmp_path / "job.out", LOG)
    written(tmp_path / "a.out", b"\x7fELF" + tcp.encode())
    written(tmp_path / "core", bytes(8192) + tcp.encode())
    written(tmp_path / "notes.md", tcp)
    written(tmp_path / "train.py", tcp)
    other = written(tmp_path.parent / "elsewhere.log", tcp)
    (tmp_path / "link.log").symlink_to(other)
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "fifo")
    answer = answer_of(tmp_path)
    assert (answer.verdict, {evidence.file for evidence in answer.evidence}) == ("ib", {"job.out"})


def test_packed_logs_in_a_folder(tmp_path: Path) -> None:
    written(tmp_path / "old" / "job.out.gz", gzip.compress(LOG.encode()))
    answer = answer_of(tmp_path)
    assert (answer.verdict, answer.evidence[0].file) == ("ib", "old/job.out.gz")


def test_an_unreadable_log_of_a_folder_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "job.out", LOG)
    written(tmp_path / "job.err", LOG)
    really_open = open

    def denied(path: Any, *arguments: Any, **options: Any) -> Any:
        """As an ordinary user; a mode would not keep root away."""
        if str(path).endswith("job.err"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return really_open(path, *arguments, **options)

    monkeypatch.setattr(builtins, "open", denied)
    answer = answer_of(tmp_path)
    assert answer.verdict == "ib"
    assert [(problem.kind, problem.source) for problem in answer.problems] == [("unreadable", "job.err")]


def test_the_hosts_that_a_batch_system_gave_to_a_job_that_is_started(tmp_path: Path) -> None:
    written(tmp_path / "nodes", "n01\nn01\nn02\nn02\n")
    source = TreeSource(tmp_path)
    slurm = {"SLURM_JOB_NODELIST": "n[01-03]", "SLURM_NTASKS": "12"}
    assert allocated(slurm, source) == (Hosts(("n01", "n02", "n03"), 12),)
    assert allocated({"SLURM_JOB_NODELIST": "n[01-03]"}, source) == ()  # how many ranks fill a node is not told
    assert allocated({"PBS_NODEFILE": "/nodes"}, source) == (Hosts(("n01", "n02"), 4),)
    assert allocated({"PBS_NODEFILE": "/gone", "HOME": "/root"}, source) == ()


def test_a_hostfile_tells_the_number_of_hosts(tmp_path: Path) -> None:
    said = ucx_lines(
        "ep_cfg[0]: tag(self/memory cma/memory rc_mlx5/mlx5_0:1)", "ep_cfg[1]: tag(sysv/memory)", hosts=["n01"]
    )
    written(tmp_path / "job.log", text(said, said))
    assert answer_of(tmp_path).verdict in ("shm", "unknown")
    written(tmp_path / "hostfile", "n01 slots=8\n# n03\nn02 slots=8\n")
    assert answer_of(tmp_path).verdict == "unknown"  # nothing is said of n02


# -- captures


@pytest.fixture
def capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    written(tmp_path / "logs" / "job.log", LOG)
    host = Path(__file__).parents[2] / "fixtures/roce-host"
    made = tmp_path / "made"
    assert main(["capture", "--from", str(host), "--job", str(tmp_path / "logs"), "-o", str(made)]) == 0
    capsys.readouterr()
    return made


def test_the_job_of_a_capture(capture: Path) -> None:
    from ibkit.sources.opening import open_site

    by_site = judge(job_of_site(open_site(str(capture))))
    by_folder = judge(open_job(str(capture)))
    assert by_site.verdict == by_folder.verdict == "ib"
    assert [evidence[2:] for evidence in by_site.evidence] == [evidence[2:] for evidence in by_folder.evidence]


def test_a_capture_as_an_archive(capture: Path, tmp_path: Path) -> None:
    archive = tmp_path / "made.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(capture, "made")
    assert judge(open_job(str(archive))).verdict == "ib"


def test_a_capture_among_the_files_of_a_folder(capture: Path, tmp_path: Path) -> None:
    written(capture.parent / "all" / "readme", "about\n")
    capture.rename(capture.parent / "all" / "made")
    answer = judge(open_job(str(tmp_path / "all")))
    assert (answer.verdict, answer.evidence[0].file.startswith("made/")) == ("ib", True)


def test_a_capture_without_a_job_is_refused() -> None:
    from ibkit.sources.opening import open_site

    with pytest.raises(UnreadableInput, match="holds no job"):
        job_of_site(open_site(str(Path(__file__).parents[2] / "fixtures/roce-host")))


def test_pairs_are_those_of_the_log(tmp_path: Path) -> None:
    answer = answer_of(written(tmp_path / "job.log", LOG))
    assert transports(layer_of(answer, "nccl")) == {("n01", "n02"): "ib", ("n01", "n01"): "shm", ("n02", "n02"): "shm"}


@pytest.mark.parametrize("module", [gzip, bz2, lzma])
def test_a_packed_log_that_is_cut_short_is_judged_as_far_as_it_goes(tmp_path: Path, module: Any) -> None:
    noise = os.urandom(1 << 20).hex().encode()  # more than a block of each of the three
    packed = module.compress(LOG.encode() + b"\n".join(noise[at : at + 100] for at in range(0, len(noise), 100)))
    answer = answer_of(written(tmp_path / "job.log.packed", packed[: len(packed) - 1000]))
    assert answer.verdict == "ib"
    assert [problem.kind for problem in answer.problems] == ["unreadable"]


def test_nothing_of_a_packed_log_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="not read to its end"):
        answer_of(written(tmp_path / "job.log.gz", gzip.compress(LOG.encode())[:12]))
