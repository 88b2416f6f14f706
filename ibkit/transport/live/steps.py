"""What to do where a look at a running job does not decide: what is missing, and never what was done already."""

from __future__ import annotations

from ibkit.display import first_few
from ibkit.model.node_set import natural
from ibkit.transport.live.jobs import TASKS, LiveJob
from ibkit.transport.live.moves import CONNECTED, Part, grown_bytes, is_loopback

OTHER_SOCKETS = (
    "ranks of one host move data by TCP, and share memory, or UCX may read it (UCX_TLS with cma), or their memory maps "
    "were not seen: which of the two their library uses is not proven, the sockets may be the application's own. Give "
    "the job's log"
)
IDLE_RDMA = (
    "the ranks move data to each other by TCP, and have RDMA open, which stood still: what their library uses is not "
    "proven. Look again while they communicate, with a longer --window, or give the job's log"
)


def next_step(job: LiveJob) -> str:
    """Where nothing that moved decides."""
    if job.size == 1:
        return "the job has one rank, which has no other one to send to: run it with two or more"
    if stopped := next((one for part in job.parts for one in part.ranks.problems if one.kind == "stopped"), None):
        return f"{stopped.text}; let it go on (kill -CONT), then look again"
    if any(part.has_ended for part in job.parts):
        return (
            "processes of the job ended in the window: look at a run that goes on, with a --window that it outlives, "
            "or give the job's log"
        )
    if any(True for part in job.parts for _ in part.queue_pairs()):
        shown = any(
            one.sq_psn is not None for part in job.parts for one, _, _ in part.queue_pairs() if one.type in CONNECTED
        )
        why = (
            "" if shown else "; the driver shows no packet numbers, and others use the device, too: give the job's log"
        )
        return (
            "the ranks have queue pairs, and none moved in the window: look again while they communicate, with a "
            f"longer --window{why}"
        )
    if stranger := next((one for part in job.parts for one in part.ranks.problems if one.kind == "no-rank"), None):
        if job.runtime is not None:
            return f"{stranger.text}: {job.runtime} without a launcher is one rank, which has no other one to send to"
        return (
            f"{stranger.text}: name a rank or its launcher (ibkit check-mpi-transport running finds them), or give the "
            "job's log"
        )
    if elsewhere := _elsewhere(job):
        return elsewhere
    coupled = next((pid for part in job.parts for move in part.tcp if (pid := part.talks_to(move)) is not None), None)
    if coupled is not None:
        return (
            f"a rank moves data by TCP with process {coupled}, which is a rank of another run (MPI_Comm_spawn, or "
            "programs that are coupled): whether their library does that is not proven. Give the job's log"
        )
    remote = next((move for part in job.parts for move in part.tcp), None)
    if remote is not None and not job.is_whole:
        return (
            f"a rank moves data by TCP with {remote.socket.peer}, and from here it cannot be seen whether that is "
            "a rank: look on all hosts of the job (--hosts), or give its log"
        )
    hidden = [part for part in job.parts if part.is_hidden]
    as_root = " as root or the job's user" if any(not part.watch.by_root for part in hidden) else ""
    if hidden and not as_root:  # without CAP_SYS_PTRACE, or in a user namespace
        as_root = " as the host's own root, outside of any container,"
    hosts = "" if job.is_whole else ", on each of the job's hosts (--hosts)"
    what = "nothing moved in the window that can be seen and proves it"
    if job.layer == TASKS:
        what = (
            "no library of MPI, NCCL, Gloo or RDMA is loaded in these processes, and nothing was seen to move: "
            "a program without one has no transport, and one that is linked into the program shows itself by what moves"
        )
    return (
        f"{what}: look again{as_root} while the ranks communicate, with a longer --window{hosts}, or give the job's log"
    )


def _elsewhere(job: LiveJob) -> str | None:
    """What can be told of ranks in a container's network: how many bytes its interfaces moved, and with whom it has
    connections. These have no counters there, so whose bytes they are stays open.
    """
    for part in job.parts:
        for pid in part.ranks.ranks:
            facts = part.watch.facts.get(pid)
            network = facts.network if facts else None
            if network is not None and network in part.watch.after.elsewhere:
                return _of_network(part, pid, network)
    return None


def _of_network(part: Part, pid: int, network: int) -> str:
    before, after = part.watch.before.elsewhere[network], part.watch.after.elsewhere[network]
    moved = {name: grown for name, now in after.items() if (grown := grown_bytes(before.get(name), now))}
    told = ", ".join(f"{name} {moved[name]} bytes" for name in sorted(moved, key=lambda name: -moved[name])[:3])
    connections = part.watch.after.connections.get(network, ())
    peers = sorted({one.peer for one in connections if not is_loopback(f"{one.peer}:0")}, key=natural)
    whose = (
        f"it has TCP connections with {first_few(peers, 3)}, which does not tell whose bytes these are"
        if peers
        else "no TCP connection there leads to another host"
    )
    as_root = "" if part.watch.by_root else ", as root"
    return (
        f"process {pid} is in a network namespace of its own (a container), whose sockets' bytes are not "
        f"shown from here; in the window moved there: {told or 'nothing'}; {whose}. Look from inside{as_root}: "
        f"nsenter --net --target {pid} ibkit check-mpi-transport pid:{pid}"
    )
