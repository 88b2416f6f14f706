"""The fabric as a tree: switch, its ports, who is at the other end of each. What is folded costs nothing."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from ibkit.model.fabric import End
from ibkit.tui.view.filters import EVERYTHING, Filter
from ibkit.tui.view.level import OK
from ibkit.tui.view.subnet import SubnetView, lids_of, type_word
from ibkit.tui.view.table import AS_THEY_CAME, Column, Order, Row, Table, sort_key

COLUMNS = (
    Column("Node, port", flexible=True, least=24),
    Column("Link", unknown=""),
    Column("Rate", unknown=""),
    Column("Neighbour", flexible=True, least=16, unknown=""),
    Column("Port", right=True, unknown=""),
    Column("Remark", flexible=True, least=13, turn=1, drop=1, unknown="", tinted=True),
    Column("LID", right=True, unknown="", drop=2),
    Column("GUID", drop=3, unknown=""),
)
FOLDED, UNFOLDED = "▸ ", "▾ "
#: Where a filter leaves no more ports than this, it unfolds the nodes that have them.
FEW_PORTS = 200
#: How far each level is from the one above, and how wide a handle is (cells).
INDENT = 2


class Behind(NamedTuple):
    """Who is at the other end of a port's link."""

    end: End


class _Branch(NamedTuple):
    """A row that may be shown. ``values`` are without what shows its depth; ``is_open`` is None with nothing below."""

    key: Hashable
    level: int
    values: tuple[Any, ...]
    depth: int
    is_open: bool | None = None


class TreeTable(Table):
    """Makes its rows when they are chosen: the nodes on top, below one that is unfolded its ports, below a port its
    neighbour. Filter and order work on the nodes, and on the ports of each node.

    ``choices`` are the rows that somebody has unfolded (True) or folded where a filter unfolds them (False); ``only``
    are the ports of a quick view, None for all.
    """

    def __init__(self, view: SubnetView, choices: dict[Hashable, bool], only: Container[End] | None = None) -> None:
        super().__init__("line", COLUMNS, ())
        self._view = view
        self._choices = choices
        self._unfolded: Container[Hashable] = ()
        self._only = only
        self._branches: list[_Branch] = []

    def select(self, wanted: Filter = EVERYTHING, faults_only: bool = False, order: Order = AS_THEY_CAME) -> list[int]:
        """Make the rows that are left, in their order; they are all shown."""
        self._branches = list(self._chosen(wanted, faults_only, order))
        self.rows = tuple(map(_row, self._branches))
        self._cells = self._haystack = self._widths = None
        return list(range(len(self.rows)))

    def toggle(self, key: Hashable) -> None:
        """Unfold a row, or fold it."""
        by_itself = key in self._unfolded
        if key in self._choices:
            del self._choices[key]
        else:
            self._choices[key] = not by_itself

    def is_handle(self, index: int, x: int) -> bool:
        """The handle, and the blanks before it."""
        branch = self._branches[index] if index < len(self._branches) else None
        return branch is not None and branch.is_open is not None and x < (branch.depth + 1) * INDENT

    def _chosen(self, wanted: Filter, faults_only: bool, order: Order) -> Iterator[_Branch]:
        view, only = self._view, self._only
        nodes = view.nodes.rows
        self._unfolded = ()
        if only is None and wanted == EVERYTHING and not faults_only:
            for branch in _ordered([self._node(index) for index in view.tops], order):
                yield from self._with_ports(branch, view.ports_of.get(branch.key, []), order)
            return
        found: dict[Hashable, list[int]] = {}
        for index in view.ports.select(wanted, faults_only):
            end = view.ports.rows[index].key
            if isinstance(end, End) and (only is None or end in only):
                found.setdefault(end.guid, []).append(index)
        named = {nodes[index].key for index in view.nodes.select(wanted, faults_only)} if only is None else set()
        is_few = sum(map(len, found.values())) <= FEW_PORTS
        # The ports of a quick view may be of adapters, which otherwise are below their switches.
        tops = view.tops if only is None else range(len(nodes))
        kept = [index for index in tops if nodes[index].key in found or nodes[index].key in named]
        self._unfolded = {nodes[index].key for index in kept if is_few and nodes[index].key not in named}
        for branch in _ordered([self._node(index) for index in kept], order):
            yield from self._with_ports(branch, found.get(branch.key) or view.ports_of.get(branch.key, []), order)

    def _with_ports(self, node: _Branch, indexes: Sequence[int], order: Order) -> Iterator[_Branch]:
        yield node
        if node.is_open:
            for port in _ordered([self._port(index) for index in indexes], order):
                yield port
                if port.is_open and isinstance(port.key, End):
                    yield self._behind(port.key)

    def _node(self, index: int) -> _Branch:
        row = self._view.nodes.rows[index]
        kind, name, lid, links, count, guid, remark = row.values
        is_open = self._is_open(row.key) if self._view.ports_of.get(row.key) else None
        linked = f"{links}/{'?' if count is None else count}"
        return _Branch(row.key, row.level, (name, linked, kind, None, None, remark, lid, guid), 0, is_open)

    def _port(self, index: int) -> _Branch:
        row = self._view.ports.rows[index]
        _, number, link, rate, neighbour, other, remark, lid, *_, label = row.values
        is_open = None if neighbour is None else self._is_open(row.key)
        name = f"port {number}" + (f" ({label})" if label else "")
        return _Branch(row.key, row.level, (name, link, rate, neighbour, other, remark, lid, None), 1, is_open)

    def _is_open(self, key: Hashable) -> bool:
        return self._choices.get(key, key in self._unfolded)

    def _behind(self, end: End) -> _Branch:
        view = self._view
        other = view.peer_of(end)
        if other is None:
            return _Branch(Behind(end), OK, ("?", *[None] * 7), 2)
        node = view.fabric.nodes.get(other.guid)
        remark = view.remarks.of_node.get(other.guid)
        values = (
            f"{view.name(other.guid)} port {other.port}", None, type_word(node.type) if node else "?", None, None,
            remark and remark.text, node and lids_of(node), other.guid,
        )  # fmt: skip
        return _Branch(Behind(end), remark.level if remark else OK, values, 2)


def _ordered(branches: list[_Branch], order: Order) -> list[_Branch]:
    """Siblings in their order; unknown values come last."""
    if order.column is None:
        return branches
    column = order.column
    known = [branch for branch in branches if branch.values[column] is not None]
    known.sort(key=lambda branch: sort_key(branch.values[column]), reverse=order.descending)
    return known + [branch for branch in branches if branch.values[column] is None]


def _row(branch: _Branch) -> Row:
    handle = " " * INDENT if branch.is_open is None else UNFOLDED if branch.is_open else FOLDED
    return Row(
        branch.key, branch.level, (f"{' ' * INDENT * branch.depth}{handle}{branch.values[0]}", *branch.values[1:])
    )
