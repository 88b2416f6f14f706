"""The CPU of resolving 10,000 addresses from the cache, against ``getent hosts`` with a hosts file of the same size;
and the time of one look-up in a cache of 100,000 entries.

python benchmarks/resolve.py [ROUNDS]

``getent`` reads /etc/hosts, so a mount namespace of its own shows it another one. That takes root; without, the first
of the two is not measured.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from frame import Result, cpu_median, ibkit, in_turn, print_results

ROUNDS = 3
ADDRESSES, ENTRIES, LOOKUPS = 10_000, 100_000, 2_000
TARGET, TARGET_SECONDS = 3.0, 0.001
PREFIX = 0xFEC0000000000001


def address(number: int) -> str:
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def measure(rounds: int = ROUNDS) -> list[Result]:
    """Both."""
    with tempfile.TemporaryDirectory() as folder:
        return [*_many(folder, rounds), _one(folder)]


def _many(folder: str, rounds: int) -> list[Result]:
    if os.geteuid() or not shutil.which("unshare") or not shutil.which("getent"):
        print("resolve: many addresses are not measured, which takes root, unshare and getent", file=sys.stderr)
        return []
    inside = ["unshare", "-m", sys.executable, os.path.abspath(__file__), "--inside", folder, str(rounds)]
    told = json.loads(subprocess.run(inside, check=True, stdout=subprocess.PIPE).stdout)
    ratio = told["ibkit"] / told["getent"]
    return [
        Result(
            f"`ibkit resolve --via cache` of {ADDRESSES:,} addresses",
            f"{told['ibkit']:.2f} s CPU",
            f"`getent hosts` of them, /etc/hosts with as many lines {told['getent']:.2f} s",
            f"{ratio:.2f}",
            f"at most {TARGET:.0f}",
            ratio <= TARGET,
        )
    ]


def inside(folder: str, rounds: int) -> None:
    """In the mount namespace: put the hosts file over /etc/hosts, fill a cache, measure, print the CPU in seconds."""
    cache, names = os.path.join(folder, "cache.db"), [address(number) for number in range(ADDRESSES)]
    hosts, listed = os.path.join(folder, "hosts"), os.path.join(folder, "list")
    with open(hosts, "w") as file:
        file.writelines(f"{name} node{number:05}\n" for number, name in enumerate(names))
    with open(listed, "w") as file:
        file.write("\n".join(names))
    fill(cache, ADDRESSES, with_paths=True)
    subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)
    script = 'exec "$@" < "$0"'
    commands = [
        ["sh", "-c", script, listed, *ibkit("resolve", "--via", "cache", "--cache", cache, "--json", "-")],
        ["getent", "-s", "files", "hosts", *names],
    ]
    ours, peer = in_turn(commands, rounds)
    json.dump({"ibkit": cpu_median(ours), "getent": cpu_median(peer)}, sys.stdout)


def _one(folder: str) -> Result:
    from ibkit.resolve.cache import AddressCache

    path = os.path.join(folder, "large.db")
    fill(path, ENTRIES)
    with AddressCache(path) as cache:
        start = time.perf_counter()
        for number in range(LOOKUPS):
            if len(cache.find([address(number * 7919 % ENTRIES)])) != 1:
                raise RuntimeError(f"{address(number)} is not in the cache")
        seconds = (time.perf_counter() - start) / LOOKUPS
    what = f"one look-up in a cache of {ENTRIES:,} entries"
    return Result(what, f"{seconds * 1e6:.0f} us", "-", "-", "under 1 ms", seconds <= TARGET_SECONDS)


def fill(path: str, count: int, *, with_paths: bool = False) -> None:
    """A cache as `ibkit cache import` and `build` would fill it."""
    import socket

    from ibkit.model.address_cache import Entry
    from ibkit.model.ids import Gid, PKey
    from ibkit.model.path_record import PathRecord
    from ibkit.resolve.cache import AddressCache

    now, own, host = int(time.time()), Gid(PREFIX << 64 | 1), socket.gethostname()
    with AddressCache(path, make=True) as cache:
        entries = []
        for number in range(count):
            gid = Gid(PREFIX << 64 | number + 2)
            path_record = PathRecord(own, gid, 1, number % 48_000 + 2, PKey(0xFFFF), 0, 4096, 400.0, 0)
            detail = f"ibacm_hosts.data:{number + 1}"
            entries.append(
                Entry(address(number), "hosts", gid, now, PREFIX, PKey(0xFFFF), detail, path_record, host)
                if with_paths
                else Entry(address(number), "hosts", gid, now, PREFIX, None, detail)
            )
        cache.put(entries)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2], int(sys.argv[3]))
    else:
        raise SystemExit(print_results(measure(*map(int, sys.argv[1:]))))
