"""Owners of queue pairs: what the tools printed for two MPI ranks in a SoftRoCE guest, and what hosts may do to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.answers import Answers, said
from support.proc_tree import rank_files

from ibkit.collectors.consumers import SERVICES, collect_consumers
from ibkit.model.consumers import Consumers, Owner
from ibkit.sources.base import MISSING, Entry
from ibkit.sources.opening import open_site

TOOLS = Path(__file__).parents[2] / "fixtures/tools/rdma"
COMMAND = "rdma -j -d resource show "
QUEUE_PAIRS = (TOOLS / "queue-pairs-json.txt").read_text()
#: Of the same moment; two of the real rows, of the rank and of its helper thread.
MEMORY = (
    '[{"ifindex":0,"ifname":"rxe0","mrn":0,"rkey":"25c","lkey":"25c","mrlen":151552,"pdn":1,"pid":89,"comm":"pp.ompi"},'
    '{"ifindex":0,"ifname":"rxe0","mrn":12,"rkey":"f17","lkey":"f17","mrlen":5193728,"pdn":1,"pid":99,"comm":"async"}]'
)
NODE = Entry("uverbs0", "device", None, 0o666, 0, 0)
FILES = {**rank_files(89), **rank_files(90), **rank_files(99, tgid=89)}


def fd(*targets: str) -> tuple[Entry, ...]:
    return tuple(Entry(str(number), "link", target) for number, target in enumerate(targets))


def collect(
    qp: str = QUEUE_PAIRS, *, files: dict[str, str] | None = None, folders: dict[str, Any] | None = None, **more: str
) -> Consumers:
    """On a host with a device rxe0; lists that are not given are empty."""
    texts = {**dict.fromkeys(("cm_id", "ctx", "pd", "mr", "cq"), "[]"), "qp": qp, **more}
    there: dict[str, Any] = {
        "/sys/class/infiniband": [Entry("rxe0", "link")],
        "/sys/class/infiniband_mad": [Entry("umad0", "link")],
        "/dev/infiniband": [NODE],
        "/proc": [Entry(name, "folder") for name in ("1", "89", "90", "self")],
        "/proc/1/fd": (),
        "/proc/89/fd": fd("/dev/infiniband/uverbs0"),
        "/proc/90/fd": fd("/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm"),
        **(folders or {}),
    }
    source = Answers(
        {COMMAND + kind: said(text) for kind, text in texts.items()},
        files=FILES if files is None else files, folders=there,
    )  # fmt: skip
    return collect_consumers(source, "n01")


def qp(lqpn: int, rqpn: int, pid: int, *, rq: int = 0, sq: int = 0, device: str = "rxe0", state: str = "RTS") -> str:
    return (
        f'{{"ifindex":0,"ifname":"{device}","port":1,"lqpn":{lqpn},"rqpn":{rqpn},"type":"RC","state":"{state}",'
        f'"rq-psn":{rq},"sq-psn":{sq},"pid":{pid},"comm":"x"}}'
    )


def pairs(*rows: str, **more: str) -> list[tuple[int, int, str]]:
    found = collect(f"[{','.join(rows)}]", **more)
    return [(found.queue_pairs[pair.a].qpn, found.queue_pairs[pair.b].qpn, pair.basis) for pair in found.pairs]


def test_two_ranks_and_the_kernel() -> None:
    found = collect(mr=MEMORY)
    assert found.problems == ()
    assert [(owner.kind, owner.pid, owner.name, owner.service) for owner in found.owners] == [
        ("process", 89, "pp.ompi", None), ("process", 90, "pp.ompi", None),
        ("kernel", None, "ib_core", "management datagrams"),
    ]  # fmt: skip
    assert [(one.qpn, one.remote_qpn, one.type, one.owner) for one in found.queue_pairs] == [
        (20, None, "UD", 0), (22, None, "UD", 1), (23, 23, "RC", 0), (24, 24, "RC", 1), (25, 26, "RC", 0),
        (26, 25, "RC", 1), (1, None, "GSI", 2), (1, None, "GSI", 2),
    ]  # fmt: skip


def test_a_thread_is_its_process() -> None:
    found = collect(mr=MEMORY)
    rank = found.owners[0]
    assert (rank.pid, rank.threads, rank.name, rank.confirmed) == (89, (89, 99), "pp.ompi", True)
    (use,) = [use for use in found.uses if use.owner == 0]
    assert (use.device, use.qp, use.mr, use.cq) == ("rxe0", 3, 2, 0)


def test_what_a_process_shows() -> None:
    rank, other, _ = collect().owners
    assert (rank.uid, rank.memlock, rank.locked_bytes, rank.pinned_bytes) == (1000, "unlimited", 0, 103176 << 10)
    assert rank.environment == (("UCX_TLS", "rc,self"), ("OMPI_COMM_WORLD_RANK", "0"))
    assert rank.libraries == ("/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0", "/usr/lib/libucp.so.0.0.0")
    assert (rank.nodes, rank.container, rank.inner_pid) == (("/dev/infiniband/uverbs0",), None, None)
    assert other.nodes == ("/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs0")


@pytest.mark.parametrize(
    ("cgroup", "container"),
    [
        (f"/system.slice/docker-{'4f' * 32}.scope", f"docker {'4f' * 32}"),
        (f"/docker/{'4f' * 32}", f"docker {'4f' * 32}"),
        (f"/kubepods.slice/kubepods-pod1.slice/cri-containerd-{'ab' * 32}.scope", f"cri-containerd {'ab' * 32}"),
        (f"/kubepods/burstable/pod6b/{'ab' * 32}", f"kubernetes {'ab' * 32}"),
        ("/user.slice/user-1000.slice/session-2.scope", None),
        ("/system.slice/slurmstepd.scope/job_123/step_0/user/task_0", None),
        ("/system.slice/docker.service", None),
    ],
)
def test_containers(cgroup: str, container: str | None) -> None:
    rank = collect(files={**FILES, **rank_files(89, inner="89\t7", cgroup=cgroup)}).owners[0]
    assert (rank.cgroup, rank.container, rank.inner_pid) == (cgroup, container, 7)


def namespaces(**numbers: int) -> tuple[Entry, ...]:
    """/proc/PID/ns; the kind stands in the link, and two of the names are those of children to come."""
    numbers = {"mnt": 4026531841, "net": 4026531840, "pid": 4026531836, "user": 4026531837, **numbers}
    links = [Entry(kind, "link", f"{kind}:[{number}]") for kind, number in numbers.items()]
    return *links, Entry("pid_for_children", "link", "pid:[9]")


def test_namespaces() -> None:
    """A container that has no cgroup of its own shows in them; the other rank shares all of the reader's."""
    there = {
        "/proc/self/ns": namespaces(), "/proc/90/ns": namespaces(),
        "/proc/89/ns": namespaces(mnt=4026532700, user=4026532699),
    }  # fmt: skip
    rank, other, kernel = collect(folders=there).owners
    assert dict(rank.namespaces or ()) == {
        "mnt": 4026532700, "net": 4026531840, "pid": 4026531836, "user": 4026532699,
    }  # fmt: skip
    assert (rank.own_namespaces, other.own_namespaces, rank.container) == (("mnt", "user"), (), None)
    assert (kernel.namespaces, kernel.own_namespaces) == (None, None)


