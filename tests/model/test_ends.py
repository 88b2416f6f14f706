"""Which port a LID, GUID, GID or name means, and when it is not clear."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drawn import drawn, end, guid

from ibkit.model.ends import EndPort, NotOne, find_end
from ibkit.model.fabric import CHANNEL_ADAPTER, SWITCH, End, Fabric, FabricPort, Node
from ibkit.model.ids import Guid
from ibkit.model.routes import owners_of

FE80, SITE = 0xFE80 << 48, 0xFEC0_0000_0000_0001
ADAPTER = Guid(0x0C42A10300000000)


def fabric(*nodes: Node, complete: bool | None = True) -> Fabric:
    return Fabric({node.guid: node for node in nodes}, (), complete)


def hca(number: int, name: str, *ports: FabricPort) -> Node:
    return Node(Guid(ADAPTER + 16 * number), CHANNEL_ADAPTER, name, len(ports), ports)


def port(number: int, lid: int | None, port_guid: int, *, linked: bool = True, prefix: int | None = FE80) -> FabricPort:
    return FabricPort(number, Guid(port_guid), lid, linked=linked, subnet_prefix=prefix)


#: c1 has one port whose GUID is the node's (as ConnectX has it), c2 two ports, c3 a second port without a link.
C1 = hca(1, "c1 mlx5_0", port(1, 21, ADAPTER + 16))
C2 = hca(2, "c2 mlx5_0", port(1, 22, 0x7001), port(2, 23, 0x7002))
C3 = hca(3, "c3 mlx5_0", port(1, 24, 0x7003), port(2, None, 0x7004, linked=False))
LEAF = Node(Guid(0xB8599F0300000000), SWITCH, "MF0;leaf1:MQM8700/U1", 40, (), lid=2)
NET = fabric(C1, C2, C3, LEAF)


def found(text: str, net: Fabric = NET) -> End | None:
    return find_end(net, owners_of(net), text).end


@pytest.mark.parametrize(
    "text",
    ["21", "0x15", "0X15", "lid:21", "0x0c42a10300000010", "0c42a10300000010", "guid:0xc42a10300000010",
     "0c42:a103:0000:0010", "guid:0C42:a103:0000:0010",
     "fe80::c42:a103:0:10", "fe80:0000:0000:0000:0c42:a103:0000:0010", "c1 mlx5_0", "c1", "name:c1", "c1/1",
     "0x0c42a10300000010/1", " c1 "],
)  # fmt: skip
def test_all_ways_to_say_it(text: str) -> None:
    assert found(text) == End(C1.guid, 1)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("22", End(C2.guid, 1)), ("c2/2", End(C2.guid, 2)), ("c2 mlx5_0/2", End(C2.guid, 2)), ("0x7002", None),
     ("0x0000000000007002", End(C2.guid, 2)), ("guid:0x0000000000007002", End(C2.guid, 2)),
     ("c3", End(C3.guid, 1)), ("c3/2", End(C3.guid, 2)), ("leaf1", End(LEAF.guid, 0)), ("LEAF1", End(LEAF.guid, 0)),
     ("0xb8599f0300000000", End(LEAF.guid, 0)), ("leaf1/0", End(LEAF.guid, 0))],
)  # fmt: skip
def test_a_port_of_a_node(text: str, wanted: End | None) -> None:
    assert found(text) == wanted


def test_what_is_known_of_it() -> None:
    one = find_end(NET, owners_of(NET), "c1")
    assert one == EndPort(
        "c1", End(C1.guid, 1), Guid(ADAPTER + 16), 21, None, "c1 mlx5_0", CHANNEL_ADAPTER, FE80
    )  # fmt: skip
    assert list(one.lids) == [21]
    assert find_end(NET, owners_of(NET), "leaf1").lid == 2


@pytest.mark.parametrize(
    ("text", "named"),
    [("mlx5_0", ["c1 mlx5_0", "c2 mlx5_0", "c3 mlx5_0"]), ("c2", ["/1 (c2", "/2 (c2"]),
     ("0x0c42a10300000020", ["/1 (c2", "/2 (c2"])],
)  # fmt: skip
def test_more_than_one_lists_the_candidates(text: str, named: list[str]) -> None:
    with pytest.raises(NotOne) as caught:
        found(text)
    assert all(name in str(caught.value) for name in named)
    assert "give one of these" in str(caught.value)
    for candidate in str(caught.value).split(": ", 1)[1].split("; give")[0].split("), "):
        assert found(candidate.split(" (")[0]) is not None, "each can be given as it is listed"


@pytest.mark.parametrize("text", ["nobody", "name:21", "leaf1/5", "c1/2", "lid:c1", "gid:c1", "guid:12", "name:"])
def test_nobody(text: str) -> None:
    with pytest.raises(NotOne):
        found(text)


@pytest.mark.parametrize("text", ["0", "49152", "65535", "0xffff"])
def test_lids_that_no_port_can_have(text: str) -> None:
    with pytest.raises(NotOne, match="from 1 to 49151"):
        found(text)


@pytest.mark.parametrize("text", ["::", "::1", "ff12::1", "gid:ff12:401b:ffff::1", "::ffff:127.0.0.1"])
def test_gids_that_no_port_can_have(text: str) -> None:
    for net in (NET, NET._replace(complete=False)):
        with pytest.raises(NotOne, match=r"loopback|multicast|no address at all"):
            found(text, net)


@pytest.mark.parametrize(
    ("text", "told"),
    [("c2/3", "c2 mlx5_0 has no such port to send to; its ports that were seen are 1, 2"),
     ("0x0c42a10300000010/2", "c1 mlx5_0 has no such port to send to; its ports that were seen are 1"),
     ("leaf1/7", "share the LID of its port 0, so name the switch alone")],
)  # fmt: skip
def test_a_port_that_the_node_does_not_have(text: str, told: str) -> None:
    with pytest.raises(NotOne, match=told):
        found(text)
    part = NET._replace(complete=False)
    assert find_end(part, owners_of(part), text).end is None, "it may be one that was not seen"


def test_strangers_keep_what_their_text_says() -> None:
    owners = owners_of(NET)
    assert find_end(NET, owners, "999") == EndPort("999", lid=999)
    assert find_end(NET, owners, "0x0c42a103000000ff").port_guid == Guid(0x0C42A103000000FF)
    gid = find_end(NET, owners, "fec0::7:0:0:0:10")
    assert (gid.end, gid.subnet_prefix, gid.port_guid) == (None, 0xFEC0_0000_0000_0007, Guid(0x10))


def test_a_gid_of_another_subnet_is_not_the_port_here() -> None:
    net = fabric(hca(1, "c1", port(1, 21, 0x7001, prefix=SITE)))
    assert found("fec0::1:0:0:0:7001", net) == End(Guid(ADAPTER + 16), 1)
    assert found("fe80::7001", net) == End(Guid(ADAPTER + 16), 1), "within its subnet a port has that prefix, too"
    assert found("fec0::2:0:0:0:7001", net) is None
    net = fabric(hca(1, "c1", port(1, 21, 0x7001, prefix=None)))
    assert found("fec0::2:0:0:0:7001", net) == End(Guid(ADAPTER + 16), 1), "nobody knows the prefix here"


def test_virtual_guids_are_the_ports() -> None:
    virtual = port(1, 21, 0x7001)._replace(virtual_guids=(Guid(0x9901), Guid(0x9902)))
    net = fabric(hca(1, "c1", virtual))
    assert found("0x0000000000009902", net) == End(Guid(ADAPTER + 16), 1)


def test_a_name_that_looks_like_a_lid_is_not_taken_by_halves() -> None:
    net = fabric(hca(1, "c123 mlx5_0", port(1, 5, 0x7001)), hca(2, "x", port(1, 123, 0x7002)))
    assert found("123", net) == End(Guid(ADAPTER + 32), 1), "LID 123, not c123"
    net = fabric(hca(1, "123", port(1, 5, 0x7001)), hca(2, "x", port(1, 123, 0x7002)))
    with pytest.raises(NotOne, match="more than one port"):
        found("123", net)
    assert found("name:123", net) == End(Guid(ADAPTER + 16), 1)
    assert found("lid:123", net) == End(Guid(ADAPTER + 32), 1)


def test_names_may_have_slashes_and_digits() -> None:
    net = fabric(hca(1, "rack/7", port(1, 5, 0x7001)), hca(2, "rack", port(7, 6, 0x7002)))
    assert found("rack/7", net) == End(Guid(ADAPTER + 16), 1), "the whole name comes first"


def test_a_name_where_not_all_was_seen() -> None:
    part = NET._replace(complete=False)
    assert find_end(part, owners_of(part), "c9") == EndPort("c9")
    nothing = Fabric({}, (), None)
    assert find_end(nothing, owners_of(nothing), "c9") == EndPort("c9")


def test_any_lid_of_a_range() -> None:
    net = drawn(["h1/1 s1/1", "h2/1 s1/2"], {"h1/1": 4, "h2/1": 8, "s1": 12}, lmc=2)
    assert [found(str(lid), net) for lid in (4, 7, 8, 11)] == [end("h1/1"), end("h1/1"), end("h2/1"), end("h2/1")]
    one = find_end(net, owners_of(net), "7")
    assert (one.lid, list(one.lids)) == (4, [4, 5, 6, 7])
    assert found("13", net) == End(guid("s1"), 0)


@given(st.text(max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    try:
        one = find_end(NET, owners_of(NET), text)
    except NotOne as error:
        assert str(error)
    else:
        assert one.given == text
