"""The distribution's packages that ibkit's targets need: which are missing, how to install them, and installing them.

    python3 tools/system_packages.py tests | NEED...

installs what is missing of the needs (``tests``: all that the tests use), as root or through ``sudo -n``. What cannot
be installed is named with the command that a person would type; the exit status is then 1.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from typing import NamedTuple

#: Ordinary users lack these on PATH, and infiniband-diags and OpenSM live there.
SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin")
#: Another package manager run may hold the lock for a while (unattended upgrades do); seconds.
APT_LOCK_SECONDS = 300


class Need(NamedTuple):
    """Something of the system. It is there when all ``commands`` and one of the ``files`` patterns are.

    ``packages`` maps a package manager to its name for it.
    """

    commands: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    packages: dict[str, str] = {}  # noqa: RUF012 - a NamedTuple's default; never written


_MINOR = f"{sys.version_info[0]}.{sys.version_info[1]}"

NEEDS = {
    "ibsim": Need(
        ("ibsim",),
        ("/usr/lib*/umad2sim/libumad2sim.so*", "/usr/lib/*/umad2sim/libumad2sim.so*"),
        {"apt-get": "ibsim-utils", "dnf": "ibsim", "zypper": "ibsim"},
    ),
    "opensm": Need(("opensm",), (), {"apt-get": "opensm", "dnf": "opensm", "zypper": "opensm"}),
    "infiniband-diags": Need(
        ("ibnetdiscover", "ibstat", "sminfo"),
        (),
        {"apt-get": "infiniband-diags", "dnf": "infiniband-diags", "zypper": "infiniband-diags"},
    ),
    "tmux": Need(("tmux",), (), {"apt-get": "tmux", "dnf": "tmux", "zypper": "tmux"}),
    "pyverbs": Need(
        (),
        ("/usr/lib/python3/dist-packages/pyverbs", "/usr/lib*/python3*/site-packages/pyverbs"),
        {"apt-get": "python3-pyverbs", "dnf": "python3-pyverbs", "zypper": "python3-pyverbs"},
    ),
    # What the kernel of the SoftRoCE guest is built from and with (tools/rxe-guest).
    "kernel-source": Need((), ("/usr/src/linux-source-*.tar.*",), {"apt-get": "linux-source"}),
    "gcc": Need(("gcc",), (), {"apt-get": "gcc", "dnf": "gcc", "zypper": "gcc"}),
    "libc": Need(
        (),
        ("/usr/include/stdio.h",),
        {"apt-get": "libc6-dev", "dnf": "glibc-devel", "zypper": "glibc-devel"},
    ),
    "make": Need(("make",), (), {"apt-get": "make", "dnf": "make", "zypper": "make"}),
    "flex": Need(("flex",), (), {"apt-get": "flex", "dnf": "flex", "zypper": "flex"}),
    "bison": Need(("bison",), (), {"apt-get": "bison", "dnf": "bison", "zypper": "bison"}),
    "bc": Need(("bc",), (), {"apt-get": "bc", "dnf": "bc", "zypper": "bc"}),
    "xz": Need(("xz",), (), {"apt-get": "xz-utils", "dnf": "xz", "zypper": "xz"}),
    "ibverbs-utils": Need(
        ("ibv_devinfo",),
        (),
        {"apt-get": "ibverbs-utils", "dnf": "libibverbs-utils", "zypper": "libibverbs-utils"},
    ),
    # The address cache and ib_acme, and what the adapter that tests show it is compiled with.
    "ibacm": Need(("ibacm", "ib_acme"), (), {"apt-get": "ibacm", "dnf": "ibacm", "zypper": "ibacm"}),
    "libibverbs-dev": Need(
        (),
        ("/usr/include/infiniband/verbs.h",),
        {"apt-get": "libibverbs-dev", "dnf": "rdma-core-devel", "zypper": "rdma-core-devel"},
    ),
    "strace": Need(("strace",), (), {"apt-get": "strace", "dnf": "strace", "zypper": "strace"}),
    "graphviz": Need(("dot",), (), {"apt-get": "graphviz", "dnf": "graphviz", "zypper": "graphviz"}),
    # A browser without a window: 64 MB to fetch, 224 MB on disk, where a whole Chromium is 81 and 290.
    "browser": Need(
        (),
        ("/usr/bin/chromium-headless-shell", "/usr/lib*/chromium-browser/headless_shell", "/usr/bin/chromium"),
        {"apt-get": "chromium-headless-shell", "dnf": "chromium-headless", "zypper": "chromium"},
    ),
    "iproute": Need(("ip", "rdma"), (), {"apt-get": "iproute2", "dnf": "iproute", "zypper": "iproute2"}),
    # Jobs that are launched. Both can be installed beside each other: their commands have the MPI's name behind a dot.
    "openmpi": Need(
        ("mpirun.openmpi", "mpicc.openmpi"),
        (),
        {"apt-get": "libopenmpi-dev", "dnf": "openmpi-devel", "zypper": "openmpi4-devel"},
    ),
    "mpich": Need(
        ("mpiexec.hydra", "mpicc.mpich"), (), {"apt-get": "libmpich-dev", "dnf": "mpich-devel", "zypper": "mpich-devel"}
    ),
    # A cluster of one node, for jobs that are looked at. Without a configuration their packages start munged alone.
    "slurmctld": Need(("slurmctld",), (), {"apt-get": "slurmctld", "dnf": "slurm-slurmctld", "zypper": "slurm"}),
    "slurmd": Need(("slurmd",), (), {"apt-get": "slurmd", "dnf": "slurm-slurmd", "zypper": "slurm-node"}),
    "srun": Need(("srun", "scontrol"), (), {"apt-get": "slurm-client", "dnf": "slurm", "zypper": "slurm"}),
    "munge": Need(("munged",), (), {"apt-get": "munge", "dnf": "munge", "zypper": "munge"}),
    # PyTorch with Gloo, for the distribution's own Python: 650 MB on disk, installed in 56 s of two busy cores.
    "torch": Need(
        (),
        ("/usr/lib/python3/dist-packages/torch", "/usr/lib64/python3*/site-packages/torch"),
        {"apt-get": "python3-torch", "dnf": "python3-torch"},
    ),
    # Debian and its children split it off the interpreter; elsewhere it is a part of it.
    "venv": Need((), (os.path.join(os.path.dirname(os.__file__), "ensurepip"),), {"apt-get": f"python{_MINOR}-venv"}),
}

#: What the tests use.
TEST_NEEDS = (
    "ibsim", "opensm", "infiniband-diags", "tmux", "pyverbs", "iproute", "ibacm", "gcc", "libc", "libibverbs-dev",
    "graphviz", "openmpi", "mpich", "browser", "slurmctld", "slurmd", "srun",
    "munge", "torch",
)  # fmt: skip
#: What Debian's packages of these would start at once on a host with an InfiniBand port.
_SERVICES = {
    "opensm": "a subnet manager on this host's InfiniBand port",
    "ibacm": "an address cache for this host's programs",
}


def is_present(name: str) -> bool:
    """Whether this machine has it already."""
    need = NEEDS[name]
    return all(find_command(command) for command in need.commands) and (
        not need.files or any(glob.glob(pattern) for pattern in need.files)
    )


def find_command(name: str) -> str | None:
    """The command's path, searched on PATH and in the sbin folders."""
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(SYSTEM_FOLDERS))


