"""Whether an MPI run lost RDMA, and which lines prove why: its status and its reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ibkit.parsers.job_facts import Setting
from ibkit.transport import words
from ibkit.transport.evidence import Mark
from ibkit.transport.logs.in_force import in_force
from ibkit.transport.logs.mpi import Evidence, MpiProcess
from ibkit.transport.logs.mpi_paths import BTL_PMLS
from ibkit.transport.logs.mpi_runs import Parts
from ibkit.transport.reasons import asked_for, reason_of
from ibkit.transport.settings import (
    asks_for_mlx,
    bars_ucx,
    denies_ucx,
    leaves_no_network,
    leaves_no_shared_memory,
    leaves_tcp_to_openmpi,
    leaves_tcp_to_ucx,
    wants_module,
)

#: What 1.2 to 1.6 call modules of other networks in ``btl:no-nics``; uDAPL needs a provider, too.
_NO_HCAS = ("Myrinet", "ELAN", "uDAPL")
#: Components that need no HCA.
_WITHOUT_HCA = frozenset(
    ("self", "sm", "vader", "smcuda", "tcp", "template", "ob1", "cm", "bfo", "csum", "v", "monitoring", "crcpw")
)  # fmt: skip
_NEVER_ALONE = frozenset(("sm", "vader", "smcuda", "openib", "uct", "ofi"))


class Reasons:
    """Those of one run. ``is_one_host`` tells whether it is on one host, ``word_of`` by what UCX takes a process to
    other hosts.
    """

    def __init__(
        self,
        evidence: Evidence,
        parts: Parts,
        is_one_host: Callable[[], bool],
        word_of: Callable[[MpiProcess], tuple[str, Mark] | None],
    ) -> None:
        self._evidence = evidence
        self._parts = parts
        self._is_one_host = is_one_host
        self._word_of = word_of

    def _settings(self, runtime: str) -> Iterator[tuple[Setting, Mark]]:
        return ((setting, mark) for setting, mark in in_force(self._parts.settings) if setting.runtime == runtime)

    def status(
        self, verdict: str, version: str | None, has_ended: bool
    ) -> tuple[str, dict[str, list[tuple[Mark, str]]]]:
        """The run's status, and the lines that prove each reason of it."""
        why = self._proven(version)
        if has_ended:
            return "aborted", {**why, **asked_for(self._asked_for_no_network())}
        if verdict == "unknown":
            return "undecided", why
        if verdict == "mixed":
            return "mixed", {**why, **asked_for(self._asked_for_tcp_apart())}
        if verdict in words.RDMA or verdict == "shm":
            return "as-expected", {}
        has_module = bool(why) or self._is_openib_refused() or self._has_module()
        asked = self._asked_for_tcp(version, has_module=has_module)
        if asked:
            return "by-configuration", asked_for(asked)
        if self._has_restricted_components():
            return "by-configuration", {}
        return "fallback", {**why, **self._build()}

    def _proven(self, version: str | None) -> dict[str, list[tuple[Mark, str]]]:
        why: dict[str, list[tuple[Mark, str]]] = {}
        for failure, mark in self._parts.failures:
            reason = reason_of(failure)
            if failure.topic == "pml-mismatch" and version == "4.1.1":
                reason = "ucxrace"
            elif failure.topic == "ib-port-refused" and not self._is_without_ucx(version):
                reason = None  # 4.0.0 and 4.0.1 print it although they use UCX
            elif failure.topic == "ib-port-refused" and (failure.device or "").startswith("hfi1_"):
                reason = None  # Omni-Path's way is PSM2, with or without UCX
            elif failure.topic == "no-provider" and any(
                asks_for_mlx(setting) for setting, _ in in_force(self._parts.settings)
            ):
                reason = "mlxucx"
            elif failure.topic == "no-library" and failure.detail == "btl_openib" and self._has_ucx():
                reason = None  # UCX is there, which is to be used in its place
            elif failure.runtime == "ucx" and self.is_barred_from_ucx():
                reason = None
            elif failure.runtime == "ofi":
                reason = None  # libfabric was asked, and is not what this run's data path goes by
            elif (failure.topic == "no-nics" and not self._is_hca(failure.detail)) or (
                failure.topic == "transport-missing" and _offers_verbs(failure.detail)
            ):
                reason = None
            if reason:
                speaker = self._evidence.by_key.get((failure.said.host, failure.said.pid))
                why.setdefault(reason, []).append((_ranked(mark, speaker), "failure"))
        processes = self._parts.processes
        refused = [
            _ranked(p.support[1], p)
            for p in processes
            if p.is_refused_verbs and p.support and p.support[0] in ("none", "transports only")
        ]
        is_lost = any(failure.topic == "no-pml" for failure, _ in self._parts.failures)
        if refused and (is_lost or any(p.btls or (p.pml and p.pml[0] in BTL_PMLS) for p in processes)):
            why.setdefault("ucxlist", []).extend((mark, "failure") for mark in refused)
        return why

    def _is_hca(self, module: str | None) -> bool:
        """Whether a module that found no device looks for HCAs: Myrinet's and Quadrics' do not, and of repetitions that
        are only counted only these may be told.
        """
        told = [f.detail or "" for f, _ in self._parts.failures if f.topic == "no-nics"]
        others = [name for name in told if name.startswith(_NO_HCAS)]
        return not (module or "").startswith(_NO_HCAS) and not (others and "more process" in (module or ""))

    def _is_without_ucx(self, version: str | None) -> bool:
        """Whether the build that refuses InfiniBand ports is known to have no UCX: by its version, or by its list."""
        if self._has_ucx() or any(told.runtime == "UCX" for told in self._evidence.versions):
            return False
        if version is not None:
            return version not in ("4.0.0", "4.0.1")
        return "pml" in self._evidence.installed and "ucx" not in self._evidence.installed["pml"]

    def _has_ucx(self) -> bool:
        """Whether the build has UCX: pml ucx was loaded, or speaks."""
        return any(
            p.support or (p.pml and p.pml[0] == "ucx") or "ucx" in p.components.get("pml", {})
            for p in self._parts.processes
        )

    def _build(self) -> dict[str, list[tuple[Mark, str]]]:
        """That the build has nothing for an HCA, where ``ompi_info`` has listed all of it."""
        installed = self._evidence.installed
        listed = {name for framework in ("btl", "mtl", "pml") for name in installed.get(framework, {})}
        if not {"btl", "coll", "pml"} <= installed.keys() or listed - _WITHOUT_HCA:
            return {}
        return {"nobuild": [(mark, "candidate") for mark in installed["pml"].values()]}

    def _asked_for_tcp(self, version: str | None, *, has_module: bool) -> list[Mark]:
        """Settings, or lists of loaded components, that leave nothing but TCP between hosts."""
        by_ucx = any(process.endpoints for process in self._parts.processes)
        by_btl = any(process.btls for process in self._parts.processes) or bool(self._parts.tables)
        found: list[Mark] = []
        if by_ucx or self._parts.tables:
            found += [mark for setting, mark in self._settings("ucx") if leaves_tcp_to_ucx(setting)]
        if by_btl or not by_ucx:
            found += [
                mark
                for setting, mark in self._settings("ompi")
                if leaves_tcp_to_openmpi(setting, version, has_module=has_module)
                or (denies_ucx(setting) and self._is_openib_refused())
                or (self._is_one_host() and leaves_no_shared_memory(setting))
            ]
        return found

    def _asked_for_no_network(self) -> list[Mark]:
        """Settings with which no rank reaches another host, of a run that ended as one did not."""
        if not any(failure.topic == "unreachable" for failure, _ in self._parts.failures):
            return []
        settings = [*self._settings("ucx"), *self._settings("ompi")]
        return [mark for setting, mark in settings if leaves_no_network(setting)]

    def _asked_for_tcp_apart(self) -> list[Mark]:
        """Settings of UCX that leave TCP alone, of processes that use TCP, where others do not."""
        own = set(self._parts.processes)
        found = []
        for setting, mark in self._settings("ucx"):
            speaker = self._evidence.by_key.get((setting.said.host, setting.said.pid))
            if setting.said.pid is not None and speaker in own and leaves_tcp_to_ucx(setting):
                told = self._word_of(speaker)
                if told and told[0] in ("tcp", "ipoib"):
                    found.append(mark)
        return found

    def _is_openib_refused(self) -> bool:
        return any(failure.topic == "ib-port-refused" for failure, _ in self._parts.failures)

    def _has_module(self) -> bool:
        """Whether ob1 was given a module for HCAs, by a parameter or by itself."""
        loaded = (p.components.get("btl", {}) for p in self._parts.processes)
        return any("openib" in names for names in loaded) or any(
            wants_module(setting) for setting, _ in self._settings("ompi")
        )

    def _has_restricted_components(self) -> bool:
        """Every build has a shared memory btl: a list of loaded ones without it was restricted by a parameter, which no
        line of it shows.
        """
        by_ucx = any(process.endpoints for process in self._parts.processes)
        by_btl = any(process.btls for process in self._parts.processes) or bool(self._parts.tables)
        loaded = (process.components.get("btl", {}).keys() for process in self._parts.processes)
        return (by_btl or not by_ucx) and any({"tcp", "self"} <= names and not names & _NEVER_ALONE for names in loaded)

    def is_barred_from_ucx(self) -> bool:
        """Whether Open MPI is told to send by something else: UCX may be opened all the same, for files or one-sided
        calls, and what it lacks is no matter of the messages.
        """
        is_used = any(process.every_endpoint for process in self._parts.processes)
        return not is_used and any(bars_ucx(setting) for setting, _ in self._settings("ompi"))


def _ranked(mark: Mark, process: MpiProcess | None) -> Mark:
    """The mark with its speaker's rank, where the line does not tell it."""
    return mark if process is None or mark.rank is not None else mark._replace(rank=process.rank)


def _offers_verbs(offered: str | None) -> bool:
    names = (offered or "").replace(",", " ").split()
    return any(name.split("_")[0] in ("rc", "ud", "dc", "ib") for name in names)
