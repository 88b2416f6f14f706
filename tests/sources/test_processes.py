"""Tools that hang, die, flood, leave children behind or are not there at all; with real little scripts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from support.ended import is_running, wait_until_ended

from ibkit.sources import processes
from ibkit.sources.base import DENIED, MISSING, TIMEOUT, TOO_MUCH, CommandAnswer
from ibkit.sources.live import MAX_OUTPUT_BYTES, LiveSource, find_tool
from ibkit.sources.processes import run_group

LIMIT = 1 << 20
SECONDS_TO_END = 5


def sh(script: str, deadline_seconds: float = 20.0, limit: int = LIMIT, tick=None) -> CommandAnswer:
    return run_group(("sh", "-c", script), "/bin/sh", deadline_seconds, limit, tick)


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


@pytest.fixture(autouse=True)
def _nothing_is_left():
    """No child, running or zombie, and no open pipe."""
    before, descriptors = children(), len(os.listdir("/proc/self/fd"))
    yield
    assert children() <= before
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_what_a_tool_says_is_kept_apart():
    answer = sh("printf 'out\\377\\0'; printf err >&2; exit 3")
    assert (answer.stdout, answer.stderr, answer.exit_status, answer.failure) == (b"out\xff\0", b"err", 3, None)
    assert 0 < answer.seconds < 5
    assert answer.argv[0] == "sh"


def test_words_are_words_and_the_language_is_english():
    answer = run_group(("printf", "%s,", "a b", "$HOME", ";ls", "*", ""), "/usr/bin/printf", 5, LIMIT, None)
    assert answer.stdout == b"a b,$HOME,;ls,*,,"
    assert sh("echo $LC_ALL").stdout == b"C\n"


def test_stdin_is_empty():
    assert sh("cat; echo end", 5).stdout == b"end\n"


def test_a_hanging_tool_is_stopped_and_what_it_said_is_kept():
    started = time.monotonic()
    answer = sh("echo first; echo warning >&2; sleep 100", 0.5)
    assert time.monotonic() - started < 3
    assert (answer.stdout, answer.stderr) == (b"first\n", b"warning\n")
    assert (answer.failure, answer.exit_status) == (TIMEOUT, None)
    assert 0.5 <= answer.seconds < 3


def test_a_tool_that_ignores_signals_is_stopped():
    assert sh("trap '' TERM INT HUP; sleep 100", 0.3).failure == TIMEOUT


def test_the_whole_group_is_killed():
    answer = sh("sleep 100 & echo $!; sleep 100 & echo $!; echo $$; wait", 0.5)
    assert answer.failure == TIMEOUT
    wait_until_ended([int(word) for word in answer.stdout.split()], SECONDS_TO_END)


def test_a_child_that_is_left_behind_does_not_hold_the_answer():
    started = time.monotonic()
    answer = sh("sleep 100 & echo $!; exit 4")
    assert time.monotonic() - started < 5
    assert (answer.exit_status, answer.failure) == (4, None)
    wait_until_ended([int(answer.stdout)], SECONDS_TO_END)


def test_a_child_that_left_the_group_does_not_hold_the_answer_either():
    started = time.monotonic()
    answer = sh("setsid sleep 8 & echo $!; exit 0")
    assert time.monotonic() - started < 5
    assert (answer.exit_status, answer.failure) == (0, None)
    os.kill(int(answer.stdout), signal.SIGKILL)


def test_the_last_words_of_a_child_are_waited_for():
    assert sh("(sleep 0.2; echo late) & exit 0").stdout == b"late\n"
    assert sh("(sleep 1.4; echo late) & sleep 1.2").stdout == b"late\n"  # a silent command's, too


def test_a_tool_that_closes_its_output_is_waited_for():
    answer = sh("exec >&- 2>&-; sleep 0.3; exit 5")
    assert (answer.exit_status, answer.failure) == (5, None)
    assert answer.seconds >= 0.3
    assert sh("exec >&- 2>&-; sleep 100", 0.5).failure == TIMEOUT


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT])
def test_a_tool_that_dies(number):
    answer = sh(f"echo begun; kill -{int(number)} $$")
    assert (answer.stdout, answer.exit_status, answer.failure) == (b"begun\n", -number, None)


@pytest.mark.parametrize("where", ["", ">&2"])
def test_endless_output(where):
    started = time.monotonic()
    answer = sh(f"yes {where}")
    assert time.monotonic() - started < 5
    assert (answer.failure, answer.exit_status) == (TOO_MUCH, None)
    assert LIMIT < len(answer.stdout) + len(answer.stderr) <= LIMIT + (1 << 18)


def test_of_endless_output_little_is_kept(monkeypatch):
    """Whoever parses it needs several times its size."""
    monkeypatch.setattr(processes, "KEPT_OF_TOO_MUCH", 1 << 18)
    answer = sh("cat /dev/zero")
    assert answer.failure == TOO_MUCH
    assert 1 << 18 < len(answer.stdout) <= 1 << 19


def test_much_output_on_both_pipes_does_not_block():
    answer = sh("head -c 400000 /dev/zero >&2; head -c 400000 /dev/zero; head -c 200000 /dev/zero >&2")
    assert (len(answer.stdout), len(answer.stderr), answer.failure) == (400_000, 600_000, None)


def test_a_tool_that_is_missing_or_cannot_be_started(tmp_path):
    assert run_group(("ibstat",), None, 5, LIMIT, None).failure == MISSING
    assert run_group(("x",), str(tmp_path / "x"), 5, LIMIT, None).failure == MISSING
    (tmp_path / "x").write_text("no program\n")
    assert run_group(("x",), str(tmp_path / "x"), 5, LIMIT, None).failure == DENIED
    (tmp_path / "x").chmod(0o755)
    assert run_group(("x",), str(tmp_path / "x"), 5, LIMIT, None).failure == DENIED  # ENOEXEC
    assert run_group(("x",), str(tmp_path), 5, LIMIT, None).failure == DENIED


def test_a_tool_cannot_write_on_the_terminal():
    """``/dev/tty`` is the terminal of the session, and the tool's session has none."""
    script = textwrap.dedent("""
        import os, pty, sys
        pid, master = pty.fork()
        if pid == 0:
            from ibkit.sources.processes import run_group
            answer = run_group(("sh", "-c", "echo GOTCHA > /dev/tty"), "/bin/sh", 5, 1000, None)
            print("status", answer.exit_status)
            os._exit(0)
        data = b""
        try:
            while piece := os.read(master, 1000):
                data += piece
        except OSError:
            pass
        os.waitpid(pid, 0)
        sys.stdout.write(data.decode())
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True)
    assert "GOTCHA" not in done.stdout
    assert "status" in done.stdout
    assert "status 0" not in done.stdout


def test_progress_is_told_about_once_a_second():
    told: list[tuple[str, float]] = []
    sh("sleep 2.5", tick=lambda command, seconds: told.append((command, seconds)))
    assert [command for command, _ in told] == ["sh -c sleep 2.5"] * 2
    assert [round(seconds) for _, seconds in told] == [1, 2]


def test_who_watches_may_end_it():
    """As the TUI does when it is left while a tool runs."""

    def enough(command: str, seconds: float) -> None:
        raise RuntimeError("enough")

    started = time.monotonic()
    with pytest.raises(RuntimeError, match="enough"):
        sh("sleep 100", tick=enough)
    assert time.monotonic() - started < 5


def start(tmp_path, *, prelude: str = "") -> tuple[subprocess.Popen[str], int]:
    """A Python that runs a tool; answers it and the number of the tool's child."""
    script = textwrap.dedent(f"""
        import signal, sys
        from ibkit.sources.processes import run_group
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # these tests may run under nohup
        {prelude}
        try:
            run_group(("sh", "-c", "cd {tmp_path}; sleep 100 & echo $! > new; mv new pid; wait"),
                      "/bin/sh", 50, 99, None)
        except KeyboardInterrupt:
            print("interrupted")
        print("went on")
    """)
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 10
    while not (tmp_path / "pid").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return parent, int((tmp_path / "pid").read_text())


def test_an_interrupt_kills_the_group(tmp_path):
    parent, child = start(tmp_path)
    parent.send_signal(signal.SIGINT)
    assert parent.communicate(timeout=10)[0] == "interrupted\nwent on\n"
    wait_until_ended([child], SECONDS_TO_END)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_kill_or_a_lost_connection_kills_the_group(tmp_path, number):
    parent, child = start(tmp_path)
    parent.send_signal(number)
    assert parent.communicate(timeout=10)[0] == ""
    assert parent.returncode == 128 + number
    wait_until_ended([child], SECONDS_TO_END)


def test_who_ignores_hangups_goes_on(tmp_path):
    """Nohup means it."""
    parent, child = start(tmp_path, prelude="signal.signal(signal.SIGHUP, signal.SIG_IGN)")
    parent.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    assert parent.poll() is None
    assert is_running(child)
    parent.send_signal(signal.SIGTERM)
    parent.communicate(timeout=10)
    wait_until_ended([child], SECONDS_TO_END)


def test_an_interrupt_while_the_tool_is_being_started(monkeypatch):
    """It must neither be lost nor leave the tool behind."""
    real, pids = subprocess.Popen, []

    def popen(*args, **kwargs):
        child = real(*args, **kwargs)
        pids.append(child.pid)
        os.kill(os.getpid(), signal.SIGINT)  # before anybody knows of the child
        time.sleep(0.01)
        return child

    monkeypatch.setattr(processes.subprocess, "Popen", popen)
    with pytest.raises(KeyboardInterrupt):
        sh("sleep 100")
    wait_until_ended(pids, SECONDS_TO_END)

    def missing(*args, **kwargs):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)
        raise FileNotFoundError

    monkeypatch.setattr(processes.subprocess, "Popen", missing)
    with pytest.raises(SystemExit):
        sh("sleep 100")


