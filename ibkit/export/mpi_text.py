"""A job's verdict for people: a sentence, the hosts folded by what differs, reasons with their lines, the next step."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator

from ibkit.display import clean
from ibkit.export.mpi_sentence import LAYERS, sentence
from ibkit.model.host_matrix import Cell, Matrix, fold
from ibkit.model.mpi import Evidence, JobVerdict, Layer, Pair, Reason
from ibkit.transport.words import RDMA

#: So many cells of the table, runs, and lines of evidence, are shown to people; --json has all.
_SHOWN_CELLS = 12
_SHOWN_LAYERS = 20
_SHOWN_EVIDENCE = 12
#: Characters of a set of hosts' names, and of a quoted line.
_MAX_NAME = 44
_MAX_TEXT = 160
_NO_REASON = (
    "no line says why: look at `ibkit status` and at /proc/PID/limits of a rank on {hosts}; "
    "`ibkit check-mpi-transport --explain` lists what it can be"
)


def lines(answer: JobVerdict, width: int | None = None) -> Iterator[str]:
    """The answer, the verdict in one sentence first. With ``width`` (columns) long lines go on below, indented."""
    for text, indent in _lines(answer):
        if width is None or len(text) <= width:
            yield text
        else:
            yield from textwrap.wrap(text, max(width, 40), subsequent_indent=" " * indent, break_on_hyphens=False)


def place(evidence: Evidence) -> str:
    """``file:line: text``."""
    return f"{clean(evidence.file)}:{evidence.line}: {clean(evidence.text.strip(), _MAX_TEXT)}"


def _lines(answer: JobVerdict) -> Iterator[tuple[str, int]]:
    """Lines, each with the indentation of what goes on below it."""
    yield f"{clean(answer.target)}: {sentence(answer)}", 2
    evidence = {item.id: item for item in answer.evidence}
    quoted: set[str] = set()
    for layer in answer.layers[:_SHOWN_LAYERS]:
        yield "", 0
        yield _heading(layer), 4
        matrix = fold(layer)
        for text in _table(matrix, layer):
            yield text, 6
        for kind, reason in (*(("reason", one) for one in layer.reasons), *(("remark", one) for one in layer.remarks)):
            yield from _reason(kind, reason, layer, evidence, quoted)
        if step := _next_step(layer, matrix):
            yield f"  next step: {clean(step, 600)}", 4
    if len(answer.layers) > _SHOWN_LAYERS:
        yield "", 0
        yield _rest(answer.layers[_SHOWN_LAYERS:]), 4
    told = {place(item): item.evidence_class for item in reversed(answer.evidence)}
    left = [(line, told[line]) for line in dict.fromkeys(map(place, answer.evidence)) if line not in quoted]
    if left:
        yield "", 0
        yield "evidence:", 2
        for line, evidence_class in left[:_SHOWN_EVIDENCE]:
            yield f"  [{evidence_class}] {line}", 6
        if len(left) > _SHOWN_EVIDENCE:
            yield f"  ... and {len(left) - _SHOWN_EVIDENCE} more lines; --json lists all", 4
    if answer.next_step and not any(layer.next_step == answer.next_step for layer in answer.layers[:_SHOWN_LAYERS]):
        yield "", 0
        yield f"next step: {clean(answer.next_step, 600)}", 2
    if ids := list(dict.fromkeys(reason.id for layer in answer.layers for reason in layer.reasons)):
        yield "", 0
        yield f"more about {'it' if len(ids) == 1 else 'them'}: ibkit check-mpi-transport --explain {ids[0]}", 2


def _heading(layer: Layer) -> str:
    runtime = clean(" ".join(word for word in (layer.runtime, layer.version) if word))
    name = runtime or LAYERS.get(layer.layer, layer.layer)
    run = f" run {layer.job}" if layer.job > 1 else ""
    ranks = "ranks not known" if layer.ranks is None else f"{layer.ranks:,} rank{'s' if layer.ranks != 1 else ''}"
    if not layer.hosts:
        hosts = "hosts not known"
    elif len(layer.hosts) <= 3:
        hosts = ", ".join(clean(host) for host in layer.hosts)
    else:
        hosts = f"{len(layer.hosts):,} hosts"
    return f"{name}{run} ({ranks}; {hosts}): {layer.verdict}, {layer.status}"


def _rest(layers: tuple[Layer, ...]) -> str:
    counts = Counter(f"{layer.verdict}, {layer.status}" for layer in layers)
    told = "; ".join(f"{count} {words}" for words, count in counts.most_common())
    return f"... and {len(layers)} more runs: {told}; --json lists all"


# -- the hosts


def _table(matrix: Matrix, layer: Layer) -> Iterator[str]:
    """The cells between hosts, the rarest transports first: what differs is looked for. Then those inside hosts."""
    counts: Counter[str] = Counter()
    for cell in matrix.between:
        counts[cell.transport] += cell.pairs
    cells = sorted(matrix.between, key=lambda c: (counts[c.transport], c.transport in RDMA, c.transport, -c.pairs))
    for cell in cells[:_SHOWN_CELLS]:
        yield f"  {_cell(matrix, cell, layer)}"
    if len(cells) > _SHOWN_CELLS:
        yield f"  ... and {_more(cells[_SHOWN_CELLS:])}"
    known = {number for cell in matrix.between for number in (cell.row, cell.column)}
    silent = [number for number in range(len(matrix.groups)) if number not in known]
    if known and silent:
        yield f"  {', '.join(_name(matrix, number) for number in silent)}: to other hosts nothing is known"
    for cell in matrix.on_host[:_SHOWN_CELLS]:
        ranks = _ranks(next(matrix.pairs_of(cell, layer))) if cell.pairs == 1 else ""
        yield f"  on {_name(matrix, cell.row)}: {cell.transport}{ranks}"
    if len(matrix.on_host) > _SHOWN_CELLS:
        words = Counter(cell.transport for cell in matrix.on_host[_SHOWN_CELLS:])
        told = ", ".join(f"{count} {word}" for word, count in sorted(words.items()))
        yield f"  ... and on {sum(words.values())} more groups of hosts: {told}"


def _cell(matrix: Matrix, cell: Cell, layer: Layer) -> str:
    if cell.pairs == 1:
        pair = next(matrix.pairs_of(cell, layer))
        return f"{clean(pair.a)} - {clean(pair.b)}: {cell.transport}{_ranks(pair)}"
    one, other = _name(matrix, cell.row), _name(matrix, cell.column)
    where = f"{one} with each other" if cell.row == cell.column else f"{one} - {other}"
    of = f" of {cell.possible:,}" if cell.pairs < cell.possible else ""
    return f"{where}: {cell.transport} ({cell.pairs:,}{of} pairs of hosts)"


def _more(cells: list[Cell]) -> str:
    counts: Counter[str] = Counter()
    for cell in cells:
        counts[cell.transport] += cell.pairs
    told = ", ".join(f"{count:,} {word}" for word, count in sorted(counts.items()))
    return f"{sum(counts.values()):,} more pairs of hosts: {told}"


def _name(matrix: Matrix, number: int) -> str:
    group = matrix.groups[number]
    name = clean(group.name, 4096)
    if len(name) <= _MAX_NAME:
        return name
    return f"{clean(group.hosts[0])} and {len(group.hosts) - 1:,} more hosts"


def _ranks(pair: Pair) -> str:
    named = " ".join(f"{a}-{b}" for a, b in pair.ranks[:8])
    more = f" and {len(pair.ranks) - 8} more" if len(pair.ranks) > 8 else ""
    return f" (ranks {named}{more})" if named else ""


# -- reasons and the next step


def _next_step(layer: Layer, matrix: Matrix) -> str | None:
    """What the layer says is to be done; where no line proves a reason, where to look for it."""
    if layer.status == "undecided":
        return layer.next_step
    if layer.reasons or layer.status not in ("fallback", "mixed"):
        return None
    known = {cell.transport for cell in matrix.between}
    if known and known <= RDMA:
        return None  # InfiniBand here and RoCE there
    odd = [_name(matrix, number) for number in _without_rdma(matrix)] if layer.status == "mixed" else []
    return _NO_REASON.format(hosts=" and ".join(odd[:3]) or "each host")


def _without_rdma(matrix: Matrix) -> list[int]:
    """The groups of which no pair is known to use RDMA, where pairs of others do."""
    having = {number for cell in matrix.between if cell.transport in RDMA for number in (cell.row, cell.column)}
    named = {number for cell in matrix.between for number in (cell.row, cell.column)}
    return sorted(named - having) if having else []


def _reason(
    kind: str, reason: Reason, layer: Layer, evidence: dict[int, Evidence], quoted: set[str]
) -> Iterator[tuple[str, int]]:
    yield f"  {kind} {reason.id}: {reason.text}", 4
    if where := _where(reason, layer):
        yield f"    {where}", 6
    for number in reason.evidence[:2]:
        if number in evidence:
            quoted.add(place(evidence[number]))
            yield f"    {place(evidence[number])}", 6
    yield f"    fix: {clean(reason.fix, 1000)}", 6


def _where(reason: Reason, layer: Layer) -> str:
    """``on n02, rank 3``: where its lines are from, if the job has more places than these."""
    hosts, ranks = reason.hosts, reason.ranks
    told = []
    if hosts and len(layer.hosts) != 1:
        told.append(f"on {', '.join(map(clean, hosts[:4]))}{f' and {len(hosts) - 4} more hosts' * (len(hosts) > 4)}")
    if ranks:
        more = f" and {len(ranks) - 8} more" if len(ranks) > 8 else ""
        told.append(f"rank{'s' if len(ranks) > 1 else ''} {' '.join(map(str, ranks[:8]))}{more}")
    return ", ".join(told)
