"""ibacm_hosts.data, ibacm_addr.cfg, ibacm_opts.cfg: ibacm's own log of odd lines, limits counted by hand, any text."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import acm_addr, acm_file, acm_hosts, acm_opts
from ibkit.parsers.acm_file import IP4, IP6, NAME, atoi, gid_of, key_of, meant_address, pieces_of
from ibkit.parsers.acm_hosts import HostEntry
from ibkit.parsers.acm_opts import Option, Settings

ACM = Path(__file__).parents[2] / "fixtures/acm"
GID = 0xFEC0_0000_0000_0001_00A1_0000_0000_0021
GID_TEXT = "fec0:0:0:1:a1:0:0:21"


def hosts(text: str) -> list[tuple[str, str, int]]:
    return [(entry.key, entry.kind, entry.line) for entry in acm_hosts.parse(text).value]


def kinds(parsed: object) -> list[tuple[str, int]]:
    return [(problem.kind, problem.line) for problem in parsed.problems]  # type: ignore[attr-defined]


# ibacm_hosts.data


def test_each_line_is_taken_as_ibacm_took_it() -> None:
    """The log names what ibacm believed, in its order; its second pass over the file is cut."""
    told = re.findall(r"added host (\S+) address type (\d) IB GID (\S+)", (ACM / "log-hosts-odd.txt").read_text())
    types = {"1": NAME, "2": IP4, "3": IP6}
    believed = [(key, types[kind], gid_of(gid)) for key, kind, gid in told]
    parsed = acm_hosts.parse((ACM / "hosts.odd.data").read_text(), source="hosts.data")
    entries = [(entry.key, entry.kind, entry.gid) for entry in parsed.value]
    assert entries == believed[: len(entries)] and len(entries) == 21
    rejected = re.findall(r"ERROR - (\S+) is not IB GID", (ACM / "log-hosts-odd.txt").read_text())[:6]
    assert rejected == [
        "indented", "notagid", "0xfec000000000000100a1000000000021", "00a1:0000:0000:0021",
        f"{GID_TEXT},fec0:0:0:1:a1:0:0:31", "n-it-0123456789",
    ]  # fmt: skip
    assert kinds(parsed) == [
        ("acm-bad-gid", 16), ("acm-one-word", 17), ("acm-bad-gid", 18), ("acm-bad-gid", 19), ("acm-bad-gid", 20),
        ("acm-bad-gid", 26), ("acm-long-key", 29), ("acm-long-line", 30),
    ]  # fmt: skip
    assert all(problem.source == "hosts.data" for problem in parsed.problems)


def test_what_an_entry_holds() -> None:
    (entry,) = acm_hosts.parse(f"\n10.10.0.2\t{GID_TEXT}  second words # yes\r\n").value
    assert entry == HostEntry("10.10.0.2", IP4, b"\n\n\0\2", GID, 2, "second words # yes")


def test_the_last_line_of_a_key_counts() -> None:
    entries = acm_hosts.parse(
        "10.1.1.1 fe80::1\nfd00::1 fe80::2\n10.1.1.1 fe80::3\nFD00:0::1 fe80::4\nn fe80::5\nN fe80::6\n"
    )
    assert {key: entry.gid & 0xF for key, entry in acm_hosts.by_key(entries.value).items()} == {
        (IP4, b"\n\1\1\1"): 3, (IP6, bytes.fromhex("fd000000000000000000000000000001")): 4,
        (NAME, b"n"): 5, (NAME, b"N"): 6,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("10.0.0.1", IP4), ("0.0.0.0", IP4), ("255.255.255.255", IP4), ("fd00::1", IP6), ("::", IP6),
        ("::ffff:1.2.3.4", IP6), ("FE80::A2", IP6),
        ("10.0.0.1/24", NAME), ("010.0.0.1", NAME), ("10.0.0.00", NAME), ("10.0.0.256", NAME), ("10.0.1", NAME),
        ("fe80::1%ib0", NAME), ("1::2::3", NAME), ("12345::", NAME), ("n01", NAME), ("0x0a000001", NAME),
        ("::1]", NAME),
    ],
)  # fmt: skip
def test_what_is_an_address(key: str, kind: str) -> None:
    assert key_of(key)[0] == kind
    assert hosts(f"{key} fe80::1") == [(key, kind, 1)]


@pytest.mark.parametrize(
    ("length", "entries"),
    [(118, ["a"]), (119, ["a"]), (120, ["a"]), (121, ["a", "b"])],
)
def test_119_bytes_of_a_line(length: int, entries: list[str]) -> None:
    """The rest is a line of its own: here one with two words and a GID, as far as it is reached."""
    line = "a fe80::1".ljust(119) + "b fe80::2"
    parsed = acm_hosts.parse(line[:length] if length < 121 else line)
    assert [entry.key for entry in parsed.value] == entries
    assert kinds(parsed) == ([("acm-long-line", 1)] if length == 121 else [])


def test_bytes_are_counted_not_characters() -> None:
    """Two bytes each: 59 of these and "é" in the middle of byte 119."""
    (first,) = acm_hosts.parse("a fe80::1 " + "é" * 55 + "é").value
    assert first.rest == "é" * 54 + "\\xc3"


def test_45_bytes_of_a_key() -> None:
    assert hosts(f"{'k' * 45} fe80::1") == [("k" * 45, NAME, 1)]
    parsed = acm_hosts.parse(f"{'k' * 46} fe80::1")
    assert (parsed.value, kinds(parsed)) == ((), [("acm-long-key", 1)])
    parsed = acm_hosts.parse(f"{'k' * 45}::1 fe80::2")  # the rest of the key is a GID
    assert [(entry.key, entry.gid) for entry in parsed.value] == [("k" * 45, 1)]
    assert kinds(parsed) == [("acm-long-key", 1)]


def test_comments_and_blanks() -> None:
    text = f"# a fe80::1\n\n   \n#\n\t\n n01 {GID_TEXT}\n  # n02 {GID_TEXT}\n"
    parsed = acm_hosts.parse(text)
    assert [entry.key for entry in parsed.value] == ["n01"]
    assert kinds(parsed) == [("acm-bad-gid", 7)]


def test_a_nul_ends_the_line() -> None:
    parsed = acm_hosts.parse("a fe80::1\0 b\nb\0 fe80::2\n")
    assert hosts("a fe80::1\0x\nb fe80::2") == [("a", NAME, 1), ("b", NAME, 2)]
    assert kinds(parsed) == [("acm-one-word", 2)]


def test_every_line_end_of_editors() -> None:
    assert hosts("a fe80::1\r\nb fe80::2\r\n") == [("a", NAME, 1), ("b", NAME, 2)]
    assert hosts("\ufeffa fe80::1") == [("\ufeffa", NAME, 1)]  # a byte order mark is a part of the name


def test_written_hosts_are_read_back() -> None:
    pairs = [("10.0.0.21", GID), ("n21", GID), ("fd00::21", 0xFE80 << 112 | 1)]
    text = acm_hosts.write(pairs)
    assert text.splitlines()[0] == f"10.0.0.21 {GID_TEXT}"
    parsed = acm_hosts.parse(text)
    assert ([(entry.key, entry.gid) for entry in parsed.value], parsed.problems) == (pairs, ())


@pytest.mark.parametrize(
    "key", ["", " ", "a b", "k" * 46, "#n", "10.0.0.1/24", "010.0.0.1", "fe80::1%ib0", "a\nb", "a\0", "10.0.0.256"]
)
def test_keys_that_cannot_be_written(key: str) -> None:
    with pytest.raises(ValueError, match="ibacm"):
        acm_hosts.write([(key, GID)])


def test_two_gids_of_a_key_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="two GIDs"):
        acm_hosts.write([("fd00::1", 1 << 64 | 1), ("fd00:0::1", 1 << 64 | 2)])


@given(st.lists(st.tuples(st.from_regex(r"[a-z][a-z0-9.-]{0,44}", fullmatch=True), st.integers(0, (1 << 128) - 1))))
def test_any_hosts_are_read_back(pairs: list[tuple[str, int]]) -> None:
    pairs = list({key: (key, gid) for key, gid in pairs if meant_address(key) is None}.values())
    parsed = acm_hosts.parse(acm_hosts.write(pairs))
    assert ([(entry.key, entry.gid) for entry in parsed.value], parsed.problems) == (pairs, ())


# ibacm_addr.cfg


def endpoints(text: str) -> list[tuple[str, str, int, int | None]]:
    return [(entry.name, entry.device, entry.port, entry.pkey) for entry in acm_addr.parse(text).value]


def test_generated_and_used_addresses() -> None:
    assert endpoints((ACM / "addr.generated.cfg").read_text()) == [
        ("vm", "ibsim0", 1, None), ("vm-1", "ibsim0", 1, None),
    ]  # fmt: skip
    parsed = acm_addr.parse((ACM / "addr.used.cfg").read_text())
    assert parsed.problems == ()
    assert [(entry.name, entry.kind, entry.pkey) for entry in parsed.value] == [
        ("hosta1", NAME, None), ("10.10.0.1", IP4, None), ("fd00::a1", IP6, None), ("hosta1-st", NAME, 0x8001),
        ("10.10.1.1", IP4, 0x8001), ("127.0.0.1", IP4, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "port", "pkey", "kind"),
    [
        ("n d 1 default", 1, None, None),
        ("n d 1 DEFAULT", 1, None, None),
        ("n d 1default", 1, None, None),  # sscanf needs no blank behind a number
        ("n d 1 defaultx", 1, None, "acm-long-pkey"),  # seven bytes of it
        ("n d 1 0x8001", 1, 0x8001, None),
        ("n d 1 8001zz", 1, 0x8001, None),
        ("n d 1 8001abc", 1, 0x1ABC, None),  # sixteen bits of it
        ("n d 1 -1", 1, 0xFFFF, None),
        ("n d +1 1", 1, 1, None),
        ("n d 257 1", 1, 1, "acm-bad-port"),  # eight bits of it
        ("n d -255 1", 1, 1, "acm-bad-port"),
        ("n d 0 1", 0, 1, "acm-bad-port"),
        ("n d 18446744073709551617 1", 255, 1, "acm-bad-port"),  # the greatest of 64 bits, then eight of these
    ],
)
def test_numbers_of_an_endpoint(line: str, port: int, pkey: int | None, kind: str | None) -> None:
    """As the real program assigned, or did not assign, such names."""
    parsed = acm_addr.parse(line)
    assert [(entry.port, entry.pkey) for entry in parsed.value] == [(port, pkey)]
    assert kinds(parsed) == ([(kind, 1)] if kind else [])


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("n d 1", "acm-skipped-line"),
        ("n", "acm-skipped-line"),
        ("n d one default", "acm-skipped-line"),
        ("n d 0x", "acm-bad-pkey"),  # the port is 0, the P_Key x
        ("n d 1.5 default", "acm-bad-pkey"),  # the port is 1, the P_Key .5
        ("n d 1 xyz", "acm-bad-pkey"),
        (f"{'n' * 47} d 1 default", "acm-skipped-line"),  # the device is n, the port d
        (f"n {'d' * 32} 1 default", "acm-skipped-line"),
    ],
)
def test_lines_that_name_no_endpoint(line: str, kind: str) -> None:
    parsed = acm_addr.parse(f"# remark\n{line}\n")
    assert (parsed.value, kinds(parsed)) == ((), [(kind, 2)])


def test_written_endpoints_are_read_back() -> None:
    rows = [("n01", "mlx5_0", 1, None), ("n01-1", "mlx5_0", 1, 0x8001), ("n" * 46, "d" * 31, 255, 0x7FFF)]
    text = acm_addr.write(rows)
    assert text.splitlines()[:2] == ["n01 mlx5_0 1 default", "n01-1 mlx5_0 1 0x8001"]
    assert (endpoints(text), acm_addr.parse(text).problems) == (rows, ())


@pytest.mark.parametrize(
    "row",
    [("n" * 47, "d", 1, None), ("n", "d" * 32, 1, None), ("n", "d", 0, None), ("n", "d", 256, None),
     ("#", "d", 1, None), ("n", "d", 1, 0x8000), ("n", "d", 1, 0x18001), ("a b", "d", 1, None), ("n", "", 1, None)],
)  # fmt: skip
def test_endpoints_that_cannot_be_written(row: tuple[str, str, int, int | None]) -> None:
    with pytest.raises(ValueError, match=r"ibacm_addr\.cfg|port or P_Key"):
        acm_addr.write([row])


# ibacm_opts.cfg


def settings(text: str) -> Settings:
    return acm_opts.settings(acm_opts.parse(text).value)


def test_generated_options_are_the_defaults() -> None:
    parsed = acm_opts.parse((ACM / "opts.generated.cfg").read_text())
    assert parsed.problems == () and len(parsed.value) == 22
    assert acm_opts.settings(parsed.value)._replace(log_file=None) == Settings()


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("addr_timeout -1", "addr_timeout_minutes", -1),
        ("Addr_Timeout 5x", "addr_timeout_minutes", 5),
        ("addr_timeout never", "addr_timeout_minutes", 0),
        ("addr_timeout 99999999999", "addr_timeout_minutes", 1215752191),  # 32 bits of it
        ("addr_timeout = 5", "addr_timeout_minutes", 0),
        ("addr_timeout=5", "addr_timeout_minutes", 1440),
        ("addr_timeout 5\naddr_timeout 6", "addr_timeout_minutes", 6),
        ("route_timeout 7", "route_timeout_minutes", 7),
        ("ROUTE_TIMEOUT 7", "route_timeout_minutes", -1),
        ("route_preload opensm_full_v1", "route_preload", "opensm_full_v1"),
        ("route_preload OpenSM_Full_V1", "route_preload", "opensm_full_v1"),
        ("route_preload full_opensm_v1", "route_preload", "none"),
        ("route_preload opensm_full_v1\nroute_preload x", "route_preload", "opensm_full_v1"),
        ("route_preload opensm_full_v1\nroute_preload no", "route_preload", "none"),
        ("addr_preload acm_hosts", "addr_preload", "acm_hosts"),
        ("server_mode LOOP", "server_mode", "loop"),
        ("server_mode open\nserver_mode x", "server_mode", "unix"),
        ("server_port 70000", "server_port", 4464),
        ("min_mtu 1500", "min_mtu_bytes", 2048),
        ("min_mtu 4096", "min_mtu_bytes", 4096),
        ("min_rate 400", "min_rate_gbps", 10),
        ("acme_plus_kernel_only TRUE", "acme_plus_kernel_only", True),
        ("acme_plus_kernel_only 0x10", "acme_plus_kernel_only", True),
        ("acme_plus_kernel_only on", "acme_plus_kernel_only", False),
        ("support_ips_in_addr_cfg 1", "support_ips_in_addr_cfg", True),
        ("addr_data_file /a/b # c", "addr_data_file", "/a/b"),
        ("  # addr_timeout 5", "addr_timeout_minutes", 1440),
    ],
)
def test_what_ibacm_makes_of_a_line(text: str, field: str, value: object) -> None:
    assert getattr(settings(text), field) == value


def test_options_as_written() -> None:
    parsed = acm_opts.parse(f"# remark\nlog_level 2 # all\nlog_level=2\nx {'y' * 130} z\n", source="opts.cfg")
    assert parsed.value == (
        Option("log_level", "2", 2, "# all"), Option("x", "y" * 117, 4), Option("y" * 13, "z", 4),
    )  # fmt: skip
    assert kinds(parsed) == [("acm-no-value", 3), ("acm-long-line", 4)]


def test_written_options_are_read_back() -> None:
    rows = [("addr_preload", "acm_hosts"), ("addr_timeout", -1), ("addr_data_file", "/etc/rdma/ibacm_hosts.data")]
    text = acm_opts.write(rows)
    assert text == "addr_preload acm_hosts\naddr_timeout -1\naddr_data_file /etc/rdma/ibacm_hosts.data\n"
    assert [(option.name, option.value) for option in acm_opts.parse(text).value] == [
        (name, str(value)) for name, value in rows
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [("addr_data_file", "/a b"), ("addr_data_file", "/" + "a" * 110), ("nosuch", "1"), ("ROUTE_TIMEOUT", 1),
     ("route_preload", "full_opensm_v1"), ("addr_timeout", "never"), ("log_file", "")],
)  # fmt: skip
def test_options_that_cannot_be_written(name: str, value: object) -> None:
    with pytest.raises(ValueError, match="ibacm"):
        acm_opts.write([(name, value)])


# What they share


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("10.0.0.1/24", "10.0.0.1"), ("010.001.000.011", "10.1.0.11"), ("fe80::1%ib0", "fe80::1"),
        ("[fd00::1]", "fd00::1"), ("10.0.0.1,", "10.0.0.1"), ("10.0.0.1:", "10.0.0.1"), ("\ufeff10.0.0.1", "10.0.0.1"),
        ("fd00::1/64", "fd00::1"), ("10.0.0.256", ""), ("10.1", ""), ("1::2::3", ""), ("10.0.0.1.2", None),
        ("n01", None), ("face", None), ("10", None), ("n10.0.0.1", None), ("a:b", None), ("", None),
    ],
)  # fmt: skip
def test_addresses_that_were_meant(name: str, address: str | None) -> None:
    assert meant_address(name) == address


@pytest.mark.parametrize(
    ("text", "number"),
    [("12", 12), (" -5x", -5), ("+3", 3), ("x", 0), ("", 0), ("0x10", 0), ("2147483648", -(1 << 31)), ("9" * 5000, -1)],
)
def test_numbers_as_c_reads_them(text: str, number: int) -> None:
    assert atoi(text) == number


any_text = st.text(max_size=300) | st.text(st.sampled_from("a1.: \t#\n\r\0-="), max_size=400)


@given(any_text)
def test_no_text_raises(text: str) -> None:
    for module in (acm_hosts, acm_addr, acm_opts):
        parsed = module.parse(text)
        lines = text.count("\n") + 1
        assert all(1 <= item.line <= lines for item in (*parsed.value, *parsed.problems))
    acm_opts.settings(acm_opts.parse(text).value)
    meant_address(text)


@given(any_text)
def test_pieces_hold_what_fits(text: str) -> None:
    for piece in pieces_of(text):
        assert 0 < len(piece.data) <= acm_file.MAX_LINE_BYTES and b"\n" not in piece.data and b"\0" not in piece.data


@pytest.mark.parametrize("text", ["x" * 3_000_000, "a fe80::1 " * 300_000, "# " * 1_000_000, "a b c d\n" * 100_000])
def test_large_files_take_seconds_at_most(text: str) -> None:
    started = time.process_time()
    for module in (acm_hosts, acm_addr, acm_opts):
        assert len(module.parse(text).problems) <= 501
    assert time.process_time() - started < 10
