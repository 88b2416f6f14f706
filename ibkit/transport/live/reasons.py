"""Why the ranks of a running job use TCP, as far as their environment, limits and device nodes prove it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ibkit.parsers.job_facts import Said, Setting
from ibkit.transport.evidence import MAX_TEXT, Mark
from ibkit.transport.live.moves import Part
from ibkit.transport.settings import (
    leaves_no_shared_memory,
    leaves_sockets,
    leaves_tcp_to_openmpi,
    leaves_tcp_to_ucx,
    wants_module,
)

#: With so little (64 KiB was Linux's limit for long) no queue pair with buffers can be made (bytes).
_NO_VERBS_BYTES = 64 << 10
_UCX = "/libucp"
_UCX_MODULE, _UCX_VERBS = "libuct_", "libuct_ib"
#: Open MPI's modules for messages that move them by memory or TCP, or by another module.
_NO_RDMA = frozenset(
    (
        "btl_self",
        "btl_sm",
        "btl_smcuda",
        "btl_tcp",
        "btl_vader",
        "pml_bfo",
        "pml_cm",
        "pml_monitoring",
        "pml_ob1",
        "pml_v",
    )
)
_RDMA_LIBRARIES = ("libibverbs", "librdmacm", "libucp", "libuct", "libfabric", "libpsm", "libmxm")
#: Of each kind of evidence a line for so many ranks.
_SHOWN = 5

Marks = dict[str, list[tuple[Mark, str]]]


def settings_of(part: Part) -> Iterator[tuple[Setting, Mark]]:
    """What chooses a transport for the first rank of this host: its variables, and Open MPI's parameter files."""
    pid = min(part.ranks.ranks)
    rank = part.ranks.ranks[pid]
    for name, value in part.ranks.environment.items():
        number = part.ranks.lines.get(name, 0)
        text = f"{name}={value}"[:MAX_TEXT]
        mark = Mark(0, number, part.place(f"/proc/{pid}/environ"), text, part.host, rank)
        said = Said(number, text, part.host, pid, rank)
        if name.startswith("UCX_"):
            yield Setting(said, "ucx", name, value), mark
        elif name.startswith("OMPI_MCA_"):
            yield Setting(said, "ompi", name.removeprefix("OMPI_MCA_"), value), mark
        elif name.startswith(("NCCL_", "RCCL_")):
            yield Setting(said, "nccl", name, value), mark
        elif name.startswith(("MPIR_CVAR_", "PSM2_", "PSM3_")):
            yield Setting(said, "mpich", name, value), mark
    for one in part.watch.parameters.get(pid, ()):
        mark = Mark(0, one.line, part.place(one.file), one.text[:MAX_TEXT], part.host, rank)
        yield Setting(Said(one.line, one.text, part.host, pid, rank), "ompi", one.name, one.value), mark


def asked_for_tcp(part: Part, layer: str, *, is_one_host: bool) -> list[Mark]:
    """The settings that leave this layer nothing but TCP: no RDMA, and within one host no shared memory."""
    found = list(settings_of(part))
    if layer == "nccl":
        return [mark for setting, mark in found if leaves_sockets(setting)]
    if layer == "gloo":
        return []
    by_ucx = [mark for setting, mark in found if leaves_tcp_to_ucx(setting)] if uses_ucx(part) else []
    return [*by_ucx, *_asked_of_openmpi(part, found, is_one_host=is_one_host)]


def _asked_of_openmpi(part: Part, found: Sequence[tuple[Setting, Mark]], *, is_one_host: bool) -> Iterator[Mark]:
    """Which of the two ways to an HCA, pml ucx and a btl for ob1, are struck out: where pml ucx is asked for, no btl is
    of interest, and btl without openib, which many sites have, leaves UCX to those that have it.
    """
    mine = [(setting, mark) for setting, mark in found if setting.runtime == "ompi"]
    pml = next((setting.value for setting, _ in mine if setting.name == "pml"), "")
    is_denied, names = pml.startswith("^"), set(pml.lstrip("^").split(","))
    if "ucx" in names and not is_denied:
        return
    may_use_ucx = uses_ucx(part) and (not pml or (is_denied and "ucx" not in names))
    has_module = any(wants_module(setting) for setting, _ in mine)
    for setting, mark in mine:
        if setting.name == "btl" and setting.value.startswith("^") and may_use_ucx:
            leaves = False
        else:
            leaves = leaves_tcp_to_openmpi(setting, None, has_module=has_module)
        if leaves or (is_one_host and leaves_no_shared_memory(setting)):
            yield mark


