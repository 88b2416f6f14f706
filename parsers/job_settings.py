"""What a job was told: variables and parameters in environment dumps, scripts and command lines.

Only a line that is nothing else counts: ``NAME=VALUE``, ``export NAME=VALUE``, ``unset NAME``, what Python's
``environ({...})`` and DeepSpeed's launcher print, or a command that starts with a launcher. Advice in a help text, a
comment or a sentence is no setting. An indented ``export`` stands in a branch or a function of a script: whether it was
run is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.parsers.job_facts import Launch, Said, Scope, Setting
from ibkit.parsers.log_lines import CONTEXT, IGNORE, Line, shape
from ibkit.parsers.prompts import statements, without_prompt
from ibkit.parsers.records import NamedTuple

#: Prefix of the variable, the runtime that reads it.
_RUNTIMES = (
    ("UCX_", "ucx"), ("OMPI_MCA_", "ompi"), ("PRTE_MCA_", "ompi"), ("NCCL_", "nccl"), ("RCCL_", "nccl"),
    ("I_MPI_", "intel"), ("FI_", "ofi"), ("MPIR_CVAR_", "mpich"), ("MVP_", "mpich"), ("MPICH_", "mpich"),
    ("MV2_", "mvapich2"), ("GLOO_", "gloo"), ("PSM3_", "psm3"),
)  # fmt: skip
#: Variables that tell how many ranks and nodes the job has.
_COUNTS = frozenset(
    (
        "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", "SLURM_NPROCS", "WORLD_SIZE",
        "SLURM_JOB_NUM_NODES", "SLURM_NNODES", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NUM_NODES",
    )
)  # fmt: skip
#: ``2(x3),1``: two tasks on each of three nodes, one on the fourth.
_JOB_TASKS, _STEP_TASKS = "SLURM_TASKS_PER_NODE", "SLURM_STEP_TASKS_PER_NODE"
_TASKS = re.compile(r"(?P<ranks>\d{1,6})(?:\(x(?P<nodes>\d{1,6})\))?\Z")
_NAME = r"(?:UCX|OMPI|PRTE|NCCL|RCCL|I_MPI|FI|MPIR_CVAR|MPICH|MVP|MV2|GLOO|PSM3|PMI|SLURM|WORLD)_\w{1,80}"
#: pdsh, clush and the launchers of training frameworks put the host before each line; a word of advice has no number.
_HOST = r"(?:(?=[\w.-]{1,64}: )(?=[\w.-]*\d)[A-Za-z][\w.-]{0,63}: )?"
_ASSIGNMENT = re.compile(rf"{_HOST}(?:export |declare -x |setenv |set -x )?\s{{0,8}}({_NAME})(?:=| )(.{{0,4000}})\Z")
_BRANCH = re.compile(r"\s+(?:export|setenv|unset)\b")
_UNSET = re.compile(rf"(?:unset|unsetenv) ({_NAME})\Z")
_COMMAND = re.compile(
    r"(?:(?:\w{1,80}=\S{0,4000}|exec|time|nohup|env|command|sudo|timeout(?: -\S{1,20})* \S{1,20}) )*(?:\S{0,1000}/)?"
    r"(?:mpirun|mpiexec|orterun|prterun|srun|horovodrun)(?:[.\w]{0,30})? "
    r"(?!(?:noticed|detected|was|has|could|does|did|will|received|encountered) [a-z]).*\Z"  # what a launcher says
)
#: ``NAME=VALUE``, once or several times, alone or in front of a program.
_LEADING = re.compile(
    r"(?P<how>export |declare -x |env )?"
    r"(?P<variables>(?:[A-Za-z_]\w{0,80}=(?:\"[^\"]{0,400}\"|'[^']{0,400}'|[^\s\"']{0,400})(?:\s{1,8}|\Z)){1,64})"
    r"(?P<rest>.{0,4000})\Z"
)
#: What a program's name looks like behind one variable, where nothing else tells that the line is a command.
_PROGRAM = re.compile(
    r"(?:\.{0,2}/\S|(?:python[\d.]{0,6}|torchrun|deepspeed|accelerate|bash|sh|env|exec|time|numactl|taskset|stdbuf|"
    r"singularity|apptainer|docker|nohup|sudo)\s|\S{1,200}\.(?:sh|py|exe|out|x)(?:\s|\Z))"
)
_WORD = re.compile(rf"({_NAME})=(\"[^\"]*\"|'[^']*'|\S*)")
#: DeepSpeed's launcher names the node's number and its variables (deepspeed/launcher/launch.py).
_DEEPSPEED = re.compile(r"\[launch\.py:\d{1,5}:main\] \d{1,6} (NCCL_\w{1,60})(?:=| )(\S{0,400})\s*\Z")
#: The title of what was submitted, in LSF's report, which stands in front of the output or behind it (bsub -o), and how
#: long a script may be.
_REPORT = "# LSBATCH: User input"
_REPORT_LINES = 100
#: Python's os.environ, printed.
_ENVIRON = re.compile(r"environ\(\{'.{0,65536}\}\)\Z")
_ITEM = re.compile(rf"'({_NAME})': '([^']{{0,4000}})'[,}}]")

_SHAPES = re.compile(
    b"|".join(
        re.escape(shape(mark))
        for mark in (
            b"mpirun", b"mpiexec", b"orterun", b"prterun", b"srun", b"horovodrun",
            b"-mca ", b"UCX_", b"OMPI_MCA_", b"PRTE_MCA_", b"NCCL_", b"I_MPI_",
            b"FI_PROVIDER", b"FI_TCP_I", b"FI_SOCKETS_I", b"FI_UDP_I",
            _REPORT.encode(), b"PSM3_", b"MPICH_", b"MPIR_CVAR_", b"MVP_", b"MV2_", b"GLOO_",
            *(name.encode() + b"=" for name in (*_COUNTS, _JOB_TASKS, _STEP_TASKS)),
        )
    )
    # A line that goes on in the next one; in a record of a log collector, too.
    + rb'|\\(?m:\s{0,4}$)|\\\\(?:\\[nr]){0,2}"'
)  # fmt: skip


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader."""
    return CONTEXT if _SHAPES.search(form) else IGNORE


