"""A small subnet, a host and a job made by hand, with what is wrong in them; and the screen as plain text.

The fabric: two spines (S-0, S-1), two leaves (L-0, L-1) of 40 ports, four HCAs on each leaf. Each leaf has one link
to each spine: on port 21 to S-0, on port 22 to S-1. All run 4x HDR but two: L-0/22 -- S-1/1 runs 1x HDR, and
L-1/21 -- S-0/2 runs 4x EDR while L-1, S-0 have HDR links elsewhere. HCA h of leaf l is on port h + 1 of L-l.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from typing import Any, cast

from textual.app import App

from ibkit.model.checks import Check, Fix, HostChecks
from ibkit.model.fabric import CHANNEL_ADAPTER, SWITCH, End, Fabric, FabricPort, Link, Node
from ibkit.model.host import GidEntry, Hca, HcaPort, HostHcas
from ibkit.model.ids import Gid, Guid, PKey
from ibkit.model.mpi import Evidence, JobVerdict, Layer, Pair, Reason
from ibkit.model.subnet_manager import SubnetManager, SubnetManagers
from ibkit.parsers.base import Problem
from ibkit.sources.base import Source
from ibkit.sources.site import Host, JobFile, Origin, Site
from ibkit.tui.snapshot import DOCTOR, FABRIC, HOST, JOB, MANAGERS, Part, Reading, Snapshot, Task
from ibkit.tui.view.subnet import SubnetView

SPINES = [Guid(0xB8599F0300000000 + 256 * i) for i in range(2)]
LEAVES = [Guid(0xB8599F0400000000 + 256 * i) for i in range(2)]
HCAS = [Guid(0x0C42A10300000000 + 16 * i) for i in range(8)]
#: A fabric of this makes 8 HCAs, 4 switches and 8 + 4 links.
NARROW = Link(End(SPINES[1], 1), End(LEAVES[0], 22), "1x", "HDR")
SLOW = Link(End(SPINES[0], 2), End(LEAVES[1], 21), "4x", "EDR")


def small_links() -> list[Link]:
    """All links of the fabric that the module describes, the lesser end first."""
    links = [Link(End(SPINES[0], 1), End(LEAVES[0], 21), "4x", "HDR"), NARROW, SLOW]
    links.append(Link(End(SPINES[1], 2), End(LEAVES[1], 22), "4x", "HDR"))
    links += [Link(End(hca, 1), End(LEAVES[i // 4], i % 4 + 1), "4x", "HDR") for i, hca in enumerate(HCAS)]
    return links


def fabric_of(links: list[Link], names: dict[Guid, str | None], complete: bool | None = True, **more: Any) -> Fabric:
    """A fabric of switches (0xb8...) and HCAs with these links; all unlinked ports are known as such."""
    nodes = {}
    for number, (guid, name) in enumerate(names.items(), 1):
        is_switch = int(guid) >> 56 == 0xB8
        ports = {}
        for link in links:
            for own, other in ((link.a, link.b), (link.b, link.a)):
                if own.guid == guid:
                    ports[own.port] = FabricPort(own.port, peer=other, width=link.width, speed=link.speed, linked=True)
        count = 40 if is_switch else 1
        listed = tuple(ports.get(port, FabricPort(port, linked=False)) for port in range(1, count + 1))
        kind = SWITCH if is_switch else CHANNEL_ADAPTER
        if not is_switch:
            listed = tuple(port._replace(lid=number, guid=Guid(guid + 1)) for port in listed)
        nodes[guid] = Node(guid, kind, name, count, listed, lid=number if is_switch else None)
    return Fabric(nodes, tuple(links), complete, source="ibnetdiscover", **more)


def small_names() -> dict[Guid, str | None]:
    """The names of the small fabric's nodes."""
    names: dict[Guid, str | None] = {guid: f"S-{i}" for i, guid in enumerate(SPINES)}
    names |= {guid: f"L-{i}" for i, guid in enumerate(LEAVES)}
    return names | {guid: f"n{i:02} mlx5_0" for i, guid in enumerate(HCAS)}


def small_fabric(**more: Any) -> Fabric:
    """The fabric that the module describes."""
    return fabric_of(small_links(), small_names(), **more)


