"""A capture that was anonymised: nothing of the names and addresses is left, and each command says the same of it."""

from __future__ import annotations

import io
import ipaddress
import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibkit.cli.main import main
from ibkit.sources.anonymise import Anonymiser, anonymised
from ibkit.sources.base import CommandAnswer, FileAnswer
from ibkit.sources.capture import ReplaySource
from ibkit.sources.names import names_of
from ibkit.sources.opening import open_site
from ibkit.sources.pseudonyms import Pseudonyms
from ibkit.sources.recording import RecordingSource
from ibkit.sources.site import JobFile
from ibkit.sources.writer import Recorded, write_capture

ROOT = Path(__file__).parents[2]
CAPTURES = ("fat-tree", "multirail-host", "roce-host")
KEY = b"0" * 32
GUIDS = st.integers(1 << 40, (1 << 64) - 1)
MACS = st.integers(1 << 24, (1 << 48) - 1).map(lambda value: value & ~(1 << 40))
IPV4S = st.integers(0, (1 << 32) - 1)


def pseudonyms() -> Pseudonyms:
    return Pseudonyms(KEY)


# Numbers


@given(GUIDS, GUIDS)
def test_guids(one, other):
    new = pseudonyms()
    assert new.guid(one) >> 40 == one >> 40  # the vendor
    assert new.guid(one) & 0xF == one & 0xF
    assert (new.guid(one) == new.guid(other)) == (one == other)


@given(MACS)
def test_addresses_that_are_made_of_a_mac_still_are(mac):
    """EUI-64 of RFC 4291 appendix A: the vendor's part with the local bit turned, ff:fe, the rest."""
    new = pseudonyms()

    def interface_id(address: int) -> int:
        return ((address >> 24 ^ 0x020000) << 40) | 0xFFFE << 24 | address & 0xFFFFFF

    assert new.mac(mac) >> 24 == mac >> 24
    if interface_id(mac) >> 54 not in (0x3FA, 0x3FB) and interface_id(mac) >> 56 != 0xFF:
        assert new.guid(interface_id(mac)) == interface_id(new.mac(mac))
    solicited = int(ipaddress.IPv6Address("ff02::1:ff00:0")) | mac & 0xFFFFFF
    assert new.ipv6(solicited) & 0xFFFFFF == new.mac(mac) & 0xFFFFFF


@given(IPV4S, IPV4S)
def test_subnets_stay_subnets(one, other):
    new = pseudonyms()
    if any(new.ipv4(value) == value for value in (one, other)):
        return  # loopback, a mask ...
    same = 32 - (one ^ other).bit_length()
    assert 32 - (new.ipv4(one) ^ new.ipv4(other)).bit_length() == same
    assert ipaddress.IPv4Address(new.ipv4(one)).is_private == ipaddress.IPv4Address(one).is_private or same < 8
    mapped = 0xFFFF << 32 | one
    assert new.ipv6(mapped) == 0xFFFF << 32 | new.ipv4(one)


@pytest.mark.parametrize(
    "text", ["0.0.0.0", "127.0.0.1", "255.255.255.0", "255.255.255.255", "224.0.0.1", "255.255.254.0"]
)
def test_addresses_with_a_meaning_stay(text):
    assert pseudonyms().ipv4(int(ipaddress.IPv4Address(text))) == int(ipaddress.IPv4Address(text))


@pytest.mark.parametrize("text", ["::", "::1", "ff12:401b:ffff::ffff:ffff", "ff02::1"])
def test_gids_with_a_meaning_stay(text):
    assert pseudonyms().ipv6(int(ipaddress.IPv6Address(text))) == int(ipaddress.IPv6Address(text))


def test_private_addresses_stay_in_their_range():
    new = pseudonyms()
    for text in ("10.1.2.3", "192.168.7.9", "172.16.5.4", "172.31.255.1", "169.254.3.4", "100.64.9.9"):
        old = ipaddress.IPv4Address(text)
        network = next(
            ipaddress.IPv4Network(net)
            for net in ("10.0.0.0/8", "192.168.0.0/16", "172.16.0.0/12", "169.254.0.0/16", "100.64.0.0/10")
            if old in ipaddress.IPv4Network(net)
        )
        assert ipaddress.IPv4Address(new.ipv4(int(old))) in network


