"""A running job on several hosts: both ends of queue pairs and sockets.

Rows are those of `rdma` 6.1 and `ss` 6.1 beside real jobs, with made-up numbers where a case needs them; and there are
real processes in namespaces.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from support.answers import Answers, said
from support.proc_tree import LIMITS

from ibkit.cli.main import main
from ibkit.collectors.job_samples import SOCKETS, watch_job
from ibkit.model.mpi import JobVerdict
from ibkit.sources.base import CommandAnswer, Entry
from ibkit.sources.recording import RecordedWatch, RecordingSource
from ibkit.sources.remote import hosts_of
from ibkit.sources.writer import Recorded, write_capture
from ibkit.transport.live.verdict import judge_watches

ROOT = Path(__file__).parents[2]
SUPPORT = ROOT / "tests/support"
BECOME_ROOT = [] if os.geteuid() == 0 else ["sudo", "-n"]
GSI = '{"ifindex":0,"ifname":"mlx5_0","port":1,"lqpn":1,"type":"GSI","state":"RTS","sq-psn":0,"comm":"ib_core"}'
IPOIB_QP = '{"ifindex":0,"ifname":"mlx5_0","port":1,"lqpn":2,"type":"UD","state":"RTS","comm":"ib_ipoib"}'
SYS = "/sys/class/infiniband/mlx5_0"
CONNECTIONS = (
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:C575 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 3345830 1 0 100 0 0 10 0\n"
    "   1: 0100007F:C576 0100007F:C575 01 00000000:00000000 00:00000000 00000000 0 0 3345831 1 0 20 4 0 10 -1\n"
    "   2: 0100620A:AD15 0200620A:0400 01 00000000:00000000 00:00000000 00000000 0 0 3345832 1 0 20 4 0 10 -1\n"
)


def qp(number: int, peer: int | None, received: int | None, sent: int | None, pid: int = 89, kind: str = "RC") -> str:
    remote = "" if peer is None else f'"rqpn":{peer},'
    numbers = "" if received is None else f'"rq-psn":{received},"sq-psn":{sent},'
    return (
        f'{{"ifindex":0,"ifname":"mlx5_0","port":1,"lqpn":{number},{remote}"type":"{kind}","state":"RTS",{numbers}'
        f'"pid":{pid},"comm":"a.out"}}'
    )


def socket(local: str, peer: str, moved: int, inode: int = 5) -> str:
    users = 'users:(("a.out",pid=89,fd=17))'
    return f"ESTAB 0 0 {local} {peer} {users} ino:{inode} sk:1\n\t cubic bytes_acked:{moved} bytes_received:{moved}\n"


class Seen:
    """A host with one rank, pid 89, at two moments."""

    def __init__(self, name: str, rank: int, size: int = 2, key: str = "77") -> None:
        self.name = name
        environment = f"OMPI_COMM_WORLD_RANK={rank}\0OMPI_COMM_WORLD_SIZE={size}\0PMIX_NAMESPACE={key}"
        self.files = {
            "/proc/89/environ": environment,
            "/proc/89/status": "Name:\ta.out\nPPid:\t1\nUid:\t7\t7\t7\t7\nCapEff:\t0000000000000000\n",
            "/proc/89/maps": "/usr/lib/libmpi.so.40\n/usr/lib/libucp.so.0",
            "/proc/89/limits": LIMITS.format(soft="unlimited", hard="unlimited"),
            f"{SYS}/node_guid": "0002:c903:0000:0001\n",
            f"{SYS}/ports/1/state": "4: ACTIVE\n",
            f"{SYS}/ports/1/phys_state": "5: LinkUp\n",
            f"{SYS}/ports/1/link_layer": "InfiniBand\n",
        }
        self.folders: dict[str, Any] = {
            "/proc": [Entry("89", "folder")],
            "/proc/89/ns": [Entry("net", "link", "net:[5]")],
            "/proc/self/ns": [Entry("net", "link", "net:[5]")],
            "/proc/89/root/dev/infiniband": [Entry("uverbs0", "device")],
            "/sys/class/infiniband": [Entry("mlx5_0", "link")],
            f"{SYS}/ports": [Entry("1", "folder")],
            f"{SYS}/device/net": [Entry("ib0", "folder")],
        }
        self.qps = ["", ""]
        self.sockets = ["", ""]
        self.packets: list[int] | None = None
        self.traffic = {"ib0": [0, 0], "eth0": [0, 0]}
        self.address = {"ib0": f"10.0.0.{rank + 1}", "eth0": f"192.168.0.{rank + 1}"}
        self.contexts = '[{"ifindex":0,"ifname":"mlx5_0","ctxn":0,"pid":89,"comm":"a.out"}]'

    def without_hca(self) -> Seen:
        self.folders["/sys/class/infiniband"] = []
        return self

    def with_queue_pairs(self, before: list[str], after: list[str]) -> Seen:
        self.qps = [",".join(before), ",".join(after)]
        return self

    def moment(self, number: int) -> Answers:
        addresses = [
            {
                "ifname": name,
                "link_type": "infiniband" if name == "ib0" else "ether",
                "addr_info": [{"local": address, "prefixlen": 24}],
            }
            for name, address in self.address.items()
        ]
        commands = {
            "rdma -j -d resource show qp": said(f"[{self.qps[number]}]"),
            "rdma -j -d resource show ctx": said(self.contexts),
            " ".join(SOCKETS): said(self.sockets[number]),
            "ip -j -d addr": said(json.dumps(addresses)),
        }
        rows = (
            f"{name}: {moved[number]} {moved[number] // 1000} 0 0 0 0 0 0 0 0" for name, moved in self.traffic.items()
        )
        files = {**self.files, "/proc/self/net/dev": "\n".join(rows) + "\n"}
        if self.packets:
            files |= {
                f"{SYS}/ports/1/counters/port_{way}_packets": str(self.packets[number]) for way in ("xmit", "rcv")
            }
        return Answers(commands, files=files, folders=self.folders)


def judged(*hosts: Seen) -> JobVerdict:
    return judge_watches(
        "pid:89", [watch_job(one.name, "pid:89", one.moment(0), one.moment(1), lambda _: 2.0) for one in hosts]
    )


def pairs(answer: JobVerdict) -> list[tuple[str, str, str, tuple[tuple[int, int], ...]]]:
    return [(pair.a, pair.b, pair.transport, pair.ranks) for pair in answer.layers[0].pairs]


def moving(host: Seen, number: int, peer: int, received: int, sent: int) -> Seen:
    """A queue pair that sends and receives 9,000 packets."""
    return host.with_queue_pairs(
        [GSI, qp(number, peer, received, sent)], [GSI, qp(number, peer, received + 9000, sent + 9000)]
    )


# -- queue pairs


def test_two_hosts_queue_pairs_are_joined_where_each_names_the_other() -> None:
    answer = judged(moving(Seen("n2", 1), 41, 40, 500, 600), moving(Seen("n1", 0), 40, 41, 600, 500))
    assert (answer.verdict, answer.status, answer.layers[0].hosts) == ("ib", "as-expected", ("n1", "n2"))
    assert pairs(answer) == [("n1", "n2", "ib", ((0, 1),))]
    assert {(one.host, one.file) for one in answer.evidence} == {
        ("n1", "n1: rdma -j -d resource show qp"),
        ("n2", "n2: rdma -j -d resource show qp"),
    }


def test_numbers_that_three_hosts_share_leave_the_pairs_open_and_not_the_verdict() -> None:
    """All allocate in the same order: each of the three has number 40 with a peer 40."""
    answer = judged(*(moving(Seen(f"n{rank}", rank, 3), 40, 40, 500, 500) for rank in range(3)))
    assert (answer.verdict, pairs(answer)) == ("ib", [])


def test_packet_numbers_tell_which_of_them_it_is() -> None:
    """n0 and n1 send each other what the other expects, n2 talks to somebody else."""
    answer = judged(
        moving(Seen("n0", 0, 3), 40, 40, 1_000_000, 5_000_000),
        moving(Seen("n1", 1, 3), 40, 40, 5_000_000, 1_000_000),
        moving(Seen("n2", 2, 3), 40, 40, 9_000_000, 7_000_000),
    )
    assert pairs(answer) == [("n0", "n1", "ib", ((0, 1),))]


def test_where_ranks_are_not_seen_numbers_alone_prove_no_pair() -> None:
    """A third host, which nobody looked at, may have the same ones."""
    two = [moving(Seen(f"n{rank}", rank, 3), 40 + rank, 41 - rank, 500, 500) for rank in range(2)]
    assert (judged(*two).verdict, pairs(judged(*two))) == ("ib", [])
    sharp = [
        moving(Seen("n0", 0, 3), 40, 41, 1_000_000, 5_000_000),
        moving(Seen("n1", 1, 3), 41, 40, 5_000_000, 1_000_000),
    ]
    assert pairs(judged(*sharp)) == [("n0", "n1", "ib", ((0, 1),))]


def test_packet_numbers_that_cannot_fit_part_what_numbers_join() -> None:
    answer = judged(moving(Seen("n1", 0), 40, 41, 3_000_000, 5_000_000), moving(Seen("n2", 1), 41, 40, 9_000_000, 500))
    assert (answer.verdict, pairs(answer)) == ("ib", [])


@pytest.mark.parametrize(("counted", "problems"), [([10, 18_010], 0), ([10, 20], 2)])
def test_port_counters_that_do_not_know_of_the_packets_are_told(counted: list[int], problems: int) -> None:
    hosts = moving(Seen("n1", 0), 40, 41, 600, 500), moving(Seen("n2", 1), 41, 40, 500, 600)
    for host in hosts:
        host.packets = counted
    answer = judged(*hosts)
    assert answer.verdict == "ib"
    assert len([one for one in answer.problems if "its port counters tell" in one.text]) == problems


def test_many_hosts_with_the_same_numbers_are_quick_and_open() -> None:
    started = time.process_time()
    answer = judged(*(moving(Seen(f"n{rank}", rank, 300), 40, 40, 500, 500) for rank in range(300)))
    assert (answer.verdict, pairs(answer)) == ("ib", [])
    assert time.process_time() - started < 20


def test_ranks_of_two_jobs_are_two_layers() -> None:
    answer = judged(moving(Seen("n1", 0, key="7"), 40, 41, 0, 0), moving(Seen("n2", 1, key="8"), 41, 40, 0, 0))
    assert [layer.hosts for layer in answer.layers] == [("n1",), ("n2",)]


def test_one_rank_on_two_hosts_is_a_contradiction() -> None:
    answer = judged(moving(Seen("n1", 0), 40, 41, 0, 0), moving(Seen("n2", 0), 41, 40, 0, 0))
    assert any(
        problem.kind == "contradiction" and "rank 0 is on 2 hosts" in problem.text for problem in answer.problems
    )


# -- ports whose driver shows no packet numbers


def quiet_numbers(packets: list[int], *others: str) -> Seen:
    host = Seen("n1", 0)
    host.packets = packets
    rows = [GSI, qp(40, 41, None, None), *others]
    return host.with_queue_pairs(rows, rows)


@pytest.mark.parametrize(
    ("host", "verdict"),
    [
        (quiet_numbers([1000, 51_000]), "ib"),
        (quiet_numbers([1000, 1_200]), "unknown"),  # management datagrams
        (quiet_numbers([51_000, 1000]), "unknown"),  # counters that were reset
        (quiet_numbers([1000, 51_000], qp(50, 51, None, None, pid=4000)), "unknown"),  # somebody else's process
        (quiet_numbers([1000, 51_000], IPOIB_QP.replace("ib_ipoib", "ko2iblnd")), "unknown"),  # Lustre
        (quiet_numbers([1000, 51_000], IPOIB_QP), "ib"),  # an IPoIB that moved nothing
        (quiet_numbers([1000, 51_000], qp(44, None, None, None, kind="UD")), "ib"),
    ],
)
def test_packets_of_a_port_that_nobody_else_uses(host: Seen, verdict: str) -> None:
    answer = judged(host)
    assert (answer.verdict, bool(answer.evidence)) == (verdict, verdict != "unknown")


def test_packets_of_ipoib_are_not_the_ranks() -> None:
    host = quiet_numbers([1000, 51_000], IPOIB_QP)
    host.traffic["ib0"] = [0, 99_500_000]  # 99,500 packets of the 100,000
    assert judged(host).verdict == "unknown"


def test_a_port_that_other_processes_have_open_proves_nothing() -> None:
    host = quiet_numbers([1000, 51_000])
    host.contexts = host.contexts.replace("]", ',{"ifindex":0,"ifname":"mlx5_0","ctxn":1,"pid":5000,"comm":"b"}]')
    assert judged(host).verdict == "unknown"


# -- sockets


def talking(interface: str, moved: int = 9_000_000, *, hca: bool = False) -> tuple[Seen, Seen]:
    hosts = Seen("n1", 0), Seen("n2", 1)
    for one, other in (hosts, hosts[::-1]):
        ends = f"{one.address[interface]}:50{one.name[1]}", f"{other.address[interface]}:50{other.name[1]}"
        one.sockets = [socket(*ends, 1000), socket(*ends, 1000 + moved)]
        one.traffic[interface] = [10_000, 10_000 + 3 * moved]
        one.contexts = "[]"
        one.folders["/proc/89/fd"] = []
        one.qps = [GSI, GSI]
        if not hca:
            one.without_hca()
    return hosts


@pytest.mark.parametrize(("interface", "verdict"), [("ib0", "ipoib"), ("eth0", "tcp")])
def test_sockets_whose_both_ends_are_ranks_are_tcp(interface: str, verdict: str) -> None:
    answer = judged(*talking(interface, hca=True))
    assert (answer.verdict, answer.status) == (verdict, "fallback")
    assert pairs(answer) == [("n1", "n2", verdict, ((0, 1),))]
    assert len(answer.evidence) == 2
    assert f"over {interface}" in answer.evidence[0].text


@pytest.mark.parametrize(
    ("interface", "before", "library", "is_open", "verdict"),
    [
        ("eth0", 20 << 20, "", False, "tcp"),
        ("eth0", 4 << 20, "", False, "unknown"),  # acknowledged and received: 8 MiB, which may be control
        ("ib0", 20 << 20, "", False, "unknown"),  # whether IPoIB carried it no counter tells any more
        ("eth0", 20 << 20, "", True, "unknown"),
        ("eth0", 20 << 20, "/usr/lib/libnccl.so.2", False, "unknown"),
    ],
)
def test_sockets_that_stand_still_have_moved_what_they_count(
    interface: str, before: int, library: str, is_open: bool, verdict: str
) -> None:
    hosts = talking(interface, 0, hca=True)
    for one in hosts:
        one.sockets = [text.replace(":1000", f":{before}") for text in one.sockets]
        one.files["/proc/89/maps"] += f"\n{library}"
        if is_open:
            one.contexts = '[{"ifindex":0,"ifname":"mlx5_0","ctxn":0,"pid":89,"comm":"a.out"}]'
    answer = judged(*hosts)
    assert answer.verdict == verdict
    if verdict == "tcp":
        assert f"{2 * before} bytes until the window began" in answer.evidence[0].text
        assert pairs(answer) == [("n1", "n2", "tcp", ((0, 1),))]
    assert answer.problems == ()
    hosts[1].without_hca()
    hosts[1].files["/proc/89/environ"] = hosts[1].files["/proc/89/environ"].replace("SIZE=2", "SIZE=3")
    assert judged(*hosts).verdict == "unknown"  # a rank is not seen


def test_without_any_hca_tcp_is_as_expected() -> None:
    assert judged(*talking("eth0")).status == "as-expected"


def test_an_interface_whose_counters_stand_still_did_not_carry_it() -> None:
    hosts = talking("ib0", hca=True)
    for host in hosts:
        host.traffic["ib0"] = [10_000, 10_000]
    answer = judged(*hosts)
    assert answer.verdict == "tcp"
    assert any("went another way" in problem.text for problem in answer.problems)


def test_a_socket_that_was_closed_and_made_again_is_another_one() -> None:
    hosts = talking("eth0")
    for host in hosts:
        host.sockets[1] = host.sockets[1].replace("ino:5", "ino:6")
    assert judged(*hosts).verdict == "unknown"


def test_addresses_that_several_hosts_have_join_nothing() -> None:
    """172.17.0.1 is docker's bridge everywhere, and 127.0.0.1 is each host itself."""
    for address in ("172.17.0.1", "127.0.0.1"):
        hosts = talking("eth0")
        for host, other in (hosts, hosts[::-1]):
            host.address["docker0"] = address
            ends = f"{address}:50{host.name[1]}", f"{address}:50{other.name[1]}"
            host.sockets = [socket(*ends, 1000), socket(*ends, 9_000_000)]
        assert (judged(*hosts).verdict, pairs(judged(*hosts))) == ("unknown", [])


