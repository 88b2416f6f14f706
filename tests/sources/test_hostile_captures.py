"""Captures that somebody made to do harm, or that are just broken: one clear error, nothing read outside, no hang."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import resource
import tarfile
import time

import pytest

from ibkit.errors import UnreadableInput
from ibkit.sources.opening import open_site
from ibkit.sources.site import Site

GOOD = {
    "format": "ibkit-capture/1",
    "hosts": [
        {
            "name": "n01",
            "answers": [
                {"kind": "command", "argv": ["ibstat"], "stdout": "hosts/n01/ibstat.out", "exit_status": 0},
                {"kind": "file", "path": "/etc/passwd", "file": "hosts/n01/passwd"},
                {"kind": "file", "path": "/sys/a", "text": "1\n"},
                {"kind": "folder", "path": "/sys", "entries": [["a", "file", None, 0o644, 0, 0], ["l", "link", "a"]]},
            ],
        }
    ],
}
FILES = {"hosts/n01/ibstat.out": b"CA 'mlx5_0'\n", "hosts/n01/passwd": b"recorded\n"}


def with_answer(**answer: object) -> dict:
    return {**GOOD, "hosts": [{"name": "n01", "answers": [answer]}]}


def folder(path, manifest: object = GOOD, files: dict[str, bytes] | None = None) -> str:
    path.mkdir(exist_ok=True)
    for name, data in (FILES if files is None else files).items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    (path / "manifest.json").write_bytes(text)
    return str(path)


def archive(path, *extra: tarfile.TarInfo, manifest: object = GOOD, files=FILES, top="c/", form=tarfile.PAX_FORMAT):
    with tarfile.open(path, "w:gz", format=form) as tar:
        members = {"manifest.json": manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode(), **files}
        for name, data in members.items():
            member = tarfile.TarInfo(top + name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        for member in extra:
            tar.addfile(member, io.BytesIO(b"x" * member.size) if member.isreg() else None)
    return str(path)


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, size
    return info


def read_all(site: Site) -> list[object]:
    """Whatever a command may ask."""
    answers: list[object] = []
    for source in (*(host.source for host in site.hosts), site.subnet):
        answers += [source.run(["ibstat"]), source.read("/etc/passwd"), source.read("/sys/a"), source.list("/sys")]
    answers += [log.open().read(100) for log in site.job]
    return answers


def message(path: str) -> str:
    with pytest.raises(UnreadableInput) as caught:
        read_all(open_site(path))
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 600
    return text


def test_a_good_one_is_read(tmp_path):
    for path in (folder(tmp_path), archive(tmp_path / "c.tar.gz"), archive(tmp_path / "d.tgz", top="./")):
        ibstat, passwd, attribute, listing, *_ = read_all(open_site(path))
        assert ibstat.stdout == b"CA 'mlx5_0'\n"
        assert passwd.data == b"recorded\n"
        assert attribute.data == b"1\n"
        assert [entry.name for entry in listing.entries] == ["a", "l"]


NAMES_THAT_LEAD_OUT = [
    "../secret",
    "/etc/passwd",
    "hosts/../../secret",
    "..",
    ".",
    "",
    "hosts//x",
    "a\0b",
    "hosts/n01/",
]


@pytest.mark.parametrize("name", NAMES_THAT_LEAD_OUT)
@pytest.mark.parametrize("how", ["stdout", "stderr", "file", "job"])
def test_a_name_that_leads_out(tmp_path, name, how):
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "c").mkdir()
    if how == "job":
        manifest = {**GOOD, "job": [name]}
    elif how == "file":
        manifest = with_answer(kind="file", path="/etc/passwd", file=name)
    else:
        manifest = with_answer(kind="command", argv=["ibstat"], **{how: name})
    for path in (folder(tmp_path / "c", manifest), archive(tmp_path / "c.tar.gz", manifest=manifest)):
        with pytest.raises(UnreadableInput, match="leads out of the capture"):
            open_site(path)  # before anybody asks for the file


def test_links_are_not_followed(tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/ibstat.out").write_text("secret")
    path = folder(tmp_path / "file")
    os.unlink(f"{path}/hosts/n01/ibstat.out")
    os.symlink(tmp_path / "secret/ibstat.out", f"{path}/hosts/n01/ibstat.out")
    assert "hosts/n01/ibstat.out: a link; a capture holds plain files only" in message(path)
    path = folder(tmp_path / "inside")
    os.rename(f"{path}/hosts/n01/ibstat.out", f"{path}/hosts/n01/x")
    os.symlink("x", f"{path}/hosts/n01/ibstat.out")
    assert "a link" in message(path)
    path = folder(tmp_path / "dir")
    os.rename(f"{path}/hosts", f"{path}/hosts2")
    os.symlink("hosts2", f"{path}/hosts")
    assert "lies behind a link or a file" in message(path)
    path = folder(tmp_path / "manifest")
    os.rename(f"{path}/manifest.json", tmp_path / "manifest.json")
    os.symlink(tmp_path / "manifest.json", f"{path}/manifest.json")
    assert "manifest.json: a link" in message(path)
    path = folder(tmp_path / "loop")
    os.unlink(f"{path}/hosts/n01/ibstat.out")
    os.symlink("ibstat.out", f"{path}/hosts/n01/ibstat.out")
    assert "a link" in message(path)


def test_the_user_may_name_a_link_to_a_capture(tmp_path):
    folder(tmp_path / "c")
    os.symlink("c", tmp_path / "latest")
    assert read_all(open_site(str(tmp_path / "latest")))[0].stdout == b"CA 'mlx5_0'\n"


def test_what_is_no_plain_file_is_not_waited_for(tmp_path):
    path = folder(tmp_path / "fifo")
    os.unlink(f"{path}/hosts/n01/ibstat.out")
    os.mkfifo(f"{path}/hosts/n01/ibstat.out")
    assert "ibstat.out: no plain file" in message(path)
    path = folder(tmp_path / "dir")
    os.unlink(f"{path}/hosts/n01/ibstat.out")
    os.mkdir(f"{path}/hosts/n01/ibstat.out")
    assert "ibstat.out: no plain file" in message(path)
    path = folder(tmp_path / "manifest")
    os.unlink(f"{path}/manifest.json")
    os.mkfifo(f"{path}/manifest.json")
    assert "manifest.json: no plain file" in message(path)


def test_missing_files(tmp_path):
    path = folder(tmp_path / "c", files={})
    assert "hosts/n01/ibstat.out: missing, though it belongs to the capture; copy the capture again" in message(path)
    assert "hosts/n01/ibstat.out is missing" in message(archive(tmp_path / "c.tar.gz", files={}))
    (tmp_path / "empty").mkdir()
    assert "manifest.json: missing, so the folder is no capture" in message(str(tmp_path / "empty"))
    (tmp_path / "x").touch()
    with tarfile.open(tmp_path / "d.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "x")
    assert "holds no manifest.json, so it is not a capture" in message(str(tmp_path / "d.tar.gz"))


def test_no_permission(tmp_path, monkeypatch):
    """The tests may run as root, for whom there is no such thing: so the system call is made to fail."""
    path = folder(tmp_path / "c")
    real = os.open

    def refusing(name, *args, **kwargs):
        if name == "ibstat.out":
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(os, "open", refusing)
    assert "hosts/n01/ibstat.out: Permission denied; let its owner make it readable" in message(path)


def test_a_large_file_is_not_taken_into_memory(tmp_path):
    path = folder(tmp_path / "c")
    os.truncate(f"{path}/hosts/n01/ibstat.out", 1 << 40)  # sparse: costs nothing
    assert "ibstat.out: larger than 256 MiB" in message(path)
    path = folder(tmp_path / "d")
    os.truncate(f"{path}/manifest.json", 1 << 40)
    assert "manifest.json: larger than 32 MiB" in message(path)


BAD_MANIFESTS = {
    "empty": (b"", "line 1: not JSON"),
    "cut": (json.dumps(GOOD).encode()[:-20], "not JSON"),
    "utf8": (b'{"format": "\xff"}', "not JSON"),
    "utf16": (json.dumps(GOOD).encode("utf-16"), "hosts/n01"),  # JSON allows it; then the files are looked for
    "nan": (b'{"format": "ibkit-capture/1", "seconds": NaN}', "NaN is no number"),
    "infinity": (b'{"format": "ibkit-capture/1", "seconds": -Infinity}', "-Infinity is no number"),
    "digits": (b'{"format": "ibkit-capture/1", "seconds": ' + b"9" * 10_000 + b"}", "not JSON"),
    "deep": (b"[" * 500_000, "nested too deep"),
    "deep objects": (b'{"a":' * 500_000, "nested too deep"),
    "list": (b"[]", "its format is None, this ibkit reads 'ibkit-capture/1'"),
    "number": (b"1e400", "its format is None"),
    "future": ({"format": "ibkit-capture/2"}, "its format is 'ibkit-capture/2'"),
    "format list": ({"format": [1]}, "its format is a list of 1"),
    "hosts": ({**GOOD, "hosts": 3}, "hosts is 3, not a list"),
    "host": ({**GOOD, "hosts": ["n01"]}, "hosts[0] is 'n01', not an object"),
    "host name": ({**GOOD, "hosts": [{"name": 5, "answers": []}]}, "hosts[0].name is 5, not a text"),
    "no answers": ({**GOOD, "hosts": [{"name": "n"}]}, "hosts[0].answers is None, not a list"),
    "time": ({**GOOD, "time": 5}, "time is 5, not a text"),
    "note": ({**GOOD, "note": {}}, "note is an object of 0, not a text"),
    "job": ({**GOOD, "job": {"a": 1}}, "job is an object of 1, not a list"),
    "job name": ({**GOOD, "job": [None]}, "job is None, not a text"),
    "kind": (with_answer(kind="shell"), "hosts[0].answers[0].kind is 'shell', not command"),
    "kind list": (with_answer(kind=["command"]), "kind is a list of 1"),
    "argv": (with_answer(kind="command", argv="ibstat"), "argv is 'ibstat', not a list"),
    "argv empty": (with_answer(kind="command", argv=[]), "argv is empty"),
    "argv number": (with_answer(kind="command", argv=["ibstat", 1]), "argv is 1, not a text"),
    "stdout": (with_answer(kind="command", argv=["x"], stdout=7), "stdout is 7, not a text"),
    "status": (with_answer(kind="command", argv=["x"], exit_status="0"), "exit_status is '0', not a number from -255"),
    "status true": (with_answer(kind="command", argv=["x"], exit_status=True), "exit_status is True"),
    "status float": (with_answer(kind="command", argv=["x"], exit_status=0.0), "exit_status is 0.0"),
    "status huge": (with_answer(kind="command", argv=["x"], exit_status=10**4000), "exit_status is a huge number"),
    "seconds": (with_answer(kind="command", argv=["x"], seconds="1"), "seconds is '1', not a time"),
    "seconds huge": (with_answer(kind="command", argv=["x"], seconds=10**400), "seconds is a huge number"),
    "seconds 1e999": (
        b'{"format": "ibkit-capture/1", "subnet": [{"kind": "command", "argv": ["x"], "seconds": 1e999}]}',
        "subnet[0].seconds is inf"),
    "seconds past": (with_answer(kind="command", argv=["x"], seconds=-1), "seconds is -1"),
    "path": (with_answer(kind="file", text="x"), "path is None, not a text"),
    "nothing": (with_answer(kind="file", path="/x"), "has to hold exactly one of text, file and error"),
    "two": (with_answer(kind="file", path="/x", text="", error="ENOENT"), "has to hold exactly one of"),
    "surrogate": (with_answer(kind="file", path="/x", text="\ud800"), "text holds half a character"),
    "entries": (with_answer(kind="folder", path="/x"), "entries is None, not a list"),
    "entry": (with_answer(kind="folder", path="/x", entries=["a"]), "entries holds 'a', not [name, kind"),
    "entry long": (with_answer(kind="folder", path="/x", entries=[["a", "file", None, 1, 2, 3, 4]]), "a list of 7"),
    "entry name": (with_answer(kind="folder", path="/x", entries=[["../a", "file"]]), "'../a', which is no name"),
    "entry mode": (with_answer(kind="folder", path="/x", entries=[["a", "file", None, -1]]), "entries is -1, not"),
    "twice": (
        {**GOOD, "subnet": [{"kind": "command", "argv": ["x"]}] * 2}, "subnet[1]: a second answer for ('x',)"),
    "verbs twice": ({**GOOD, "subnet": [{"kind": "verbs", "devices": []}] * 2}, "subnet[1].kind is 'verbs'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_MANIFESTS)
def test_manifests_that_are_wrong(tmp_path, case):
    manifest, expected = BAD_MANIFESTS[case]
    started = time.monotonic()
    text = message(folder(tmp_path, manifest, files={}))
    assert expected in text
    assert str(tmp_path) in text
    assert time.monotonic() - started < 5


def test_the_mend_is_named(tmp_path):
    assert message(folder(tmp_path, b"{")).endswith("; record it again, or mend the entry")


def test_a_manifest_that_names_itself_is_just_a_file(tmp_path):
    path = folder(tmp_path, with_answer(kind="command", argv=["ibstat"], stdout="manifest.json"))
    assert b"ibkit-capture/1" in open_site(path).hosts[0].source.run(["ibstat"]).stdout


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        (member("c/link", tarfile.SYMTYPE, "/etc/passwd"), "c/link is a link; a capture holds plain files only"),
        (member("c/hard", tarfile.LNKTYPE, "c/manifest.json"), "c/hard is a hard link"),
        (member("c/fifo", tarfile.FIFOTYPE), "c/fifo is a FIFO"),
        (member("c/null", tarfile.CHRTYPE), "c/null is a device"),
        (member("c/sda", tarfile.BLKTYPE), "c/sda is a device"),
        (member("c/odd", b"Z"), "c/odd is no plain file"),
        (member("c/../../x"), "'c/../../x' leads out of the capture"),
        (member("/etc/x"), "'/etc/x' leads out of the capture"),
        (member("c/\x1b[31m"), "manifest"),
        (member("c/manifest.json"), "holds c/manifest.json twice"),
        (member("d/manifest.json"), "holds c/manifest.json and d/manifest.json; unpack it and give one folder"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_archive_members_that_are_no_plain_files_inside(tmp_path, extra, expected, form):
    path = archive(tmp_path / "c.tar.gz", extra, form=form)
    if expected == "manifest":  # an odd name alone does no harm
        read_all(open_site(path))
    else:
        assert expected in message(path)


def test_names_that_only_their_long_form_shows(tmp_path):
    name = "c/" + "x" * 120 + "/../../../etc/x"
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        assert "leads out of the capture" in message(archive(tmp_path / f"{form}.tar.gz", member(name), form=form))


def test_a_truncated_archive(tmp_path):
    whole = (tmp_path / "c.tar.gz").read_bytes() if archive(tmp_path / "c.tar.gz", member("c/x", size=70_000)) else b""
    for size in (2, 10, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut.tar.gz").write_bytes(whole[:size])
        assert "not a whole .tar.gz of a capture" in message(str(tmp_path / "cut.tar.gz"))
    plain = gzip.decompress(whole)
    for size in (512, 700, 4096, 20_000):
        (tmp_path / "cut.tar").write_bytes(plain[:size])
        assert "not a whole .tar.gz of a capture (it ends in the middle)" in message(str(tmp_path / "cut.tar"))


def test_damaged_archives(tmp_path):
    path = tmp_path / "c.tar.gz"
    archive(path)
    whole = path.read_bytes()
    plain = bytearray(gzip.decompress(whole))
    for at, value in ((0, 0xFF), (124, 0x80), (124, 0x39), (148, 0x41), (156, 0x41)):
        broken = bytearray(plain)
        broken[at] = value
        path.write_bytes(gzip.compress(bytes(broken)))
        assert "not a whole .tar.gz of a capture (bad" in message(str(path))
    whole = gzip.compress(bytes(plain))
    for at in range(10, len(whole), 7):  # a changed byte is found wherever it is: gzip has a sum
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        message(str(path))
    path.write_bytes(gzip.compress(b"just some text\n" * 100))
    assert "packed with gzip, and what is in it is no capture; unpack it (gunzip)" in message(str(path))
    path.write_bytes(gzip.compress(b""))
    assert "not a whole .tar.gz" in message(str(path))


def header(name: str, size: int, kind: bytes = b"0") -> bytes:
    return member(name, kind, size=size).tobuf(tarfile.GNU_FORMAT)


def bomb(path, *pieces: bytes, times: int = 1) -> str:
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(times):
            for piece in pieces:
                file.write(piece)
    return str(path)


ZEROS = bytes(1 << 20)


def test_archives_that_would_fill_the_memory(tmp_path):
    """Their own headers tell, so nothing of them is unpacked: no time, no memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()  # a busy machine's clock says nothing
    cases = {
        "one": (header("x", 5 << 30) + ZEROS, "holds more than 2048 MiB"),
        "octal": (header("x", (8 << 30) - 1) + ZEROS, "holds more than 2048 MiB"),
        "binary size": (header("x", 1 << 60) + ZEROS, "bad number"),
        "long name": (header("x", 1 << 30, b"L") + ZEROS, "a header of 1073741824 bytes"),
        "pax": (header("x", 1 << 30, b"x") + ZEROS, "a header of 1073741824 bytes"),
        "global": (header("x", 1 << 30, b"g") + ZEROS, "a header of 1073741824 bytes"),
    }
    for name, (data, expected) in cases.items():
        assert expected in message(bomb(tmp_path / f"{name}.tar.gz", data))
    many = b"".join(header(f"x{number}", 0) for number in range(100_001))
    assert "or 100000 files" in message(bomb(tmp_path / "many.tar.gz", many))
    assert "or 100000 files" in message(bomb(tmp_path / "folders.tar.gz", header("d", 0, b"5"), times=100_001))
    assert time.process_time() - started < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10