def test_another_key_gives_other_numbers():
    value = 0x0C42A10300ABCDEF
    assert len({Pseudonyms(bytes([key])).guid(value) for key in range(20)}) > 10


# Texts

GUID = 0xB8599F0300A1B2C0


def scrub(text: str, *names: str) -> str:
    return Anonymiser(set(names), KEY).text(text)


def test_one_guid_in_all_its_spellings():
    new = pseudonyms().guid(GUID)
    assert new != GUID
    for form in (
        "0x{0:016x}", "0x{0:x}", '"S-{0:016x}"[3]', "switchguid=0x{0:x}({0:x})", "node {0:016x} port", "0X{0:016X}",
        "({0:016x}) (LID 4)", "'H-{0:016x}'", "guid:{0:016x}", "GUID.....................0x{0:016x}",
    ):  # fmt: skip
        assert scrub(form.format(GUID)) == form.format(new), form
    groups = [f"{value:016x}" for value in (GUID, new)]
    for size, mark in ((4, ":"), (2, ":")):
        old_text, new_text = (mark.join(digits[i : i + size] for i in range(0, 16, size)) for digits in groups)
        assert scrub(f"node_guid {old_text} x") == f"node_guid {new_text} x"
        assert scrub(old_text.upper()) == new_text.upper()


def test_a_guid_without_its_leading_zeros():
    short = 0x0002C90300A1B2C0
    new = pseudonyms().guid(short)
    assert scrub("caguid=0x2c90300a1b2c0 (2c90300a1b2c0)") == f"caguid=0x{new:x} ({new:x})"


def test_gids_and_ip_addresses():
    new = pseudonyms()
    gid = ipaddress.IPv6Address(new.ipv6(0xFE80 << 112 | GUID))
    old = ipaddress.IPv6Address(0xFE80 << 112 | GUID)
    assert scrub(f"GID {old.exploded}") == f"GID {gid.exploded}"
    assert scrub(f"dgid....................{old}") == f"dgid....................{gid.compressed}"
    v4 = ipaddress.IPv4Address(new.ipv4(0x0A4D0001))
    assert (
        scrub("10.77.0.1<0> ::ffff:10.77.0.1, 10.77.0.1/24 10.77.0.1:4711.")
        == f"{v4}<0> ::ffff:{v4}, {v4}/24 {v4}:4711."
    )
    assert (
        scrub("0000:0000:0000:0000:0000:ffff:0a4d:0001")
        == f"0000:0000:0000:0000:0000:ffff:{int(v4) >> 16:04x}:{int(v4) & 0xFFFF:04x}"
    )
    mac = f"{new.mac(0xB8CEF6A1B2C3):012x}"
    mac = ":".join(mac[i : i + 2] for i in range(0, 12, 2))
    assert scrub("link/ether b8:ce:f6:a1:b2:c3 brd ff:ff:ff:ff:ff:ff") == f"link/ether {mac} brd ff:ff:ff:ff:ff:ff"


@pytest.mark.parametrize(
    "text",
    [
        "20.31.1014", "2.18.5+cuda12.2", "UCX 1.13.1", "0000:3b:00.0", "12:34:56", "2026-12-01T20:41:59+01:00",
        "PortXmitData:....................22337701734274", "[1796162458.038742]", "0x2651e848", "0xffff", "4x HDR",
        "mlx5_0:1/IB", "via NET/IB/0/GDRDMA", "rc_mlx5/mlx5_0:1", "Active/  LinkUp", "../../opal/mca/common_ucx.c:174",
        "MF0;:MQM8700/U1", "0x0000000000000000", "0x0000000000000001", "fe80:0000:0000:0000", "01:02", "a::b::c",
        "RoCE v2", "/sys/class/infiniband/mlx5_0/ports/1/gids/0", "/usr/lib/x86_64-linux-gnu/libucp.so.0", "1/2", "",
        "commit 3f2a9c1", "[send] via NET/IB/0(3)/GDRDMA(PCI)",
    ],
)  # fmt: skip
def test_what_is_no_address_stays(text):
    assert scrub(text, "n01") == text


