"""DOT, GraphML and JSON of a picture: read back by Graphviz and by XML's own reader; hostile names in each."""

from __future__ import annotations

import json
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.answers import Answers, said
from support.schemas import strict

from ibkit.collectors.fabric import collect_fabric
from ibkit.export.dot import dot_lines
from ibkit.export.drawing import usual_of
from ibkit.export.graph import graph_document
from ibkit.export.graphml import graphml_lines
from ibkit.model.fabric import Fabric
from ibkit.model.graded_links import grade_links
from ibkit.model.picture import Picture, draw
from ibkit.sources.opening import open_site

ROOT = Path(__file__).parents[2]
SAMPLES = sorted((ROOT / "fixtures/tools/ibnetdiscover").glob("*.txt"))
NAMESPACE = "{http://graphml.graphdrawing.org/xmlns}"
#: What each format means something by, and what no terminal and no XML may get.
EVIL = 'x"]; evil [label=<b>]\\N\\" & &#10; </data><x/> ]]> \x1b[2J\x00\u202e\ufffe'


def sample(name: str, **replace: str) -> Fabric:
    text = (ROOT / "fixtures/tools/ibnetdiscover" / name).read_bytes().decode("utf-8", "backslashreplace")
    for old, new in replace.items():
        text = text.replace(old, new)
    return collect_fabric(Answers({"ibnetdiscover": said(text)}))


def fat_tree() -> Fabric:
    return collect_fabric(open_site(str(ROOT / "fixtures/fat-tree")).subnet)


def hostile() -> Fabric:
    """The fabric of a switch and twelve hosts with a name that breaks out where it can."""
    fabric = sample("tree.txt")
    return fabric._replace(nodes={guid: node._replace(name=EVIL) for guid, node in fabric.nodes.items()})


def picture_of(fabric: Fabric, **each: bool) -> Picture:
    return draw(fabric, grade_links(fabric), **each)


def dot_of(fabric: Fabric, **each: bool) -> str:
    return "\n".join(dot_lines(fabric, picture_of(fabric, **each))) + "\n"


