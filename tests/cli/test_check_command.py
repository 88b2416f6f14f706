"""`ibkit check` and `ibkit expect` as a user runs them: the recorded fat tree with its known faults, and odd input."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.schemas import strict

from ibkit.cli.main import main

ROOT = Path(__file__).parents[2]
FAT_TREE, ROCE, MULTIRAIL = (ROOT / "fixtures" / name for name in ("fat-tree", "roce-host", "multirail-host"))
TOOLS = ROOT / "fixtures/tools"
#: What fixtures/fat-tree/README.md tells of its faults: rule, and both ends by name and port.
TRUTH = {
    ("R05", "c051 mlx5_0", 1, "MF0;swib-l003:MQM8700/U1", 15),
    ("R13", "MF0;swib-l001:MQM8700/U1", 31, "MF0;swib-s007:MQM8700/U1", 1),
    ("R20", "MF0;swib-l001:MQM8700/U1", 4, "c004 mlx5_0", 1),
    ("R24", "MF0;swib-l003:MQM8700/U1", 22, "MF0;swib-s002:MQM8700/U1", 6),
}


def run(capsys: pytest.CaptureFixture[str], *argv: str | Path) -> tuple[int, str, str]:
    status = main([str(word) for word in argv])
    out, err = capsys.readouterr()
    return status, out, err


def document(capsys: pytest.CaptureFixture[str], *argv: str | Path) -> tuple[int, Any]:
    status, out, _ = run(capsys, "check", "--json", *argv)
    made = json.loads(out)
    jsonschema.validate(made, strict("check"))
    return status, made


def ends(finding: Any) -> tuple[Any, ...]:
    return (finding["rule"], *(word for place in finding["places"] for word in (place["name"], place["port"])))


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """The fat tree an hour later: 40 more symbol errors, and the link was down once more."""
    folder = tmp_path / "later"
    shutil.copytree(FAT_TREE, folder)
    manifest = folder / "manifest.json"
    head = json.loads(manifest.read_text())
    day, _, rest = head["time"].partition("T")
    hour = int(rest[:2]) + 1
    manifest.write_text(manifest.read_text().replace(head["time"], f"{day}T{hour:02}{rest[2:]}", 1))
    (listing,) = (folder / "subnet").glob("ibqueryerrors_--details*.out")
    text = listing.read_text()
    assert "[SymbolErrorCounter == 4711]" in text
    listing.write_text(
        text.replace("== 4711]", "== 4751]").replace("[LinkDownedCounter == 3]", "[LinkDownedCounter == 4]")
    )
    return folder


def test_the_known_faults_and_no_others(capsys: pytest.CaptureFixture[str]) -> None:
    status, made = document(capsys, "--from", FAT_TREE)
    assert status == 1
    assert {ends(finding) for finding in made["findings"]} == TRUTH
    assert {finding["severity"] for finding in made["findings"]} == {"warning"}
    members = {finding["rule"]: [ends(member) for member in finding["members"]] for finding in made["findings"]}
    assert members.pop("R20") == [("R06", "c004 mlx5_0", 1, "MF0;swib-l001:MQM8700/U1", 4)]
    assert set(map(tuple, members.values())) == {()}
    assert made["complete"] is True
    assert {part["what"] for part in made["looked_at"]} == {
        "hosts", "fabric", "subnet-managers", "partitions", "routes", "counters"
    }  # fmt: skip
    decided = {"R01", "R02", "R03", "R04", "R06", "R08", "R20", "R22", "R27", "R40", "R41", "R42", "R43", "R46", "R48"}
    assert not decided & {one["rule"] for one in made["undecided"]}


def test_the_table_says_where_why_and_what_next(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "check", "--from", FAT_TREE)
    assert status == 1
    assert (
        "WARNING  R20 symbol-errors  MF0;swib-l001:MQM8700/U1 port 4 (0xb8599f0300000000) <-> c004 mlx5_0 port 1" in out
    )
    assert "SymbolErrorCounter 4711 since the counters were last cleared, nobody knows when" in out
    assert "  - R06 c004 mlx5_0 port 1" in out
    assert "\nfindings: 4 warning\nlooked at: hosts: 1 host with 1 port (complete)\n" in out
    assert "  next: " in out
    assert "replay of fat-tree" in err


def test_two_captures_make_rates(capsys: pytest.CaptureFixture[str], later: Path) -> None:
    status, made = document(capsys, "--from", later, "--since", FAT_TREE, "--rule", "counters", "--rule", "two-samples")
    assert status == 1
    (finding,) = made["findings"]
    assert ends(finding) == ("R22", "MF0;swib-l001:MQM8700/U1", 4, "c004 mlx5_0", 1)
    assert "LinkDownedCounter 1 in 60.0 min" in finding["what"]
    assert finding["severity"] == "warning", "bits are damaged as well, so it was no restart of the host"
    assert finding["since"].startswith("between 20")
    (member,) = finding["members"]
    assert member["rule"] == "R21"
    assert "SymbolErrorCounter 40 in 60.0 min" in member["what"]
    assert {"what": "two-samples", "text": "663 ports, 60.0 min apart", "complete": True} in made["looked_at"]


def test_two_captures_of_one_state_have_nothing_new(capsys: pytest.CaptureFixture[str], later: Path) -> None:
    for listing in (later / "subnet").glob("ibqueryerrors*"):
        shutil.copy(FAT_TREE / "subnet" / listing.name, listing)
    status, out, _ = run(capsys, "check", "--from", later, "--since", FAT_TREE, "--rule", "R10", "--rule", "R22")
    assert status == 0
    assert out.startswith("findings: none\n")


def test_captures_in_the_wrong_order_are_refused(capsys: pytest.CaptureFixture[str], later: Path) -> None:
    status, out, err = run(capsys, "check", "--from", FAT_TREE, "--since", later)
    assert (status, out) == (2, "")
    assert "exchange --from and --since" in err
    status, _, err = run(capsys, "check", "--from", FAT_TREE, "--since", TOOLS / "ibnetdiscover/tree.txt")
    assert (status, "not a capture" in err) == (2, True)
    status, _, err = run(capsys, "check", "--from", FAT_TREE, "--interval", "1")
    assert (status, "use --since" in err) == (2, True)


def test_one_host_decides_its_own_rules(capsys: pytest.CaptureFixture[str]) -> None:
    """Its truth: one rail on two lanes, another one behind half of the PCIe lanes that both ends have."""
    status, made = document(capsys, "--from", MULTIRAIL)
    assert (status, made["complete"]) == (1, False)
    assert [(one["rule"], one["severity"], one["where"]) for one in made["findings"]] == [
        ("R51", "critical", "gpu01: mlx5_1 (0xb8cef60300aa0010)"),
        ("R13", "warning", "gpu01: mlx5_2 port 1 (0xb8cef60300aa0020)"),
    ]
    undecided = {one["rule"]: one for one in made["undecided"]}
    assert "R04" in undecided
    assert "R20" not in undecided, "the kernel has the counters of its own ports"
    assert undecided["R40"]["get"].startswith("record it with `ibkit capture`")


def test_a_saved_topology_is_not_known_to_be_all_of_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = (TOOLS / "ibnetdiscover/tree.txt").read_text().replace("1xHDR", "4xHDR").replace("4xEDR", "4xHDR")
    (tmp_path / "tree.txt").write_text(text)
    status, made = document(capsys, "--from", tmp_path / "tree.txt")
    assert (status, made["findings"]) == (3, [])
    assert made["looked_at"][0]["complete"] is None


def test_ethernet_has_no_subnet_that_could_be_incomplete(capsys: pytest.CaptureFixture[str]) -> None:
    status, made = document(capsys, "--from", ROCE)
    assert (status, made["findings"]) == (0, [])
    assert any("Ethernet" in one["missing"] for one in made["undecided"])


def test_csv_has_a_row_for_each_member(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "check", "--csv", "--from", FAT_TREE)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert status == 1
    assert sorted((row["rule"], row["incident"]) for row in rows if row["rule"] in ("R20", "R06")) == [
        ("R06", "3"), ("R20", "3")
    ]  # fmt: skip
    assert len(rows) == 5


@pytest.mark.parametrize(
    ("words", "status", "start"),
    [
        (["--from", str(FAT_TREE)], 1, "IBKIT WARNING - R05 c051 mlx5_0 port 1"),
        (["--from", str(ROCE)], 0, "IBKIT OK - no finding in 1 host with 2 ports | critical=0 warning=0 info=0 undec"),
        (
            ["--from", str(TOOLS / "ibqueryerrors/counters-report.txt"), "--rule", "R40"],
            3,
            "IBKIT UNKNOWN - not decided",
        ),
        (["--from", str(TOOLS / "ibnetdiscover/duplicate-guid.txt")], 2, "IBKIT CRITICAL - R42"),
        (["--from", "/nowhere"], 3, "IBKIT UNKNOWN - /nowhere: "),
    ],
)
def test_nagios(capsys: pytest.CaptureFixture[str], words: list[str], status: int, start: str) -> None:
    got, out, _ = run(capsys, "check", "--nagios", *words)
    assert (got, out.count("\n")) == (status, 1)
    assert out.startswith(start)


def test_only_some_rules(capsys: pytest.CaptureFixture[str]) -> None:
    status, made = document(capsys, "--from", FAT_TREE, "--rule", "R06", "--rule", "duplicate-lid")
    assert (status, [one["rule"] for one in made["findings"]]) == (1, ["R06"])
    assert [part["what"] for part in made["looked_at"]] == ["hosts", "fabric"], "nothing else was asked for"
    status, made = document(capsys, "--from", FAT_TREE, "--rule", "duplicate-lid")
    assert (status, made["complete"]) == (0, True)
    status, made = document(capsys, "--from", MULTIRAIL, "--rule", "duplicate-lid")
    assert (status, made["complete"]) == (3, False), "it was asked for, and cannot be decided"


def test_the_rules_of_a_part_need_no_more_than_was_given(capsys: pytest.CaptureFixture[str]) -> None:
    status, made = document(capsys, "--from", ROCE, "--rule", "hosts")
    assert (status, made["findings"]) == (0, [])
    assert all("expected" not in one["missing"] for one in made["undecided"])
    status, _, err = run(capsys, "check", "--from", ROCE, "--rule", "expectations")
    assert (status, "need --expect" in err) == (2, True)
    status, made = document(capsys, "--from", FAT_TREE, "--rule", "two-samples", "--rule", "R40")
    assert (status, made["findings"]) == (0, []), "only R40 was run"


def test_ports_that_only_a_lid_tells_apart(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Two outputs of perfquery in one file, of port 1 of two adapters: no ends of one link."""
    page = "# Port counters: Lid {} port 1 (CapMask: 0x5A00)\nPortSelect:......................1\n"
    page += "CounterSelect:...................0x0000\nSymbolErrorCounter:..............{}\n"
    (tmp_path / "pages.txt").write_text(page.format(5, 50) + page.format(7, 70))
    _, made = document(capsys, "--from", tmp_path / "pages.txt")
    assert sorted((one["rule"], one["where"]) for one in made["findings"]) == [
        ("R20", "LID 5 port 1"), ("R20", "LID 7 port 1")
    ]  # fmt: skip


