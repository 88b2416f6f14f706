"""Running jobs: two samples of a host. The rows are those of the recorded runs in fixtures/jobs-recorded, beside which
the kernel and `ss` were asked: two ranks, 89 and 90, over rxe and over TCP.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.answers import Answers
from support.proc_tree import rank_files

from ibkit.cli.main import main
from ibkit.collectors.job_samples import SOCKETS, watch_job
from ibkit.collectors.ranks import ranks_of_process, ranks_of_slurm_job
from ibkit.errors import UnreadableInput
from ibkit.export.mpi_text import lines
from ibkit.model.mpi import JobVerdict
from ibkit.sources.base import CommandAnswer, Entry
from ibkit.transport.live.verdict import judge_watches

ROOT = Path(__file__).parents[2]
QP = "rdma -j -d resource show qp"
ROW = (
    '{{"ifindex":{0},"ifname":"rxe{0}","port":1,"lqpn":{1},"rqpn":{1},"type":"RC","state":"RTS","rq-psn":{2},"sq-psn":{3},'
    '"path-mig-state":"MIGRATED","pdn":2,"pid":{4},"comm":"pp.ompi"}}'
)
IDLE = ROW.format(0, 21, 0, 0, 89), ROW.format(1, 21, 0, 0, 90)
SOCKET = 'ESTAB 0 0 {} {} users:(("pp.ompi",pid={},fd=17))\n\t cubic bytes_acked:{} bytes_received:{}\n'
CONTROL = SOCKET.format("127.0.0.1:40608", "127.0.0.1:35341", 89, 621, 371) + SOCKET.format(
    "127.0.0.1:40614", "127.0.0.1:35341", 90, 579, 371
)
ETHERNET, IPOIB = "ether", "infiniband"


def rows(psn: int) -> str:
    """The queue pairs of the run over two devices; the second of each rank carries the data."""
    moving = ROW.format(0, 22, psn, psn + 6, 89), ROW.format(1, 22, psn + 6, psn, 90)
    return "[" + ",".join((*IDLE, *moving)) + "]"


def between(moved: int) -> str:
    """The two ends of the ranks' own connection."""
    ends = "10.77.0.1:55837", "10.77.0.1:1024"
    return SOCKET.format(*ends, 89, moved, moved) + SOCKET.format(*ends[::-1], 90, moved, moved)


def source(
    qps: str = "[]", sockets: str = CONTROL, *, size: int = 2, link: str = ETHERNET, more: str = "", segments: str = ""
) -> Answers:
    files = {**rank_files(89), **rank_files(90)}
    for pid, rank in ((89, 0), (90, 1)):
        files[f"/proc/{pid}/environ"] = "\0".join(
            (f"OMPI_COMM_WORLD_RANK={rank}", f"OMPI_COMM_WORLD_SIZE={size}", "PMIX_NAMESPACE=1504509953", more)
        )
        files[f"/proc/{pid}/maps"] += f"\n{segments}"
    files["/proc/91/status"] = "Name:\tother\nTgid:\t91\nPPid:\t1\n"
    files["/proc/91/environ"] = "OMPI_COMM_WORLD_RANK=0\0PMIX_NAMESPACE=7"
    address = f'[{{"ifname":"x0","link_type":"{link}","addr_info":[{{"local":"10.77.0.1","prefixlen":24}}]}}]'
    commands = {
        QP: CommandAnswer((), qps.encode(), exit_status=0),
        " ".join(SOCKETS): CommandAnswer((), sockets.encode(), exit_status=0),
        "ip -j -d addr": CommandAnswer((), address.encode(), exit_status=0),
    }
    folders = {
        "/sys/class/infiniband": [Entry("rxe0", "link"), Entry("rxe1", "link")],
        "/proc": [Entry(name, "folder") for name in ("89", "90", "91", "self")],
        **{f"/proc/{pid}/ns": [Entry("net", "link", "net:[4026531833]")] for pid in ("89", "90", "self")},
        **{f"/proc/{pid}/fd": [] for pid in ("89", "90")},
    }
    return Answers(commands, files=files, folders=folders)


def judged(before: Answers, after: Answers) -> JobVerdict:
    return judge_watches("pid:89", [watch_job("nodea", "pid:89", before, after, lambda _: 2.0)])


def test_the_ranks_of_one_run_are_found_and_no_others() -> None:
    (found,) = ranks_of_process(source(), 89)
    assert (dict(found.ranks), found.size) == ({89: 0, 90: 1}, 2)


def test_moving_packet_numbers_are_rdma() -> None:
    answer = judged(source(rows(18_346)), source(rows(27_680)))
    assert (answer.verdict, answer.status) == ("rdma", "as-expected")
    assert {(one.evidence_class, one.rank, one.transport) for one in answer.evidence} == {
        ("process", 0, "rdma"),
        ("process", 1, "rdma"),
    }
    assert "rxe0/1 qpn 22 peer qpn 22 RC RTS pid 89: 9334 packets sent" in answer.evidence[0].text


def test_packet_numbers_wrap_at_24_bits() -> None:
    assert judged(source(rows((1 << 24) - 100)), source(rows(900))).verdict == "rdma"


