"""What is written as a capture is read back as the same answers, whatever they are, from a folder and a .tar.gz."""

from __future__ import annotations

import io
import os
import subprocess
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibkit.errors import IbkitError
from ibkit.sources.base import (
    NOT_RECORDED,
    CommandAnswer,
    Entry,
    ExchangeAnswer,
    FileAnswer,
    FolderAnswer,
    InterfacesAnswer,
    VerbsAnswer,
)
from ibkit.sources.opening import open_site
from ibkit.sources.recording import RecordingSource
from ibkit.sources.site import JobFile, Site
from ibkit.sources.writer import Recorded, write_capture

TIME = "2026-02-03T04:05:06+01:00"

# Names as Python shows them: any text, and surrogates where a name's bytes are no UTF-8.
names = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=20) | st.just(
    os.fsdecode(b"caf\xe9")
)
paths = st.lists(names, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))
outputs = st.binary(max_size=60) | st.text(max_size=20).map(str.encode) | st.just(b"x" * 5000)
errors = st.sampled_from(["ENOENT", "EACCES", "EINVAL"])
numbers = st.none() | st.integers(0, 0o7777)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)

commands = st.builds(
    CommandAnswer,
    argv=st.lists(names, min_size=1, max_size=3).map(tuple),
    stdout=outputs,
    stderr=outputs,
    exit_status=st.none() | st.integers(-64, 255),
    seconds=st.floats(0, 1e6).map(lambda value: round(value, 3)),
    failure=st.sampled_from([None, "timeout", "missing"]),
)
files = st.builds(FileAnswer, paths, outputs, st.none()) | st.builds(FileAnswer, paths, st.none(), errors)
entries = st.builds(
    Entry,
    name=names,
    kind=st.sampled_from(["file", "folder", "link", "device", "other"]),
    target=st.none() | paths,
    mode=numbers,
    uid=numbers,
    gid=numbers,
)
folders = st.builds(FolderAnswer, paths, st.lists(entries, max_size=4).map(tuple), st.none()) | st.builds(
    FolderAnswer, paths, st.none(), errors
)
verbs = (
    st.none() | st.builds(VerbsAnswer, json_values, st.none()) | st.builds(VerbsAnswer, st.none(), st.text(max_size=9))
)
exchanges = st.builds(
    ExchangeAnswer,
    address=st.sampled_from(["unix:/run/ibacm.sock", "tcp:127.0.0.1:6125", "udp:10.0.0.1:4791"]),
    request=outputs,
    reply=outputs,
    error=st.none() | errors,
)
interfaces = st.none() | st.builds(InterfacesAnswer, json_values, json_values, st.none() | st.text(max_size=9))


class Said:
    """A source that knows nothing more than what it was built with."""

    def run(self, argv, *, deadline_seconds=60.0):
        return CommandAnswer(tuple(argv), failure=NOT_RECORDED)

    def read(self, path):
        return FileAnswer(path, error=NOT_RECORDED)

    def list(self, path):
        return FolderAnswer(path, error=NOT_RECORDED)

    def verbs(self):
        return VerbsAnswer(error=NOT_RECORDED)

    def interfaces(self):
        return InterfacesAnswer(error=NOT_RECORDED)

    def exchange(self, address, request, *, deadline_seconds=5.0):
        return ExchangeAnswer(address, request, error=NOT_RECORDED)


@st.composite
def recordings(draw) -> RecordingSource:
    source = RecordingSource(Said())
    source.commands = {answer.argv: answer for answer in draw(st.lists(commands, max_size=3))}
    source.files = {answer.path: answer for answer in draw(st.lists(files, max_size=4))}
    source.folders = {answer.path: answer for answer in draw(st.lists(folders, max_size=3))}
    source.verbs_answer = draw(verbs)
    source.interfaces_answer = draw(interfaces)
    source.exchanges = {(answer.address, answer.request): answer for answer in draw(st.lists(exchanges, max_size=3))}
    return source


def assert_same(replay, recording: RecordingSource) -> None:
    for argv, command in recording.commands.items():
        assert replay.run(argv) == command
    for path, file in recording.files.items():
        assert replay.read(path) == file
    for path, folder in recording.folders.items():
        assert replay.list(path) == folder
    for (address, request), exchange in recording.exchanges.items():
        assert replay.exchange(address, request) == exchange
    assert replay.interfaces() == (recording.interfaces_answer or InterfacesAnswer(error=NOT_RECORDED))
    assert replay.verbs() == (recording.verbs_answer or VerbsAnswer(error=NOT_RECORDED))


def job_file(name: str, data: bytes) -> JobFile:
    return JobFile(name, lambda: io.BytesIO(data))


