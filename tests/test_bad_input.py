"""Whatever a user feeds in, each command ends by itself with one of its exit statuses, says what is wrong, shows the
rest, and lets no control character through. Each command runs as users run it: a process of its own.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.ended import wait_until_ended

from ibkit.cli.main import COMMANDS, main
from ibkit.sources.live import LiveSource

ROOT = Path(__file__).parents[1]
TOOLS = ROOT / "fixtures/tools"
#: Each reading command, with the words that make it read PATH, and the sample of a raw file that it reads.
READERS = {
    "status": (["status", "--from"], "ibstat/two-devices"),
    "fabric": (["fabric", "--from"], "ibnetdiscover/topology"),
    "fabric links": (["fabric", "links", "--from"], "ibnetdiscover/ports-report"),
    "sm": (["sm", "--from"], "sminfo/master"),
    "counters": (["counters", "--from"], "perfquery/loop"),
    "check": (["check", "--from"], "ibnetdiscover/topology"),
    "parse": (["parse"], "ibnetdiscover/topology"),
    "doctor": (["doctor", "--from"], None),
    "tui": (["tui", "--from"], "ibnetdiscover/topology"),
    "check-mpi-transport": (["check-mpi-transport"], None),
}
READERS = {
    name: value
    for name, value in READERS.items()
    for command in COMMANDS
    if command.name == value[0][0] and importlib.util.find_spec(f"ibkit.cli.{command.module}")
}
#: Those that read one tool's output.
RAW_READERS = [name for name, (_, sample) in READERS.items() if sample]
#: Those that read a capture.
CAPTURE_READERS = [name for name, (words, _) in READERS.items() if "--from" in words]

#: C0 but for line breaks and tabs, DEL, C1, and what turns the direction of text or has no width.
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
SECONDS = 60
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\u061c\u200bsw\x00"


def ibkit(*words: object, seconds: float = SECONDS, stdin: bytes = b"", **variables: str) -> tuple[int, str, str]:
    """Run it; check what always holds; answer exit status, stdout, stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "ibkit", *map(str, words)],
        cwd=ROOT, input=stdin, capture_output=True, timeout=seconds, check=False, env={**os.environ, **variables},
    )  # fmt: skip
    out, err = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in err, err
    assert not UNSAFE.search(out), UNSAFE.search(out)
    assert not UNSAFE.search(err), UNSAFE.search(err)
    assert done.returncode in (0, 1, 2, 3), (done.returncode, err)
    if done.returncode == 2:
        assert out == ""
        assert err
    return done.returncode, out, err


def read(name: str, path: object, *more: str) -> tuple[int, str, str]:
    return ibkit(*READERS[name][0], path, *more)


def sample(name: str) -> bytes:
    return (TOOLS / f"{READERS[name][1]}.txt").read_bytes()


@pytest.mark.parametrize("name", READERS)
def test_what_is_nothing(name, tmp_path):
    """An empty file, binary data, a folder, a device, a name that does not exist: exit 2, or 3 for a job's log."""
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 64)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    for path in ("empty", "binary", "folder", "fifo", "none", "/dev/zero"):
        status, _, err = read(name, tmp_path / path)
        assert status == 2 or (status == 3 and name == "check-mpi-transport"), (path, err)
        if status == 2:
            assert path.rpartition("/")[2] in err


@pytest.mark.parametrize("name", RAW_READERS)
def test_a_truncated_file(name, tmp_path):
    """What is left of it is shown."""
    data = sample(name)
    for share in (0.3, 0.6, 0.95):
        (tmp_path / "cut.txt").write_bytes(data[: int(len(data) * share)])
        status, out, err = read(name, tmp_path / "cut.txt")
        assert status != 2
        assert out.strip() or (name == "sm" and "cut.txt" in err)  # there all of it is one line


