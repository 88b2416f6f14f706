"""saquery: each record as recorded, forms of one attribute, tables, damaged and hostile text."""

from __future__ import annotations

import os
import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import diag_messages
from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.saquery import DISABLED_SM_PORTS, SM_PORTS, Record, parse, parse_some

FIXTURES = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "tools", "saquery", "ft12")

#: By saquery.c's format; OpenSM had no such records to show.
SERVICE_AND_INFORM = """ServiceRecord dump:
\t\tServiceID...............0x100000cecec00001
\t\tServiceGID..............fe80::c42:a103:0:1
\t\tServiceP_Key............0xFFFF
\t\tServiceLease............0xFFFFFFFF
\t\tServiceKey..............<not displayed>
\t\tServiceName.............DAPL Address...Translation
\t\tServiceData8.1..........0xC0
\t\tServiceData8.16.........0x1
\t\tServiceData16.1.........0x0
\t\tServiceData32.4.........0x0
\t\tServiceData64.2.........0x0000000000000000
InformInfoRecord dump:
\t\tRID
\t\tSubscriberGID...........fe80::c42:a103:0:11
\t\tSubscriberEnum..........0x0
\t\tInformInfo dump:
\t\tgid.....................::
\t\tlid_range_begin.........65535
\t\tlid_range_end...........0
\t\tis_generic..............0x1
\t\tsubscribe...............0x1
\t\ttrap_type...............0x3
\t\ttrap_num................66
\t\tqpn.....................<not displayed>
\t\tresp_time_val...........0x13
\t\tnode_type...............0xFFFFFF
"""


def fixture(name: str) -> str:
    with open(os.path.join(FIXTURES, name)) as file:
        return file.read()


def records_of(text: str) -> tuple[Record, ...]:
    parsed = parse(text)
    assert parsed.problems == ()
    assert parsed.complete is None
    return parsed.value.records


def test_node_records() -> None:
    records = records_of(fixture("nodes.txt"))
    assert [record.type for record in records] == ["NodeRecord"] * 15
    assert Counter(record.fields["node_type"] for record in records) == {"Channel Adapter": 12, "Switch": 3}
    assert records[0].fields == {
        "lid": "2", "reserved": "0x0", "base_version": "0x1", "class_version": "0x1", "node_type": "Switch",
        "num_ports": "36", "sys_guid": "0xb8599f0300000000", "node_guid": "0xb8599f0300000000",
        "port_guid": "0xb8599f0300000000", "partition_cap": "0x8", "device_id": "0xD2F0", "revision": "0xA1",
        "port_num": "0", "vendor_id": "0x2C9", "NodeDescription": "MF0;swib-l001:MQM8700/U1",
    }  # fmt: skip
    assert (records[0].line, records[1].line) == (1, 17)


def test_link_records() -> None:
    records = records_of(fixture("links.txt"))
    ends = {
        tuple(int(record.fields[name]) for name in ("FromLID", "FromPort", "ToLID", "ToPort")) for record in records
    }
    assert len(records) == len(ends) == 58
    assert all((to, to_port, source, port) in ends for source, port, to, to_port in ends)


def test_port_info_has_flags() -> None:
    (record,) = records_of(fixture("port-info-1.txt"))
    assert record.type == "PortInfoRecord"
    assert (record.fields["EndPortLid"], record.fields["PortNum"], record.fields["SMLid"]) == ("1", "1", "1")
    assert record.fields["Mkey"] == "<not displayed>"
    assert record.fields["McastPkeyTrapSuppressionEnabled"] == "0"  # one dot only
    assert record.fields["LinkSpeedExtActive"] == "53.125 Gbps"
    assert record.flags[:3] == ("IsSM", "IsTrapSupported", "IsSLMappingSupported")
    (switch_port,) = records_of(fixture("port-info-2-1.txt"))
    assert (switch_port.fields["Lid"], switch_port.flags) == ("0", ())


def test_only_the_fields_that_are_wanted() -> None:
    parsed = parse(fixture("port-info-1.txt"), fields={"EndPortLid", "LinkState"})
    assert parsed.problems == ()
    assert parsed.value.records[0].fields == {"EndPortLid": "1", "LinkState": "Active"}


def test_sm_info() -> None:
    (record,) = records_of(fixture("sm-info.txt"))
    assert record.type == "SMInfoRecord"
    assert record.fields["GUID"] == "0x0c42a10300000001"
    assert (record.fields["Priority"], record.fields["SMState"]) == ("0", "3")


