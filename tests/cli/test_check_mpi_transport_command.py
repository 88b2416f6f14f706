"""`ibkit check-mpi-transport` as a user runs it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from support.job_logs import SOCKET, bml_lines, document, judged, nccl_lines, text, ucx_lines
from support.schemas import strict

from ibkit.cli.main import main
from ibkit.export.mpi_reasons import explained_lines
from ibkit.export.mpi_sentence import sentence
from ibkit.export.mpi_text import lines
from ibkit.model.mpi import JobVerdict, Layer, Pair
from ibkit.transport.catalogue import BY_ID

ROOT = Path(__file__).parents[2]
SCHEMA = strict("mpi")
RECORDED = ROOT / "fixtures/jobs-recorded"
TCP = text(nccl_lines(network="Socket", before=SOCKET))
LATER_TCP = nccl_lines(network="Socket", before=SOCKET, pid=500, comm_id="0xd")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["check-mpi-transport", *arguments])
    told = capsys.readouterr()
    return status, told.out, told.err


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "job.log"
    path.write_text(text(nccl_lines()))
    return path


# -- exit status and first line


@pytest.mark.parametrize(
    ("content", "status", "words"),
    [
        (text(nccl_lines()), 0, "InfiniBand, as expected"),
        (text(nccl_lines(["n01"])), 0, "shared memory on one host, as expected"),
        (text(ucx_lines("ep_cfg[2]: tag(rc_mlx5/mlx5_0:1)")), 0, "RDMA (verbs; the log does not show whether"),
        (TCP, 1, "TCP, not RDMA: a fall-back (noport)"),
        (text("+ mpirun --mca btl tcp,self ./a", bml_lines()), 1, "TCP, as configured, not RDMA (wrongtls)"),
        (
            text(nccl_lines(), nccl_lines(network="Socket", before=SOCKET, pid=500, comm_id="0xd")),
            1,
            "NCCL (run 2): TCP",
        ),
        ("n01:1:1 [0] NCCL INFO Using network IB\n", 3, "not decided"),
        ("epoch 1\n", 3, "unknown: no line of it tells a transport"),
    ],
)
def test_the_first_line_is_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, status: int, words: str
) -> None:
    path = tmp_path / "job.log"
    path.write_text(content)
    found, out, _ = run(capsys, str(path))
    assert found == status
    assert out.startswith(f"{path}: ")
    assert words in out.splitlines()[0]


def test_silent_ranks_are_part_of_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.log"
    path.write_text(
        "n01:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>\n"
        "n01:1:2 [0] NCCL INFO comm 0xa rank 0 nranks 8 cudaDev 0 busId 1b000 commId 0xc - Init START\n"
        "n01:1:2 [0] NCCL INFO Channel 00/0 : 7[3] -> 0[0] [receive] via NET/IB/0\n"
    )
    _, out, err = run(capsys, str(path))
    assert out.splitlines()[1] == "  7 of 8 ranks said nothing here; what they used is not known"
    assert err == ""
    _, out, err = run(capsys, "--json", str(path))
    assert [problem["kind"] for problem in json.loads(out)["problems"]] == ["silent-ranks"]
    assert "7 of 8 ranks said nothing here" in err


def test_ranks_that_chose_different_networks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No line shows a connection: nothing is known to have been moved by the one or the other."""
    path = tmp_path / "job.log"
    path.write_text(
        "".join(
            f"{host}:1:2 [0] NCCL INFO Using network {network}\n"
            f"{host}:1:2 [0] NCCL INFO comm 0xa rank {rank} nranks 2 cudaDev 0 busId 1b000 commId 0xc - Init START\n"
            for rank, (host, network) in enumerate((("n01", "IB"), ("n02", "Socket")))
        )
    )
    _, out, _ = run(capsys, str(path))
    assert out.splitlines()[0] == f"{path}: the ranks' transports differ"
    assert "next step: the ranks chose different networks, and no line shows that they were connected" in out