def test_queue_pairs_that_stand_still_prove_nothing() -> None:
    """The run whose data went through shared memory had queue pairs in RTS, too."""
    answer = judged(source(rows(18_346)), source(rows(18_350)))
    assert (answer.verdict, answer.status) == ("unknown", "undecided")
    assert answer.next_step is not None
    assert "none moved in the window" in answer.next_step


def test_bytes_between_ranks_are_tcp_and_those_to_a_launcher_are_not() -> None:
    answer = judged(source(sockets=CONTROL + between(0)), source(sockets=CONTROL + between(980_131)))
    assert (answer.verdict, answer.status, len(answer.evidence)) == ("tcp", "fallback", 2)
    loud = CONTROL.replace("621", "9000621")
    assert judged(source(), source(sockets=loud)).verdict == "unknown"


def test_the_owners_of_sockets_come_from_the_ranks_open_files() -> None:
    """As `ss` prints them without -p; the second process has the first one's socket, too, as a child has."""

    def moment(moved: int) -> Answers:
        text = re.sub(r'users:\(\("pp.ompi",pid=(\d+),fd=17\)\)', r"ino:70\1 sk:1 cgroup:/ <->", between(moved))
        found = source(sockets=CONTROL + text)
        for pid, inodes in ((89, (7089,)), (90, (7090, 7089, 7090))):
            found._folders[f"/proc/{pid}/task/{pid}/fd"] = [
                Entry(f"{n}", "link", f"socket:[{inode}]") for n, inode in enumerate(inodes)
            ]
        return found

    watch = watch_job("nodea", "pid:89", moment(1000), moment(9_000_000), lambda _: 2.0)
    own = {one.inode: one.pids for one in watch.before.sockets or () if one.inode}
    assert own == {7089: (89, 90), 7090: (90,)}
    printed = judged(source(sockets=CONTROL + between(1000)), source(sockets=CONTROL + between(9_000_000)))
    assert judge_watches("pid:89", [watch]).verdict == printed.verdict == "tcp"


def test_within_a_host_sockets_that_stand_still_are_its_data_path_where_no_memory_is_shared() -> None:
    moved = between(20 << 20)
    assert judged(source(sockets=moved), source(sockets=moved)).verdict == "tcp"
    shared = source(sockets=moved, segments="00:1b 7 /dev/shm/vader_segment.nodea.1")
    assert judged(shared, shared).verdict == "unknown"


def test_a_barrier_is_no_data() -> None:
    assert judged(source(sockets=between(0)), source(sockets=between(2000))).verdict == "unknown"


def test_within_a_host_tcp_never_leaves_by_the_interface_that_has_its_address() -> None:
    answer = judged(source(sockets=between(0), link=IPOIB), source(sockets=between(980_131), link=IPOIB))
    assert answer.verdict == "tcp"


def test_a_setting_that_leaves_tcp_is_the_reason() -> None:
    more = "OMPI_MCA_btl=tcp,self"
    answer = judged(source(sockets=between(0), more=more), source(sockets=between(980_131), more=more))
    assert (answer.status, [reason.id for reason in answer.layers[0].reasons]) == ("by-configuration", ["wrongtls"])


@pytest.mark.parametrize(
    ("library", "more", "status"),
    [
        ("/usr/lib/x86_64-linux-gnu/libmpi.so.40", "", "by-configuration"),
        ("/usr/lib/x86_64-linux-gnu/libmpi.so.40", "OMPI_MCA_btl=self,tcp,vader,openib", "fallback"),
        ("/opt/other/lib/libmpi.so.40", "", "fallback"),
    ],
)
def test_a_parameter_file_that_leaves_tcp_is_the_reason(library: str, more: str, status: str) -> None:
    moments = source(sockets=between(0), more=more), source(sockets=between(980_131), more=more)
    for one in moments:
        files = {f"/proc/{pid}/maps": library for pid in (89, 90)}
        files["/proc/89/root/etc/openmpi/openmpi-mca-params.conf"] = "# site\nbtl = tcp,self\n"
        one._files = {**one._files, **files}
    answer = judged(*moments)
    assert (answer.verdict, answer.status) == ("tcp", status)
    cited = [(one.file, one.line, one.text) for one in answer.evidence if one.evidence_class == "configuration"]
    if status == "by-configuration":
        assert cited == [("/etc/openmpi/openmpi-mca-params.conf", 2, "btl = tcp,self")]
        assert answer.layers[0].reasons[0].fix.startswith("remove btl=tcp,self if RDMA is wanted")


UCX_TOO = "/usr/lib/libmpi.so.40\n/usr/lib/libucp.so.0"


