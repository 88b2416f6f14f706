"""tools/system_packages.py against package managers that only pretend, on a PATH of their own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import system_packages
from system_packages import Need

#: A manager that notes its words; `install NAME` brings the command NAME-tool, unless the name is no-such-package.
MANAGER = """#!/bin/sh
echo "$(basename "$0") $*" >>"{log}"
case " $* " in *" update "*) : >"{folder}/lists"; exit 0;; esac
[ -e "{folder}/lists" ] || exit 100
case " $* " in *" no-such-package "*) exit 100;; esac
for word; do
    case $word in *-package) printf '#!/bin/sh\\n' >"{folder}/${{word%-package}}-tool"
                             chmod +x "{folder}/${{word%-package}}-tool";; esac
done
"""


class Machine:
    """A folder that is all of PATH."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.log = folder / "log"
        self._monkeypatch = monkeypatch
        for name in ("env", "sh", "basename", "chmod"):
            (folder / name).symlink_to(shutil.which(name) or "")
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setattr(system_packages, "SYSTEM_FOLDERS", ())
        monkeypatch.setattr(system_packages, "has_infiniband_port", lambda: False)
        names = {"a": "a-package", "b": "b-package", "lost": "no-such-package", "opensm": "opensm-package"}
        needs = {name: Need((f"{name}-tool",), (), self._everywhere(package)) for name, package in names.items()}
        monkeypatch.setattr(system_packages, "NEEDS", needs)

    @staticmethod
    def _everywhere(package: str) -> dict[str, str]:
        return {"apt-get": package, "dnf": package, "zypper": package}

    def program(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)

    def manager(self, name: str, *, lists: bool = True) -> None:
        self.program(name, MANAGER.format(log=self.log, folder=self.folder))
        if lists:
            (self.folder / "lists").touch()

    def user(self, uid: int) -> None:
        self._monkeypatch.setattr(os, "geteuid", lambda: uid)

    @property
    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path, monkeypatch)
    made.user(0)
    return made


def test_nothing_is_run_for_what_is_there(machine: Machine) -> None:
    machine.manager("apt-get")
    machine.program("a-tool", "#!/bin/sh\n")
    assert system_packages.install(["a"]) == []
    assert machine.calls == []


def test_apt_waits_for_its_lock_and_asks_nothing(machine: Machine) -> None:
    machine.manager("apt-get")
    assert system_packages.install(["a", "b"]) == []
    (call,) = machine.calls
    assert "DPkg::Lock::Timeout=" in call and " -y " in call
    assert call.endswith("a-package b-package")


def test_apt_reads_the_package_lists_when_there_are_none(machine: Machine) -> None:
    machine.manager("apt-get", lists=False)
    assert system_packages.install(["a"]) == []
    assert [call.split()[-1] if "update" not in call else "update" for call in machine.calls] == [
        "a-package", "update", "a-package",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("manager", "words"), [("dnf", "dnf install -y"), ("zypper", "zypper --non-interactive install")]
)
def test_other_managers(machine: Machine, manager: str, words: str) -> None:
    machine.manager(manager)
    assert system_packages.install(["a"]) == []
    assert machine.calls == [f"{words} a-package"]


def test_one_unknown_name_does_not_cost_the_others(machine: Machine) -> None:
    machine.manager("dnf")
    assert system_packages.install(["a", "lost", "b"]) == ["lost"]


def test_without_root_nothing_is_run_and_the_command_is_named(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.manager("apt-get")
    machine.user(1000)
    assert system_packages.main(["a"]) == 1
    assert machine.calls == []
    assert "sudo apt-get install a-package" in capsys.readouterr().err


def test_sudo_is_used_when_it_asks_for_no_password(machine: Machine) -> None:
    machine.manager("apt-get")
    machine.user(1000)
    machine.program("true", "#!/bin/sh\n")
    machine.program("sudo", f'#!/bin/sh\necho sudo >>"{machine.log}"\n[ "$1" = -n ] || exit 1\nshift\nexec "$@"\n')
    assert system_packages.install(["a"]) == []
    assert machine.calls[0] == "sudo"


def test_sudo_with_a_password_is_no_root(machine: Machine) -> None:
    machine.manager("apt-get")
    machine.user(1000)
    machine.program("sudo", "#!/bin/sh\nexit 1\n")
    assert system_packages.install(["a"]) == ["a"]
    assert machine.calls == []


def test_unknown_manager_names_the_package_everywhere(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert system_packages.main(["a"]) == 1
    said = capsys.readouterr().err
    assert "apt-get: a-package" in said and "dnf: a-package" in said


def test_no_subnet_manager_is_started_on_a_real_fabric(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian's opensm package starts its service when it is installed."""
    machine.manager("apt-get")
    monkeypatch.setattr(system_packages, "has_infiniband_port", lambda: True)
    assert system_packages.install(["a", "opensm"]) == ["opensm"]
    assert all("opensm-package" not in call for call in machine.calls)


def test_unknown_need_is_wrong_usage(machine: Machine) -> None:
    assert system_packages.main(["nonsense"]) == 2
    assert system_packages.main([]) == 2


def test_every_test_need_has_an_apt_and_a_dnf_name() -> None:
    for name in system_packages.TEST_NEEDS:
        assert {"apt-get", "dnf"} <= set(system_packages.NEEDS[name].packages)