def test_severities_below_the_wanted_one_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    status, made = document(capsys, "--from", FAT_TREE, "--min-severity", "critical")
    assert (status, made["findings"]) == (0, [])


def test_what_a_rule_means(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "check", "--explain", "r21")
    assert status == 0
    assert out.startswith("### R21 bit-errors\n")
    assert "`short_window = 720`" in out
    for words in (["--explain", "R99"], ["--rule", "nothing"]):
        status, out, err = run(capsys, "check", *words)
        assert (status, out) == (2, "")
        assert "no such rule" in err


def test_other_files_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "check", "--from", TOOLS / "ibaddr/port.txt")
    assert (status, out) == (2, "")
    assert "this is ibaddr output" in err


def test_hostile_names_reach_no_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = (TOOLS / "ibnetdiscover/tree.txt").read_text().replace("c001-001 mlx5_1", "c\x1b[31m|\x07 mlx5_1")
    (tmp_path / "tree.txt").write_text(text)
    for words in ([], ["--nagios"], ["--csv"]):
        _, out, err = run(capsys, "check", *words, "--from", tmp_path / "tree.txt")
        assert "\x1b" not in out + err
        assert "\x07" not in out + err
    _, line, _ = run(capsys, "check", "--nagios", "--from", tmp_path / "tree.txt")
    assert line.count("|") == 1, "a bar begins the performance data"


