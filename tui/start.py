"""From the command line to the screen and back: the terminal is restored, and no traceback reaches it."""

from __future__ import annotations

import gc
import os
import sys

from ibkit.sources.site import Site
from ibkit.tui.app import IbkitApp
from ibkit.tui.collecting import Collecting

#: When cycles are looked for, by generation (objects, rounds). A look at the 5,000 youngest takes 3 ms, at 50,000 the
#: 50 ms of a frame, at all of a large fabric a second.
RARELY = 5_000, 50, 1_000


class Crashed(Exception):
    """The application broke; the message is for the user, the traceback is in the report that it names."""


def show(
    site: Site,
    collecting: Collecting,
    *,
    page: str = "overview",
    interval_seconds: float = 30.0,
    theme: str = "dark",
    mouse: bool = True,
    read_only: bool = False,
    recording: tuple[str, str] | None = None,
    expect: str | None = None,
) -> int:
    """Run the application until the user leaves it; returns the exit status. Raises Crashed.

    ``recording`` is the file and the name of the frame that the site is of, where it is a frame.
    """
    timeline = None
    if recording:
        from ibkit.tui.timeline import Timeline

        timeline = Timeline(*recording)
    app = IbkitApp(
        site,
        collecting,
        page=page,
        interval_seconds=interval_seconds,
        theme=theme,
        timeline=timeline,
        read_only=read_only,
        expect=expect,
    )
    # The records of a large fabric have no cycles; each walk over all of them would stop the keys for a second.
    gc.set_threshold(*RARELY)
    if not app.is_web:
        _believe_the_terminal()
    try:
        app.run(mouse=mouse)
        crash: BaseException | None = app.crash
    except Exception as error:
        crash = error
    finally:
        app.collecting.stop()
    if crash is not None:
        from ibkit.crash import farewell

        lines = farewell(crash, "the screen broke", mend="; `ibkit tui | cat` shows the same facts as text")
        raise Crashed("\n".join(lines))
    return app.return_code or 0


def _believe_the_terminal() -> None:
    """Where COLUMNS and LINES are exported textual asks these first, and the screen would keep that size.

    A terminal that does not tell its size, such as a serial line, leaves them as its only source.
    """
    try:
        size = os.get_terminal_size(sys.__stdout__.fileno()) if sys.__stdout__ else (0, 0)
    except (OSError, ValueError):  # no terminal, or closed
        return
    if all(size):
        for name in ("COLUMNS", "LINES"):
            os.environ.pop(name, None)
