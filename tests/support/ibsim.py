"""A simulated InfiniBand fabric: ibsim, OpenSM on it, and an environment in which tools talk to it.

ibsim's traps, which this module takes care of: its sockets are named machine-wide, so each fabric has a name of its
own; without a simulator the clients wait for ever, so each command has a deadline; a client that is killed leaves
``sys-PID`` in its folder, so all of them run in the fabric's own; OpenSM holds back its log unless it is told to
flush; and answers of the SA are cut to one packet, unless ``whole_answers.c`` is preloaded, which takes a compiler.
"""

from __future__ import annotations

import contextlib
import ctypes
import glob
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

PRELOAD = ("/usr/lib/*/umad2sim/libumad2sim.so", "/usr/lib*/umad2sim/libumad2sim.so")
SHIM = Path(__file__).parent / "whole_answers.c"
START_SECONDS = 60.0
_NUMBERS = itertools.count()
_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


class Simulation:
    """A running fabric. ``environment`` makes a tool talk to it instead of the host's devices."""

    def __init__(self, folder: Path, attach_to: str) -> None:
        self.folder = folder
        self._name = f"ibkit-test-{os.getpid()}-{next(_NUMBERS)}"
        self._server: subprocess.Popen[str] | None = None
        self._managers: dict[str, subprocess.Popen[str]] = {}
        self._server_environment = {**os.environ, "IBSIM_SOCKNAME": self._name}
        self.environment = {
            **self._server_environment,
            "LD_PRELOAD": next(path for pattern in PRELOAD for path in sorted(glob.glob(pattern))),
            "SIM_HOST": attach_to,
            "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin",
        }

    def start(self, netlist: str, options: Sequence[str] = ()) -> None:
        """Load the netlist. The console stays open for :meth:`console`."""
        (self.folder / "fabric.net").write_text(netlist)
        output = self.folder / "ibsim.out"
        with (self.folder / "ibsim.err").open("w") as errors:
            self._server = subprocess.Popen(
                ["ibsim", "-s", "-f", str(output), *options, "fabric.net"],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors, text=True,
                cwd=self.folder, env=self._server_environment, start_new_session=True, preexec_fn=die_with_the_tests,
            )  # fmt: skip
        self._wait("ibsim", self._server, lambda: "simulator ready" in _text(output))

    def give_whole_answers(self) -> None:
        """From here on, tools and managers are given all of what an SA answers."""
        library = self.folder / "whole_answers.so"
        words = ["gcc", "-O2", "-shared", "-fPIC", "-o", str(library), str(SHIM), "-ldl", "-lpthread"]
        subprocess.run(words, check=True, timeout=60)
        self.environment["LD_PRELOAD"] += f":{library}"

    def start_manager(
        self,
        *options: str,
        at: str | None = None,
        name: str = "opensm",
        up: str = "SUBNET UP",
        configuration: str = "",
    ) -> None:
        """Start OpenSM and wait until its log says ``up``. ``at`` is the id of another node that it runs on,
        ``configuration`` the text of its configuration file.
        """
        home = self.folder / name
        home.mkdir(exist_ok=True)
        log = home / "opensm.log"
        log.unlink(missing_ok=True)
        (home / "opensm.conf").write_text(configuration)
        environment = {**self.environment, "OSM_TMP_DIR": f"{home}/", "OSM_CACHE_DIR": f"{home}/"}
        with (home / "opensm.out").open("w") as output:
            self._managers[name] = subprocess.Popen(
                ["opensm", "-F", str(home / "opensm.conf"), "-f", str(log), "-e", "-d", "2",
                 "--dump_files_dir", f"{home}/", *options],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, text=True, cwd=self.folder,
                env={**environment, "SIM_HOST": at} if at else environment,
                start_new_session=True, preexec_fn=die_with_the_tests,
            )  # fmt: skip
        self.wait_for(name, up)

    def wait_for(self, name: str, word: str) -> None:
        """Until the log of this manager says it."""
        log = self.folder / name / "opensm.log"
        self._wait("opensm", self._managers[name], lambda: word in _text(log))

    def console(self, command: str) -> None:
        """Type a line on the simulator's console and wait until the fabric answers again."""
        assert self._server and self._server.stdin
        marker = f"ibkit-{next(_NUMBERS)}"
        self._server.stdin.write(f"{command}\n")
        self._server.stdin.write(f"{marker}\n")  # unknown to ibsim, which says so when its turn has come
        self._server.stdin.flush()
        self._wait("ibsim", self._server, lambda: marker in _text(self.folder / "ibsim.out"))

    def run(self, *argv: str, deadline_seconds: float = 60.0) -> subprocess.CompletedProcess[str]:
        """Run a tool on the fabric, in a process group that is killed whole at its deadline."""
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            cwd=self.folder, env=self.environment, start_new_session=True,
        )  # fmt: skip
        try:
            out, err = process.communicate(timeout=deadline_seconds)
        finally:
            _end(process, signal.SIGKILL)
        return subprocess.CompletedProcess(argv, process.returncode, out, err)

    def ibkit(self, *arguments: str, deadline_seconds: float = 60.0) -> subprocess.CompletedProcess[str]:
        """Run ibkit of this environment on the fabric."""
        return self.run(sys.executable, "-m", "ibkit", *arguments, deadline_seconds=deadline_seconds)

    def stop_manager(self, name: str = "opensm") -> None:
        """The subnet keeps its LIDs and routes, and nobody answers as its manager."""
        if name in self._managers:
            _end(self._managers.pop(name), signal.SIGTERM)

    def sweep(self, name: str = "opensm") -> None:
        """Have a manager sweep the whole of its subnet."""
        os.killpg(self._managers[name].pid, signal.SIGHUP)

    def stop(self) -> None:
        """Leave nothing behind."""
        for name in list(self._managers):
            self.stop_manager(name)
        if self._server:
            _end(self._server, signal.SIGTERM)
            self._server = None

    def _wait(self, what: str, process: subprocess.Popen[str], is_done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not is_done():
            if process.poll() is not None:
                raise RuntimeError(f"{what} ended with {process.returncode}; see {self.folder}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what} was not ready in {START_SECONDS:.0f} s; see {self.folder}")
            time.sleep(0.02)


@contextlib.contextmanager
def simulation(
    netlist: str,
    folder: Path,
    *,
    attach_to: str,
    manager: bool = True,
    options: Sequence[str] = (),
    whole_answers: bool = False,
) -> Iterator[Simulation]:
    """A fabric that is gone when the block is left, however it is left.

    ``attach_to`` is the id of the node that tools run on (``H-0c42a10300000000``): with its exact spelling the client
    library says nothing on stderr. ``whole_answers`` takes gcc.
    """
    fabric = Simulation(folder, attach_to)
    try:
        if whole_answers:
            fabric.give_whole_answers()
        fabric.start(netlist, options)
        if manager:
            fabric.start_manager()
        yield fabric
    finally:
        fabric.stop()


def die_with_the_tests() -> None:
    """Ask the kernel for SIGKILL when the tests' process is gone: it may be killed before it can clean up."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def _end(process: subprocess.Popen[str], first: signal.Signals) -> None:
    """End a whole process group: kindly if wished, for certain in any case."""
    for how, seconds in ((first, 5.0), (signal.SIGKILL, 10.0)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            pipe.close()
