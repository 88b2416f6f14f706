"""Counters of the fabric: two sweeps put together, and what their silence proves. Truths: the fixtures' READMEs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from support.recorded import Recorded, said

from ibkit.collectors.counters import DATA_OPTIONS, ERROR_OPTIONS, collect_counters
from ibkit.model.counters import FabricCounters, PortCounters
from ibkit.model.ids import Guid
from ibkit.sources.base import MISSING, TIMEOUT, CommandAnswer
from ibkit.sources.opening import open_site

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
DATA = f"ibqueryerrors {' '.join(DATA_OPTIONS)}"
ERRORS = f"ibqueryerrors {' '.join(ERROR_OPTIONS)}"
HOST1, HOST2, LEAF1, LEAF2 = 0xA0001000, 0xA0002000, 0xB0001000, 0xB0002000


def fixture(name: str) -> str:
    return (TOOLS / "ibqueryerrors" / name).read_text()


def of_file(path: Path) -> FabricCounters:
    return collect_counters(open_site(str(path)).subnet)


def of_text(tmp_path: Path, text: str) -> FabricCounters:
    file = tmp_path / "pasted.txt"
    file.write_text(text)
    return of_file(file)


def port_of(fabric: FabricCounters, guid: int, number: int) -> PortCounters:
    (port,) = [port for port in fabric.ports if (port.guid, port.port) == (guid, number)]
    return port


def two_sweeps(
    errors: str = "details.txt", *, stderr: str = "", changes: Mapping[str, str] | None = None
) -> FabricCounters:
    """The data of all ports, and a sweep for errors with some of its text changed."""
    text = fixture(errors)
    for old, new in (changes or {}).items():
        assert old in text
        text = text.replace(old, new)
    return collect_counters(Recorded(said(DATA, fixture("counters-report.txt")), said(ERRORS, text, stderr, 1)))


def test_two_sweeps_are_all_of_it() -> None:
    fabric = two_sweeps()
    assert (fabric.complete, fabric.problems, fabric.source) == (True, (), DATA)
    assert len(fabric.ports) == 21
    host1 = port_of(fabric, HOST1, 1)
    assert (host1.port_guid, host1.lid, host1.node_name) == (Guid(0xA0001001), 1, "host1 mlx5_0")
    assert host1.errors == {"SymbolErrorCounter": 65535, "LinkDownedCounter": 255, "VL15Dropped": 3}
    assert host1.saturated == ("SymbolErrorCounter", "LinkDownedCounter")
    assert host1.counters["PortXmitPkts"] == 223
    assert [(port.guid, port.port, port.errors) for port in fabric.ports if port.errors] == [
        (HOST1, 1, {"SymbolErrorCounter": 65535, "LinkDownedCounter": 255, "VL15Dropped": 3}),
        (LEAF1, 1, {"PortXmitDiscards": 8, "PortInactiveDiscards": 8}),
        (LEAF1, 2, {"PortRcvErrors": 12, "PortLocalPhysicalErrors": 5, "PortMalformedPktErrors": 7}),
        (LEAF2, 2, {"SymbolErrorCounter": 35}),
        (LEAF2, 7, {
            "PortRcvErrors": 6, "PortXmitDiscards": 10, "LocalLinkIntegrityErrors": 15, "PortBufferOverrunErrors": 6,
            "PortNeighborMTUDiscards": 4, "PortSwHOQLifetimeLimitDiscards": 6,
        }),
    ]  # fmt: skip


def test_silence_in_a_whole_sweep_is_zero() -> None:
    fabric = two_sweeps()
    silent = port_of(fabric, HOST2, 2)
    assert silent.counters["SymbolErrorCounter"] == 0
    assert silent.counters["VL15Dropped"] == 0
    assert port_of(fabric, LEAF1, 1).counters["SymbolErrorCounter"] == 0
    # The tool is silent, too, where the hardware does not count it.
    assert "PortXmitWait" not in silent.counters
    assert "QP1Dropped" not in silent.counters


def test_a_threshold_makes_silence_unknown() -> None:
    silent = port_of(two_sweeps("thresholds.txt"), HOST2, 2)
    assert "SymbolErrorCounter" not in silent.counters
    assert silent.counters["LinkDownedCounter"] == 0


def test_a_suppressed_counter_is_unknown() -> None:
    silent = port_of(two_sweeps("suppressed.txt"), HOST2, 2)
    assert "SymbolErrorCounter" not in silent.counters
    assert "PortRcvSwitchRelayErrors" not in silent.counters
    assert silent.counters["LinkDownedCounter"] == 0


@pytest.mark.parametrize(
    ("changes", "stderr"),
    [
        ({"4 nodes checked": "5 nodes checked"}, ""),
        ({"## Suppressed:": "##          2 PMA query failures\n## Suppressed:"}, ""),
        ({"5 ports have": "6 ports have"}, ""),
        ({}, "src/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1,2 Attr 0x11:0) bad status 110; timed out\n"),
    ],
    ids=["other-nodes", "unnamed-failures", "row-missing", "discovery-timeout"],
)
def test_doubts_make_silence_unknown(changes: dict[str, str], stderr: str) -> None:
    fabric = two_sweeps(stderr=stderr, changes=changes)
    assert "SymbolErrorCounter" not in port_of(fabric, HOST2, 2).counters
    assert "unknown-counters" in [problem.kind for problem in fabric.problems]
    assert port_of(fabric, LEAF1, 1).counters["PortXmitDiscards"] == 8


def test_a_discovery_timeout_names_its_route_and_makes_the_sweep_incomplete() -> None:
    stderr = "src/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1,13,9 Attr 0x11:0) bad status 110; timed out\n"
    fabric = two_sweeps(stderr=stderr)
    assert fabric.complete is False
    (problem,) = [problem for problem in fabric.problems if problem.kind == "discovery-timeout"]
    assert "0,1,13,9" in problem.text
    assert (problem.line, problem.source) == (1, f"{ERRORS} (stderr)")


def failure(port: int, lid: int = 4, name: str = "host2 \\") -> str:
    return (
        f"ibwarn: [7] mad_rpc: _do_madrpc failed; dport (Lid {lid})\n"
        f"ibwarn: [7] print_errors: IB_GSI_PORT_COUNTERS query failed on {name}, Lid {lid} port {port}\n"
    )


def with_failures(number: int) -> dict[str, str]:
    return {"## Suppressed:": f"##          {number} PMA query failures\n## Suppressed:"}


def test_a_port_that_did_not_answer_is_unknown_and_the_others_are_not() -> None:
    fabric = two_sweeps(stderr=failure(1), changes=with_failures(1))
    assert fabric.complete is False
    assert "SymbolErrorCounter" not in port_of(fabric, HOST2, 1).counters
    assert port_of(fabric, HOST2, 2).counters["SymbolErrorCounter"] == 0
    assert port_of(fabric, LEAF1, 3).counters["SymbolErrorCounter"] == 0
    assert [problem.kind for problem in fabric.problems] == ["no-answer", "query-failures"]
    assert "host2" in fabric.problems[0].text


def test_a_node_that_did_not_answer_for_all_its_ports() -> None:
    fabric = two_sweeps(stderr=failure(255), changes=with_failures(1))
    assert "SymbolErrorCounter" not in port_of(fabric, HOST2, 1).counters
    assert "SymbolErrorCounter" not in port_of(fabric, HOST2, 2).counters  # another LID, the same node
    assert port_of(fabric, LEAF1, 3).counters["SymbolErrorCounter"] == 0


def test_a_class_port_info_without_answer_leaves_the_counters_known() -> None:
    stderr = "ibwarn: [7] query_cap_mask: classportinfo query failed on host2 \\, Lid 4 port 1\n"
    fabric = two_sweeps(stderr=stderr, changes=with_failures(1))
    assert port_of(fabric, HOST2, 1).counters["SymbolErrorCounter"] == 0


def test_a_row_of_a_node_that_the_other_sweep_missed() -> None:
    """A stranger's row stands for itself; nodes of its name are in doubt."""
    fabric = two_sweeps(changes={'"host1 mlx5_0"': '"host2 \\"', "0xa0001001": "0xa0009001"})
    stranger = port_of(fabric, 0xA0009001, 1)
    assert stranger.counters["VL15Dropped"] == 3
    assert "SymbolErrorCounter" not in port_of(fabric, HOST2, 2).counters
    assert port_of(fabric, HOST1, 1).counters["SymbolErrorCounter"] == 0


