"""Runs of which the runtime names one transport for all that goes to other hosts: Intel MPI, MPICH over libfabric,
MVAPICH2, libfabric itself.

It is one process that says so, mostly rank 0, and it says nothing of which ranks are on other hosts: where the log, the
environment or a host file does not tell that there are two hosts, such a line decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ibkit.model.mpi import Layer, Pair
from ibkit.parsers.job_facts import Build, Failure, Provider, RankPlace, Setting, SharedMemory, Version
from ibkit.transport import words
from ibkit.transport.evidence import Book, File, Mark
from ibkit.transport.host_names import Hosts
from ibkit.transport.logs import mpi_builds, mpich_steps
from ibkit.transport.logs.attempts import Attempts
from ibkit.transport.logs.in_force import in_force
from ibkit.transport.logs.processes import Launches
from ibkit.transport.logs.run_settings import One, settings_of_runs
from ibkit.transport.logs.versions import Told, Versions, lines_of
from ibkit.transport.reasons import asked_for, reason_of, reasons
from ibkit.transport.settings import asks_for_mlx, asks_for_tcp, asks_for_ucx, denies_shared_memory

_LIVE_STEP = "look at a running rank: ibkit check-mpi-transport pid:PID"
#: The old fabrics of Intel MPI, MVAPICH2's channel; all others are providers of libfabric. dapl and ofa are verbs; tmi
#: is PSM, PSM2 or MX, which its own line tells.
_NAMES = {"dapl": "rdma", "ofa": "rdma", "rdma": "rdma", "rdssm": "rdma", "tmi": "unknown"}
#: What these stand on is another line's matter: mlx is UCX, psm3 is verbs or sockets.
_STEPS = {
    "mlx": "the provider mlx is UCX, which may use RDMA or TCP: run again with UCX_LOG_LEVEL=info",
    "ucx": "the provider ucx may use RDMA or TCP: run again with UCX_LOG_LEVEL=info",
    "psm3": "psm3 is verbs or plain sockets: run again with PSM3_IDENTIFY=1, which names its device",
    "ofi": "run again with I_MPI_DEBUG=3, which names libfabric's provider",
    "tmi": "run again with I_MPI_DEBUG=5, which names TMI's provider",
    "ch3:nemesis": "configure names nemesis's network module: put all that mpichversion prints into the log",
}
#: What shows on one host that the ranks share memory, which a variable of their environment may deny.
_SHARING_STEPS = {
    "Intel MPI": "run again with I_MPI_DEBUG=5, which lists the variables (I_MPI_FABRICS, I_MPI_SHM)",
    "MVAPICH2": "run again with MV2_SHOW_ENV_INFO=2, which lists MV2_USE_SHARED_MEM",
}
_HOSTS_STEP = {
    "Intel MPI": "run again with I_MPI_DEBUG=3, whose table of ranks shows how many hosts there are",
    "Cray MPICH": "run again with MPICH_OFI_NIC_VERBOSE=2, which shows each rank's host",
}
#: MVAPICH 3 and 4 are MPICH under a name and numbers of their own.
_MPICHES = frozenset(("MPICH", "MVAPICH"))
_SPEAKERS = {"ompi": "Open MPI", "intel": "Intel MPI", "ucx": "UCX"}
_OPENMPI_STEP = "run again with --mca pml_base_verbose 100 --mca btl_base_verbose 100"
_ANY_HOSTS_STEP = "put the host list or the job's environment (SLURM_JOB_NUM_NODES) beside the log"
#: MVAPICH2's names of adapters that are not InfiniBand's or RoCE's, or that are InfiniBand's only (mv2_hca_detect.c).
_HCAS = {
    "MV2_HCA_INTEL_HFI1": "opa", "MV2_HCA_QLGIC_QIB": "ib", "MV2_HCA_QLGIC_PATH_HT": "ib", "MV2_HCA_CHLSIO_T3": "iwarp",
    "MV2_HCA_CHLSIO_T4": "iwarp", "MV2_HCA_INTEL_NE020": "iwarp",
}  # fmt: skip
#: Libraries whose own word counts where the MPI above them has none.
_LIBRARIES = frozenset(("libfabric", "psm3"))
#: Fatal failures of a start: no data was moved yet.
_AT_START = frozenset(("init-failed", "no-provider", "no-fabric", "no-port", "unreachable", "no-endpoint"))
_MAX_FACTS = 200_000


class Group(NamedTuple):
    """What one run said, each with its place."""

    providers: list[tuple[Provider, Mark]]
    places: list[tuple[RankPlace, Mark]]
    shared_memory: list[Mark]
    #: Whether they cannot talk by anything else; where Intel MPI itself tells that it is denied.
    is_shared_only: bool = False
    never_shared: Sequence[Mark] = ()

    @property
    def first(self) -> Mark:
        """Where it says something about transports for the first time."""
        return min([mark for _, mark in self.providers] + self.shared_memory, key=lambda mark: (mark.order, mark.line))

    def marks(self) -> list[Mark]:
        """All its lines."""
        return [mark for _, mark in self.providers] + [mark for _, mark in self.places] + list(self.shared_memory)

    @property
    def is_ucx(self) -> bool:
        """Whether its provider is UCX, or may be, whose own lines say more: Intel MPI's mlx, libfabric's ucx, none."""
        return any(_core(provider.provider) in ("mlx", "ucx", "ofi") for provider, _ in self.providers)

    @property
    def is_own_word(self) -> bool:
        """Whether an MPI itself tells what it sends with."""
        named = [provider for provider, _ in self.providers if provider.runtime not in _LIBRARIES]
        return bool(self.shared_memory) or not all(map(mpi_builds.is_build, named))


class Evidence:
    """Takes the facts of all logs of a target."""

    def __init__(self) -> None:
        self.facts: list[tuple[Provider | RankPlace | SharedMemory | Build, Mark]] = []
        self.headers: list[Mark] = []
        #: Of MVAPICH2's tables, whose ranks may have spoken before.
        self._titles: list[Mark] = []

    def add(self, fact: Provider | RankPlace | SharedMemory | Build | Version, file: File) -> None:
        """Take one fact. A version's line begins a run of Intel MPI: rank 0 prints it first."""
        mark = file.mark(fact.said)
        if isinstance(fact, Version):
            if fact.runtime == "Intel MPI":
                self.headers.append(mark)
            elif fact.runtime == "MVAPICH2" and " Parameters" in mark.text:
                self._titles.append(mark)
        elif len(self.facts) < _MAX_FACTS:
            self.facts.append((fact, mark))

    def is_intels(self) -> bool:
        """Whether Intel MPI speaks."""
        return any(isinstance(fact, Provider) and fact.runtime == "Intel MPI" for fact, _ in self.facts)

    def forget_libfabric(self) -> None:
        """Drop what libfabric itself said: it is somebody else's."""
        self.facts = [
            (fact, mark)
            for fact, mark in self.facts
            if not (isinstance(fact, Provider) and fact.runtime == "libfabric")
        ]

    def devices(self) -> list[str]:
        """What MPICHs were built for, or which network module of theirs speaks."""
        return [fact.device for fact, _ in self.facts if isinstance(fact, Build) and fact.device]

    def built(self) -> list[tuple[Provider, Mark]]:
        """What the builds that are told send with, of those that send themselves."""
        builds = [(fact, mark) for fact, mark in self.facts if isinstance(fact, Build)]
        return mpi_builds.carriers((build, mark) for build, mark in builds if not build.device.startswith("ch4"))

    def ucx_netmods(self) -> list[Mark]:
        """Where MPICH's module for UCX speaks."""
        return [mark for fact, mark in self.facts if isinstance(fact, Build) and fact.device == "ch4:ucx"]

    def ranks_in_table(self) -> int | None:
        """How many ranks the tables of ranks list; None where there is none, or where two runs may have theirs."""
        rows = [fact.rank for fact, _ in self.facts if isinstance(fact, RankPlace) and not _is_nic_only(fact)]
        return max(rows) + 1 if rows and len(set(rows)) == len(rows) and len(self.headers) < 2 else None

    def runs(self, launches: Sequence[Mark], attempts: Attempts) -> list[Group]:
        """The facts of each run: a command line, a header, one more table's title or a new attempt of the job stands
        between two of them.

        Where no run says anything, what a build of MPICH tells is the only run's; so it is where libfabric speaks,
        which that build does not use.
        """
        commands = Launches(launches)
        before = commands, Launches([*self.headers, *self._titles_of_more(commands)])
        groups: dict[tuple[int, ...], Group] = {}
        for fact, mark in self.facts:
            if isinstance(fact, Build):
                continue
            key = mark.order, *attempts.number(mark), *(places.between(mark.order, 0, mark.line) for places in before)
            group = groups.setdefault(key, Group([], [], []))
            match fact:
                case Provider():
                    group.providers.append((fact, mark))
                case RankPlace():
                    group.places.append((fact, mark))
                case _:
                    group.shared_memory.append(mark)
                    groups[key] = group._replace(is_shared_only=group.is_shared_only or fact.is_only)
        spoken = [groups[key] for key in sorted(groups) if groups[key].providers or groups[key].shared_memory]
        own = [group for group in spoken if group.shared_memory or not _are_libraries(group.providers)]
        places = {_place(group, before[0]) for group in own}
        if own:  # libfabric behind another command line than all of these is another run's
            own = [group for group in spoken if group in own or not places & {_place(group, before[0])}]
        builds = [(fact, mark) for fact, mark in self.facts if isinstance(fact, Build)]
        if own or (spoken and mpi_builds.may_use_libfabric(builds)):
            return own or spoken
        built = mpi_builds.carriers(builds)
        return [Group(built, [place for group in groups.values() for place in group.places], [])] if built else []

    def _titles_of_more(self, launches: Launches) -> Iterator[Mark]:
        """The titles of tables before which another one stands behind the same command line."""
        for earlier, title in pairwise(self._titles):
            if earlier.is_before(title) and not launches.between(title.order, earlier.line, title.line):
                yield title


