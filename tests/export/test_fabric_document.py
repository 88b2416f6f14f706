"""The documents of fabrics and subnet managers: every sample fits its schema, and the contract that scripts rely on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.answers import Answers, said
from support.schemas import strict

from ibkit.collectors.fabric import collect_fabric
from ibkit.collectors.subnet_manager import collect_subnet_managers
from ibkit.export.fabric import (
    LINK_COLUMNS,
    NODE_COLUMNS,
    PORT_COLUMNS,
    fabric_document,
    link_rows,
    node_rows,
    port_rows,
    rates,
)
from ibkit.export.subnet_manager import COLUMNS, sm_document, sm_rows
from ibkit.model.fabric import Fabric

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "fixtures/tools"
SAMPLES = [path.name for path in sorted((TOOLS / "ibnetdiscover").glob("*.txt")) if ".stderr" not in path.name]


def fabric_of(name: str) -> Fabric:
    path = TOOLS / "ibnetdiscover" / name
    errors = path.with_suffix(".stderr.txt")
    answer = said(path.read_bytes().decode(), errors.read_text() if errors.exists() else "")
    return collect_fabric(Answers({"ibnetdiscover": answer}))


def checked(made: dict[str, Any], name: str) -> dict[str, Any]:
    jsonschema.validate(made, strict(name))
    return made


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_fits_the_schema(name: str) -> None:
    fabric = fabric_of(name)
    made = checked(fabric_document(fabric, with_ports=True), "fabric")
    guids = [node["guid"] for node in made["nodes"]]
    assert guids == sorted(set(guids))
    ends = [[(link[end]["guid"], link[end]["port"]) for end in "ab"] for link in made["links"]]
    assert ends == sorted(ends)
    assert all(a <= b for a, b in ends)
    linked = {(port["guid"], port["port"]) for port in made["ports"] if port["linked"]}
    assert linked == {end for pair in ends for end in pair}
    for columns, rows in ((NODE_COLUMNS, node_rows), (LINK_COLUMNS, link_rows), (PORT_COLUMNS, port_rows)):
        assert {len(row) for row in rows(fabric)} <= {len(columns)}


def test_the_contract() -> None:
    made = fabric_document(fabric_of("topology.txt"))
    assert list(made) == ["schema", "summary", "complete", "problems", "nodes", "systems", "links"]
    assert made["schema"] == "ibkit.fabric/1"
    assert made["summary"] == {"switches": 2, "channel_adapters": 2, "routers": 0, "aggregation_nodes": 0, "links": 4}
    assert made["nodes"][1] == {
        "guid": "0x0000000000100003", "type": "channel_adapter", "name": "Hca2", "ports": 2, "lid": 4, "lmc": 0,
        "system_image_guid": "0x0000000000100003", "vendor_id": "0x0", "device_id": "0x0", "enhanced_port0": None,
        "port0": None, "chassis": None, "slot": None,
        "hints": {"system": "Hca2", "model": None, "board": None, "chip": None, "device": None},
        "doubt": None,
    }  # fmt: skip
    assert made["links"][0] == {
        "a": {"guid": "0x0000000000100000", "port": 1}, "b": {"guid": "0x0000000000200000", "port": 1},
        "width": "4x", "speed": "SDR", "seen_from": 2,
    }  # fmt: skip
    ports = fabric_document(fabric_of("chassis-slots.txt"), with_ports=True)["ports"]
    labelled = next(port for port in ports if port["label"])
    assert {key: labelled.pop(key) for key in list(labelled)[:11]} == {
        "guid": "0x0008f10400000002", "port": 1, "port_guid": None, "lid": None, "linked": True, "width": "4x",
        "speed": "SDR", "peer": {"guid": "0x0008f10300000010", "port": 1}, "label": "ext 12", "plane": None,
        "virtual_guids": None,
    }  # fmt: skip
    assert set(labelled.values()) == {None}, "ibnetdiscover asks for no more"


def test_nothing_seen_is_not_zero() -> None:
    made = checked(fabric_document(fabric_of("no-device.txt")), "fabric")
    assert set(made["summary"].values()) == {None}
    assert (made["complete"], made["nodes"], made["links"]) == (None, [], [])


def test_two_lids_are_no_lid() -> None:
    made = fabric_document(fabric_of("two-port-hcas.txt"), with_ports=True)
    assert [node["lid"] for node in made["nodes"]] == [None, None, 2, 3]
    assert [port["lid"] for port in made["ports"] if port["lid"]] == [1, 4, 5, 6]


def test_rates_most_frequent_first() -> None:
    assert list(rates(fabric_of("tree.txt")).items()) == [("4x HDR", 26), ("1x HDR", 2), ("4x EDR", 1)]
    assert rates(fabric_of("short-rows.txt"))["unknown unknown"] == 1


@pytest.mark.parametrize("path", sorted((TOOLS / "sminfo").glob("*.txt")), ids=lambda path: path.name)
def test_subnet_managers_fit_the_schema(path: Path) -> None:
    managers = collect_subnet_managers(Answers({"sminfo": said(path.read_text())}))
    made = checked(sm_document(managers), "sm")
    assert all(len(row) == len(COLUMNS) for row in sm_rows(managers))
    if path.name == "master.txt":
        assert made == {
            "schema": "ibkit.sm/1", "complete": None, "named": None, "problems": [],
            "managers": [
                {"guid": "0x0000000000100001", "lid": 1, "state": "master", "priority": 0, "activity": 86,
                 "activity_moving": None, "name": None},
            ],
        }  # fmt: skip
