"""ibstat: recorded output, the odd shapes of real hosts, damaged text."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.ibstat import IbstatDevice, IbstatPort, parse
from ibkit.parsers.lines import MAX_PROBLEMS

RECORDED = os.path.join(os.path.dirname(__file__), "recorded")

#: Two ports of a dual-rail VPI card: one InfiniBand, one Ethernet without netdev (its port GUID is legally zero).
TWO_PORTS = """CA 'mlx4_0'
	CA type: MT4103
	Number of ports: 2
	Firmware version: 2.42.5000
	Hardware version: 0
	Node GUID: 0x7cfe900300c40490
	System image GUID: 0x7cfe900300c40493
	Port 1:
		State: Active
		Physical state: LinkUp
		Rate: 56
		Base lid: 49
		LMC: 2
		SM lid: 1
		Capability mask: 0x02514868
		Port GUID: 0x7cfe900300c40491
		Link layer: InfiniBand
	Port 2:
		State: Down
		Physical state: Disabled
		Rate: 40
		Base lid: 0
		LMC: 0
		SM lid: 0
		Capability mask: 0x04010000
		Port GUID: 0x0000000000000000
		Link layer: Ethernet
"""


def recorded(name: str) -> str:
    with open(os.path.join(RECORDED, name)) as file:
        return file.read()


def one_port(**lines: str) -> str:
    """A device of one port; a line may be given another value, or taken out with ``""``."""
    port = {
        "State": "Active", "Physical state": "LinkUp", "Rate": "200", "Base lid": "7", "LMC": "0", "SM lid": "1",
        "Capability mask": "0x2659e848", "Port GUID": "0xb8cef60300aabbcc", "Link layer": "InfiniBand",
    }  # fmt: skip
    port.update({key.replace("_", " "): value for key, value in lines.items()})
    head = "CA 'mlx5_0'\n\tCA type: MT4123\n\tNumber of ports: 1\n\tPort 1:\n"
    return head + "".join(f"\t\t{key}: {value}\n" for key, value in port.items() if value)


def port_of(text: str) -> IbstatPort:
    (device,) = parse(text).value
    (port,) = device.ports
    return port


def test_softroce_as_recorded() -> None:
    parsed = parse(recorded("ibstat-rxe.txt"), source="ibstat")
    assert parsed.problems == ()
    assert parsed.complete is None  # ibstat has no end mark
    assert parsed.value[0] == IbstatDevice(
        "rxe0", "CA", None, 1, None, None, "0xb4f034fffe8ed331", "0xb4f034fffe8ed331",
        (IbstatPort(
            1, "Active", "LinkUp", 10.0, "FDR10", None, 0, 0, 0, 0x00010000, "0xb4f034fffe8ed331", "Ethernet"
        ),),
    )  # fmt: skip
    assert [device.name for device in parsed.value] == ["rxe0", "rxe1"]


def test_both_ports_of_a_card_keep_their_own_values() -> None:
    (device,) = parse(TWO_PORTS).value
    assert device.hca_type == "MT4103"
    assert device.firmware == "2.42.5000"
    assert [(p.number, p.state, p.base_lid, p.lmc, p.link_layer) for p in device.ports] == [
        (1, "Active", 49, 2, "InfiniBand"),
        (2, "Down", 0, 0, "Ethernet"),
    ]
    assert device.ports[1].port_guid == "0x0000000000000000"


def test_one_port_form_has_another_heading_and_no_indentation() -> None:
    # As `ibstat ibsim0 1` printed it, infiniband-diags 44.
    text = (
        "CA: 'ibsim0'\nPort 1:\nState: Initializing\nPhysical state: LinkUp\nRate: 10\nBase lid: 0\nLMC: 0\n"
        "SM lid: 0\nCapability mask: 0x0050c048\nPort GUID: 0x0000000000100001\nLink layer: IB\n"
    )
    (device,) = parse(text).value
    assert (device.name, device.port_count) == ("ibsim0", None)
    assert device.ports[0].state == "Initializing"
    assert device.ports[0].link_layer == "IB"
    assert parse(text).problems == ()


def test_a_panic_in_the_list_keeps_what_came_before_and_names_what_did_not() -> None:
    eight = "".join(one_port().replace("mlx5_0", f"mlx5_{i}") for i in range(8))
    panic = "ibpanic: [1323906] main: stat of IB device 'mlx5_8' failed: No such file or directory\n"
    for parsed in (parse(eight + panic), parse(eight, stderr=panic)):
        assert [device.name for device in parsed.value] == [f"mlx5_{i}" for i in range(9)]
        assert all(len(device.ports) == 1 and device.error is None for device in parsed.value[:8])
        assert parsed.value[8].error == "No such file or directory"
        assert parsed.complete is False
        (problem,) = parsed.problems
        assert problem.kind == "device-unreadable"
        assert "mlx5_8" in problem.text


def test_the_warning_of_newer_versions_stands_between_devices() -> None:
    text = one_port() + "ibwarn: [77] main: stat of IB device 'mlx5_1' failed\n" + TWO_PORTS
    parsed = parse(text)
    assert [(device.name, device.error is None) for device in parsed.value] == [
        ("mlx5_0", True), ("mlx5_1", False), ("mlx4_0", True),
    ]  # fmt: skip
    assert [problem.line for problem in parsed.problems] == [14]


@pytest.mark.parametrize(
    ("printed", "rate", "tag"),
    [("2.5", 2.5, None), ("2", 2.5, None), ("40 (FDR10)", 40.0, "FDR10"), ("400 (NDR)", 400.0, "NDR"),
     ("56", 56.0, None), ("0", None, None), ("400 Gb/sec (4X NDR)", 400.0, "4X NDR")],
)  # fmt: skip
def test_rates(printed: str, rate: float | None, tag: str | None) -> None:
    port = port_of(one_port(Rate=printed))
    assert (port.rate_gbps, port.rate_tag) == (rate, tag)


def test_words_outside_the_tables_stay_as_printed() -> None:
    port = port_of(one_port(State="???", Physical_state="No state change", Link_layer="Unknown"))
    assert (port.state, port.physical_state, port.link_layer) == ("???", "No state change", "Unknown")


def test_unknown_keys_are_kept_and_order_is_free() -> None:
    text = (
        "CA 'mlx5_0'\n\tNumber of ports: 1\n\tVendor data: blue\n\tPort 1:\n\t\tLink layer: InfiniBand\n"
        "\t\tEffective speed: 387.5\n\t\tBase lid: 65535\n\t\tPlane: 3\n\t\tState: Down\n\t\tPhysical state: Polling\n"
    )
    (device,) = parse(text).value
    assert device.other == (("Vendor data", "blue"),)
    (port,) = device.ports
    assert port.other == (("Plane", "3"),)
    assert port.effective_rate_gbps == 387.5
    assert port.base_lid == 65535
    assert port.state == "Down"


def test_omni_path_has_empty_type_and_firmware() -> None:
    text = one_port().replace("MT4123", "").replace("mlx5_0", "hfi1_0")
    (device,) = parse(text).value
    assert (device.name, device.hca_type) == ("hfi1_0", None)
    assert parse(text).problems == ()


def test_rnic_and_switch_headings() -> None:
    text = one_port().replace("CA '", "iWARP RNIC '").replace("CA type", "iWARP RNIC type")
    (device,) = parse(text).value
    assert (device.node_type, device.hca_type) == ("iWARP RNIC", "MT4123")


def test_a_bad_value_costs_that_line() -> None:
    parsed = parse(one_port(Base_lid="x" * 20, Port_GUID="0xbbbbzz", Rate="-1", LMC="9" * 4000), source="f")
    (device,) = parsed.value
    (port,) = device.ports
    assert (port.base_lid, port.port_guid, port.rate_gbps, port.lmc) == (None, None, None, None)
    assert (port.state, port.sm_lid, port.link_layer) == ("Active", 1, "InfiniBand")
    assert [(p.kind, p.line, p.source) for p in parsed.problems] == [("bad-value", n, "f") for n in (7, 8, 9, 12)]


def test_a_lost_device_heading_does_not_spill_into_its_neighbour() -> None:
    text = one_port() + TWO_PORTS.replace("CA 'mlx4_0'", "CA 'mlx4_\x00")
    parsed = parse(text)
    first, second = parsed.value
    assert first == parse(one_port()).value[0]
    assert second.name is None
    assert second.ports == parse(TWO_PORTS).value[0].ports
    assert [problem.kind for problem in parsed.problems] == ["bad-line", "lost-heading"]


def test_a_lost_port_heading_is_the_next_port() -> None:
    for heading in ("\tPort 1:\n", "\tPort 2:\n"):
        parsed = parse(TWO_PORTS.replace(heading, "#?\n"))
        assert parsed.value == parse(TWO_PORTS).value
        assert [problem.kind for problem in parsed.problems] == ["bad-line", "lost-heading"]


def test_without_a_port_count_a_lost_port_heading_is_not_guessed() -> None:
    text = one_port().replace("\tNumber of ports: 1\n", "").replace("\tPort 1:\n", "")
    parsed = parse(text)
    assert parsed.value[0].ports == ()
    assert [problem.kind for problem in parsed.problems] == ["lost-heading", "truncated"]


@pytest.mark.parametrize("lines", range(1, 28))
def test_a_text_cut_after_any_line_is_told_or_whole(lines: int) -> None:
    parsed = parse("".join(TWO_PORTS.splitlines(keepends=True)[:lines]))
    # Whole before the ports (as `ibstat -s` prints it: lines 3 to 7), or behind the last port's link layer.
    assert parsed.complete is (None if 3 <= lines <= 7 or lines == 27 else False)


@pytest.mark.parametrize("lines", range(1, 27))
def test_a_value_that_may_have_lost_its_end_is_not_taken(lines: int) -> None:
    whole = TWO_PORTS.splitlines(keepends=True)
    before = "".join(whole[:lines])
    parsed = parse(before + whole[lines][:-2])
    assert parsed.value == parse(before).value
    assert parsed.complete is False


def test_a_whole_paste_without_last_newline_is_whole() -> None:
    assert parse(TWO_PORTS[:-1]) == parse(TWO_PORTS)


def test_terminal_and_mail_decoration() -> None:
    text = "[root@n01 ~]# ibstat\r\n" + "".join(f"> {line}   \r\n" for line in TWO_PORTS.splitlines())
    assert parse(text) == parse(TWO_PORTS)
    boxed = "".join(f"\u2502 {line:<50}\u2502\n" for line in TWO_PORTS.replace("\t", "   ").splitlines())
    assert parse(boxed).value == parse(TWO_PORTS).value


def test_the_same_device_twice_stays_two() -> None:
    assert [device.name for device in parse(one_port() * 2).value] == ["mlx5_0", "mlx5_0"]


@pytest.mark.parametrize(
    "text", ["", "rxe0\nrxe1\n", "0xb4f034fffe8ed331\n", "State: Active\nPort 1:\n", "\x00\xff" * 99]
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(NotThisFormat):
        parse(text)


def test_a_long_line_is_not_looked_at() -> None:
    parsed = parse(one_port() + "\t\tState: " + "A" * 10_000_000 + "\n")
    assert parsed.value == parse(one_port()).value
    assert [problem.kind for problem in parsed.problems] == ["bad-line"]


def test_garbage_costs_bounded_memory_and_linear_time() -> None:
    started = time.process_time()
    parsed = parse(one_port() + "!\n" * 200_000 + "a" * 60_000 + ":\n" + ("a " * 30_000 + ":\n") * 20)
    assert time.process_time() - started < 5
    assert len(parsed.problems) == MAX_PROBLEMS + 1


@given(st.text())
def test_never_raises_on_text_behind_a_heading(text: str) -> None:
    parsed = parse("CA 'x'\n" + text)
    assert parsed.value[0].name == "x"


@given(st.lists(st.sampled_from(TWO_PORTS.splitlines()), max_size=40))
def test_never_raises_on_shuffled_lines(lines: list[str]) -> None:
    try:
        parsed = parse("\n".join(lines))
    except NotThisFormat:
        assert not any(line.startswith("CA '") for line in lines)
    else:
        assert all(port.number in (1, 2) for device in parsed.value for port in device.ports)