def test_names():
    text = "n01 n01.site.org: n01:21001:21058 [n01] (n01) n010 xn01 n02 N01 n01-ib0 n01_mlx5_0 cn[01-04] login"
    new = scrub(text, "n01", "n01.site.org", "cn01", "login")
    words = new.split()
    assert words[0] == "hosta01"
    assert words[1] == "hosta01.hostb.hostc:"
    assert words[2] == "hosta01:21001:21058"
    assert words[3:5] == ["[hosta01]", "(hosta01)"]
    assert words[5:9] == ["n010", "xn01", "n02", "N01"]  # one letter and a number are too common to be taken for a name
    assert words[9:11] == ["hosta01-ib0", "hosta01_mlx5_0"]
    assert words[11] == "hostd[01-04]"
    assert words[12] == "hoste"


def test_names_of_a_kind_are_replaced_if_one_is_known():
    assert scrub("gpu07 gpu08 gpu-direct GPU", "gpu07") == "hosta07 hosta08 gpu-direct GPU"


def test_paths():
    assert scrub("run /home/alice/My.Project/train.py --data=/lustre/proj42/x.bin") == (
        "run /home/hosta/hostb.hostc/hostd.py --data=/hoste/hostf42/hostg.bin"
    )
    assert scrub("(loaded from /opt/ucx-1.13/lib/libucp.so.0)") == "(loaded from /opt/ucx-1.13/lib/libucp.so.0)"
    assert scrub("/scratch/bob/openmpi-4.1.4/lib/libmpi.so.40") == "/scratch/hosta/openmpi-4.1.4/lib/libmpi.so.40"


def test_variables_of_a_jobs_files():
    log = b"go\n+ export API_TOKEN=hunter2\nNCCL_DEBUG=INFO\nNCCL_AUTH_KEY=hunter2\nloss=0.3\nacc=1\n PATH=/home/x\n.\n"
    assert Anonymiser(set(), KEY).data(log, variables=True) == (
        b"go\n+ export API_TOKEN=removed\nNCCL_DEBUG=INFO\nNCCL_AUTH_KEY=removed\nloss=0.3\nacc=1\n PATH=removed\n.\n"
    )
    dump = b"HOME=/home/alice\0NCCL_IB_HCA=mlx5\0http_proxy=secret\0LESS=-R\0"
    assert Anonymiser(set(), KEY).data(dump, variables=True) == (
        b"HOME=removed\0NCCL_IB_HCA=mlx5\0http_proxy=removed\0LESS=removed\0"
    )
    uevent = b"DRIVER=mlx5_core\nPCI_ID=15B3:1021\n"
    assert Anonymiser(set(), KEY).data(uevent) == uevent  # the kernel's files are no environment


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes(data):
    new = Anonymiser({"n01"}, KEY).data(data, variables=True)
    assert new.count(b"\n") == data.count(b"\n")


@pytest.mark.parametrize("text", ["a", "1:", "/", "a.", "0x", "ab:", "/a", "[", "f ", "n01", "n01.", "f" * 15 + "."])
def test_hostile_text_costs_no_time(text):
    text *= 300_000
    started = time.process_time()
    scrub(text, "n01")
    assert time.process_time() - started < 10


# Names that are learnt


def recording(**outputs: str) -> RecordingSource:
    source = RecordingSource(ReplaySource.__new__(ReplaySource))
    for tool, text in outputs.items():
        source.commands[(tool,)] = CommandAnswer((tool,), text.encode(), exit_status=0)
    return source


def learnt(log: str = "", name: str = "job.out", **outputs: str) -> set[str]:
    job = (JobFile(name, lambda: io.BytesIO(log.encode())),)
    return names_of(Recorded("head1", None, (), recording(**outputs), job)) - {"head1"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("cn0417:21001:21058 [0] NCCL INFO Using network IB", {"cn0417"}),
        ("[login.site.org:05101] mca: bml: Using tcp btl", {"login.site.org"}),
        ("[1796162458.038742] [nodea:89   :0]     ucp_context.c:1849 UCX  INFO", {"nodea"}),
        ("Host 0 [cl-a] ranks 0 - 7", {"cl-a"}),
        ("SLURM_JOB_NODELIST=gpu[01-04,07],big1", {"gpu0", "big1"}),
        ("mpirun --host alpha1:1,beta2:1 /home/alice/x", {"alpha1", "beta2", "alice"}),
        ("Local host: n01\n  Host:      n02", {"n01", "n02"}),
        ("[alice@head ~]$ ls", {"head"}),
        ("USER=bob", {"bob"}),
        ("from host memory (rc_mlx5/mlx5_0:1) on node which [mlx5_0:1]", set()),
        ("[0] mlx5_0:1/IB, tcp/eth0:1 [ib0:1] NET/Socket", set()),
        ("[c5-1][[30211,1],0][btl_tcp_frag.c:241:mca_btl_tcp_frag_recv] mca_btl_tcp_frag_recv: readv failed", set()),
        ("[2026-02-08 22:59:18,790] [INFO] [launch.py:139:main] 0 NCCL_IB_DISABLE=1", set()),
    ],
)
def test_names_in_logs(text, names):
    assert learnt(text) == names