@pytest.mark.parametrize("ending", ["", ".tar.gz", ".tgz"])
@settings(max_examples=40, deadline=None)
@given(
    hosts=st.lists(st.tuples(names, recordings()), max_size=3),
    subnet=recordings(),
    logs=st.dictionaries(names, outputs, max_size=3),
    note=st.none() | st.text(max_size=9),
)
def test_every_answer_comes_back(ending, hosts, subnet, logs, note):
    job = tuple(job_file(name, data) for name, data in logs.items())
    with tempfile.TemporaryDirectory() as folder:
        target = f"{folder}/capture{ending}"
        write_capture(target, Recorded("head", TIME, tuple(hosts), subnet, job, note))
        site = open_site(target)
        assert [host.name for host in site.hosts] == [name for name, _ in hosts]
        for host, (_, recording) in zip(site.hosts, hosts, strict=True):
            assert_same(host.source, recording)
        assert_same(site.subnet, subnet)
        assert [log.open().read() for log in site.job] == list(logs.values())
        assert (site.origin.kind, site.origin.label, site.origin.time) == ("capture", f"capture{ending}", TIME)
        assert site.origin.note == note
        assert os.listdir(folder) == [f"capture{ending}"]


def record(*answers: CommandAnswer) -> Recorded:
    source = RecordingSource(Said())
    source.commands = {answer.argv: answer for answer in answers}
    return Recorded("n01", TIME, (("n01", source),), RecordingSource(Said()))


def first_host(site: Site):
    return site.hosts[0].source


def test_a_person_can_read_it(tmp_path):
    recorded = record(
        CommandAnswer(("/usr/sbin/ibstat",), b"CA 'mlx5_0'\n", b"", 0, 0.012),
        CommandAnswer(("ibnetdiscover", "-p"), b"SW\n", b"warn\n", 1, 2.5),
        CommandAnswer(("sminfo",), failure="missing"),
    )
    recorded.hosts[0][1].files["/sys/class/infiniband/mlx5_0/node_desc"] = FileAnswer("", b"n01 \x1b[31m\xc3\xa9\n")
    recorded.hosts[0][1].files["/proc/kcore"] = FileAnswer("/proc/kcore", b"\xff\0")
    recorded.hosts[0][1].folders["/dev/infiniband"] = FolderAnswer("", (Entry("uverbs0", "device", None, 0o666, 0, 0),))
    write_capture(str(tmp_path / "c"), recorded)
    names = sorted(str(path.relative_to(tmp_path / "c")) for path in (tmp_path / "c").rglob("*") if path.is_file())
    assert names == [
        "hosts/n01/files/proc_kcore",
        "hosts/n01/ibnetdiscover_-p.err",
        "hosts/n01/ibnetdiscover_-p.out",
        "hosts/n01/ibstat.out",
        "manifest.json",
    ]
    assert (tmp_path / "c/manifest.json").read_bytes().decode("ascii").splitlines() == [
        "{",
        ' "format": "ibkit-capture/1",',
        ' "ibkit": "0.1.0",',
        ' "host": "n01",',
        f' "time": "{TIME}",',
        ' "hosts": [',
        '  {"name": "n01", "answers": [',
        '   {"kind": "command", "argv": ["/usr/sbin/ibstat"], "stdout": "hosts/n01/ibstat.out", "exit_status": 0, '
        '"seconds": 0.012},',
        '   {"kind": "command", "argv": ["ibnetdiscover", "-p"], "stdout": "hosts/n01/ibnetdiscover_-p.out", '
        '"stderr": "hosts/n01/ibnetdiscover_-p.err", "exit_status": 1, "seconds": 2.5},',
        '   {"kind": "command", "argv": ["sminfo"], "exit_status": null, "seconds": 0.0, "failure": "missing"},',
        '   {"kind": "folder", "path": "/dev/infiniband", "entries": [["uverbs0", "device", null, 438, 0, 0]]},',
        '   {"kind": "file", "path": "/proc/kcore", "file": "hosts/n01/files/proc_kcore"},',
        '   {"kind": "file", "path": "/sys/class/infiniband/mlx5_0/node_desc", "text": "n01 \\u001b[31m\\u00e9\\n"}',
        "  ]}",
        " ],",
        ' "subnet": [],',
        ' "job": []',
        "}",
    ]


def test_names_are_safe_and_no_two_alike(tmp_path):
    recorded = record(
        CommandAnswer(("x", "../../etc"), b"1"),
        CommandAnswer(("x", "..", "..", "etc"), b"2"),
        CommandAnswer(("X", "../../ETC"), b"3"),
        CommandAnswer(("-rf \x1b[31m;",), b"4"),
        CommandAnswer(("y" * 500,), b"5"),
    )
    write_capture(str(tmp_path / "c"), recorded)
    names = [path.name for path in (tmp_path / "c").rglob("*.out")]
    assert len({name.lower() for name in names}) == 5
    assert all(name.replace(".", "").replace("_", "").replace("-", "").isalnum() for name in names)
    assert all(not name.startswith(("-", ".")) and len(name) < 120 for name in names)


