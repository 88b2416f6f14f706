"""The real ibacm: it reads files as our readers say, takes what we write, and answers us as it answers ib_acme."""

from __future__ import annotations

import ipaddress
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.ibacm import NEEDS, Ibacm, ibacm
from support.ibsim import Simulation
from support.two_subnets import two_subnets

from ibkit.collectors.acm import SOCKETS, ask_acm, collect_acm
from ibkit.model.acm import AcmAnswer, AcmService
from ibkit.model.ids import Gid
from ibkit.model.path_record import MTU_BYTES, RATE_GBPS, PathRecord
from ibkit.parsers import acm_addr, acm_hosts, acm_opts, acm_protocol, acm_routes
from ibkit.parsers.acm_file import IP4, IP6, NAME, gid_of, key_of
from ibkit.parsers.acm_routes import Route, RouteBlock
from ibkit.resolve.lint import AcmFiles, lint
from ibkit.sources.base import ExchangeAnswer, FileAnswer
from ibkit.sources.live import LiveSource

pytestmark = pytest.mark.needs(*NEEDS)

ROOT = Path(__file__).parents[2]
ACM = ROOT / "fixtures/acm"
OWN = "hosta1 ibsim0 1 default\n10.10.0.1 ibsim0 1 default\n"
A1 = Gid.parse("fec0::1:a1:0:0:11")
ROUTER_LID = 4


class OnThisHost(LiveSource):
    """This host, as if ``service`` were its ibacm."""

    def __init__(self, service: Ibacm) -> None:
        super().__init__()
        self._service = service

    def read(self, path: str) -> FileAnswer:
        if path == "/run/ibacm.pid":
            return FileAnswer(path, f"{self._service.process.pid}\n".encode())
        return FileAnswer(path, error="ENOENT") if path == "/run/ibacm-tcp.port" else super().read(path)

    def exchange(self, address: str, request: bytes, *, deadline_seconds: float = 5.0) -> ExchangeAnswer:
        assert address == SOCKETS[0]
        answer = super().exchange(f"unix:{self._service.socket}", request, deadline_seconds=deadline_seconds)
        return answer._replace(address=address)


# Its files, which it reads without a fabric, too


def odd_hosts(seed: int) -> str:
    """Lines that look like entries, with what editors and people do to them."""
    chance = random.Random(seed)
    keys = [
        "10.0.3.4", "10.0.0.256", "1.2.3", "00.1.1.1", "0.1.1.1", "fd00::5", "1:2:3:4:5:6:7::", "::1.2.3.4", "1::2::3",
        "n1", "N1", "#c", "n" * 45, "n" * 46, "é" * 23, "10.0.0.1/24", "fe80::1%ib0", "", "\x1b[31m", "\xa0",
    ]  # fmt: skip
    gids = [
        "fec0::7", "FE80::A", "1:2:3:4:5:6:1.2.3.4", "::ffff:010.1.1.1", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1::8:",
        "12345::", "0000000:1::", "notagid", "fec0::7,fe80::8", "",
    ]  # fmt: skip
    blanks = [" ", "\t", "\v", "  ", " " * chance.randrange(60, 110)]
    ends = ["", "", "\r", " # x", "#x", " fe80::9", " " * 90 + "t fe80::9", "\0x", " " * chance.randrange(60, 120)]
    pick = chance.choice
    return "\n".join(pick(["", "", " "]) + pick(keys) + pick(blanks) + pick(gids) + pick(ends) for _ in range(150))