class Context(NamedTuple):
    """What else is known of the job."""

    versions: Sequence[Told]
    settings: Sequence[tuple[Setting, Mark]]
    failures: Sequence[tuple[Failure, Mark]]
    ranks: int | None
    hosts: int | None
    names: tuple[str, ...] = ()
    #: How many lines each log has, by its order.
    lines: Mapping[int, int] = {}
    #: Command lines of launchers.
    launches: Sequence[Mark] = ()
    attempts: Attempts = Attempts()
    #: Whose settings are in the logs, be they another run's.
    readers: frozenset[str] = frozenset()


def layers(groups: Sequence[Group], versions: Sequence[Versions], context: Context, book: Book) -> list[Layer]:
    """A layer for each run; ``versions``: what is told of each one's."""
    # Of several runs in one log nobody knows whose the numbers are, unless all of them say the same.
    is_alone = len({group.first.order for group in groups}) == len(groups) or len({*map(_speech, groups)}) == 1
    alone = context if is_alone else context._replace(ranks=None, hosts=None, names=(), failures=())
    alone = alone._replace(readers=frozenset(setting.runtime for setting, _ in context.settings))
    told = zip(groups, versions, _settings(groups, context), strict=True)
    return [
        _layer(group, number, own, alone._replace(settings=settings), book)
        for number, (group, own, settings) in enumerate(told, 1)
    ]