def test_names_in_node_descriptions_and_host_files():
    text = 'Ca\t1 "H-1"\t# "gpu01 mlx5_0"\n[1] "S-2"[3] # "MF0;swib-s002:MQM8700/U1" lid 2 4xHDR\n# "Mellanox"\n'
    assert learnt(ibnetdiscover=text) == {"gpu01", "swib-s002"}
    assert learnt("alpha slots=2\nbeta\n", "hostfile") == {"alpha", "beta"}
    assert learnt("alpha\nbeta\n") == set()


# Whole captures


def recorded_of(path: Path, log: bytes = b"") -> Recorded:
    site = open_site(str(path))
    sources = []
    for source in (*(host.source for host in site.hosts), site.subnet):
        sources.append(RecordingSource(source))
        assert isinstance(source, ReplaySource)
        source.ask_all(sources[-1])
    hosts = tuple((host.name, source) for host, source in zip(site.hosts, sources, strict=False))
    job = (*site.job, *([JobFile("job.out", lambda: io.BytesIO(log))] if log else []))
    return Recorded(site.origin.label, site.origin.time, hosts, sources[-1], job, site.origin.note)


def document(capsys, path: object, command: str) -> dict:
    status = main(["--from", str(path), command, "--json"])
    return {**json.loads(capsys.readouterr().out), "exit status": status}


def in_any_order(value: object) -> object:
    """Lists are sorted by numbers and names, which are others now."""
    if isinstance(value, dict):
        return {key: in_any_order(part) for key, part in value.items()}
    if isinstance(value, list):
        return sorted(map(in_any_order, value), key=lambda part: json.dumps(part, sort_keys=True))
    return value


def links_without_direction(made: dict) -> dict:
    for link in made.get("links", ()):
        if "a" in link:
            link["a"], link["b"] = sorted((link["a"], link["b"]), key=json.dumps)
    return made


@pytest.mark.parametrize("name", CAPTURES)
@pytest.mark.parametrize("command", ["status", "doctor", "fabric", "sm", "counters"])
def test_the_diagnosis_stays_the_same(name, command, tmp_path, capsys):
    """What a command says of the anonymised capture is what it says of the real one, with the names replaced."""
    path = ROOT / "fixtures" / name
    recorded = recorded_of(path)
    write_capture(str(tmp_path / name), anonymised(recorded, KEY))
    scrub = Anonymiser(names_of(recorded), KEY)
    for log in (recorded.host, *(host for host, _ in recorded.hosts)):
        scrub.text(log)
    real, other = document(capsys, path, command), document(capsys, tmp_path / name, command)
    # The letters of names are counted in the order of their first sight, so only their places can be compared.
    letters = re.compile(r"\bhost[a-z]+")
    real, other = (
        in_any_order(links_without_direction(json.loads(letters.sub("host", json.dumps(made)))))
        for made in (scrub.value(real), other)
    )
    assert real == other


