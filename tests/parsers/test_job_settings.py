"""How many ranks a command line asks for: the launcher's own words tell it, and never those of its program."""

from __future__ import annotations

import pytest

from ibkit.parsers.job_facts import Setting
from ibkit.parsers.job_settings import Reader
from ibkit.parsers.log_lines import Line


def ranks(*texts: str) -> list[str]:
    reader = Reader()
    facts = [fact for number, text in enumerate(texts, 1) for fact in reader.read(Line(number, text, text))]
    return [fact.value for fact in facts if getattr(fact, "name", None) in ("ranks", "tasks")]


@pytest.mark.parametrize(
    ("command", "count"),
    [
        ("mpirun -np 2 ./a.out", ["2"]),
        ("mpirun -np 2 ./a.out -n 100", ["2"]),
        ("mpirun --oversubscribe -np 2 sh -c head -c 200000 x", ["2"]),
        ("mpirun ./a.out -n 100", []),
        ("mpirun --allow-run-as-root ./a.out -n 100", []),
        ("srun -n 4 ./a.out -n 100", ["4"]),
        ("srun -n4 ./a.out -n 100", ["4"]),
        ("srun --ntasks=4 ./a.out -n 100", ["4"]),
        ("srun -N1 -n1 mpirun -np 8 ./a.out", ["8"]),
        ("timeout 9 mpirun --mca btl tcp,self --host a:1 -np 3 ./a : -np 2 ./b -n 7", ["5"]),
        ("mpirun -genv UCX_TLS tcp -n 2 ./a.out -n 3", ["2"]),
        ("mpirun -np 1 ./a : ./b -n 7", []),  # the second command leaves it open
    ],
)
def test_the_program_s_own_options_are_no_numbers_of_ranks(command: str, count: list[str]) -> None:
    assert ranks(command) == count


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SLURM_TASKS_PER_NODE=2(x3),1", [("SLURM_TASKS_PER_NODE", "2(x3),1")]),
        ("export SLURM_STEP_TASKS_PER_NODE=36", [("nodes", "1")]),
        ("SLURM_STEP_NUM_NODES=2", [("SLURM_STEP_NUM_NODES", "2")]),
        ("SLURM_STEP_NUM_TASKS=8", [("SLURM_STEP_NUM_TASKS", "8")]),
        ("SLURM_TASKS_PER_NODE=2(x", []),
        ("SLURM_TASKS_PER_NODE=", []),
        ("SLURM_TASKS_PER_NODE=2,,1", []),
        ("SLURM_NTASKS_PER_NODE=2", []),  # what was asked for
    ],
)
def test_what_slurm_tells_of_nodes_and_tasks(text: str, found: list[tuple[str, str]]) -> None:
    assert [(fact.name, fact.value) for fact in Reader().read(Line(1, text, text))] == found


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("srun -N2 -n16 ./a -N 4", [("nodes", "2"), ("tasks", "16")]),
        ("srun -N 1 -n 2 ./a", [("nodes", "1"), ("tasks", "2")]),
        ("srun --nodes 1 ./a", [("nodes", "1")]),
        ("srun --nodes=1-2 ./a", [("nodes", "1"), ("nodes", "2")]),  # either
        ("srun --ntasks=2 --ntasks-per-node=2 ./a", [("per-node", "2"), ("tasks", "2")]),
        ("mpiexec -n 2 -ppn 2 ./a", [("per-node", "2"), ("ranks", "2")]),
        ("mpirun -perhost 1 -n 2 ./a -ppn 4", [("per-node", "1"), ("ranks", "2")]),
        ("mpirun -n 2 -rr ./a", [("per-node", "1"), ("ranks", "2")]),
        ("mpirun -np 8 -N 4 ./a", [("per-node", "4"), ("ranks", "8")]),
        ("mpirun -np 8 --map-by ppr:4:node ./a", [("per-node", "4"), ("ranks", "8")]),
        ("mpirun -np 8 --map-by ppr:4:socket ./a", [("ranks", "8")]),
        ("export I_MPI_PERHOST=2", [("per-node", "2")]),
        ("export I_MPI_PERHOST=allcores", []),
    ],
)
def test_how_ranks_are_placed(command: str, found: list[tuple[str, str]]) -> None:
    facts = [fact for fact in Reader().read(Line(1, command, command)) if getattr(fact, "runtime", None) == "job"]
    assert sorted((fact.name, fact.value) for fact in facts) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[2026-02-08 22:59:18,790] [INFO] [launch.py:139:main] 0 NCCL_IB_DISABLE=1", [("NCCL_IB_DISABLE", "1")]),
        ("n02: [INFO] [launch.py:71:main] 1 NCCL_SOCKET_IFNAME eth0", [("NCCL_SOCKET_IFNAME", "eth0")]),
        ("[INFO] [runner.py:71:main] 0 NCCL_IB_DISABLE=1", []),  # another program's line
        ("environ({'A': 'b', 'NCCL_NET': 'Socket', 'UCX_TLS': 'tcp'})", [("NCCL_NET", "Socket"), ("UCX_TLS", "tcp")]),
        ("set environ({'NCCL_NET': 'Socket'})", []),
    ],
)
def test_what_deepspeed_and_python_tell_of_the_environment(text: str, found: list[tuple[str, str]]) -> None:
    assert [(fact.name, fact.value) for fact in Reader().read(Line(1, text, text))] == found


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("srun --export=ALL,OMPI_MCA_btl='tcp,self' -n 2 ./a", [("btl", "tcp,self")]),
        ("srun -n 2 --export=UCX_TLS=^ib,FI_PROVIDER=tcp ./a", [("UCX_TLS", "^ib"), ("FI_PROVIDER", "tcp")]),
        ("srun --export=ALL,OMPI_MCA_btl=tcp,self -n 2 ./a", [("btl", "tcp")]),  # self is another variable's name
        ("srun --export=ALL -n 2 ./a --export=UCX_TLS=tcp", []),  # the program's own option
        ("mpirun --export=UCX_TLS=tcp -n 2 ./a", []),
        ("srun --export=ALL,MY_UCX_TLS=tcp -n 2 ./a", []),
    ],
)
def test_what_srun_exports(command: str, found: list[tuple[str, str]]) -> None:
    facts = Reader().read(Line(1, command, command))
    assert [(fact.name, fact.value) for fact in facts if isinstance(fact, Setting) and fact.runtime != "job"] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A=1 B=2 NCCL_IB_DISABLE=1 torchrun m.py", [("NCCL_IB_DISABLE", "1")]),
        ("export A=1 NCCL_IB_DISABLE=1 UCX_TLS='tcp,self'", [("NCCL_IB_DISABLE", "1"), ("UCX_TLS", "tcp,self")]),
        ("root@n01:~/job# A=1 NCCL_IB_DISABLE=1 ./all_reduce_perf -b 8", [("NCCL_IB_DISABLE", "1")]),
        ("[ana@n01 run]$ export NCCL_IB_DISABLE=1", [("NCCL_IB_DISABLE", "1")]),
        ("(torch) ana@n01:~$ mpirun -x NCCL_IB_DISABLE=1 -np 2 ./a", [("NCCL_IB_DISABLE", "1")]),
        ("+ A=1 NCCL_IB_DISABLE=1 ./a", [("NCCL_IB_DISABLE", "1")]),
        ("root@n01:~/job# # NCCL_IB_DISABLE=1 ./a", []),  # a comment behind a prompt
        ("# A=1 NCCL_IB_DISABLE=1 ./a", []),
        ("# mpirun -x NCCL_IB_DISABLE=1 -np 2 ./a", []),
        ("root@n01:~/job# grep NCCL_IB_DISABLE=1 run.log", []),
        ("root@n01:~/job# ./a --note A=1 NCCL_IB_DISABLE=1", []),  # the program's own words
        ("see NCCL_IB_DISABLE=1 UCX_TLS=tcp", []),
    ],
)
def test_a_command_behind_a_prompt_and_variables_in_front_of_it(text: str, found: list[tuple[str, str]]) -> None:
    facts = Reader().read(Line(1, text, text))
    assert [(fact.name, fact.value) for fact in facts if isinstance(fact, Setting) and fact.runtime != "job"] == found


def test_where_the_command_of_a_setting_begins() -> None:
    """Behind a backslash it is another line than the setting's."""
    reader = Reader()
    texts = ["mpirun -x UCX_TLS=tcp \\", " --bind-to core \\", " -x UCX_LOG_LEVEL=info ./a", "mpirun -x UCX_TLS=rc ./a"]
    facts = [fact for number, text in enumerate(texts, 1) for fact in reader.read(Line(number, text, text))]
    found = [(fact.value, fact.said.line, fact.start) for fact in facts if isinstance(fact, Setting)]
    assert found == [("tcp", 1, None), ("info", 3, 1), ("rc", 4, None)]