def read_by_dot(text: str) -> dict[str, Any]:
    """What Graphviz understands."""
    done = subprocess.run(["dot", "-Tdot_json"], input=text, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def read_by_xml(fabric: Fabric, **each: bool) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """The boxes and lines of the GraphML, by the names of their keys."""
    root = ElementTree.fromstring("\n".join(graphml_lines(picture_of(fabric, **each), fabric.complete)))
    names = {key.attrib["id"]: key.attrib["attr.name"] for key in root.iter(f"{NAMESPACE}key")}
    found = []
    for kind in ("node", "edge"):
        elements = []
        for element in root.iter(f"{NAMESPACE}{kind}"):
            data = {names[each.attrib["key"]]: each.text or "" for each in element}
            elements.append({**element.attrib, **data})
        found.append(elements)
    return found[0], found[1]


@pytest.mark.needs("graphviz")
@pytest.mark.parametrize("path", SAMPLES[::4], ids=lambda path: path.stem)
def test_graphviz_reads_every_sample(path: Path) -> None:
    fabric = sample(path.name)
    read = read_by_dot(dot_of(fabric))
    picture = picture_of(fabric)
    assert {node["name"] for node in read.get("objects", ()) if "shape" in node} == {box.id for box in picture.boxes}
    assert len(read.get("edges", ())) == len(picture.lines)


@pytest.mark.needs("graphviz")
def test_the_fat_tree_in_graphviz() -> None:
    read = read_by_dot(dot_of(fat_tree()))
    assert read["label"] == (
        "15 switches, 108 HCAs, 214 links\\nlines between switches without a text: 2 x 4x HDR\\n"
        "lines to hosts without a text: 4x HDR"
    )
    said_of_lines = sorted(edge["xlabel"] for edge in read["edges"] if "xlabel" in edge)
    assert said_of_lines == [
        "4x HDR",  # what is left of the trunk with the QDR link
        "FEWER LINKS: others have 2\\n4x HDR, port 11 to 35",
        "FEWER LINKS: others have 2\\n4x HDR, port 2 to 22",
        "SLOW: both ends support HDR, and have less enabled\\n4x EDR, port 15 to 1",
        "SLOW: one lane only\\n1x HDR, port 4 to 1",
        "SUSPECTED: both ends have faster links; these two ports support no more\\n4x QDR, port 1 to 31",
    ]
    for edge in read["edges"]:
        assert (edge["color"] != "#b0b0b0") <= ("xlabel" in edge), "nothing is told by colour alone"
    groups = {node["label"] for node in read["objects"] if node.get("peripheries") == "2"}
    assert "c[019-036]\\n18 HCAs" in groups


@pytest.mark.needs("graphviz")
def test_hostile_names_in_graphviz() -> None:
    text = dot_of(hostile(), each_host=True)
    assert not any(character in text for character in "\x1b\x00\u202e")
    read = read_by_dot(text)
    assert len(read["edges"]) == 12 + 2, "the trunks to two spines are a line each"
    assert {node["name"] for node in read["objects"] if "shape" in node} == {str(guid) for guid in hostile().nodes}
    drawn = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, timeout=60, check=True).stdout
    shown = {element.text for element in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")}
    assert any(text and text.startswith('x"]; evil [label=<b>]\\N\\" & &#10; </data><x/>') for text in shown)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_xml_reads_every_sample(path: Path) -> None:
    fabric = sample(path.name)
    boxes, lines = read_by_xml(fabric)
    assert sum(int(box["nodes"]) for box in boxes) == len(fabric.nodes)
    assert sum(int(line["links"]) for line in lines) == len(fabric.links)
    ids = {box["id"] for box in boxes}
    assert all({line["source"], line["target"]} <= ids for line in lines)


def test_the_fat_tree_in_graphml() -> None:
    boxes, lines = read_by_xml(fat_tree())
    leaf = next(box for box in boxes if box["label"] == "swib-l002")
    assert (leaf["kind"], leaf["level"], leaf["names"], leaf["guids"]) == (
        "switch", "1", "MF0;swib-l002:MQM8700/U1", "0xb8599f0300000100",
    )  # fmt: skip
    slow = [line for line in lines if line["verdict"] == "slow"]
    assert {(line["rate_gbps"], line["weight"], line["cause"]) for line in slow} == {
        ("50.0", "50.0", "one-lane"), ("100.0", "100.0", "below-supported"),
    }  # fmt: skip
    assert {line["usual_links"] for line in lines if "usual_links" in line} == {"2"}


def test_hostile_names_in_graphml() -> None:
    boxes, lines = read_by_xml(hostile(), each_host=True)
    assert (len(boxes), len(lines)) == (15, 14)
    (name,) = {box["names"] for box in boxes}
    assert name == EVIL.replace("\x1b", "\\x1b").replace("\x00", "\\x00").replace("\u202e", "\\u202e").replace(
        "\ufffe", "\\ufffe"
    )


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_sample_fits_the_schema(path: Path) -> None:
    fabric = sample(path.name)
    for each in (False, True):
        made = graph_document(fabric, picture_of(fabric, each_host=each, each_switch=each))
        jsonschema.validate(json.loads(json.dumps(made)), strict("graph"))
        assert sum(len(box["nodes"]) for box in made["boxes"]) == len(fabric.nodes)


def test_the_document_keeps_names_raw() -> None:
    made = graph_document(hostile(), picture_of(hostile()))
    assert {node["name"] for box in made["boxes"] for node in box["nodes"]} == {EVIL}


def test_what_lines_without_a_text_mean() -> None:
    assert usual_of(picture_of(fat_tree())) == ((2, "4x HDR"), "4x HDR")
    assert usual_of(Picture((), ())) == (None, None)