def test_ipv4_in_ipv6_is_the_same_address() -> None:
    hosts = talking("eth0")
    hosts[0].sockets = [text.replace("192.168.0.1:", "[::ffff:192.168.0.1]:") for text in hosts[0].sockets]
    hosts[0].sockets = [text.replace("192.168.0.2:", "[::ffff:192.168.0.2]:") for text in hosts[0].sockets]
    assert len(pairs(judged(*hosts))) == 1


# -- reasons


def test_a_limit_that_no_queue_pair_fits_in_is_the_reason() -> None:
    hosts = talking("eth0", hca=True)
    hosts[1].files["/proc/89/limits"] = LIMITS.format(soft="65536", hard="65536")
    (reason,) = judged(*hosts).layers[0].reasons
    assert reason.id == "memlock"
    hosts[1].files["/proc/89/status"] += "CapEff:\t000001ffffffffff\n"
    hosts[1].files["/proc/89/status"] = hosts[1].files["/proc/89/status"].replace("CapEff:\t0000000000000000\n", "")
    assert judged(*hosts).layers[0].reasons == ()  # CAP_IPC_LOCK knows no limit


def test_a_container_without_device_nodes_is_the_reason() -> None:
    hosts = talking("eth0", hca=True)
    hosts[0].folders["/proc/89/root/dev/infiniband"] = "ENOENT"
    (reason,) = judged(*hosts).layers[0].reasons
    assert reason.id == "nodev"
    hosts[0].folders["/proc/89/root/dev/infiniband"] = "EACCES"
    assert judged(*hosts).layers[0].reasons == ()


