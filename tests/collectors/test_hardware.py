"""Modules and switches: whom a host asks, and what saved texts of the tools tell."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.recorded import Recorded, said

from ibkit.collectors.hardware import collect_fabric_hardware, collect_host_hardware
from ibkit.model.fabric import Fabric
from ibkit.model.host import Hca, HcaPort, HostHcas
from ibkit.model.ids import Guid
from ibkit.sources.base import MISSING, CommandAnswer
from ibkit.sources.opening import open_site

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
OPTICS = (TOOLS / "mlxlink/optics.txt").read_text().split("\n", 1)[1]
HOST = HostHcas(
    "n1",
    (
        Hca("mlx5_0", (HcaPort(1, "Active", port_guid=Guid(2)),), Guid(1), driver="mlx5_core"),
        Hca("smi0", (HcaPort(1),), Guid(1), driver="mlx5_core", planes_of="mlx5_0"),
        Hca("mlx5_1", (HcaPort(1),), driver="mlx5_core", error="EIO"),
        Hca("irdma0", (HcaPort(1),), driver="ice"),
    ),
)
NO_FABRIC = Fabric({}, (), None)


def test_only_readable_devices_that_have_the_registers_are_asked() -> None:
    source = Recorded(said("mlxlink -d mlx5_0 -m -c", OPTICS))
    found = collect_host_hardware(source, HOST)
    assert source.asked == ["mlxlink -d mlx5_0 -m -c"]
    (port,) = found.ports
    assert (port.place.host, port.place.device, port.place.port) == ("n1", "mlx5_0", 1)
    assert (port.place.guid, port.place.port_guid, port.is_up) == (1, 2, True)
    assert port.module and port.module.celsius
    assert (port.module.celsius.values, port.module.celsius.high) == ((54.0,), 75)
    assert port.counters
    assert port.counters.minutes_since_clear == 1421.6


@pytest.mark.parametrize("failure", [MISSING, None])
def test_the_same_program_of_another_package(failure: str | None) -> None:
    """mstlink is asked where mlxlink is not installed, and nobody complains where neither is."""
    answers = [CommandAnswer(("mlxlink", "-d", "mlx5_0", "-m", "-c"), failure=MISSING)]
    answers.append(
        CommandAnswer(("mstlink", "-d", "mlx5_0", "-m", "-c"), failure=MISSING)
        if failure
        else said("mstlink -d mlx5_0 -m -c", OPTICS)
    )
    found = collect_host_hardware(Recorded(*answers), HOST)
    assert (len(found.ports), found.problems) == ((0, ()) if failure else (1, ()))


def test_a_tool_that_refuses_is_a_problem() -> None:
    source = Recorded(
        said("mlxlink -d mlx5_0 -m -c", stderr="-E- Failed to open device: Permission denied\n", exit_status=1)
    )
    (problem,) = collect_host_hardware(source, HOST).problems
    assert problem.text == "mlxlink of mlx5_0: -E- Failed to open device: Permission denied"


def test_a_saved_output_of_switches() -> None:
    site = open_site(str(TOOLS / "ibswinfo/glued.txt"))
    (switch,) = collect_fabric_hardware(site.subnet, NO_FABRIC).switches
    assert (switch.place.guid, switch.place.name) == (0xB000000000001000, "Quantum Mellanox Technologies")
    assert [supply.status for supply in switch.info.power_supplies][1] == "ERROR"


def test_saved_tables_of_ibdiagnet() -> None:
    found = collect_fabric_hardware(open_site(str(TOOLS / "ibdiagnet2.db_csv/counters.txt")).subnet, NO_FABRIC)
    assert {report.event for _, report in found.reports} == {
        "LINK_UNEXPECTED_WIDTH", "PM_COUNTER_INCREASED", "NODE_DUPLICATED_NODE_DESC",
    }  # fmt: skip
    assert all(one.board_id for one in found.firmware)
    assert not found.is_empty


def test_a_saved_text_of_another_tool_tells_nothing() -> None:
    source = open_site(str(TOOLS / "ibnetdiscover/tree.txt")).subnet
    assert collect_fabric_hardware(source, NO_FABRIC).is_empty
    assert collect_host_hardware(source, HostHcas("")).is_empty
