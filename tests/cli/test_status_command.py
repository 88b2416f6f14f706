"""`ibkit status` as a user runs it: what goes to stdout and stderr, and the exit status."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest

from ibkit.cli.main import main

RECORDED = Path(__file__).parents[1] / "parsers/recorded/ibstat-rxe.txt"

INITIALIZING = """CA 'mlx5_0'
\tCA type: MT4123
\tNumber of ports: 1
\tFirmware version: 20.31.1014
\tPort 1:
\t\tState: Initializing
\t\tPhysical state: LinkUp
\t\tRate: 200
\t\tBase lid: 65535
\t\tSM lid: 0
\t\tPort GUID: 0x0c42a10300000001
\t\tLink layer: InfiniBand
"""


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    status = main(["status", *argv])
    out, err = capsys.readouterr()
    return status, out, err


def test_table_of_a_pasted_output(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "--from", str(RECORDED))
    assert status == 0
    assert out.splitlines()[0].split() == [
        "DEVICE", "PORT", "STATE", "PHYSICAL", "LAYER", "RATE", "LID", "SM", "NETDEV", "FIRMWARE",
    ]  # fmt: skip
    assert [line.split()[:5] for line in out.splitlines()[1:]] == [
        ["rxe0", "1", "Active", "LinkUp", "Ethernet"], ["rxe1", "1", "Active", "LinkUp", "Ethernet"],
    ]  # fmt: skip
    assert "replay of ibstat-rxe.txt" in err
    assert "replay" not in out


def test_json_is_on_stdout_alone(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--json", "--from", str(RECORDED))
    assert status == 0
    assert json.loads(out)["schema"] == "ibkit.status/1"


def test_csv_has_a_row_per_port(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--csv", "--from", str(RECORDED))
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["device"], row["rate_gbps"], row["lid"]) for row in rows] == [("rxe0", "10", ""), ("rxe1", "10", "")]


def test_a_finding_is_told_and_exit_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ibstat.txt").write_text(INITIALIZING)
    status, out, err = run(capsys, "--from", str(tmp_path / "ibstat.txt"))
    assert status == 1
    assert "mlx5_0 port 1: the link is up, and no subnet manager has configured the port" in err
    assert "200 Gb/s" in out


def test_an_unknown_state_is_exit_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ibstat.txt").write_text(INITIALIZING.replace("Initializing", "???"))
    assert run(capsys, "--from", str(tmp_path / "ibstat.txt"))[0] == 3


def test_an_unreadable_device_has_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = INITIALIZING.replace("Initializing", "Active").replace("65535", "9")
    text += "ibpanic: [1323906] main: stat of IB device 'mlx5_8' failed: No such file or directory\n"
    (tmp_path / "ibstat.txt").write_text(text)
    status, out, err = run(capsys, "--from", str(tmp_path / "ibstat.txt"))
    assert status == 1
    assert [line.split()[0] for line in out.splitlines()] == ["DEVICE", "mlx5_0", "mlx5_8"]
    assert "mlx5_8" in err


def test_output_of_another_tool_is_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_text("sminfo: sm lid 1 sm guid 0x1, activity count 5 priority 0 state 3 SMINFO_MASTER\n")
    status, out, err = run(capsys, "--from", str(tmp_path / "x"))
    assert (status, out) == (2, "")
    assert "sminfo" in err
    assert "ibstat" in err


def test_terminal_escapes_reach_no_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = INITIALIZING.replace("20.31.1014", "\x1b]0;pwned\x07\x1b[31m").replace("200", "?\x1b[2J")
    (tmp_path / "ibstat.txt").write_text(text)
    for form in ((), ("--csv",), ("--json",)):
        _, out, err = run(capsys, *form, "--from", str(tmp_path / "ibstat.txt"))
        assert "\x1b" not in out + err
        assert "\x07" not in out + err


def test_all_that_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "-v", "--from", str(Path(__file__).parents[2] / "fixtures/multirail-host")]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    for line in (
        "PCIe 0000:28:00.0    x8 32 GT/s, both ends can x16 32 GT/s",
        "NUMA node            1",
        "P_Keys               0xffff 0x8012",
        "GID 3                0000:0000:0000:0000:0000:ffff:0a14:0001 RoCE v2 ens3f0np0",
        "link_downed          1",
        "VL15_dropped         ? (N/A (no PMA))",
        "bond0         mlx5_bond_0/1  up  MTU 9000  e8:eb:d3:77:88:00  10.0.0.21/24",
        "VF 1    02:63:c0:12:34:01  VLAN 120  link auto",
        "ib2           mlx5_2/1  up  P_Key 0xffff  MTU 2044  "
        "00:00:00:62:fe:80:00:00:00:00:00:00:b8:ce:f6:03:00:aa:00:20  10.10.2.1/24",
    ):
        assert line in lines


@pytest.mark.parametrize(("columns", "widest"), [(0, 200), (30, 30)])
def test_a_table_is_as_wide_as_its_terminal(
    columns: int, widest: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A serial console and many a container say that they have no columns, which is no width."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("os.get_terminal_size", lambda *_: os.terminal_size((columns, 0)))
    _, out, _ = run(capsys, "--from", str(RECORDED))
    assert len(out.splitlines()) == 3
    assert 0 < max(map(len, out.splitlines())) <= widest
