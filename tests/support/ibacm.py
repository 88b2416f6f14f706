"""The real ibacm with an adapter that is not there (acm_hca.c), alone or on a simulated fabric, and its log."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from support.ibsim import die_with_the_tests

NEEDS = ("ibacm", "gcc", "libc", "libibverbs-dev")
START_SECONDS = 20.0
_ADAPTER = Path(__file__).parent / "acm_hca.c"


class Ibacm:
    """A running ibacm. ``socket`` is the path of its socket, ``environment`` is what ib_acme needs to reach it."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self.socket = folder / "run" / "ibacm-unix.sock"
        self.process = process
        self._log = folder / "ibacm.log"

    @property
    def log(self) -> list[str]:
        """Its log, without the times."""
        lines = self._log.read_bytes().decode("utf-8", "backslashreplace").split("\n")
        return [re.sub(r"^\d{4}-\d\d-\d\dT\S+: ", "", line) for line in lines]

    @property
    def complaints(self) -> list[str]:
        """What it did not like, but for what this adapter cannot give it."""
        return [
            line
            for line in self.log
            if "ERROR" in line and not re.match(r"acm_init_nl:|acm_open_port: ERROR - unable to", line)
        ]

    def acme(self, *arguments: str) -> str:
        """What ib_acme prints when it asks this one."""
        done = subprocess.run(
            ["ib_acme", "-S", str(self.socket), *arguments], capture_output=True, text=True, timeout=30, check=False
        )
        return done.stdout


def adapter(folder: Path) -> Path:
    """The adapter, compiled."""
    library = folder / "acm_hca.so"
    if not library.exists():
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(_ADAPTER), "-ldl"], check=True, timeout=60)
    return library


@contextlib.contextmanager
def ibacm(
    folder: Path,
    *,
    files: Mapping[str, str | bytes],
    options: str = "",
    gids: str = "fec0:0:0:1:a1:0:0:11",
    pkeys: str = "ffff,8001",
    lids: str = "1,1",
    environment: Mapping[str, str] | None = None,
) -> Iterator[Ibacm]:
    """ibacm with these files (addr.cfg, hosts.data, route.data) and options, gone when the block is left.

    ``environment`` is that of a simulated fabric; without one it knows what its files tell it and asks nobody.
    """
    (folder / "run").mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    settings = [f"log_file {folder}/ibacm.log", "log_level 2", f"lock_file {folder}/ibacm.pid", "timeout 300"]
    settings += ["retries 0", "support_ips_in_addr_cfg 1"]
    settings += [f"addr_data_file {folder}/hosts.data", f"route_data_file {folder}/route.data"]
    # Lines of the options under test come last: of two lines the last counts.
    (folder / "opts.cfg").write_text("\n".join(settings) + "\n" + options)
    around = dict(environment or os.environ)
    around.update(
        ACM_HCA_NAME="ibsim0", ACM_HCA_GUID="00a1000000000010", ACM_HCA_GIDS=gids, ACM_HCA_PKEYS=pkeys,
        ACM_HCA_LIDS=lids, ACM_HCA_RUN=str(folder / "run"),
        LD_PRELOAD=" ".join(filter(None, [str(adapter(folder)), around.get("LD_PRELOAD")])),
        PATH=around.get("PATH", "") + ":/usr/sbin:/sbin",
    )  # fmt: skip
    with (folder / "ibacm.out").open("wb") as output:
        process = subprocess.Popen(
            ["ibacm", "-P", "-A", str(folder / "addr.cfg"), "-O", str(folder / "opts.cfg")],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=folder, env=around,
            start_new_session=True, preexec_fn=die_with_the_tests,
        )  # fmt: skip
    service = Ibacm(folder, process)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not service.socket.exists():
            if process.poll() is not None:
                raise RuntimeError(f"ibacm ended with {process.returncode}; see {folder}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"ibacm was not ready in {START_SECONDS:.0f} s; see {folder}")
            time.sleep(0.01)
        yield service
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