@pytest.mark.parametrize("shut", ["EACCES", tuple(entry._replace(target=None) for entry in namespaces())])
def test_namespaces_of_another_users_process(shut: Any) -> None:
    """The folder cannot be listed, or its links cannot be read (root without capabilities)."""
    found = collect(folders={"/proc/self/ns": namespaces(), "/proc/89/ns": shut, "/proc/90/ns": namespaces(pid=7)})
    assert (found.owners[0].namespaces, found.owners[0].own_namespaces) == (None, None)
    assert found.owners[1].own_namespaces == ("pid",)
    assert [problem.text for problem in found.problems] == [
        "namespaces of process 89: only their user and root may look"
    ]


def test_who_has_a_node_open_and_no_object() -> None:
    """A subnet manager holds umad nodes, which the kernel's tracking does not know."""
    found = collect(
        "[]", files={**FILES, **rank_files(1)}, folders={"/proc/1/fd": fd("/dev/infiniband/umad0"), "/proc/89/fd": ()}
    )
    assert [(owner.pid, owner.nodes) for owner in found.owners] == [
        (1, ("/dev/infiniband/umad0",)), (90, ("/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs0")),
    ]  # fmt: skip
    assert found.uses == ()


def test_a_pair_by_numbers_and_one_with_itself_is_none() -> None:
    """23 names 23: on two hosts with the same job each queue pair's peer has its own number."""
    found = collect()
    assert [(pair.a, pair.b, pair.basis) for pair in found.pairs] == [(4, 5, "numbers")]


def test_packet_numbers_prove_a_pair() -> None:
    assert pairs(qp(5, 6, 89, rq=7_000_000, sq=9_000_001), qp(6, 5, 90, rq=9_000_000, sq=7_000_003)) == [
        (5, 6, "packet-numbers")
    ]