def test_equal_names_are_told_apart_by_lid() -> None:
    data = fixture("counters-report.txt").replace('"host2 \\"', '"same"').replace('"host1 mlx5_0"', '"same"')
    errors = fixture("details-data-report.txt").replace('"host1 mlx5_0"', '"same"')
    fabric = collect_counters(Recorded(said(DATA, data), said(ERRORS, errors, "", 1)))
    assert port_of(fabric, HOST1, 1).counters["VL15Dropped"] == 3
    assert port_of(fabric, HOST2, 1).counters["VL15Dropped"] == 0
    assert len(fabric.ports) == 21


def test_equal_names_without_lid_are_not_guessed() -> None:
    data = fixture("counters-report.txt").replace('"host2 \\"', '"same"').replace('"host1 mlx5_0"', '"same"')
    errors = fixture("details.txt").replace('"host1 mlx5_0"', '"same"')
    fabric = collect_counters(Recorded(said(DATA, data), said(ERRORS, errors, "", 1)))
    assert port_of(fabric, 0xA0001001, 1).counters["VL15Dropped"] == 3
    assert "VL15Dropped" not in port_of(fabric, HOST1, 1).counters
    assert "VL15Dropped" not in port_of(fabric, HOST2, 1).counters


def test_without_sa_the_sweep_runs_without_asking_it() -> None:
    no_sa = said(DATA, "", fixture("no-sm.stderr.txt"))
    source = Recorded(
        no_sa,
        said(f"{DATA} --skip-sl", fixture("counters-report.txt")),
        said(ERRORS, "", "", -11),
        said(f"{ERRORS} --skip-sl", fixture("details.txt"), "", 1),
    )
    fabric = collect_counters(source)
    assert fabric.complete is True
    assert len(fabric.ports) == 21
    assert port_of(fabric, LEAF1, 2).counters["PortLocalPhysicalErrors"] == 5