@pytest.mark.parametrize(
    ("settings", "library", "status"),
    [
        ("OMPI_MCA_btl=^openib", "/usr/lib/libmpi.so.40", "by-configuration"),  # openib was all that it had
        ("OMPI_MCA_btl=^openib", UCX_TOO, "fallback"),  # UCX was left to it
        ("OMPI_MCA_btl=^openib\0OMPI_MCA_pml=^ucx", UCX_TOO, "by-configuration"),
        ("OMPI_MCA_btl=^openib\0OMPI_MCA_pml=ob1", UCX_TOO, "by-configuration"),
        ("OMPI_MCA_btl=^openib\0OMPI_MCA_pml=ucx", UCX_TOO, "fallback"),
        ("OMPI_MCA_btl=tcp,self\0OMPI_MCA_pml=ucx", UCX_TOO, "fallback"),
        ("OMPI_MCA_btl=tcp,self\0OMPI_MCA_pml=ucx\0UCX_TLS=tcp", UCX_TOO, "by-configuration"),
        ("OMPI_MCA_pml=ucx\0UCX_TLS=tcp", "/usr/lib/libmpi.so.40", "fallback"),
        ("OMPI_MCA_btl=self,vader,openib\0OMPI_MCA_pml=ob1", UCX_TOO, "fallback"),
    ],
)
def test_which_settings_of_open_mpi_leave_nothing_but_tcp(settings: str, library: str, status: str) -> None:
    """A site that strikes out openib, as many do, has not asked for TCP where UCX is there."""
    moments = source(sockets=between(0), more=settings), source(sockets=between(980_131), more=settings)
    for one in moments:
        one._files = {**one._files, **{f"/proc/{pid}/maps": library for pid in (89, 90)}}
    answer = judged(*moments)
    assert (answer.verdict, answer.status) == ("tcp", status)


def test_a_setting_without_shared_memory_is_why_one_host_uses_tcp() -> None:
    more = "OMPI_MCA_btl=^vader"
    answer = judged(source(sockets=between(0), more=more), source(sockets=between(980_131), more=more))
    assert (answer.verdict, answer.status) == ("tcp", "by-configuration")


def test_tcp_to_another_host_may_be_a_file_server() -> None:
    def remote(moved: int) -> str:
        return SOCKET.format("10.77.0.1:900", "10.77.0.9:2049", 89, moved, 0)

    answer = judged(source(sockets=remote(0), size=4), source(sockets=remote(9_000_000), size=4))
    assert answer.verdict == "unknown"
    assert answer.next_step is not None
    assert "10.77.0.9:2049" in answer.next_step


def test_tcp_on_one_of_several_hosts_says_nothing_of_the_others() -> None:
    answer = judged(source(sockets=between(0), size=4), source(sockets=between(980_131), size=4))
    assert (answer.verdict, answer.layers[0].pairs[0].transport) == ("unknown", "tcp")


def test_sockets_that_cannot_be_listed_are_a_problem() -> None:
    here = Answers({}, files={"/proc/89/status": "Name:\ta\nTgid:\t89\n"})
    answer = judged(here, here)
    assert answer.verdict == "unknown"
    assert any("TCP sockets cannot be listed" in problem.text for problem in answer.problems)


SEGMENTS = "00:1b 7 /dev/shm/vader_segment.nodea.0.59ad0001.0\n00:1b 8 /dev/shm/vader_segment.nodea.0.59ad0001.1"


@pytest.mark.parametrize(
    ("mine", "theirs", "device", "more", "verdict"),
    [
        (SEGMENTS, SEGMENTS, "null", "", "shm"),
        ("00:1b 9 /dev/shm/sm_segment.a.0.1.0", "00:1b 9 /dev/shm/sm_segment.a.0.1.0", "null", "", "shm"),
        (SEGMENTS, SEGMENTS.replace("00:1b", "00:2c"), "null", "", "unknown"),  # another container's /dev/shm
        (SEGMENTS, "", "null", "", "unknown"),
        ("00:01 5 /SYSV00000000 (deleted)", "00:01 5 /SYSV00000000 (deleted)", "null", "", "unknown"),  # no UCX
        (SEGMENTS, SEGMENTS, "cxi0", "", "unknown"),
        (SEGMENTS, SEGMENTS, "null", "UCX_TLS=tcp", "unknown"),
        (SEGMENTS, SEGMENTS, "null", "UCX_TLS=^sm", "unknown"),
        (SEGMENTS, SEGMENTS, "null", "UCX_TLS=self,cma", "unknown"),
        (SEGMENTS, SEGMENTS, "null", "UCX_TLS=sm,self", "shm"),
        (SEGMENTS, SEGMENTS, "null", "UCX_TLS=^tcp", "shm"),
        (SEGMENTS, SEGMENTS, "null", "OMPI_MCA_btl=tcp,self", "unknown"),
    ],
)
def test_shared_memory_is_what_is_left(mine: str, theirs: str, device: str, more: str, verdict: str) -> None:
    now = source(more=more)
    now._files = {
        **now._files,
        "/proc/89/maps": f"/usr/lib/libmpi.so.40\n{mine}",
        "/proc/90/maps": f"/usr/lib/libmpi.so.40\n{theirs}",
    }
    now._folders = {**now._folders, "/dev": [Entry(device, "device")]}
    answer = judged(now, now)
    assert answer.verdict == verdict
    pairs = answer.layers[0].pairs
    assert [pair.evidence for pair in pairs] == ([(1,)] if verdict == "shm" else [])
    assert not pairs or answer.evidence[0].text.split()[0] in {line.split()[-1] for line in mine.split("\n")}