def test_nothing_is_left(tmp_path):
    path = ROOT / "fixtures/fat-tree"
    guids = {
        f"{int(found, 16):x}" for found in re.findall(r'"[SH]-([0-9a-f]{16})"', read_all(path)) if int(found, 16) >> 24
    }
    names = set(re.findall(r'"([a-z]+-?\d+) (?:mlx5|HCA)', read_all(path)))
    secret = "/home/alice/secret.py on carol07:12:34 [0] NCCL INFO 10.11.12.13 b8:ce:f6:a1:b2:c3\nTOKEN=hunter2\n"
    recorded = recorded_of(path, secret.encode())
    recorded.subnet.files["/etc/hosts"] = FileAnswer("/etc/hosts", b"10.11.12.13 carol07\n")
    write_capture(str(tmp_path / "c"), anonymised(recorded, KEY))
    text = read_all(tmp_path / "c").lower()
    assert guids
    assert names
    low = {guid for guid in guids if guid in text and pseudonyms().guid(int(guid, 16)) != int(guid, 16)}
    still = {f"{pseudonyms().guid(int(guid, 16)):x}" for guid in guids}
    assert low <= still  # a replacement may be another's number
    for word in {"alice", "secret", "carol", "10.11.12.13", "a1:b2:c3", "hunter2"} | names:
        assert not re.search(rf"(?<![a-z0-9]){re.escape(word.lower())}(?![a-z0-9])", text), word


def read_all(path: Path) -> str:
    return "\n".join(file.read_text(errors="surrogateescape") for file in path.rglob("*") if file.is_file())


@settings(max_examples=30, deadline=None)
@given(st.lists(GUIDS, min_size=2, max_size=6, unique=True))
def test_the_same_everywhere_in_a_capture(guids):
    texts = [" ".join(f"0x{guid:016x}" for guid in guids), " ".join(f'"H-{guid:016x}"' for guid in reversed(guids))]
    new = anonymised(Recorded("h1", None, (("h1", recording(a=texts[0])),), recording(b=texts[1])), KEY)
    first = new.hosts[0][1].commands[("a",)].out.replace("0x", "").split()
    second = new.subnet.commands[("b",)].out.replace('"', "").replace("H-", "").split()
    assert first == list(reversed(second))


def test_the_command(tmp_path, capsys):
    path = ROOT / "fixtures/multirail-host"
    assert main(["capture", "--from", str(path), "--anonymise", "-o", str(tmp_path / "a")]) == 0
    assert main(["capture", "--from", str(path), "--anonymise", "-o", str(tmp_path / "b")]) == 0
    assert "replacing names and addresses" in capsys.readouterr().err
    first, second = (read_all(tmp_path / name) for name in ("a", "b"))
    assert first != second  # the key is new each time
    real = open_site(str(path)).hosts[0].name
    assert open_site(str(tmp_path / "a")).hosts[0].name != real


@pytest.mark.parametrize(
    "path", sorted((ROOT / "fixtures/jobs").glob("*/job.log"))[::5], ids=lambda path: path.parent.name
)
def test_a_jobs_verdict_stays_the_same(path, tmp_path, capsys):
    data = path.read_bytes()
    job = (JobFile("job.log", lambda: io.BytesIO(data)),)
    new = anonymised(Recorded("head1", None, (), recording(), job), KEY)
    (tmp_path / "job.log").write_bytes(new.job[0].open().read())
    told = []
    for log in (path, tmp_path / "job.log"):
        status = main(["check-mpi-transport", "--json", str(log)])
        made = json.loads(capsys.readouterr().out or "{}")
        layers = [
            [layer[key] for key in ("layer", "runtime", "version", "verdict", "status", "ranks")]
            + sorted(reason["id"] for reason in layer["reasons"])
            + sorted(pair["transport"] for pair in layer["pairs"])
            for layer in made.get("layers", ())
        ]
        told.append((status, made.get("verdict"), made.get("status"), layers))
    assert told[0] == told[1]


def test_serial_numbers_of_cards_are_removed():
    source = RecordingSource(open_site(str(ROOT / "fixtures/multirail-host")).hosts[0].source)
    argv = ("devlink", "-j", "dev", "info")
    card = {"driver": "mlx5_core", "serial_number": "0012345", "board.serial_number": "MT2201X"}
    told = json.dumps({"info": {"pci/0000:18:00.0": card}}).encode()
    source.commands[argv] = CommandAnswer(argv, told, exit_status=0)
    ((_, new),) = anonymised(Recorded("n01", "2026", (("n01", source),), RecordingSource(source)), KEY).hosts
    (card,) = json.loads(new.commands[argv].stdout)["info"].values()
    assert card == {"driver": "mlx5_core", "serial_number": "removed", "board.serial_number": "removed"}