def odd_addresses(seed: int) -> str:
    chance = random.Random(seed)
    pick = chance.choice
    ports = ["1", "1", "1", "+1", "257", "-255", "2", "01", "0x1", "1x", "18446744073709551617", "4294967297", "1.5"]
    pkeys = [
        "default", "DEFAULT", "defaultx", "ffff", "0xffff", "8001", "0x0001", "0x", "-1", "8001z", "8001abc",
        "12348001", "xyz", "0xg", "",
    ]  # fmt: skip
    devices = ["ibsim0", "ibsim0", "IBSIM0", "mlx5_0", "d" * 31, "d" * 32]
    lines = []
    for number in range(80):
        name = pick([f"n{number}", f"n{number}", f"10.1.1.{number}", "n" * 44 + str(number), f"#n{number}"])
        blank = pick([" ", "\t", "  "])
        end = pick(["", "", " # x", "\r", " " * 100 + f"t{number} ibsim0 1 default"])
        lines.append(f"{name}{blank}{pick(devices)}{blank}{pick(ports)}{pick([blank, ''])}{pick(pkeys)}{end}")
    return "\n".join(lines)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_odd_files_are_read_as_it_reads_them(tmp_path: Path, seed: int) -> None:
    hosts = (ACM / "hosts.odd.data").read_text() if seed == 0 else odd_hosts(seed)
    addresses = odd_addresses(seed)
    files = {"hosts.data": hosts, "addr.cfg": f"own ibsim0 1 default\nown-s ibsim0 1 8001\n{addresses}"}
    with ibacm(tmp_path, files=files, options="addr_preload acm_hosts\n") as service:
        log = "\n".join(service.log)
    # It logs a line before it takes it; one that was cut has no end, so the next words stand on the same line.
    told = re.findall(r"added host (\S+) address type (\d) IB GID (\S+)", log, re.ASCII)
    kinds = {"1": NAME, "2": IP4, "3": IP6}
    believed = [(key, kinds[kind], gid_of(gid)) for key, kind, gid in told]
    entries = [(entry.key, entry.kind, entry.gid) for entry in acm_hosts.parse(hosts).value]
    assert believed == entries * 2 and entries  # once for each endpoint

    named = {0xFFFF: set[str](), 0x8001: set[str]()}
    pkey = 0
    for line in log.split("\n"):
        if found := re.search(r"acm_assign_ep_names: device ibsim0, port 1, pkey 0x(\w+)", line):
            pkey = int(found[1], 16)
        elif found := re.search(r"acm_assign_ep_names: assigning (\S+)$", line, re.ASCII):
            named[pkey].add(found[1])
    parsed = acm_addr.parse(files["addr.cfg"])
    ours = [entry for entry in parsed.value if (entry.device.lower(), entry.port) == ("ibsim0", 1)]
    for pkey, names in named.items():
        mine = {entry.name for entry in ours if (0xFFFF if entry.pkey is None else entry.pkey) | 0x8000 == pkey}
        assert mine == names
    rejected = set(re.findall(r"acm_assign_ep_names: ERROR - bad pkey format (\S+)", log))
    assert rejected == {re.findall("'(.*)'", one.text)[0] for one in parsed.problems if one.kind == "acm-bad-pkey"}


@pytest.mark.parametrize(
    "options",
    [
        "", "Addr_Timeout 5x\nROUTE_TIMEOUT 7\nroute_prot ACM\nloopback_prot none\n",
        "addr_timeout never\nroute_timeout 2147483648\nroute_prot x\nmin_mtu 1500\nmin_rate 400\nserver_port 70000\n",
        "route_preload full_opensm_v1\naddr_preload = acm_hosts\nmin_mtu 4096\nmin_rate 100\n"
        "acme_plus_kernel_only 0x10\n",
        "route_preload opensm_full_v1\nroute_preload x\naddr_preload ACM_HOSTS\nretries 5" + " " * 110 + "retries 7\n",
    ],
)  # fmt: skip
def test_options_mean_what_they_mean_to_it(tmp_path: Path, options: str) -> None:
    files = {"addr.cfg": OWN, "hosts.data": "", "route.data": ""}
    with ibacm(tmp_path, files=files, options=options) as service:
        log = dict(re.findall(r"^acmp?_log_options: (.*?) (\S+?)(?: ms)?$", "\n".join(service.log), re.MULTILINE))
    made = acm_opts.settings(acm_opts.parse((tmp_path / "opts.cfg").read_text()).value)
    mtus = {size: code for code, size in MTU_BYTES.items()}
    rates = {rate: code for code, rate in RATE_GBPS.items()}
    expected = {
        "address timeout": made.addr_timeout_minutes, "route timeout": made.route_timeout_minutes,
        "route resolution": ["acm", "sa"].index(made.route_prot),
        "loopback resolution": ["none", "local"].index(made.loopback_prot),
        "timeout": made.timeout_ms, "retries": made.retries, "resolve depth": made.resolve_depth,
        "minimum mtu": mtus[made.min_mtu_bytes], "minimum rate": rates[made.min_rate_gbps],
        "route preload": int(made.route_preload != "none"), "address preload": int(made.addr_preload != "none"),
    }  # fmt: skip
    assert {name: int(log[name]) for name in expected} == expected
    assert log["acme_plus_kernel_only"] == ("yes" if made.acme_plus_kernel_only else "no")
    assert int(log["server_port"]) % 65536 == made.server_port


