"""``--from`` with one tool's output: what it answers, and what is refused how."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import sys
import threading
from pathlib import Path

import pytest

from ibkit.errors import UnreadableInput
from ibkit.sources import raw
from ibkit.sources.base import NOT_RECORDED
from ibkit.sources.opening import open_site
from ibkit.sources.raw import RawSource, require_tool

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
IBSTAT = (TOOLS / "ibstat/two-devices.txt").read_bytes()
SMINFO = (TOOLS / "sminfo/master.txt").read_bytes()


def test_it_answers_for_its_tool_in_every_form(tmp_path):
    path = TOOLS / "ibnetdiscover/ports-report.txt"
    site = open_site(str(path))
    assert (site.origin.kind, site.origin.label) == ("raw", "ports-report.txt (ibnetdiscover output)")
    assert [host.name for host in site.hosts] == [""]
    for argv in (["ibnetdiscover"], ["ibnetdiscover", "-p"], ["/usr/sbin/ibnetdiscover"]):
        answer = site.subnet.run(argv)
        assert answer.argv == tuple(argv)
        assert answer.stdout == path.read_bytes()
        assert (answer.exit_status, answer.failure, answer.stderr) == (None, None, b"")  # a file does not tell
    assert site.subnet.run(["sminfo"]).failure == NOT_RECORDED
    assert site.subnet.read("/sys/class/infiniband").error == NOT_RECORDED
    assert site.subnet.list("/sys/class/infiniband").error == NOT_RECORDED
    assert site.subnet.verbs().error == NOT_RECORDED


def test_a_session_answers_for_each_tool_in_it(tmp_path):
    (tmp_path / "session.txt").write_bytes(b"$ ibstat\n" + IBSTAT + b"$ sminfo\n" + SMINFO)
    source = open_site(str(tmp_path / "session.txt")).subnet
    assert source.run(["ibstat"]).stdout == source.run(["sminfo"]).stdout != b""
    assert source.run(["ibnetdiscover"]).failure == NOT_RECORDED


def test_a_jobs_log_does_not_answer_for_what_it_quotes(tmp_path):
    (tmp_path / "job.out").write_bytes(IBSTAT + b"n01:1:2 [0] NCCL INFO Using network IB\n")
    assert open_site(str(tmp_path / "job.out")).subnet.run(["ibstat"]).failure == NOT_RECORDED


def test_a_terminals_decoration_is_taken_off(tmp_path):
    """Bracketed paste and colours before a line; what stands inside of a line is data."""
    text = b"\x1b[?2004h[root@h ~]# ibstat\r\n\x1b[?2004l\rCA 'mlx5_0'\r\n\x1b[0m\tCA type: \x1b[1mMT\r\n"
    (tmp_path / "script.txt").write_bytes(text)
    answer = open_site(str(tmp_path / "script.txt")).subnet.run(["ibstat"])
    assert answer.stdout == b"[root@h ~]# ibstat\r\nCA 'mlx5_0'\r\n\tCA type: \x1b[1mMT\r\n"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_what_windows_makes_of_it(tmp_path, encoding):
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    (tmp_path / "f.txt").write_bytes((mark + SMINFO.decode().replace("\n", "\r\n")).encode(encoding))
    assert open_site(str(tmp_path / "f.txt")).subnet.run(["sminfo"]).stdout == SMINFO.replace(b"\n", b"\r\n")


def test_stdin(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SMINFO)))
    site = open_site("-")
    assert site.origin.label == "stdin (sminfo output)"
    assert site.subnet.run(["sminfo"]).stdout == SMINFO


def refusal(path: object) -> str:
    with pytest.raises(UnreadableInput) as caught:
        open_site(str(path))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_stdin_that_is_no_file(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    assert "stdin is a terminal; pipe the tool's output into ibkit" in refusal("-")
    monkeypatch.setattr(sys, "stdin", None)
    assert "stdin is closed; pipe" in refusal("-")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "-: empty" in refusal("-")


def test_what_is_refused(tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "blank").write_text(" \n\n\t\n")
    (tmp_path / "prose").write_text("nothing of a tool\n")
    (tmp_path / "binary").write_bytes(b"\x7fELF" + bytes(100))
    (tmp_path / "folder").mkdir()
    (tmp_path / "manifest.json").write_text('{"format": "ibkit-capture/1"}')
    os.mkfifo(tmp_path / "fifo")
    cases = {
        "empty": "empty; the tool may have printed on stderr: record it again with 2>&1",
        "blank": "empty; the tool may",
        "prose": "no known format; tried ibnetdiscover, ibstat, sminfo, ",
        "binary": "binary data, not the text that a tool prints",
        "folder": "manifest.json: missing, so the folder is no capture; a job's folder goes to `ibkit check-mpi-tra",
        "manifest.json": "a capture's manifest; give the folder that it lies in",
        "fifo": "not a plain file; redirect it to stdin and name - in its place",
        "none": "No such file or directory; check the name",
        "empty/x": "Not a directory",
    }
    for name, expected in cases.items():
        text = refusal(tmp_path / name)
        assert expected in text, name
        assert text.startswith(f"{tmp_path}/{name}")
    assert "not a plain file" in refusal("/dev/null")
    assert "not a plain file" in refusal("/dev/zero")


def test_a_fifo_with_a_writer_is_not_waited_for_either(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    descriptor = os.open(tmp_path / "fifo", os.O_RDWR)
    timer = threading.Timer(10, os.close, [descriptor])
    timer.start()
    assert "not a plain file" in refusal(tmp_path / "fifo")
    timer.cancel()
    os.close(descriptor)


def test_packed_files(tmp_path):
    (tmp_path / "f.txt.gz").write_bytes(gzip.compress(SMINFO))
    (tmp_path / "f.txt.xz").write_bytes(lzma.compress(SMINFO))
    assert "unpack it (gunzip), and give the text" in refusal(tmp_path / "f.txt.gz")
    assert "packed with xz; unpack it first" in refusal(tmp_path / "f.txt.xz")


def test_no_permission(tmp_path, monkeypatch):
    """The tests may run as root, for whom there is no such thing: so the system call is made to fail."""

    def refuse(*args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(raw.os, "open", refuse)
    assert "Permission denied; let its owner make it readable" in refusal(tmp_path / "x")


def test_a_huge_file_is_not_taken_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(raw, "MAX_RAW_BYTES", 1 << 20)
    (tmp_path / "large").write_bytes(SMINFO * 30_000)
    assert "larger than 1 MiB, which no tool prints" in refusal(tmp_path / "large")


def test_a_command_says_whose_file_it_is(tmp_path):
    site = open_site(str(TOOLS / "perfquery/sum.txt"))
    with pytest.raises(UnreadableInput) as caught:
        require_tool(site, ("ibnetdiscover", "iblinkinfo"), "fabric")
    assert str(caught.value) == (
        f"{TOOLS}/perfquery/sum.txt: this is perfquery output, which is for `ibkit counters`; of the tools' outputs, "
        "`ibkit fabric` reads that of ibnetdiscover or iblinkinfo"
    )
    require_tool(site, ("perfquery",), "counters")
    (tmp_path / "session").write_bytes(IBSTAT + SMINFO)
    require_tool(open_site(str(tmp_path / "session")), ("sminfo",), "sm")


def test_a_file_that_only_a_parser_reads():
    site = open_site(str(TOOLS / "smpquery/node-info.txt"))
    with pytest.raises(UnreadableInput, match="no command reads yet; `ibkit parse` shows it; of the tools"):
        require_tool(site, ("ibnetdiscover",), "fabric")


def test_live_hosts_and_captures_are_not_asked():
    require_tool(open_site(None), ("ibstat",), "status")
    assert not isinstance(open_site(None).subnet, RawSource)


def test_what_pdsh_collected_is_a_site_of_its_hosts(tmp_path):
    """Lines of hosts come in any order; a host's own lines stay in theirs."""
    lines = (TOOLS / "ibstat/two-devices.txt").read_text().splitlines()
    mixed = [f"{host}: {line}" for line in lines for host in ("n01", "n02.example.org")]
    (tmp_path / "pdsh.txt").write_text("\n".join(mixed) + "\n")
    site = open_site(str(tmp_path / "pdsh.txt"))
    assert [host.name for host in site.hosts] == ["n01", "n02.example.org"]
    for host in site.hosts:
        assert host.source.run(("ibstat",)).out.splitlines() == lines


def test_a_line_without_a_host_makes_it_nothing(tmp_path):
    (tmp_path / "odd.txt").write_text("n01: CA 'mlx5_0'\nno host here\n")
    with pytest.raises(UnreadableInput):
        open_site(str(tmp_path / "odd.txt"))
