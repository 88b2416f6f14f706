"""HP-MPI's and Platform MPI's lines. Shapes: HP-MPI user's guide, 11th edition; public logs of STAR-CCM+, Abaqus and
Fluent with Platform MPI 8 and 9; the tables' values were counted by hand.
"""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.job_facts import Failure, Setting, Version
from ibkit.parsers.job_log import JobLog
from ibkit.parsers.log_lines import IGNORE, Line, shape
from ibkit.parsers.platform_mpi import PROTOCOLS, PlatformFact, ProtTable, Reader, worth

TABLE = """\
Host 0 -- ip 10.1.1.11 -- ranks 0 - 3
Host 1 -- ip 10.1.1.12 -- ranks 4, 6

 host | 0    1
======|===========
    0 : SHM  IBV
    1 : IBV  SHM

 Prot -  All Intra-node communication is: SHM
 Prot -  All Inter-node communication is: IBV
"""


def facts(text: str) -> list[PlatformFact]:
    reader = Reader()
    found: list[PlatformFact] = []
    for number, line in enumerate(text.split("\n"), 1):
        found += reader.read(Line(number, line, line))
    return [*found, *reader.finish()]


def tables(text: str) -> list[ProtTable]:
    return [fact for fact in facts(text) if isinstance(fact, ProtTable)]


def settings(text: str) -> list[tuple[str, str]]:
    return [(fact.name, fact.value) for fact in facts(text) if isinstance(fact, Setting)]


def test_a_table() -> None:
    (table,) = tables(TABLE)
    assert [(host.name, host.ranks) for host in table.hosts] == [("10.1.1.11", (0, 1, 2, 3)), ("10.1.1.12", (4, 6))]
    assert [(row.said.line, row.number, row.protocols) for row in table.rows] == [
        (6, 0, ("SHM", "IBV")),
        (7, 1, ("IBV", "SHM")),
    ]
    assert (table.intra, table.inter) == ("SHM", "IBV")
    assert table.inter_said is not None
    assert table.inter_said.line == 10
    assert table.is_whole


def test_each_protocol_is_a_cell() -> None:
    for name in PROTOCOLS:
        (table,) = tables(TABLE.replace("IBV", name))
        assert table.rows[0].protocols == ("SHM", name)
        assert worth(shape(f"    0 : {name}  SHM".encode())) != IGNORE


@pytest.mark.parametrize("lines", range(1, 7))
def test_a_table_that_is_cut_is_not_whole(lines: int) -> None:
    (table,) = tables("\n".join(TABLE.split("\n")[:lines]))
    assert not table.is_whole


def test_a_table_that_lacks_a_host_is_not_whole() -> None:
    lines = TABLE.split("\n")
    assert not any(table.is_whole for table in tables("\n".join([*lines[:1], *lines[2:]])))


def test_two_tables_are_two() -> None:
    assert [table.inter for table in tables(TABLE + "done\n" + TABLE.replace("IBV", "TCP"))] == ["IBV", "TCP"]


def test_lines_of_two_tables_that_alternate_are_torn() -> None:
    other = TABLE.replace("10.1.1.1", "10.1.1.2").replace("IBV", "TCP")
    mixed = "\n".join(line for both in zip(TABLE.split("\n"), other.split("\n"), strict=True) for line in both)
    assert not any(table.is_whole for table in tables(mixed))


def test_a_log_whose_lines_stand_twice_has_one_table() -> None:
    (table,) = tables("".join(line + line for line in TABLE.splitlines(keepends=True)))
    assert table.is_whole
    assert table.inter == "IBV"


def test_a_row_far_behind_a_table_is_none_of_it() -> None:
    cut = "\n".join(TABLE.split("\n")[:6])
    (table,) = tables(cut + "\n" * 500 + "    1 : IBV  SHM")
    assert len(table.rows) == 1


def test_the_names_of_starccm_take_the_place_of_addresses_of_the_same_ranks() -> None:
    version = "MPI Distribution : Platform Computing MPI-09.01.03.01\n"
    named = version + "Host 0 -- n11 -- Ranks 0-3\nHost 1 -- n12.site -- Ranks "
    (table,) = tables(TABLE + named + "4, 6")
    assert [host.name for host in table.hosts] == ["n11", "n12.site"]
    (table,) = tables(TABLE + named + "4-7")
    assert [host.name for host in table.hosts] == ["10.1.1.11", "10.1.1.12"]


def test_the_list_of_names_alone_is_no_table() -> None:
    assert not tables("Host 0 -- n11 -- Ranks 0-3\nHost 1 -- n12 -- Ranks 4-7\n    0 : SHM  IBV")


