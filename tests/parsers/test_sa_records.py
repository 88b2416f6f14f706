"""The SA's bulk answers as typed records: what was recorded, the common form against any form, traps, damage."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.sa_records import PortInfo, SaLink, SaManager, SaNode, SaRecords, parse

FIXTURES = Path(__file__).parents[2] / "fixtures/tools/saquery"
NODES, LINKS, PORTS = ("mixed/nodes", "mixed/links", "mixed/ports")


def fixture(name: str) -> str:
    return (FIXTURES / f"{name}.txt").read_text()


def records(name: str) -> SaRecords:
    parsed = parse(fixture(name), source=name)
    assert (parsed.problems, parsed.complete) == ((), None)
    return parsed.value


def port_info(*changes: tuple[str, str], port: int = 1) -> PortInfo:
    """The PortInfo of a recorded port with other words behind the given names."""
    text = fixture("ft12/port-info-2-1")
    for name, word in changes:
        start = text.index(f"\t{name}:.")
        end = text.index("\n", start)
        text = f"{text[:start]}\t{name}:{'.' * 10}{word}{text[end:]}"
    (record,) = parse(text).value.ports
    assert record.port == port
    return record.info


def test_nodes() -> None:
    nodes = records(NODES).nodes
    assert [(node.lid, node.type, node.port_count) for node in nodes] == [
        (4, "Switch", 8), (2, "Channel Adapter", 1), (5, "Switch", 8), (6, "Channel Adapter", 2),
        (8, "Channel Adapter", 2), (10, "Channel Adapter", 1), (12, "Router", 1),
    ]  # fmt: skip
    assert nodes[4] == SaNode(
        65, 8, "Channel Adapter", 2, 0xC42A10300000010, 0xC42A10300000010, 0xC42A10300000012, 0x1017, 2, 0x2C9,
        "n02 mlx5_0",
    )  # fmt: skip
    assert nodes[2].name == "..spine; [top]", "the dots are its own"


def test_links() -> None:
    links = records(LINKS).links
    assert len(links) == 8, "four of seven cables, from both ends: OpenSM tells none between two limited members"
    assert links[0] == SaLink(1, 4, 1, 1, 2)
    assert {(link.lid, link.port, link.peer_port, link.peer_lid) for link in links} == {
        (peer_lid, peer_port, port, lid) for _, lid, port, peer_port, peer_lid in links
    }


def test_ports() -> None:
    ports = {(port.lid, port.port): port.info for port in records(PORTS).ports}
    assert set(ports) == {
        *((lid, port) for lid in (4, 5) for port in range(9)), (2, 1), (6, 1), (8, 2), (10, 1), (12, 1),
    }  # fmt: skip
    host = ports[8, 2]
    assert (host.state, host.physical_state, host.lid, host.lmc, host.sm_lid) == ("Active", "LinkUp", 8, 1, 2)
    assert (host.width, host.speed, host.subnet_prefix) == ("4x", "EDR", 0xFE80 << 48)
    assert (host.enabled_width, host.enabled_speed) == ("1x or 4x", "SDR or DDR or QDR or FDR or EDR")
    assert host.supported_width == "1x or 4x or 8x or 12x or 2x"
    assert (host.max_mtu_bytes, host.guid_capacity, host.is_sm) == (2048, 32, False)
    assert ports[2, 1].is_sm is True
    assert (ports[4, 8].width, ports[4, 8].speed) == ("1x", "HDR")
    port0 = ports[4, 0]
    assert (port0.lid, port0.sm_lid, port0.subnet_prefix) == (4, 2, 0xFE80 << 48)
    assert (ports[4, 1].lid, ports[4, 1].sm_lid, ports[4, 1].subnet_prefix) == (None, None, None)


def test_of_a_down_port_only_the_states_count() -> None:
    ports = {(port.lid, port.port): port.info for port in records(PORTS).ports}
    assert ports[4, 5] == PortInfo("Down", "Polling")
    assert "LinkWidthActive:.................undefined (0)" in fixture(PORTS)


def test_guids_and_managers() -> None:
    guids = records("mixed/guids").guids
    assert guids[0].guids[0] in (0xB8599F0300000000, 0xC42A10300000001)
    assert {record.block for record in guids if record.lid == 2} == {0, 1, 2, 3}
    (manager,) = records("mixed/sm-info").managers
    assert manager == SaManager(1, 2, 0xC42A10300000001, manager.activity, 0, 3)
    assert manager.activity > 0


def test_the_short_form_of_ports() -> None:
    (port,) = records("ft12/sm-ports").ports
    assert (port.lid, port.port) == (1, 1)
    assert port.info == PortInfo(lid=1, sm_lid=1, is_sm=True)


@pytest.mark.parametrize(
    ("changes", "speed"),
    [
        ([], "HDR"),
        ([("LinkSpeedExtActive", "No Extended Speed")], "QDR"),
        ([("LinkSpeedExtActive", "No Extended Speed"), ("LinkSpeedActive", "Extended speed")], None),
        ([("LinkSpeedExtActive", "106.25 Gbps")], "NDR"),
        ([("LinkSpeedExtActive", "undefined (15)")], "undefined (15)"),
    ],
)
def test_which_field_has_the_speed(changes: list[tuple[str, str]], speed: str | None) -> None:
    assert port_info(*changes).speed == speed


def test_xdr_is_in_a_field_of_its_own() -> None:
    """As newer versions print it, behind the others."""
    text = fixture("ft12/port-info-2-1").replace("53.125 Gbps\n", "No Extended Speed\n", 1)
    text += (
        "\t\tLinkSpeedExtActive2:.............212.5 Gbps\n\t\tLinkSpeedExtSupported2:..........212.5 Gbps\n"
        "\t\tLinkSpeedExtEnabled2:............0\n"
    )
    (port,) = parse(text).value.ports
    assert port.info.speed == "XDR"
    assert str(port.info.supported_speed).endswith("HDR or XDR")
    assert str(port.info.enabled_speed).endswith("HDR")


def test_words_that_say_nothing() -> None:
    info = port_info(
        ("LinkWidthSupported", "2X (IBA extension)"), ("LinkSpeedSupported", "undefined (0)"), ("MtuCap", "?(9)"),
        ("LinkSpeedExtSupported", "0"), ("LinkSpeedExtEnabled", "Extended link speeds disabled"),
        ("LinkState", "?(7)"),
    )  # fmt: skip
    assert (info.supported_width, info.supported_speed, info.max_mtu_bytes) == ("2x", None, None)
    assert info.enabled_speed == "SDR or DDR or QDR or Extended link speeds disabled"
    assert info.state == "?(7)"


def test_old_versions_print_lids_as_hexadecimal_numbers() -> None:
    text = fixture(NODES).replace("lid.....................12\n", "lid.....................0xC\n")
    assert parse(text).value.nodes[-1].lid == 12


def test_several_answers_in_one_text() -> None:
    parsed = parse("".join(fixture(f"mixed/{name}") for name in ("nodes", "ports", "links", "guids", "sm-info")))
    assert [len(part) for part in parsed.value[:5]] == [7, 23, 8, 22, 1]
    assert (parsed.problems, parsed.complete) == ((), None)
    assert parsed.value.nodes == records(NODES).nodes
    first = parsed.value.ports[0]
    assert first.line == fixture(NODES).count("\n") + 1


@pytest.mark.parametrize("name", [NODES, LINKS, PORTS])
def test_the_common_form_reads_as_any_form(name: str) -> None:
    """A blank line before it, and it is not the common one."""
    text = fixture(name)
    exact, other = parse(text).value, parse(f"\n{text}").value
    for one, two in zip(exact[:3], other[:3], strict=True):
        assert [record[1:] for record in one] == [record[1:] for record in two]
        assert [record.line + 1 for record in one] == [record.line for record in two]


@pytest.mark.parametrize("name", [NODES, LINKS, PORTS])
def test_a_cut_text_is_incomplete(name: str) -> None:
    text = fixture(name)
    whole = sum(map(len, parse(text).value[:3]))
    last = text.rstrip().rindex("dump:")
    parsed = parse(text[: last + 60])
    assert parsed.complete is False
    assert parsed.problems
    assert sum(map(len, parsed.value[:3])) in (whole, whole - 1)


def test_damage_costs_no_time() -> None:
    """Each line of dots could be parted in many ways; only one may be tried."""
    text = fixture(NODES).replace("vendor_id", "vendor-id", 1)
    text += "NodeRecord dump:\n\t\tlid" + 60_000 * "." + "\n"
    begun = time.process_time()
    assert parse(text).complete is False
    assert time.process_time() - begun < 1.0


def test_a_title_alone_is_cut() -> None:
    assert parse("LinkRecord dump:\n").complete is False


def test_a_name_with_the_words_of_a_title() -> None:
    text = fixture(NODES).replace("n03 mlx5_0", "NodeRecord dump:")
    assert [node.name for node in parse(text).value.nodes][-2:] == ["NodeRecord dump:", "rt01/U2/RT"]


def test_numbers_that_cannot_be() -> None:
    text = fixture(LINKS).replace("ToPort.....................7\n", "ToPort.....................700\n", 1)
    parsed = parse(text)
    assert (len(parsed.value.links), parsed.complete) == (7, False)
    assert [problem.kind for problem in parsed.problems] == ["bad-record"]


@pytest.mark.parametrize("lmc", ["8", "40", "18446744073709551615"])
def test_an_lmc_of_more_than_three_bits(lmc: str) -> None:
    """It would give a port more LIDs than anybody could go through."""
    whole = parse(fixture(PORTS))
    parsed = parse(
        fixture(PORTS).replace("LMC:.............................0\n", f"LMC:.............................{lmc}\n", 1)
    )
    assert (len(parsed.value.ports), parsed.complete) == (len(whole.value.ports) - 1, False)
    assert [problem.kind for problem in parsed.problems] == ["bad-record"]


def test_a_refusal_is_no_answer() -> None:
    refused = fixture("ft12/refused.stderr")
    parsed = parse(refused)
    assert (parsed.value[:5], parsed.complete) == (((),) * 5, False)
    with pytest.raises(NotThisFormat):
        parse("nothing of it\n")


@given(
    st.sampled_from([NODES, LINKS, PORTS, "ft12/sm-ports", "mixed/guids"]),
    st.integers(0, 60_000), st.integers(0, 40), st.text(max_size=20),
)  # fmt: skip
def test_damage_never_raises(name: str, at: int, length: int, text: str) -> None:
    whole = fixture(name)
    damaged = whole[: at % len(whole)] + text + whole[at % len(whole) + length :]
    try:
        parsed = parse(damaged)
    except NotThisFormat:
        return
    for record in (*parsed.value.nodes, *parsed.value.ports, *parsed.value.links, *parsed.value.guids):
        assert 0 <= record.lid <= 0xFFFF