def _settings(groups: Sequence[Group], context: Context) -> list[list[One]]:
    """The settings of each run; those that Intel MPI tells itself stand behind its other lines."""
    lines = [lines_of(group.marks()) for group in groups]

    def speaker(_: Setting, mark: Mark) -> int | None:
        if _STARTUP not in mark.text:
            return None
        begun = [
            (own[mark.order][0].line, number)
            for number, own in enumerate(lines)
            if mark.order in own and own[mark.order][0].line < mark.line
        ]
        return max(begun)[1] if begun else None

    return settings_of_runs(context.settings, lines, context.launches, context.attempts, speaker)


def _place(group: Group, launches: Launches) -> int:
    """Behind how many command lines a run stands in its file."""
    return launches.between(group.first.order, 0, group.first.line)


def _are_libraries(named: Sequence[tuple[Provider, Mark]]) -> bool:
    return all(provider.runtime in _LIBRARIES for provider, _ in named)


def _carriers(named: Sequence[tuple[Provider, Mark]]) -> list[tuple[Provider, Mark]]:
    """What carries the data, of all that is named: what a provider stands on in its place, and not what libfabric
    opened beside what the MPI names. A process of which only libfabric speaks uses what it opened last, except for its
    peers on the same host.
    """
    own = [(provider, mark) for provider, mark in named if provider.runtime != "libfabric"]
    if not own:
        last = {
            (mark.order, provider.said.pid): (provider, mark) for provider, mark in named if _word(provider) != "shm"
        }
        return list(last.values()) or list(named)
    plain = [(provider, mark) for provider, mark in own if provider.below is None]
    cores = {_core(provider.provider) for provider, _ in plain}
    exact = [(provider, mark) for provider, mark in own if provider.below in cores]
    refined = {provider.below for provider, _ in exact}
    return [(provider, mark) for provider, mark in plain if _core(provider.provider) not in refined] + exact or own


