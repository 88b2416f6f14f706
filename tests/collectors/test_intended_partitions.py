"""What OpenSM makes of a partitions.conf, and where the tables are not so. Truth: its osm_prtn.c, read by hand."""

from __future__ import annotations

import pytest

from ibkit.collectors.intended_partitions import compared, intended_partitions
from ibkit.errors import UnreadableInput
from ibkit.model.fabric import CHANNEL_ADAPTER, ROUTER, SWITCH
from ibkit.model.ids import Guid, PKey
from ibkit.model.partitions import Partitions, PortKeys
from ibkit.parsers import partitions_conf


def told(text: str) -> list[tuple[int | None, str | None, list[str]]]:
    """P_Key, name and members of each partition, in order."""
    found = intended_partitions(partitions_conf.parse(text).value)
    return [
        (one.pkey, one.name, [f"{member.group or int(member.guid or 0)}={member.membership}" for member in one.members])
        for one in found
    ]


DEFAULT = (0x7FFF, "Default", ["ALL=limited", "SELF=full"])


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("Default=0x7fff : ALL=full ;", [(0x7FFF, "Default", ["ALL=full"])]),
        ("a=0x8001 : 0x1=full ;", [DEFAULT, (1, "a", ["1=full"])]),
        # Definitions of one P_Key add up; the first name stays, a later line about a port holds.
        ("a=1 : 0x1=full, 0x2=full; b=0x8001 : 0x2, 0x3=full;", [DEFAULT, (1, "a", ["1=full", "2=limited", "3=full"])]),
        ("a=1 : 0x1=full; b=2 : 0x1=full; a=1 : 0x1;", [DEFAULT, (1, "a", ["1=limited"]), (2, "b", ["1=full"])]),
        # Without a P_Key a name that is known means its partition; a new one is for OpenSM to number.
        ("a=1 : 0x1=full; a : 0x2=full;", [DEFAULT, (1, "a", ["1=full", "2=full"])]),
        ("x : 0x1=full; x : 0x2=full;", [DEFAULT, (None, "x", ["1=full", "2=full"])]),
        ("Default : 0x9=full;", [(0x7FFF, "Default", ["ALL=limited", "SELF=full", "9=full"])]),
        # ALL means everybody, also the manager, whatever was said before.
        ("a=1 : 0x1=full, ALL=limited, SELF=full;", [DEFAULT, (1, "a", ["ALL=limited", "SELF=full"])]),
        ("Default=0x7fff : ALL=limited;", [(0x7FFF, "Default", ["ALL=limited"])]),
        ("a=1, defmember=full : ALL_CAS, 0x5=both;", [DEFAULT, (1, "a", ["ALL_CAS=full", "5=both"])]),
        # A partition without a member does not exist.
        ("a=1 : ; b=2 : 0x1=full;", [DEFAULT, (2, "b", ["1=full"])]),
        # One error, and nothing of the file holds: all are full members of the default partition.
        ("a=1 : 0x1=full; b=0xzz : 0x2=full;", [(0x7FFF, "Default", ["ALL=full"])]),
    ],
)
def test_what_a_file_makes(text: str, made: list[tuple[int | None, str | None, list[str]]]) -> None:
    assert told(text) == made


def test_a_name_that_is_too_long_to_be_found_again() -> None:
    name = "n" * 32
    assert [pkey for pkey, *_ in told(f"{name} : 0x1=full; {name} : 0x2=full;")] == [0x7FFF, None, None]
    assert [pkey for pkey, *_ in told(f"{name[1:]} : 0x1=full; {name[1:]} : 0x2=full;")] == [0x7FFF, None]


def port(number: int, kind: str, *keys: int, whole: bool = True) -> PortKeys:
    return PortKeys(Guid(number), 1, tuple(map(PKey, keys)), Guid(number), number, f"n{number}", kind, whole=whole)


def differences(text: str, *ports: PortKeys, manager: int | None = 1) -> list[str]:
    partitions = Partitions(ports, manager=None if manager is None else Guid(manager))
    made = compared(partitions, text, "partitions.conf")
    assert made.intended
    return [problem.text for problem in made.problems if problem.kind == "not-as-intended"]


MANAGER, HOST, LEAF = port(1, CHANNEL_ADAPTER, 0xFFFF), port(2, CHANNEL_ADAPTER, 0x7FFF), port(3, SWITCH, 0x7FFF)


def test_tables_as_intended() -> None:
    text = "a=1 : ALL_SWITCHES=limited, 0x2=full, ALL_ROUTERS=full;"
    ports = (
        MANAGER,
        port(2, CHANNEL_ADAPTER, 0x7FFF, 0x8001),
        port(3, SWITCH, 0x7FFF, 1),
        port(4, ROUTER, 0x7FFF, 0x8001),
    )
    assert differences(text, *ports) == []
    assert differences("a=1 : 0x9=full;", MANAGER, HOST, LEAF) == [], "a port that is not there is nobody's fault"
    assert differences("a=1 : 0x2=both;", MANAGER, port(2, CHANNEL_ADAPTER, 0x7FFF, 0x8001)) == [], "OpenSM's default"


def test_tables_that_are_not_as_intended() -> None:
    where = "partition 0x0001 of partitions.conf"
    found = differences("a=1 : 0x2=full, 0x3=limited;", MANAGER, port(2, CHANNEL_ADAPTER, 0x7FFF, 1), LEAF)
    assert found == [
        f"{where}: 1 ports should be full members and are limited members, the first is n2 port 1",
        f"{where}: 1 ports should be limited members and are no members, the first is n3 port 1",
    ]  # fmt: skip
    found = differences("Default=0x7fff : ALL=full;", MANAGER, HOST, LEAF)
    assert len(found) == 1
    assert "2 ports should be full members and are limited members, the first is n2" in found[0]


def test_what_is_not_known_is_not_compared() -> None:
    assert differences("a=1 : 0x2=full;", port(2, CHANNEL_ADAPTER, 0xFFFF, whole=False), manager=None) == []
    assert differences("a=1 : SELF=full;", MANAGER, manager=None) == [], "nobody knows who the manager is"
    assert differences("a=1 : SELF=full;", MANAGER, manager=1) != []


def test_another_file_is_refused() -> None:
    with pytest.raises(UnreadableInput, match=r"partitions\.conf"):
        compared(Partitions(()), "hello\n", "x")


def test_a_rejected_file_is_a_finding() -> None:
    made = compared(Partitions((MANAGER,)), "a=1 : 0x1=full;\nb : zz=full;\n", "x")
    assert "rejected" in [problem.kind for problem in made.problems]