@pytest.mark.parametrize("name", RAW_READERS)
@pytest.mark.parametrize("junk", [b"x" * (10 << 20), b"[1] \x1b[2J" * (1 << 20), bytes(range(1, 10)) * 1000])
def test_a_huge_or_odd_line_in_the_middle(name, tmp_path, junk):
    """It costs that line: the numbers of the others are in the output still."""
    lines = sample(name).splitlines(keepends=True)
    middle = len(lines) // 2
    (tmp_path / "t").write_bytes(b"".join([*lines[:middle], junk, b"\n", *lines[middle:]]))
    (tmp_path / "good").write_bytes(sample(name))
    status, out, _ = read(name, tmp_path / "t")
    assert status != 2
    _, good, _ = read(name, tmp_path / "good")
    facts, shown = (set(re.findall(r"\w*\d\w*", re.sub(r"\bline: \d+", "", text))) for text in (good, out))
    assert facts
    assert facts <= shown


@pytest.mark.parametrize("name", RAW_READERS)
def test_a_line_of_ten_megabytes_alone(name, tmp_path):
    for data in (b"x" * (10 << 20), b"\n" * (10 << 20), sample(name)[:40].replace(b"\n", b"") * (1 << 18)):
        (tmp_path / "t").write_bytes(data)
        status, _, _ = read(name, tmp_path / "t")
        assert status in (0, 1, 2, 3)


@pytest.mark.parametrize("name", [*RAW_READERS])
@pytest.mark.parametrize("more", [(), ("--json",), ("--csv",)])
def test_escapes_in_names(name, more, tmp_path):
    if (more and name == "tui") or (more == ("--csv",) and name == "parse"):
        return
    names = {"ibstat": "rxe0", "ibnetdiscover": "Hca1", "perfquery": "Lid 3", "sminfo": "MASTER"}
    old = names[READERS[name][1].partition("/")[0]].encode()
    assert old in sample(name)
    (tmp_path / f"t{EVIL[:-1]}").write_bytes(sample(name).replace(old, EVIL.encode() + old))
    status, out, _ = read(name, tmp_path / f"t{EVIL[:-1]}", *more)
    assert status != 2
    if more == ("--json",):
        json.loads(out)


@pytest.mark.parametrize("name", RAW_READERS)
def test_the_output_of_another_tool(name):
    """Exit 2, what the file is, and which command reads it."""
    if name in ("parse", "tui", "check"):  # they read all of these
        return
    for other, tool, command in (
        ("iblinkinfo/table", "iblinkinfo", "fabric"),
        ("smpquery/node-info", "smpquery", "parse"),
        ("ibv_devinfo/two-devices", "ibv_devinfo", "status"),
    ):
        if READERS[name][0][0] == command:
            continue
        status, _, err = read(name, TOOLS / f"{other}.txt")
        assert status == 2
        whose = (
            "which no command reads yet; `ibkit parse` shows"
            if command == "parse"
            else f"which is for `ibkit {command}"
        )
        assert f"this is {tool} output, {whose}" in err


def capture(path: Path, answers: list[dict] | None = None, **more: object) -> Path:
    """One with everything in it that any command reads."""
    path.mkdir()
    for words in ("ibstat", "ibnetdiscover", "sminfo"):
        source = {"ibstat": "two-devices", "ibnetdiscover": "topology", "sminfo": "master"}[words]
        (path / words).write_bytes((TOOLS / words / f"{source}.txt").read_bytes())
    good = [
        {"kind": "command", "argv": [words], "stdout": words, "exit_status": 0}
        for words in ("ibstat", "ibnetdiscover", "sminfo")
    ]
    answers = good if answers is None else answers
    manifest = {"format": "ibkit-capture/1", "hosts": [{"name": "n01", "answers": answers}], "subnet": answers, **more}
    (path / "manifest.json").write_text(json.dumps(manifest))
    return path


def answer(**changes: object) -> list[dict]:
    return [
        {"kind": "command", "argv": [words], "exit_status": 0, "stdout": words, **changes}
        for words in ("ibstat", "ibnetdiscover", "sminfo")
    ]


