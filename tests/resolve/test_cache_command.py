"""`ibkit cache`: fill it from the recorded subnets, show it, give it to ibacm, take it back, and check the files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.schemas import strict

from ibkit.cli.main import main
from ibkit.model.path_record import PathRecord
from ibkit.parsers import acm_addr, acm_hosts, acm_opts

ROOT = Path(__file__).parents[2]
SUBNET_A = str(ROOT / "fixtures/two-subnets/a")
A = "fec0:0000:0000:0001:00a1:0000:0000:00"
HOST_B3 = "fec0:0000:0000:0002:00b2:0000:0000:0031"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))


@pytest.fixture
def cache(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    path = str(tmp_path / "cache.db")
    assert main(["cache", "build", SUBNET_A, "--cache", path]) == 0
    capsys.readouterr()
    return path


def shown(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> dict[str, Any]:
    assert main(["cache", *words, "--json"]) == status
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, strict("cache"))
    return document


def test_build_takes_what_each_source_says(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    document = shown(capsys, "build", SUBNET_A, "--cache", str(tmp_path / "c.db"))
    told = {(one["address"], one["via"]): one for one in document["entries"]}
    assert told["10.10.0.1", "gids"]["gid"] == A + "11"
    assert told["10.10.0.2", "neighbours"]["gid"] == A + "21"
    assert (told["10.10.0.2", "neighbours"]["pkey"], told["10.10.0.2", "neighbours"]["age_seconds"]) == ("0xffff", 7)
    assert told["10.10.0.3", "hosts"]["gid"] == A + "99"
    assert told["10.10.0.3", "list"]["gid"] == A + "31"  # hostA3-ib0 by /etc/hosts, hostA3 by the fabric
    assert told["hostA3", "fabric"]["gid"] == A + "31"
    assert told["10.20.0.3", "hosts"]["gid"] == HOST_B3
    assert ("10.10.0.9", "neighbours") not in told
    path = told["hostA3", "fabric"]["path"]
    assert (path["slid"], path["dlid"], path["mtu_bytes"], told["hostA3", "fabric"]["host"]) == (1, 6, 2048, "hostA1")
    assert {one["state"] for one in document["entries"]} == {"fresh"}


def test_the_cache_answers_alone(capsys: pytest.CaptureFixture[str], cache: str) -> None:
    words = ["--from", SUBNET_A, "resolve", "--cache", cache, "--via", "cache", "--json"]
    assert main([*words, "hostA3", "10.10.0.4"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert [(one["gid"], one["path"]["dlid"], one["sources"][0]["state"]) for one in answers] == [
        (A + "31", 6, "fresh"), (A + "31", 6, "fresh"),
    ]  # fmt: skip
    assert main([*words, "10.10.0.3"]) == 1  # its two words of it differ
    (answer,) = json.loads(capsys.readouterr().out)["answers"]
    assert (answer["gid"], answer["problems"][0]["kind"]) == (None, "sources-differ")
    assert main([*words, "10.10.0.99"]) == 3


def test_a_path_is_that_of_the_host_that_found_it(capsys: pytest.CaptureFixture[str], cache: str) -> None:
    other = str(ROOT / "fixtures/two-subnets/b")
    assert main(["--from", other, "resolve", "--cache", cache, "--via", "cache", "--json", "hostA3"]) == 3
    (answer,) = json.loads(capsys.readouterr().out)["answers"]
    assert (answer["gid"], answer["path"]["slid"]) == (A + "31", None)


def test_show_by_address_name_or_gid(capsys: pytest.CaptureFixture[str], cache: str) -> None:
    for word in ("10.10.0.2", "HOSTA2", A + "21"):
        entries = shown(capsys, "show", word, "--cache", cache)["entries"]
        assert {one["gid"] for one in entries} == {A + "21"}
    shown(capsys, "show", "10.9.9.9", "--cache", cache, status=3)


def export(capsys: pytest.CaptureFixture[str], cache: str, folder: Path, *words: str, status: int = 0) -> str:
    assert main(["--from", SUBNET_A, "cache", "export", "--cache", cache, "--ibacm", str(folder), *words]) == status
    return capsys.readouterr().err


def test_export_writes_what_is_settled(capsys: pytest.CaptureFixture[str], cache: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    told = export(capsys, cache, folder, status=1)  # the file of hostA1 has wrong entries
    entries = acm_hosts.parse((folder / "ibacm_hosts.data").read_text())
    assert entries.problems == ()
    gids = {one.key: f"{one.gid:032x}" for one in entries.value}
    assert gids["10.10.0.2"].endswith("21")
    assert gids["10.10.0.6"].endswith("31")  # as the neighbour table says now
    assert gids["10.20.0.3"] == HOST_B3.replace(":", "")
    assert {"10.10.0.3", "10.10.0.5", "10.10.0.13"}.isdisjoint(gids)
    assert "10.10.0.3 is left out" in told
    options = acm_opts.settings(acm_opts.parse((folder / "ibacm_opts.cfg").read_text()).value)
    assert (options.addr_preload, options.addr_timeout_minutes) == ("acm_hosts", -1)
    assert options.addr_data_file == "/etc/rdma/ibacm_hosts.data"
    own = acm_addr.parse((folder / "ibacm_addr.cfg").read_text()).value
    assert [(one.name, one.device, one.port, one.pkey) for one in own] == [
        ("hostA1", "mlx5_0", 1, None), ("hostA1-1", "mlx5_0", 1, None),
    ]  # fmt: skip
    assert not (folder / "ibacm_route.data").exists()  # the port is in two partitions
    assert "ibacm would use its paths in each of them" in told
    assert sorted(path.name for path in folder.iterdir()) == ["ibacm_addr.cfg", "ibacm_hosts.data", "ibacm_opts.cfg"]


@pytest.mark.parametrize("name", ["h" * 50, "n\x1b[2J", "n\udcff", "n 1", "10"], ids=ascii)
def test_a_host_that_ibacm_cannot_name(
    name: str, capsys: pytest.CaptureFixture[str], cache: str, tmp_path: Path
) -> None:
    shutil.copytree(SUBNET_A, tmp_path / "c")
    manifest = json.loads((tmp_path / "c/manifest.json").read_text())
    manifest["hosts"][0]["name"] = name
    (tmp_path / "c/manifest.json").write_text(json.dumps(manifest))
    status = main(
        ["--from", str(tmp_path / "c"), "cache", "export", "--cache", cache, "--ibacm", str(tmp_path / "out")]
    )
    told = capsys.readouterr().err
    assert status == 1
    is_named = name == "10"
    assert (tmp_path / "out/ibacm_addr.cfg").exists() == is_named
    assert ("there is no ibacm_addr.cfg: ibacm cannot take" in told) != is_named
    assert "\x1b" not in told
    assert (tmp_path / "out/ibacm_hosts.data").exists()


def test_keys_that_are_none_and_two_spellings_of_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What a cache was given from a file: no name goes to ibacm that is none, and no address twice."""
    rows = [("n\x1b[2J", 11), ("n01", 21), ("fe80::1", 11), ("FE80:0::1", 21), ("n\udcff", 31), ("fe80::2", 31)]
    row = {"pkey": None, "age_seconds": 0, "prefix": None, "path": None, "host": None, "via": "sa", "detail": ""}
    entries = [{**row, "address": address, "gid": f"{A}{gid}"} for address, gid in rows]
    (tmp_path / "in.json").write_text(json.dumps({"schema": "ibkit.cache/1", "entries": entries}))
    cache = str(tmp_path / "c.db")
    assert main(["cache", "import", str(tmp_path / "in.json"), "--cache", cache]) == 0
    capsys.readouterr()
    told = export(capsys, cache, tmp_path / "out", status=1)
    keys = [one.key for one in acm_hosts.parse((tmp_path / "out/ibacm_hosts.data").read_text()).value]
    assert keys == ["fe80::2", "n01"]
    assert r"n\x1b[2J is left out" in told
    assert "fe80::1 is left out: sa says" in told


