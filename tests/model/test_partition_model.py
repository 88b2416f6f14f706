"""Who may talk to whom by P_Keys: the rules of membership, and what is worth a word in a subnet's tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.model.ids import Guid, PKey
from ibkit.model.partitions import (
    BOTH,
    FULL,
    LIMITED,
    Partitions,
    PortKeys,
    groups_of,
    look_at,
    meeting,
    mute_pairs,
    partitions_of,
)


def port(number: int, *keys: int, whole: bool = True) -> PortKeys:
    return PortKeys(Guid(number), 1, tuple(map(PKey, keys)), Guid(0x100 + number), number, f"n{number}", whole=whole)


@pytest.mark.parametrize(
    ("mine", "theirs", "can_talk", "shared", "limited"),
    [
        ([0xFFFF], [0xFFFF], True, (0x7FFF,), ()),
        ([0xFFFF], [0x7FFF], True, (0x7FFF,), ()),
        ([0x7FFF], [0x7FFF], False, (), (0x7FFF,)),
        ([0x7FFF, 0x8001], [0x7FFF, 0x0001], True, (1,), (0x7FFF,)),
        ([0x7FFF, 0x8001], [0x7FFF, 0x8002], False, (), (0x7FFF,)),
        ([0x8001], [0x8002], False, (), ()),
        ([0x8000], [0x8000], False, (), ()),  # 15 bits that are 0 are no key, whatever the membership
        ([0x0000], [0x8000], False, (), ()),
        ([0x0001, 0x8001], [0x0001], True, (1,), ()),  # with both keys a port is a full member, too
        ([], [0xFFFF], False, (), ()),
    ],
)
def test_two_ports(
    mine: list[int], theirs: list[int], can_talk: bool, shared: tuple[int, ...], limited: tuple[int, ...]
) -> None:
    assert tuple(meeting(port(1, *mine), port(2, *theirs))) == (can_talk, shared, limited)
    assert meeting(port(2, *theirs), port(1, *mine)).can_talk is can_talk


def test_a_table_that_is_not_whole_proves_a_meeting_but_not_its_absence() -> None:
    assert meeting(port(1, 0x8001, whole=False), port(2, 0x8001)).can_talk is True
    assert meeting(port(1, 0x8001, whole=False), port(2, 0x8002)).can_talk is None
    assert meeting(port(1, 0x0001, whole=False), port(2, 0x0001)).can_talk is None


def test_a_table() -> None:
    one = port(1, 0x8005, 0, 0x7FFF, 0x0005)
    assert (one.partitions, one.default_index) == ((5, 0x7FFF), 2)
    assert [one.membership(number) for number in (5, 0x7FFF, 6, 0)] == [BOTH, LIMITED, None, None]
    assert port(2, 0xFFFF).membership(0x7FFF) == FULL
    assert (port(3).default_index, port(3).partitions) == (None, ())


def test_partitions_and_groups() -> None:
    ports = [port(1, 0xFFFF, 0x8001), port(2, 0x7FFF, 0x0001), port(3, 0x0001, 0x7FFF), port(4, 0x7FFF, 0x0001, 0x8001)]
    found = partitions_of(ports)
    assert [(one.number, [p.name for p in one.full], [p.name for p in one.limited]) for one in found] == [
        (1, ["n1", "n4"], ["n2", "n3"]), (0x7FFF, ["n1"], ["n2", "n3", "n4"]),
    ]  # fmt: skip
    groups = groups_of(ports)
    assert [([p.name for p in group.ports], [str(key) for key in group.keys]) for group in groups] == [
        (["n2", "n3"], ["0x0001", "0x7fff"]), (["n4"], ["0x8001", "0x7fff"]), (["n1"], ["0x8001", "0xffff"]),
    ]  # fmt: skip
    assert mute_pairs(groups) == 1, "n2 and n3; all others have a full member among them"


def test_pairs_that_share_partitions_only_as_limited_members() -> None:
    tenants = [port(i, 0x7FFF, 0x8000 + i % 3 + 1) for i in range(9)]
    assert mute_pairs(groups_of([*tenants, port(99, 0xFFFF)])) == 27, "3 by 3 of each two of three tenants"
    assert mute_pairs(groups_of([port(i, 0x8001) for i in range(5)])) == 0
    assert mute_pairs(groups_of([port(1, 0x8001), port(2, 0x8002)])) == 0, "nothing shared is another matter"


def test_what_is_worth_a_word() -> None:
    manager = port(1, 0x7FFF)
    ports = (manager, port(2, 0x8001, 0xFFFF), port(3, 0x8001), port(4, 0x8001, whole=False))
    found = look_at(Partitions(ports, manager=manager.port_guid))
    assert [problem.kind for problem in found] == ["no-default", "manager-not-full", "default-not-first"]
    assert found[0].text.startswith("n3 port 1 is not in the default partition 0x7fff"), "n4's table is not whole"
    assert found[1].text.startswith("n1 port 1 is where the subnet manager runs")
    assert "n2 port 1 is with the default partition's key not at index 0" in found[2].text
    assert look_at(Partitions((port(1, 0xFFFF), port(2, 0x7FFF)), manager=Guid(0x101))) == ()


@given(st.lists(st.lists(st.integers(0, 0xFFFF), max_size=6), min_size=2, max_size=8))
def test_groups_talk_as_their_ports_do(tables: list[list[int]]) -> None:
    ports = [port(i, *keys) for i, keys in enumerate(tables)]
    groups = groups_of(ports)
    assert sum(len(group.ports) for group in groups) == len(ports)
    group_of = {one.guid: group for group in groups for one in group.ports}
    for a in ports:
        for b in ports:
            one, other = group_of[a.guid].ports[0], group_of[b.guid].ports[0]
            assert meeting(a, b).can_talk == meeting(one, other).can_talk
            keys = {key.partition for key in a.keys if key.partition} & {key.partition for key in b.keys}
            full = {k for k in keys for p in (a, b) if PKey(k | 0x8000) in p.keys}
            assert meeting(a, b).can_talk is bool(full)