def _speech(group: Group) -> frozenset[tuple[str, str]]:
    return frozenset((provider.runtime, provider.provider) for provider, _ in group.providers)


def _layer(group: Group, job: int, versions: Versions, context: Context, book: Book) -> Layer:
    name, version = _runtime(group, versions)
    placed = _hosts_by_place(group)
    # A list of other hosts than the ranks have is not this run's: the report of a job that went elsewhere.
    hosts = _hosts(group) or (context.names if placed in (None, len(context.names)) else ())
    count = len(hosts) or placed or context.hosts
    if group.is_shared_only and not group.providers and count is None:
        count = 1
    elif count == 1 and group.places and not group.is_shared_only and not _is_whole(group, context):
        count = None  # ranks whose rows are missing may be elsewhere
    ranks = max([place.rank + 1 for place, _ in group.places if not _is_nic_only(place)] + [context.ranks or 0]) or None
    carriers = _carriers(group.providers)
    named = {_word(provider): (provider, mark) for provider, mark in carriers}
    built = [(provider, mark) for provider, mark in carriers if mpi_builds.is_build(provider)]
    settings = [setting for setting, _ in in_force(context.settings)]
    if any(map(denies_shared_memory, settings)):
        own = [mark for setting, mark in context.settings if denies_shared_memory(setting) and _STARTUP in mark.text]
        group = group._replace(shared_memory=[], never_shared=own)
    elif count == 1:
        group = group._replace(shared_memory=group.shared_memory or _signs_of_sharing(group, context))
    if set(named) == {"tcp"} and _is_over_infiniband(group, named["tcp"][0], settings):
        named = {"ipoib": named["tcp"]}
    verdict, step = _verdict(group, name, version, named, count)
    if doubt := _doubt(carriers, context) or _unheard(carriers, context):
        verdict, step, named = "unknown", doubt, {}
    cited = [book.cite(mark, "selection", word) for word, (_, mark) in named.items() if count != 1 or verdict == word]
    pairs: tuple[Pair, ...] = ()
    if verdict == "shm":
        cited = [book.cite(mark, "selection", "shm") for mark in group.shared_memory[:2]]
        pairs = (Pair(hosts[0], hosts[0], "shm", (), tuple(cited)),) if hosts else ()
    elif len(hosts) == 2 and verdict not in ("unknown", "mixed"):
        a, b = sorted(hosts)
        pairs = (Pair(a, b, verdict, (), tuple(cited)),)
    ends = [(failure, mark) for failure, mark in context.failures if failure.is_fatal]
    fatal = [mark for _, mark in ends]
    has_ended = any(failure.topic != "died" for failure, _ in ends)
    has_begun = any(failure.topic == "broken" for failure, _ in ends)
    if verdict == "unknown" and set(named) <= words.RDMA and has_begun:
        verdict = words.combine(named)  # a queue pair that breaks was in use: there is another host
    if verdict in ("tcp", "ipoib") and has_begun:
        verdict, pairs = "mixed", ()  # what broke was verbs: another run's, or this one has both
    if any(failure.topic in _AT_START for failure, _ in ends) or (
        has_ended and not has_begun and verdict in ("unknown", "shm")
    ):
        verdict, pairs = "none", ()
    status, why = _status(verdict, context, has_ended=has_ended, has_mlx=name == "Intel MPI")
    if fatal:
        status = "aborted"
    if _is_mlx(group, context):
        why = _of_mlx(why, context)
    if status == "fallback" and count == 1 and group.never_shared:
        status, why = "by-configuration", asked_for(group.never_shared)
    elif status == "fallback" and built:
        why = {"nobuild": [(mark, "selection") for _, mark in built], **why}
    for mark in fatal[:2]:
        book.cite(mark, "failure")
    return Layer(
        "mpi", verdict, status, job, name, version, hosts, ranks, pairs, reasons(why, book),
        step if verdict == "unknown" else None, evidence=book.cited(),
    )  # fmt: skip


