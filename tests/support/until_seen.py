"""ibkit, which makes a file once a look at the job that it launched has found the verdict:

    python tests/support/until_seen.py FILE VERDICT check-mpi-transport ... -- COMMAND...

A job that goes on until then has been looked at, however slow the machine is.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ibkit.cli.main import main
from ibkit.collectors.job_samples import JobWatch
from ibkit.transport.live.verdict import judge_watches
from ibkit.transport.watching import Watcher

_is_whole = Watcher._is_whole


def _is_whole_and_told(self: Watcher, watch: JobWatch) -> bool:
    is_whole = _is_whole(self, watch)
    if is_whole and judge_watches("", [watch]).verdict == sys.argv[2]:
        Path(sys.argv[1]).touch()  # the look counts from here on, even if the job ends now
    return is_whole


if __name__ == "__main__":
    Watcher._is_whole = _is_whole_and_told  # type: ignore[method-assign]
    raise SystemExit(main(sys.argv[3:]))