def test_each_of_several_runs_goes_by_its_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.log"
    path.write_text(text(nccl_lines(), nccl_lines(network="Socket", before=SOCKET, pid=500, comm_id="0xd")))
    _, out, _ = run(capsys, str(path))
    assert [line.split(" (")[0].split(" ", 2)[2] for line in out.splitlines() if " ranks; " in line] == [
        "run 1",
        "run 2",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no-such-file"], "No such file"),
        ([], "name a log"),
        (["--from", str(ROOT / "fixtures/roce-host")], "holds no job"),
        (["--"], "a command must follow"),
        (["--from", str(ROOT / "fixtures/roce-host"), "--", "true"], "exclude each other"),
        (["--", "/no/such/mpirun"], "cannot be started"),
        ([str(ROOT / "tools/rxe-guest/init.sh")], "a script, not a log"),
        ([str(ROOT / "tests/parsers/recorded/ibstat-rxe.txt")], "ibkit status"),
    ],
)
def test_what_cannot_be_read_is_said(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert words in err


# -- the answer for people


def test_the_answer_names_pairs_reasons_mends_and_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.log"
    path.write_text(TCP)
    _, out, _ = run(capsys, str(path))
    number = next(n for n, line in enumerate(TCP.splitlines(), 1) if "[send] via NET/Socket/0" in line)
    assert "  n01 - n02: tcp (ranks 0<->3, 1<->2)" in out
    assert "  reason noport: " in out
    assert "    fix: " in out
    assert f"{path}:{number}: " in out


@pytest.mark.parametrize(
    ("target", "words"),
    [("pid:abc", "pid:4711 is the number of a process"), ("slurm:", "slurm:4711.0"), ("run:", "neither a running job")],
)
def test_a_target_that_is_none_is_said_to_be_none(capsys: pytest.CaptureFixture[str], target: str, words: str) -> None:
    status, out, err = run(capsys, target)
    assert (status, out) == (2, "")
    assert words in err


def test_a_file_may_be_called_like_a_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pid:abc").write_text(text(nccl_lines()))
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "pid:abc")[0] == 0


def test_a_command_line_without_the_dashes_is_told_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(capsys, "mpirun", "-np", "2", "./a.out")
    assert ended.value.code == 2
    assert "stands behind --: ibkit check-mpi-transport -- mpirun" in capsys.readouterr().err
    status, _, told = run(capsys, "./hello", "1", "2")
    assert status == 2
    assert "1: only logs that are there are named together; a command line to be run stands behind --" in told