@pytest.mark.parametrize("name", CAPTURE_READERS)
def test_hostile_captures(name, tmp_path):
    (tmp_path / "secret").write_text("CA 'secret'\n")
    made = {
        "dots": capture(tmp_path / "dots", answer(stdout="../secret")),
        "absolute": capture(tmp_path / "absolute", answer(stdout="/etc/passwd")),
        "job": capture(tmp_path / "job", job=["../secret"]),
        "numbers": capture(tmp_path / "numbers", answer(exit_status=10**30)),
        "types": capture(tmp_path / "types", answer(argv={"ibstat": 1})),
        "deep": capture(tmp_path / "deep"),
        "cut": capture(tmp_path / "cut"),
    }
    (made["deep"] / "manifest.json").write_text("[" * 200_000)
    (made["cut"] / "manifest.json").write_text('{"format": "ibkit-capture/1", "hosts": [')
    for case, path in made.items():
        status, _, err = read(name, path)
        assert status == 2, case
        assert "manifest.json" in err


@pytest.mark.parametrize("name", [name for name in CAPTURE_READERS if name not in ("doctor", "counters")])
def test_captures_with_links_and_pipes(name, tmp_path):
    (tmp_path / "secret").write_text("CA 'secret'\n")
    for case in ("link", "fifo", "missing", "folder"):
        path = capture(tmp_path / case)
        for words in ("ibstat", "ibnetdiscover", "sminfo"):
            (path / words).unlink()
            if case == "link":
                (path / words).symlink_to(tmp_path / "secret")
            elif case == "fifo":
                os.mkfifo(path / words)
            elif case == "folder":
                (path / words).mkdir()
        status, out, err = read(name, path)
        assert "secret" not in (out + err).replace(str(tmp_path), "")
        assert status == 2 or name == "tui"  # which shows what there is, and this as a problem
        err = err if status == 2 else out + err
        assert {"link": "a link", "fifo": "no plain file", "missing": "missing", "folder": "no plain file"}[case] in err


@pytest.mark.parametrize("name", CAPTURE_READERS)
def test_damaged_archives(name, tmp_path):
    path = capture(tmp_path / "c")
    subprocess.run(["tar", "czf", tmp_path / "c.tar.gz", "-C", tmp_path, "c"], check=True)
    whole = (tmp_path / "c.tar.gz").read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "evil").symlink_to("/etc/passwd")
    subprocess.run(["tar", "cf", tmp_path / "link.tar", "-C", tmp_path, "c", "evil"], check=True)
    for damaged, message in (("cut.tar.gz", "not a whole .tar.gz"), ("link.tar", "evil is a link")):
        status, _, err = read(name, tmp_path / damaged)
        assert status == 2
        assert message in err
    assert read(name, tmp_path / "c.tar.gz")[0] == read(name, path)[0] != 2


@pytest.mark.parametrize("name", CAPTURE_READERS)
def test_escapes_all_over_a_capture(name, tmp_path):
    """Host names, notes, times, file names, errors of the kernel, outputs."""
    evil = EVIL.replace("\x00", "")
    answers = [
        *answer(stderr="stderr"),
        {"kind": "folder", "path": "/sys/class/infiniband", "entries": [[evil, "link", evil], ["mlx5_0", "link"]]},
        {"kind": "file", "path": "/sys/class/infiniband/mlx5_0/node_guid", "text": evil},
        {"kind": "file", "path": "/sys/class/infiniband/mlx5_0/fw_ver", "error": evil},
        {"kind": "verbs", "error": evil},
    ]
    hosts = [{"name": evil, "answers": answers}, {"name": "n01", "answers": answers}]
    path = capture(tmp_path / f"c{evil}", answers, hosts=hosts, time=evil, note=evil)
    (path / "stderr").write_text(f"ibwarn: [7] {evil}: {evil}\n{evil}")
    for words in ("ibstat", "ibnetdiscover", "sminfo"):
        text = (path / words).read_text().replace("rxe0", f"{evil}rxe0").replace("Hca1", f"{evil}Hca1")
        (path / words).write_text(text + evil)
    status, _, _ = read(name, path)
    assert status != 2
    status, out, _ = read(name, path, *(() if name == "tui" else ("--json",)))
    assert status != 2
    if name != "tui":
        json.loads(out)


