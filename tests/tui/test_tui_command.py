"""``ibkit tui`` from outside: without a terminal it prints, in a real terminal it draws, and it leaves no mess."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.fattree import two_levels
from support.tui_pilot import PATIENCE_SECONDS
from support.tui_scenes import snapshot

from ibkit import crash
from ibkit.cli import tui as command
from ibkit.cli.main import main
from ibkit.errors import IbkitError
from ibkit.tui import plain, themes
from ibkit.tui.pages import NAMES

ROOT = Path(__file__).parent.parent.parent
#: 16 HCAs on four leaves, two spines.
TREE = two_levels(8, 4)
IBKIT = [sys.executable, "-m", "ibkit"]


@pytest.fixture(scope="module")
def topology(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fat tree as ibnetdiscover prints it, one link of it at 1x."""
    tree = TREE.degraded({3: ("1x", "HDR")})
    path = tmp_path_factory.mktemp("fabric") / "ibnetdiscover.txt"
    path.write_text(f"#\n# Topology file: generated on Tue Dec  1 20:53:00 2026\n#\n{tree.netlist()}")
    return path


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "TERM": "xterm-256color", **environment}
    return subprocess.run(
        [*IBKIT, *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=120, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_lists_of_the_command_are_those_of_the_tui() -> None:
    assert command.PAGES == NAMES
    assert command.THEMES == themes.NAMES


def test_without_a_terminal_it_prints_the_facts_and_exits_0(topology: Path) -> None:
    done = run("tui", "--from", str(topology))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "REPLAY of ibnetdiscover.txt (ibnetdiscover output), time not recorded"
    assert lines[2].startswith(" x   1 critical, 1 warning"), "nobody gave LIDs, and a link has one lane"
    assert "fabric" in done.stdout
    assert "1x HDR, one lane only" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_a_page_is_printed_whole(topology: Path) -> None:
    done = run("tui", "links", "--from", str(topology))
    assert done.returncode == 0
    header, *rows = done.stdout.splitlines()[2:]
    assert header.split() == ["From", "Port", "To", "Port", "Rate", "Gb/s", "Remark", "From", "GUID", "To", "GUID"]
    assert len(rows) == len(TREE.cables)
    assert rows[0].startswith("! ")


def test_textual_is_not_needed_to_print(topology: Path, tmp_path: Path) -> None:
    (tmp_path / "textual.py").write_text("raise ModuleNotFoundError('no textual', name='textual')")
    (tmp_path / "rich.py").write_text("raise ModuleNotFoundError('no rich', name='rich')")
    done = run("tui", "--from", str(topology), PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0)
    assert "one lane only" in done.stdout


def test_unreadable_input_is_exit_2(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("nothing that anybody knows\n")
    done = run("tui", "--from", str(tmp_path / "x"))
    assert done.returncode == 2
    assert done.stderr.startswith("ibkit: ")
    assert run("tui", "nowhere").returncode == 2
    assert run("tui", "--interval", "-1").returncode == 2


def test_a_terminal_without_textual_is_exit_2_with_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "is_interactive", lambda: True)
    monkeypatch.setitem(sys.modules, "ibkit.tui.start", None)  # what an import finds where it is blocked
    monkeypatch.delitem(sys.modules, "textual", raising=False)

    class Blocked:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name == "ibkit.tui.collecting":
                raise ModuleNotFoundError("No module named 'textual'", name="textual.app")

    monkeypatch.setattr(sys, "meta_path", [Blocked(), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "ibkit.tui.collecting", raising=False)
    with pytest.raises(IbkitError, match="pip install 'textual"):
        command.run(command_args())


def command_args():  # type: ignore[no-untyped-def]
    import argparse

    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    args = parser.parse_args([])
    args.from_path = None
    return args


@pytest.mark.parametrize(
    ("term", "streams", "expected"),
    [("xterm", (True, True, True), True), ("dumb", (True, True, True), False), (None, (True, True, True), False),
     ("xterm", (False, True, True), False), ("xterm", (True, False, True), False),
     ("xterm", (True, True, False), False)],
)  # fmt: skip
def test_when_there_is_a_terminal(
    term: str | None, streams: tuple[bool, ...], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stream:
        def __init__(self, is_terminal: bool) -> None:
            self.isatty = lambda: is_terminal

    if term is None:
        monkeypatch.delenv("TERM", raising=False)
    else:
        monkeypatch.setenv("TERM", term)
    for name, is_terminal in zip(("stdin", "stdout", "stderr"), streams, strict=True):
        monkeypatch.setattr(sys, name, Stream(is_terminal))
    assert command.is_interactive() == expected


def test_a_closed_reader_is_no_error(topology: Path) -> None:
    line = f"{shlex.join(IBKIT)} tui links --from {topology} | head -1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.startswith("REPLAY")


def test_the_report_holds_every_part_of_the_scene() -> None:
    text = "\n".join(plain.report(snapshot()))
    for words in (
        "REPLAY of small-tree, recorded 2026-12-01 20:53:07 +00:00: two faults",
        " x   1 critical, 3 warnings",
        "What to look at:", "Jobs:", "Host:", "Subnet:", "Fabric:", "Links:",
        "fix      LimitMEMLOCK=infinity for slurmd",
        "! mlx5_2/1  Initializing",
        "S-0 [2] -- L-1 [21]",
    ):  # fmt: skip
        assert words in text, words
    assert "  \n" not in text
    assert not any(line.endswith(" ") for line in text.splitlines())


def test_a_long_table_is_cut_in_the_report_and_whole_on_its_page() -> None:
    report = list(plain.report(snapshot()))
    assert len([line for line in report if "mlx5_0" in line]) > 8
    links = list(plain.report(snapshot(), "links"))
    assert len(links) == 2 + 1 + 12


def test_a_crash_report_is_for_its_owner_only(tmp_path: Path) -> None:
    try:
        raise RuntimeError("boom")
    except RuntimeError as error:
        path = crash.write_report(error, str(tmp_path / "state"))
    text = Path(path).read_text()
    assert "RuntimeError: boom" in text
    assert "Traceback" in text
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_the_state_folder_follows_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/var/tmp/state")
    assert crash.state_folder() == "/var/tmp/state/ibkit"
    monkeypatch.setenv("XDG_STATE_HOME", "relative/paths/are/to/be/ignored")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert crash.state_folder() == "/home/somebody/.local/state/ibkit"


# In a real terminal


class Terminal:
    """A shell in tmux, of 80 columns and 24 lines."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._socket = str(folder / "tmux")
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "bash --norc --noprofile")
        self._tmux("set-option", "-g", "status", "off")
        # Sizes that are exported must not hold against the terminal's.
        self.type(f"cd {ROOT}; export COLUMNS=80 LINES=24 XDG_STATE_HOME={folder} PS1='prompt> '; clear")
        self.until("prompt>")

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-S", self._socket, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True).stdout

    def type(self, text: str) -> None:
        """Type a line."""
        self._tmux("send-keys", "-l", text)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        """Press keys by tmux' names."""
        self._tmux("send-keys", *keys)

    def resize(self, width: int, height: int) -> None:
        """Make the window as large (columns, lines)."""
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    @property
    def screen(self) -> str:
        """What is to be seen."""
        return self._tmux("capture-pane", "-p")

    def until(self, *texts: str) -> str:
        """Wait until all of these texts are to be seen at once: a screen is painted in pieces."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            screen = self.screen
            if all(text in screen for text in texts):
                return screen
            time.sleep(0.1)
        raise AssertionError(f"{texts} do not come:\n{self.screen}")

    def until_last_line(self, text: str, height: int) -> None:
        """Wait until a text is in the last of so many lines."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while text not in "".join(self.screen.splitlines()[height - 1 : height]):
            assert time.monotonic() < deadline, self.screen
            time.sleep(0.1)

    def pid(self) -> int:
        """The process that runs in the shell."""
        shell = self._tmux("display-message", "-p", "#{pane_pid}").strip()
        return int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])

    def check_restored(self) -> None:
        """The shell is back, it echoes what is typed, the main screen is shown, and no mouse reports come."""
        self.until("prompt>")
        self.type("stty -a | grep -o -w -e '-*echo' -e '-*icanon' -e '-*isig' | xargs")
        self.until("isig icanon echo")
        flags = "#{alternate_on} #{mouse_any_flag} #{mouse_sgr_flag} #{cursor_flag}"
        assert self._tmux("display-message", "-p", flags).strip() == "0 0 0 1"

    def close(self) -> None:
        """End it."""
        subprocess.run(
            ["tmux", "-S", self._socket, "kill-server"], capture_output=True, timeout=PATIENCE_SECONDS, check=False
        )


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    yield terminal
    terminal.close()


@pytest.mark.needs("tmux")
def test_a_real_terminal_from_start_to_end(terminal: Terminal, topology: Path) -> None:
    terminal.type(f"{shlex.join(IBKIT)} tui --from {topology}")
    screen = terminal.until("one lane only", "q quit", " REPLAY  of ibnetdiscover.txt")
    assert screen.splitlines()[0].startswith(" REPLAY  of ibnetdiscover.txt")
    for key, text in zip(
        "2345678", ("Fabric", "Counters", "Host", "Subnet", "Resolve", "Jobs", "Findings"), strict=True
    ):
        terminal.press(key)
        terminal.until(f"\n {text}")
    assert "9 Problems" not in terminal.screen
    for width, height, tabs in ((120, 40, "8 Findings 9 Problems 0 Links"), (80, 24, "7 Jobs 8 Findings\n")):
        terminal.resize(width, height)
        terminal.until(tabs)
        terminal.until_last_line("q quit", height)
    terminal.resize(60, 20)
    terminal.until("needs 80x22, is 60x20")
    terminal.resize(80, 24)
    terminal.until("8 Findings")
    terminal.press("?")
    terminal.until("Keys here")
    terminal.press("q")
    terminal.check_restored()


@pytest.mark.needs("tmux")
@pytest.mark.parametrize("signal_name", ["TERM", "HUP", "ctrl-c"])
def test_signals_end_it_and_the_terminal_is_restored(terminal: Terminal, topology: Path, signal_name: str) -> None:
    terminal.type(f"{shlex.join(IBKIT)} tui --from {topology}")
    terminal.until("one lane only")
    if signal_name == "ctrl-c":
        terminal.press("C-c")
    else:
        subprocess.run(["kill", f"-{signal_name}", str(terminal.pid())], timeout=PATIENCE_SECONDS, check=True)
    terminal.check_restored()


@pytest.mark.needs("tmux")
def test_a_crash_prints_two_lines_and_keeps_a_report(terminal: Terminal, topology: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(
        "import sys\nfrom ibkit.tui import app\n"
        "def defect(self, *_): secret = 'a local variable'; raise RuntimeError('a defect')\n"
        "app.IbkitApp.action_theme = defect\n"
        "from ibkit.cli.main import main\nsys.exit(main(sys.argv[1:]))\n"
    )
    terminal.type(f"PYTHONPATH=. {sys.executable} {broken} tui --from {topology}; echo status $?")
    terminal.until("one lane only")
    terminal.press("t")
    screen = terminal.until("status 2")
    assert "ibkit: the screen broke (RuntimeError); this is a defect of ibkit" in screen
    assert "Traceback" not in screen
    terminal.check_restored()
    (report,) = (tmp_path / "ibkit").iterdir()
    assert "RuntimeError: a defect" in report.read_text()
    assert "a local variable" not in report.read_text().replace("secret = 'a local variable'", "")


def test_main_knows_the_command() -> None:
    with pytest.raises(SystemExit) as ended:
        main(["tui", "--help"])
    assert ended.value.code == 0