def test_ports_that_are_sm() -> None:
    (record,) = records_of(fixture("sm-ports.txt"))
    assert (record.heading, record.fields["EndPortLid"]) == (SM_PORTS, "1")
    moved = fixture("sm-ports.txt").replace(f"{SM_PORTS}\n", "").replace(DISABLED_SM_PORTS, "")
    (record,) = records_of(f"{SM_PORTS}\n\n{DISABLED_SM_PORTS}\n{moved}")
    assert record.heading == DISABLED_SM_PORTS


def test_path_records() -> None:
    records = records_of(fixture("paths.txt"))
    assert len(records) == 15
    assert {record.fields["slid"] for record in records} == {"15"}
    to_one = next(record for record in records if record.fields["dlid"] == "1")
    assert (to_one.fields["dgid"], to_one.fields["pkey"], to_one.fields["mtu"]) == ("fe80::c42:a103:0:1", "0x1", "0x84")


def test_three_forms_of_multicast() -> None:
    (group,) = records_of(fixture("groups.txt"))
    (member,) = records_of(fixture("members.txt"))
    (whole,) = records_of(fixture("multicast.txt"))
    assert {group.type, member.type, whole.type} == {"MCMemberRecord"}
    assert group.fields["MGID"] == member.fields["MGID"] == whole.fields["MGID"] == "ff12:401b:ffff::ffff:ffff"
    assert (group.fields["Mlid"], whole.fields["mlid"]) == ("0xC000", "0xc000")
    assert member.fields["PortGid"] == "::"
    assert whole.fields["qkey"] == "0xb1b"


def test_pkey_tables() -> None:
    first, second = records_of(fixture("pkeys-15.txt"))
    assert (first.type, first.fields) == ("PKeyTableRecord", {"LID": "15", "Port": "1", "Block": "0"})
    assert [len(row) for row in first.rows] == [8, 8, 8, 8]
    assert first.rows[0][:3] == (0xFFFF, 0x0001, 0)
    assert second.fields["Block"] == "1"
    assert len(records_of(fixture("pkeys-2.txt"))) == 59


def test_other_tables() -> None:
    (lft,) = records_of(fixture("lft.txt"))
    assert lft.rows[:5] == ((0, 255), (1, 1), (2, 0), (3, 19), (4, 28))
    assert len(lft.rows) == 64
    (sl2vl,) = records_of(fixture("sl2vl.txt"))
    assert (sl2vl.fields["OutPort"], len(sl2vl.rows[0])) == ("0", 16)
    arbitration = records_of(fixture("vl-arbitration.txt"))
    assert [record.fields["Block"] for record in arbitration] == ["1", "2", "3", "4"]
    assert all([len(row) for row in record.rows] == [16] * 4 for record in arbitration)
    heads = "".join(f"\t\t{name}......................0\n" for name in ("LID", "Position", "Block"))
    mft = f"MFT Record dump:\n{heads}"
    mft += "\t\tMFT:\n\t\tMLID\tPort Mask\n" + "".join(f"\t\t0x{0xC000 + i:04x}\t0x{i:04x}\n" for i in range(32)) + "\n"
    (record,) = records_of(mft)
    assert record.rows[17] == (0xC011, 0x11)


def test_names_with_dots_and_blanks() -> None:
    for name in ("..odd", "a.b....c", " lead", "x ", "NodeRecord dump", ""):
        text = fixture("nodes.txt").replace("MF0;swib-l001:MQM8700/U1", name)
        assert records_of(text)[0].fields["NodeDescription"] == name


def test_service_and_inform_records() -> None:
    service, inform = records_of(SERVICE_AND_INFORM)
    assert service.fields["ServiceName"] == "DAPL Address...Translation"
    assert (service.fields["ServiceData8.1"], service.fields["ServiceData8.16"]) == ("0xC0", "0x1")
    assert (inform.fields["trap_num"], inform.fields["qpn"]) == ("66", "<not displayed>")


def test_guid_info_switch_info_and_class_port_info() -> None:
    first, _ = records_of(fixture("guid-info.txt"))
    assert (first.type, first.fields["GUID 0"]) == ("GUIDInfoRecord", "0x0c42a103000000b1")
    switches = records_of(fixture("switch-info.txt"))
    assert [record.fields["LID"] for record in switches] == ["2", "3", "4"]
    assert switches[0].fields["LifeTimeValue/PortStateChange/OpSL2VL"].startswith("0x")
    (class_info,) = records_of(fixture("class-port-info.txt"))
    assert class_info.fields["Redirect TC/SL/FL"] == "0x00000000"


