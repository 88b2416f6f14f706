"""The errors a user sees as one line. Everything that can merely not be *seen* is a Problem, not an error."""

from __future__ import annotations

EXIT_OK = 0
EXIT_FINDING = 1  # a finding, a fall-back, a difference
EXIT_USAGE = 2  # wrong usage or unreadable input
EXIT_UNDECIDED = 3  # evidence is missing


class IbkitError(Exception):
    """Wrong usage or unreadable input; the message names the file and the mend. Exit status 2."""


class UnreadableInput(IbkitError):
    """A file or capture that cannot be used at all."""