def test_the_handlers_are_put_back():
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]
    sh("true")
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)] == before


def test_it_works_outside_the_main_thread():
    answers: list[CommandAnswer] = []
    threads = [threading.Thread(target=lambda: answers.append(sh("echo x; sleep 100", 0.3))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert [(answer.stdout, answer.failure) for answer in answers] == [(b"x\n", TIMEOUT)] * 4


def test_a_tool_that_even_a_kill_does_not_end_is_given_up(monkeypatch):
    """As one that hangs inside a driver. Such a process cannot be made here, so the kill is made to miss."""
    pids: list[int] = []
    monkeypatch.setattr(processes.os, "killpg", lambda pid, number: pids.append(pid))
    monkeypatch.setattr(processes, "KILL_SECONDS", 0.2)
    started = time.monotonic()
    answer = sh("exec sleep 100", 0.3)
    assert answer.failure == TIMEOUT
    assert time.monotonic() - started < 3
    monkeypatch.undo()
    os.kill(pids[0], signal.SIGKILL)
    os.waitpid(pids[0], 0)


def tool(folder: Path, name: str, mode: int = 0o755) -> str:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\necho from $0\n")
    (folder / name).chmod(mode)
    return str(folder / name)


def test_where_a_tool_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tool(tmp_path, "ibkit-test-tool")
    for path in ("", ".", "relative", f"{tmp_path}/no"):
        monkeypatch.setenv("PATH", path)
        assert find_tool("ibkit-test-tool") is None, path
    second = tool(tmp_path / "b", "ibkit-test-tool")
    monkeypatch.setenv("PATH", f"{tmp_path}/a:{tmp_path}/b")
    assert find_tool("ibkit-test-tool") == second
    first = tool(tmp_path / "a", "ibkit-test-tool", 0o644)
    assert find_tool("ibkit-test-tool") == second  # as in a shell
    Path(second).unlink()
    assert find_tool("ibkit-test-tool") == first
    assert LiveSource().run(["ibkit-test-tool"]).failure == DENIED
    (tmp_path / "a/ibkit-test-folder").mkdir()
    assert find_tool("ibkit-test-folder") is None
    assert find_tool("sh") == "/usr/bin/sh"  # the system's folders are searched without PATH
    monkeypatch.delenv("PATH")
    assert find_tool("sh") == "/usr/bin/sh"
    assert find_tool(f"{tmp_path}/b/none") is None


def test_the_live_source_runs_what_it_finds(tmp_path, monkeypatch):
    path = tool(tmp_path / "a", "ibkit-test-tool")
    monkeypatch.setenv("PATH", f"{tmp_path}/a")
    answer = LiveSource().run(["ibkit-test-tool"])
    assert (answer.argv, answer.stdout) == (("ibkit-test-tool",), f"from {path}\n".encode())
    assert LiveSource().run(["ibkit-no-such-tool"]).failure == MISSING
    assert MAX_OUTPUT_BYTES >= 100 << 20
