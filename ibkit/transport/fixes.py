"""Which mend of the catalogue fits a run: by its runtime and version, and by what started its ranks or holds them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ibkit.model.mpi import Evidence, JobVerdict, Layer, Reason
from ibkit.parsers.job_facts import Said, Setting
from ibkit.transport.catalogue import BY_ID, Fix
from ibkit.transport.host_names import short_name
from ibkit.transport.settings import (
    asks_for_tcp,
    denies_shared_memory,
    leaves_no_network,
    leaves_no_shared_memory,
    leaves_sockets,
    leaves_tcp_to_openmpi,
    leaves_tcp_to_ucx,
)

#: In the order of their weight: a container's limits and devices are its own, whatever started it.
PLACES = ("kubernetes", "docker", "apptainer", "slurm", "pbs", "lsf")
_SIGNS = {
    "kubernetes": re.compile(r"\[pod/|\bKUBERNETES_|\bkubectl "),
    "docker": re.compile(r"\b(?:docker|podman) run\b"),
    "apptainer": re.compile(r"\b(?:apptainer|singularity) (?:exec|run)\b|\b(?:APPTAINER|SINGULARITY)_"),
    "slurm": re.compile(r"\bsrun\b|\bSLURM_|\bscontrol\b"),
    "pbs": re.compile(r"\bPBS_|\bqstat\b"),
    "lsf": re.compile(r"\bLSB_|\bbjobs\b"),
}
#: What reads the other's settings, too.
_LIKE = {"RCCL": "NCCL", "HP-MPI": "Platform MPI"}
_NUMBERS = re.compile(r"\d{1,6}")


def places_of(texts: Iterable[str]) -> tuple[str, ...]:
    """What started the ranks or holds them, as far as command lines, names of variables and prefixes of lines tell."""
    found = {place for text in texts for place, sign in _SIGNS.items() if sign.search(text)}
    return tuple(place for place in PLACES if place in found)


def fix_for(id: str, runtime: str | None = None, version: str | None = None, places: Sequence[str] = ()) -> str:
    """The most specific mend of a reason that fits; a place outweighs a runtime, and that a range of versions.

    >>> fix_for("ucxrace")
    'Open MPI 4.1.2 or later; stop-gap: --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any'
    """
    fitting = [fix for fix in BY_ID[id].fixes if _fits(fix, runtime, version, places)]
    return max(fitting, key=lambda fix: _weight(fix, runtime, places)).text


def fitted(answer: JobVerdict, places: Sequence[str] = ()) -> JobVerdict:
    """The answer with the mends for each layer's runtime and version, and for the place of its ranks."""
    return answer._replace(layers=tuple(_fitted(layer, answer.evidence, places) for layer in answer.layers))


def _fitted(layer: Layer, evidence: Sequence[Evidence], places: Sequence[str]) -> Layer:
    """The layer with the mends for its runtime, version and place, the names of the settings that ask for TCP, or
    within a host that take its ranks' shared memory away, and the hosts as the layer spells them.
    """
    by_id = {item.id: item for item in evidence}
    is_one_host = len(layer.hosts) == 1
    names: dict[str, list[str]] = {}
    for host in layer.hosts:
        names.setdefault(short_name(host), []).append(host)

    def spelled(host: str) -> str:
        found = names.get(short_name(host), [])
        return found[0] if len(found) == 1 else host

    def fit(reason: Reason) -> Reason:
        fix = fix_for(reason.id, layer.runtime, layer.version, places)
        if reason.id == "wrongtls":
            texts = [by_id[number].text for number in reason.evidence if number in by_id]
            named: dict[str, str] = {}
            for text in texts:
                for name in tcp_settings(text, layer.version, is_one_host=is_one_host):
                    named.setdefault(_plain(name), name)
            if named and all(name.startswith("UCX_") for name in named.values()):
                fix = fix_for(reason.id, "UCX", None, places)  # it is no matter of the MPI above
            if named and is_one_host and layer.runtime == "Intel MPI":
                fix = f"remove {', '.join(named.values())}: the ranks of one host then share memory"
            elif named:
                fix = fix.replace("remove the setting", f"remove {', '.join(named.values())}", 1)
            if any("NCCL_SOCKET_IFNAME" in text for text in texts):
                fix = fix.replace(" if RDMA is wanted", " if RDMA is wanted (NCCL_SOCKET_IFNAME may stay)", 1)
        hosts = tuple(dict.fromkeys(map(spelled, reason.hosts)))
        return reason._replace(fix=fix, hosts=hosts)

    return layer._replace(reasons=tuple(map(fit, layer.reasons)), remarks=tuple(map(fit, layer.remarks)))


