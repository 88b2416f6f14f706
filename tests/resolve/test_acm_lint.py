"""What is wrong with ibacm's files: each trap fires and names file, line and mend; good files are good."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.model.findings import Finding
from ibkit.parsers import acm_addr, acm_hosts, acm_opts
from ibkit.resolve.lint import AcmFiles, Known, lint
from ibkit.resolve.lint.page import MAX_OF_ONE_NAME

ACM = Path(__file__).parents[2] / "fixtures/acm"
SUBNET = 0xFEC0000000000001
A2, A3 = 0xA1000000000021, 0xA1000000000031
GID = "fec0:0:0:1:a1:0:0:21"
#: Settings with which files are read, and their entries stay.
OPTS = "addr_preload acm_hosts\naddr_timeout -1\n"
ROUTES = (ACM / "route.data").read_text()


def file(name: str) -> tuple[str, str]:
    return name, (ACM / name).read_text()


def lines(findings: tuple[Finding, ...]) -> list[tuple[str, str, list[int | None]]]:
    return [(one.name, one.severity, [fact.line for fact in one.evidence]) for one in findings]


def of_hosts(text: str, known: Known | None = None, routes: str | None = None) -> tuple[Finding, ...]:
    return lint(AcmFiles(hosts=("h", text), routes=("r", routes) if routes else None), known)


def of_opts(text: str, **files: tuple[str, str]) -> tuple[Finding, ...]:
    return lint(AcmFiles(opts=("o", text), **files))


# Nothing is wrong


@pytest.mark.parametrize(
    "files",
    [
        AcmFiles(),
        AcmFiles(addr=file("addr.generated.cfg"), opts=file("opts.generated.cfg")),
        AcmFiles(routes=file("route.data")),
        AcmFiles(("ibacm_hosts.data", f"# n\n\n10.0.0.1 {GID} # n1\nn1\t{GID}\r\nfd00::1 fe80::1\n"), opts=("o", OPTS)),
        AcmFiles(opts=("o", " # a comment\nprovider ibacmp default\nlog_level 2 # all\nacme_plus_kernel_only yes\n")),
        AcmFiles(addr=("a", "n1 mlx5_0 1 default # first\nn1 MLX5_0 1 0xffff\nn1-s mlx5_0 1 8001\n")),
    ],
)  # fmt: skip
def test_good_files(files: AcmFiles) -> None:
    assert lint(files) == ()


def test_what_ibkit_writes_is_good() -> None:
    known = Known((SUBNET,), {A2: 5, A3: 6}, True)
    gid = SUBNET << 64 | A2
    files = AcmFiles(
        ("ibacm_hosts.data", acm_hosts.write([("10.0.0.2", gid), ("n2", gid), ("fd00::2", gid)])),
        ("ibacm_addr.cfg", acm_addr.write([("n1", "mlx5_0", 1, None), ("n1-1", "mlx5_0", 1, 0x8001)])),
        ("ibacm_opts.cfg", acm_opts.write([("addr_preload", "acm_hosts"), ("addr_timeout", -1)])),
    )
    assert lint(files, known) == ()


# ibacm_hosts.data


def test_the_recorded_odd_file() -> None:
    """Every row of the trial, in the order of the lines."""
    findings = lint(AcmFiles(hosts=file("hosts.odd.data")))
    assert lines(findings) == [
        ("acm-two-cases", "warning", [2, 28]),
        ("acm-duplicate-key", "warning", [11, 12]),
        ("acm-duplicate-key", "warning", [13, 14]),
        ("acm-indented-comment", "info", [16]),
        ("acm-one-word", "warning", [17]),
        ("acm-bad-gid", "critical", [18]),
        ("acm-bad-gid", "critical", [19]),
        ("acm-bad-gid", "critical", [20]),
        ("acm-address-is-name", "critical", [21]),
        ("acm-address-is-name", "critical", [22]),
        ("acm-address-is-name", "critical", [23]),
        ("acm-ignored-words", "info", [24]),
        ("acm-roce-gid", "critical", [25]),
        ("acm-bad-gid", "critical", [26]),
        ("acm-second-gid", "critical", [27]),
        ("acm-long-key", "critical", [29]),
        ("acm-long-line", "critical", [30]),
    ]
    fixes = {one.evidence[0].line: one.fix for one in findings}
    assert fixes[19] == "write the GID with colons: fec0:0000:0000:0001:00a1:0000:0000:0021"
    assert fixes[20] == "write the whole GID: the subnet prefix, then the port GUID"
    assert [fixes[line] for line in (21, 22, 23)] == [
        f"write it as {address}" for address in ("10.10.0.10", "10.10.0.11", "fe80::a2")
    ]
    assert fixes[26] == "write one GID a line; an address has only one"
    for one in findings:
        assert one.what and one.fix and all(fact.source == "hosts.odd.data" and fact.text for fact in one.evidence)


@pytest.mark.parametrize(
    ("line", "name", "in_fix"),
    [
        (f"{GID} 10.0.0.1", "acm-bad-gid", "the key first"),
        ("10.0.0.1 fe80::1%ib0", "acm-bad-gid", "% or /"),
        ("10.0.0.1 fe80::1/64", "acm-bad-gid", "% or /"),
        ("10.0.0.1 0xa1000000000021", "acm-bad-gid", "whole GID"),
        ("10.0.0.300 fe80::1", "acm-address-is-name", "nothing else"),
        ("[fd00::1] fe80::1", "acm-address-is-name", "fd00::1"),
        ("10.0.0.1, fe80::1", "acm-address-is-name", "10.0.0.1"),
        (f"n {GID}, fe80::2", "acm-bad-gid", "one GID a line"),
        (f"n {GID} fe80::2, more", "acm-second-gid", "line of its own"),
        (f"n {GID}\tfe80::2\tmore", "acm-second-gid", "line of its own"),
        ("n ff12::1", "acm-no-port-gid", "port GUID"),
        ("n ::", "acm-no-port-gid", "port GUID"),
        ("n fe80::", "acm-no-port-gid", "port GUID"),
        ("n ::1", "acm-no-port-gid", "port GUID"),
        ("n ::ffff:10.0.0.1", "acm-roce-gid", "remove"),
        (" #n fe80::1", "acm-indented-comment", "first column"),
    ],
)
def test_lines_of_hosts(line: str, name: str, in_fix: str) -> None:
    (finding,) = of_hosts(f"n9 {GID}\n{line}\n")
    assert (finding.name, finding.evidence[0].line, finding.evidence[0].source) == (name, 2, "h")
    assert in_fix in finding.fix


def test_a_key_twice_with_a_route_file() -> None:
    """The trial: line 5 answered EINVAL, line 7 was answered rightly."""
    findings = lint(AcmFiles(hosts=file("hosts.dup.data"), routes=file("route.data")))
    assert lines(findings) == [
        ("acm-duplicate-routed", "critical", [4, 5]), ("acm-duplicate-key", "warning", [6, 7]),
    ]  # fmt: skip
    without = AcmFiles(file("hosts.dup.data"), None, ("o", OPTS), file("route.data"))  # no option loads the route file
    assert [one.name for one in lint(without)] == ["acm-not-loaded", "acm-duplicate-key", "acm-duplicate-key"]
    assert lines(lint(AcmFiles(hosts=file("hosts.dup.data")))) == [
        ("acm-duplicate-key", "warning", [4, 5]), ("acm-duplicate-key", "warning", [6, 7]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"n {GID}\nn {GID}\n", ("acm-same-line", "info", [1, 2])),
        (f"n {GID}\nn fe80::1\nn {GID}\n", ("acm-duplicate-key", "warning", [1, 2, 3])),
        (f"fd00::1 {GID}\nfd00:0::1 fe80::1\n", ("acm-duplicate-key", "warning", [1, 2])),
        (f"n {GID}\nN fe80::1\n", ("acm-two-cases", "warning", [1, 2])),
    ],
)
def test_keys_again(text: str, found: tuple[str, str, list[int]]) -> None:
    assert lines(of_hosts(text)) == [found]


@pytest.mark.parametrize(
    ("text", "name"),
    [("# none\n", "acm-no-entry"), ("", "acm-no-entry"), (f"\ufeffn {GID}\n", "acm-byte-order-mark"),
     (f"n {GID}\0\n", "acm-nul")],
)  # fmt: skip
def test_files_of_hosts(text: str, name: str) -> None:
    assert [one.name for one in of_hosts(text)] == [name]


KNOWN = Known((SUBNET, 0xFEC0000000000002), {A2: 5, A3: 6, 0x0014050000000006: 6}, True)


@pytest.mark.parametrize(
    ("gid", "found"),
    [
        ("fec0:0:0:1:a1:0:0:21", None),
        ("fec0:0:5:1:a1:0:0:21", None),  # a floating LID in the prefix: the same subnet
        ("fec0:0:0:2:b2:0:0:31", None),  # of another subnet's ports this SA knows nothing
        ("fec0:0:0:1:14:500:0:6", None),
        ("fec0:0:0:1:14:500:0:5", None),  # an alias of a port with LID 5, which there is
        ("fe80::a1:0:0:21", ("acm-link-local", "warning")),
        ("fec0:0:0:9:b2:0:0:31", ("acm-unknown-prefix", "warning")),
        ("fec0:0:0:1:a1:0:0:99", ("acm-unknown-guid", "critical")),
        ("fec0:0:0:1:14:500:0:7", ("acm-alias-lid", "critical")),
    ],
)
def test_hosts_against_the_fabric(gid: str, found: tuple[str, str] | None) -> None:
    assert [(one.name, one.severity) for one in of_hosts(f"n {gid}\n", KNOWN)] == ([found] if found else [])
    assert of_hosts(f"n {gid}\n") == ()


def test_less_is_known_of_virtual_functions() -> None:
    (finding,) = of_hosts("n fec0:0:0:1:a1:0:0:99\n", KNOWN._replace(with_aliases=False))
    assert finding.severity == "warning" and "virtual function" in finding.what
    assert of_hosts("n fe80::a1:0:0:21\n", Known((0xFE80 << 48,), {A2: 5}, True)) == ()


# ibacm_addr.cfg


@pytest.mark.parametrize(
    ("line", "name", "severity"),
    [
        ("n1 mlx5_0 1", "acm-skipped-line", "warning"),
        ("n1 mlx5_0 1 0x8001x", "acm-ignored", None),
        ("n1 mlx5_0 1 storage", "acm-bad-pkey", "critical"),
        ("n1 mlx5_0 1 0x8000", "acm-bad-pkey", "critical"),
        ("n1 mlx5_0 0 default", "acm-bad-port", "critical"),
        ("n1 mlx5_0 1 defaults", "acm-long-pkey", "warning"),
        ("n1 mlx5_0 1 default more", "acm-ignored-words", "info"),
        ("10.0.0.1 mlx5_0 1 default", "acm-ip-in-addr", "warning"),
        ("10.0.0.1/24 mlx5_0 1 default", "acm-address-is-name", "critical"),
        (" # mlx5_0 1 default", "acm-indented-comment", "warning"),
        (" # n1 mlx5_0 1 default", None, None),
    ],
)
def test_lines_of_addresses(line: str, name: str | None, severity: str | None) -> None:
    findings = lint(AcmFiles(addr=("a", f"n0 mlx5_0 1 default\n{line}\n")))
    expected = [(name, severity, [2])] if severity else []
    assert lines(findings) == expected


def test_addresses_in_addr_cfg() -> None:
    addr = "a", "n1 mlx5_0 1 default\n10.0.0.1 mlx5_0 1 default\n"
    assert lines(lint(AcmFiles(addr=addr, opts=("o", "log_level 0\n")))) == [("acm-ip-in-addr", "critical", [2])]
    assert lint(AcmFiles(addr=addr, opts=("o", "support_ips_in_addr_cfg 1\n"))) == ()


def test_an_empty_file_of_addresses() -> None:
    """ib_acme leaves it behind where there is no device, and ibacm does not make another."""
    (finding,) = lint(AcmFiles(addr=("/etc/rdma/ibacm_addr.cfg", "")))
    assert (finding.name, finding.severity, finding.evidence[0].line) == ("acm-empty-addr", "critical", None)
    assert "remove it" in finding.fix and finding.evidence[0].source == "/etc/rdma/ibacm_addr.cfg"


@pytest.mark.parametrize(
    ("second", "fires"),
    [("mlx5_0 1 0x7fff", False), ("mlx5_0 1 0x8001", True), ("mlx5_0 2 default", True), ("mlx5_1 1 default", True)],
)
def test_a_name_of_two_endpoints(second: str, fires: bool) -> None:
    findings = lint(AcmFiles(addr=("a", f"n1 mlx5_0 1 default\nN1 {second}\n")))
    assert lines(findings) == ([("acm-name-twice", "warning", [1, 2])] if fires else [])


# ibacm_opts.cfg


@pytest.mark.parametrize(
    ("line", "name", "in_text"),
    [
        ("route_preload full_opensm_v1", "acm-unknown-value", "route_preload opensm_full_v1"),
        ("addr_preload hosts", "acm-unknown-value", "none or acm_hosts"),
        ("server_mode tcp", "acm-unknown-value", "takes unix"),
        ("log_level=2", "acm-no-value", "without ="),
        ("log_level = 2", "acm-equals-sign", "log_level 2"),
        ("timeout 2s", "acm-no-number", "as 2"),
        ("addr_timeout never", "acm-no-number", "as 0"),
        ("ROUTE_TIMEOUT 5", "acm-unknown-option", "route_timeout"),
        ("addr_preloads acm_hosts", "acm-unknown-option", "write addr_preload"),
        ("loglevel 2", "acm-unknown-option", "write log_level"),
        ("frobnicate 2", "acm-unknown-option", "ibacm(8)"),
        ("min_rate 400", "acm-unknown-value", "takes 10"),
        ("min_mtu 1500", "acm-unknown-value", "4096"),
        ("log_level 2 3", "acm-ignored-words", "'3'"),
        ("provider ibacmp", "acm-no-value", "provider ibacmp default"),
        (f"log_file /{'x' * 109} y z", "acm-long-line", "120 bytes"),
    ],
)
def test_lines_of_options(line: str, name: str, in_text: str) -> None:
    (finding,) = [one for one in of_opts(f"# mine\n{line}\n") if one.name == name]
    assert [fact.line for fact in finding.evidence] == [2]
    assert in_text in f"{finding.what} {finding.fix}"


def test_an_option_twice() -> None:
    assert lines(of_opts("log_level 0\nlog_level 2\n")) == [("acm-option-twice", "warning", [1, 2])]
    # the second is no word that the option knows, so the first counts
    assert [one.name for one in of_opts("addr_preload none\naddr_preload x\n")] == ["acm-unknown-value"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("addr_preload acm_hosts\n", [("acm-addr-timeout", "critical", [None])]),
        ("addr_preload acm_hosts\naddr_timeout 60\n", [("acm-addr-timeout", "critical", [2])]),
        ("addr_preload acm_hosts\naddr_timeout -1\n", []),
        ("route_preload opensm_full_v1\naddr_timeout 60\n", [("acm-addr-timeout", "info", [2])]),
        ("addr_timeout 60\n", []),
    ],
)
def test_entries_that_expire(text: str, found: list[tuple[str, str, list[int | None]]]) -> None:
    assert lines(of_opts(text)) == found


def test_files_that_are_not_read() -> None:
    hosts = "/etc/rdma/ibacm_hosts.data", f"n {GID}\n"
    assert lines(of_opts("log_level 0\n", hosts=hosts)) == [("acm-not-loaded", "warning", [None])]
    assert lines(of_opts("addr_preload none\n", hosts=hosts)) == [("acm-not-loaded", "warning", [1])]
    assert of_opts(f"{OPTS}addr_data_file /opt/ibacm_hosts.data\n", hosts=hosts) == ()
    assert of_opts(OPTS, hosts=("draft.data", hosts[1])) == ()
    (other,) = of_opts(f"{OPTS}addr_data_file /opt/hosts.2025\n", hosts=hosts)
    assert (other.name, other.evidence[0].line) == ("acm-not-loaded", 3) and "/opt/hosts.2025" in other.what
    assert "acm-not-loaded" in [one.name for one in of_opts(OPTS, routes=("ibacm_route.data", ROUTES))]


def test_a_route_file_for_two_partitions() -> None:
    opts = "route_preload opensm_full_v1\naddr_timeout -1\n"
    addr = "a", "n1 mlx5_0 1 default\nn1-s mlx5_0 1 8001\n"
    assert lines(of_opts(opts, addr=addr)) == [("acm-routes-of-partitions", "warning", [1])]
    assert of_opts(opts, addr=("a", "n1 mlx5_0 1 default\n")) == ()


# ibacm_route.data


def of_routes(text: str, known: Known | None = None) -> tuple[Finding, ...]:
    return lint(AcmFiles(routes=("r", text)), known)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("base LID 5", "base LID 1", ("acm-duplicate-lid", "critical")),
        ("base LID 5", "base LID 49152", ("acm-bad-lid", "critical")),
        ("0x00a1000000000021", "0x00a1000000000011", ("acm-duplicate-guid", "warning")),
        ("0x0006 : 0  : 4   : 3", "0x0007 : 0  : 4   : 3", ("acm-unknown-lid", "warning")),
        ("0x0006 : 0  : 4   : 3", "0xC006 : 0  : 4   : 3", ("acm-bad-lid", "critical")),
        ("0x0006 : 0  : 4   : 3", "0x0006 : 16 : 4   : 3", ("acm-bad-code", "critical")),
        ("0x0006 : 0  : 4   : 3", "0x0006 : 0  : 132 : 131", ("acm-bad-code", "critical")),
        ("0x0006 : 0  : 4   : 3", "0x0006 : 0  : 4", ("bad-line", "critical")),
        ("# LID  : SL", "  LID  : SL", ("bad-line", "critical")),
    ],
)
def test_lines_of_routes(old: str, new: str, found: tuple[str, str]) -> None:
    findings = of_routes(ROUTES.replace(old, new, 1))
    assert found in [(one.name, one.severity) for one in findings]
    for one in findings:
        assert one.fix and all(fact.source == "r" and fact.line for fact in one.evidence)


def test_no_routes_at_all() -> None:
    assert lines(of_routes("0x0001 : 0 : 4 : 3\n")) == [("acm-no-entry", "critical", [None])]


def test_routes_against_the_fabric() -> None:
    lids = {0xA1000000001000: 2, 0xA1000000002000: 3, 0xA1000000000011: 1, A2: 5, A3: 6, 0xA1000000000F01: 4}
    assert of_routes(ROUTES, Known((SUBNET,), lids)) == ()
    assert lines(of_routes(ROUTES, Known((SUBNET,), {**lids, A2: 9}))) == [("acm-old-lid", "critical", [18])]
    del lids[A3]
    assert lines(of_routes(ROUTES, Known((SUBNET,), lids))) == [("acm-unknown-guid", "critical", [27])]


# All of them


def test_a_bad_file_is_bad_in_one_way() -> None:
    findings = of_hosts("".join(f"10.0.{number}.1/24 fe80::1\n" for number in range(5000)))
    assert len(findings) == MAX_OF_ONE_NAME + 1
    assert findings[-1].what == f"{5000 - MAX_OF_ONE_NAME} more findings of the kind acm-address-is-name"


texts = st.none() | st.text(max_size=200) | st.text(st.sampled_from("a1.:# \t\n=-0f,/%"), max_size=300)
words = st.sampled_from([
    "addr_preload", "acm_hosts", "route_preload", "opensm_full_v1", "none", "addr_data_file", "/a/ibacm_hosts.data",
    "-1", "addr_timeout", "default", "mlx5_0", "1", GID, "10.0.0.1", "n1", "#", "\n", "\n",
    *ROUTES.split("\n")[8:12],
])  # fmt: skip
texts |= st.lists(words, max_size=40).map(" ".join)


@pytest.mark.parametrize("blank", ["\xa0", "\x1c", "\x85", "\u2003"])
def test_blanks_that_c_does_not_know(blank: str) -> None:
    """They are parts of words to ibacm."""
    assert [one.name for one in of_hosts(f"n {GID} {blank}\n{blank} {blank}\n")] == ["acm-ignored-words", "acm-bad-gid"]


@given(texts, texts, texts, texts, st.booleans())
def test_no_text_breaks_it(
    hosts: str | None, addr: str | None, opts: str | None, routes: str | None, known: bool
) -> None:
    given_files = {"hosts": hosts, "addr": addr, "opts": opts, "routes": routes}
    files = AcmFiles(**{name: (name, text) for name, text in given_files.items() if text is not None})
    for one in lint(files, KNOWN if known else None):
        assert one.name and one.fix and one.severity in ("critical", "warning", "info")
        assert one.evidence[0].source in given_files


def test_each_finding_is_documented() -> None:
    root = ACM.parents[1]
    sources = [*root.glob("ibkit/resolve/lint/*.py"), *root.glob("parsers/acm_*.py")]
    names = {name for path in sources for name in re.findall(r'"(acm-[a-z-]+|bad-line|noise)"', path.read_text())}
    documented = set(re.findall(r"`(acm-[a-z-]+|bad-line|noise)`", (root / "docs/ibacm.md").read_text()))
    assert documented == names and len(names) > 35
