"""What parsers of large texts share: making some hundred thousand records without paying for it twice."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_cyclic_gc() -> Iterator[None]:
    """Keep the collector of cycles quiet: records have no cycles, and walking all of them again and again, as their
    number grows, takes half as long as making them.

    What was made is frozen at the end, that is, not walked after that, either, nor when the program ends. It is freed
    all the same when nobody holds it. Garbage of before is collected first, for frozen it would stay.
    """
    if not gc.isenabled():
        yield
        return
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
