"""The frames of a recording, and which of them is shown."""

from __future__ import annotations

from ibkit.sources.recording_file import Frame, frames, open_frame, pick
from ibkit.sources.site import Site


class Timeline:
    """Steps through the frames of one recording. Raises UnreadableInput where it cannot be read (any more)."""

    def __init__(self, path: str, which: str = "last") -> None:
        self._path = path
        self._frames = frames(path)
        self._place = self._frames.index(pick(path, which))

    @property
    def text(self) -> str:
        """``frame 3 of 12``, by its place."""
        return f"frame {self._place + 1} of {len(self._frames)}"

    def named(self, which: str) -> str:
        """A frame as commands name it: ``cluster.ibr@7``."""
        return f"{self._path}@{which}"

    @property
    def is_last(self) -> bool:
        """Whether no frame follows."""
        return self._place == len(self._frames) - 1

    def step(self, by: int) -> bool:
        """Some frames on or back, at most to an end; False where that is here already. A grown recording has more."""
        shown = self._frames[self._place]
        self._frames = frames(self._path)
        here = self._frames.index(shown) if shown in self._frames else 0
        self._place = min(max(here + by, 0), len(self._frames) - 1)
        return self._frames[self._place] != shown

    def jump(self, which: str) -> None:
        """To the frame with this number or time, see :func:`ibkit.sources.recording_file.pick`."""
        found = pick(self._path, which)
        self._frames = frames(self._path)
        self._place = self._frames.index(found)

    def site(self) -> Site:
        """The frame that is shown."""
        return self._open(self._frames[self._place])

    def site_before(self) -> Site | None:
        """The frame before it, to compare with; None at the beginning."""
        return self._open(self._frames[self._place - 1]) if self._place else None

    def _open(self, frame: Frame) -> Site:
        return open_frame(self._path, str(frame.id))