def test_several_logs_are_one_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a shell's pattern names them: each rank's, a folder, a host file."""
    of_n02 = [line for line in nccl_lines() if "n02:" in line]
    of_n01 = [line for line in nccl_lines() if line not in of_n02]
    (tmp_path / "rank0.log").write_text(text(of_n01))
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "rank1.log").write_text(text(of_n02))
    (tmp_path / "hostfile").write_text("n01 slots=2\nn02 slots=2\n")
    names = [str(tmp_path / name) for name in ("rank0.log", "others", "hostfile", "rank0.log")]
    status, out, _ = run(capsys, *names, "--json")
    found = json.loads(out)
    assert (status, found["verdict"], found["layers"][0]["ranks"]) == (0, "ib", 4)
    assert {evidence["file"] for evidence in found["evidence"]} == {names[0], names[1] + "/rank1.log"}
    assert found["target"] == " ".join(names)
    status, _, told = run(capsys, names[0], str(tmp_path / "none.log"))
    assert (status, "none.log" in told) == (2, True)


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ("-", "ibkit: - stands alone: "),
        ("none.log", "/none.log: No such file or directory"),
        ("none.log -- true", "/none.log: only logs that are there are named together; a command line"),
    ],
)
def test_what_does_not_go_with_a_log(log: Path, capsys: pytest.CaptureFixture[str], second: str, words: str) -> None:
    name, *rest = second.split()
    path = name if name == "-" else f"{log.parent / name}"
    status, out, err = run(capsys, str(log), path, *rest)
    assert (status, out) == (2, "")
    assert words in err


def test_what_is_open_comes_with_the_next_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.log"
    path.write_text("n01:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB ib0:10.0.0.1<0>\n")
    _, out, _ = run(capsys, str(path))
    assert "next step: run again with NCCL_DEBUG=INFO" in out


def test_many_pairs_are_folded_with_those_that_differ_first() -> None:
    hosts = [f"n{number:02d}" for number in range(30)]
    many = nccl_lines(hosts, per_host=1)
    odd = [line.replace("NET/IB/0", "NET/Socket/0") if ":107:" in line or ":108:" in line else line for line in many]
    shown = list(lines(judged(text(odd))))
    assert [line for line in shown if line.startswith(("  n0", "  n["))] == [
        "  n07 - n08: tcp (ranks 7<->8)",
        "  n[06,09] - n[07-08]: mixed (2 of 4 pairs of hosts)",
        "  n[00-05,10-29] - n[00-06,09-29]: ib (27 of 377 pairs of hosts)",
    ]


def test_all_hosts_alike_are_one_line() -> None:
    shown = list(lines(judged(text(nccl_lines([f"n{number:04d}" for number in range(1280)], per_host=1)))))
    assert "  n[0000-1279] with each other: ib (1,280 of 818,560 pairs of hosts)" in shown
    assert len(shown) < 25


def test_lines_that_are_too_long_for_the_terminal_go_on_below() -> None:
    shown = list(lines(judged(TCP), 80))
    assert max(map(len, shown)) <= 80
    assert any(line.startswith("      ") for line in shown), "the fix goes on, indented"
    (step,) = [line for line in lines(judged(TCP)) if line.startswith("    fix: ")]
    assert " ".join(step.split()) in " ".join(" ".join(shown).split()), "nothing of it is lost"


def test_a_mixture_names_the_host_to_look_at() -> None:
    hosts = [f"n{number}" for number in range(6)]
    pairs = [Pair(a, b, "tcp" if b == "n5" else "ib") for index, a in enumerate(hosts) for b in hosts[index + 1 :]]
    layer = Layer("mpi", "mixed", "mixed", hosts=tuple(hosts), pairs=tuple(pairs))
    shown = list(lines(JobVerdict("x", "mixed", "mixed", (layer,))))
    assert shown[3:5] == ["  n[0-4] - n5: tcp (5 pairs of hosts)", "  n[0-4] with each other: ib (10 pairs of hosts)"]
    assert "/proc/PID/limits of a rank on n5;" in shown[5]


def test_one_bad_host_is_one_line_though_other_links_are_bad_too() -> None:
    hosts = [f"n{number:02d}" for number in range(40)]
    bad = {("n01", "n02"), ("n05", "n06"), ("n11", "n12")}
    pairs = [
        Pair(a, b, "tcp" if (a, b) in bad or "n30" in (a, b) else "ib")
        for index, a in enumerate(hosts)
        for b in hosts[index + 1 :]
    ]
    layer = Layer("mpi", "mixed", "mixed", hosts=tuple(hosts), pairs=(*pairs, *(Pair(a, a, "shm") for a in hosts)))
    shown = list(lines(JobVerdict("x", "mixed", "mixed", (layer,))))
    assert "  n30 - all other hosts: tcp (39 pairs of hosts)" in shown
    assert {"  n01 - n02: tcp", "  n05 - n06: tcp", "  n11 - n12: tcp", "  on n[00-39]: shm"} <= set(shown)
    assert sum(": ib" in line for line in shown) < 5
    assert any("a rank on n30;" in line for line in shown)


def test_two_hosts_of_four_without_rdma_are_named_though_most_pairs_are_like_them() -> None:
    hosts = [f"n{number}" for number in range(4)]
    pairs = [Pair(a, b, "ib" if b == "n1" else "tcp") for index, a in enumerate(hosts) for b in hosts[index + 1 :]]
    layer = Layer("mpi", "mixed", "mixed", hosts=tuple(hosts), pairs=tuple(pairs))
    shown = list(lines(JobVerdict("x", "mixed", "mixed", (layer,))))
    assert any("/proc/PID/limits of a rank on n[2-3];" in line for line in shown)


def test_infiniband_here_and_roce_there_is_nothing_to_look_for() -> None:
    layer = Layer("nccl", "mixed", "mixed", hosts=("a", "b", "c"), pairs=(Pair("a", "b", "ib"), Pair("b", "c", "roce")))
    assert not any("next step" in line for line in lines(JobVerdict("x", "mixed", "mixed", (layer,))))


def test_what_is_known_of_hosts_that_said_nothing() -> None:
    layer = Layer("mpi", "ib", "as-expected", hosts=("n1", "n2", "n3"), pairs=(Pair("n1", "n2", "ib"),))
    assert "  n3: to other hosts nothing is known" in list(lines(JobVerdict("x", "ib", "as-expected", (layer,))))


def test_a_fall_back_without_a_reason_says_where_to_look() -> None:
    answer = judged(text(bml_lines()))
    (step,) = [line for line in lines(answer) if line.startswith("  next step: no line says why")]
    told = document(answer)
    assert "  next step: " + told["next_step"] == "  next step: " + told["layers"][0]["next_step"] == step


def test_many_runs_are_counted() -> None:
    layers = tuple(Layer("nccl", "tcp", "fallback", job=number) for number in range(1, 51))
    shown = list(lines(JobVerdict("x", "tcp", "fallback", layers)))
    assert "... and 30 more runs: 30 tcp, fallback; --json lists all" in shown


# -- what reasons mean


def test_the_page_of_reasons_is_what_explain_prints(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--explain", "all")
    assert status == 0
    page = (ROOT / "docs/reasons.md").read_text()
    assert page == out, "write it anew: ibkit check-mpi-transport --explain all > docs/reasons.md"


def test_explain_lists_and_tells_one(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--explain")
    assert (status, [line.split()[0] for line in out.splitlines()]) == (0, list(BY_ID))
    status, out, _ = run(capsys, "--explain", "memlock")
    assert (status, out.splitlines()[0]) == (0, "### memlock")
    assert "grep 'Max locked memory' /proc/PID/limits" in out
    assert "- Slurm: LimitMEMLOCK=infinity in slurmd's unit" in out


@pytest.mark.parametrize("width", [40, 79, 200])
@pytest.mark.parametrize("id", BY_ID)
def test_explain_at_a_terminal_is_plain_and_fits(id: str, width: int) -> None:
    told = list(explained_lines(BY_ID[id], width))
    longest = [line for line in told if len(line) > width]
    assert all(" " not in line.strip() for line in longest), "only one word alone may be wider"
    assert told[0] == id
    assert not any(line.lstrip().startswith(("#", "```", "- `")) for line in told)
    assert " ".join(BY_ID[id].meaning.split()) in " ".join(" ".join(told).split())


def test_explain_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, ids in ((["--explain"], list(BY_ID)), (["--explain", "gid"], ["gid"])):
        status, out, err = run(capsys, *arguments, "--json")
        document = json.loads(out)
        jsonschema.validate(document, strict("reasons"))
        assert (status, err, [reason["id"] for reason in document["reasons"]]) == (0, "", ids)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--explain", "nonsense"], "--explain nonsense: no such reason; there are memlock, "),
        (["--explain", "nonsense"], "and `all`, which is each of them"),
        (["--explain", "MEMLOK"], "no such reason (did you mean memlock?); there are"),
        (["--explain", ""], "--explain '': no such reason; there are"),
        (["--explain", "gid", "--csv"], "leave --csv out"),
        (["job.log", "--explain", "gid"], "leave job.log out"),
        (["--explain", "gid", "job.log", "--require", "ib"], "leave --require job.log out"),
        (["--explain", "gid", "--window", "0"], "leave --window out"),
        (["--explain", "gid", "--hosts", "n1", "--rsh", "ssh"], "leave --hosts --rsh out"),
        (["--explain", "gid", "--", "true"], "leave -- out"),
        (["--from", "capture", "--explain"], "leave --from out"),
    ],
)
def test_explain_refuses(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert words in err


# -- what is required


@pytest.mark.parametrize(
    ("content", "wanted", "status", "is_met"),
    [
        (text(nccl_lines()), "ib", 0, True),
        (text(nccl_lines()), "rdma", 0, True),
        (text(nccl_lines()), "roce", 1, False),
        (TCP, "rdma", 1, False),
        (text("+ mpirun --mca btl tcp,self ./a", bml_lines()), "rdma", 1, False),
        (text(ucx_lines("ep_cfg[2]: tag(rc_mlx5/mlx5_0:1)")), "rdma", 0, True),
        (text(ucx_lines("ep_cfg[2]: tag(rc_mlx5/mlx5_0:1)")), "ib", 3, None),
        (text(nccl_lines(["n01"])), "rdma", 3, None),
        ("n01:1:1 [0] NCCL INFO Using network IB\n", "ib", 3, None),
        ("epoch 1\n", "ib", 3, None),
        (text(nccl_lines(), LATER_TCP), "ib", 1, False),
    ],
)
def test_the_exit_status_of_a_requirement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, wanted: str, status: int, is_met: bool | None
) -> None:
    path = tmp_path / "job.log"
    path.write_text(content)
    found, out, err = run(capsys, str(path), "--require", wanted, "--json")
    document = json.loads(out)
    jsonschema.validate(document, SCHEMA)
    assert (found, document["require"]) == (status, {"wanted": wanted, "met": is_met})
    assert f"--require {wanted} " in err


UNDECIDED_RUN = text(nccl_lines(network=None, before=("NET/IB : Using [0]mlx5_0:1/IB",), pid=500, comm_id="0xd"))


def packed(content: str, cut: int) -> bytes:
    """As gzip, without its last bytes."""
    data = gzip.compress(content.encode())
    return data[: len(data) - cut]


def test_a_requirement_is_not_met_by_a_part_of_the_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.log.gz"
    path.write_bytes(packed(text(nccl_lines()), 0))
    assert run(capsys, str(path), "--require", "ib")[0] == 0
    path.write_bytes(packed(text(nccl_lines()), 4))
    assert run(capsys, str(path))[0] == 0, "the verdict is of what was read"
    status, _, err = run(capsys, str(path), "--require", "ib")
    assert status == 3
    assert "--require ib cannot be decided: the verdict is ib, but not everything was seen: " in err
    assert "not read to its end" in err.splitlines()[-1]
    assert run(capsys, str(path), "--require", "roce")[0] == 1


@pytest.mark.parametrize(
    ("fixture", "met"),
    [
        ("bare-nccl-ib", None),
        ("nccl-tests-header-and-channels-of-pids", True),
        ("ucx-1.13-two-hosts-one-log-missing", None),
    ],
)
def test_a_requirement_is_not_met_by_some_of_the_ranks(
    capsys: pytest.CaptureFixture[str], fixture: str, met: bool | None
) -> None:
    status, out, err = run(capsys, str(ROOT / "fixtures/jobs" / fixture / "job.log"), "--require", "rdma", "--json")
    assert (status, json.loads(out)["require"]["met"]) == ({True: 0, None: 3}[met], met)
    assert (met is None) == ("ranks said nothing" in err.splitlines()[-1])


def test_a_requirement_names_the_run_that_is_not_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.log"
    path.write_text(text(nccl_lines()) + UNDECIDED_RUN)
    status, _, err = run(capsys, str(path), "--require", "ib")
    told = "--require ib cannot be decided: the verdict is ib, but as for NCCL (run 2) it is not decided"
    assert (status, err.splitlines()[-1]) == (3, f"ibkit: {told}")


def test_an_aborted_job_meets_no_requirement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.log"
    end = "srun: error: n01: task 0: Exited with exit code 1\n"
    path.write_text(text(nccl_lines()) + end)
    status, out, err = run(capsys, str(path), "--require", "ib", "--json")
    assert json.loads(out)["status"] == "aborted"
    assert (status, json.loads(out)["require"]["met"]) == (1, False)
    assert "--require ib is not met: the verdict is ib, and the job aborted" in err


def test_what_cannot_be_required(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["check-mpi-transport", str(log), "--require", "tcp"])
    assert ended.value.code == 2
    capsys.readouterr()


# -- safety


def test_terminal_escapes_of_a_log_are_not_passed_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.log"
    path.write_text(TCP.replace("[send]", "\x1b[2J\x1b]0;owned\x07[send]"))
    _, out, err = run(capsys, str(path))
    assert "\x1b" not in out + err
    assert "\x07" not in out + err
    _, out, _ = run(capsys, str(path), "--json")
    assert "\\u001b" in out or "\x1b" not in out


def test_an_answer_without_layers_is_one_sentence() -> None:
    assert sentence(judged("nothing\n")) == "unknown: no line of it tells a transport"


# -- for programs


def test_json_fits_the_schema(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, str(log), "--json")
    document = json.loads(out)
    jsonschema.validate(document, SCHEMA)
    assert (status, err) == (0, "")
    assert (document["schema"], document["verdict"], document["target"]) == ("ibkit.mpi/1", "ib", str(log))


def test_csv_has_a_row_per_pair(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, str(log), "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["a"], row["b"], row["transport"]) for row in rows] == [
        ("n01", "n01", "shm"),
        ("n01", "n02", "ib"),
        ("n02", "n02", "shm"),
    ]


def test_problems_are_narrated_beside_the_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.log"
    path.write_bytes(text(nccl_lines()).encode() + b"x" * 2_000_000 + b"\n")
    status, out, err = run(capsys, str(path), "--json")
    (problem,) = json.loads(out)["problems"]
    assert (status, problem["kind"], problem["line"], problem["source"]) == (
        0,
        "long-line",
        len(nccl_lines()) + 1,
        str(path),
    )
    assert problem["text"] in err


def test_standard_input_as_a_process() -> None:
    """Through a real pipe, as `mpirun ... |& ibkit check-mpi-transport -`."""
    done = subprocess.run(
        [sys.executable, "-m", "ibkit", "check-mpi-transport", "-"],
        input=TCP.encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout.decode().splitlines()[0] == "-: TCP, not RDMA: a fall-back (noport)"


# -- captures


def test_the_job_of_a_capture_and_a_log_beside_a_capture(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "made"
    host = ROOT / "fixtures/roce-host"
    assert main(["capture", "--from", str(host), "--job", str(log), "-o", str(made)]) == 0
    capsys.readouterr()
    status, out, err = run(capsys, "--from", str(made), "--json")
    document = json.loads(out)
    jsonschema.validate(document, SCHEMA)
    assert (status, document["verdict"]) == (0, "ib")
    assert "replay of made" in err
    assert {evidence["file"] for evidence in document["evidence"]} == {"job.log"}
    beside = run(capsys, "--from", str(host), str(log), "--json")
    assert json.loads(beside[1])["layers"] == document["layers"]


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("mpi-rxe", 0, "RDMA (verbs"),
        ("mpi-tcp", 1, "TCP, as configured"),
        ("mpi-ucx-shm", 0, "shared memory on one host"),
    ],
)
def test_recorded_jobs(capsys: pytest.CaptureFixture[str], name: str, status: int, words: str) -> None:
    found, out, _ = run(capsys, str(RECORDED / name))
    assert (found, words in out.splitlines()[0]) == (status, True)