def test_a_variable_is_cited_by_its_line() -> None:
    """As ``tr '\\0' '\\n' </proc/89/environ | grep -n`` counts them; a shell's function has several lines."""
    moments = source(sockets=between(0)), source(sockets=between(980_131))
    for one in moments:
        text = (
            "PATH=/bin\0BASH_FUNC_module%%=() {\n eval x\n}\0OMPI_MCA_btl=tcp,self\0" + one._files["/proc/89/environ"]
        )
        one._files = {**one._files, "/proc/89/environ": text}
    cited = [item for item in judged(*moments).evidence if item.evidence_class == "configuration"]
    assert [(item.file, item.line, item.text) for item in cited] == [("/proc/89/environ", 5, "OMPI_MCA_btl=tcp,self")]


@pytest.mark.parametrize(
    ("mine", "theirs", "verdict"),
    [
        (SEGMENTS, SEGMENTS, "unknown"),
        (SEGMENTS.split("\n")[0], SEGMENTS.split("\n")[1], "tcp"),  # pml ucx: each has its own alone
        ("", "", "tcp"),
        ("00:1b 9 /dev/shm/mpich_shar_tmpA (deleted)", "00:1b 9 /dev/shm/mpich_shar_tmpA (deleted)", "unknown"),
        (SEGMENTS, None, "unknown"),  # it has ended, or its map may not be read
    ],
)
def test_tcp_beside_shared_memory_may_be_the_applications_own(mine: str, theirs: str | None, verdict: str) -> None:
    """Two ranks of one host whose library has shared memory, and that talk to each other by sockets of their own."""
    moments = source(sockets=between(0)), source(sockets=between(980_131))
    for one in moments:
        maps = {89: mine, 90: theirs}
        files = {
            f"/proc/{pid}/maps": f"/usr/lib/libmpi.so.40\n{text}" for pid, text in maps.items() if text is not None
        }
        one._files = {name: text for name, text in one._files.items() if not name.endswith("/maps")} | files
    answer = judged(*moments)
    assert (answer.verdict, len(answer.layers[0].pairs)) == (verdict, int(verdict == "tcp"))
    if verdict == "unknown":
        assert "may be the application's own" in (answer.layers[0].next_step or "")


@pytest.mark.parametrize(
    ("transports", "verdict"),
    [
        ("tcp,self", "tcp"), ("tcp,cma,self", "unknown"), ("tcp,knem,self", "unknown"), ("^mm", "unknown"),
        ("^sm,ib", "tcp"), ("^sysv,posix,cma", "tcp"),
    ],
)  # fmt: skip
def test_ucx_may_read_a_ranks_memory_without_any_segment(transports: str, verdict: str) -> None:
    """With UCX_TLS=tcp,cma,self MPICH's sockets moved 192 kB in a second, and its data by process_vm_readv(2)."""
    more = f"UCX_TLS={transports}"
    answer = judged(source(sockets=between(0), more=more), source(sockets=between(980_131), more=more))
    assert answer.verdict == verdict


def test_the_first_process_of_a_rank_may_be_a_shell() -> None:
    """What the library is, and whether a setting is its own, is seen in the process that talks."""
    more = "UCX_TLS=tcp"
    moments = source(sockets=between(0), more=more), source(sockets=between(980_131), more=more)
    for one in moments:
        files = {**rank_files(60), "/proc/60/maps": "", "/proc/60/environ": one._files["/proc/89/environ"]}
        one._files = {**one._files, **files}
        mine = {"/proc/60/fd": [], "/proc/60/ns": one._folders["/proc/89/ns"]}
        pids = [Entry(name, "folder") for name in ("60", "89", "90", "self")]
        one._folders = {**one._folders, **mine, "/proc": pids}
    (layer,) = judged(*moments).layers
    assert (layer.verdict, layer.status, [reason.id for reason in layer.reasons]) == (
        "tcp", "by-configuration", ["wrongtls"],
    )  # fmt: skip


def test_a_stopped_rank_is_told() -> None:
    here = source()
    here._files["/proc/90/status"] = here._files["/proc/90/status"].replace("R (running)", "T (stopped)")
    assert "process 90 (rank 1) is stopped" in (judged(here, source()).next_step or "")
    assert [one.text for one in judged(here, source()).problems if one.kind == "stopped"] == [
        "process 90 (rank 1) is stopped, by a signal or a debugger: it moves nothing"
    ]


def test_ranks_that_ended_in_the_window_are_told() -> None:
    later = source()
    later._folders = {**later._folders, "/proc": [Entry("89", "folder"), Entry("self", "folder")]}
    assert "a --window that it outlives" in (judged(source(), later).next_step or "")
    assert [one.text for one in judged(source(), later).problems if one.kind == "ended"] == [
        "process 90 ended in the window: what these moved until then was not seen"
    ]
    hidden = source()  # by a /proc with hidepid, and scontrol tells them all the same
    hidden._folders = later._folders
    assert not [one for one in judged(hidden, later).problems if one.kind == "ended"]


@pytest.mark.parametrize(("uid", "advice"), [(0, False), (1000, True)])
def test_root_is_not_advised_to_root(uid: int, advice: bool) -> None:
    """A process with more rights than root in a container has refuses it, too."""
    files = {
        "/proc/self/status": f"Name:\tpython3\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n",
        "/proc/1/status": "Name:\tinit\n",
    }
    here = Answers({}, files=files, folders={"/proc": [Entry("1", "folder")]}, errors={"/proc/1/environ": "EACCES"})
    with pytest.raises(UnreadableInput) as told:
        watch_job("nodea", "running", here, here, lambda _: 1.0)
    assert ("as root" in str(told.value)) is advice
    answer = judge_watches("pid:1", [watch_job("nodea", "pid:1", here, here, lambda _: 1.0)])
    assert ("look again as root or the job's user" in (answer.next_step or "")) is advice
    assert ("look again as the host's own root" in (answer.next_step or "")) is not advice