def test_absurd_numbers_of_a_document(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Each costs its own entry, and none is printed as what JSON has no word for."""
    path = dict.fromkeys(PathRecord._fields)
    row = {"gid": "fe80::1", "pkey": None, "prefix": None, "host": "\udcff", "via": "\udcff", "detail": "\udcff"}
    ages = [{"age_seconds": age, "path": None} for age in (1e400, -1e400, 10**30, -1, "x", 1.5)]
    rates = [{"age_seconds": 0, "path": {**path, "rate_gbps": rate}} for rate in (1e400, float("nan"), -1, 10**400)]
    entries = [{**row, **more, "address": f"n{number}"} for number, more in enumerate(ages + rates)]
    (tmp_path / "in.json").write_text(json.dumps({"schema": "ibkit.cache/1", "entries": entries}))
    cache = str(tmp_path / "c.db")
    assert main(["cache", "import", str(tmp_path / "in.json"), "--cache", cache]) == 0
    assert capsys.readouterr().err.count("is left out") == 7
    kept = shown(capsys, "show", "--cache", cache)["entries"]
    assert [one["address"] for one in kept] == ["n2", "n3", "n5"]
    assert [one["age_seconds"] >= 0 for one in kept] == [True] * 3


def test_nodes_whose_description_is_no_name_are_not_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """An address in it is somebody else's."""
    shutil.copytree(SUBNET_A, tmp_path / "c")
    for file in (tmp_path / "c/subnet").iterdir():
        text = file.read_bytes().replace(b"hostA3 mlx5_0", b"10.10.0.77 mlx5_0").replace(b"acm-swA1", b"\x1b[2Jsw")
        file.write_bytes(text)
    entries = shown(capsys, "build", str(tmp_path / "c"), "--cache", str(tmp_path / "c.db"))["entries"]
    assert "acm-swA2" in {one["address"] for one in entries}
    assert not {"10.10.0.77", "\x1b[2Jsw"} & {one["address"] for one in entries}


def test_export_replaces_nothing_unasked(capsys: pytest.CaptureFixture[str], cache: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    export(capsys, cache, folder, status=1)
    (folder / "ibacm_hosts.data").write_text("precious\n")
    assert "--force" in export(capsys, cache, folder, status=2)
    assert (folder / "ibacm_hosts.data").read_text() == "precious\n"
    export(capsys, cache, folder, "--force", "--installed-in", "/opt/rdma/", status=1)
    assert "addr_data_file /opt/rdma/ibacm_hosts.data" in (folder / "ibacm_opts.cfg").read_text()
    (tmp_path / "file").touch()
    assert "file" in export(capsys, cache, tmp_path / "file/x", status=2)


def test_the_exported_files_pass_the_check(capsys: pytest.CaptureFixture[str], cache: str, tmp_path: Path) -> None:
    export(capsys, cache, tmp_path / "out", status=1)
    assert main(["--from", SUBNET_A, "cache", "check", str(tmp_path / "out"), "--cache", cache, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, strict("cache_check"))
    told = [(one["name"], one["evidence"][0]["text"].split()[0]) for one in document["findings"]]
    assert told == [("acm-unknown-prefix", "10.20.0.3"), ("acm-unknown-prefix", "10.90.0.3")]


def test_check_names_line_and_mend(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "ibacm_hosts.data"
    file.write_text("10.10.0.10/24 fec0:0:0:1:a1:0:0:21\n10.10.0.3 fec0:0:0:1:a1:0:0:99\n")
    assert main(["--from", SUBNET_A, "cache", "check", str(file), "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert {one["evidence"][0]["line"] for one in findings if one["severity"] != "info"} >= {1, 2}
    assert all(one["fix"] for one in findings)
    assert main(["--from", SUBNET_A, "cache", "check", str(file)]) == 1
    assert f"{file}:1: " in capsys.readouterr().out


def test_check_reads_the_files_of_the_host(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--from", SUBNET_A, "cache", "check", "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    lines = {one["evidence"][0]["line"] for one in findings}
    assert 3 in lines  # 10.10.0.3: nobody has the GUID
    assert {one["evidence"][0]["source"] for one in findings} <= {
        "/etc/rdma/ibacm_hosts.data", "/etc/rdma/ibacm_opts.cfg",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("x.txt", 'Channel Adapter 0x00a1000000000011, base LID 1, "n", port 1\n# LID\n0x0001 : 0 : 4 : 3\n', "routes"),
        ("x.txt", "addr_preload acm_host\n", "opts"),
        ("x.txt", "n01 mlx5_0 1 default\n", "addr"),
        ("x.txt", "10.0.0.1 fec0::1\n", "hosts"),
        ("opensm-path-records.dump", "", "routes"),
    ],
)
def test_a_file_is_known_by_its_name_or_what_is_in_it(name: str, text: str, kind: str) -> None:
    from ibkit.cli.cache_check import _kind_of

    assert _kind_of(f"/tmp/{name}", text) == kind


def test_json_goes_round(capsys: pytest.CaptureFixture[str], cache: str, tmp_path: Path) -> None:
    document = shown(capsys, "show", "--cache", cache)
    (tmp_path / "cache.json").write_text(json.dumps(document))
    again = str(tmp_path / "again.db")
    assert main(["cache", "import", str(tmp_path / "cache.json"), "--cache", again]) == 0
    capsys.readouterr()

    def bare(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{key: value for key, value in one.items() if key != "age_seconds"} for one in entries]

    assert bare(shown(capsys, "show", "--cache", again)["entries"]) == bare(document["entries"])


def test_import_of_a_hosts_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    odd = ROOT / "fixtures/acm/hosts.odd.data"
    assert main(["cache", "import", str(odd), "--cache", str(tmp_path / "c.db")]) == 0
    assert "10.10.0.10/24 is left out" in capsys.readouterr().err
    told = {one["address"]: one["gid"] for one in shown(capsys, "show", "--cache", str(tmp_path / "c.db"))["entries"]}
    assert told["hosta2"].endswith("0021")
    assert told["HostA2"].endswith("0031")
    assert told["10.10.0.4"].endswith("0031")  # of two lines the last
    assert {"10.10.0.10/24", "010.010.000.011", "fe80::a2%ib0"}.isdisjoint(told)


@pytest.mark.parametrize("text", ["nothing here\n", "{}", '{"schema": "ibkit.cache/1", "entries": 5}', "[" * 50_000])
def test_import_of_something_else(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text)
    assert main(["cache", "import", str(tmp_path / "x"), "--cache", str(tmp_path / "c.db")]) == 2
    assert capsys.readouterr().err.startswith(f"ibkit: {tmp_path}/x: ")


def test_import_of_damaged_entries_keeps_the_others(
    capsys: pytest.CaptureFixture[str], cache: str, tmp_path: Path
) -> None:
    document = shown(capsys, "show", "hostA3", "--cache", cache)
    good = document["entries"][0]
    bad = [good | {"gid": "x"}, good | {"pkey": 5}, good | {"path": {"sl": 1}}, good | {"address": None}, 7, {}]
    (tmp_path / "x.json").write_text(json.dumps(document | {"entries": [*bad, good]}))
    assert main(["cache", "import", str(tmp_path / "x.json"), "--cache", str(tmp_path / "c.db")]) == 0
    assert capsys.readouterr().err.count("is left out") == len(bad)
    assert len(shown(capsys, "show", "--cache", str(tmp_path / "c.db"))["entries"]) == 1


def test_clear(capsys: pytest.CaptureFixture[str], cache: str) -> None:
    assert main(["cache", "clear", "--old", "--cache", cache]) == 0
    count = len(shown(capsys, "show", "--cache", cache)["entries"])
    assert count > 10
    assert main(["cache", "clear", "--cache", cache]) == 0
    assert f"{count} entries were removed" in capsys.readouterr().err
    assert main(["cache", "show", "--cache", cache]) == 3


def test_build_with_a_list(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("hostA[2-3]\n10.30.0.3 hostA3-ib0\nnobody\n")
    words = ("build", SUBNET_A, "--hosts", str(tmp_path / "hosts"), "--cache", str(tmp_path / "c.db"))
    told = {one["address"]: one["gid"] for one in shown(capsys, *words)["entries"] if one["via"] == "list"}
    assert told == {"hostA2": A + "21", "hostA3": A + "31", "10.30.0.3": A + "31"}
    (tmp_path / "hosts").write_text("n[3-1]\n")
    assert main(["cache", "build", SUBNET_A, "--hosts", str(tmp_path / "hosts")]) == 2


@pytest.mark.parametrize("action", ["show", "build", "check", "export", "clear"])
def test_a_file_that_is_no_cache_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path, action: str) -> None:
    (tmp_path / "notes.txt").write_text("not a cache, and longer than a head of one would be\n" * 100)
    more = {"build": [SUBNET_A], "export": ["--ibacm", str(tmp_path / "out")]}.get(action, [])
    assert main(["cache", action, *more, "--cache", str(tmp_path / "notes.txt")]) == 2
    err = capsys.readouterr().err
    assert f"{tmp_path}/notes.txt: " in err
    assert "remove the file" in err
    assert (tmp_path / "notes.txt").read_text().startswith("not a cache")
    assert not (tmp_path / "out").exists()


def test_hostile_texts_are_shown_as_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "x").write_text("n\x1b[31m1 fec0::1\n10.0.0.1 fec0::2 \x1b]0;title\x07\n")
    assert main(["cache", "import", str(tmp_path / "x"), "--cache", str(tmp_path / "c.db")]) == 0
    assert main(["cache", "show", "--cache", str(tmp_path / "c.db")]) == 0
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err


def test_another_tools_output_is_no_file_of_ibacms(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = ROOT / "fixtures/tools/ibnetdiscover/tree.txt"
    assert main(["cache", "check", str(text), "--cache", str(tmp_path / "a.db")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "this is ibnetdiscover output, which is for `ibkit fabric`" in err


def test_a_capture_is_refused_where_the_cache_alone_is_looked_at(
    cache: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would show this cache for what the capture holds."""
    assert main(["--from", SUBNET_A, "cache", "show", "--cache", cache]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "ibkit cache show looks at the cache alone" in err