def test_the_sweep_for_errors_alone_failed() -> None:
    fabric = collect_counters(Recorded(said(DATA, fixture("counters-report.txt")), said(ERRORS, "", "", 255)))
    assert fabric.complete is False
    assert len(fabric.ports) == 21
    assert "SymbolErrorCounter" not in port_of(fabric, HOST1, 1).counters


def test_nothing_is_cleared() -> None:
    source = Recorded()
    collect_counters(source)
    assert source.asked
    for command in source.asked:
        options = command.split()[1:]
        assert not {"-k", "-K", "-r", "-R", "--clear-errors", "--clear-counts", "--reset_after_read"} & set(options)


def test_local_ports_where_no_sweep_is_possible() -> None:
    files = {}
    for device, layer, state in (
        ("mlx5_0", "InfiniBand", "4: ACTIVE"), ("mlx5_1", "Ethernet", "4: ACTIVE"), ("mlx5_2", "InfiniBand", "1: DOWN"),
    ):  # fmt: skip
        folder = f"/sys/class/infiniband/{device}"
        files[f"{folder}/node_guid"] = "0c42:a103:0000:0000\n"
        files[f"{folder}/node_desc"] = "n01 mlx5_0\n"
        files[f"{folder}/ports/1/link_layer"] = f"{layer}\n"
        files[f"{folder}/ports/1/state"] = f"{state}\n"
        files[f"{folder}/ports/1/gids/0"] = "fe80:0000:0000:0000:0c42:a103:0000:0001\n"
    plain = (TOOLS / "perfquery/loop.txt").read_text().split("# Port counters: Lid 3 port 8")[0]
    seven = "# Port counters: Lid 3 port 7" + plain.split("# Port counters: Lid 3 port 7")[1]
    extended = (TOOLS / "perfquery/loop-extended.txt").read_text()
    wide = "# Port extended" + extended.split("# Port extended")[8]
    source = Recorded(
        CommandAnswer(tuple(DATA.split()), failure=MISSING),
        said("perfquery -C mlx5_0 -P 1", seven),
        said("perfquery -x -C mlx5_0 -P 1", wide),
        files=files,
    )
    fabric = collect_counters(source)
    assert fabric.complete is None
    (port,) = fabric.ports
    assert (str(port.guid), str(port.port_guid)) == ("0x0c42a10300000000", "0x0c42a10300000001")
    assert (port.lid, port.port, port.node_name) == (3, 7, "n01 mlx5_0")
    assert port.counters["PortXmitData"] == 123456814716  # the 64-bit value, not the saturated one of 32 bits
    assert port.counters["PortRcvErrors"] == 6
    assert port.counters["QP1Dropped"] is None
    assert port.saturated == ("LocalLinkIntegrityErrors", "PortXmitWait")
    assert [problem.kind for problem in fabric.problems] == ["tool-missing"]
    assert not any("mlx5_1" in command or "mlx5_2" in command for command in source.asked)


