"""The file of expectations: what is written is read again; what is not taken is told with its line and the mend."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.made_fabric import end, fabric

from ibkit.errors import IbkitError
from ibkit.model.expectations import (
    Expectations,
    ExpectedLink,
    ExpectedPartition,
    NodeGroup,
    PortGroup,
    Waiver,
    expectations_of,
)
from ibkit.rules.expectation_file import from_toml, read_expectations, to_toml, write_expectations

HEAD = 'format = "ibkit-expect/1"\n'

WRITTEN = """\
format = "ibkit-expect/1"
standby_managers = 1

[[hosts]]
names = "c[001-003],login1"
ports = [{ count = 2, model = "0x101b", width = "4x", speed = "HDR" }, { count = 1 }]

[[switches]]
names = "leaf[1-2]"
ports = []

[firmware]
"MT_0000000223" = "20.31.1014"

[[partitions]]
pkey = "0x7fff"
full = "c[001-003]"
limited = ""

[cabling]
links = [
  "0x0c42a10300000000/1 0xb8599f0300000000/12 c001 mlx5_0 port 1 - leaf1 port 12",  # a comment
  "0xb8599f0300000000/1 0xa/2",
]

[thresholds.R20]
total = 50
per_minute = 0.5

[thresholds.link-downed]
rise = 3

[[waivers]]
rule = "R06"
where = "c004*"
until = 2027-01-31
why = "cable is ordered"

