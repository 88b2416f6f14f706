"""From the command line to the screen and back: the terminal is restored, and no traceback reaches it."""

from __future__ import annotations

import os
import sys
import time
import traceback

from ibkit import __version__
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
) -> int:
    """Run the application until the user leaves it; returns the exit status. Raises Crashed."""
    app = IbkitApp(site, collecting, page=page, interval_seconds=interval_seconds, theme=theme)
    try:
        app.run(mouse=mouse)
        crash: BaseException | None = app.crash
    except Exception as error:
        crash = error
    finally:
        collecting.stop()
    if crash is not None:
        raise Crashed(_farewell(crash))
    return app.return_code or 0


def _farewell(crash: BaseException) -> str:
    told = f"the screen broke ({type(crash).__name__}); this is a defect of ibkit"
    try:
        path = write_report(crash)
    except OSError as error:
        return f"{told}\nno report of it could be written: {error.strerror} ({error.filename})"
    return f"{told}\nplease send the report {path}; `ibkit tui | cat` shows the same facts as text"


def write_report(crash: BaseException, folder: str | None = None) -> str:
    """Write the traceback, without local variables, below the state folder; returns the file's path. Raises OSError.

    The report is readable by its owner only: a message may hold names of the site.
    """
    folder = folder or state_folder()
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, f"crash-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(f"ibkit {__version__}, Python {sys.version}\n\n")
        file.writelines(traceback.format_exception(crash))
    return path


def state_folder() -> str:
    """``$XDG_STATE_HOME/ibkit`` or its default (XDG Base Directory Specification)."""
    root = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(root):
        root = os.path.expanduser("~/.local/state")
    return os.path.join(root, "ibkit")