def test_a_proc_that_hides_others_is_said_to() -> None:
    """Mounted with hidepid=2: even init is not there."""
    here = Answers({}, files={"/proc/self/status": "Uid:\t7\t7\t7\t7\n"}, folders={"/proc": [Entry("95", "folder")]})
    with pytest.raises(UnreadableInput, match="hides those of other users: try as root"):
        watch_job("nodea", "running", here, here, lambda _: 1.0)


def test_another_jobs_rank_that_may_not_be_looked_at_is_no_obstacle() -> None:
    """Ranks of somebody else's job, on the same host, beside one's own through shared memory."""
    now = source()
    maps = {f"/proc/{pid}/maps": f"/usr/lib/libmpi.so.40\n{SEGMENTS}" for pid in (89, 90)}
    other = {
        "/proc/77/status": "Name:\tb.out\nPPid:\t76\n",
        "/proc/77/environ": "OMPI_COMM_WORLD_RANK=0\0PMIX_NAMESPACE=8",
    }
    now._files = {**now._files, **maps, **other}
    context = b'[{"ifindex":0,"ifname":"rxe0","ctxn":0,"pid":5,"comm":"a"}]'
    now._commands = {**now._commands, "rdma -j -d resource show ctx": CommandAnswer((), context, exit_status=0)}
    now._folders = {**now._folders, "/proc": [Entry(name, "folder") for name in ("77", "89", "90", "self")]}
    answer = judge_watches("running", [watch_job("nodea", "running", now, now, lambda _: 2.0)])
    assert [(layer.verdict, layer.ranks) for layer in answer.layers] == [("unknown", None), ("shm", 2)]
    assert "as root" in (answer.layers[0].next_step or "")
    told = [line for line in lines(answer) if "rank" in line and line[:1].strip()]
    assert [line.split(" (")[0].partition(" job ")[2] for line in told if " job " in line] == ["pid:77", "pid:89"]
    assert not any(" run " in line for line in told), "each is a job of its own, and the first run of it"


def test_a_threads_number_is_its_processs() -> None:
    """`top -H` shows those, and so does `rdma resource`."""
    here = source()
    here._files["/proc/99/status"] = "Name:\tasync\nTgid:\t89\nPid:\t99\nPPid:\t83\n"
    (found,) = ranks_of_process(here, 99)
    assert dict(found.ranks) == {89: 0, 90: 1}


def test_a_process_that_is_no_rank_is_told() -> None:
    here = source()
    here._folders = {**here._folders, "/proc": [Entry("95", "folder")]}
    here._files = {**here._files, "/proc/95/status": "Name:\tpython3\nPPid:\t1\n", "/proc/95/environ": "HOME=/"}
    answer = judge_watches("pid:95", [watch_job("nodea", "pid:95", here, here, lambda _: 2.0)])
    assert answer.verdict == "unknown"
    assert "no-rank" in [one.kind for one in answer.problems]
    assert "name a rank or its launcher" in (answer.next_step or "")
    here._files["/proc/95/maps"] = "/usr/lib/libopen-pal.so.40"
    answer = judge_watches("pid:95", [watch_job("nodea", "pid:95", here, here, lambda _: 2.0)])
    assert "Open MPI without a launcher is one rank" in (answer.next_step or "")


def coupled(moved: int) -> Answers:
    """Ranks in shared memory, of which one has a socket to 91, a rank that the same launcher has started, too."""
    ends = "10.77.0.1:55837", "10.77.0.1:1024"
    pair = SOCKET.format(*ends, 89, moved, moved) + SOCKET.format(*ends[::-1], 91, moved, moved)
    moment = source(sockets=pair)
    moment._files |= {f"/proc/{pid}/maps": SEGMENTS for pid in (89, 90)}
    moment._files["/proc/83/status"] = "Name:\tmpirun\nTgid:\t83\nPPid:\t1\n"
    moment._files["/proc/91/status"] = "Name:\tother\nTgid:\t91\nPPid:\t83\n"
    moment._folders["/proc/91/ns"] = [Entry("net", "link", "net:[4026531833]")]
    return moment


def test_what_ranks_have_spawned_they_may_reach_by_tcp() -> None:
    """Open MPI 4.1's shared memory is of one run: what goes to the processes of MPI_Comm_spawn goes by TCP."""
    (mine, spawned) = ranks_of_process(coupled(0), 90)
    assert (dict(mine.ranks), dict(spawned.ranks)) == ({89: 0, 90: 1}, {91: 0})
    answer = judged(coupled(0), coupled(980_131))
    assert [layer.verdict for layer in answer.layers] == ["unknown", "unknown"]
    assert "process 91, which is a rank of another run" in (answer.layers[0].next_step or "")