def test_the_same_recording_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_capture(str(tmp_path / name / "c.tar.gz"), record(CommandAnswer(("ibstat",), b"x", b"", 0, 1.0)))
    assert (tmp_path / "a/c.tar.gz").read_bytes() == (tmp_path / "b/c.tar.gz").read_bytes()


def test_the_archive_is_an_ordinary_one_of_one_folder(tmp_path):
    write_capture(str(tmp_path / "n01.tar.gz"), record(CommandAnswer(("ibstat",), b"x", b"", 0, 1.0)))
    listed = subprocess.run(["tar", "tzf", "n01.tar.gz"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert listed.stdout.splitlines() == ["n01/hosts/n01/ibstat.out", "n01/manifest.json"]
    subprocess.run(["tar", "xzf", "n01.tar.gz"], cwd=tmp_path, check=True)
    assert first_host(open_site(str(tmp_path / "n01"))).run(["ibstat"]).stdout == b"x"


def test_another_program_may_have_packed_it(tmp_path):
    write_capture(str(tmp_path / "c"), record(CommandAnswer(("a" * 70, "b" * 9), b"long", b"", 0, 1.0)))
    deep = "d" * 90
    (tmp_path / deep).mkdir()
    (tmp_path / "c").rename(tmp_path / deep / "c")
    for form in ("gnu", "pax", "ustar", "oldgnu"):
        for what in (f"{deep}/c", f"./{deep}/c"):
            subprocess.run(["tar", f"--format={form}", "-czf", f"{form}.tar.gz", what], cwd=tmp_path, check=True)
            site = open_site(str(tmp_path / f"{form}.tar.gz"))
            assert first_host(site).run(["a" * 70, "b" * 9]).stdout == b"long"
    subprocess.run(["tar", "-cf", "plain.tar", "-C", f"{deep}/c", "."], cwd=tmp_path, check=True)
    assert first_host(open_site(str(tmp_path / "plain.tar"))).run(["a" * 70, "b" * 9]).stdout == b"long"


def test_a_large_log_is_streamed_out_of_an_archive(tmp_path, monkeypatch):
    monkeypatch.setattr("ibkit.sources.archive.KEEP_MEMBER_BYTES", 1000)
    log = bytes(range(256)) * 400
    recorded = record(CommandAnswer(("ibstat",), log, b"", 0, 1.0))._replace(job=(job_file("job.out", log),))
    write_capture(str(tmp_path / "c.tar.gz"), recorded)
    site = open_site(str(tmp_path / "c.tar.gz"))
    with site.job[0].open() as file:
        assert file.read(300) == log[:300]
        assert file.read() == log[300:]
    assert site.job[0].name == "job.out"
    assert first_host(site).run(["ibstat"]).stdout == log


@pytest.mark.parametrize("name", ["c", "c.tar.gz"])
def test_nothing_is_overwritten(tmp_path, name):
    target = tmp_path / name
    write_capture(str(target), record())
    before = sorted(path.name for path in tmp_path.rglob("*"))
    with pytest.raises(IbkitError, match="exists and is not empty; remove it"):
        write_capture(str(target), record(CommandAnswer(("ibstat",), b"x")))
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def test_an_empty_target_is_taken(tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "c.tar.gz").touch()
    for name in ("c", "c.tar.gz"):
        write_capture(str(tmp_path / name), record())
        assert open_site(str(tmp_path / name)).hosts[0].name == "n01"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no/such/c", "there is no folder .*make it"),
        ("c.tar", "a folder or a .tar.gz"),
        ("c.zip", "a folder or a .tar.gz"),
        ("link", "exists and is not empty"),
    ],
)
def test_targets_that_cannot_be(tmp_path, name, message):
    (tmp_path / "link").symlink_to("/etc")
    with pytest.raises(IbkitError, match=message):
        write_capture(str(tmp_path / name), record())


@pytest.mark.parametrize("name", ["c", "c.tar.gz"])
def test_a_failure_in_the_middle_leaves_nothing(tmp_path, name):
    def full_disk():
        raise OSError(28, "No space left on device")

    recorded = record(CommandAnswer(("ibstat",), b"x"))._replace(job=(JobFile("job.out", full_disk),))
    with pytest.raises(IbkitError, match=r"No space left on device.*nothing was left"):
        write_capture(str(tmp_path / name), recorded)
    assert list(tmp_path.iterdir()) == []