def _runtime(group: Group, versions: Versions) -> tuple[str, str | None]:
    """The MPI that speaks, and its version; where only libfabric does, the MPICH that tells its version beside it."""
    named = [provider.runtime for provider, _ in group.providers if provider.runtime not in _LIBRARIES]
    name = named[0] if named else "libfabric" if group.providers else "Intel MPI"
    if name in ("MPICH", "libfabric"):
        name = next((mpich for mpich in ("MPICH", "MVAPICH") if mpich in versions), name)
    return name, versions.get(name)


def _is_whole(group: Group, context: Context) -> bool:
    """Whether a table of ranks, all on one host, has a row for each rank of the job.

    Where nothing tells how many these are: the rows begin with rank 0, none is missing between them, and the log goes
    on behind the last one. It may have been read while the job still printed it.
    """
    rows = [(place, mark) for place, mark in group.places if not _is_nic_only(place)]
    numbers = {place.rank for place, _ in rows}
    if context.hosts == 1:
        return True
    if numbers != set(range(len(numbers))) or any(place.rank not in numbers for place, _ in group.places):
        return False
    if context.ranks is not None or context.hosts is not None:
        return context.ranks == len(numbers)
    return bool(rows) and _goes_on([mark for _, mark in rows], context)


def _is_nic_only(place: RankPlace) -> bool:
    """Whether the row tells a rank's NIC and not where the rank is: Intel MPI has a table for each."""
    return place.host is None and place.local_rank is None


def _goes_on(marks: Sequence[Mark], context: Context) -> bool:
    """Whether the log goes on behind these lines, by more than what a launcher says of the end, or a next run."""
    last = max(marks, key=lambda mark: (mark.order, mark.line))
    ends = [mark.line - _LAST_WORDS for failure, mark in context.failures if failure.is_fatal and last.is_before(mark)]
    starts = [*context.launches, *(told.mark for told in context.versions)]
    ends += [mark.line - 2 for mark in starts if last.is_before(mark)]  # behind an empty line, perhaps
    return last.line < min([context.lines.get(last.order, 0), *ends])


#: As many lines of a launcher's last words may stand before the one that tells what happened (Hydra's box).
_LAST_WORDS = 10


def _signs_of_sharing(group: Group, context: Context) -> list[Mark]:
    """Lines by which ranks on one host share memory, though none says so.

    MPICH numbers the ranks of a host, and where shared memory is denied each rank is a host of its own
    (src/util/mpir_nodemap.h). Intel MPI at level 5 lists its variables: it shares memory unless one denies it.
    """
    locals_ = [mark for place, mark in group.places if place.runtime == "MPICH" and place.local_rank is not None]
    if len(locals_) > 1:
        return locals_
    own = [mark for setting, mark in context.settings if setting.runtime == "intel" and _STARTUP in mark.text]
    levels = [mark for setting, mark in context.settings if setting.name == "I_MPI_DEBUG" and _STARTUP in mark.text]
    is_intel = all(provider.runtime == "Intel MPI" and provider.detail != "fabric" for provider, _ in group.providers)
    return levels if is_intel and levels and _goes_on(own, context) else []


