"""Open what the user named as a site: this host, a capture, or one tool's raw output."""

from __future__ import annotations

from collections.abc import Callable

from ibkit.sources.site import Host, Origin, Site


def open_site(path: str | None, *, tick: Callable[[str, float], None] | None = None) -> Site:
    """The live host for None, else a capture (folder or ``.tar.gz``) or one raw tool output (``-``: on stdin).

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

        if is_capture(path):
            return open_capture(path)
    from ibkit.sources.raw import open_raw

    return open_raw(path)