def package_manager() -> str | None:
    """``apt-get``, ``dnf`` or ``zypper``; None on other systems. yum is dnf's old name."""
    return next((name for name in ("apt-get", "dnf", "zypper") if find_command(name)), None)


def install_command(names: list[str]) -> str:
    """What a person types to get them."""
    manager = package_manager()
    if manager is None:
        what = ", ".join(f"{name} ({_everywhere(name)})" for name in names)
        return f"with your package manager: {what}"
    packages = [NEEDS[name].packages.get(manager, name) for name in names]
    return " ".join(["" if os.geteuid() == 0 else "sudo", manager, "install", *packages]).strip()


def _everywhere(name: str) -> str:
    return ", ".join(f"{manager}: {package}" for manager, package in NEEDS[name].packages.items())


def install(names: list[str]) -> list[str]:
    """Install what is missing; returns the names that are still missing after that."""
    wanted = [name for name in names if not is_present(name)]
    if not wanted:
        return []
    manager = package_manager()
    become_root = _become_root()
    if manager is None or become_root is None:
        return wanted
    held_back = [name for name in wanted if name in _SERVICES and manager == "apt-get" and has_infiniband_port()]
    for name in held_back:
        say(f"{name} is not installed by itself: its package would start {_SERVICES[name]}")
    named = [name for name in wanted if manager in NEEDS[name].packages and name not in held_back]
    packages = [NEEDS[name].packages[manager] for name in named]
    if packages:
        say(f"installing with {manager}: {' '.join(packages)}")
        if not _install_packages(become_root, manager, packages) and len(packages) > 1:
            # One name that this release lacks must not cost the others.
            for package in packages:
                _install_packages(become_root, manager, [package])
    return [name for name in wanted if not is_present(name)]


def _become_root() -> list[str] | None:
    """The words before a command that make it run as root; None where that needs a password."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and _run(["sudo", "-n", "true"], quiet=True):
        return ["sudo", "-n"]
    return None


def _install_packages(become_root: list[str], manager: str, packages: list[str]) -> bool:
    if manager != "apt-get":
        yes = ["--non-interactive", "install"] if manager == "zypper" else ["install", "-y"]
        return _run([*become_root, manager, *yes, *packages])
    # env, because sudo drops variables.
    apt = [*become_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    apt += ["-o", f"DPkg::Lock::Timeout={APT_LOCK_SECONDS}", "-o", "Dpkg::Use-Pty=0", "-qq"]
    command = [*apt, "install", "-y", "--no-install-recommends", *packages]
    if _run(command, quiet=True):
        return True
    # No package lists yet (a fresh machine or container), or old ones.
    return _run([*apt, "update"]) and _run(command)


def _run(command: list[str], *, quiet: bool = False) -> bool:
    output = subprocess.DEVNULL if quiet else sys.stderr
    try:
        return (
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False).returncode == 0
        )
    except OSError as error:
        say(f"{command[0]}: {error.strerror}")
        return False


def has_infiniband_port() -> bool:
    """Whether a port of this host belongs to a real InfiniBand fabric."""
    for path in glob.glob("/sys/class/infiniband/*/ports/*/link_layer"):
        try:
            with open(path, encoding="ascii") as file:
                if file.read().strip() == "InfiniBand":
                    return True
        except OSError:
            continue
    return False


def say(text: str) -> None:
    """A line of narration."""
    print(f"ibkit: {text}", file=sys.stderr, flush=True)


def main(names: list[str]) -> int:
    """Install the needs; 1 where one stays missing, 2 where one is unknown."""
    if names == ["tests"]:
        names = list(TEST_NEEDS)
    unknown = [name for name in names if name not in NEEDS]
    if unknown or not names:
        say(f"usage: system_packages.py tests | NEED... with NEED one of {', '.join(NEEDS)}")
        return 2
    missing = install(names)
    if missing:
        say(f"missing: {', '.join(missing)}. To install: {install_command(missing)}")
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
