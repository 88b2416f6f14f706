"""Lists of hosts: folded names, host files of launchers, files and variables of batch systems."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.allocations import Reader
from ibkit.parsers.hostfile import MAX_HOSTS, Hosts, counted, executed, expand, listed, read_hostfile
from ibkit.parsers.line_prefixes import to_line


@pytest.mark.parametrize(
    ("folded", "names"),
    [
        ("n01", ("n01",)),
        ("n[01-03,20]", ("n01", "n02", "n03", "n20")),
        ("gpu[098-101],login1", ("gpu098", "gpu099", "gpu100", "gpu101", "login1")),
        ("r[1-2]c[0-1]n3", ("r1c0n3", "r1c1n3", "r2c0n3", "r2c1n3")),
        ("n[9-11].cluster.org", ("n9.cluster.org", "n10.cluster.org", "n11.cluster.org")),
        ("n01,n01", ("n01",)),
        ("n[01-", ()),
        ("n[3-1]", ()),
        ("n[a-b]", ()),
        ("n[1-999999999]", ()),
        (f"n[0-{'9' * 5000}]", ()),
        ("(null)", ()),
        ("None assigned", ()),
        ("", ()),
    ],
)
def test_folded_names(folded: str, names: tuple[str, ...]) -> None:
    assert expand(folded) == names


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("n01 slots=4 max_slots=8\nn02 slots=4\n", Hosts(("n01", "n02"), 8)),
        ("# a comment\n\nn01\nn02  # the other\n", Hosts(("n01", "n02"))),
        ("n01:4\nn02:2\n", Hosts(("n01", "n02"), 6)),
        ("n01:1:mlx5_0\nn02:1:mlx5_0\n", Hosts(("n01", "n02"), 2)),
        ("n01\nn01\nn02\nn02\n", Hosts(("n01", "n02"), 4)),
        ("rank 0=n01 slot=0\nrank 1=n02 slot=0:0-3\n", Hosts(("n01", "n02"))),
        ("user@n01 slots=2\r\nn02 slots=2\r\n", Hosts(("n01", "n02"), 4)),
        ("train-worker-0.train.default.svc slots=8\n", Hosts(("train-worker-0.train.default.svc",), 8)),
        ("10.0.0.1:8\n10.0.0.2:8\n", Hosts(("10.0.0.1", "10.0.0.2"), 16)),
        ("127.0.0.1 localhost\n10.0.0.1 n01\n", None),
        ("n01:100:150 [0] NCCL INFO Using network IB\n", None),
        ("step 1 loss 4.2\n", None),
        ("", None),
    ],
)
def test_host_files(text: str, found: Hosts | None) -> None:
    assert read_hostfile(text) == found


def test_other_lists() -> None:
    assert counted(["n01", "8", "n02", "8"]) == Hosts(("n01", "n02"), 16)
    assert counted(["n01", "8", "n02"]) is None
    assert executed("n01/0*4+n02/0*4") == Hosts(("n01", "n02"), 8)
    assert executed("n01/1+n01/0+n02/1+n02/0") == Hosts(("n01", "n02"), 4)
    assert listed(["n01", "[0]"]) is None


@pytest.mark.parametrize(
    ("slots", "ranks", "used"),
    [(8, 8, 2), (8, 16, 2), (8, 4, None), (8, None, 2), (None, 2, 2), (None, 1, None), (None, None, 2)],
)
def test_how_many_hosts_are_used(slots: int | None, ranks: int | None, used: int | None) -> None:
    """Four ranks on two hosts of four slots may all be on the first."""
    assert Hosts(("n01", "n02"), slots).used(ranks) == used


@pytest.mark.parametrize(
    ("text", "source", "hosts"),
    [
        ("SLURM_JOB_NODELIST=n[01-02]", "SLURM_JOB_NODELIST", ("n01", "n02")),
        ('declare -x SLURM_STEP_NODELIST="n07"', "SLURM_STEP_NODELIST", ("n07",)),
        ("LSB_HOSTS=n01 n01 n02 n02", "LSB_HOSTS", ("n01", "n02")),
        ("LSB_MCPU_HOSTS='n01 2 n02 2 '", "LSB_MCPU_HOSTS", ("n01", "n02")),
        ("   NodeList=n[01-02]", "scontrol", ("n01", "n02")),
        ("    exec_host = n01/0*2+n02/0*2", "qstat", ("n01", "n02")),
        ("Job was executed on host(s) <2*n01>, in queue <q>, as user <u>", "bjobs", ("n01",)),
        ("mpirun -np 4 -H n01:2,n02:2 ./a", "command", ("n01", "n02")),
        ("$ srun -w n[01-02] -l ./a", "command", ("n01", "n02")),
        ("mpiexec -hosts n01,n02 -n 2 ./a", "command", ("n01", "n02")),
        ("$ mpirun_rsh -np 2 n01 n02 MV2_IBA_HCA=mlx5_0 ./a", "command", ("n01", "n02")),
        ("/opt/mvapich2/bin/mpirun_rsh -ssh -np 4 -export-all n01 n01 n02 n02 ./a -n 3", "command", ("n01", "n02")),
    ],
)
def test_lines_that_name_hosts(text: str, source: str, hosts: tuple[str, ...]) -> None:
    reader = Reader()
    (found,) = [*reader.read(to_line(1, text.encode())), *reader.finish()]
    assert (found.source, found.hosts) == (source, hosts)


@pytest.mark.parametrize(
    "text",
    [
        "   ReqNodeList=(null) ExcNodeList=(null)",
        "   NodeList=(null)",
        "mpiexec -host n01 -n 1 ./a : -host n02 -n 1 ./b",
        "mpirun_rsh -np 2 -hostfile hosts n01 n02 ./a",
        "mpirun_rsh -np 3 n01 n02 ./a 5",
        "mpirun_rsh -np 2 n01 MV2_USE_CUDA=1 ./a",
        "mpirun_rsh -np 2 n01 n02",
        "export SLURM_JOB_NODELIST=$HOSTS",
        f"    exec_host = {'n01/0*2+' * 20}n02/",
    ],
)
def test_lines_that_name_none_for_certain(text: str) -> None:
    reader = Reader()
    assert [*reader.read(to_line(1, text.encode())), *reader.finish()] == []


@given(st.text(alphabet="n01,-[]():/*+= \n#sloted", max_size=60))
def test_no_list_makes_a_reader_raise(text: str) -> None:
    for names in (expand(text), (read_hostfile(text) or Hosts(())).names, (executed(text) or Hosts(())).names):
        assert len(names) == len(set(names)) <= MAX_HOSTS


@given(st.lists(st.integers(0, 999), min_size=1, max_size=30, unique=True))
def test_a_folded_list_unfolds(numbers: list[int]) -> None:
    names = tuple(f"n{number:03d}" for number in numbers)
    assert expand(f"n[{','.join(name[1:] for name in names)}]") == names