[[waivers]]
rule = "single-lane"
where = "*"
why = "a laboratory"
"""


def test_every_key() -> None:
    read = from_toml(WRITTEN, "expect.toml")
    assert read == Expectations(
        hosts=(
            NodeGroup(
                ("c001", "c002", "c003", "login1"),
                (PortGroup(2, "0x101b", "4x", "HDR"), PortGroup(1, None, None, None)),
            ),
        ),
        switches=(NodeGroup(("leaf1", "leaf2"), ()),),
        links=(
            ExpectedLink((0x0C42A10300000000, 1), (0xB8599F0300000000, 12), "c001 mlx5_0 port 1 - leaf1 port 12"),
            ExpectedLink((0xB8599F0300000000, 1), (0xA, 2), ""),
        ),
        partitions=(ExpectedPartition(0x7FFF, ("c001", "c002", "c003"), ()),),
        firmware={"MT_0000000223": "20.31.1014"},
        standbys=1,
        limits={"R20": {"total": 50.0, "per_minute": 0.5}, "link-downed": {"rise": 3.0}},
        waivers=(
            Waiver("R06", "c004*", "cable is ordered", "2027-01-31", 33),
            Waiver("single-lane", "*", "a laboratory", None, 39),
        ),
        source="expect.toml",
    )


def test_what_is_not_written_is_not_expected() -> None:
    assert from_toml(HEAD, "expect.toml") == Expectations(source="expect.toml")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", None, ["format", "ibkit-expect/1"]),
        ('format = "ibkit-expect/2"\n', 1, ["ibkit-expect/2"]),
        (HEAD + "a = [1,\n", None, ["not TOML"]),
        (HEAD + "x = = 1\n", 2, ["not TOML"]),
        (HEAD + 'hosts = "c1"\n', 2, ["hosts", "[[hosts]]"]),
        (HEAD + "\n[[hosts]]\nname = 'c1'\n", 4, ["unknown key name", "names, ports"]),
        (HEAD + "[[hosts]]\nnames = 'c[1-'\n", 3, ["bracket", "n[01-16]"]),
        (HEAD + "[[hosts]]\nnames = 'c1'\nports = [{count = 'x'}]\n", 4, ["count", "whole number"]),
        (HEAD + "[[hosts]]\nnames = 'c1'\nports = [{count = 1, widht = '4x'}]\n", 4, ["widht"]),
        (HEAD + "[[hosts]]\nnames = 'c1'\nports = 4\n", 4, ["ports is 4"]),
        (HEAD + "[[hosts]]\nnames = 'c[1-3]'\n[[hosts]]\nnames = 'c2'\n", 4, ["c2 is in two groups"]),
        (HEAD + "hsots = []\n", 2, ["unknown key hsots"]),
        (HEAD + "[cabling]\nlinks = ['0x1/1 0x2']\n", 3, ["no link", "GUID/PORT"]),
        (HEAD + "[cabling]\nlinks = [\n '0x1/1 0x2/1',\n '0x1/999 0x2/1',\n]\n", 5, ["no link"]),
        (HEAD + "[cabling]\nlinks = [7]\n", None, ["no link"]),
        (HEAD + "[firmware]\nMT_1 = 20\n", 3, ["MT_1 is 20"]),
        (HEAD + "[[partitions]]\npkey = 32767\n", 3, ["P_Key", "0x8001"]),
        (HEAD + "[thresholds.R99]\ntotal = 1\n", 2, ["no rule R99", "--explain all"]),
        (HEAD + "[thresholds.R20]\ntotl = 1\n", 3, ["unknown key totl", "total, per_minute"]),
        (HEAD + "[thresholds.R20]\ntotal = 'x'\n", 3, ["write a number"]),
        (HEAD + "[thresholds.R40]\ntotal = 1\n", 3, ["there are no keys"]),
        (HEAD + "[[waivers]]\nrule = 'R06'\nwhere = '*'\n", 2, ["without why"]),
        (HEAD + "[[waivers]]\nrule = 'R6'\nwhere = '*'\nwhy = 'x'\n", 3, ["no rule R6"]),
        (HEAD + "[[waivers]]\nrule = 'R06'\nwhere = '*'\nwhy = 'x'\nuntil = 'soon'\n", 6, ["until", "2027-01-31"]),
        (HEAD + "[[waivers]]\nuntil = 2027-13-31\n", 3, ["2027-13-31 is no day of the calendar", "2027-01-31"]),
        (HEAD + "[[waivers]]\nuntil = 2027-02-30 # soon\n", 3, ["2027-02-30 is no day"]),
        (HEAD + "standby_managers = -1\n", 2, ["-1"]),
        (HEAD + "standby_managers = true\n", 2, ["True"]),
        (HEAD + "partitions = 1\n", 2, ["[[partitions]]"]),
        (HEAD + "thresholds = 1\n", 2, ["thresholds"]),
        (HEAD + "firmware = []\n", 2, ["firmware"]),
        (HEAD + "cabling = 1\n", 2, ["[cabling]"]),
    ],
)
def test_what_is_not_taken_is_told(text: str, line: int | None, words: list[str]) -> None:
    with pytest.raises(IbkitError) as told:
        from_toml(text, "expect.toml")
    message = str(told.value)
    assert message.startswith(f"expect.toml:{line}: " if line else "expect.toml")
    for word in words:
        assert word in message
    assert "; " in message, "the mend"


#: Names and texts as hostile node descriptions have them.
TEXTS = st.text(max_size=40)
NAMES = st.from_regex(r"[a-z]{1,6}[0-9]{0,3}", fullmatch=True)
GROUPS = st.lists(
    st.builds(
        NodeGroup,
        st.just(()),
        st.lists(
            st.builds(
                PortGroup,
                st.integers(1, 9999),
                st.none() | st.just("0x101b"),
                st.none() | TEXTS.filter(str.isprintable),
                st.none() | st.sampled_from(["HDR", "NDR"]),
            ),
            max_size=3,
        ).map(tuple),
    ),
    max_size=3,
)


@given(GROUPS, st.lists(NAMES, unique=True, max_size=12), TEXTS, st.integers(0, 9))
@settings(max_examples=60)
def test_what_is_written_is_read_again(groups: list[NodeGroup], names: list[str], text: str, standbys: int) -> None:
    shares = [group._replace(names=tuple(names[index :: len(groups)])) for index, group in enumerate(groups)]
    made = Expectations(
        hosts=tuple(group for group in shares if group.names) or None,
        links=(ExpectedLink(end("h1[1]"), end("s1[2]"), text),),
        firmware={text: "1.0"} if text.isprintable() else None,
        standbys=standbys,
    )
    read = from_toml(to_toml(made, f"from {text}"), "x")
    assert read.links is not None
    assert (read.links[0].a, read.links[0].b) == (end("h1[1]"), end("s1[2]"))
    assert (read.firmware, read.standbys) == (made.firmware, standbys)
    hosts = [(set(group.names), group.ports) for group in read.hosts or ()]
    assert hosts == [(set(group.names), group.ports) for group in made.hosts or ()]


@given(st.text(alphabet="[]{}=\"\\,.#\n\x00 ab1é'", max_size=60))
def test_no_text_makes_it_fail_in_another_way(text: str) -> None:
    try:
        from_toml(HEAD + text, "x")
    except IbkitError:
        return


def test_todays_fabric_as_people_would_write_it() -> None:
    made = fabric(
        *(f"h{number}[1]-s1[{number}]" for number in range(1, 17)), "s1[20]-s2[1]", "s1[21]-s2[2]",
        nodes={"s1": {"name": "MF0;leaf1:MQM8700/U1"}, "h16": {"name": "MT4123 ConnectX6   Mellanox Technologies"}},
    )  # fmt: skip
    text = to_toml(expectations_of(made), "a test")
    assert 'names = "host[1-15]"\nports = [{ count = 1, width = "4x", speed = "HDR" }]' in text
    assert 'names = "leaf1,switch2"\nports = [{ count = 2, width = "4x", speed = "HDR" }]' in text
    assert (
        '"0x0b00000000000100/16 0x0c00000000001000/1 MF0;leaf1:MQM8700/U1 port 16 - '
        'MT4123 ConnectX6   Mellanox Technologies port 1",' in text
    )


def test_a_long_set_of_names_is_broken_after_commas() -> None:
    names = tuple(f'n{number}"\\-x' for number in range(1, 1200, 7))
    made = Expectations(hosts=(NodeGroup(names, ()),))
    text = to_toml(made, "a test")
    assert max(map(len, text.splitlines())) < 125
    read = from_toml(text, "x").hosts
    assert read is not None
    assert sorted(read[0].names) == sorted(names)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "expect.toml"
    target.write_text("old")
    write_expectations(str(target), "new\n")
    assert target.read_text() == "new\n"
    assert [path.name for path in tmp_path.iterdir()] == ["expect.toml"]
    with pytest.raises(IbkitError, match="name a file in a folder"):
        write_expectations(str(tmp_path / "nowhere" / "expect.toml"), "new\n")


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    target = tmp_path / "expect.toml"
    target.write_bytes(HEAD.encode() + b"x = '\xff'\n")
    with pytest.raises(IbkitError, match=r"expect\.toml:2: not UTF-8"):
        read_expectations(str(target))
    with pytest.raises(IbkitError, match="check the name"):
        read_expectations(str(tmp_path / "absent.toml"))
