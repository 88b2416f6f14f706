"""From the command line to the screen and back: the terminal is restored, and no traceback reaches it."""

from __future__ import annotations

from ibkit.sources.site import Site
from ibkit.tui.app import IbkitApp
from ibkit.tui.collecting import Collecting


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