def test_todays_fabric_meets_its_own_expectations(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "expect.toml"
    status, out, err = run(capsys, "expect", "init", "--from", FAT_TREE, "-o", file)
    assert (status, out) == (0, "")
    assert "written to" in err
    status, made = document(capsys, "--from", FAT_TREE, "--expect", file)
    assert {ends(finding) for finding in made["findings"]} == TRUTH
    status, _, err = run(capsys, "expect", "init", "--from", FAT_TREE, "-o", file)
    assert (status, "--force" in err) == (2, True)
    status, out, _ = run(capsys, "expect", "init", "--from", FAT_TREE)
    assert (status, out) == (0, file.read_text())


def test_what_differs_from_expectations(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """As the fabric was meant: c004 and c051 fast, the two missing cables there, one more host, a standby manager."""
    file = tmp_path / "expect.toml"
    run(capsys, "expect", "init", "--from", FAT_TREE, "-o", file)
    text = file.read_text().replace("standby_managers = 0", "standby_managers = 1")
    text = text.replace('width = "1x"', 'width = "4x"').replace('"EDR"', '"HDR"')
    text = text.replace('names = "c051"', 'names = "c051,c109"')
    missing = '  "0xb8599f0300000000/21 0xb8599f0300000700/1 MF0;swib-l001:MQM8700/U1 port 21 - x port 1",\n'
    file.write_text(text.replace("links = [\n", f"links = [\n{missing}", 1))
    status, made = document(capsys, "--from", FAT_TREE, "--expect", file, "--rule", "expectations")
    assert status == 1
    found = {(one["name"], one["where"]) for one in made["findings"]}
    assert found == {
        ("missing-hosts", "c109"),
        (
            "cabling",
            "MF0;swib-l001:MQM8700/U1 port 21 (0xb8599f0300000000) <-> "
            "MF0;swib-s002:MQM8700/U1 port 1 (0xb8599f0300000700)",
        ),
        (
            "slower-than-expected",
            "c004 mlx5_0 port 1 (0x0c42a10300000030) <-> MF0;swib-l001:MQM8700/U1 port 4 (0xb8599f0300000000)",
        ),
        (
            "slower-than-expected",
            "c051 mlx5_0 port 1 (0x0c42a10300000320) <-> MF0;swib-l003:MQM8700/U1 port 15 (0xb8599f0300000200)",
        ),
        ("fewer-standbys", "the subnet"),
    }


def test_waivers_and_limits(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "expect.toml"
    file.write_text(
        'format = "ibkit-expect/1"\n[thresholds.R24]\ntotal = 13\n'
        '[[waivers]]\nrule = "R20"\nwhere = "c004"\nuntil = 2030-01-01\nwhy = "cable is ordered"\n'
        '[[waivers]]\nrule = "slower-than-its-like"\nwhere = "*swib-s007*"\nuntil = 2026-11-30\nwhy = "new cable"\n'
    )
    _, made = document(capsys, "--from", FAT_TREE, "--expect", file)
    assert {finding["rule"] for finding in made["findings"]} == {"R05", "R06", "R13", "R59"}
    assert [ends(finding)[0] for finding in made["waived"]] == ["R20"]
    expired = next(finding for finding in made["findings"] if finding["rule"] == "R59")
    assert "held until 2026-11-30: new cable" in expired["what"]
    assert (expired["evidence"][0]["source"], expired["evidence"][0]["line"]) == (str(file), 9)


def test_the_page_of_rules_is_theirs(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "check", "--explain", "all")
    assert status == 0
    assert (ROOT / "docs/rules.md").read_text() == out, "write it anew: ibkit check --explain all > docs/rules.md"


@pytest.mark.parametrize("output", ["--json", "--csv"])
def test_nagios_does_not_drop_another_output(capsys: pytest.CaptureFixture[str], output: str) -> None:
    status, out, err = run(capsys, "--from", FAT_TREE, "check", "--nagios", output)
    assert (status, out) == (2, "")
    assert "--nagios prints one line" in err


def test_a_capture_compared_with_itself(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "check", "--from", FAT_TREE, "--since", FAT_TREE)
    assert status == 2
    assert "were recorded at the same time" in err
    assert "exchange" not in err


def test_rules_of_one_number_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """R13 is found by one rule, and another one of that number is undecided."""
    _, out, _ = run(capsys, "--from", FAT_TREE, "check", "--rule", "R13")
    assert "R13 slower-than-its-like" in out
    assert "undecided: R13 slower-than-expected: nobody told" in out
    _, out, _ = run(capsys, "--from", ROCE, "check")
    (line,) = [line for line in out.splitlines() if line.startswith("undecided: R01 port-initializing, ")]
    assert "R04, R05" in line, "these have one rule each"


def test_partitions_of_a_roce_host_are_not_to_be_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--from", ROCE, "check", "--rule", "not-in-default-partition", "--rule", "R69")
    assert status == 3
    assert "run `ibkit check` on a host of an InfiniBand fabric" in out
    assert "record it" not in out


def test_no_such_rule_lists_each_number_once(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = run(capsys, "check", "--explain", "R99")
    assert err.count("R44") == 1


def test_what_is_waived_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "expect.toml"
    path.write_text('format = "ibkit-expect/1"\n[[waivers]]\nrule = "R05"\nwhere = "*"\nwhy = "known"\n')
    _, out, _ = run(capsys, "--from", FAT_TREE, "check", "--expect", path)
    assert "waived, and not shown: 1 of R05 slow-by-configuration" in out


@pytest.mark.parametrize(
    "words", [("--from", "A", "--from", "B", "check"), ("--from", "A", "check", "--from", "B"),
              ("check", "--from", "A", "--from", "B")],
)  # fmt: skip
def test_two_sites_are_not_one(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([{"A": str(FAT_TREE), "B": str(ROCE)}.get(word, word) for word in words])
    assert ended.value.code == 2
    assert "--from is given twice" in capsys.readouterr().err


def test_a_device_that_a_capture_does_not_have(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "--from", MULTIRAIL, "fabric", "--device", "mlx5_9")
    assert status == 2
    assert "no host here has such a device; there are mlx5_0, mlx5_1" in err
    status, _, err = run(capsys, "--from", FAT_TREE, "fabric", "--device", "mlx5_9")
    assert status == 3
    assert "ibnetdiscover was not asked through mlx5_9 when this was recorded: leave out --device" in err
