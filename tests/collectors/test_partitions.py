"""P_Key tables from the SA, from ports, from /sys and from saved texts: who was asked, and what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.answers import Answers, said
from support.drawn import drawn, end
from support.recorded import Recorded
from support.recorded import said as heard

from ibkit.collectors.fabric import collect_fabric
from ibkit.collectors.partitions import MAX_PORTS_ASKED, collect_partitions, collect_tables_of
from ibkit.model.fabric import Fabric
from ibkit.model.ids import Guid
from ibkit.model.partitions import FULL, LIMITED, Partitions, partitions_of
from ibkit.model.routes import owners_of
from ibkit.sources.base import TIMEOUT, Entry
from ibkit.sources.opening import open_site

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
BULK = (TOOLS / "saquery/ft12/pkeys.txt").read_text()
TREE = (TOOLS / "ibnetdiscover/tree.txt").read_text()
MASTER = "sminfo: sm lid 1 sm guid 0xc42a10300000001, activity count 5 priority 0 state 3 SMINFO_MASTER\n"
REFUSED = said("", "ERROR: Query result returned 0x0200,  SA(SA_ERR_REQ_INVALID)\n", 5)
FIRST, LEAF = Guid(0x0C42A10300000000), Guid(0xB8599F0300000000)


def table(*keys: int) -> str:
    """What ``smpquery pkeys`` prints of a table of 32 entries."""
    words = [f"0x{key:04x}" for key in (*keys, *[0] * (32 - len(keys)))]
    rows = [f"{i:4}: {' '.join(words[i : i + 8])} \n" for i in range(0, 32, 8)]
    return "".join(rows) + "32 pkeys capacity for this port\n"


def membership(partitions: Partitions) -> dict[int, tuple[int, int]]:
    """Partition -> how many full and limited members."""
    return {one.number: (len(one.full), len(one.limited)) for one in partitions_of(partitions.ports)}


def line_of(lid: int) -> int:
    """The title of the first record of a LID stands in the line before it."""
    return BULK[: BULK.index(f"LID........................{lid}\n")].count("\n")


def small() -> Fabric:
    return drawn(["h1/1 s1/1", "h2/1 s1/2"], {"h1/1": 1, "h2/1": 2, "s1": 3})


def test_the_sas_answer_for_a_whole_subnet() -> None:
    source = Answers({"ibnetdiscover": said(TREE), "saquery PKTR": said(BULK), "sminfo": said(MASTER)})
    made = collect_partitions(source)
    assert membership(made) == {1: (1, 14), 0x7FFF: (15, 0)}
    assert (len(made.ports), made.complete, made.problems) == (15, True, ())
    outer = {(one.guid, one.port) for one in made.filters}
    assert len(outer) == 12 + 2 * 17, "12 cables to HCAs have a switch's port at one end, the 17 others at both"
    first = made.of(FIRST, 1)
    assert first and [str(key) for key in first.keys] == ["0xffff", "0x8001"]
    assert (first.lid, first.name, first.port_guid, first.line) == (1, "c001-001 mlx5_0", Guid(FIRST + 1), line_of(1))
    leaf = made.of(LEAF, 0)
    assert leaf and (leaf.membership(1), leaf.membership(0x7FFF), leaf.default_index) == (LIMITED, FULL, 0)
    assert made.manager == Guid(FIRST + 1)


def test_the_same_without_the_topology_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "pkeys.txt"
    path.write_text(BULK)
    made = collect_partitions(open_site(str(path)).subnet)
    assert membership(made) == {1: (1, 14), 0x7FFF: (15, 0)}
    assert (len(made.ports), made.complete, {one.guid for one in made.ports}) == (15, None, {None})
    assert {one.lid for one in made.ports if one.membership(1) == FULL} == {1}
    path.write_text(TREE + BULK)
    assert collect_partitions(open_site(str(path)).subnet).of(FIRST, 1)


def test_refused_by_the_sa_then_asked_with_opensms_own_key() -> None:
    answers = {"saquery PKTR": REFUSED, "saquery --smkey 1 PKTR": said(BULK), "ibnetdiscover": said(TREE)}
    made = collect_partitions(Answers(answers))
    assert (membership(made), made.complete, made.source) == (
        {1: (1, 14), 0x7FFF: (15, 0)},
        True,
        "saquery --smkey 1 PKTR",
    )
    assert made.problems == (), "a refusal that the next question makes good is nothing to tell"


def test_nobody_tells() -> None:
    made = collect_partitions(Answers({"ibnetdiscover": said(TREE), "saquery PKTR": REFUSED}))
    assert (made.ports, made.complete) == ((), False)
    assert [problem.kind for problem in made.problems] == ["tool-failed", "no-table"]
    assert "15 of 15 ports" in made.problems[1].text
    assert "--smkey KEY" in made.problems[1].text


def test_ports_are_asked_where_the_sa_refuses() -> None:
    source = Recorded(
        heard("saquery PKTR", "", "ERROR: Query result returned 0x0200,  SA(SA_ERR_REQ_INVALID)\n", 5),
        heard("smpquery pkeys 1 1", table(0xFFFF, 0x8001)), heard("smpquery pkeys 2", table(0x7FFF, 0x0001)),
        heard("smpquery pkeys 3 0", table(0x7FFF)),
    )  # fmt: skip
    made = collect_partitions(source, small())
    assert membership(made) == {1: (1, 1), 0x7FFF: (1, 2)}
    assert made.complete is True
    assert {one.source for one in made.ports} == {"smpquery pkeys 1 1", "smpquery pkeys 2", "smpquery pkeys 3 0"}
    assert "smpquery pkeys 3" not in source.asked, "a switch has more than one port"


def test_an_answer_of_the_sa_that_is_cut_without_a_word_is_no_answer() -> None:
    """As a simulator does: its first packet holds two records. The second block of the last port is lost."""
    cut = BULK[: BULK.index("PKeyTableRecord dump:", BULK.index("PKeyTableRecord dump:", 10) + 10)]
    made = collect_partitions(Answers({"ibnetdiscover": said(TREE), "saquery PKTR": said(cut)}))
    assert ([one.lid for one in made.ports], made.complete) == ([2], False)
    assert "14 of 15 ports" in made.problems[-1].text
    one_port = BULK.split("PKeyTableRecord dump:")[59]
    made = collect_partitions(
        Answers({"ibnetdiscover": said(TREE), "saquery PKTR": said(f"PKeyTableRecord dump:{one_port}")})
    )
    assert [one.whole for one in (*made.ports, *made.filters)] == [False], "it may have had a second block"


def test_two_answers_that_differ_are_a_contradiction() -> None:
    records = BULK.split("PKeyTableRecord dump:")[1:]
    some = "".join(f"PKeyTableRecord dump:{one}" for one in records if "LID........................1\n" in one)
    answers = {
        "saquery PKTR": said(some),
        "smpquery pkeys 1 1": said(table(0xFFFF)),
        "smpquery pkeys 2 1": said(table(0xFFFF)),
    }
    made = collect_partitions(Answers(answers), small())
    told = [problem for problem in made.problems if problem.kind == "contradiction"]
    assert len(told) == 1
    assert "h1 box" in told[0].text
    assert "saquery PKTR and smpquery pkeys 1 1" in told[0].text


def test_ports_that_do_not_answer_are_not_all_waited_for() -> None:
    net = drawn([f"h{i}/1 s1/{i}" for i in range(1, 9)], {f"h{i}/1": i for i in range(1, 9)}, ports=8)
    silent = {f"smpquery pkeys {i} 1": said("", "", None, TIMEOUT) for i in range(1, 9)}
    source = Recorded(*[heard(command, "", "x", 255) for command in silent])
    made = collect_partitions(source, net)
    assert sum(command.startswith("smpquery") for command in source.asked) == 3
    assert (made.complete, [problem.kind for problem in made.problems]) == (False, ["tool-failed", "no-table"])
    one_answers = Recorded(
        heard("smpquery pkeys 1 1", table(0xFFFF)), *[heard(c, "", "x", 255) for c in list(silent)[1:]]
    )
    made = collect_partitions(one_answers, net)
    assert sum(command.startswith("smpquery") for command in one_answers.asked) == 8
    assert "7 of 8 ports" in made.problems[-1].text


def test_a_large_fabric_is_not_asked_port_by_port() -> None:
    count = MAX_PORTS_ASKED + 5
    net = drawn(
        [f"h{i}/1 s1/{i}" for i in range(1, count + 1)], {f"h{i}/1": i for i in range(1, count + 1)}, ports=count
    )
    source = Recorded(*[heard(f"smpquery pkeys {i} 1", table(0xFFFF)) for i in range(1, count + 1)])
    made = collect_partitions(source, net)
    assert sum(command.startswith("smpquery") for command in source.asked) == 0
    assert (len(made.ports), made.complete) == (0, False)
    assert [problem.kind for problem in made.problems] == ["not-asked", "no-table"]


def test_this_hosts_port_by_sys() -> None:
    net = small()
    port_guid = net.nodes[end("h1/1").guid].ports[0].guid
    assert port_guid is not None
    ports = "/sys/class/infiniband/mlx5_0/ports/1"
    digits = f"{int(port_guid):016x}"
    gid = "fe80:0000:0000:0000:" + ":".join(digits[i : i + 4] for i in range(0, 16, 4))
    files = {
        f"{ports}/link_layer": "InfiniBand\n", f"{ports}/state": "4: ACTIVE\n", f"{ports}/gids/0": f"{gid}\n",
        f"{ports}/pkeys/0": "0xffff\n", f"{ports}/pkeys/1": "0x0000\n", f"{ports}/pkeys/10": "0x0007\n",
        f"{ports}/pkeys/2": "0x8002\n",
    }  # fmt: skip
    folders = {
        "/sys/class/infiniband": [Entry("mlx5_0", "link")],
        "/sys/class/infiniband/mlx5_0/ports": [Entry("1", "folder")],
        f"{ports}/pkeys": [Entry(name, "file") for name in ("0", "1", "10", "2")],
    }  # fmt: skip
    made = collect_partitions(Answers({"saquery PKTR": REFUSED}, files=files, folders=folders), net)
    (mine,) = made.ports
    assert [str(key) for key in mine.keys] == ["0xffff", "0x0000", "0x8002", "0x0007"], (
        "in order of the entries' numbers"
    )
    assert (mine.guid, mine.source, mine.whole) == (end("h1/1").guid, f"{ports}/pkeys", True)
    del files[f"{ports}/pkeys/2"]
    made = collect_partitions(Answers({}, files=files, folders=folders), net)
    assert made.ports[0].whole is False, "an entry that could not be read may be any"


def test_ibdiagnets_section() -> None:
    made = collect_partitions(open_site(str(TOOLS / "ibdiagnet2.db_csv/pkeys.txt")).subnet)
    assert membership(made) == {1: (1, 1), 0x7FFF: (2, 1)}
    by_name = {one.name: [str(key) for key in one.keys] for one in made.ports}
    assert by_name == {
        "MF0;leaf1:MQM8700/U1": ["0xffff"], "host1 mlx5_0": ["0xffff", "0x0000", "0x8001"],
        "rack 7, slot 2": ["0x7fff", "0x0001"],
    }  # fmt: skip
    assert made.complete is False, "a neighbour is missing in the file"


@pytest.mark.parametrize(
    ("row", "problem"),
    [("0xb000000000001000,0xb000000000001000,0,0x7fff,2", "1 rows of PKEY make no sense"),
     ("0xb000000000001000,0xb000000000001000,0,0x17fff,1", "1 rows of PKEY make no sense"),
     ("0xb000000000001000,0xb000000000001000,0,1_0,1", "1 rows of PKEY make no sense"),
     ("0xb000000000001000,0xb000000000001000,300,0x7fff,1", "1 rows of PKEY make no sense")],
)  # fmt: skip
def test_rows_of_it_that_make_no_sense(tmp_path: Path, row: str, problem: str) -> None:
    text = (TOOLS / "ibdiagnet2.db_csv/pkeys.txt").read_text().replace("END_PKEY", f"{row}\nEND_PKEY")
    (tmp_path / "x.csv").write_text(text)
    made = collect_partitions(open_site(str(tmp_path / "x.csv")).subnet)
    assert problem in [told.text for told in made.problems]
    assert not any(one.whole for one in made.ports), "nobody knows whose the row was"


def test_a_table_that_somebody_pasted_has_no_name() -> None:
    made = collect_partitions(open_site(str(TOOLS / "smpquery/ft12/pkeys.txt")).subnet)
    (one,) = made.ports
    assert (one.guid, one.port, one.lid, [str(key) for key in one.keys]) == (None, None, None, ["0xffff", "0x0001"])
    assert made.complete is None


def test_a_record_that_is_cut(tmp_path: Path) -> None:
    text = BULK[: BULK.rindex("0x0000 0x0000", 0, len(BULK) - 200)]
    made = collect_partitions(Answers({"ibnetdiscover": said(TREE), "saquery PKTR": said(text)}))
    assert made.complete is False
    assert "cut-record" in [problem.kind for problem in made.problems]


def test_a_later_block_without_the_first_one(tmp_path: Path) -> None:
    file = tmp_path / "block1.txt"
    first = BULK[: BULK.index("PKeyTableRecord dump:", 1)]
    file.write_text(first.replace("Block......................0", "Block......................1"))
    made = collect_partitions(open_site(str(file)).subnet)
    assert (made.complete, [port.whole for port in made.ports]) == (False, [False])
    assert [problem.kind for problem in made.problems] == ["no-table"]
    assert "known by a part of the P_Key table alone" in made.problems[0].text


def test_the_tables_of_two_ports_alone() -> None:
    source = Recorded(heard("smpquery pkeys 1 1", table(0xFFFF)), heard("smpquery pkeys 2 1", table(0x7FFF)))
    net = small()
    made = collect_tables_of(source, net, owners_of(net), [end("h1/1"), end("h2/1")])
    assert [(one.lid, [str(key) for key in one.keys]) for one in made.ports] == [(1, ["0xffff"]), (2, ["0x7fff"])]
    assert [command for command in source.asked if "saquery" in command] == []


def test_two_ports_are_looked_up_in_a_captures_bulk_answer() -> None:
    fabric = collect_fabric(Answers({"ibnetdiscover": said(TREE)}))
    owners = owners_of(fabric)
    ends = [owners.of(15)[0], owners.of(1)[0]]
    made = collect_tables_of(Answers({"saquery PKTR": said(BULK)}), fabric, owners, ends)
    assert [(one.lid, [str(key) for key in one.keys], one.line) for one in made.ports] == [
        (1, ["0xffff", "0x8001"], line_of(1)), (15, ["0xffff", "0x0001"], line_of(15)),
    ]  # fmt: skip
    assert (made.filters, made.problems) == ((), ())


def test_live_the_sa_is_asked_about_the_two_alone() -> None:
    pktr = BULK.split("PKeyTableRecord dump:")
    mine = "".join(f"PKeyTableRecord dump:{one}" for one in pktr if "LID........................1\n" in one)
    source = Recorded(
        heard("smpquery pkeys 1 1", "", "smpquery: iberror: failed: x\n", 255),
        heard("smpquery pkeys 2 1", "", "x", 255),
        heard("saquery PKTR 1", "", "ERROR: Query result returned 0x0200,  SA(SA_ERR_REQ_INVALID)\n", 5),
        heard("saquery --smkey 1 PKTR 1", mine),
        heard("saquery PKTR 2", "", "", 110),
        heard("saquery --smkey 1 PKTR 2", "", "", 110),
    )  # fmt: skip
    net = small()
    made = collect_tables_of(source, net, owners_of(net), [end("h1/1"), end("h2/1")])
    assert [(one.lid, [str(key) for key in one.keys]) for one in made.ports] == [(1, ["0xffff", "0x8001"])]
    assert "saquery PKTR" not in source.asked, "the whole subnet's tables are 60 MB on a large one"