def test_ranks_in_a_container_are_not_entered() -> None:
    """Their network is known by /proc alone: what `ss` would show there stays open, and the way to see it is told."""
    moment = source(sockets="")
    for pid in ("89", "90"):
        moment._folders[f"/proc/{pid}/ns"] = [Entry("net", "link", "net:[6]")]
        moment._files[f"/proc/{pid}/maps"] = SEGMENTS
    asked: list[str] = []
    run = moment.run

    def noted(argv: Sequence[str], *, deadline_seconds: float = 60.0) -> CommandAnswer:
        asked.append(argv[0])
        return run(argv, deadline_seconds=deadline_seconds)

    moment.run = noted  # type: ignore[method-assign]
    answer = judged(moment, moment)
    assert answer.verdict == "unknown"
    assert "nsenter --net --target 89 ibkit" in (answer.next_step or "")
    assert "ss" in asked
    assert "nsenter" not in asked


@pytest.mark.parametrize("state", ["S (sleeping)", "Z (zombie)"])
def test_what_a_rank_has_started_is_of_its_job(state: str) -> None:
    """A helper that has cleared its environment, and one that has ended."""
    here = source()
    here._folders = {**here._folders, "/proc": [Entry(name, "folder") for name in ("89", "90", "95", "self")]}
    here._files["/proc/95/status"] = f"Name:\tpython3\nState:\t{state}\nTgid:\t95\nPPid:\t89\n"
    here._files["/proc/95/environ"] = ""
    (found,) = ranks_of_process(here, 95)
    assert dict(found.ranks) == {89: 0, 90: 1}


def test_a_process_that_has_ended_is_said_to_have() -> None:
    here = source()
    here._files["/proc/95/status"] = "Name:\tsleep\nState:\tZ (zombie)\nTgid:\t95\nPPid:\t7\n"
    with pytest.raises(UnreadableInput, match=r"has ended.*process 7, .a zombie"):
        ranks_of_process(here, 95)


def test_an_open_rdma_device_is_a_way_that_shared_memory_does_not_exclude() -> None:
    """Queue pairs that were made through mlx5's DEVX are in no list, and a context is."""
    now = source()
    now._files = {**now._files, "/proc/89/maps": SEGMENTS, "/proc/90/maps": SEGMENTS}
    assert judged(now, now).verdict == "shm"
    now._folders = {**now._folders, "/proc/90/fd": [Entry("9", "link", "/dev/infiniband/uverbs0")]}
    now._folders["/sys/class/infiniband_verbs"] = [Entry("uverbs0", "link")]
    assert judged(now, now).verdict == "unknown"


def test_tcp_beside_an_open_rdma_device_may_be_control() -> None:
    before, after = source(sockets=between(0)), source(sockets=between(980_131))
    for one in (before, after):
        one._folders = {**one._folders, "/proc/90/fd": [Entry("9", "link", "/dev/infiniband/uverbs0")]}
        one._folders["/sys/class/infiniband_verbs"] = [Entry("uverbs0", "link")]
    answer = judged(before, after)
    assert (answer.verdict, answer.layers[0].pairs[0].transport) == ("unknown", "tcp")
    assert "have RDMA open" in (answer.next_step or "")


def test_slurm_lists_the_tasks() -> None:
    listed = (
        "PID      JOBID    STEPID   LOCALID GLOBALID\n89       12       0        0       0       \n-1 12 extern 0 0\n"
    )
    both = Answers(
        {"scontrol listpids 12": CommandAnswer((), listed.encode(), exit_status=0)},
        files={"/proc/89/environ": "SLURM_PROCID=0\0SLURM_NTASKS=4\0SLURM_STEP_ID=0\0SLURM_JOB_ID=12"},
    )
    (found,) = ranks_of_slurm_job(both, "12")
    assert dict(found.ranks) == {89: None}  # whose environment is not known, by scontrol alone
    both._folders = {"/proc": [Entry("89", "folder")]}
    (found,) = ranks_of_slurm_job(both, "12.0")
    assert (dict(found.ranks), found.size, found.key) == ({89: 0}, 4, "slurm:12.0")
    with pytest.raises(UnreadableInput, match="scontrol is not installed"):
        ranks_of_slurm_job(Answers({"scontrol listpids 12": CommandAnswer((), failure="missing")}), "12")


def test_a_task_of_an_array_and_a_batch_script() -> None:
    """`squeue -j 12_3 -o %A` of Slurm 22.05 tells the number that its ranks have."""
    here = source(more="SLURM_JOB_ID=14")
    here._commands["squeue -h -j 12_3 -o %A"] = CommandAnswer((), b"14\n", exit_status=0)
    here._commands["squeue -h -j 12_9 -o %A"] = CommandAnswer((), b"", exit_status=0)
    for name in ("12_3", "14.batch"):
        (found,) = ranks_of_slurm_job(here, name)
        assert dict(found.ranks) == {89: 0, 90: 1}
    with pytest.raises(UnreadableInput, match="squeue says: it lists no such job"):
        ranks_of_slurm_job(here, "12_9")


