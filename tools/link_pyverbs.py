"""Link the distribution's pyverbs package into the virtual environment.

pyverbs must fit the system's rdma-core, so it comes from the distribution (python3-pyverbs), and a virtual
environment does not see it. Opening all system packages to the environment would do it, and would let every other
system package in, too; so only this one is linked, and only when its compiled modules are for the same Python.
"""

from __future__ import annotations

import glob
import os
import subprocess
import sys

from system_packages import NEEDS, say

_ABOUT = """\
import importlib.machinery, sysconfig
print(sysconfig.get_path("platlib"))
print(importlib.machinery.EXTENSION_SUFFIXES[0])
"""


def link(python: str) -> bool:
    """Link it into the environment of ``python``, if there is one that fits. False where pyverbs will not import.

    Says why on stderr where the distribution's pyverbs is there but for another Python; says nothing where there is
    none, because most machines have none (`ibkit doctor` tells).
    """
    answer = subprocess.run([python, "-I", "-c", _ABOUT], check=True, stdout=subprocess.PIPE, text=True).stdout
    packages, suffix = answer.split("\n")[:2]
    target = os.path.join(packages, "pyverbs")
    if os.path.islink(target) and not os.path.exists(target):
        os.unlink(target)  # the system's package went away
    if os.path.exists(target):
        return True
    found = [path for pattern in NEEDS["pyverbs"].files for path in glob.glob(pattern)]
    for path in found:
        if os.path.exists(os.path.join(path, "device" + suffix)):
            os.symlink(path, target)
            if _imports(python):
                return True
            os.unlink(target)
    if found:
        say(f"the system's pyverbs ({found[0]}) is not for the Python of .venv, so ibkit reads sysfs instead")
    return False


def _imports(python: str) -> bool:
    command = [python, "-I", "-c", "import pyverbs.device"]
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


if __name__ == "__main__":
    raise SystemExit(0 if link(sys.argv[1]) else 1)
