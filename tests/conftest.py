"""What a test needs of the system: missing, it skips the test on a workstation and fails it in CI."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

import system_packages

# A busy machine is no defect of an example. CI draws the same examples each time; what chance finds, a person should
# find at a desk.
settings.register_profile("ibkit", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("ibkit")

#: A defect fails its test with its traceback, instead of being told as to a user.
os.environ.setdefault("IBKIT_DEBUG", "1")

#: ``@pytest.mark.live`` says the same as ``@pytest.mark.needs(...)`` with these.
LIVE_NEEDS = ("ibsim", "opensm", "infiniband-diags")


def pytest_runtest_setup(item: pytest.Item) -> None:
    names = [name for mark in item.iter_markers("needs") for name in mark.args]
    if item.get_closest_marker("live"):
        names += LIVE_NEEDS
    missing = [name for name in dict.fromkeys(names) if not system_packages.is_present(name)]
    if missing:
        text = f"needs {', '.join(missing)}: {system_packages.install_command(missing)}"
        if os.environ.get("CI"):
            pytest.fail(text, pytrace=False)
        pytest.skip(text)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """CI skips nothing: a test that is skipped there runs nowhere, and nobody would notice."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter and reporter.stats.get("skipped") and session.exitstatus == pytest.ExitCode.OK:
        reporter.write_line("CI skips nothing; see the skipped tests below", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