class Reader:
    """Reads the lines of one stream; remembers a command line that goes on after a backslash."""

    def __init__(self) -> None:
        self._launcher = ""
        self._start = 0
        self._number = 0
        self._reported = 0

    def read(self, line: Line) -> Iterator[Setting | Launch]:
        """What the line sets. Never raises."""
        if line.text.startswith(_REPORT):
            self._reported = line.number
        if line.number != self._number:
            self._start = line.number
        is_first = self._start == line.number
        is_reported = self._reported > 0 and line.number - self._reported <= _REPORT_LINES
        for fact in self._read(line):
            if isinstance(fact, Setting) and is_reported and fact.scope in ("command", "shell"):
                fact = fact._replace(scope="report")
            elif isinstance(fact, Setting) and fact.scope == "command" and not is_first:
                fact = fact._replace(start=self._start)
            yield fact

    def _read(self, line: Line) -> Iterator[Setting | Launch]:
        text = line.text.strip()
        said = Said(line.number, line.raw, None, None, line.rank)
        goes_on = self._launcher if line.number == self._number else ""
        self._launcher = ""
        if goes_on:
            yield from _command(text.split(), said, goes_on)
        else:
            told = without_prompt(text)
            *prepared, last = statements(told)
            for statement in prepared:
                yield from _statement(statement, said, is_shells=True)
            if _COMMAND.match(" ".join(last.split())):
                goes_on = next((found.group(1) for word in last.split() if (found := _LAUNCHER.match(word))), "")
                yield Launch(said)
                yield from _command(last.split(), said, goes_on)
            elif launched := _DEEPSPEED.search(line.raw):
                yield from _variable(launched.group(1), launched.group(2), said)
            elif _ENVIRON.match(last):
                for name, value in _ITEM.findall(last):
                    yield from _variable(name, value, said)
            elif not _BRANCH.match(line.text):
                yield from _statement(last, said, is_shells=len(told) < len(text) or bool(prepared))
        if text.endswith("\\"):
            self._launcher, self._number = goes_on, line.number + 1


