"""A job's files as somebody names them: one log, or a folder of logs."""

from __future__ import annotations

import os
from functools import partial

from ibkit.errors import UnreadableInput
from ibkit.sources.raw import open_plain
from ibkit.sources.site import JobFile

#: A job of 4,096 ranks with an output and an error file for each.
MAX_FILES = 10_000


def open_job(path: str) -> tuple[JobFile, ...]:
    """The plain files, sorted by name; links and what is no plain file are left out. Raises UnreadableInput."""
    if not os.path.isdir(path):
        open_plain(path).close()  # say now that it cannot be read
        return (JobFile(os.path.basename(path), partial(open_plain, path)),)
    files = []
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            full = os.path.join(folder, name)
            if os.path.isfile(full) and not os.path.islink(full):
                files.append(JobFile(os.path.relpath(full, path), partial(open_plain, full)))
        if len(files) > MAX_FILES:
            raise UnreadableInput(f"{path}: more than {MAX_FILES} files; name the job's own folder")
    if not files:
        raise UnreadableInput(f"{path}: no plain file in it; name a job's log or the folder of its logs")
    return tuple(files)
