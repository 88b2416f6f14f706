"""All benchmarks; prints the table and writes it into docs/performance.md. Exit status 1 when a target is missed."""

from __future__ import annotations

import datetime
import importlib
import multiprocessing
import os
import platform
import sys
from concurrent.futures import ProcessPoolExecutor

from frame import Result

BENCHMARKS = (
    "startup",
    "status",
    "parse_ibnetdiscover",
    "slow_links",
    "path",
    "check",
    "judge_log",
    "large_job",
    "watch_job",
    "resolve",
    "tui",
)
DOCUMENT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs", "performance.md")
START, END = "<!-- written by `make bench` -->", "<!-- end of what `make bench` writes -->"


def main() -> int:
    """Run all of them, one after the other."""
    results: list[Result] = []
    for name in BENCHMARKS:
        print(f"{name} ...", file=sys.stderr, flush=True)
        # Each in a process of its own: a child's peak memory counts from that of its parent before exec (getrusage(2)).
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
            results += fresh.submit(_measure, name).result()
    text = table(results)
    print(text)
    with open(DOCUMENT, encoding="utf-8") as file:
        before, rest = file.read().split(START)
    after = rest.split(END)[1]
    with open(DOCUMENT, "w", encoding="utf-8") as file:
        file.write(f"{before}{START}\n{text}\n{END}{after}")
    return 0 if all(result.met for result in results) else 1


def _measure(name: str) -> list[Result]:
    found: list[Result] = importlib.import_module(name).measure()
    return found


def table(results: list[Result]) -> str:
    """The machine and its state, then one line per result, as Markdown."""
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    machine = f"{os.cpu_count()} cores ({platform.machine()}), load average {load}"
    lines = [
        f"Measured {day} with CPython {platform.python_version()} on {machine}.",
        "",
        "| what | ibkit | peer, same run | ratio | target | met |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {r.what} | {r.ours} | {r.peer} | {r.ratio} | {r.target} | {'yes' if r.met else 'NO'} |" for r in results
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
