"""Open what the user named as a site: this host, a capture, or one tool's raw output."""

from __future__ import annotations

import os
from collections.abc import Callable

from ibkit.sources.site import Host, Origin, Site


def open_site(path: str | None, *, tick: Callable[[str, float], None] | None = None) -> Site:
    """The live host for None, else a capture (folder or ``.tar.gz``), a frame of a recording (``FILE@WHICH``, the last
    one for ``FILE`` alone), or one raw tool output (``-``: on stdin).

    What ``path`` is decides its content, not its name. Raises UnreadableInput where it is none of these.
    """
    if path is None:
        import socket

        from ibkit.sources.live import LiveSource

        name = socket.gethostname()
        live = LiveSource(tick=tick)
        return Site(Origin("live", name), (Host(name, live),), live)
    if path != "-":
        from ibkit.sources.capture import is_capture, open_capture

        file, which = _recording_and_frame(path)
        if _is_database(file):
            from ibkit.sources.recording_file import open_frame

            return open_frame(file, which)
        if is_capture(path):
            return open_capture(path)
    from ibkit.sources.raw import open_raw

    return open_raw(path)


def _recording_and_frame(path: str) -> tuple[str, str]:
    """``FILE@WHICH`` in its parts, unless that is the name of a file."""
    file, at, which = path.rpartition("@")
    return (file, which) if at and not os.path.lexists(path) else (path, "last")


def _is_database(path: str) -> bool:
    """Whether it is a plain file that begins as SQLite's do (its file format, 1.3); FIFOs are not waited for."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False  # whoever opens it next says why
