"""Run a command, pass on what it prints, and end it once it has said enough:

    python tests/support/until_said.py TEXT TIMES SECONDS COMMAND...

COMMAND is asked to end SECONDS after it has printed TEXT for the TIMES-th time, if it has not ended by itself: a job
that goes on for ever has said what it has to say by then, however slow the machine is. The exit status is that of
COMMAND, or 124 if it was asked to end, as timeout(1) has it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from threading import Timer


def main(text: str, times: str, seconds: str, *command: str) -> int:
    """The exit status."""
    asked = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        assert child.stdout is not None
        end = Timer(float(seconds), lambda: asked.append(child.terminate()))
        left = int(times)
        for line in child.stdout:
            os.write(1, line)
            before, left = left, left - line.count(text.encode())
            if left <= 0 < before:
                end.start()
        end.cancel()
        exit_status = child.wait()
    return 124 if asked else exit_status


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
