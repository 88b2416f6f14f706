"""The SoftRoCE lane of the tests: build the guest's kernel if need be, test the guest itself, then run the tests that
need RDMA devices inside it.

    .venv/bin/python tools/rxe-guest/lane.py [--required] [PYTEST-ARGUMENT...]

Arguments for pytest (-k, -x) are for the tests inside; those of the guest itself are always run whole.
Without --required, and outside CI, a machine that cannot build the kernel is told what is missing and passes.
The result as JUnit XML: build/rxe/junit.xml. exit status: 0, or that of the first step that failed.
"""

from __future__ import annotations

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path += [HERE, os.path.dirname(HERE)]

import guest  # noqa: E402 - a script's neighbours are no package
from build_kernel import BuildError, build  # noqa: E402

import system_packages  # noqa: E402
from system_packages import say  # noqa: E402

RESULTS = os.path.join(ROOT, "build", "rxe")
#: What the tests in the guest ask for.
NEEDS = ["iproute", "pyverbs", "infiniband-diags", "ibverbs-utils", "openmpi", "mpich", "gcc", "libc", "strace"]
#: The guest has one CPU of modest speed: 8 to 24 minutes were seen (seconds).
LIMIT_SECONDS = 2700


def main(arguments: list[str]) -> int:
    """All steps."""
    required = "--required" in arguments or bool(os.environ.get("CI"))
    arguments = [argument for argument in arguments if argument != "--required"]
    os.chdir(ROOT)
    try:
        missing = system_packages.install(NEEDS)
        if missing:
            raise BuildError(f"missing: {', '.join(missing)}. To install: {system_packages.install_command(missing)}")
        build(jobs=os.cpu_count() or 1)
    except BuildError as error:
        say(f"the tests with SoftRoCE {'cannot' if required else 'do not'} run: {error}")
        return 1 if required else 0
    pytest = [sys.executable, "-m", "pytest"]
    status = subprocess.run([*pytest, "-m", "rxe_guest", "tests/rxe_guest"], check=False).returncode
    if status:
        return status
    # The guest's terminal is no terminal for colours, and its cache of earlier results would be lost.
    # pytest tidies its folder of temporary files: in the host's /tmp, seen through the guest, that takes minutes.
    inside = [
        *pytest, "--color=no", "-p", "no:cacheprovider", "--basetemp=/run/pytest", "-m", "rxe",
        f"--junitxml={RESULTS}/junit.xml",
    ]  # fmt: skip
    return guest.main([f"--limit={LIMIT_SECONDS}", f"--writable={RESULTS}", "--", *inside, "tests/rxe", *arguments])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