def small_host(name: str = "n00") -> HostHcas:
    """A host with a working port, one without a cable and one that no subnet manager has configured."""
    working = HcaPort(
        1, "Active", "LinkUp", "InfiniBand", 5, 0, 1, 0, 200.0, "4x", "HDR", Guid(HCAS[0] + 1), 0,
        (GidEntry(0, Gid((0xFE80 << 112) + HCAS[0] + 1), "IB"),), (PKey(0xFFFF), PKey(0x0005)), ("ib0",),
        transport="ib",
    )  # fmt: skip
    return HostHcas(
        name,
        (
            Hca("mlx5_0", (working,), HCAS[0], HCAS[0], "MT4123", "20.31.1014", node_description=f"{name} mlx5_0"),
            Hca("mlx5_1", (HcaPort(1, "Down", "Polling", "InfiniBand", transport="ib"),), Guid(0x77)),
            Hca("mlx5_2", (HcaPort(1, "Initializing", "LinkUp", "InfiniBand", transport="ib"),), Guid(0x78)),
        ),
    )


def small_job() -> JobVerdict:
    """A job that fell back to TCP because of the memlock limit."""
    reason = Reason("memlock", "locked memory is limited to 64 KiB", "LimitMEMLOCK=infinity for slurmd", (2,))
    pairs = (Pair("n00", "n01", "tcp", ((0, 1),), (1,)), Pair("n00", "n00", "shm"))
    layer = Layer("mpi", "tcp", "fallback", 1, "Open MPI", "4.1.4", ("n00", "n01"), 4, pairs, (reason,))
    evidence = (
        Evidence(1, "path", "job.out", 17, "[n00:12] select: path btl:tcp to n01", "n00", 0, "tcp"),
        Evidence(2, "failure", "job.out", 9, "The OpenFabrics (openib) BTL failed to lock memory.", "n00", 0),
    )
    return JobVerdict("job.out", "tcp", "fallback", (layer,), evidence, "add --mca btl_base_verbose 30")


def small_doctor(name: str = "n00") -> HostChecks:
    """One check that is well, one that is not."""
    umad = Check("umad", "denied", "/dev/infiniband/umad0 is for root only", "no sweep as this user",
                 (Fix("any", "usermod -aG rdma $USER"),))  # fmt: skip
    return HostChecks(name, (Check("devices", "ok", "RDMA devices: mlx5_0", "`ibkit status` shows them"), umad))


#: The tests give the tasks, so no source is ever asked.
SILENT = cast(Source, None)
MASTER = SubnetManagers((SubnetManager(Guid(HCAS[0] + 1), 5, "master", 14, 4711),))


def site(kind: str = "capture", note: str | None = "two faults") -> Site:
    """A site that says what it is; its sources are never asked, for the tests give the tasks."""
    time_of = "2026-12-01T20:53:07+00:00" if kind == "capture" else None
    job = (JobFile("job.out", io.BytesIO),)
    label = "n00" if kind == "live" else "small-tree"
    origin = Origin(kind, label, time_of, note if kind == "capture" else None)
    return Site(origin, (Host("n00", SILENT),), SILENT, job)


def values(**changed: Any) -> dict[Part, Any]:
    """What the collectors answer, by part. ``changed`` replaces by the part's kind; an exception is raised."""
    answers: dict[Part, Any] = {
        Part(HOST, "n00"): small_host(),
        Part(DOCTOR, "n00"): small_doctor(),
        FABRIC: SubnetView(changed.pop("fabric", None) or small_fabric()),
        MANAGERS: MASTER,
        JOB: small_job(),
    }
    for part in answers:
        if part.kind.replace(" ", "_") in changed:
            answers[part] = changed[part.kind.replace(" ", "_")]
    return answers


def snapshot(kind: str = "capture", **changed: Any) -> Snapshot:
    """A snapshot with everything read."""
    return Snapshot(site(kind).origin, {task.part: task.read() for task in tasks(**changed)})


def empty_snapshot() -> Snapshot:
    """A snapshot with nothing read yet."""
    return Snapshot(site().origin, {part: Reading() for part in values()})


def tasks(gate: threading.Event | None = None, **changed: Any) -> list[Task]:
    """Tasks that answer :func:`values`, when the gate opens where there is one."""
    return [Task(part, _answering(value, gate)) for part, value in values(**changed).items()]


def _answering(value: Any, gate: threading.Event | None) -> Callable[[], Any]:
    def answer() -> Any:
        if gate is not None:
            gate.wait()
        if isinstance(value, BaseException):
            raise value
        return value

    return answer


def problem(text: str = "line 7 holds no link", line: int | None = 7) -> Problem:
    """A problem of ibnetdiscover's text."""
    return Problem("bad-line", text, line, "ibnetdiscover")


def screen_text(app: App[Any]) -> str:
    """What is on the screen, as plain lines. The compositor's strips are not public: this is the one place."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)