def test_packet_numbers_refute_a_pair() -> None:
    assert pairs(qp(5, 6, 89, rq=7_000_000, sq=9_000_000), qp(6, 5, 90, rq=1_000, sq=7_000_000)) == []


def test_packet_numbers_go_round() -> None:
    assert pairs(qp(5, 6, 89, rq=7_000_000, sq=2), qp(6, 5, 90, rq=0xFFFFFE, sq=7_000_000)) == [(5, 6, "numbers")]


def test_of_two_candidates_packet_numbers_choose() -> None:
    rows = (
        qp(5, 6, 89, rq=7_000_000, sq=9_000_000), qp(6, 5, 90, rq=9_000_000, sq=7_000_000),
        qp(6, 5, 90, rq=3_000_000, sq=4_000_000, device="rxe1"),
    )  # fmt: skip
    assert pairs(*rows) == [(5, 6, "packet-numbers")]


def test_of_two_alike_nobody_is_chosen() -> None:
    assert pairs(qp(5, 6, 89), qp(6, 5, 90), qp(6, 5, 90, device="rxe1")) == []


def test_a_queue_pair_that_is_not_connected_has_no_peer() -> None:
    assert pairs(qp(5, 6, 89, state="INIT"), qp(6, 5, 90)) == []
    assert collect(f"[{qp(5, 0, 89, state='RESET')}]").queue_pairs[0].remote_qpn is None


def connection(qpn: int, source: str, destination: str) -> str:
    return (
        f'{{"ifindex":0,"ifname":"rxe0","port":1,"cm-idn":1,"lqpn":{qpn},"qp-type":"RC","state":"CONNECT","ps":"TCP",'
        f'"pid":89,"comm":"x","src-addr":"{source}","dst-addr":"{destination}"}}'
    )


def test_addresses_prove_and_refute() -> None:
    rows = qp(5, 6, 89), qp(6, 5, 90)
    a, b, c = "10.0.0.1:4000", "10.0.0.1:5000", "10.0.0.2:5000"
    assert pairs(*rows, cm_id=f"[{connection(5, a, b)},{connection(6, b, a)}]") == [(5, 6, "addresses")]
    assert pairs(*rows, cm_id=f"[{connection(5, a, c)},{connection(6, b, c)}]") == []
    assert pairs(*rows, cm_id=f"[{connection(5, a, c)}]") == []


def test_connections_of_the_manager() -> None:
    found = collect("[]", cm_id=(TOOLS / "connections-json.txt").read_text())
    one = found.connections[0]
    assert (one.device, one.qpn, one.type, one.state, one.port_space) == ("rxe0", 21, "RC", "CONNECT", "TCP")
    assert (one.source, one.destination) == ("10.77.0.1:60787", "10.77.0.1:18515")
    assert found.owners[one.owner] == Owner("process", 531, "ib_send_bw", threads=(531,))


def test_kernel_services() -> None:
    names = {"ib_ipoib": "IPoIB", "nvme_rdma": "NVMe-oF host", "nvmet_rdma": "NVMe-oF target", "ko2iblnd": "Lustre",
             "rpcrdma": "NFS/RDMA", "svcrdma": "NFS/RDMA", "ib_srp": "SRP initiator", "ib_srpt": "SRP target",
             "ib_iser": "iSER initiator", "ib_isert": "iSER target", "smc": "SMC", "rds_rdma": "RDS",
             "vendor_thing": None}  # fmt: skip
    rows = ",".join(
        f'{{"ifindex":0,"ifname":"mlx5_0","port":1,"lqpn":{n},"type":"RC","state":"RTS","sq-psn":0,"comm":"{name}"}}'
        for n, name in enumerate(names, 2)
    )
    assert {owner.name: owner.service for owner in collect(f"[{rows}]").owners if owner.kind == "kernel"} == names
    assert all(SERVICES.values())


def test_a_process_that_ended_or_is_hidden() -> None:
    found = collect(files=dict(rank_files(90)), folders={"/proc": [Entry("90", "folder")]})
    owner = next(owner for owner in found.owners if owner.pid == 89)
    assert (owner.name, owner.confirmed, owner.uid, owner.nodes) == ("pp.ompi", False, None, None)


def test_what_other_users_processes_do_not_show() -> None:
    found = collect(folders={"/proc/89/fd": "EACCES", "/proc/1/fd": "EACCES"})
    assert found.owners[0].nodes is None
    assert [(problem.kind, problem.text) for problem in found.problems] == [
        ("not-permitted", "open files of processes 1, 89: only their user and root may look")
    ]