@pytest.mark.parametrize("name", ["SLURM_ARRAY_JOB_ID", "SLURM_HET_JOB_ID"])
def test_the_number_of_an_array_or_of_several_parts_is_all_of_them(name: str) -> None:
    """Of an array 12 the first task to run is job 13, and 12 is its last one (Slurm 22.05)."""
    here = source(more=f"SLURM_JOB_ID=13\0{name}=12")
    (found,) = ranks_of_slurm_job(here, "12")
    assert dict(found.ranks) == {89: 0, 90: 1}
    here._commands["squeue -h -j 12_2 -o %A"] = CommandAnswer((), b"12\n", exit_status=0)
    with pytest.raises(UnreadableInput, match="no process of it"):
        ranks_of_slurm_job(here, "12_2")


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        (CommandAnswer((), b"PENDING|JobHeldUser|\n", exit_status=0), r"squeue has it as PENDING \(JobHeldUser\)\Z"),
        (
            CommandAnswer((), b"PENDING|Resources|\nRUNNING|None|n[01-04]\n", exit_status=0),
            r"PENDING \(Resources\), RUNNING on n\[01-04\]; where that is another host look there, or add --hosts job",
        ),
        (CommandAnswer((), b"", exit_status=0), "Slurm does not list it: it has ended, or never was"),
        (
            CommandAnswer((), b"", b"slurm_load_jobs error: Invalid job id specified\n", exit_status=1),
            "Slurm does not list it: it has ended, or never was",
        ),
        (
            CommandAnswer((), b"", b"slurm_load_jobs error: Unable to contact slurm controller\n", exit_status=1),
            "scontrol says: JobId=12 does not exist on node",
        ),
    ],
)
def test_where_a_job_is_that_has_no_process_here(listed: CommandAnswer, said: str) -> None:
    """The words of squeue and scontrol of Slurm 22.05."""
    here = Answers(
        {
            "scontrol listpids 12": CommandAnswer((), b"", b"JobId=12 does not exist on node (null).\n", exit_status=0),
            "squeue -h -j 12 -o %T|%r|%N": listed,
        }
    )
    with pytest.raises(UnreadableInput, match=said):
        ranks_of_slurm_job(here, "12")


def test_the_steps_that_a_job_has_here_are_told() -> None:
    with pytest.raises(UnreadableInput, match="its ranks here are in step 0, batch"):
        ranks_of_slurm_job(
            Answers(
                {"scontrol listpids 12": CommandAnswer((), b"", exit_status=0)},
                files={
                    "/proc/89/environ": "SLURM_PROCID=0\0SLURM_STEP_ID=0\0SLURM_JOB_ID=12",
                    "/proc/90/environ": "PMI_RANK=0\0SLURM_JOB_ID=12",
                },
                folders={"/proc": [Entry("89", "folder"), Entry("90", "folder")]},
            ),
            "12.7",
        )


def test_of_somebody_elses_batch_job_the_processes_below_its_launcher_are_its_ranks() -> None:
    """scontrol lists the script as its task, and the others without a number."""
    names = {85: ("slurmstepd", 1), 86: ("slurm_script", 85), 87: ("mpirun", 86), 88: ("a.out", 87)}
    files = {f"/proc/{pid}/status": f"Name:\t{name}\nPPid:\t{parent}\n" for pid, (name, parent) in names.items()}
    listed = "PID JOBID STEPID LOCALID GLOBALID\n86 12 batch 0 0\n87 12 batch - -\n88 12 batch - -\n"
    here = Answers(
        {"scontrol listpids 12": CommandAnswer((), listed.encode(), exit_status=0)}, files=files,
        folders={"/proc": [Entry(f"{pid}", "folder") for pid in names]},
        errors={f"/proc/{pid}/environ": "EACCES" for pid in names},
    )  # fmt: skip
    (found,) = ranks_of_slurm_job(here, "12")
    assert dict(found.ranks) == {88: None}


