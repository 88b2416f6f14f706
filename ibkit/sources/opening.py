"""Open what the user named as a site: this host, a capture, or one tool's raw output."""

from __future__ import annotations

import os
from collections.abc import Callable

from ibkit.errors import UnreadableInput
from ibkit.sources.site import Host, Origin, Site


def open_site(path: str | None, *, tick: Callable[[str, float], None] | None = None) -> Site:
    """The live host for None, else a capture (folder or ``.tar.gz``), a folder of several hosts' captures, a frame of a
    recording (``FILE@WHICH``, the last one for ``FILE`` alone), or one raw tool output (``-``: on stdin).

    What ``path`` is decides its content, not its name. Raises UnreadableInput where it is none of these.
    """
    if path is None:
        import socket

        from ibkit.sources.live import LiveSource

        name = socket.gethostname()
        live = LiveSource(tick=tick)
        return Site(Origin("live", name), (Host(name, live),), live)
    if path != "-":
        if recording := recording_of(path):
            from ibkit.sources.recording_file import open_frame

            return open_frame(*recording)
        if is_capture(path):
            from ibkit.sources.capture import open_capture  # costs the import of json

            if os.path.isdir(path) and not os.path.lexists(os.path.join(path, "manifest.json")):
                from ibkit.sources.several import captures_in, open_captures

                if names := captures_in(path):
                    return open_captures(path, names)
            return open_capture(path)
    from ibkit.sources.raw import open_raw

    return open_raw(path)


def is_capture(path: str) -> bool:
    """Whether it is meant as a capture: a folder, or a file that is gzip or tar, whatever its name."""
    if os.path.isdir(path):
        return True
    from ibkit.sources.raw import open_plain

    with open_plain(path) as file:
        try:
            head = file.read(512)
        except OSError as error:
            raise UnreadableInput(f"{path}: {error.strerror}") from error
    return head.startswith(b"\x1f\x8b") or head[257:262] == b"ustar"


def recording_of(path: str) -> tuple[str, str] | None:
    """The file and the name of the frame where ``path`` is ``FILE@WHICH``, or the file alone; None for other things."""
    file, at, which = path.rpartition("@")
    if not at or os.path.lexists(path):  # the name of a file may hold an @
        file, which = path, "last"
    return (file, which) if _is_database(file) else None


def _is_database(path: str) -> bool:
    """Whether it is a plain file that begins as SQLite's do (its file format, 1.3); FIFOs are not waited for."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False  # whoever opens it next says why