def test_a_sweep_that_hangs_is_not_tried_again() -> None:
    source = Recorded(CommandAnswer(tuple(DATA.split()), failure=TIMEOUT, seconds=600.0))
    fabric = collect_counters(source)
    assert source.asked == [DATA]
    assert (fabric.ports, fabric.complete) == ((), False)
    assert [problem.kind for problem in fabric.problems] == ["timeout"]


# Texts that somebody saved


def test_saved_errors_form() -> None:
    fabric = of_file(TOOLS / "ibqueryerrors/timeout-first.txt")
    assert fabric.complete is False  # a discovery time-out
    assert [(str(port.guid), port.port, port.lid) for port in fabric.ports] == [
        ("0x0b8599f0300383e0", 1, 83), ("0x0c42a1030079989c", 1, None),
    ]  # fmt: skip
    first, second = fabric.ports
    assert first.errors == {"SymbolErrorCounter": 35, "PortXmitDiscards": 8, "PortInactiveDiscards": 8}
    assert first.counters["LinkDownedCounter"] == 0
    assert "PortRcvSwitchRelayErrors" not in first.counters  # suppressed
    assert first.saturated == ()
    assert second.counters["PortXmitData"] == 6399401
    assert second.counters["PortRcvData"] == 0  # --data was given, and leaves out only zeros


def test_saved_data_form() -> None:
    fabric = of_file(TOOLS / "ibqueryerrors/counters-report.txt")
    assert (fabric.complete, fabric.problems, len(fabric.ports)) == (True, (), 21)
    assert "SymbolErrorCounter" not in fabric.ports[0].counters


def test_both_forms_in_one_file(tmp_path: Path) -> None:
    fabric = of_text(tmp_path, fixture("counters-report.txt") + fixture("details-data-report.txt"))
    assert (fabric.complete, len(fabric.ports)) == (True, 21)
    assert port_of(fabric, HOST2, 2).counters["SymbolErrorCounter"] == 0
    assert port_of(fabric, HOST1, 1).counters["PortXmitPkts"] == 223


def test_two_runs_in_one_file_say_so_and_the_last_one_counts(tmp_path: Path) -> None:
    """What the first run had of a port is not mixed with what the second one has."""
    first = fixture("details.txt")
    second = first.replace("[SymbolErrorCounter == 65535] [LinkDownedCounter == 255]", "[LinkDownedCounter == 9]")
    assert second != first
    fabric = of_text(tmp_path, first + second)
    assert "several-sweeps" in [problem.kind for problem in fabric.problems]
    host = port_of(fabric, 0xA0001001, 1)
    assert host.errors == {"LinkDownedCounter": 9, "VL15Dropped": 3}
    assert host.counters["SymbolErrorCounter"] == 0
    assert host.line is not None
    assert host.line > len(first.splitlines())
    assert len(fabric.ports) == 5


def test_two_runs_for_data_in_one_file(tmp_path: Path) -> None:
    text = fixture("counters-report.txt")
    fabric = of_text(tmp_path, text.replace("[PortXmitPkts == 223 ", "[PortXmitPkts == 999 ") + text)
    assert [problem.kind for problem in fabric.problems] == ["several-sweeps"]
    assert port_of(fabric, HOST1, 1).counters["PortXmitPkts"] == 223


