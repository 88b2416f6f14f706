"""What an MPICH or MVAPICH2 can send with, by the device that it was built for.

ch3:sock is TCP for everything; ch3:nemesis is shared memory on a host, and between hosts the network module that its
configuration names, TCP where it names none (MPICH). MVAPICH2's mrail is verbs. ch4 leaves it to UCX or libfabric,
whose lines tell. Sources: pmodels/mpich src/mpid/ch3/channels, MVAPICH2 2.3's user guide, chapter 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ibkit.parsers.job_facts import Build, Provider
from ibkit.transport.evidence import Mark

_WORDS = {
    "ch3:sock": "tcp", "ch3:nemesis:tcp": "tcp", "ch3:nemesis:ib": "rdma", "ch3:nemesis:mxm": "rdma",
    "ch3:mrail": "rdma", "ch3:psm:psm2": "opa",
}  # fmt: skip


def is_build(provider: Provider) -> bool:
    """Whether this stands for a build's device."""
    return provider.provider.startswith("ch3:")


def carriers(builds: Iterable[tuple[Build, Mark]]) -> list[tuple[Provider, Mark]]:
    """What the builds send with, of those that send themselves: one that names its network modules is more exact.

    None where one of them is a ch4: then there are two MPIs, and which one the job has is not told. MPICH's nemesis
    names no module where it was given none, and has TCP; that it was given none is in the options of ``configure``.
    """
    builds = list(builds)
    if any(build.device.startswith("ch4") for build, _ in builds):
        return []
    known = [(build, mark) for build, mark in builds if build.device.startswith("ch3:")]
    exact = {build.device for build, _ in known}
    has_options = any(build.is_option for build, _ in builds)

    def device(build: Build) -> str:
        is_default = has_options and (build.runtime, build.device) == ("MPICH", "ch3:nemesis")
        return "ch3:nemesis:tcp" if is_default else build.device

    return [
        (Provider(build.said, build.runtime, device(build)), mark)
        for build, mark in known
        if not any(other.startswith(build.device + ":") for other in exact)
    ]


def may_use_libfabric(builds: Iterable[tuple[Build, Mark]]) -> bool:
    """Whether one of them has libfabric among its network modules, or none is known."""
    devices = [build.device for build, _ in builds if build.device]
    return not devices or any("ofi" in re.split("[:,]", device) for device in devices)


def word(provider: Provider) -> str:
    """The transport between hosts of a build's device."""
    return _WORDS.get(provider.provider, "unknown")
