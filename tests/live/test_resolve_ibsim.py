"""`ibkit resolve` on two simulated subnets with a router and an OpenSM each: what it says equals what the tools say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.ibacm import NEEDS, ibacm
from support.ibsim import Simulation
from support.two_subnets import BASES, LIDS, PREFIXES, two_subnets

from ibkit.model.ids import Gid
from ibkit.parsers.saquery import parse

pytestmark = pytest.mark.live

HOST_B3 = Gid(PREFIXES["b"] << 64 | BASES["b"] + 0x31)
SOURCES = ("--via", "hosts,gids,neighbours,fabric,sa")


@pytest.fixture(scope="module")
def fabrics(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Simulation]]:
    with two_subnets(tmp_path_factory.mktemp("subnets")) as made:
        for fabric in made.values():
            fabric.environment["XDG_CACHE_HOME"] = str(fabric.folder / "cache")
        yield made


def resolve(fabric: Simulation, *words: str, status: int = 0) -> list[dict[str, Any]]:
    done = fabric.ibkit("resolve", "--json", *words)
    assert done.returncode == status, done.stderr
    answers: list[dict[str, Any]] = json.loads(done.stdout)["answers"]
    return answers


def gid(subnet: str, end: str) -> str:
    return str(Gid(PREFIXES[subnet] << 64 | BASES[subnet] + int(end, 16)))


def test_by_lid_guid_gid_and_name_as_saquery_says(fabrics: dict[str, Simulation]) -> None:
    fabric = fabrics["a"]
    ends = {"21": "hostA2", "31": "hostA3", "1000": "acm-swA1"}
    queries = [[str(LIDS[end]), guid_of(end), gid("a", end), name] for end, name in ends.items()]
    answers = iter(resolve(fabric, *(query for some in queries for query in some), "--pkey", "0xffff", *SOURCES))
    for end in ends:
        lid = LIDS[end]
        told = fabric.run("saquery", "PR", "--slid", "1", "--dlid", str(lid), "--pkey", "0xffff").stdout
        (record,) = parse(told).value.records
        for _ in range(4):
            answer = next(answers)
            path = answer["path"]
            assert (answer["gid"], answer["lid"], answer["guid"]) == (gid("a", end), lid, guid_of(end))
            assert (path["dlid"], path["slid"], path["pkey"]) == (lid, 1, "0xffff")
            mtu, rate = int(record.fields["mtu"], 16) & 0x3F, int(record.fields["rate"], 16) & 0x3F
            assert (path["mtu_bytes"], path["rate_gbps"]) == (128 << mtu, {3: 10}[rate])
            assert (path["sgid"], path["dgid"]) == (gid("a", "11"), gid("a", end))


def guid_of(end: str) -> str:
    return f"0x{BASES['a'] + int(end, 16):016x}"


def test_the_router_has_the_far_gids_lid(fabrics: dict[str, Simulation]) -> None:
    (answer,) = resolve(fabrics["a"], str(HOST_B3), "--pkey", "0xffff", *SOURCES, status=3)
    assert (answer["path"]["dlid"], answer["path"]["hop_limit"]) == (LIDS["f01"], 255)
    assert answer["problems"][0]["kind"] == "first-leg-only"


def test_what_is_not_there(fabrics: dict[str, Simulation]) -> None:
    answers = resolve(fabrics["a"], "77", gid("a", "99"), "fec0:0:0:9::1", *SOURCES, status=1)
    assert [answer["problems"][0]["kind"] for answer in answers] == ["no-such-lid", "gid-not-in-fabric", "not-routed"]
    (answer,) = resolve(fabrics["a"], "hostA3", "--pkey", "0x8001", *SOURCES, status=1)
    assert [problem["kind"] for problem in answer["problems"]] == ["no-path"]


def test_a_capture_replays_to_the_same(fabrics: dict[str, Simulation], tmp_path: Path) -> None:
    fabric = fabrics["a"]
    live = fabric.ibkit("resolve", "--json", "hostA2", "31", "6", gid("a", "1000"), "77", *SOURCES)
    assert fabric.ibkit("capture", "-o", str(tmp_path / "c")).returncode == 0
    again = fabric.ibkit(
        "--from", str(tmp_path / "c"), "resolve", "--json", "hostA2", "31", "6", gid("a", "1000"), "77", *SOURCES
    )
    assert (again.returncode, json.loads(again.stdout)) == (live.returncode, json.loads(live.stdout))


def test_the_cache_is_built_of_the_fabric_with_paths(fabrics: dict[str, Simulation], tmp_path: Path) -> None:
    fabric = fabrics["a"]
    (tmp_path / "hosts").write_text("10.10.0.2 hostA2-ib0\n10.10.0.3 hostA3-ib0\n")
    cache = ("--cache", str(tmp_path / "c.db"))
    done = fabric.ibkit("cache", "build", "--hosts", str(tmp_path / "hosts"), "--json", *cache)
    told = {(one["address"], one["via"]): one for one in json.loads(done.stdout)["entries"]}
    assert told["10.10.0.3", "list"]["path"]["dlid"] == LIDS["31"]
    answers = resolve(fabric, "--via", "cache", *cache, "10.10.0.2", "10.10.0.3", "hostA3")
    assert [answer["gid"] for answer in answers] == [gid("a", "21"), gid("a", "31"), gid("a", "31")]


def test_a_route_file_of_every_port(fabrics: dict[str, Simulation], tmp_path: Path) -> None:
    """Subnet B has one partition, so its route file is safe; its paths are those that the SA tells of each pair."""
    from ibkit.parsers.acm_routes import parse as parse_routes

    fabric = fabrics["b"]
    cache = ("--cache", str(tmp_path / "c.db"))
    assert fabric.ibkit("cache", "build", *cache).returncode == 0
    done = fabric.ibkit("cache", "export", "--ibacm", str(tmp_path / "out"), "--routes", "all", *cache)
    assert done.returncode == 0, done.stderr
    blocks = {block.lid: block for block in parse_routes((tmp_path / "out/ibacm_route.data").read_text()).value}
    assert set(blocks) == set(LIDS.values())
    for one in (1, 5, 6):
        told = {route.dlid: (route.sl, route.mtu_code, route.rate_code) for route in blocks[one].routes}
        for other in (1, 5, 6):
            text = fabric.run("saquery", "PR", "--slid", str(one), "--dlid", str(other)).stdout
            (record,) = parse(text).value.records
            mtu, rate = int(record.fields["mtu"], 16) & 0x3F, int(record.fields["rate"], 16) & 0x3F
            assert told[other] == (int(record.fields["sl"], 16), mtu, rate)


@pytest.mark.needs(*NEEDS)
def test_the_real_ibacm_loads_what_export_writes_and_answers_alike(
    fabrics: dict[str, Simulation], tmp_path: Path
) -> None:
    fabric = fabrics["b"]
    (tmp_path / "hosts").write_text("10.20.0.1 hostB1-ib0\n10.20.0.2 hostB2-ib0\n10.20.0.3 hostB3-ib0\n")
    cache = ("--cache", str(tmp_path / "c.db"))
    assert fabric.ibkit("cache", "build", "--hosts", str(tmp_path / "hosts"), *cache).returncode == 0
    home, out = tmp_path / "acm", tmp_path / "out"
    export = ("cache", "export", "--ibacm", str(out), "--installed-in", str(home), "--routes", "own")
    assert fabric.ibkit(*export, *cache).returncode == 0
    files = {path.name: path.read_bytes() for path in out.iterdir()}
    own = files.pop("ibacm_addr.cfg") + b"10.20.0.1 ibsim0 1 default\n"
    options = files.pop("ibacm_opts.cfg").decode()
    with ibacm(
        home, files=files | {"addr.cfg": own}, options=options, gids="fec0:0:0:2:b2:0:0:11", pkeys="ffff",
        environment=fabric.environment,
    ) as service:  # fmt: skip
        assert service.complaints == []
        answers = resolve(fabric, "10.20.0.2", "10.20.0.3", *SOURCES[:-1], "cache,fabric,sa", *cache)
        for answer in answers:
            told = service.acme("-f", "i", "-s", "10.20.0.1", "-d", answer["query"], "-c")
            fields = dict(re.findall(r"^ {2}(\w[\w ]*): (\S+)", told, re.MULTILINE))
            path = answer["path"]
            assert str(Gid.parse(fields["dgid"])) == answer["gid"]
            assert (int(fields["dlid"]), int(fields["slid"])) == (path["dlid"], path["slid"])
            assert int(fields["sl"], 0) == path["sl"]
            assert 128 << (int(fields["mtu"], 0) & 0x3F) == path["mtu_bytes"]
