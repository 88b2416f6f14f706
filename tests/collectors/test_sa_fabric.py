"""The fabric of the SA's records: against ibnetdiscover, what proves that they are not whole, traps."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from support.answers import Answers, said
from support.sa_subnet import FILES, MIXED, all_links, answers, text_of

from ibkit.collectors.fabric import collect_fabric
from ibkit.collectors.mad_tools import ANY_PORT, Through
from ibkit.collectors.sa import SaReading, read_subnet
from ibkit.collectors.sa_fabric import SaPicture, assemble_records
from ibkit.export.fabric import summary
from ibkit.model.fabric import CHANNEL_ADAPTER, ROUTER, SWITCH, End, Fabric
from ibkit.model.ids import Guid
from ibkit.parsers import sa_records
from ibkit.sources.base import TIMEOUT, CommandAnswer
from ibkit.sources.opening import open_site

SWITCH_1, SWITCH_2, HOST_1, HOST_2, HOST_3, ROUTER_1 = (
    Guid(number)
    for number in (
        0xB8599F0300000000, 0xB8599F0300000100, 0xC42A10300000000, 0xC42A10300000010, 0xC42A10300000020,
        0xC42A103000000F0,
    )
)  # fmt: skip


def picture(**texts: str) -> SaPicture:
    reading = read_subnet(Answers(answers(**texts)), ANY_PORT)
    assert reading is not None
    return assemble_records(reading)


def swept() -> CommandAnswer:
    return said((MIXED / "topology.txt").read_text())


def kinds(fabric: Fabric) -> list[str]:
    return [problem.kind for problem in fabric.problems]


def test_the_same_as_ibnetdiscover() -> None:
    told = picture().fabric
    asked = collect_fabric(Answers({"ibnetdiscover": swept()}))
    assert told.links == asked.links
    for guid, node in asked.nodes.items():
        seen = told.nodes[guid]
        assert node[:4] == seen[:4], "GUID, type, name, number of ports"
        assert (node.lid, node.system_image_guid, node.device_id) == (seen.lid, seen.system_image_guid, seen.device_id)
        for port, told_port in zip(node.ports, seen.ports, strict=True):
            assert port[:7] == told_port[:7], "number, GUID, LID, peer, width, speed, linked"
    assert (told.complete, kinds(told)) == (True, ["qdr-or-fdr10"])


def test_what_port_info_tells() -> None:
    nodes = picture().fabric.nodes
    assert {guid: node.type for guid, node in nodes.items()} == {
        SWITCH_1: SWITCH, SWITCH_2: SWITCH, HOST_1: CHANNEL_ADAPTER, HOST_2: CHANNEL_ADAPTER, HOST_3: CHANNEL_ADAPTER,
        ROUTER_1: ROUTER,
    }  # fmt: skip
    first, second = nodes[HOST_2].ports
    assert (first.lid, second.lid, second.lids) == (6, 8, range(8, 10)), "an LMC of 1"
    assert (second.number, second.guid, second.peer) == (2, Guid(HOST_2 + 2), End(SWITCH_1, 3))
    assert (second.state, second.physical_state, second.sm_lid, second.mtu_bytes) == ("Active", "LinkUp", 2, 2048)
    assert (second.subnet_prefix, second.max_mtu_bytes) == (0xFE80 << 48, 2048)
    switch = nodes[SWITCH_1]
    assert switch.port0 is not None
    assert (switch.port0.lid, switch.port0.sm_lid, switch.port0.linked, switch.lids) == (4, 2, None, range(4, 5))
    up, down = switch.ports[0], switch.ports[4]
    assert (up.subnet_prefix, up.sm_lid, up.lid) == (0xFE80 << 48, None, None), "the prefix is the switch's"
    assert (down.state, down.linked, down.width, down.enabled_width) == ("Down", False, None, None)


def test_virtual_guids() -> None:
    text = text_of("guids")
    assert [port.virtual_guids for port in picture().fabric.nodes[HOST_1].ports] == [()]
    start = text.index("LID........................2\n")
    second = text.index("GUID 1.....................0x", start) + len("GUID 1.....................")
    text = f"{text[:second]}0x0014050000000001{text[second + 18 :]}"
    fabric = picture(GIR=text).fabric
    assert fabric.nodes[HOST_1].ports[0].virtual_guids == (Guid(0x0014050000000001),)
    assert fabric.nodes[HOST_2].ports[0].virtual_guids == ()
    assert picture(GIR="").fabric.nodes[HOST_2].ports[0].virtual_guids is None


def test_the_number_of_a_second_port_is_not_in_its_node_record() -> None:
    """OpenSM answers with what the node said when it was first reached, for all of its ports."""
    text = text_of("nodes").replace("port_num................2\n", "port_num................1\n")
    ports = picture(NR=text).fabric.nodes[HOST_2].ports
    assert [(port.number, port.guid) for port in ports] == [(1, Guid(HOST_2 + 1)), (2, Guid(HOST_2 + 2))]


def test_links_by_any_lid_of_a_port() -> None:
    text = all_links().replace("ToLID......................8\n", "ToLID......................9\n")
    assert text != all_links()
    assert picture(LR=text).fabric.links == picture().fabric.links


def test_a_port_that_is_up_and_has_no_link() -> None:
    """As OpenSM answers where most hosts are limited members: it hides what it has."""
    seen = picture(LR=text_of("links"))
    assert (seen.fabric.complete, seen.is_dangling) == (False, False)
    assert "unknown-neighbour" in kinds(seen.fabric)
    assert seen.fabric.nodes[HOST_2].ports[0].linked is True
    assert seen.fabric.nodes[HOST_2].ports[0].peer is None


def test_what_a_limited_member_is_told_is_not_to_be_trusted() -> None:
    seen = picture(NR=text_of("limited-nodes"), LR=text_of("limited-links"), PIR=text_of("limited-ports"))
    assert (seen.fabric.complete, seen.is_dangling) == (False, True)
    (text,) = (problem.text for problem in seen.fabric.problems if problem.kind == "dangling")
    assert "nobody has the LID 4, 5" in text


def test_an_answer_that_is_cut_is_dangling() -> None:
    for name, file in FILES.items():
        text = all_links() if name == "LR" else text_of(file)
        whole = text[: text.rindex("Record dump:")]
        half = whole[: whole.rindex("\n") + 1]
        assert picture(**{name: half}).is_dangling is (name != "GIR"), name


def test_the_sa_is_enough() -> None:
    """No sweep is asked for: the source would say that it has none."""
    texts = {
        "PIR": text_of("ports").replace(
            "LinkSpeedActive:.................10.0 Gbps", "LinkSpeedActive:.................5.0 Gbps"
        )
    }
    fabric = collect_fabric(Answers(answers(**texts) | {"ibnetdiscover": said("", "", 255)}))
    assert (fabric.complete, fabric.problems, fabric.source) == (True, (), "saquery")
    assert summary(fabric) == {
        "switches": 2, "channel_adapters": 3, "routers": 1, "aggregation_nodes": 0, "links": 7,
    }  # fmt: skip


def test_links_that_may_be_fdr10_are_asked_for() -> None:
    topology = (MIXED / "topology.txt").read_text().replace("4xQDR", "4xFDR10")
    fabric = collect_fabric(Answers(answers() | {"ibnetdiscover": said(topology)}))
    assert [link.speed for link in fabric.links].count("FDR10") == 1
    assert (fabric.complete, fabric.problems) == (True, ())
    assert fabric.nodes[HOST_2].ports[0].mtu_bytes == 2048, "the SA's is kept"
    alone = collect_fabric(Answers(answers()))
    assert (alone.complete, kinds(alone)) == (True, ["qdr-or-fdr10"])


def test_where_the_sa_hides_links_a_sweep_has_them() -> None:
    fabric = collect_fabric(Answers(answers(LR=text_of("links")) | {"ibnetdiscover": swept()}))
    assert (len(fabric.links), fabric.complete, fabric.problems) == (7, True, ())
    assert fabric.nodes[HOST_2].ports[0].sm_lid == 2


def test_a_limited_member_sweeps_and_forgets_what_it_was_told() -> None:
    texts = {"NR": text_of("limited-nodes"), "LR": text_of("limited-links"), "PIR": text_of("limited-ports")}
    fabric = collect_fabric(Answers(answers(**texts) | {"ibnetdiscover": swept()}))
    assert (len(fabric.nodes), len(fabric.links), fabric.complete, fabric.problems) == (6, 7, True, ())


def test_neither_view_whole() -> None:
    fabric = collect_fabric(Answers(answers(LR=text_of("links")) | {"ibnetdiscover": said("", "", None, TIMEOUT)}))
    assert (fabric.complete, len(fabric.nodes), len(fabric.links)) == (False, 6, 4)
    assert kinds(fabric) == ["no-link", "unknown-neighbour", "timeout"] or set(kinds(fabric)) == {
        "no-link", "unknown-neighbour", "timeout",
    }  # fmt: skip


def test_no_manager_no_problem() -> None:
    failed = said(
        "", "ibwarn: [7] sa_get_handle: No SM/SA found on port (null):0\nFailed to bind to the SA: Success\n", 255
    )
    fabric = collect_fabric(Answers({"saquery NR": failed, "ibnetdiscover": swept()}))
    assert (fabric.complete, fabric.problems, len(fabric.links)) == (True, (), 7)


def test_a_refusal_of_one_type() -> None:
    given = answers() | {"saquery PIR": said("", "ERROR: Query result returned 0x0200, SA(SA_ERR_REQ_INVALID)\n", 5)}
    fabric = collect_fabric(Answers(given | {"ibnetdiscover": swept()}))
    assert (fabric.complete, fabric.problems) == (True, ()), "the sweep tells"
    fabric = collect_fabric(Answers(given))
    assert fabric.complete is False
    assert any("SA_ERR_REQ_INVALID" in problem.text for problem in fabric.problems)


def test_a_busy_manager_is_asked_once_more() -> None:
    complaint = "umad_recv failed: attr 0x12: Connection timed out"
    timed_out = said("", f"ibwarn: [7] sa_query: {complaint}\nQuery SA failed: Connection timed out\n", 110)
    given = answers() | {"saquery PIR": timed_out, "saquery -t 20000 PIR": said(text_of("ports"))}
    assert collect_fabric(Answers(given)).complete is True
    assert collect_fabric(Answers(answers() | {"saquery PIR": timed_out})).complete is False


def test_another_port_of_this_host_is_asked_through() -> None:
    through = Through("mlx5_1", 1)
    fabric = collect_fabric(Answers(answers(through)), through)
    assert (len(fabric.nodes), fabric.source) == (6, "saquery -C mlx5_1 -P 1")


def test_records_under_another_name() -> None:
    given = answers()
    given = {"saquery -N": given["saquery NR"], "saquery -x": given["saquery LR"], "saquery PIR": given["saquery PIR"]}
    assert collect_fabric(Answers(given)).complete is True


def test_a_capture_put_together_by_hand() -> None:
    """It need not say how the tool ended: then its records are read as all others, and nobody knows if they are all."""
    told = {command: answer._replace(exit_status=None) for command, answer in answers().items()}
    fabric = collect_fabric(Answers(told))
    usual = collect_fabric(Answers(answers()))
    assert (fabric.nodes, fabric.links, kinds(fabric)) == (usual.nodes, usual.links, kinds(usual))
    assert (fabric.complete, usual.complete) == (None, True)


def test_a_saved_text(tmp_path: Path) -> None:
    file = tmp_path / "sa.txt"
    file.write_text(text_of("nodes") + text_of("ports") + all_links())
    fabric = collect_fabric(open_site(str(file)).subnet)
    assert (len(fabric.nodes), len(fabric.links), fabric.complete) == (6, 7, None)
    assert kinds(fabric) == ["qdr-or-fdr10"]
    assert fabric.nodes[SWITCH_2].name == "..spine; [top]"


def test_a_saved_text_of_one_type(tmp_path: Path) -> None:
    file = tmp_path / "sa.txt"
    file.write_text(text_of("nodes"))
    fabric = collect_fabric(open_site(str(file)).subnet)
    assert (len(fabric.nodes), fabric.complete) == (6, False)
    assert summary(fabric)["links"] is None, "not none, but not known"
    assert "saquery LR" in " ".join(problem.text for problem in fabric.problems)
    file.write_text(text_of("ports"))
    fabric = collect_fabric(open_site(str(file)).subnet)
    assert (len(fabric.nodes), fabric.complete) == (0, False)
    assert "saquery NR" in " ".join(problem.text for problem in fabric.problems)


def test_records_of_two_subnets_in_one_text_are_not_mixed(tmp_path: Path) -> None:
    """Two nodes have LID 4: nobody knows whose the links at it are."""
    other = text_of("nodes").replace("0xb8599f03", "0xb8599f99").replace("0x0c42a103", "0x0c42a199")
    file = tmp_path / "sa.txt"
    file.write_text(text_of("nodes") + other + all_links())
    fabric = collect_fabric(open_site(str(file)).subnet)
    assert (len(fabric.nodes), fabric.links, fabric.complete) == (12, (), False)
    assert kinds(fabric).count("ambiguous-lid") == 7


def test_a_text_twice_is_one_subnet(tmp_path: Path) -> None:
    file = tmp_path / "sa.txt"
    once = text_of("nodes") + text_of("ports") + all_links()
    file.write_text(once + once)
    fabric = collect_fabric(open_site(str(file)).subnet)
    assert (len(fabric.nodes), len(fabric.links), kinds(fabric)) == (6, 7, ["qdr-or-fdr10"])


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(0, 3000),
    st.sampled_from(["", "9", "65535", "\n", "0x", "Down", "LinkRecord dump:\n"]),
)
def test_damaged_records_never_raise(at: int, length: int, instead: str) -> None:
    whole = text_of("nodes") + text_of("ports") + all_links() + text_of("guids")
    at %= len(whole)
    parsed = sa_records.parse(whole[:at] + instead + whole[at + length :])
    reading = SaReading(parsed.value, frozenset(), parsed.complete, parsed.problems, "x", None, is_saved=True)
    fabric = assemble_records(reading).fabric
    assert fabric.complete is not True
    assert all(link.a.guid in fabric.nodes and link.b.guid in fabric.nodes for link in fabric.links)
