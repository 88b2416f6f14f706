"""Runs of which little is told: that they ended, what they complained of, which runtime it was; no transport."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ibkit.model.mpi import Layer
from ibkit.parsers.job_ends import HYDRA, OPEN_MPI
from ibkit.parsers.job_facts import Failure
from ibkit.parsers.torch_distributed import RESTARTED
from ibkit.transport import words
from ibkit.transport.evidence import Book, Mark
from ibkit.transport.logs import mpi, mpi_builds, mpich_steps, nccl_run
from ibkit.transport.logs.heap import Heap
from ibkit.transport.logs.mpi_run import next_step
from ibkit.transport.logs.versions import agreed as agreed_versions

_TCP_STEP = (
    "Open MPI's tcp module had connections between ranks, or asked for them; whether all messages went by it no line "
    "tells: run again with --mca btl_base_verbose 100 --mca pml_base_verbose 100"
)
_QP_STEP = (
    "Open MPI's openib module was refused a queue pair: look at the limit on locked memory (Max locked memory in "
    "/proc/PID/limits of a rank), at the host's memory and how many queue pairs the HCA has (max_qp of ibv_devinfo -v)"
)
_VERBS_STEP = (
    "UCX met an error of an HCA: what the system answered stands at the end of the first line of class failure (Cannot "
    "allocate memory: the limit on locked memory, in /proc/PID/limits of a rank; Bad address: memory of a GPU without "
    "nvidia_peermem or dma-buf); dmesg of that host may tell more. What carried the data no line tells: run again with "
    "UCX_LOG_LEVEL=info on all ranks"
)
#: Modules' complaints that tell no transport, and the step after them where nothing else is told.
HEARD = {"qp-refused": _QP_STEP, "tcp-module": _TCP_STEP, "verbs-error": _VERBS_STEP}
_BUILD_STEP = (
    "{runtime} with {device} is named as well, by which no run here can have sent: if a job ran with it, give the log "
    "of that job alone"
)
#: Whose runs such a build may be.
_OF_BUILDS = frozenset(("MPICH", "MVAPICH", "MVAPICH2", "libfabric", "UCX"))
#: Layers of the backends that a framework names.
_BACKEND_LAYERS = {"nccl": "nccl", "mpi": "mpi"}


def ended_layers(ends: Sequence[tuple[Failure, Mark]]) -> list[Layer]:
    """The layer of a run of which only its MPI's launcher or last message spoke: that it died, or did not start."""
    launchers = [failure.detail for failure, _ in ends if failure.detail]
    if not launchers:
        return []
    runtime = next((name for name in launchers if name != HYDRA), None)
    verdict = "none" if all(failure.topic == "not-started" for failure, _ in ends) else "unknown"
    step = next_step(runtime or HYDRA) if verdict == "unknown" else None
    return [Layer("mpi", verdict, "aborted", runtime=runtime, next_step=step)]


def connected_layers(heard: Sequence[tuple[Failure, Mark]], ends: Sequence[tuple[Failure, Mark]]) -> list[Layer]:
    """The layer of a run of which only complaints are in the log, of Open MPI's modules or UCX, and how it ended."""
    launchers = {failure.detail for failure, _ in ends if failure.detail} - {OPEN_MPI}
    if not heard or any(failure.topic == "not-started" for failure, _ in ends):
        return []
    hosts = tuple(dict.fromkeys(failure.host for failure, _ in heard if failure.host))
    topics = {failure.topic for failure, _ in heard}
    step = next(step for topic, step in HEARD.items() if topic in topics)
    is_ucx = all(failure.runtime == "ucx" for failure, _ in heard)
    runtime = OPEN_MPI if not is_ucx or (ends and not launchers) else "UCX"
    status = "aborted" if ends else "undecided"
    return [Layer("mpi", "unknown", status, runtime=runtime, hosts=hosts, next_step=step)]


def opened_layers(processes: Sequence[mpi.MpiProcess]) -> list[Layer]:
    """The layer of a run of Open MPI's that tells no more than which modules it has opened."""
    opened = [process.host for process in processes if process.components]
    if not opened:
        return []
    hosts = tuple(dict.fromkeys(host for host in opened if host))
    return [Layer("mpi", "unknown", "undecided", runtime=OPEN_MPI, hosts=hosts, next_step=next_step(OPEN_MPI))]


def _silent(heap: Heap, runtime: str) -> tuple[str, str | None, str]:
    """The name and the version of a runtime that tells no transport, and the step that makes it: MPICH's depends on
    its release and its device.
    """
    versions = agreed_versions(heap.mpi.versions)
    if runtime == "libfabric" and "MPICH" in versions:
        runtime = "MPICH"  # it asks libfabric
    version = versions.get(runtime)
    if runtime != "MPICH":
        return runtime, version, next_step(runtime, version)
    return runtime, version, mpich_steps.transport_step(version, heap.providers.devices())


def other_builds(heap: Heap, layers: Sequence[Layer]) -> list[Layer]:
    """A layer for a build of MPICH or MVAPICH2 by which none of the runs can have sent: whether a job ran with it, or
    somebody only asked what is installed, no line tells.
    """
    ran = [layer for layer in layers if layer.layer == "mpi"]
    told = {layer.verdict for layer in ran if layer.runtime in _OF_BUILDS}
    for provider, _ in heap.providers.built():
        word = mpi_builds.word(provider)
        against = words.RDMA if word == "tcp" else frozenset(("tcp", "ipoib")) if word in words.RDMA else frozenset()
        if told and told <= against:
            step = _BUILD_STEP.format(runtime=provider.runtime, device=provider.provider)
            job = max(layer.job for layer in ran) + 1
            return [Layer("mpi", "unknown", "undecided", job, runtime=provider.runtime, next_step=step)]
    return []


def _is_death(failure: Failure) -> bool:
    """Whether it is a launcher's word, or an MPI's, that a rank has died."""
    return (failure.runtime, failure.topic) == ("job", "died") and failure.detail != RESTARTED


def foreign_layers(heap: Heap, layers: list[Layer], book: Book) -> Iterator[Layer]:
    """A runtime that is used and whose own lines say nothing is an unknown layer where nothing else was read of it.

    Beside NCCL's own lines the framework's other backends, and MPI under Horovod, coordinate the ranks.
    """
    have = {layer.layer for layer in layers}
    # A plugin of NCCL's asks libfabric.
    spoken = next((name for name in heap.mpi.foreign if not (name == "libfabric" and "nccl" in have)), None)
    if spoken is not None and "mpi" not in have:
        have.add("mpi")
        name, version, step = _silent(heap, spoken)
        ends = [] if layers else [mark for failure, mark in heap.mpi.failures if _is_death(failure)]
        for mark in ends[:2]:
            book.cite(mark, "failure")
        yield Layer("mpi", "unknown", "aborted" if ends else "undecided", runtime=name, version=version, next_step=step)
    for backend, _ in heap.backends:
        layer = _BACKEND_LAYERS.get(backend.name)
        if backend.purpose == "data" and layer and layer not in have and "nccl" not in have:
            have.add(layer)
            step = nccl_run.NEXT_STEP if layer == "nccl" else next_step(backend.framework)
            runtime = "NCCL" if layer == "nccl" else None
            yield Layer(layer, "unknown", "undecided", runtime=runtime, next_step=step)