@pytest.mark.parametrize(
    ("modules", "ids"),
    [
        (("libuct_cma.so.0.0.0",), ["nolib"]),
        (("libuct_cma.so.0.0.0", "libuct_ib.so.0.0.0"), []),
        (("libuct_cma.so.0.0.0", "libuct_ib_mlx5.so.0.0.0"), []),
        ((), []),  # UCX is linked, and nobody has started it
    ],
)
def test_an_ucx_without_its_module_for_verbs_is_the_reason(modules: tuple[str, ...], ids: list[str]) -> None:
    """RHEL has it in a package of its own, ucx-ib."""
    hosts = talking("eth0", hca=True)
    hosts[0].files["/proc/89/maps"] += "".join(f"\n/usr/lib64/ucx/{module}" for module in modules)
    answer = judged(*hosts)
    assert (answer.verdict, answer.status) == ("tcp", "fallback")
    assert [reason.id for reason in answer.layers[0].reasons] == ids


@pytest.mark.parametrize(
    ("folder", "more", "library", "variable", "ids"),
    [
        ("openmpi", (), "", "", ["nobuild"]),
        ("openmpi3", ("pml_cm", "btl_vader"), "", "", ["nobuild"]),
        ("openmpi", ("pml_ucx",), "", "", []),
        ("openmpi", ("mtl_ofi",), "", "", []),
        ("openmpi", ("btl_new",), "", "", []),
        ("openmpi", (), "/usr/lib64/libucp.so.0", "", []),  # pml ucx is built into libmpi
        ("openmpi", (), "", "OMPI_MCA_mca_base_component_path=/opt/more", []),
        ("lib", (), "", "", []),  # Open MPI 5: all modules are in its libraries
    ],
)
def test_an_open_mpi_without_any_module_for_rdma_is_the_reason(
    folder: str, more: tuple[str, ...], library: str, variable: str, ids: list[str]
) -> None:
    """The names are those of Open MPI 4.1's files."""
    hosts = talking("eth0", hca=True)
    one = hosts[0]
    one.files["/proc/89/environ"] += f"\0HOME=/home/u\0{variable}"
    one.files["/proc/89/maps"] = f"/opt/mpi/lib/libmpi.so.40.30.4\n/opt/mpi/lib/libopen-pal.so.40.30.2\n{library}"
    names = ("btl_self", "btl_tcp", "pml_ob1", *more)
    one.folders[f"/proc/89/root/opt/mpi/lib/{folder}"] = [Entry(f"mca_{name}.so", "file") for name in names]
    one.folders["/proc/89/root/home/u/.openmpi/components"] = "ENOENT"
    answer = judged(*hosts)
    assert (answer.verdict, answer.status) == ("tcp", "fallback")
    assert [reason.id for reason in answer.layers[0].reasons] == ids
    one.folders["/proc/89/root/home/u/.openmpi/components"] = "EACCES"  # a user's own modules, perhaps
    assert judged(*hosts).layers[0].reasons == ()