def reasons_of(parts: Sequence[Part]) -> Marks:
    """What the ranks' limits and device nodes, and the ports, prove; for each host that has an HCA."""
    found: Marks = {}
    for part in parts:
        ports = [(hca, port) for hca in part.watch.hcas.hcas for port in hca.ports]
        if not ports:
            without_driver = part.watch.lacks_hca is False and not part.watch.hcas.hcas
            for problem in part.watch.hcas.problems if without_driver else ():
                mark = Mark(0, 0, part.place(problem.source or ""), problem.text[:MAX_TEXT], part.host, None)
                found.setdefault("noport", []).append((mark, "failure"))
            continue
        if all(port.state not in (None, "Active") for _, port in ports):
            for row, (hca, port) in enumerate(ports[:_SHOWN], 1):
                text = f"{hca.name} port {port.port}: state {port.state}, {port.physical_state or '?'}"
                place = part.place(f"/sys/class/infiniband/{hca.name}/ports/{port.port}/state")
                found.setdefault("noport", []).append((Mark(0, row, place, text, part.host, None), "failure"))
            continue
        if any(port.state == "Active" for _, port in ports):
            if (without := _without_modules(part)) is not None:
                found.setdefault("nobuild", []).append((without, "candidate"))
            talking = {move.pid for move in part.tcp} or {*part.ranks.ranks}  # not a helper in a container of its own
            for pid in sorted(talking):
                for id, mark in of_rank(part, pid, part.ranks.ranks[pid]):
                    found.setdefault(id, []).append((mark, "failure"))
    return {id: marks[:_SHOWN] for id, marks in found.items()}


def _without_modules(part: Part) -> Mark | None:
    """An installation of Open MPI that has nothing for RDMA: none of its modules is for it, and no rank has one of the
    libraries that such a module needs, which might be built into Open MPI's own.
    """
    modules = part.watch.modules.get(min(part.ranks.ranks))
    if modules is None or not _NO_RDMA.issuperset(modules.names):
        return None
    facts = (part.watch.facts.get(pid) for pid in part.ranks.ranks)
    loaded = {library.rpartition("/")[2] for one in facts if one for library in one.libraries or ()}
    if any(name.startswith(_RDMA_LIBRARIES) for name in loaded):
        return None
    text = f"modules of this Open MPI: {', '.join(modules.names)}; none is for RDMA"
    return Mark(0, 0, part.place(modules.folder), text[:MAX_TEXT], part.host, None)


def of_rank(part: Part, pid: int, rank: int | None) -> Iterator[tuple[str, Mark]]:
    """What keeps a rank from verbs, by the reason's id: it has no device node, or may lock no memory."""
    facts = part.watch.facts.get(pid)
    if facts is None:
        return
    if facts.nodes is not None and not any(name.startswith("uverbs") for name in facts.nodes):
        text = f"no device node (uverbs) in /dev/infiniband as process {pid} sees it"
        yield "nodev", Mark(0, 0, part.place(f"/proc/{pid}/root/dev/infiniband"), text, part.host, rank)
    elif isinstance(facts.memlock, int) and facts.memlock <= _NO_VERBS_BYTES and facts.may_lock is False:
        text = f"Max locked memory {facts.memlock} bytes (soft limit), without CAP_IPC_LOCK"
        yield "memlock", Mark(0, 0, part.place(f"/proc/{pid}/limits"), text, part.host, rank)
    # UCX keeps each module that it finds when it starts, whatever the hardware.
    modules = {
        name for library in facts.libraries or () if (name := library.rpartition("/")[2]).startswith(_UCX_MODULE)
    }
    if modules and not any(name.startswith(_UCX_VERBS) for name in modules):
        text = f"UCX has loaded {', '.join(sorted(modules)[:3])}, and no {_UCX_VERBS}: it has no module for verbs"
        yield "nolib", Mark(0, 0, part.place(f"/proc/{pid}/maps"), text, part.host, rank)


def uses_ucx(part: Part) -> bool:
    """Whether a rank has UCX loaded, as far as that could be seen."""
    seen = [
        facts.libraries
        for pid in part.ranks.ranks
        if (facts := part.watch.facts.get(pid)) and facts.libraries is not None
    ]
    return not seen or any(_UCX in library for libraries in seen for library in libraries)