def test_what_we_write_is_taken_without_a_complaint(tmp_path: Path) -> None:
    keys = [*(f"10.{i}.{j}.1" for i in range(9) for j in range(9)), "fd00::1", "n" * 45, "node-01.example.org"]
    pairs = [(key, 0xFEC0000000000001 << 64 | 0xA1000000000021 + number) for number, key in enumerate(keys)]
    ends = [("hosta1", "ibsim0", 1, None), ("n" * 46, "ibsim0", 1, 0x8001), ("hosta1-2", "IBSIM0", 1, 0x0001)]
    name = 'a "name", with é and commas, ' * 9
    blocks = [
        RouteBlock("Channel Adapter", A1.guid, 1, name, 1, (Route(1, 0, 5, 16), Route(7, 15, 1, 24)), (9,)),
        RouteBlock("Switch", 0xA1000000001000, 7, "", 0), RouteBlock("Router", 0xA1000000000F01, 9, None, None),
    ]  # fmt: skip
    files = {
        "hosts.data": acm_hosts.write(pairs), "addr.cfg": acm_addr.write(ends), "route.data": acm_routes.write(blocks),
    }  # fmt: skip
    options = acm_opts.write([("addr_preload", "acm_hosts"), ("route_preload", "opensm_full_v1"), ("addr_timeout", -1)])
    with ibacm(tmp_path, files=files, options=options) as service:
        log = service.log
        endpoints = collect_acm(OnThisHost(service)).endpoints
    assert service.complaints == []
    assert endpoints is not None
    assert [end.addresses for end in endpoints] == [("n" * 46, "hosta1-2"), ("hosta1",)]
    added = [line for line in log if "added host" in line]
    assert len(added) == 2 * len(pairs)
    cached = [line.split(" dest ")[1] for line in log if "added cached dest" in line]
    assert cached[:4] == ["LID(1)", "fec0::1:a1:0:0:11", "LID(7)", "fec0::1:a1:0:0:1000"] and len(cached) == 8


# On a fabric: two subnets and a router


@pytest.fixture(scope="module")
def subnets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Simulation]]:
    with two_subnets(tmp_path_factory.mktemp("subnets")) as both:
        yield both


@pytest.fixture(scope="module")
def exported(subnets: dict[str, Simulation], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ibacm]:
    """ibacm with the files that `ibkit cache export` makes of the shipped capture of the same subnet."""
    folder = tmp_path_factory.mktemp("exported")
    cache = ["--from", str(ROOT / "fixtures/two-subnets/a"), "cache"]
    where = ["--ibacm", str(folder / "files"), "--installed-in", str(folder), "--routes", "none"]
    for words in (["build"], ["export", *where]):
        command = [sys.executable, "-m", "ibkit", *cache, *words, "--cache", str(folder / "cache.sqlite")]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode in (0, 1), done.stderr
    files = folder / "files"
    hosts, options = (files / "ibacm_hosts.data").read_text(), (files / "ibacm_opts.cfg").read_text()
    own = OWN + "hosta1-st ibsim0 1 0x8001\n10.10.1.1 ibsim0 1 0x8001\n"
    written = {"addr.cfg": own, "ibacm_hosts.data": hosts}
    with ibacm(folder, files=written, options=options, environment=subnets["a"].environment) as service:
        yield service


def of_acme(text: str) -> dict[str, str]:
    return dict(re.findall(r"^  ([a-z ]+): (\S+)$", text, re.MULTILINE))


def agree(told: dict[str, str], path: PathRecord) -> None:
    """ib_acme and we read the same."""
    gids = (int(ipaddress.IPv6Address(told[name])) for name in ("dgid", "sgid"))
    assert (path.dgid, path.sgid) == tuple(gids)
    assert (path.dlid, path.slid, path.sl, path.hop_limit) == tuple(
        int(told[name]) for name in ("dlid", "slid", "sl", "hop limit")
    )
    assert path.pkey == int(told["pkey"], 16)
    assert (path.mtu_bytes, path.rate_gbps) == (MTU_BYTES[int(told["mtu"])], RATE_GBPS[int(told["rate"])])
    assert (path.flow_label, path.traffic_class, path.reversible) == (
        int(told["flow label"], 16), int(told["tclass"]), told["reversible"] == "1",
    )  # fmt: skip


def asked(service: Ibacm, word: str, **more: float) -> tuple[AcmService, list[AcmAnswer]]:
    source = OnThisHost(service)
    found = collect_acm(source)
    return found, list(ask_acm(source, found, *key_of(word), **more))


@pytest.mark.live
def test_exported_files_are_loaded(exported: Ibacm) -> None:
    assert exported.complaints == []
    assert any("added host 10.20.0.3 address type 2" in line for line in exported.log)


@pytest.mark.live
@pytest.mark.parametrize("address", ["10.10.0.2", "10.20.0.3"])
def test_paths_are_those_that_ib_acme_shows(exported: Ibacm, address: str) -> None:
    _, (storage, default) = asked(exported, address)
    assert default.path is not None  # the file tells the GID, the SA the path
    agree(of_acme(exported.acme("-f", "i", "-s", "10.10.0.1", "-d", address)), default.path)
    told = of_acme(exported.acme("-f", "i", "-s", "10.10.1.1", "-d", address))
    assert bool(told) is (storage.path is not None)
    if storage.path is not None:
        agree(told, storage.path)
    _, (_, again) = asked(exported, address, seconds=0)
    assert (again.by, again.path) == ("cache", default.path)