def test_ports_that_are_down_are_the_reason() -> None:
    hosts = talking("eth0", hca=True)
    hosts[0].files[f"{SYS}/ports/1/state"] = "1: DOWN\n"
    (reason,) = judged(*hosts).layers[0].reasons
    assert reason.id == "noport"


@pytest.mark.parametrize(
    ("devices", "ids"),
    [
        ("mlx5_1:1", ["wrongdev"]),
        ("mlx5_0:2,eth0", ["wrongdev"]),
        ("mlx5_1:1,mlx5_0:1", []),  # one of them is there
        ("mlx5_1:1,mlx5_0", []),
        ("mlx5_1:1,all", []),
        ("^mlx5_1:1", []),
        ("mlx5_[1-3]:1", []),
        ("eth0:1", []),  # an interface, and its alias
    ],
)
def test_a_device_that_the_host_does_not_have_is_the_reason(devices: str, ids: list[str]) -> None:
    hosts = talking("eth0", hca=True)
    hosts[0].files["/proc/89/environ"] += f"\0UCX_NET_DEVICES={devices}"
    answer = judged(*hosts)
    assert (answer.verdict, answer.status) == ("tcp", "fallback")
    assert [reason.id for reason in answer.layers[0].reasons] == ids
    hosts[0].files["/proc/89/maps"] = "/usr/lib/libmpi.so.40"  # no UCX, whose setting it is
    assert judged(*hosts).layers[0].reasons == ()


