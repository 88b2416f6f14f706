"""A job's verdict for people: a sentence, the hosts folded by what differs, reasons with their lines, the next step."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from ibkit.display import and_more, clean, counted
from ibkit.export.mpi_evidence import names_of_runs, quoted, telling_first
from ibkit.export.mpi_sentence import LAYERS, has_runs, sentence
from ibkit.export.mpi_steps import layer_step, name_of_groups
from ibkit.model.host_matrix import Cell, Matrix, fold
from ibkit.model.mpi import Evidence, JobVerdict, Layer, Pair, Reason
from ibkit.transport.words import RDMA

#: The kind of the problems that are part of the answer to people.
SILENT = "silent-ranks"
#: So many rows of the table, runs, and lines of evidence, are shown to people; --json has all.
_SHOWN_ROWS = 12
_SHOWN_LAYERS = 20
_SHOWN_EVIDENCE = 12
#: Characters of a quoted line.
_MAX_TEXT = 160


def lines(answer: JobVerdict, width: int | None = None) -> Iterator[str]:
    """The answer, the verdict in one sentence first. With ``width`` (columns) long lines go on below, indented."""
    for text, indent in _lines(answer):
        if width is None or len(text) <= width:
            yield text
        else:
            yield from textwrap.wrap(text, max(width, 40), subsequent_indent=" " * indent, break_on_hyphens=False)


def place(evidence: Evidence) -> str:
    """``file:line: text``."""
    return f"{clean(evidence.place)}: {clean(evidence.text.strip(), _MAX_TEXT)}"


def _lines(answer: JobVerdict) -> Iterator[tuple[str, int]]:
    """Lines, each with the indentation of what goes on below it."""
    yield f"{clean(answer.target)}: {sentence(answer)}", 2
    for problem in answer.problems:
        if problem.kind == SILENT:
            yield f"  {clean(problem.text, 600)}", 4
    evidence = {item.id: item for item in answer.evidence}
    quoted_lines: set[str] = set()
    for layer in answer.layers[:_SHOWN_LAYERS]:
        yield "", 0
        yield _heading(layer, answer.layers), 4
        matrix = fold(layer)
        for text in _table(matrix, layer):
            yield text, 6
        for kind, reason in (*(("reason", one) for one in layer.reasons), *(("remark", one) for one in layer.remarks)):
            yield from _reason(kind, reason, layer, evidence, quoted_lines)
        if step := layer_step(layer, matrix):
            yield f"  next step: {clean(step, 600)}", 4
    if len(answer.layers) > _SHOWN_LAYERS:
        yield "", 0
        yield _rest(answer.layers[_SHOWN_LAYERS:]), 4
    by_line: dict[str, Evidence] = {}
    for item in telling_first(answer.evidence):
        by_line.setdefault(place(item), item)
    left = [item for line, item in by_line.items() if line not in quoted_lines]
    if left:
        yield "", 0
        yield "evidence:", 2
        runs = names_of_runs(answer.layers)
        for item in quoted(left, _SHOWN_EVIDENCE):
            run = f", {clean(runs[item.id])}" if item.id in runs else ""
            yield f"  [{item.evidence_class}{run}] {place(item)}", 6
        if len(left) > _SHOWN_EVIDENCE:
            yield f"  ...{and_more(len(left) - _SHOWN_EVIDENCE, 'line')}; --json lists all", 4
    if answer.next_step and not any(layer.next_step == answer.next_step for layer in answer.layers[:_SHOWN_LAYERS]):
        yield "", 0
        yield f"next step: {clean(answer.next_step, 600)}", 2
    if ids := list(dict.fromkeys(reason.id for layer in answer.layers for reason in layer.reasons)):
        yield "", 0
        yield f"more about {'it' if len(ids) == 1 else 'them'}: ibkit check-mpi-transport --explain {ids[0]}", 2


def _heading(layer: Layer, layers: Sequence[Layer]) -> str:
    """What ran where. Of several, running jobs go by a process of theirs, runs of a log by their number."""
    runtime = clean(" ".join(word for word in (layer.runtime, layer.version) if word))
    name = runtime or LAYERS.get(layer.layer, layer.layer)
    run = f" run {layer.job}" if has_runs(layer, layers) else ""
    if layer.process is not None:
        run = f" job {clean(layer.process)}" if len(layers) > 1 else ""
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
    return f"...{and_more(len(layers), 'run')}: {told}; --json lists all"


# -- the hosts


def _table(matrix: Matrix, layer: Layer) -> Iterator[str]:
    """Between hosts the rare transports first, as what differs is looked for; then what hosts do inside."""
    counts: Counter[str] = Counter()
    for cell in matrix.between:
        counts[cell.transport] += cell.pairs
    words = sorted(counts, key=lambda word: (counts[word], word in RDMA, word))
    shown = [*_rows(matrix, layer, words[:-1]), *_rows(matrix, layer, words[-1:])]
    rare = [line for _, line in shown[: _SHOWN_ROWS - 1]]
    last = shown[_SHOWN_ROWS - 1 :]
    yield from (f"  {line}" for line in rare)
    if len(last) > 1:
        hidden = counts - sum((Counter(told) for told, _ in shown[: _SHOWN_ROWS - 1]), Counter())
        told = ", ".join(f"{count:,} {word}" for word, count in sorted(hidden.items()))
        yield f"  ... and {counted(sum(hidden.values()), 'more pair of hosts', 'more pairs of hosts')}: {told}"
    elif last:
        yield f"  {last[0][1]}"
    known = {number for cell in matrix.between for number in (cell.row, cell.column)}
    silent = [number for number in range(len(matrix.groups)) if number not in known]
    if known and silent:
        yield f"  {name_of_groups(matrix, silent)}: to other hosts nothing is known"
    yield from _inside(matrix, layer)


def _rows(matrix: Matrix, layer: Layer, words: list[str]) -> Iterator[tuple[dict[str, int], str]]:
    """The cells of these transports in few lines, each with the numbers of pairs that it stands for: a group that has
    several cells of one transport is one line.
    """
    for word in words:
        cells = [cell for cell in matrix.between if cell.transport == word]
        for _ in range(_SHOWN_ROWS):
            if not cells:
                break
            of_group = Counter(number for cell in cells for number in {cell.row, cell.column})
            center = max(of_group, key=lambda number: (of_group[number], number))
            mine = [cell for cell in cells if center in (cell.row, cell.column)]
            cells = [cell for cell in cells if center not in (cell.row, cell.column)]
            yield {word: sum(cell.pairs for cell in mine)}, _row(matrix, center, mine, layer)
        if cells:
            yield {word: sum(cell.pairs for cell in cells)}, _left(cells)


def _row(matrix: Matrix, center: int, cells: list[Cell], layer: Layer) -> str:
    """A group, the groups that it reaches by one transport, and of how many pairs that is known."""
    if len(cells) == 1 and cells[0].pairs == 1:
        pair = next(matrix.pairs_of(cells[0], layer))
        return f"{clean(pair.a)} - {clean(pair.b)}: {cells[0].transport}{_ranks(pair)}"
    others = [cell.column if cell.row == center else cell.row for cell in cells]
    if others == [center]:
        where = f"{name_of_groups(matrix, others)} with each other"
    elif len(others) > 1 and len({*others, center}) == len(matrix.groups):
        where = f"{name_of_groups(matrix, [center])} - all {'hosts' if center in others else 'other hosts'}"
    else:
        where = f"{name_of_groups(matrix, min([center], others))} - {name_of_groups(matrix, max([center], others))}"
    return f"{where}: {cells[0].transport} ({_known(cells)})"


def _left(cells: list[Cell]) -> str:
    return f"in other places: {cells[0].transport} ({_known(cells)})"


def _known(cells: list[Cell]) -> str:
    pairs, possible = sum(cell.pairs for cell in cells), sum(cell.possible for cell in cells)
    return f"{f'{pairs:,} of ' if pairs < possible else ''}{counted(possible, 'pair of hosts', 'pairs of hosts')}"


def _inside(matrix: Matrix, layer: Layer) -> Iterator[str]:
    """What hosts do inside, the rarest first."""
    by_word: dict[str, list[Cell]] = {}
    for cell in matrix.on_host:
        by_word.setdefault(cell.transport, []).append(cell)
    for word, cells in sorted(by_word.items(), key=lambda item: sum(cell.pairs for cell in item[1])):
        is_single = len(cells) == 1 and cells[0].pairs == cells[0].possible == 1
        ranks = _ranks(next(matrix.pairs_of(cells[0], layer))) if is_single else ""
        yield f"  on {name_of_groups(matrix, [cell.row for cell in cells])}: {word}{ranks}"


def _ranks(pair: Pair) -> str:
    named = ", ".join(f"{a}<->{b}" for a, b in pair.ranks[:8])
    return f" (ranks {named}{and_more(len(pair.ranks) - 8)})" if named else ""


# -- reasons


def _reason(
    kind: str, reason: Reason, layer: Layer, evidence: dict[int, Evidence], quoted_lines: set[str]
) -> Iterator[tuple[str, int]]:
    yield f"  {kind} {reason.id}: {reason.text}", 4
    if where := _where(reason, layer):
        yield f"    {where}", 6
    for number in reason.evidence[:2]:
        if number in evidence:
            quoted_lines.add(place(evidence[number]))
            yield f"    {place(evidence[number])}", 6
    yield f"    fix: {clean(reason.fix, 1000)}", 6


def _where(reason: Reason, layer: Layer) -> str:
    """``on n02, rank 3``: where its lines are from, if the job has more places than these."""
    hosts, ranks = reason.hosts, reason.ranks
    told = []
    if hosts and len(layer.hosts) != 1:
        told.append(f"on {', '.join(map(clean, hosts[:4]))}{and_more(len(hosts) - 4, 'host')}")
    if ranks:
        told.append(f"rank{'s' if len(ranks) > 1 else ''} {' '.join(map(str, ranks[:8]))}{and_more(len(ranks) - 8)}")
    return ", ".join(told)