def fake_tools(folder: Path, script: str) -> dict[str, str]:
    """All tools that ibkit runs are this script."""
    folder.mkdir()
    for name in ("ibstat", "ibnetdiscover", "sminfo", "ibqueryerrors", "perfquery", "rdma", "ip", "ibv_devinfo"):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


LIVE = [command.name for command in COMMANDS if command.name in ("status", "fabric", "sm", "counters", "doctor", "tui")]


@pytest.mark.parametrize("name", LIVE)
@pytest.mark.parametrize(
    "script",
    [
        "kill -SEGV $$",
        "exit 255",
        "echo Segmentation fault >&2; exit 139",
        "printf '\\033[2J\\377\\000'; printf '\\033[2J' >&2; exit 1",
        "head -c 11000000 /dev/zero | tr '\\0' x",
        "sleep 300 & echo \"CA 'mlx5_0'\"; exit 0",
        "yes | head -n 100000",
    ],
    ids=["dies", "fails", "says so", "escapes", "one long line", "leaves a child", "chatter"],
)
def test_tools_that_go_wrong(name, script, tmp_path):
    status, _, err = ibkit(name, **fake_tools(tmp_path / "bin", script))
    assert status != 2
    assert err or name in ("doctor", "tui")


@pytest.mark.parametrize("name", LIVE)
def test_tools_that_hang(name, tmp_path, capsys, monkeypatch):
    """In one process, for the deadlines are minutes: here they are one second."""
    real = LiveSource.run
    monkeypatch.setattr(
        LiveSource, "run", lambda self, argv, *, deadline_seconds=60.0: real(self, argv, deadline_seconds=1)
    )
    monkeypatch.setenv("PATH", fake_tools(tmp_path / "bin", "echo begun; sleep 300")["PATH"])
    started = time.monotonic()
    assert main([name]) in (1, 3) or name == "tui"
    assert time.monotonic() - started < 60
    err = capsys.readouterr().err
    if name in ("fabric", "sm", "counters"):
        assert "did not end in" in err


@pytest.mark.parametrize("name", ["fabric", "capture"])
def test_an_interrupt_ends_the_tool_as_well(name, tmp_path):
    script = f"sleep 300 & echo $! > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; wait"
    variables = fake_tools(tmp_path / "bin", script)
    words = [name] if name != "capture" else [name, "-o", str(tmp_path / "c")]
    running = subprocess.Popen(
        [sys.executable, "-m", "ibkit", *words], cwd=ROOT, env={**os.environ, **variables},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while not (tmp_path / "pid").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert "Traceback" not in err
    assert err.rstrip().endswith("interrupted")
    wait_until_ended([int((tmp_path / "pid").read_text())], 10)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "pid"]


@pytest.mark.parametrize("name", LIVE)
def test_a_capture_of_a_broken_host_can_be_read(name, tmp_path):
    variables = fake_tools(tmp_path / "bin", "printf '\\033[2J\\377\\000'; kill -SEGV $$")
    status, _, _ = ibkit("capture", "-o", tmp_path / "c.tar.gz", **variables)
    assert status == 0
    words = [name] if name == "tui" else [name, "--json"]
    live = ibkit(*words, **variables)
    replay = ibkit("--from", tmp_path / "c.tar.gz", *words)
    assert replay[0] == live[0] != 2
    if name != "tui":
        assert replay[1] == live[1]


def test_a_full_disk(tmp_path):
    """A device that is always full takes the place of stdout."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ibkit", "fabric", "--from", TOOLS / "ibnetdiscover/topology.txt"],
            cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert "the output could not be written: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_terminal_without_the_letters(tmp_path):
    (tmp_path / "t").write_text((TOOLS / "ibnetdiscover/topology.txt").read_text().replace("Hca1", "caf\u00e9\u2713"))
    status, out, _ = ibkit("fabric", "nodes", "--from", tmp_path / "t", PYTHONIOENCODING="ascii")
    assert status != 2
    assert "caf\\xe9\\u2713" in out


def test_a_reader_that_goes_away():
    done = subprocess.run(
        f"{sys.executable} -m ibkit parse {TOOLS}/ibnetdiscover/topology.txt | head -n 1",
        shell=True, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.stdout == "form: topology\n"
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
