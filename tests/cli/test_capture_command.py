"""`ibkit capture`: what is recorded is what every command shows again, byte for byte."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest
from support.schemas import strict
from support.sysfs_tree import multirail_host, softroce_host
from support.tree_source import TreeSource

from ibkit.cli.main import main
from ibkit.collectors import everything
from ibkit.sources.base import TIMEOUT, VerbsAnswer
from ibkit.sources.opening import open_site

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "fixtures/tools"
SCHEMA = strict("capture")
COMMANDS = ("status", "doctor", "fabric", "sm", "counters")
OUTPUTS = {
    "ibstat": (TOOLS / "ibstat/two-devices.txt").read_text(),
    "ibnetdiscover": (TOOLS / "ibnetdiscover/topology.txt").read_text(),
    "sminfo": (TOOLS / "sminfo/master.txt").read_text(),
    "id -u": "1000\n",
    "id -G": "1000 27\n",
}
NODES = {"uverbs0": (0o666, 0, 0), "umad0": (0o600, 0, 0), "rdma_cm": (0o666, 0, 0)}


@pytest.fixture(params=["softroce", "multirail", "no device", "everything fails"])
def host(request, tmp_path, monkeypatch) -> TreeSource:
    """This host, made up."""
    root = tmp_path / "root"
    root.mkdir()
    if request.param == "softroce":
        softroce_host(root)
    elif request.param == "multirail":
        multirail_host(root)
    if request.param == "everything fails":
        source = TreeSource(root, errors=dict.fromkeys(OUTPUTS, TIMEOUT) | {"/sys/class/infiniband": "EACCES"})
    else:
        verbs = VerbsAnswer([{"name": "mlx5_0", "ports": [{"gids": ["fe80::1"]}]}])
        source = TreeSource(root, tools=OUTPUTS, nodes=NODES, verbs=verbs)
    monkeypatch.setattr("ibkit.sources.live.LiveSource", lambda **_: source)
    return source


def json_of(capsys, *words: str) -> str:
    status = main([*words, "--json"])
    out, _ = capsys.readouterr()
    return f"{status}\n{out}"


def record(capsys, *words: str, status: int = 0) -> tuple[str, str]:
    assert main(["capture", *words]) == status
    return capsys.readouterr()


def files(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


@pytest.mark.parametrize("name", ["c", "c.tar.gz"])
def test_a_replay_shows_what_the_host_showed(host, tmp_path, capsys, name):
    live = {words: json_of(capsys, words) for words in COMMANDS}
    record(capsys, "-o", str(tmp_path / name))
    assert {words: json_of(capsys, "--from", str(tmp_path / name), words) for words in COMMANDS} == live
    for words in COMMANDS:  # with less than all tables read
        main([words])
        main(["--from", str(tmp_path / name), words])
        _, err = capsys.readouterr()
        assert "recorded" not in err.replace(", recorded ", "")


def test_each_question_is_asked_once_of_the_host_and_once_of_the_subnet(host, tmp_path, capsys):
    record(capsys, "-o", str(tmp_path / "c"))
    assert max(host.asked.values()) <= 2
    assert host.asked["ibnetdiscover"] == 1


def test_the_manifest_fits_its_schema(host, tmp_path, capsys):
    (tmp_path / "job.out").write_text("n:1:2 [0] NCCL INFO x\n")
    record(capsys, "-o", str(tmp_path / "c"), "--job", str(tmp_path / "job.out"), "--note", "\x1b[31mnote")
    manifest = json.loads((tmp_path / "c/manifest.json").read_text())
    jsonschema.validate(manifest, SCHEMA)
    names = {value for answer in [*manifest["hosts"][0]["answers"], *manifest["subnet"]] for key in
             ("stdout", "stderr", "file") if (value := answer.get(key))}  # fmt: skip
    assert names | {*manifest["job"], "manifest.json"} == set(files(tmp_path / "c"))
    assert manifest["note"] == "\x1b[31mnote"


def test_a_copy_is_the_same(host, tmp_path, capsys):
    record(capsys, "-o", str(tmp_path / "a"), "--note", "first")
    record(capsys, "-o", str(tmp_path / "b.tar.gz"), "--from", str(tmp_path / "a"))
    record(capsys, "-o", str(tmp_path / "c"), "--from", str(tmp_path / "b.tar.gz"))
    first, last = files(tmp_path / "a"), files(tmp_path / "c")
    assert {name: data for name, data in first.items() if name != "manifest.json"} == {
        name: data for name, data in last.items() if name != "manifest.json"
    }
    manifests = [json.loads(files["manifest.json"]) for files in (first, last)]
    assert manifests[0]["time"] == manifests[1]["time"]
    assert manifests[1]["note"] == "first"
    for answers in (lambda manifest: manifest["hosts"][0]["answers"], lambda manifest: manifest["subnet"]):
        first, last = (sorted(map(json.dumps, answers(manifest))) for manifest in manifests)
        assert first == last


def test_a_copy_keeps_what_no_collector_asks_for(tmp_path, capsys):
    (tmp_path / "old").mkdir()
    (tmp_path / "old/x").write_text("precious")
    (tmp_path / "old/job").mkdir()
    (tmp_path / "old/job/a.out").write_text("log")
    answers = [
        {"kind": "command", "argv": ["mlxlink", "-d", "mlx5_0"], "stdout": "x", "exit_status": -9, "seconds": 3},
        {"kind": "file", "path": "/etc/x", "text": "y"},
        {"kind": "folder", "path": "/etc", "entries": [["x", "file"]]},
        {"kind": "verbs", "devices": [1]},
    ]
    manifest = {"format": "ibkit-capture/1", "hosts": [{"name": "n1", "answers": answers}], "job": ["job/a.out"]}
    (tmp_path / "old/manifest.json").write_text(json.dumps(manifest))
    record(capsys, "-o", str(tmp_path / "new"), "--from", str(tmp_path / "old"))
    site = open_site(str(tmp_path / "new"))
    source = site.hosts[0].source
    assert source.run(["mlxlink", "-d", "mlx5_0"])[1:5] == (b"precious", b"", -9, 3.0)
    assert source.read("/etc/x").data == b"y"
    assert source.list("/etc").names == ("x",)
    assert source.verbs().devices == [1]
    assert [(log.name, log.open().read()) for log in site.job] == [("a.out", b"log")]
    assert "time" not in json.loads((tmp_path / "new/manifest.json").read_text())  # nobody knows it


def test_one_tools_output_becomes_a_capture(tmp_path, capsys):
    for name, words in (("ibnetdiscover/ports-report", "fabric"), ("ibstat/two-devices", "status")):
        path = str(TOOLS / f"{name}.txt")
        target = str(tmp_path / words)
        record(capsys, "-o", target, "--from", path)
        raw, replayed = (
            json.loads(json_of(capsys, "--from", where, words).partition("\n")[2]) for where in (path, target)
        )
        for key in ("devices", "nodes", "links", "summary"):
            assert raw.get(key) == replayed.get(key)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ibqueryerrors/details", "counters"), ("ibqueryerrors/timeout-first", "counters"),
        ("ibqueryerrors/counters-report", "counters"), ("perfquery/loop", "counters"), ("perfquery/sum", "counters"),
        ("ibnetdiscover/ports-report", "fabric"), ("ibstat/two-devices", "status"), ("sminfo/master", "sm"),
    ],
)  # fmt: skip
def test_a_saved_output_says_the_same_from_a_capture(tmp_path, capsys, name, words):
    """Byte for byte, with the same problems, source and exit status; and from a capture of that capture."""
    path = str(TOOLS / f"{name}.txt")
    first, second = str(tmp_path / "first"), str(tmp_path / "second.tar.gz")
    record(capsys, "-o", first, "--from", path)
    record(capsys, "-o", second, "--from", first)

    def answer(where):
        status = main(["--from", where, words, "--json"])
        return status, capsys.readouterr().out

    assert answer(path) == answer(first) == answer(second)
    outputs = [name for name in files(tmp_path / "first") if name != "manifest.json"]
    assert len(outputs) == 1
    assert files(tmp_path / "first")[outputs[0]] == Path(path).read_bytes()
    manifest = json.loads((tmp_path / "first/manifest.json").read_text())
    jsonschema.validate(manifest, SCHEMA)


def test_a_saved_output_is_anonymised(tmp_path, capsys):
    record(capsys, "-o", str(tmp_path / "c"), "--anonymise", "--from", str(TOOLS / "ibqueryerrors/timeout-first.txt"))
    (name,) = [name for name in files(tmp_path / "c") if name != "manifest.json"]
    text = files(tmp_path / "c")[name].decode()
    assert "0xb8599f0300383e0" not in text
    assert "[SymbolErrorCounter == 35" in text


def test_a_jobs_folder(tmp_path, capsys, host):
    logs = tmp_path / "logs"
    (logs / "sub").mkdir(parents=True)
    (logs / "b.out").write_bytes(b"\xff\0")
    (logs / "a b;c.out").write_text("a")
    (logs / "sub/r0.err").write_text("r0")
    (logs / "link").symlink_to("/etc/passwd")
    os.mkfifo(logs / "fifo")
    record(capsys, "-o", str(tmp_path / "c"), "--job", str(logs))
    assert {name: data for name, data in files(tmp_path / "c").items() if name.startswith("job/")} == {
        "job/a_b_c.out": b"a", "job/b.out": b"\xff\0", "job/sub/r0.err": b"r0",
    }  # fmt: skip
    assert [log.name for log in open_site(str(tmp_path / "c")).job] == ["a_b_c.out", "b.out", "sub/r0.err"]


def test_what_it_says(host, tmp_path, capsys):
    out, err = record(capsys, "-o", str(tmp_path / "c"))
    assert "ibnetdiscover" in out
    assert "recording topology" in err
    assert f"written to {tmp_path}/c" in err
    if host.asked["ibstat"]:
        assert any(line.split()[0] == "ibstat" for line in out.splitlines() if line)


@pytest.mark.parametrize("host", ["softroce"], indirect=True)
def test_it_tells_what_could_not_be_read(host, tmp_path, capsys):
    host._errors = {"/sys/class/infiniband/rxe0/node_guid": "EACCES", "ibnetdiscover": TIMEOUT}
    out, err = record(capsys, "-o", str(tmp_path / "c"))
    rows = [line.split() for line in out.splitlines()]
    assert ["ibnetdiscover", "subnet", "timeout", "0.0", "0"] in rows
    assert ["files", "not", "read:", "EACCES"] in [row[:4] for row in rows]
    assert "ibnetdiscover did not end" in err


@pytest.mark.parametrize("host", ["softroce"], indirect=True)
def test_a_collector_that_breaks_costs_only_itself(host, tmp_path, capsys, monkeypatch):
    """The capture is what shows its authors why."""

    def broken(source, name):
        source.run(["ibstat"])
        raise ZeroDivisionError("\x1b[2Joh")

    monkeypatch.setattr(everything, "OF_A_HOST", (("broken", broken), *everything.OF_A_HOST))
    _, err = record(capsys, "-o", str(tmp_path / "c"))
    assert "ibkit failed on what it read (ZeroDivisionError: \\x1b[2Joh); please report it with this capture" in err
    assert "\x1b" not in err
    site = open_site(str(tmp_path / "c"))
    assert site.hosts[0].source.run(["ibstat"]).out == OUTPUTS["ibstat"]
    assert site.subnet.run(["sminfo"]).out == OUTPUTS["sminfo"]


@pytest.mark.parametrize("host", ["softroce"], indirect=True)
def test_what_is_refused_is_refused_before_anything_is_asked(host, tmp_path, capsys):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").touch()
    (tmp_path / "logs").mkdir()
    for words, message in (
        (["-o", str(tmp_path / "full")], "exists and is not empty"),
        (["-o", str(tmp_path / "no/c")], "there is no folder"),
        (["-o", str(tmp_path / "c.zip")], "a capture is a folder or a .tar.gz"),
        (["-o", str(tmp_path / "c"), "--job", str(tmp_path / "none")], "No such file or directory"),
        (["-o", str(tmp_path / "c"), "--job", str(tmp_path / "logs")], "no plain file in it"),
        (["-o", str(tmp_path / "c"), "--from", str(tmp_path / "full")], "manifest.json: missing"),
    ):
        _, err = record(capsys, *words, status=2)
        assert message in err
        assert err.count("\n") == 1
    assert not host.asked
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("path", sorted((ROOT / "fixtures").glob("*/manifest.json")), ids=lambda path: path.parent.name)
def test_the_shipped_captures_are_ours(path):
    """Written by this command, in the documented format, every file of them named."""
    manifest = json.loads(path.read_text())
    jsonschema.validate(manifest, SCHEMA)
    answers = [answer for host in manifest["hosts"] for answer in host["answers"]] + manifest["subnet"]
    names = {value for answer in answers for key in ("stdout", "stderr", "file") if (value := answer.get(key))}
    assert {*names, *manifest["job"], "manifest.json"} == set(files(path.parent)) - {"README.md"}