def test_ranks_that_may_lock_no_memory_and_have_the_device_open_send_nothing() -> None:
    """UCX 1.13 asks for ever for memory for its first messages; its queue pair for datagrams is in RTS by then."""
    host = Seen("n1", 0).with_queue_pairs([GSI, qp(118, None, None, None, kind="UD")], [GSI])
    host.files["/proc/89/limits"] = LIMITS.format(soft="65536", hard="65536")
    answer = judged(host)
    (layer,) = answer.layers
    assert (layer.verdict, layer.status, [reason.id for reason in layer.reasons]) == (
        "unknown", "undecided", ["memlock"],
    )  # fmt: skip
    assert "65536 bytes" in answer.evidence[layer.reasons[0].evidence[0] - 1].text
    connected = qp(9, 8, 0, 0)
    assert judged(host.with_queue_pairs([GSI, connected], [GSI, connected])).layers[0].reasons == ()  # it could
    host.contexts = "[]"
    assert judged(host.with_queue_pairs([GSI], [GSI])).layers[0].reasons == ()  # it has not tried to


def test_a_setting_is_named_before_all_else() -> None:
    hosts = talking("eth0", hca=True)
    hosts[0].files["/proc/89/environ"] += "\0UCX_TLS=tcp"
    hosts[1].folders["/proc/89/root/dev/infiniband"] = "ENOENT"
    answer = judged(*hosts)
    assert (answer.status, [reason.id for reason in answer.layers[0].reasons]) == ("by-configuration", ["wrongtls"])