@pytest.mark.parametrize(
    "arguments", [["pid:4000000000"], ["pid:x"], ["slurm:;rm"], ["pid:1", "--window", "0"], ["--from", "x", "pid:1"]]
)
def test_what_cannot_be_looked_at_is_said(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert main(["check-mpi-transport", *arguments]) == 2
    assert capsys.readouterr().err.startswith("ibkit: ")


def test_a_log_may_be_called_like_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pid:1").write_text("epoch 1\n")
    assert main(["check-mpi-transport", "pid:1"]) == 3
    assert "no line of it tells a transport" in capsys.readouterr().out


@pytest.mark.needs("openmpi", "mpich")
@pytest.mark.parametrize(
    ("mpi", "launcher", "verdict", "status"),
    [
        ("openmpi", "mpirun.openmpi --oversubscribe --mca btl tcp,self -np 2", "tcp", 1),
        ("openmpi", "mpirun.openmpi --oversubscribe --mca pml ob1 -np 2", "shm", 0),
        ("mpich", "mpiexec.hydra -n 2", "shm", 0),
        ("openmpi", "mpirun.openmpi --oversubscribe --mca pml ob1 -np 2 {beside}", "unknown", 3),
    ],
)
def test_a_real_job_is_watched(tmp_path: Path, mpi: str, launcher: str, verdict: str, status: int) -> None:
    program = tmp_path / "ring"
    subprocess.run([f"mpicc.{mpi}", ROOT / "tests/support/ring.c", "-o", program], check=True)
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    (tmp_path / "beside").write_text(  # the rank's own sockets, of a child of its own
        f'{sys.executable} {ROOT}/tests/support/tcp_rank.py $OMPI_COMM_WORLD_RANK 127.0.0.1 {free_port()} & exec "$@"\n'
    )
    command = [*launcher.format(beside=f"sh {tmp_path}/beside").split(), program, "1000000000"]
    job = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        for _ in range(30):  # a busy machine takes its time to start the ranks, and what is beside them
            time.sleep(1)
            done = subprocess.run(
                [sys.executable, "-m", "ibkit", "check-mpi-transport", f"pid:{job.pid}", "--window", "1"],
                capture_output=True, text=True, check=False, cwd=ROOT,
            )  # fmt: skip
            assert job.poll() is None
            if done.returncode == status and (verdict != "unknown" or "the application's own" in done.stdout):
                break
    finally:
        job.terminate()
        job.wait(20)
    assert (f": {verdict}, " in done.stdout, done.returncode) == (True, status), done
    assert ("the application's own" in done.stdout) == (verdict == "unknown")


@pytest.mark.parametrize(
    ("libraries", "layer", "runtime", "verdict"),
    [
        ("/usr/lib/libmpi.so.40\n/usr/lib/libopen-pal.so.40", "mpi", "Open MPI", "tcp"),
        ("/usr/lib/libmpich.so.12", "mpi", "MPICH", "tcp"),
        ("/usr/lib/libmpi.so.12", "mpi", None, "tcp"),  # Intel MPI's and MVAPICH's, too
        ("/opt/nccl/libnccl.so.2", "nccl", "NCCL", "unknown"),  # NVLink leaves no trace, and Gloo uses TCP beside it
        ("/usr/lib/libmpi.so.40\n/opt/nccl/libnccl.so.2", "mpi", "NCCL", "unknown"),
        ("/usr/lib/libucp.so.0", "mpi", None, "tcp"),
        ("", "tasks", None, "tcp"),  # whatever moves it
    ],
)
def test_what_the_ranks_have_loaded(libraries: str, layer: str, runtime: str | None, verdict: str) -> None:
    moments = source(sockets=between(0)), source(sockets=between(980_131))
    for one in moments:
        one._files = {**one._files, "/proc/89/maps": libraries, "/proc/90/maps": libraries}
    answer = judged(*moments)
    assert (answer.layers[0].layer, answer.layers[0].runtime, answer.verdict) == (layer, runtime, verdict)


def test_tasks_without_any_library_are_not_called_a_job_of_mpi() -> None:
    """`srun sleep 60`, and a shell whose program has not begun: Slurm gives both a rank."""
    files = {"/proc/89/maps": "", "/proc/90/maps": ""}
    idle = source()
    idle._files = {**idle._files, **files}
    answer = judged(idle, idle)
    assert (answer.layers[0].layer, answer.verdict, answer.status) == ("tasks", "unknown", "undecided")
    assert "no library of MPI, NCCL, Gloo or RDMA is loaded" in (answer.next_step or "")
    assert "tasks (2 ranks; nodea): unknown, undecided" in lines(answer)
    idle._files.pop("/proc/90/maps")  # whose may not be seen is not said to have none
    assert judged(idle, idle).layers[0].layer == "mpi"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def two_ranks(user: int | None) -> Iterator[int]:
    """Real processes that are ranks by their variables, and talk TCP to each other; the first one's number."""
    ranks = []
    port = str(free_port())  # other tests have ranks of their own at the same time
    for rank in ("0", "1"):
        environment = {"PMIX_NAMESPACE": "654", "OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": "2"}
        command = ["/usr/bin/python3", ROOT / "tests/support/tcp_rank.py", rank, "127.0.0.1", port]
        ranks.append(subprocess.Popen(command, env=environment, user=user, stdin=subprocess.DEVNULL))
    try:
        yield ranks[0].pid
    finally:
        for one in ranks:
            one.kill()
            one.wait(20)


@pytest.mark.parametrize(("owner", "reader"), [("user", "user"), ("user", "root"), ("root", "user")])
def test_who_looks_at_whose_ranks(owner: str, reader: str) -> None:
    """A user sees all of the job that is his own, root everybody's; of root's job a user sees that it is there."""
    users = {"root": None, "user": 65534 if os.geteuid() == 0 else None}
    if os.geteuid() and "root" in (owner, reader):
        return  # only root has two users

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words], cwd="/", env={"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
            user=users[reader], capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    if run("-c", "import ibkit").returncode:
        warnings.warn(f"user {users[reader]} may not read {ROOT}", stacklevel=1)
        return
    with two_ranks(users[owner]) as pid:
        for _ in range(30):  # a busy machine takes its time to start them
            time.sleep(1)
            done = run("-m", "ibkit", "check-mpi-transport", f"pid:{pid}", "--window", "1", "--json")
            answer = json.loads(done.stdout)
            if answer["verdict"] == "tcp" or owner != reader == "user":
                break
    kinds = {problem["kind"] for problem in answer["problems"]}
    if owner == "root" and reader == "user":
        assert (answer["verdict"], answer["status"], kinds) == ("unknown", "undecided", {"not-permitted"}), done.stderr
    else:
        assert (answer["verdict"], kinds) == ("tcp", set()), done.stderr
        assert answer["layers"][0]["pairs"][0]["ranks"] == [[0, 1]]