_STARTUP = "MPI startup(): "


def _verdict(
    group: Group, runtime: str, version: str | None, named: dict[str, tuple[Provider, Mark]], hosts: int | None
) -> tuple[str, str | None]:
    """The verdict, and where it is unknown what would settle it."""
    if hosts == 1:
        if group.shared_memory:
            return "shm", None
        is_alone = bool(group.never_shared) or all(p.provider == "ch3:sock" for p, _ in named.values())
        if is_alone and named and named.keys() <= {"tcp", "ipoib"}:
            return words.combine(named), None  # it has sockets and nothing else
        step = _SHARING_STEPS.get(runtime, _LIVE_STEP)
        if runtime in _MPICHES:
            step = mpich_steps.sharing_step(_mpich_version(runtime, version), _LIVE_STEP)
        return "unknown", f"one host, and nothing says that its ranks share memory: {step}"
    if hosts is None:
        if runtime in _MPICHES:
            has_rows = any(place.local_rank is not None for place, _ in group.places)
            return "unknown", mpich_steps.hosts_step(_mpich_version(runtime, version), has_rows=has_rows)
        return "unknown", _HOSTS_STEP.get(runtime, _ANY_HOSTS_STEP)
    if not named:
        return "unknown", "run again with I_MPI_DEBUG=3, which names libfabric's provider"
    if "unknown" in named or set(named) == {"shm"}:
        provider = next(provider for word, (provider, _) in named.items() if word in ("unknown", "shm")).provider
        return "unknown", _STEPS.get(
            _core(provider), f"{provider} does not tell what goes to other hosts; {_LIVE_STEP}"
        )
    return words.combine(named), None


def _mpich_version(runtime: str, version: str | None) -> str | None:
    return version if runtime == "MPICH" else None


def _is_mlx(group: Group, context: Context) -> bool:
    """Whether Intel MPI's provider mlx, which is UCX, was taken or asked for."""
    is_asked = any(asks_for_mlx(setting) for setting, _ in in_force(context.settings))
    return is_asked or any(_core(provider.provider) == "mlx" for provider, _ in group.providers)


def _of_mlx(why: Mapping[str, list[tuple[Mark, str]]], context: Context) -> dict[str, list[tuple[Mark, str]]]:
    """The reasons, where libfabric or UCX that offers nothing is mlx that does, unless UCX says why."""
    lost = [(mark, "failure") for failure, mark in context.failures if failure[1:3] == ("ucx", "unreachable")]
    missing = [*why.get("ofi", ()), *lost]
    others = {id: marks for id, marks in why.items() if id != "ofi"}
    return {**others, "mlxucx": missing} if missing and not others else others


def _doubt(carriers: Sequence[tuple[Provider, Mark]], context: Context) -> str | None:
    """Why what is named may be another's, or may not be used: a build's line of one MPI beside the words of another
    one; libfabric opened in Open MPI, which does so while it still chooses (mtl ofi, btl ofi), or beside an MPICH that
    is told to send with UCX.
    """
    signs = [failure.runtime for failure, _ in context.failures]
    signs += sorted(context.readers - {"ucx"})  # any site may set those
    others = {told.runtime for told in context.versions if told.runtime in _SPEAKERS.values()}
    others |= {_SPEAKERS[sign] for sign in signs if sign in _SPEAKERS}
    if any(mpi_builds.is_build(provider) for provider, _ in carriers) and others:
        return f"{', '.join(sorted(others))} is named as well as a build of MPICH: {_LIVE_STEP}"
    if "Open MPI" in others and carriers and all(provider.runtime == "libfabric" for provider, _ in carriers):
        return f"Open MPI opens libfabric before it chooses: {_OPENMPI_STEP}"
    if any(asks_for_ucx(setting) for setting, _ in in_force(context.settings)) and all(
        provider.runtime == "libfabric" for provider, _ in carriers
    ):
        return "CH4_NETMOD=ucx: libfabric is not what MPICH sends with; run again with UCX_LOG_LEVEL=info"
    return None


