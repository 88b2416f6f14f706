"""Run a command in a throw-away guest that has two SoftRoCE devices, rxe0 and rxe1. No root, no /dev/kvm, no module.

    python3 tools/rxe-guest/guest.py [--writable DIR]... [--limit SECONDS] -- COMMAND [ARGUMENT...]

The guest is User-Mode Linux: it boots in 2 seconds, sees the host's files as they are, and takes over the caller's
environment and working directory. What it writes is lost, but in the folders that --writable names. stdout and stderr
of the command arrive on stdout.

exit status: the command's own; 124 it took too long and was killed; 125 the guest did not get as far as the command,
stderr tells; 126 there is no kernel (build_kernel.py makes it).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.dirname(HERE)]

from build_kernel import KERNEL  # noqa: E402 - a script's neighbours are no package

from system_packages import say  # noqa: E402

TOO_LONG, NO_BOOT, NO_KERNEL = 124, 125, 126


def main(arguments: list[str]) -> int:
    """Boot, run, return the status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default=KERNEL)
    parser.add_argument("--memory", type=int, default=512, metavar="MIB")
    parser.add_argument("--limit", type=float, default=600.0, metavar="SECONDS")
    parser.add_argument("--writable", action="append", default=[], metavar="DIR", help="a folder the guest may write")
    parser.add_argument("--no-devices", action="store_true", help="boot without RDMA devices")
    parser.add_argument("command", nargs="+")
    given = parser.parse_args(arguments)
    if not os.access(given.kernel, os.X_OK):
        say(f"no kernel at {given.kernel}; build_kernel.py makes it")
        return NO_KERNEL
    job = tempfile.mkdtemp(prefix="ibkit-guest-")
    try:
        _prepare(job, given.command, given.writable)
        return _run(job, given.kernel, given.memory, given.limit, devices=0 if given.no_devices else 2)
    finally:
        shutil.rmtree(job, ignore_errors=True)


def _prepare(job: str, command: list[str], writable: list[str]) -> None:
    """The folder by which host and guest talk: the job, the folders to open for writing, and ``out``."""
    for name in ("layer", "out"):
        os.mkdir(os.path.join(job, name))
    with open(os.path.join(job, "writable"), "w") as file:
        for folder in (os.path.join(job, "out"), *map(os.path.abspath, writable)):
            os.makedirs(folder, exist_ok=True)
            file.write(f"{folder}\n")
    with open(os.path.join(job, "job.sh"), "w") as file:
        for name, value in os.environ.items():
            if name.isidentifier():
                file.write(f"export {name}={shlex.quote(value)}\n")
        file.write(f"cd {shlex.quote(os.getcwd())} && exec {shlex.join(command)}\n")


def _run(job: str, kernel: str, memory: int, limit: float, *, devices: int) -> int:
    """The guest's kernel is an ordinary child; killing its process group ends the guest with all that is in it."""
    with open(os.path.join(job, "console"), "w+b") as console:
        sys.stdout.flush()
        child = subprocess.Popen(
            [
                kernel, f"mem={memory}M", "root=hostfs", "rootfstype=hostfs", "rootflags=/", "ro", "quiet",
                f"uml_dir={job}", "con=null", "ssl=null", f"con0=null,fd:{console.fileno()}", "con1=null,fd:1",
                f"init={HERE}/init.sh", f"JOB={job}", f"DEVICES={devices}",
            ],
            stdin=subprocess.DEVNULL,
            stderr=console,
            pass_fds=(console.fileno(),),
            start_new_session=True,
        )  # fmt: skip
        late = False
        try:
            child.wait(limit)
        except subprocess.TimeoutExpired:
            late = True
        finally:
            _kill(child)
        return _status(job, child.returncode, late, limit)


def _status(job: str, kernel_status: int, late: bool, limit: float) -> int:
    told = _read(os.path.join(job, "out", "status"))
    if told.strip().isdigit():
        return int(told)
    if late:
        say(f"the guest was killed after {limit:.0f} s")
        return TOO_LONG
    trouble = _read(os.path.join(job, "out", "trouble")).strip() or f"its kernel ended with {kernel_status}"
    say(f"the guest did not run the command: {trouble}. Its console ends so:")
    sys.stderr.write("".join(_read(os.path.join(job, "console")).splitlines(keepends=True)[-25:]))
    return NO_BOOT


def _kill(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _read(path: str) -> str:
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
