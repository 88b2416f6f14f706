"""``rdma`` of iproute2: both forms of what a SoftRoCE guest printed say the same, and hostile texts cost a problem."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import rdma
from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.rdma import parse

SAMPLES = Path(__file__).parents[2] / "fixtures/tools/rdma"


def sample(name: str) -> str:
    return (SAMPLES / f"{name}.txt").read_text()


def test_queue_pairs_of_two_ranks() -> None:
    parsed = parse(sample("queue-pairs"))
    assert parsed.problems == ()
    rows = parsed.value
    assert [(row.device, row.port, row.number("lqpn"), row.text("type"), row.number("pid")) for row in rows] == [
        ("rxe0", 1, 20, "UD", 89), ("rxe0", 1, 22, "UD", 90), ("rxe0", 1, 23, "RC", 89), ("rxe0", 1, 24, "RC", 90),
        ("rxe0", 1, 25, "RC", 89), ("rxe0", 1, 26, "RC", 90), ("rxe0", 1, 1, "GSI", None), ("rxe1", 1, 1, "GSI", None),
    ]  # fmt: skip
    assert {row.kind for row in parsed.value} == {rdma.QP}
    assert parsed.value[4].number("rqpn") == 26
    assert [row.text("comm") for row in parsed.value] == ["pp.ompi"] * 6 + ["ib_core"] * 2


def test_both_forms_say_the_same() -> None:
    for name, moving in (
        ("connections", ()), ("queue-pairs", ("rq-psn", "sq-psn")), ("link", ("netdev_index",)), ("devices", ()),
        ("statistics", ()),
    ):  # fmt: skip
        text, told = parse(sample(name)), parse(sample(f"{name}-json"))
        assert told.complete is True
        for one, other in zip(text.value, told.value, strict=True):
            assert (one.kind, one.device, one.port) == (other.kind, other.device, other.port)
            for key in other.values.keys() - {*moving}:
                assert one.text(key) == other.text(key), key


def test_connections() -> None:
    first, second, *_ = parse(sample("connections")).value
    assert (first.kind, first.number("lqpn"), first.text("state"), first.number("pid")) == ("cm_id", 21, "CONNECT", 531)
    assert first.text("src-addr") == second.text("dst-addr") == "10.77.0.1:60787"


@pytest.mark.parametrize(
    ("line", "comm", "after"),
    [
        ("link rxe0/1 lqpn 5 type RC state RTS pid 7 comm my job ", "my job", None),
        ("link rxe0/1 cm-idn 5 pid 7 comm a b src-addr 10.0.0.1:5 dst-addr 10.0.0.2:6 ", "a b", "10.0.0.1:5"),
        ("link rxe0/- lqpn 5 type RC state RTS comm [nvme_rdma] ", "nvme_rdma", None),
        ("link rxe0/1 lqpn 5 type RC state RTS pid 7 comm [odd] ", "[odd]", None),
    ],
)
def test_names_of_owners(line: str, comm: str, after: str | None) -> None:
    (row,) = parse(line + "\n").value
    assert (row.text("comm"), row.text("src-addr")) == (comm, after)


def test_kinds() -> None:
    lines = {
        "dev rxe0 cqn 3 cqe 511 users 2 adaptive-moderation off ctxn 6 pid 507 comm x ": rdma.CQ,
        "dev rxe0 mrn 2 rkey 0x0 lkey 0x4c8 mrlen 4096 pdn 3 pid 507 comm x ": rdma.MR,
        "dev rxe0 pdn 3 local_dma_lkey 0x0 users 2 ctxn 6 pid 507 comm x ": rdma.PD,
        "dev rxe0 ctxn 6 pid 507 comm x ": rdma.CTX,
        "0: rxe0: node_type ca node_guid b4f0:34ff:fe8e:d331 sys_image_guid b4f0:34ff:fe8e:d331 ": rdma.DEVICE,
        "1/1: mlx5_0/1: lid 65535 sm_lid 0 lmc 0 state DOWN physical_state POLLING ": rdma.LINK,
        "link rxe0/1 sent_pkts 0 rcvd_pkts 0 ": rdma.STATISTIC,
    }
    rows = parse("\n".join(lines) + "\n").value
    assert [row.kind for row in rows] == list(lines.values())
    assert rows[1].text("lkey") == "4c8"


def test_details_are_no_noise() -> None:
    assert parse(sample("devices-details")).problems == ()
    parsed = parse("link mlx5_2/1 cntn 4 qp-type RC rx_write_requests 0 \n    LQPN: <178>\n")
    assert ([row.kind for row in parsed.value], parsed.problems) == ([rdma.COUNTER], ())


def test_a_colon_behind_the_port() -> None:
    """As NVIDIA's builds have it, and old ones with the index before it."""
    for line in ("link mlx5_0/1: state ACTIVE physical_state LINK_UP netdev ens21f0 \n",
                 "8/1: mlx5_0/1: state ACTIVE physical_state LINK_UP netdev ens21f0 \n"):  # fmt: skip
        (row,) = parse(line).value
        assert (row.kind, row.device, row.port, row.text("netdev")) == (rdma.LINK, "mlx5_0", 1, "ens21f0")