def test_in_a_container_the_kernels_rows_are_hidden() -> None:
    found = collect(f"[{qp(5, 6, 89)}]")
    assert [problem.kind for problem in found.problems] == ["hidden-rows"]
    assert collect(f"[{qp(5, 6, 89)}]", folders={"/sys/class/infiniband_mad": "ENOENT"}).problems == ()


def test_a_row_of_nobody() -> None:
    found = collect('[{"ifindex":0,"ifname":"rxe0","port":1,"lqpn":5,"type":"RC","state":"ERR","sq-psn":0}]')
    assert found.owners[found.queue_pairs[0].owner] == Owner("unknown")


def test_an_old_tool_does_not_know_all_kinds() -> None:
    answers = {COMMAND + kind: said("[]") for kind in ("qp", "cm_id", "pd", "mr", "cq")}
    answers[COMMAND + "ctx"] = said(stderr="Unknown parameter 'ctx'.\n", exit_status=22)
    source = Answers(answers, folders={"/sys/class/infiniband": [Entry("mlx5_0", "link")]})
    found = collect_consumers(source, "n01")
    assert found.listed
    assert [(p.kind, p.text) for p in found.problems] == [
        ("tool-failed", "objects of kind ctx cannot be listed: Unknown parameter 'ctx'.")
    ]


@pytest.mark.parametrize(
    ("answer", "kind"), [(said(failure=MISSING), "tool-missing"), (said("rubbish\n"), "tool-failed")]
)
def test_without_the_tool_nothing_is_listed(answer: Any, kind: str) -> None:
    answers = {COMMAND + name: answer for name in ("qp", "cm_id", "ctx", "pd", "mr", "cq")}
    found = collect_consumers(Answers(answers, folders={"/sys/class/infiniband": [Entry("mlx5_0", "link")]}), "n01")
    assert (found.listed, {problem.kind for problem in found.problems}) == (False, {kind})


@pytest.mark.parametrize("name", ["resources", "resources-json"])
def test_a_saved_summary_counts_and_names_nobody(name: str) -> None:
    (told,) = open_site(str(TOOLS / f"{name}.txt")).hosts
    found = collect_consumers(told.source, "")
    assert (found.listed, found.owners, found.problems) == (False, (Owner("unknown"),), ())
    assert [(use.device, use.qp, use.cm_id, use.ctx, use.pd, use.mr, use.cq) for use in found.uses] == [
        ("rxe0", 1, 0, 0, 1, 0, 1), ("rxe1", 1, 0, 0, 1, 0, 1),
    ]  # fmt: skip


def test_without_a_device_the_tool_is_not_asked() -> None:
    found = collect_consumers(Answers({}, folders={"/sys/class/infiniband": ()}), "n01")
    assert (found.listed, [problem.kind for problem in found.problems]) == (False, ["no-rdma-device"])


def test_a_device_that_the_kernel_does_not_have_is_not_no_device() -> None:
    """ibsim's device is ibstat's alone: that /sys is empty says nothing of it."""
    (host,) = open_site(str(TOOLS.parents[1] / "fat-tree")).hosts
    found = collect_consumers(host.source, host.name)
    assert (found.listed, [problem.kind for problem in found.problems]) == (False, ["not-in-kernel"])
    assert "ibsim0 is not known" in found.problems[0].text


def test_what_is_not_recorded_says_how_to_have_it() -> None:
    for site in ("two-subnets", "tools/ibstat/one-device.txt"):
        for host in open_site(str(TOOLS.parents[1] / site)).hosts:
            found = collect_consumers(host.source, host.name)
            assert (found.listed, {problem.kind for problem in found.problems}) == (False, {"not-recorded"})
            assert all("record it with `ibkit capture`" in problem.text for problem in found.problems)


@pytest.mark.parametrize("name", ["connections-json", "link-json", "queue-pairs"])
def test_a_list_that_is_cut_lists_nothing_for_sure(tmp_path: Path, name: str) -> None:
    text = (TOOLS / f"{name}.txt").read_bytes()
    for size in (len(text) // 3, len(text) - 4):
        path = tmp_path / "cut.txt"
        path.write_bytes(text[:size])
        (told,) = open_site(str(path)).hosts
        found = collect_consumers(told.source, "")
        assert not found.listed
        assert "truncated" in {problem.kind for problem in found.problems}
        assert all(use.qp is None for use in found.uses)
