"""stdout and stderr that write all of a text or say why not.

Python's own do not. An unbuffered stdout (``PYTHONUNBUFFERED``, usual in containers) hands a text to the kernel once
and drops what the kernel did not take; a pipe that does not block makes it give up in the middle; and a descriptor
that is closed leaves None in the place of the stream.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable

from ibkit.errors import IbkitError
from ibkit.parsers.erased import Any


class OutputLost(IbkitError):
    """Something that was to be on stdout could not be written."""


class Descriptor(io.RawIOBase):
    """Writes whole. ``told``: a failure raises OutputLost (BrokenPipeError where the reader left); else it is nobody's
    business, as on stderr, where it could not be told either.
    """

    def __init__(self, descriptor: int | None, *, told: bool) -> None:
        self._descriptor = descriptor
        self.told = told

    def forget(self) -> None:
        """Write nothing any more, not even what a buffer still holds."""
        self._descriptor = None

    def writable(self) -> bool:
        """It is."""
        return True

    def isatty(self) -> bool:
        """Whether a person looks at it."""
        return self._descriptor is not None and os.isatty(self._descriptor)

    def fileno(self) -> int:
        """The descriptor."""
        if self._descriptor is None:
            raise io.UnsupportedOperation("fileno")
        return self._descriptor

    def write(self, data: Any, /) -> int:
        """All of ``data``, however often the kernel has to be asked. Raises OutputLost or BrokenPipeError."""
        view = memoryview(data)
        done = 0
        while self._descriptor is not None and done < len(view):
            try:
                done += os.write(self._descriptor, view[done:])
            except BlockingIOError:
                _wait(self._descriptor)
            except OSError as error:
                self.forget()
                if not self.told:
                    break
                if isinstance(error, BrokenPipeError):
                    raise
                raise OutputLost(f"the output could not be written: {error.strerror}") from error
        return len(view)


def take() -> Callable[[], None]:
    """Put whole writers in the place of the process's own stdout and stderr; what puts them back is returned.

    Streams that somebody else put there, such as a test's, are left alone. Raises OutputLost where stdout is closed.
    """
    saved = sys.stdout, sys.stderr
    if None in (sys.stdin, sys.stdout, sys.stderr):  # it may be None, whatever its type says
        _fill_gaps()
    if sys.stderr is None:
        sys.stderr = _text(Descriptor(None, told=False), "utf-8")
    elif sys.stderr is sys.__stderr__ and isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr = _text(Descriptor(sys.stderr.fileno(), told=False), sys.stderr.encoding)
    if sys.stdout is None:
        raise OutputLost("stdout is closed; if nothing is to be seen, send it to /dev/null")
    if sys.stdout is sys.__stdout__ and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = _text(Descriptor(sys.stdout.fileno(), told=True), sys.stdout.encoding)

    def put_back() -> None:
        try:
            sys.stdout.flush()
        except (OutputLost, BrokenPipeError):
            forget_stdout()  # something else is being told already
        sys.stdout, sys.stderr = saved

    return put_back


def forget_stdout() -> None:
    """Nobody reads it any more, or half of it would mislead."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(raw, Descriptor):
        raw.forget()


def _text(raw: Descriptor, encoding: str) -> io.TextIOWrapper:
    """Letters that a terminal does not have are escaped; whoever watches sees each line as it comes."""
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    watched = raw.isatty() or unbuffered or not raw.told
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors="backslashreplace", line_buffering=watched)


def _fill_gaps() -> None:
    """No file that is opened later may get the number of a stream that is closed: a library would write into it."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)


def _wait(descriptor: int) -> None:
    """Until a pipe that does not block takes more."""
    import select

    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    poll.poll()
