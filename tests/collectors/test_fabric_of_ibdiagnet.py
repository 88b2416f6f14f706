"""The fabric from ibdiagnet's tables. Truths: the fixture's README, and ibnetdiscover's view of another fabric."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibkit.collectors.fabric import collect_fabric
from ibkit.model.fabric import CHANNEL_ADAPTER, SWITCH, End, Fabric, FabricPort
from ibkit.model.ids import Guid
from ibkit.sources.opening import open_site

SAMPLES = Path(__file__).parents[2] / "fixtures/tools"
SMALL = (SAMPLES / "ibdiagnet2.db_csv/small.txt").read_text()
LEAF, HOST1, HOST2 = Guid(0xB000000000001000), Guid(0xA000000000001000), Guid(0xA000000000002000)


def of_file(path: Path) -> Fabric:
    return collect_fabric(open_site(str(path)).subnet)


def of_text(tmp_path: Path, text: str) -> Fabric:
    file = tmp_path / "ibdiagnet2.db_csv"
    file.write_text(text)
    return of_file(file)


def kinds(fabric: Fabric) -> list[str]:
    return [problem.kind for problem in fabric.problems]


def test_a_small_fabric(tmp_path: Path) -> None:
    fabric = of_text(tmp_path, SMALL)
    assert [(link.a, link.b, link.width, link.speed) for link in fabric.links] == [
        (End(HOST1, 1), End(LEAF, 1), "4x", "HDR"), (End(HOST2, 1), End(LEAF, 2), "1x", "EDR"),
    ]  # fmt: skip
    leaf = fabric.nodes[LEAF]
    assert (leaf.type, leaf.name, leaf.port_count, leaf.lid, leaf.lmc) == (SWITCH, "MF0;leaf1:MQM8700/U1", 5, 2, 0)
    assert (leaf.vendor_id, leaf.device_id) == (0x2C9, 0xD2F0)
    assert leaf.ports[2:] == (
        FabricPort(3, linked=False, state="Down", physical_state="Polling", guid=leaf.ports[2].guid),
        FabricPort(4, linked=False, state="Down", physical_state="Disabled", guid=leaf.ports[3].guid),
        FabricPort(
            5, linked=True, state="Initialize", physical_state="LinkUp", width="4x", speed="HDR",
            guid=leaf.ports[4].guid, lmc=0, sm_lid=1, subnet_prefix=0xFE80 << 48,
            enabled_width="1x or 2x or 4x or 8x or 12x", supported_width="1x or 2x or 4x or 8x or 12x",
            enabled_speed="SDR or DDR or QDR or FDR or EDR or HDR or NDR",
            supported_speed="SDR or DDR or QDR or FDR or EDR or HDR or NDR",
        ),
    )  # fmt: skip
    host = fabric.nodes[HOST2]
    assert (host.type, host.name, host.ports[0].lid, host.ports[0].guid) == (
        CHANNEL_ADAPTER, "rack 7, slot 2", 3, Guid(HOST2 + 1),
    )  # fmt: skip
    assert fabric.complete is False  # port 5 has a neighbour that nobody names
    assert kinds(fabric) == ["unknown-neighbour"]


def test_labels_and_planes(tmp_path: Path) -> None:
    """XDR: what a chassis calls a port, and which plane of a link it is. The header row decides."""
    section = (
        "START_PORT_HIERARCHY_INFO\nNodeGUID,PortGUID,TemplateGUID,PortNum,ExtendedLabel,Plane\n"
        '0xb000000000001000,0xb000000000001000,0x0004000000000004,1,"1/17/1/1",3\n'
        '0xb000000000001000,0xb000000000001000,0x0004000000000004,2,"2",0\n'
        '0xb000000000001000,0xb000000000001000,0x0004000000000004,3,"N/A",N/A\n'
        "END_PORT_HIERARCHY_INFO\n"
    )
    ports = of_text(tmp_path, SMALL + section).nodes[LEAF].ports
    assert [(port.label, port.plane) for port in ports] == [("1/17/1/1", 3), *[(None, None)] * 4]
    other = section.replace("ExtendedLabel,Plane", "Plane,Label").replace('"1/17/1/1",3', '4,"1/17/1/2"')
    ports = of_text(tmp_path, SMALL + other).nodes[LEAF].ports
    assert (ports[0].label, ports[0].plane) == ("1/17/1/2", 4)


def test_bits_that_nobody_knows_leave_the_best_unknown(tmp_path: Path) -> None:
    port = of_text(tmp_path, SMALL.replace(",31,31,", ",31,63,")).nodes[LEAF].ports[4]
    assert (port.supported_width, port.enabled_width) == ("1x or 2x or 4x or 8x or 12x", None)


def as_tables(fabric: Fabric) -> str:
    """What ibdiagnet would print of a fabric."""
    widths, speeds = {"1x": 1, "4x": 2}, {"EDR": 512, "HDR": 1024}
    types = {CHANNEL_ADAPTER: 1, SWITCH: 2}
    nodes = [
        f'"{node.name}",{node.port_count},{types[node.type]},{node.system_image_guid},{guid},{node.device_id},{node.vendor_id}'
        for guid, node in fabric.nodes.items()
    ]
    ports = [
        f"{guid},{port.guid or guid},{port.number},{port.lid or 0},{node.lmc},{widths.get(port.width or '', 0)},"
        f"{speeds.get(port.speed or '', 0)},{5 if port.peer else 2},{4 if port.peer else 1}"
        for guid, node in fabric.nodes.items()
        for port in node.ports
    ] + [f"{guid},{guid},0,{node.lid},{node.lmc},2,1,5,4" for guid, node in fabric.nodes.items() if node.type == SWITCH]
    links = [f"{link.a.guid},{link.a.port},{link.b.guid},{link.b.port}" for link in fabric.links]
    tables = {
        "NODES": ["NodeDesc,NumPorts,NodeType,SystemImageGUID,NodeGUID,DeviceID,VendorID", *nodes],
        "PORTS": ["NodeGUID,PortGUID,PortNum,LID,LMC,LinkWidthActv,LinkSpeedActv,PortPhyState,PortState", *ports],
        "LINKS": ["NodeGuid1,PortNum1,NodeGuid2,PortNum2", *links],
    }
    return "\n".join(f"START_{name}\n" + "\n".join(rows) + f"\nEND_{name}\n" for name, rows in tables.items())


def test_the_same_fabric_as_ibnetdiscover_shows(tmp_path: Path) -> None:
    truth = of_file(SAMPLES / "iblinkinfo/ft12/ibnetdiscover.txt")
    fabric = of_text(tmp_path, as_tables(truth))
    assert fabric.problems == ()
    assert fabric.links == truth.links
    for guid, node in fabric.nodes.items():
        other = truth.nodes[guid]
        assert node._replace(ports=()) == other._replace(ports=(), enhanced_port0=None)
        assert [(port.number, port.peer, port.lid, port.width) for port in node.ports] == [
            (port.number, port.peer, port.lid, port.width) for port in other.ports
        ]


@pytest.mark.parametrize("section", ["PORTS", "LINKS"])
def test_a_file_without_a_section(tmp_path: Path, section: str) -> None:
    start, end = SMALL.index(f"START_{section}"), SMALL.index(f"END_{section}\n")
    fabric = of_text(tmp_path, SMALL[:start] + SMALL[end + len(f"END_{section}\n") :])
    assert len(fabric.nodes) == 3
    assert fabric.complete is False
    assert f"no section {section}" in next(problem.text for problem in fabric.problems if problem.kind == "partial")


def test_a_file_without_nodes(tmp_path: Path) -> None:
    fabric = of_text(tmp_path, "START_PM_INFO\nNodeGUID,PortGUID\n0x1,0x1\nEND_PM_INFO\n")
    assert (fabric.nodes, fabric.complete) == ({}, None)
    assert fabric.problems


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0xa000000000001000,1\n", "0xa000000000001000,N/A\n"),
        ("0xa000000000001000,1\n", "0xa000000000001000,999\n"),
        ("0xb000000000001000,0xb000000000001000,54000", "none,0xb000000000001000,54000"),
        ("0xa000000000001000,0xa000000000001001,1,", "x,0xa000000000001001,1,"),
    ],
)
def test_rows_that_make_no_sense(tmp_path: Path, old: str, new: str) -> None:
    fabric = of_text(tmp_path, SMALL.replace(old, new))
    assert fabric.complete is False
    assert "bad-line" in kinds(fabric)


@pytest.mark.parametrize("lmc", ["8", "40", "18446744073709551615"])
def test_an_lmc_of_more_than_three_bits_is_none(tmp_path: Path, lmc: str) -> None:
    port = "0xb000000000001000,1,0x0000000000000000,0xfe80000000000000,1,0,2807162954,0,0,2,31,31,1,3847,1024,"
    assert SMALL.count(f"{port}0,") == 1
    fabric = of_text(tmp_path, SMALL.replace(f"{port}0,", f"{port}{lmc},"))
    assert fabric.complete is False
    assert "bad-line" in kinds(fabric)
    assert fabric.nodes[LEAF].ports[0].lmc is None


def test_a_node_listed_twice(tmp_path: Path) -> None:
    row = next(line for line in SMALL.split("\n") if line.startswith('"host1'))
    fabric = of_text(tmp_path, SMALL.replace(row, f"{row}\n{row}"))
    assert len(fabric.nodes) == 3
    assert "bad-line" in kinds(fabric)
