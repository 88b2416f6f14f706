"""A folder of captures, one of each host, as one site: what `ibkit capture` left on all hosts of a job or cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ibkit.errors import UnreadableInput
from ibkit.sources.base import Source
from ibkit.sources.capture import FolderStore, ReplaySource, open_capture
from ibkit.sources.manifest import MANIFEST, Answers
from ibkit.sources.site import Host, Origin, Site

#: A rack's worth in each of a few rows; each is opened and checked (captures).
MAX_CAPTURES = 4096
_ENDINGS = (".tar.gz", ".tgz", ".tar")


def captures_in(folder: str) -> list[str]:
    """The names in a folder that are captures: archives by their ending, and folders with a manifest."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []  # whoever opens it says why
    return [
        name
        for name in names
        if not name.startswith(".")
        and (name.endswith(_ENDINGS) or os.path.isfile(os.path.join(folder, name, MANIFEST)))
    ]


def open_captures(folder: str, names: Sequence[str]) -> Site:
    """All of them as one site. Raises UnreadableInput, naming the capture.

    The subnet is that of the only one that asked it anything: of two views nobody knows which one is meant.
    """
    if len(names) > MAX_CAPTURES:
        raise UnreadableInput(f"{folder}: more than {MAX_CAPTURES} captures; name a folder with fewer")
    return joined(folder, [(name, open_capture(os.path.join(folder, name))) for name in names])


def joined(label: str, sites: Sequence[tuple[str, Site]]) -> Site:
    """Several hosts' sites as one. Each has a name for errors.

    Raises UnreadableInput where a host is there twice.
    """
    hosts: dict[str, tuple[str, Host]] = {}
    for name, site in sites:
        for host in site.hosts:
            if host.name in hosts:
                raise UnreadableInput(
                    f"{label}: {hosts[host.name][0]} and {name} are both of host {host.name}: leave one of them there"
                )
            hosts[host.name] = name, host
    subnets = [site.subnet for _, site in sites if _has_answers(site.subnet)]
    nothing = ReplaySource(Answers({}, {}, {}, None, {}), FolderStore(label))
    times = sorted(site.origin.time for _, site in sites if site.origin.time)
    origin = Origin("capture", f"{os.path.basename(os.path.abspath(label))} ({len(sites)} captures)", *times[-1:])
    if len(subnets) > 1:
        note = f"{len(subnets)} of the captures hold a subnet, so none is shown: give one of them alone for its subnet"
        origin = origin._replace(note=note)
    job = tuple(file for _, site in sites for file in site.job)
    return Site(origin, tuple(host for _, host in hosts.values()), subnets[0] if len(subnets) == 1 else nothing, job)


def _has_answers(source: Source) -> bool:
    return not isinstance(source, ReplaySource) or source.holds_any
