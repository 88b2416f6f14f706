"""The fabric of a source: what a sweep's messages and its end prove, and why there was no sweep."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from support.answers import Answers, said

from ibkit.collectors.fabric import MAX_MESSAGES, collect_fabric
from ibkit.model.fabric import CHANNEL_ADAPTER, Fabric
from ibkit.model.ids import Guid
from ibkit.sources.base import DENIED, MISSING, TIMEOUT, TOO_MUCH, CommandAnswer, Entry
from ibkit.sources.opening import open_site

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
SYSFS = "/sys/class/infiniband"
NO_RDMA = {"folders": {SYSFS: "ENOENT", "/sys/bus/pci/devices": ()}}
NO_SUCH_PORT = "ibwarn: [7] mad_rpc_open_port2: Can't open UMAD port (No such device) ((null):0)\n"
NOT_FOUND = "ibpanic: [7] main: 'mlx5_9' IB device can't be found: Success\n"
NO_LIBRARY = "x: error while loading shared libraries: libibnetdisc.so.5\n"
TIMEOUT_3_LINKS_AWAY = "a.c:1; umad (DR path slid 0; dlid 0; 0,1,19,30,7,8 Attr 0x11:0) bad status 110; timed out\n"
OPEN_FAILED = "ibwarn: [7] mad_rpc_open_port: can't open UMAD port ((null):0)\n"
FAILED = "ibnetdiscover: iberror: failed: discover failed\n\n"


def sample(name: str) -> str:
    return (TOOLS / "ibnetdiscover" / name).read_bytes().decode()


def sweep(answer: CommandAnswer, **host: object) -> Fabric:
    return collect_fabric(Answers({"ibnetdiscover": answer}, **host))  # type: ignore[arg-type]


def recorded_failure(name: str) -> CommandAnswer:
    return said(sample(f"{name}.txt"), sample(f"{name}.stderr.txt"), 255)


def one_port(link_layer: str = "InfiniBand", physical_state: str = "5: LinkUp") -> dict[str, object]:
    """A host with one RDMA port."""
    port = f"{SYSFS}/mlx5_0/ports/1"
    return {
        "files": {f"{port}/link_layer": f"{link_layer}\n", f"{port}/phys_state": f"{physical_state}\n"},
        "folders": {
            SYSFS: (Entry("mlx5_0", "link"),),
            f"{SYSFS}/mlx5_0/ports": (Entry("1", "folder"),),
            "/dev/infiniband": (Entry("umad0", "device", None, 0o600, 0, 0),),
        },
    }


def test_a_silent_sweep_is_complete() -> None:
    fabric = sweep(said(sample("tree.txt")))
    assert (fabric.complete, fabric.problems, fabric.source) == (True, (), "ibnetdiscover")
    assert len(fabric.links) == 29


def test_the_simulators_narration_is_silence() -> None:
    fabric = sweep(said(sample("tree.txt"), 'ibwarn: [5] sim_connect: attached as client 0 at node "H-1"\n'))
    assert (fabric.complete, fabric.problems) == (True, ())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("timeout-hca", "the node behind port 12 of 0xb8599f0300000000 (MF0;swib-l001:MQM8700/U1) did not answer"),
        ("timeout-port-info", "0x0c42a103000000a0 (c001-006 mlx5_0) did not answer PortInfo of port 1"),
        ("timeout-switch-port-info", "0xb8599f0300000200 (MF0;swib-s002:MQM8700/U1) did not answer PortInfo"),
        ("timeout-node-description", "0x0c42a103000000a0 (no name) did not answer NodeDescription"),
    ],
)  # fmt: skip
def test_a_sweep_with_a_timeout_is_not_complete(name: str, text: str) -> None:
    fabric = sweep(said(sample(f"{name}.txt"), sample(f"{name}.stderr.txt")))
    assert fabric.complete is False
    (problem,) = fabric.problems
    assert (problem.kind, problem.line, problem.source) == ("discovery-timeout", 1, "ibnetdiscover (stderr)")
    assert problem.text.startswith(text)
    assert "Connection timed out" in problem.text


def test_what_a_timeout_leaves_unknown() -> None:
    fabric = sweep(said(sample("timeout-switch-port-info.txt"), sample("timeout-switch-port-info.stderr.txt")))
    spine = fabric.nodes[Guid(0xB8599F0300000200)]
    assert spine.lid is None
    assert {port.linked for port in spine.ports} == {True, None}, "a port without a row may have a neighbour"
    assert all((link.width, link.speed) == ("4x", "HDR") for link in fabric.links if link.b.guid == spine.guid)


def test_whose_answer_is_missing_is_told_of_the_node_or_port_itself() -> None:
    def doubts(name: str) -> list[tuple[str, int, str]]:
        fabric = sweep(said(sample(f"{name}.txt"), sample(f"{name}.stderr.txt")))
        told = [(str(node.guid), 0, node.doubt) for node in fabric.nodes.values() if node.doubt]
        return told + [
            (str(node.guid), port.number, port.doubt)
            for node in fabric.nodes.values()
            for port in node.ports
            if port.doubt
        ]

    assert doubts("timeout-hca") == [("0xb8599f0300000000", 12, "the node behind it did not answer")]
    assert doubts("timeout-port-info") == [("0x0c42a103000000a0", 0, "did not answer PortInfo of port 1")]
    assert doubts("timeout-switch-port-info")[0][0] == "0xb8599f0300000200"
    fabric = sweep(said(sample("tree.txt")[:2000]))
    assert {node.doubt for node in fabric.nodes.values()} == {None, "only its neighbours name it"}


def test_a_route_is_followed_as_far_as_it_is_known() -> None:
    """From HCA 1 by its port 1, leaf port 19 to spine 1, whose port 30 has no known neighbour, and two hops more."""
    (problem,) = sweep(said(sample("tree.txt"), TIMEOUT_3_LINKS_AWAY)).problems
    assert problem.text.startswith(
        "the node 3 links away behind port 30 of 0xb8599f0300000100 (MF0;swib-s001:MQM8700/U1)"
    )
    unstarted = sample("tree.txt").replace("Initiated", "initiated")
    (problem,) = sweep(said(unstarted, TIMEOUT_3_LINKS_AWAY)).problems
    assert problem.text.startswith("the node at the end of the route 0,1,19,30,7,8 did not answer NodeInfo")


def test_a_timeout_within_the_text_counts_too() -> None:
    """As `ibnetdiscover > file 2>&1` leaves it."""
    fabric = sweep(CommandAnswer((), (sample("timeout-hca.stderr.txt") + sample("timeout-hca.txt")).encode()))
    assert fabric.complete is False
    assert [(problem.kind, problem.line, problem.source) for problem in fabric.problems] == [
        ("discovery-timeout", 1, "ibnetdiscover")
    ]


def test_extended_port_info_decides_nothing() -> None:
    line = "src/query_smp.c:207; mad (DR path slid 0; dlid 0; 0,1 Attr 0xff90:3) bad status 0x1c\n"
    fabric = sweep(said(sample("tree.txt"), line))
    assert fabric.complete is True
    assert [problem.kind for problem in fabric.problems] == ["mad-status"]
    assert "refused extended PortInfo of port 3 (status 0x1c)" in fabric.problems[0].text


def test_a_message_of_unknown_meaning_leaves_it_open() -> None:
    fabric = sweep(said(sample("tree.txt"), "bash: warning: setlocale: cannot change locale\n"))
    assert fabric.complete is None
    assert [problem.kind for problem in fabric.problems] == ["tool-message"]


def test_messages_without_end_are_counted() -> None:
    fabric = sweep(said(sample("tree.txt"), "x.c:1; oops\n" * 1000))
    assert len(fabric.problems) == MAX_MESSAGES + 1
    assert fabric.problems[-1].text.startswith(f"{1000 - MAX_MESSAGES} more")
    assert fabric.complete is False


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (said(sample("tree.txt")[:3000], failure=TIMEOUT, exit_status=None), "timeout"),
        (said(sample("tree.txt"), exit_status=-11), "killed"),
        (said(sample("tree.txt"), exit_status=255), "tool-failed"),
    ],
)
def test_what_was_seen_before_a_failure_is_kept(answer: CommandAnswer, kind: str) -> None:
    fabric = sweep(answer)
    assert fabric.problems[0].kind == kind
    assert fabric.complete is False
    assert fabric.number_of(CHANNEL_ADAPTER) == 12


@pytest.mark.parametrize(
    ("answer", "host", "kind", "word"),
    [
        (said(failure=MISSING, exit_status=None), {}, "tool-missing", "install the package infiniband-diags"),
        (said(failure=DENIED, exit_status=None), {}, "tool-denied", "permissions"),
        (said(failure=TIMEOUT, exit_status=None), {}, "timeout", "did not end"),
        (said(failure=TOO_MUCH, exit_status=None), {}, "too-much-output", "without end"),
        (said(exit_status=-11), {}, "killed", "SIGSEGV"),
        (said(exit_status=-199), {}, "killed", "signal 199"),
        (said(exit_status=0), {}, "no-output", "printed nothing"),
        (said(stderr=NO_LIBRARY, exit_status=127), {}, "tool-failed", "127: x: error while loading"),
        (said(FAILED, OPEN_FAILED, 255), NO_RDMA, "no-rdma-device", "the PCI bus shows no RDMA adapter"),
        (recorded_failure("no-device"), NO_RDMA, "no-rdma-device", "ib_core"),
        (recorded_failure("no-device"), one_port(), "no-umad", "modprobe ib_umad"),
        (recorded_failure("no-device"), {}, "no-umad", "or the host has no RDMA device"),
        (recorded_failure("roce"), one_port("Ethernet"), "no-infiniband", "is Ethernet"),
        (recorded_failure("roce"), {}, "no-infiniband", "seems to be Ethernet"),
        (said(FAILED, OPEN_FAILED, 255), one_port("Ethernet"), "no-infiniband", "is Ethernet"),
        (said(FAILED, OPEN_FAILED, 255), one_port(physical_state="3: Disabled"), "no-port", "disabled"),
        (said(FAILED, NO_SUCH_PORT, 255), one_port(), "no-port", "disabled"),
        (said(FAILED, OPEN_FAILED, 255), one_port(), "umad-denied", "probably for want of permission"),
        (said(stderr=NOT_FOUND, exit_status=255), {}, "no-such-device", "mlx5_9"),
    ],
)  # fmt: skip
def test_why_there_was_no_sweep(answer: CommandAnswer, host: dict[str, object], kind: str, word: str) -> None:
    fabric = sweep(answer, **host)
    assert (fabric.nodes, fabric.links, fabric.complete) == ({}, (), None)
    (problem,) = fabric.problems
    assert problem.kind == kind
    assert word in problem.text
    assert problem.source == "ibnetdiscover"


def test_a_user_who_may_not_open_umad_is_told_so() -> None:
    commands = {"ibnetdiscover": said(FAILED, OPEN_FAILED, 255), "id -u": said("1000\n"), "id -G": said("1000 100\n")}
    (problem,) = collect_fabric(Answers(commands, **one_port())).problems  # type: ignore[arg-type]
    assert (problem.kind, problem.text[:60]) == (
        "umad-denied",
        "uid 1000 may not open /dev/infiniband/umad0 (mode 0600): run",
    )


def test_a_recorded_ports_report_will_do() -> None:
    fabric = collect_fabric(Answers({"ibnetdiscover -p": said(sample("tree-ports.txt"))}))
    assert (len(fabric.links), fabric.complete, fabric.source) == (29, True, "ibnetdiscover -p")
    (problem,) = collect_fabric(Answers({})).problems
    assert (problem.kind, problem.source) == ("not-recorded", "ibnetdiscover")


def test_a_raw_file_is_complete_as_far_as_it_can_tell() -> None:
    path = str(TOOLS / "ibnetdiscover/tree.txt")
    fabric = collect_fabric(open_site(path).subnet)
    assert (fabric.complete, fabric.problems, fabric.source) == (None, (), path)


def test_the_garbage_collector_is_on_again() -> None:
    sweep(said(sample("tree.txt")))
    assert gc.isenabled()
