"""A defect of ibkit: two lines for the user, and a report with the traceback for its authors."""

from __future__ import annotations

import os
import sys

from ibkit import __version__


def farewell(crash: BaseException, what: str, *, mend: str = "") -> tuple[str, str]:
    """The two lines: what broke, and where the report is, which is written now."""
    told = f"{what} ({type(crash).__name__}); this is a defect of ibkit"
    try:
        path = write_report(crash)
    except OSError as error:
        return told, f"no report of it could be written: {error.strerror} ({error.filename})"
    return told, f"please send the report {path}{mend}"


def write_report(crash: BaseException, folder: str | None = None) -> str:
    """Write the traceback, without local variables, below the state folder; returns the file's path. Raises OSError.

    The report is readable by its owner only: a message may hold names of the site.
    """
    import time
    import traceback

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