def test_a_gzip_bomb_is_not_unpacked_into_memory(tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    path = archive(tmp_path / "c.tar.gz")
    with gzip.open(path) as file:
        good = file.read()
    bomb(tmp_path / "behind.tar.gz", good, ZEROS * 300)
    started = time.monotonic()
    assert "it goes on behind its end" in message(str(tmp_path / "behind.tar.gz"))
    assert time.monotonic() - started < 1
    manifest = {"format": "ibkit-capture/1", "subnet": [{"kind": "command", "argv": ["ibstat"], "stdout": "big"}]}
    data = json.dumps(manifest).encode()
    padded = data + bytes(-len(data) % 512)
    pieces = [header("manifest.json", len(data)), padded, header("big", 300 << 20), *[ZEROS] * 300, bytes(1024)]
    assert "big is larger than 256 MiB" in message(bomb(tmp_path / "inside.tar.gz", *pieces))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 << 10


def test_pax_headers_that_lie(tmp_path):
    for text in (b"", b"5", b"99 path=x\n", b"-1 path=x\n", b"0 path=x\n", b"12 path\n    ", b"11 size=-9\n",
                 b"13 size=junk\n", b"9" * 5000 + b" path=x\n", b"1" * 60_000):  # fmt: skip
        data = header("p", len(text), b"x") + text + bytes(-len(text) % 512) + header("manifest.json", 2) + b"{}"
        started = time.monotonic()
        message(bomb(tmp_path / "c.tar.gz", data + bytes(510 + 1024)))
        assert time.monotonic() - started < 1


def test_terminal_escapes_in_names_do_not_reach_the_message(tmp_path):
    manifest = {**GOOD, "job": ["job/\x1b[2J\u202e"]}
    from ibkit.display import clean

    assert "\x1b" not in clean(message(folder(tmp_path, manifest)), 2000)
    assert "\x1b" not in message(archive(tmp_path / "c.tar.gz", member("c/\x1b[2J", tarfile.SYMTYPE, "x")))