def test_a_rank_in_a_containers_network_is_said_and_not_guessed() -> None:
    host = Seen("n1", 0, 2)
    host.folders["/proc/89/ns"] = [Entry("net", "link", "net:[6]")]
    moments = [host.without_hca().moment(number) for number in (0, 1)]
    for number, moment in enumerate(moments):
        moment._files |= {
            "/proc/89/net/dev": f"lo: 5 1 0 0 0 0 0 0 5 1\neth0: {900 + 5000 * number} 1 0 0 0 0 0 0 900 1\n",
            "/proc/89/net/tcp": CONNECTIONS,
        }
    answer = judge_watches("pid:89", [watch_job("n1", "pid:89", *moments, lambda _: 2.0)])
    assert answer.verdict == "unknown"
    assert "eth0 5000 bytes; it has TCP connections with 10.98.0.2," in (answer.layers[0].next_step or "")
    assert "nsenter --net --target 89 ibkit" in (answer.next_step or "")


def test_a_helper_in_a_container_of_its_own_is_no_reason() -> None:
    """What counts is what the process sees that talks."""
    hosts = talking("eth0", hca=True)
    for host in hosts:
        host.files |= {
            f"/proc/95/{name}": host.files[f"/proc/89/{name}"] for name in ("environ", "status", "maps", "limits")
        }
        host.folders |= {
            "/proc": [Entry("89", "folder"), Entry("95", "folder")],
            "/proc/95/ns": host.folders["/proc/89/ns"],
            "/proc/95/fd": [],
            "/proc/95/root/dev/infiniband": "ENOENT",
        }
    answer = judged(*hosts)
    assert (answer.verdict, answer.layers[0].reasons) == ("tcp", ())