#: What iproute2 4.16 to 5.4 prints: rows in brackets (rdma/res-qp.c), and the port in the device's name (link.c).
OLD_QUEUE_PAIRS = (
    '[["ifindex":1,"port":1,"ifname":"mlx5_0","lqpn":1,"type":"GSI","state":"RTS","sq-psn":0,"comm":"ib_core"],'
    '["ifindex":1,"port":1,"ifname":"mlx5_0","lqpn":97,"rqpn":98,"type":"RC","state":"RTS","rq-psn":5,"sq-psn":7,'
    '"path-mig-state":"MIGRATED","pid":77,"comm":"a [b] \\"c"]]\n'
)


def test_rows_in_brackets() -> None:
    parsed = parse(OLD_QUEUE_PAIRS)
    assert (parsed.complete, parsed.problems) == (True, ())
    assert [(row.kind, row.device, row.port, row.number("lqpn"), row.text("comm")) for row in parsed.value] == [
        (rdma.QP, "mlx5_0", 1, 1, "ib_core"), (rdma.QP, "mlx5_0", 1, 97, 'a [b] "c'),
    ]  # fmt: skip
    cut = parse(OLD_QUEUE_PAIRS[:150])
    assert (cut.complete, [row.number("lqpn") for row in cut.value]) == (False, [1])


def test_a_port_in_the_name() -> None:
    old = '[{"ifindex":1,"port":1,"ifname":"mlx5_0/1","lid":13399,"state":"ACTIVE","physical_state":"LINK_UP"}]'
    (row,) = parse(old).value
    assert (row.device, row.port, row.number("lid")) == ("mlx5_0", 1, 13399)


def test_both_forms_in_one_log() -> None:
    """A session in which the tool ran twice and more; none of its rows is lost to the other form."""
    log = "$ rdma link\n" + sample("link") + "$ rdma -j dev\n" + sample("devices-json") + "$ rdma -j -p link\n"
    parsed = parse(log + sample("link-json-pretty") + "$ rdma statistic\n" + sample("statistics"))
    assert sorted(row.kind for row in parsed.value) == sorted(
        [rdma.LINK] * 4 + [rdma.DEVICE] * 2 + [rdma.STATISTIC] * 2
    )
    assert (parsed.complete, parsed.problems) == (None, ())


def test_an_empty_list_is_whole() -> None:
    assert parse("[]\n") == parse("[ ]\n") == ((), (), True)


def test_a_cut_list_keeps_what_was_whole() -> None:
    text = sample("queue-pairs-json")
    parsed = parse(text[: len(text) // 2])
    whole = parse(text).value
    assert parsed.complete is False
    assert 0 < len(parsed.value) < len(whole)
    assert parsed.value == whole[: len(parsed.value)]
    assert [problem.kind for problem in parsed.problems] == ["truncated"]


def test_a_cut_line_is_not_taken() -> None:
    text = sample("queue-pairs").rstrip()[:-3]
    parsed = parse(text)
    assert (len(parsed.value), parsed.complete) == (7, False)


def test_escapes_that_json_does_not_know() -> None:
    text = r'[{"ifindex":0,"ifname":"rxe0","port":1,"lqpn":7,"type":"RC","state":"RTS","pid":5,"comm":"it\'s\xff\\"}]'
    (row,) = parse(text).value
    assert row.text("comm") == "it's\\xff\\"


def test_json_among_other_lines() -> None:
    text = "[root@n01 ~]# rdma -j res show qp\n" + sample("queue-pairs-json") + "[root@n01 ~]# exit\n"
    assert parse(text) == parse(sample("queue-pairs-json"))


@pytest.mark.parametrize(
    "text", ["", "no rdma here\n", '{"a": 1}', "[" * 100_000, "link rxe0/1 odd number of\n", "link rxe0/1"]
)
def test_what_it_does_not_read(text: str) -> None:
    with contextlib.suppress(NotThisFormat):
        assert parse(text).value == ()


def test_absurd_numbers() -> None:
    digits = "9" * 10_000
    assert parse(f"link rxe0/1 lqpn {digits} type RC state RTS \n").value[0].number("lqpn") is None
    assert parse(f'[{{"ifname":"rxe0","port":1,"lqpn":{digits}}}]').complete is False


@given(st.text(alphabet=st.sampled_from('link dev/rxe0:1 comm pid[]{}",\\\n\x00\xe9'), max_size=300))
def test_it_never_raises_anything_else(text: str) -> None:
    with contextlib.suppress(NotThisFormat):
        parse(text)


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["lqpn", "pid", "state"]), st.integers() | st.text(max_size=9) | st.none()),
        max_size=5,
    )
)
def test_json_comes_back(rows: list[dict[str, int | str | None]]) -> None:
    parsed = parse(json.dumps([{"ifname": "m", "port": 1, **row} for row in rows]))
    assert parsed.complete is True
    assert [row.values for row in parsed.value] == rows


@pytest.mark.parametrize("end", ["lin", "link rxe0/1 lqpn 26 rqpn", "1: rxe1", "dev"])
def test_a_row_that_lost_its_end_is_missing(end: str) -> None:
    read = parse(f"link rxe0/1 lqpn 1 type GSI state RTS sq-psn 0 comm [ib_core]\n{end}")
    assert (len(read.value), read.complete) == (1, False)
    assert [problem.kind for problem in read.problems] == ["truncated"]


def test_a_prompt_is_no_row() -> None:
    read = parse("link rxe0/1 lqpn 1 type GSI state RTS sq-psn 0 comm [ib_core]\n[root@n01 ~]# ")
    assert read.complete is None
