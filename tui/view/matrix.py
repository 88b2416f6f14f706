"""What moved the data between groups of hosts, as a matrix: a row and a column for each group, a word in each cell."""

from __future__ import annotations

from collections.abc import Sequence

from ibkit.display import counted, first_few
from ibkit.model.host_matrix import Cell, Group, Matrix
from ibkit.model.mpi import Evidence, Layer, Pair
from ibkit.tui.view.cells import padded, widest
from ibkit.tui.view.level import INFO, OK, UNKNOWN, WARNING
from ibkit.tui.view.lines import BLANK, Line, heading, line, span
from ibkit.tui.view.table import Column, Row, Table

#: A group's name in the head of its column (characters); its row has the whole of it.
_NAME_CHARS = 18
#: How many groups the small picture above the evidence shows.
MOST_DRAWN = 8
#: Words that are RDMA, and words of which nobody knows what they are.
RDMA = frozenset(("ib", "roce", "iwarp", "rdma", "opa", "efa", "slingshot", "shm"))
_OPEN = frozenset(("unknown", "mixed"))
PAIR_COLUMNS = (
    Column("Host", flexible=True, least=10),
    Column("Host", flexible=True, least=10),
    Column("Transport", tinted=True),
    Column("Pairs of ranks", right=True, drop=2, unknown=""),
    Column("Evidence", flexible=True, least=20, turn=1, unknown="-"),
)


class MatrixTable(Table):
    """The cursor stands on a cell; the first column holds the names of the rows."""

    by_cell = True


def table(matrix: Matrix) -> MatrixTable:
    """The whole matrix; the cells below the diagonal repeat those above it."""
    columns = [Column("Hosts", flexible=True, least=12)]
    columns += [Column(_short(group.name, number)) for number, group in enumerate(matrix.groups)]
    words = words_of(matrix)
    rows = []
    for row, group in enumerate(matrix.groups):
        cells = tuple(words.get((min(row, column), max(row, column)), "?") for column in range(len(matrix.groups)))
        rows.append(Row(row, max(map(level_of, cells), default=OK), (group.name, *cells)))
    return MatrixTable("group of hosts", columns, rows, plural="groups of hosts")


def words_of(matrix: Matrix) -> dict[tuple[int, int], str]:
    """The text of each cell: the transport between hosts, behind a bar what hosts do inside. A star says that not all
    pairs of the cell are known.
    """
    found = {(cell.row, cell.column): _word(cell) for cell in matrix.between}
    for cell in matrix.on_host:
        between = found.get((cell.row, cell.column))
        found[cell.row, cell.column] = f"{between} | {_word(cell)}" if between else f"- | {_word(cell)}"
    for number, group in enumerate(matrix.groups):
        if len(group.hosts) == 1:
            found.setdefault((number, number), "-")
    return found


def level_of(text: str) -> int:
    """How a cell's transport is to be looked at: whether it is a fault the job's status says, not the matrix."""
    words = {word.rstrip("*") for word in text.split()} - {"|", "-"}
    if words & {"?", *_OPEN}:
        return UNKNOWN
    return OK if words <= RDMA else WARNING if words & {"tcp", "ipoib", "none"} else INFO


def drawn(matrix: Matrix) -> list[Line]:
    """A small matrix as lines, for the page of the job; empty where it is large or tells nothing."""
    if not matrix.groups or len(matrix.groups) > MOST_DRAWN or not (matrix.between or matrix.on_host):
        return []
    made = table(matrix)
    texts = [("", *(f"({number})" for number in range(1, len(matrix.groups) + 1))), *(row.values for row in made.rows)]
    names = [f"({number}) {_cut(group.name, 40)}" for number, group in enumerate(matrix.groups, 1)]
    first = widest(names)
    widths = [widest([str(row[column + 1]) for row in texts]) for column in range(len(matrix.groups))]
    lines = [line(span(f"   {'':<{first}}  {_aligned(texts[0][1:], widths)}", "caption"))]
    for name, row, values in zip(names, made.rows, texts[1:], strict=True):
        role = ("", "info", "unknown", "warning", "critical")[row.level]
        lines.append(line(span(f"   {padded(name, first)}  ", "caption"), span(_aligned(values[1:], widths), role)))
    return lines


def cell_lines(matrix: Matrix, row: int, column: int) -> list[Line]:
    """A cell in words: whose it is, how much of it is known."""
    if not (0 <= row < len(matrix.groups) and 0 <= column < len(matrix.groups)):
        return []
    one, other = matrix.groups[row], matrix.groups[column]
    cell = matrix.cell(row, column)
    lines = [line(span(f" {_count(one)}  x  {_count(other)}", "heading"))]
    of_all = counted(cell.possible, "pair of hosts is", "pairs of hosts are")
    known = f"{cell.pairs:,} of {of_all} known" if cell.possible else "one host"
    between = cell.transport if cell.pairs else "not known"
    lines.append(line(" between hosts  ", span(between), span(f"   {known}", "dim")))
    if row == column:
        inside = next((cell for cell in matrix.on_host if cell.row == row), None)
        told = (
            f"{inside.transport}, on {inside.pairs:,} of {counted(inside.possible, 'host')}" if inside else "not known"
        )
        lines.append(line(" inside a host  ", span(told)))
    return lines


def pair_table(pairs: Sequence[Pair], evidence: dict[int, Evidence]) -> Table:
    """The pairs of hosts of one cell."""
    rows = []
    for number, pair in enumerate(pairs):
        first = next((evidence[one] for one in pair.evidence if one in evidence), None)
        told = f"#{first.id} {first.place}" if first else None
        rows.append(
            Row(number, level_of(pair.transport), (pair.a, pair.b, pair.transport, len(pair.ranks) or None, told))
        )
    return Table("pair of hosts", PAIR_COLUMNS, rows, plural="pairs of hosts")


def pair_lines(pair: Pair) -> list[Line]:
    """A pair, and the ranks that were named."""
    ranks = first_few((f"{a}-{b}" for a, b in pair.ranks), 40)
    return [
        line(" ", span(f"{pair.a} - {pair.b}: {pair.transport}", "heading")),
        line(" ranks  ", span(ranks or "none are named")),
    ]


def group_lines(matrix: Matrix, layer: Layer, name: str) -> list[Line]:
    """What the matrix is of, by the layer's name, and how to read it."""
    note = "x - | y: inside a host y; *: not all pairs are known; arrows choose a cell"
    counts = f" {name}: {counted(len(layer.hosts), 'host')} in {counted(len(matrix.groups), 'group')}"
    return [heading(counts), line(span(f" {note}", "dim")), BLANK]


def _word(cell: Cell) -> str:
    return f"{cell.transport}{'*' if cell.pairs < cell.possible else ''}"


def _short(name: str, number: int) -> str:
    return _cut(name, _NAME_CHARS) if len(name) <= _NAME_CHARS else f"({number + 1}) {_cut(name, _NAME_CHARS - 5)}"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def _aligned(texts: Sequence[object], widths: Sequence[int]) -> str:
    return "  ".join(padded(str(text), width) for text, width in zip(texts, widths, strict=True)).rstrip()


def _count(group: Group) -> str:
    return f"{_cut(group.name, 60)} ({counted(len(group.hosts), 'host')})"