def _is_over_infiniband(group: Group, provider: Provider, settings: Sequence[Setting]) -> bool:
    """Whether its sockets are on IPoIB interfaces: those that the ranks were given, else that which a setting names."""
    names = {place.nic for place, _ in group.places if place.nic}
    told = {place.rank for place, _ in group.places if place.nic}
    if names and any(place.rank not in told for place, _ in group.places):
        return False  # the table of NICs was cut
    if not names:
        wanted = "I_MPI_TCP_NETMASK" if provider.detail == "fabric" else _INTERFACES.get(_core(provider.provider))
        names = {setting.value for setting in settings if setting.name == wanted}
    return bool(names) and all(name == "ib" or words.of_interface(name) == "ipoib" for name in names)


#: What names the interface of a provider, or of the fabric of Intel MPI before 2019, whose ``ib`` is any IPoIB one.
_INTERFACES = {"tcp": "FI_TCP_IFACE", "sockets": "FI_SOCKETS_IFACE", "udp": "FI_UDP_IFACE"}


def _unheard(carriers: Sequence[tuple[Provider, Mark]], context: Context) -> str | None:
    """Why libfabric's own word is not that of the job: each process tells what it opened itself, and one spoke."""
    if context.ranks is None or any(p.runtime != "libfabric" or p.said.pid is None for p, _ in carriers):
        return None
    if len({(mark.order, provider.said.pid) for provider, mark in carriers}) != 1 or context.ranks == 1:
        return None
    return f"1 of {context.ranks} ranks told what it opened: run again with FI_LOG_LEVEL=info on all ranks"


def _hosts(group: Group) -> tuple[str, ...]:
    """The hosts of the ranks' places; else those that speak, where there are several: one does not tell whether others
    are silent.
    """
    names = [place.host for place, _ in group.places if place.host]
    speaking = sorted({provider.said.host for provider, _ in group.providers if provider.said.host})
    if not names and len(speaking) > 1:
        names = speaking
    return tuple(Hosts(names).all(names))


def _hosts_by_place(group: Group) -> int | None:
    """How many hosts there are where each rank tells its number among those of its host: one of each is the first.

    Where rows are missing, two at least if a later rank than 0 is the first of its host, as rank 0 is on another one.
    """
    rows = {place.rank: place.local_rank for place, _ in group.places if place.local_rank is not None}
    firsts = [rank for rank, local in rows.items() if local == 0]
    if not rows or set(rows) != set(range(len(rows))):
        return 2 if any(firsts) else None
    return len(firsts) or None


def _core(provider: str) -> str:
    return provider.split(";", 1)[0].strip().lower()


def _word(provider: Provider) -> str:
    core = _core(provider.provider)
    if mpi_builds.is_build(provider):
        return mpi_builds.word(provider)
    if core == "mrail":
        return _HCAS.get(provider.detail or "", "rdma")
    if core.startswith("dapl:"):  # the entry of dat.conf: OFED's for RoCE, the virtual adapter of a Xeon Phi, others
        return "roce" if "-roe-" in core else "unknown" if "scif" in core else "rdma"
    word = _NAMES.get(core) or words.of_provider(core)
    if core == "verbs" and provider.detail == "Ethernet-iWARP":  # the name of libfabric's verbs fabric there
        return "iwarp"
    return word


def _status(
    verdict: str, context: Context, *, has_ended: bool, has_mlx: bool
) -> tuple[str, dict[str, list[tuple[Mark, str]]]]:
    why: dict[str, list[tuple[Mark, str]]] = {}
    for failure, mark in context.failures:
        if reason := reason_of(failure):
            why.setdefault(reason, []).append((mark, "failure"))
    if has_ended:
        return "aborted", why
    if verdict in ("unknown", "mixed"):
        return ("undecided" if verdict == "unknown" else "mixed"), why
    if verdict in words.RDMA or verdict == "shm":
        return "as-expected", {}
    asked = [mark for setting, mark in in_force(context.settings) if asks_for_tcp(setting, has_mlx=has_mlx)]
    if asked:
        return "by-configuration", asked_for(asked)
    return "fallback", why