def _statement(text: str, said: Said, *, is_shells: bool) -> Iterator[Setting]:
    """What a statement sets that is no launcher's command; ``is_shells``: it stands behind a prompt."""
    leading = _LEADING.match(text)
    if leading and (scope := _scope(leading, is_shells=is_shells)):
        for name, value in _WORD.findall(leading["variables"]):
            yield from _variable(name, value, said, scope)
    elif assigned := _ASSIGNMENT.match(text):
        is_shells |= text.startswith(("export ", "setenv ", "set "))
        yield from _variable(assigned.group(1), assigned.group(2), said, "shell" if is_shells else "printed")
    elif removed := _UNSET.match(text):
        yield from _variable(removed.group(1), "", said, "shell")


def _scope(leading: re.Match[str], *, is_shells: bool) -> Scope | None:
    """Whose variables are that stand in front of something; None where they are a variable whose value has spaces."""
    rest = leading["rest"]
    if not rest or rest.startswith("#"):
        return "shell" if is_shells or leading["how"] == "export " else "printed"
    if leading["how"] in ("export ", "declare -x "):
        return None
    if rest == "\\":  # the program stands in the next line
        return "command"
    is_command = is_shells or leading["how"] or leading["variables"].count("=") > 1 or _PROGRAM.match(rest)
    return "command" if is_command else None


def _variable(name: str, value: str, said: Said, scope: Scope = "printed") -> Iterator[Setting]:
    value = value.strip().strip("\"';")
    if name in _COUNTS or (name == _JOB_TASKS and slots(value)):
        yield Setting(said, "job", name, value, scope)
    elif name == _STEP_TASKS and (found := slots(value)):
        yield Setting(said, "job", "nodes", str(found.nodes), scope)
    elif name == "I_MPI_PERHOST" and value.isdecimal():
        yield Setting(said, "job", "per-node", value, scope)
    for prefix, runtime in _RUNTIMES:
        if name.startswith(prefix):
            yield Setting(said, runtime, name.removeprefix(prefix) if runtime == "ompi" else name, value, scope)


class Slots(NamedTuple):
    """Room for ranks on the nodes of a job: on how many nodes, for how many, and on the node with least of it."""

    nodes: int
    ranks: int
    least: int


def slots(tasks: str) -> Slots | None:
    """What Slurm tells by so many tasks on each node; None where the list is none.

    >>> slots("2(x3),1"), slots("2(x")
    (Slots(nodes=4, ranks=7, least=1), None)
    """
    found = [_TASKS.match(part) for part in tasks.split(",")]
    pairs = [(int(part["ranks"]), int(part["nodes"] or 1)) for part in found if part]
    if None in found:
        return None
    return Slots(sum(nodes for _, nodes in pairs), sum(ranks * nodes for ranks, nodes in pairs), min(pairs)[0])


_LAUNCHER = re.compile(r"(?:.*/)?(mpirun|mpiexec|orterun|prterun|srun|horovodrun)(?:[.\w]{0,30})?\Z")
#: On how many nodes srun's ranks are: this number, or from the first to the second one.
_NODES = re.compile(r"(?:--nodes[= ]|-N ?)(\d{1,7})(?:-(\d{1,7}))?(?: |\Z)")
_TASKS_PER_NODE = re.compile(r"--ntasks-per-node[= ](\d{1,7})(?: |\Z)")
#: How many ranks come to one host before the next one: Hydra's and Intel MPI's, Open MPI's.
_PER_NODE = re.compile(
    r"(?:--?ppn|--?perhost|-grr|--?npernode|-N|--ntasks-per-node|--?map-by ppr:)[= ]?(\d{1,7})(?::node)?(?: |\Z)"
)
_ONE_PER_NODE = frozenset(("-rr", "-pernode", "--pernode"))
#: Options of launchers that take two words, and common ones that take none.
_MCA = frozenset(("--mca", "-mca", "--gmca", "-gmca", "--omca", "-omca"))
_VARIABLES = frozenset(("-genv", "-env", "--env", "--genv"))
_TWO_WORDS = _MCA | _VARIABLES
_NO_WORD = frozenset(
    ("--oversubscribe", "--nooversubscribe", "--allow-run-as-root", "--tag-output", "--timestamp-output", "-v", "-l",
     "--report-bindings", "--use-hwthread-cpus", "--display-map", "--verbose", "--label", "--exclusive", "--unbuffered")
)  # fmt: skip