def test_a_text_of_switches_alone_does_not_show_that_all_nodes_were_asked(tmp_path: Path) -> None:
    """As --switch prints it; without an option a fabric of healthy HCAs looks the same."""
    text = fixture("details.txt")
    at = text.index('Errors for "host1')
    switches = text[:at] + text[text.index("\n## Summary") :]
    switches = switches.replace("4 nodes checked, 3 bad", "2 nodes checked, 2 bad").replace(
        "5 ports have", "4 ports have"
    )
    fabric = of_text(tmp_path, switches)
    assert fabric.complete is None
    assert [problem.kind for problem in fabric.problems] == ["unknown-nodes"]
    assert of_text(tmp_path, text).complete is True
    recorded = collect_counters(Recorded(said(DATA, fixture("counters-report.txt")), said(ERRORS, switches, "", 1)))
    assert "unknown-nodes" not in [problem.kind for problem in recorded.problems]  # there the command is known


def test_a_failure_in_front_of_a_sweep(tmp_path: Path) -> None:
    text = fixture("details-data-report.txt")
    assert of_text(tmp_path, text).complete is True
    lost = "ibwarn: [3] _do_madrpc: recv failed: Connection timed out\n"
    for line in (
        lost,
        "ibwarn: [3] mad_rpc: _do_madrpc failed; dport (Lid 4)\n",
        "iberror: [3] main: failed: x\n",
        "perfquery: iberror: failed: perfquery\n",
    ):
        assert of_text(tmp_path, line + text).complete is False
    explained = two_sweeps(stderr=lost + failure(1), changes=with_failures(1))
    assert port_of(explained, HOST2, 2).counters["SymbolErrorCounter"] == 0  # the lines are of one query


def test_a_cut_file(tmp_path: Path) -> None:
    text = fixture("details.txt")
    fabric = of_text(tmp_path, text[: text.index("## Summary")])
    assert fabric.complete is False
    leaf = port_of(fabric, LEAF1, 1)
    assert leaf.counters == {"PortXmitDiscards": 8, "PortInactiveDiscards": 8}  # the thresholds are not known


def test_saved_perfquery() -> None:
    fabric = of_file(TOOLS / "perfquery/loop.txt")
    assert fabric.complete is None
    assert [(port.guid, port.lid, port.port) for port in fabric.ports] == [(None, 3, number) for number in range(9)]
    seven = fabric.ports[7]
    assert seven.saturated == ("LocalLinkIntegrityErrors", "PortXmitData", "PortXmitWait")
    assert seven.counters["QP1Dropped"] is None


def test_saved_perfquery_of_both_widths(tmp_path: Path) -> None:
    folder = TOOLS / "perfquery"
    for names in (("loop.txt", "loop-extended.txt"), ("loop-extended.txt", "loop.txt")):
        fabric = of_text(tmp_path, "".join((folder / name).read_text() for name in names))
        assert fabric.problems == ()
        assert len(fabric.ports) == 9
        seven = fabric.ports[7]
        assert (seven.counters["PortXmitData"], seven.counters["PortUnicastXmitPkts"]) == (123456814716, 77)
        assert seven.saturated == ("LocalLinkIntegrityErrors", "PortXmitWait")


def test_a_saved_sum_is_no_port() -> None:
    fabric = of_file(TOOLS / "perfquery/sum.txt")
    assert fabric.ports == ()
    assert [problem.kind for problem in fabric.problems] == ["no-port"]


def test_a_second_page_of_the_same_port_is_a_later_one(tmp_path: Path) -> None:
    page = (TOOLS / "perfquery/rcv-error-details.txt").read_text()
    fabric = of_text(tmp_path, page + page.replace("..7\n", "..9\n"))
    (port,) = fabric.ports
    assert port.counters["PortMalformedPktErrors"] == 9
    assert [problem.kind for problem in fabric.problems] == ["repeated"]


def test_both_tools_in_one_log(tmp_path: Path) -> None:
    fabric = of_text(tmp_path, fixture("details-data-report.txt") + (TOOLS / "perfquery/loop.txt").read_text())
    assert len(fabric.ports) == 5 + 7  # ports 2 and 7 at LID 3 are in both
    assert port_of(fabric, LEAF2, 7).counters["PortRcvErrors"] == 6