@pytest.mark.live
def test_another_subnet_is_behind_the_router(exported: Ibacm) -> None:
    _, (_, answer) = asked(exported, "10.20.0.3")
    path = answer.path
    assert path is not None and path.dgid == Gid.parse("fec0::2:b2:0:0:31")
    assert (path.dlid, path.hop_limit, path.is_routed) == (ROUTER_LID, 255, True)


@pytest.mark.live
def test_the_second_leg_is_in_the_other_subnet(subnets: dict[str, Simulation]) -> None:
    pair = "fec0:0:0:2:b2:0:0:f01-fec0:0:0:2:b2:0:0:31"
    told = dict(
        re.findall(r"^\s+(\w+)\.+(\S+)", subnets["b"].run("saquery", "--sgid-to-dgid", pair).stdout, re.MULTILINE)
    )
    assert (told["slid"], told["dlid"]) == (str(ROUTER_LID), "6")


@pytest.mark.live
def test_what_nobody_knows(exported: Ibacm) -> None:
    _, answers = asked(exported, "10.10.0.77", seconds=0)
    assert [(answer.status, answer.path) for answer in answers] == [(3, None)] * 2
    _, (_, waited) = asked(exported, "10.10.0.78", seconds=8)
    assert (waited.by, waited.status) == ("lookup", 6)


@pytest.mark.live
def test_endpoints_and_counters_are_those_that_ib_acme_shows(exported: Ibacm) -> None:
    service = collect_acm(OnThisHost(exported))
    assert service.is_running and service.problems == () and service.endpoints
    rows = [line.split(",")[1:] for line in exported.acme("-e").splitlines() if line.startswith("/")]
    assert rows == [
        [str(end.guid), str(end.port), str(end.pkey), str(end.number), end.provider, *end.addresses]
        for end in service.endpoints
    ]
    (row,) = [line.split(",")[1:] for line in exported.acme("-P").splitlines() if line.startswith("/")]
    assert service.counters and list(map(str, service.counters.values())) == row


@pytest.mark.live
def test_a_route_file_answers_without_the_sa(subnets: dict[str, Simulation], tmp_path: Path) -> None:
    """All but the own port's rows: other ports need only their heads. Line 5 of the hosts is the trap of two GIDs."""
    blocks = acm_routes.parse((ACM / "route.data").read_text()).value
    own = [block if block.guid == A1.guid else block._replace(routes=(), unreachable=()) for block in blocks]
    own[2] = own[2]._replace(routes=(Route(5, 3, 5, 16), Route(6, 0, 4, 3), Route(4, 1, 2, 17)))
    hosts = (ACM / "hosts.dup.data").read_text()
    files = {"addr.cfg": OWN, "hosts.data": hosts, "route.data": acm_routes.write(own)}
    options = "addr_preload acm_hosts\nroute_preload opensm_full_v1\naddr_timeout -1\n"
    with ibacm(tmp_path, files=files, options=options, pkeys="ffff", environment=subnets["a"].environment) as service:
        assert service.complaints == []
        source = OnThisHost(service)
        found = collect_acm(source)
        for row in own[2].routes:
            request = acm_protocol.path_request(acm_protocol.PathRecord(dlid=row.dlid, pkey=0xFFFF))
            reply = acm_protocol.decode(source.exchange(SOCKETS[0], request).reply)
            assert reply is not None
            path = acm_protocol.decode_path(reply.elements[0].info)
            assert path is not None
            assert (path.dlid, path.sl, path.mtu_code, path.rate_code) == row[:4]
            assert (path.mtu_selector, path.rate_selector, path.hop_limit, path.pkey) == (0, 0, 0, 0xFFFF)
        (cached,) = ask_acm(source, found, *key_of("10.10.0.2"), seconds=0)
        assert cached.path and (cached.path.dlid, cached.path.sl, cached.path.mtu_bytes) == (5, 3, 4096)
        (trap,) = ask_acm(source, found, *key_of("10.10.0.5"), seconds=5)
        assert (trap.path, trap.status) == (None, 2)
        (good,) = ask_acm(source, found, *key_of("10.10.0.6"), seconds=5)
        assert good.path and good.path.dlid == 5
    findings = lint(AcmFiles(hosts=("h", hosts), routes=("r", files["route.data"])))
    assert [(one.name, one.evidence[0].line) for one in findings] == [
        ("acm-duplicate-routed", 4), ("acm-duplicate-key", 6),
    ]  # fmt: skip
