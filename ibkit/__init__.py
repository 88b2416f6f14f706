"""InfiniBand and RDMA fabric diagnostics. See docs/architecture.md for the house, docs/notebooks.md for ``open``."""

from __future__ import annotations

TYPE_CHECKING = False  # typing has it, too, and costs 3 ms of every start
if TYPE_CHECKING:
    from ibkit.notebook import Opened

__version__ = "0.1.0"


def open(path: str | None = None) -> Opened:
    """A capture, a tool's saved output, or for None this host, as tables: ``ibkit.open("capture").fabric.links``."""
    from ibkit.notebook import open_tables

    return open_tables(path)