def test_a_rank_alone_has_nobody_to_send_to() -> None:
    assert "the job has one rank" in (judged(Seen("n1", 0, 1).without_hca()).layers[0].next_step or "")


@pytest.mark.parametrize("fabric", ["hfi1_0", "cxi0", "kgni0", "bxi0"])
def test_a_fabric_that_shows_no_traffic_leaves_tcp_open(fabric: str) -> None:
    hosts = talking("eth0")
    hosts[0].folders["/dev"] = [Entry(fabric, "device")]
    assert judged(*hosts).verdict == "unknown"


@pytest.mark.parametrize(("address", "jobs"), [("localhost", 2), ("127.0.0.1", 2), ("n1", 1)])
def test_jobs_that_meet_at_their_own_hosts_loopback_are_several(address: str, jobs: int) -> None:
    hosts = talking("eth0")
    for rank, host in enumerate(hosts):
        variables = ("TORCHELASTIC_RUN_ID=none", f"MASTER_ADDR={address}", "MASTER_PORT=29500", f"RANK={rank}")
        host.files["/proc/89/environ"] = "\0".join((*variables, "WORLD_SIZE=2"))
    assert len(judged(*hosts).layers) == jobs


# -- captures


def test_captures_of_both_hosts_replay_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    watches = []
    for host in talking("ib0", hca=True):
        first, later = RecordingSource(host.moment(0)), RecordingSource(host.moment(1))
        watches.append(watch_job(host.name, "pid:89", first, later, lambda _: 2.0))
        first.watched = RecordedWatch("pid:89", 2.0, later)
        nothing = RecordingSource(Answers({}))
        recorded = Recorded(host.name, "2026-02-03T04:05:06+01:00", ((host.name, first),), nothing)
        write_capture(str(tmp_path / f"{host.name}.tar.gz"), recorded)
    from ibkit.export.mpi import mpi_document

    live = mpi_document(judge_watches("pid:89", watches))
    assert main(["--from", str(tmp_path), "check-mpi-transport", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == live
    assert live["verdict"] == "ipoib"
    assert main(["--from", str(tmp_path), "check-mpi-transport", "pid:90"]) == 2
    assert "it holds pid:89" in capsys.readouterr().err


def test_a_capture_without_a_window_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "manifest.json").write_text('{"format": "ibkit-capture/1", "hosts": [{"name": "n", "answers": []}]}')
    assert main(["--from", str(tmp_path), "check-mpi-transport", "pid:1"]) == 2
    assert "ibkit capture --watch" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--watch", "x"], "pid:N, slurm:JOBID or running"),
        (["--watch", "pid:1", "--window", "0"], "--window: seconds"),
        (["--watch", "pid:1", "--job", __file__], "goes neither with"),
        (["--watch", "pid:4000000000"], "no such process"),
    ],
)
def test_what_cannot_be_watched_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    assert main(["capture", "-o", str(tmp_path / "c"), *words]) == 2
    assert text in capsys.readouterr().err


# -- hosts


