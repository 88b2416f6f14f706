"""A host with ports in two subnets: a capture holds both, and no answer is of both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.answers import Answers, said

from ibkit.cli.main import main
from ibkit.collectors.everything import record_site
from ibkit.sources.base import Entry
from ibkit.sources.site import Origin, Site
from ibkit.sources.writer import write_capture

SAMPLES = Path(__file__).parents[2] / "fixtures/tools"
CLASS = "/sys/class/infiniband"
GIDS = {
    "mlx5_0": "fe80:0000:0000:0000:0008:f103:0000:0011",
    "mlx5_1": "fec0:0000:0000:0002:0c42:a103:0000:0001",
}
SHOWN = {"mlx5_0": 29, "mlx5_1": 7}  # links


@pytest.fixture
def capture(tmp_path: Path) -> str:
    """Recorded on the host."""
    files = {}
    for device, gid in GIDS.items():
        port = f"{CLASS}/{device}/ports/1"
        files |= {f"{port}/link_layer": "InfiniBand\n", f"{port}/state": "4: ACTIVE\n", f"{port}/gids/0": f"{gid}\n"}
    folders = {CLASS: tuple(Entry(device, "link") for device in GIDS)}
    folders |= {f"{CLASS}/{device}/ports": (Entry("1", "folder"),) for device in GIDS}
    tree, mixed = (SAMPLES / "ibnetdiscover/tree.txt").read_text(), (SAMPLES / "saquery/mixed/topology.txt").read_text()
    manager = "sminfo: sm lid 2 sm guid 0xc42a10300000001, activity count 5 priority 0 state 3 SMINFO_MASTER\n"
    commands = {
        "ibnetdiscover": said(tree), "ibnetdiscover -C mlx5_1 -P 1": said(mixed),
        "sminfo -C mlx5_1 -P 1": said(manager),
    }  # fmt: skip
    source = Answers(commands, files=files, folders=folders)
    told: list[str] = []
    recorded, _ = record_site(Site(Origin("live", "n01"), (), source), told.append)
    assert "recording topology, through mlx5_1 port 1" in told
    path = tmp_path / "capture"
    write_capture(str(path), recorded)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    status = main([*words, "--json"])
    made: dict[str, Any] = json.loads(capsys.readouterr().out)
    return status, made


def test_each_subnet_is_shown_alone(capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    for device, links in SHOWN.items():
        _, made = run(capsys, "--from", capture, "fabric", "--device", device, "--port", "1")
        assert made["summary"]["links"] == links
        (problem,) = [problem for problem in made["problems"] if problem["kind"] == "other-subnet"]
        other = next(name for name in GIDS if name != device)
        assert f"shown is that of {device} port 1" in problem["text"]
        assert f"{other} port 1 (prefix {GIDS[other][:19]})" in problem["text"]


def test_without_a_device_it_is_the_tools_own_choice(capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--from", capture, "fabric") == run(capsys, "--from", capture, "fabric", "--device", "mlx5_0")


def test_the_managers_are_of_one_subnet(capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(run(capsys, "--from", capture, "sm", "--device", "mlx5_1")[1]["managers"]) == 1
    assert run(capsys, "--from", capture, "sm")[1]["managers"] == []


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--device", "mlx5_7"), "there is no such device here; there are mlx5_0, mlx5_1"),
        (("--device", "-o/etc/x"), "not a device's name"),
        (("--device", "a b"), "not a device's name"),
        (("--port", "999"), "not a port's number"),
    ],
)
def test_what_is_no_port(capture: str, words: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(["--from", capture, "fabric", "=".join(words)])
    except SystemExit as end:
        status = end.code
    assert status == 2
    assert text in capsys.readouterr().err


def test_a_saved_output_was_asked_already(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(SAMPLES / "ibnetdiscover/tree.txt")
    assert main(["--from", path, "fabric", "--device", "mlx5_0"]) == 2
    assert "has been asked already" in capsys.readouterr().err