#: Options that hold their value: ``--ntasks=4``, ``-n4``.
_HAS_VALUE = re.compile(r"--?[\w-]{1,60}=|-[a-zA-Z]\d")


def _own_words(words: list[str]) -> set[int]:
    """The places of the launcher's own words: up to the first one that is neither an option nor an option's value, and
    again behind a colon, where the next command begins.
    """
    own = set()
    is_open = True
    is_launched = not any(map(_LAUNCHER.match, words))  # else a line that goes on behind a backslash
    for place, word in enumerate(words):
        if word == ":" or _LAUNCHER.match(word):
            is_open = is_launched = True
        elif is_launched and not word.startswith("-"):
            before = words[place - 1] if place else ""
            is_value = before.startswith("-") and before not in _NO_WORD and not _HAS_VALUE.match(before)
            is_open &= is_value or (place > 1 and words[place - 2] in _TWO_WORDS)
        if is_open:
            own.add(place)
    return own


#: srun's list of variables, in which a comma ends a value that is not in single quotes (man 1 srun, --export).
_EXPORTED = re.compile(rf"[=,]({_NAME})=('[^']{{0,400}}|[^,']{{0,400}})")


def _command(words: list[str], said: Said, launcher: str) -> Iterator[Setting]:
    """MCA parameters, exported variables and the number of ranks of one line of a command."""
    words = [word.strip("\"'") for word in words]
    contexts: list[int | None] = [None]
    own = _own_words(words)
    for place, (word, *rest) in enumerate(words[index : index + 3] for index in range(len(words))):
        if word in _MCA and len(rest) == 2:
            yield Setting(said, "ompi", rest[0], rest[1], "command")
        elif word in _VARIABLES and len(rest) == 2 and "=" not in rest[0]:
            yield from _variable(rest[0], rest[1], said, "command")
        elif re.match(rf"{_NAME}=", word):
            name, _, value = word.partition("=")
            yield from _variable(name, value, said, "command")
        elif word.startswith("--export=") and launcher == "srun" and place in own:
            for name, value in _EXPORTED.findall(word):
                yield from _variable(name, value, said, "command")
        elif word in ("-TCP", "-tcp") and launcher.startswith("mpi"):
            yield Setting(said, "intel", "I_MPI_FABRICS", "shm:tcp", "command")  # what this option of Intel MPI's sets
        elif word == ":":
            contexts.append(None)
        elif place not in own:
            continue  # -n and -c of the program that is launched are no numbers of ranks
        elif word in ("-np", "-n", "--np", "-c", "--ntasks", "--n") and rest and rest[0].isdigit() and len(rest[0]) < 8:
            if not (word == "-c" and launcher == "srun"):
                contexts[-1] = int(rest[0])
        elif (found := re.match(r"(?:--ntasks|-n)=?(\d{1,7})\Z", word)) and launcher == "srun":
            contexts[-1] = int(found.group(1))
        elif found := (_NODES if launcher == "srun" else _PER_NODE).match(" ".join((word, *rest[:1]))):
            for number in filter(None, found.groups()):  # of a range both: either may be so
                yield Setting(said, "job", "nodes" if launcher == "srun" else "per-node", number, "command")
        elif launcher == "srun" and (found := _TASKS_PER_NODE.match(" ".join((word, *rest[:1])))):
            yield Setting(said, "job", "per-node", found.group(1), "command")
        elif word in _ONE_PER_NODE and launcher != "srun":
            yield Setting(said, "job", "per-node", "1", "command")
    counts = [count for count in contexts if count is not None]
    if counts and len(counts) == len(contexts):
        is_srun = launcher == "srun" and sum(1 for word in words if _LAUNCHER.match(word)) < 2  # it may start an mpirun
        yield Setting(said, "job", "tasks" if is_srun else "ranks", str(sum(counts)), "command")
