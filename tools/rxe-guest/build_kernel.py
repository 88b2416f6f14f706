"""Build the kernel of the SoftRoCE guest from the distribution's kernel source; about 8 minutes on two cores, once.

    python3 tools/rxe-guest/build_kernel.py [--source ARCHIVE] [--jobs N]

The kernel lies in the user's cache folder (~/.cache/ibkit/rxe-guest, XDG_CACHE_HOME is honoured), outside the
checkout, and is built again only when the configuration or the source changes. 4 GB of disk are needed meanwhile.
"""

from __future__ import annotations

import argparse
import fcntl
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))

import system_packages  # noqa: E402 - tools/ is a folder of scripts, not a package
from system_packages import say  # noqa: E402

CONFIG = os.path.join(HERE, "kernel.config")
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ibkit", "rxe-guest")
KERNEL = os.path.join(CACHE, "linux")
#: Where distributions put the source of their kernel.
SOURCES = "/usr/src/linux-source-*.tar.*"
SOURCE = "kernel-source"
COMPILER = ["gcc", "libc", "make", "flex", "bison", "bc", "xz"]
#: Options without which the guest is of no use; others may be named differently in other versions.
ESSENTIAL = ("RDMA_RXE", "INFINIBAND_USER_ACCESS", "INFINIBAND_USER_MAD", "HOSTFS", "OVERLAY_FS", "DEVTMPFS", "VETH")


class BuildError(Exception):
    """The build cannot go on; the message says why and what to do."""


def main(arguments: list[str]) -> int:
    """Build if need be. 0, or 1 with the reason on stderr."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", help=f"a kernel source archive; default: the newest {SOURCES}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="parallel compilers")
    given = parser.parse_args(arguments)
    try:
        build(given.source, given.jobs)
    except BuildError as error:
        say(str(error))
        return 1
    return 0


def build(source: str | None = None, jobs: int = 2) -> str:
    """The path of a kernel that fits; raises BuildError. Two builds at a time wait for one another."""
    os.makedirs(CACHE, exist_ok=True)
    with open(os.path.join(CACHE, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if source is None:
            system_packages.install([SOURCE])
            source = newest_source()
        if source is None:
            raise BuildError(f"no kernel source in {SOURCES}; name an archive of one: --source linux-6.12.tar.xz")
        if not is_fresh(source):
            missing = system_packages.install(COMPILER)
            if missing:
                command = system_packages.install_command(missing)
                raise BuildError(f"missing: {', '.join(missing)}. To install: {command}")
            _compile(source, jobs)
    return KERNEL


def newest_source() -> str | None:
    """The archive with the highest version in its name."""
    found = glob.glob(SOURCES)
    return max(found, key=lambda path: [int(part) for part in re.findall(r"\d+", path)], default=None)


def is_fresh(source: str) -> bool:
    """Whether the kernel is of this source and this configuration."""
    try:
        with open(f"{KERNEL}.stamp") as file:
            return file.read() == _stamp(source) and os.access(KERNEL, os.X_OK)
    except OSError:
        return False


def _stamp(source: str) -> str:
    with open(CONFIG, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    return f"{os.path.basename(source)} {os.path.getsize(source)} {digest}\n"


def _compile(source: str, jobs: int) -> None:
    say(f"building the guest's kernel from {source}; about 8 minutes on two cores, once")
    work = tempfile.mkdtemp(dir=CACHE, prefix="build-")
    try:
        with open(os.path.join(CACHE, "build.log"), "w") as log:
            _run(["tar", "-xf", source, "-C", work], work, log)
            (tree,) = (entry.path for entry in os.scandir(work) if entry.is_dir())
            make = ["make", "-s", "ARCH=um", f"O={work}/out"]
            _run([*make, "tinyconfig"], tree, log)
            merge = ["scripts/kconfig/merge_config.sh", "-O", f"{work}/out", f"{work}/out/.config", CONFIG]
            _run(merge, tree, log)
            _check_config(f"{work}/out/.config")
            _run([*make, f"-j{jobs}", "linux"], tree, log)
            _run(["strip", "-o", f"{work}/linux", f"{work}/out/linux"], tree, log)
        os.replace(f"{work}/linux", KERNEL)
        with open(f"{KERNEL}.stamp", "w") as file:
            file.write(_stamp(source))
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _run(command: list[str], folder: str, log: object) -> None:
    """One step. Its output goes to the log, of which an error shows the end."""
    environment = {**os.environ, "ARCH": "um", "LC_ALL": "C"}
    done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)  # type: ignore[call-overload]
    if done.returncode:
        path = os.path.join(CACHE, "build.log")
        with open(path, errors="replace") as file:
            end = "".join(file.readlines()[-15:])
        raise BuildError(f"`{' '.join(command)}` failed ({done.returncode}); {path} ends so:\n{end}")


def _check_config(path: str) -> None:
    """An option whose dependencies are not met is dropped without a word."""
    with open(path) as file:
        options = file.read().split("\n")
    lost = [name for name in ESSENTIAL if f"CONFIG_{name}=y" not in options]
    if lost:
        raise BuildError(f"this kernel source does not take {', '.join(lost)} from {CONFIG}")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
