"""What parsers of large texts share: making some hundred thousand records without paying for it twice."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_cyclic_gc() -> Iterator[None]:
    """Keep the collector of cycles quiet: records have no cycles, and walking all of them again and again, as their
    number grows, takes half as long as making them.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