@pytest.mark.parametrize(
    ("text", "name", "version"),
    [
        ("MPI Distribution : Platform Computing MPI-9.1.4.0", "Platform MPI", "9.1.4.0"),
        ("mpirun: HP MPI 02.02.05.00 Linux x86-64", "HP-MPI", "02.02.05.00"),
        ("@(#)IBM Platform MPI 09.01.04.03 [BASELINE] Linux x86-64", "Platform MPI", "09.01.04.03"),
    ],
)
def test_versions(text: str, name: str, version: str) -> None:
    assert [(fact.runtime, fact.version) for fact in facts(text) if isinstance(fact, Version)] == [(name, version)]
    assert worth(shape(text.encode())) != IGNORE


@pytest.mark.parametrize(
    ("text", "topic", "rank"),
    [
        ("dmpCT_rsh: Rank 0:3: MPI_Init: multiple full-membership pkey found in partition key table, ", "pkey", 3),
        ("pp.x: Rank 0:1: MPI_Init: The IB ports choosen for IB connection setup do not have the same subnet_prefix.",
         "subnet", 1),
        ("MPI Application rank 1 exited before MPI_Finalize() with status 127", "died", 1),
        ("MPI Application rank 0 exited before MPI_Init() with status 1", "not-started", 0),
    ],
)  # fmt: skip
def test_failures(text: str, topic: str, rank: int) -> None:
    found = [(fact.topic, fact.said.rank, fact.is_fatal) for fact in facts(text) if isinstance(fact, Failure)]
    assert found == [(topic, rank, True)]
    assert worth(shape(text.encode())) != IGNORE


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("export MPI_IC_ORDER='tcp'", [("MPI_IC_ORDER", "tcp")]),
        ("+ export MPI_IC_ORDER=ibv:tcp", [("MPI_IC_ORDER", "ibv:tcp")]),
        ("setenv MPI_IC_ORDER udapl:ibv:tcp", [("MPI_IC_ORDER", "udapl:ibv:tcp")]),
        ("unset MPI_IC_ORDER", [("MPI_IC_ORDER", "")]),
        ('export MPIRUN_OPTIONS="-prot -TCP"', [("MPIRUN_OPTIONS", "TCP")]),
        ("$ mpirun -prot -TCP -np 4 ./a.out", [("mpirun", "TCP")]),
        ("/opt/ibm/platform_mpi/bin/mpirun -IBV -np 4 ./a.out", [("mpirun", "IBV")]),
        ('mpirun -hostlist "n01 4 n02 4" -ibv ./a.out', [("mpirun", "ibv")]),
        ("mpirun -prot -srun -N 6 -n 6 -TCP ./a.out", [("mpirun", "TCP")]),
        ("mpirun -e MPI_IC_ORDER=ibv:TCP -np 2 ./a.out", [("MPI_IC_ORDER", "ibv:TCP")]),
        ("mpirun -prot -np 4 \\\n  -TCP \\\n  ./a.out -IBV", [("mpirun", "TCP")]),
        ("Starting local server: /opt/star/bin/starccm+ -batch -fabric TCP -server w.sim", [("mpirun", "TCP")]),
        # the program's own, advice, a comment, a branch that may not have been taken
        ("mpirun -np 4 ./a.out -TCP", []),
        ("mpirun -prot solver -TCP", []),
        ("# export MPI_IC_ORDER=tcp", []),
        ("Use MPI_IC_ORDER=tcp if that fails", []),
        ("    export MPI_IC_ORDER=tcp", []),
        ("starccm+ -batch -fabric ucx w.sim", []),
    ],
)
def test_settings(text: str, found: list[tuple[str, str]]) -> None:
    assert settings(text) == found


def test_an_option_on_a_line_that_goes_on_is_read_in_a_log() -> None:
    log = io.BytesIO(b"mpirun -prot -np 4 \\\n  -TCP \\\n  ./a.out\n")
    found = [(fact.name, fact.said.line) for fact in JobLog(log) if isinstance(fact, Setting)]
    assert ("mpirun", 2) in found


@given(st.text(max_size=400))
def test_arbitrary_text_never_fails(text: str) -> None:
    facts(text)


@given(st.lists(st.sampled_from([*TABLE.split("\n"), "Host 7 -- ip x -- ranks 1 - 0", "99 : SHM", ""]), max_size=40))
def test_lines_in_any_order_never_fail(lines: list[str]) -> None:
    for table in tables("\n".join(lines)):
        assert not table.is_whole or len(table.rows) == len(table.hosts)


def test_absurd_lines_take_no_time() -> None:
    for text in ("Host 0 -- ip " + "x -- " * 20_000 + "ranks 0", "0 : " + "SHM " * 100_000, "starccm+ " * 100_000):
        facts(text)
    assert tables("Host 0 -- ip a -- ranks 0 - 99999999999999999\n    0 : SHM")[0].hosts[0].ranks == ()
