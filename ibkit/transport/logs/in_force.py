"""Which of a job's settings were in force, as far as its logs, scripts and environment files tell."""

from __future__ import annotations

from collections.abc import Iterable

from ibkit.parsers.job_facts import Setting
from ibkit.transport.evidence import Mark


def in_force(settings: Iterable[tuple[Setting, Mark]]) -> list[tuple[Setting, Mark]]:
    """Those that nothing contradicts.

    What processes say of their own environment counts for more than a script or a file, which they may not have been
    given: UCX prints all of its variables, the others those that they read. In one file the last value of a name
    counts, as a shell sets it. Parameter files count where nothing else sets the name, and where they agree: which of
    them is read first no line tells.
    """
    settings = list(settings)
    strong = {setting.name for setting, _ in settings if setting.scope != "parameters"}
    in_files: dict[str, set[str]] = {}
    for setting, _ in settings:
        if setting.scope == "parameters":
            in_files.setdefault(setting.name, set()).add(setting.value)
    settings = [
        (setting, mark)
        for setting, mark in settings
        if setting.scope != "parameters" or (setting.name not in strong and len(in_files[setting.name]) == 1)
    ]
    own: dict[str, set[str]] = {}
    has_all = set()
    last: dict[tuple[int, str], int] = {}
    for setting, mark in settings:
        if setting.said.pid is not None:
            own.setdefault(setting.name, set()).add(setting.value)
            if setting.runtime == "ucx":
                has_all.add("ucx")
        else:
            key = mark.order, setting.name
            last[key] = max(mark.line, last.get(key, 0))

    def is_in_force(setting: Setting, mark: Mark) -> bool:
        if setting.said.pid is not None:
            return True
        if setting.name in own or setting.runtime in has_all:
            return setting.value in own.get(setting.name, ())
        return last[mark.order, setting.name] == mark.line

    return [(setting, mark) for setting, mark in settings if is_in_force(setting, mark)]