def _fits(fix: Fix, runtime: str | None, version: str | None, places: Sequence[str]) -> bool:
    if (fix.place is not None and fix.place not in places) or fix.runtime not in (
        None,
        runtime,
        _LIKE.get(runtime or ""),
    ):
        return False
    if fix.since is None and fix.before is None:
        return True
    if version is None:
        return False
    known = _key(version)
    return (fix.since is None or known >= _key(fix.since)) and (fix.before is None or known < _key(fix.before))


def _weight(fix: Fix, runtime: str | None, places: Sequence[str]) -> tuple[int, int, bool]:
    place = len(places) - places.index(fix.place) if fix.place else 0
    own = 0 if fix.runtime is None else 2 if fix.runtime == runtime else 1
    return place, own, fix.since is not None or fix.before is not None


def _key(version: str) -> list[int]:
    """``4.1.4``, ``2.19.3+cuda12.2``, ``2018 Update 3`` as numbers that can be compared."""
    return [int(number) for number in _NUMBERS.findall(version.split("+")[0])[:4]]


def _plain(setting: str) -> str:
    """One form of a parameter on a command line, in the environment and in a file."""
    return setting.removeprefix("--mca ").removeprefix("OMPI_MCA_").replace(" ", "=", 1)


_VARIABLE = r"(?:OMPI_MCA|PRTE_MCA|UCX|NCCL|FI|I_MPI|GLOO)_\w{1,60}"
_WORDS = re.compile(
    r"--?(?:g|o)?mca (?P<parameter>\w{1,60}) (?P<value>\S{1,400})"
    r"|^(?:\[[^\]\s]{1,300}\] )?(?P<line>(?:pml|btl|mtl)[a-z0-9_]{0,60}) ?= ?(?P<is>\S{1,400})"
    rf"|--?g?env (?P<variable>{_VARIABLE}) (?P<worth>\S{{1,400}})"
    rf"|\b(?P<name>{_VARIABLE})(?:=| set by environment to )(?P<to>[^\s;]{{0,400}})"
)

#: Between two variables of srun's ``--export=A=1,B=2``.
_NEXT_EXPORT = re.compile(rf",(?={_VARIABLE}=)")


def tcp_settings(text: str, version: str | None, *, is_one_host: bool = False) -> list[str]:
    """The settings of a line that leave nothing but TCP, as they stand there; within one host that is no shared memory.

    >>> tcp_settings("mpirun --mca pml ucx -x UCX_TLS=tcp,self -x UCX_LOG_LEVEL=info ./a", "4.1.4")
    ['UCX_TLS=tcp,self']
    >>> tcp_settings("srun --export=ALL,UCX_TLS=tcp,UCX_LOG_LEVEL=info ./a", None)
    ['UCX_TLS=tcp']
    """
    found = []
    for match in _WORDS.finditer(_NEXT_EXPORT.sub(" ", text)):
        name = match["name"] or match["variable"] or match["parameter"] or match["line"]
        value = (match["value"] or match["to"] or match["worth"] or match["is"] or "").strip("\"'").rstrip(".")
        said = Said(0, text, None, None, None)
        runtime = "ompi" if match["parameter"] or match["line"] else name.split("_", 1)[0].lower()
        setting = Setting(said, runtime, name.removeprefix("OMPI_MCA_").removeprefix("PRTE_MCA_"), value)
        if (
            leaves_tcp_to_ucx(setting)
            or leaves_no_network(setting)
            or leaves_tcp_to_openmpi(setting, version, has_module=False)
            or leaves_sockets(setting)
            or asks_for_tcp(setting)
            or (is_one_host and (leaves_no_shared_memory(setting) or denies_shared_memory(setting)))
            or name == "GLOO_DEVICE_TRANSPORT"
        ):
            found.append(f"--mca {name} {value}" if match["parameter"] else f"{name}={value}")
    return found