def test_names_of_the_adapters() -> None:
    records = records_of(fixture("names.txt"))
    assert [(record.fields["lid"], record.fields["NodeDescription"]) for record in records[:2]] == [
        ("1", "c001-001 mlx5_0"), ("5", "c001-001 mlx5_1"),
    ]  # fmt: skip
    assert len(records) == 12


def test_a_refusal() -> None:
    parsed = parse(fixture("refused.stderr.txt"))
    assert (parsed.value.records, parsed.complete) == ((), False)
    assert [message.kind for message in parsed.value.messages] == [diag_messages.SA_STATUS]


def test_complaints_about_down_ports_are_the_tools_own() -> None:
    parsed = parse(fixture("port-info.stderr.txt") + fixture("port-info-1.txt"))
    assert (parsed.value.messages, parsed.problems) == ((), ())


@pytest.mark.parametrize(
    ("name", "end", "lost"),
    [("nodes.txt", "device_id...............0x10", "device_id"), ("links.txt", "FromPort..........", "FromPort")],
)
def test_a_cut_record(name: str, end: str, lost: str) -> None:
    text = fixture(name)
    parsed = parse(text[: text.index(end) + len(end)])
    assert parsed.complete is False
    assert parsed.problems[-1].kind == "cut-record"
    assert lost not in parsed.value.records[-1].fields


def test_a_cut_table() -> None:
    text = fixture("pkeys-15.txt")
    parsed = parse(text[: text.index("0x0000 0x0000") + 9])
    assert parsed.complete is False
    assert parsed.value.records[0].rows == ()


def test_one_odd_line_costs_that_line() -> None:
    lines = fixture("nodes.txt").split("\n")
    lines[3] = "\t\tbase_version"
    parsed = parse("\n".join(lines))
    assert [problem.kind for problem in parsed.problems] == ["noise"]
    assert len(parsed.value.records) == 15
    assert "base_version" not in parsed.value.records[0].fields


def test_prompts_and_carriage_returns() -> None:
    text = "# saquery NR\r\n" + fixture("nodes.txt").replace("\n", "\r\n")
    parsed = parse(text)
    assert [record._replace(line=0) for record in parsed.value.records] == [
        record._replace(line=0) for record in records_of(fixture("nodes.txt"))
    ]


@pytest.mark.parametrize("text", ["", "hello\n", "1\n2\n", "# Port counters: Lid 4 port 1\nPortSelect:....1\n"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(NotThisFormat):
        parse(text)


PIECES = [
    line
    for name in ("nodes.txt", "pkeys-15.txt", "port-info-1.txt", "sl2vl.txt", "sm-ports.txt")
    for line in fixture(name).split("\n")[:14]
]


@given(st.lists(st.one_of(st.text(max_size=50), st.sampled_from(PIECES)), max_size=40).map("\n".join))
def test_never_raises_and_never_invents(text: str) -> None:
    try:
        parsed = parse(text)
    except NotThisFormat:
        return
    for record in parsed.value.records:
        assert all(value in text for value in record.fields.values())


@pytest.mark.parametrize(
    "line", ["a " * 30_000, "a" + "." * 60_000, "0x1 " * 15_000 + "x", "Is" + "A" * 60_000, '1  "' + '"' * 60_000],
    ids=lambda line: line[:8],
)  # fmt: skip
def test_linear_time(line: str) -> None:
    started = time.process_time()
    parse(fixture("pkeys-15.txt") + f"LFT Record dump:\n{line}\n" * 10)
    assert time.process_time() - started < 2


def test_some_records_of_many_with_their_lines() -> None:
    text = fixture("pkeys.txt")
    whole = tuple(record for record in parse(text).value.records if record.fields["LID"] in ("15", "3"))
    assert Counter(record.fields["LID"] for record in whole) == {"15": 2, "3": 1 + 2 * 8}, "port 0 has one block"
    assert parse_some(text, "PKeyTableRecord", "LID", {3, 15}).value.records == whole
    assert parse_some(text, "PKeyTableRecord", "LID", {99}).value.records == ()
    with pytest.raises(NotThisFormat):
        parse_some(text, "LFTRecord", "LID", {3})
    last = text.rindex("PKeyTableRecord dump:")
    cut = text[: text.index("0x0000 0x0000", last + 200)]
    assert parse_some(cut, "PKeyTableRecord", "LID", {1}).complete is None, "the cut one is that of LID 15"
    some = parse_some(cut, "PKeyTableRecord", "LID", {15}, source="x")
    assert some.complete is False
    assert [problem.line for problem in some.problems] == [cut.count("\n", 0, last) + 1]