def agent(folder: Path, script: str) -> str:
    path = folder / "agent"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("echo 'Permission denied (publickey).' >&2; exit 255", "Permission denied"),
        ("exit 0", "nothing was said"),
        ("head -c 100000 /dev/zero", "is no capture"),
        ("printf '\\033[31mno\\n' >&2; exit 7", "exit status 7"),
        ("kill -9 $$", "exit status -9"),
    ],
)
def test_a_host_that_answers_badly_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], script: str, text: str
) -> None:
    words = ["slurm:12", "--hosts", "far[1-2]", "--rsh", agent(tmp_path, script), "--window", "0.1"]
    assert main(["check-mpi-transport", *words]) == 2
    err = capsys.readouterr().err
    assert text in err
    assert "\033" not in err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--hosts", "n[1-", "running"], "--hosts: "),
        (["--hosts=-oProxyCommand=x", "running"], "no set of hosts"),
        (["--hosts", "job", "running"], "only Slurm tells"),
        (["--hosts", "far1", __file__], "--hosts is for running jobs"),
        (["--hosts", "far1", "--rsh", "no-such-shell-here", "running"], "is not installed"),
        (["--hosts", "far1", "--rsh", "'", "running"], "--rsh: "),
    ],
)
def test_hosts_that_cannot_be_meant_are_refused(
    capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    assert main(["check-mpi-transport", *words]) == 2
    assert text in capsys.readouterr().err


def test_the_hosts_of_an_array_are_those_of_all_its_tasks() -> None:
    """A line for each task; of one that is pending it is empty."""
    told = CommandAnswer((), b"\nn[01-02]\nn[02-03]\n", exit_status=0)
    here = Answers({"squeue --noheader --jobs 12 --format %N": told})
    assert hosts_of(here, "job", "slurm:12.0") == ("n01", "n02", "n03")


def test_hosts_that_all_fail_are_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["check-mpi-transport", "slurm:7", "--hosts", "n1,n2", "--window", "0.1", "--rsh", "false"]
    assert main(words) == 2
    err = capsys.readouterr().err
    assert [err.count(f"{host}: exit status 1") for host in ("n1", "n2")] == [1, 1]
    assert "slurm:7: none of 2 hosts gave a look at it" in err


@pytest.mark.needs("iproute")
def test_real_ranks_on_two_hosts_are_gathered(tmp_path: Path) -> None:
    """Two ranks with a connection between two hosts' namespaces; a third host does not answer."""
    step = "SLURM_JOB_ID=12 SLURM_STEP_ID=0 SLURM_NTASKS=2"
    program = f"{sys.executable} {SUPPORT}/tcp_rank.py"
    ranks = "\n".join(
        f'timeout 100 {tmp_path}/agent node{name} "{step} SLURM_PROCID={rank} {program} {rank} 10.99.0.1" '
        "</dev/null >/dev/null 2>&1 &"
        for rank, name in enumerate("ab")
    )
    check = f"{sys.executable} -m ibkit check-mpi-transport slurm:12 --json --window 1"
    gather = f"{check} --hosts nodea,nodeb,nodec --rsh {tmp_path}/agent"
    (tmp_path / "ibkit").write_text(f'#!/bin/sh\ncd {ROOT} && exec {sys.executable} -m ibkit "$@"\n')
    (tmp_path / "ibkit").chmod(0o755)
    wait = "for i in $(seq 30); do sleep 1; " + gather + f" > {tmp_path}/out; [ $? = 0 ] && break; done"
    (tmp_path / "run").write_text(f"cd {ROOT}\nexport PATH={tmp_path}:$PATH\n{ranks}\n{wait}\ncat {tmp_path}/out\n")
    done = subprocess.run(
        [*BECOME_ROOT, "sh", SUPPORT / "separate_hosts.sh", tmp_path, "sh", tmp_path / "run"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    if not done.stdout and not (tmp_path / "agent").exists():
        warnings.warn(f"no namespaces here: {done.stderr[-200:]}", stacklevel=1)
        return
    document = json.loads(done.stdout)
    assert (document["verdict"], document["layers"][0]["hosts"]) == ("tcp", ["nodea", "nodeb"]), done.stderr
    (pair,) = document["layers"][0]["pairs"]
    assert (pair["ranks"], len(pair["evidence"])) == ([[0, 1]], 2)
    assert "over ve0" in document["evidence"][0]["text"]
    assert [problem["kind"] for problem in document["problems"]] == ["host-failed"]
    assert "nodec" in document["problems"][0]["text"]
