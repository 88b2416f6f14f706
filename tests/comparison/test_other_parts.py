"""Subnet managers, partitions and hosts compared; and which parts of two views can be."""

from __future__ import annotations

from typing import Any

import pytest

from ibkit.comparison.hosts import compare_hosts
from ibkit.comparison.managers import compare_managers
from ibkit.comparison.partitions import compare_partitions
from ibkit.comparison.whole import View, compare
from ibkit.model.fabric import CHANNEL_ADAPTER, Fabric, Node
from ibkit.model.host import GidEntry, Hca, HcaPort, HostHcas
from ibkit.model.ids import Gid, Guid, PKey
from ibkit.model.partitions import Partitions, PortKeys
from ibkit.model.subnet_manager import NO_SM, SubnetManager, SubnetManagers
from ibkit.parsers.base import Problem

# Managers

ONE = SubnetManager(Guid(1), 1, "master", 14, 100, name="sm1")
TWO = SubnetManager(Guid(2), 7, "standby", 13, 5, name="sm2")


def managers(*found: SubnetManager, complete: bool | None = True, **more: Any) -> SubnetManagers:
    return SubnetManagers(found, complete, **more)


def test_activity_is_no_change() -> None:
    assert compare_managers(managers(ONE, TWO), managers(ONE._replace(activity=900), TWO)) == ([], [])


def test_a_hand_over() -> None:
    after = managers(ONE._replace(state="standby"), TWO._replace(state="master", priority=15))
    changes, doubts = compare_managers(managers(ONE, TWO), after)
    assert doubts == []
    assert [(change.kind, change.before, change.after) for change in changes] == [
        ("master-changed", ["0x0000000000000001"], ["0x0000000000000002"]),
        ("manager-state-changed", "master", "standby"),
        ("manager-state-changed", "standby", "master"),
        ("manager-priority-changed", 13, 15),
    ]
    assert changes[0].text == "the master is sm2 (0x0000000000000002), before sm1 (0x0000000000000001)"


def test_a_standby_that_nobody_lists_is_not_lost() -> None:
    changes, (doubt,) = compare_managers(managers(ONE, TWO), managers(ONE, complete=None))
    assert (changes, doubt.kind) == ([], "manager-not-seen")
    (change,), doubts = compare_managers(managers(ONE, TWO), managers(ONE))
    assert (change.kind, change.where.guid, doubts) == ("manager-lost", 2, [])
    (change,), _ = compare_managers(managers(ONE), managers(ONE, TWO))
    assert (change.kind, change.after["priority"]) == ("manager-new", 13)


def test_a_fabric_that_lost_its_manager() -> None:
    gone = managers(complete=None, problems=(Problem(NO_SM, "nobody answers"),))
    changes, doubts = compare_managers(managers(ONE, complete=None), gone)
    assert ([change.kind for change in changes], doubts) == (["master-changed", "manager-lost"], [])
    assert changes[0].text == "the master is nobody, before sm1 (0x0000000000000001)"


# Partitions


def table(*keys: int, whole: bool = True, guid: int = 1, port: int = 1) -> PortKeys:
    return PortKeys(Guid(guid), port, tuple(map(PKey, keys)), name="c001 mlx5_0", whole=whole)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (table(0xFFFF), table(0xFFFF, 0), []),
        (table(0xFFFF), table(0xFFFF, 0x8001), [("p-key-added", None, {"partition": "0x0001", "membership": "full"})]),
        (table(0xFFFF, 1), table(0xFFFF), [("p-key-removed", {"partition": "0x0001", "membership": "limited"}, None)]),
        (
            table(0xFFFF), table(0x7FFF),
            [("membership-changed", {"partition": "0x7fff", "membership": "full"},
              {"partition": "0x7fff", "membership": "limited"})],
        ),
        (
            table(0xFFFF, 0x8001), table(0x8001, 0xFFFF), [("default-index-changed", 0, 1)],
        ),
    ],
)  # fmt: skip
def test_the_keys_of_a_port(old: PortKeys, new: PortKeys, found: list[tuple[Any, ...]]) -> None:
    changes, doubts = compare_partitions(Partitions((old,)), Partitions((new,)))
    assert [(change.kind, change.before, change.after) for change in changes] == found
    assert doubts == []


def test_a_table_that_is_not_whole_proves_nothing() -> None:
    for old, new in (
        (table(0xFFFF, 0x8001), table(0xFFFF, whole=False)),
        (table(0xFFFF, whole=False), table(0xFFFF, 1)),
    ):
        changes, (doubt,) = compare_partitions(Partitions((old,)), Partitions((new,)))
        assert (changes, doubt.kind) == ([], "p-keys")


def test_a_table_that_nobody_knows_more_of_was_not_looked_at() -> None:
    unread = Partitions((table(whole=False),))
    assert compare_partitions(unread, unread) == ([], [])


def test_ports_of_one_side_only_are_the_fabrics_affair() -> None:
    assert compare_partitions(Partitions((table(0xFFFF),)), Partitions((table(1, guid=2),))) == ([], [])


# Hosts

PORT = HcaPort(
    1, "Active", "LinkUp", "InfiniBand", 5, 0, 1, 0, 200.0, "4x", "HDR", Guid(0xA1), 0,
    (GidEntry(0, Gid((0xFE80 << 112) + 0xA1), "IB"),), (PKey(0xFFFF),), ("ib0",), active_mtu_bytes=4096,
)  # fmt: skip
HCA = Hca("mlx5_0", (PORT,), Guid(0xA0), hca_type="MT4123", firmware="20.31.1014", bus_address="0000:3b:00.0")
HOST = HostHcas("n01", (HCA,))


def host(**changes: Any) -> HostHcas:
    return HOST._replace(hcas=(HCA._replace(**changes),))


def port(**changes: Any) -> HostHcas:
    return host(ports=(PORT._replace(**changes),))


def test_the_same_host() -> None:
    assert compare_hosts([HOST], [HOST]) == ([], [])


@pytest.mark.parametrize(
    ("after", "kind", "was", "now"),
    [
        (host(firmware="20.35.2000"), "firmware-changed", "20.31.1014", "20.35.2000"),
        (host(name="ibp59s0"), "device-renamed", "mlx5_0", "ibp59s0"),
        (host(node_guid=Guid(0xB0)), "device-swapped", "0x00000000000000a0", "0x00000000000000b0"),
        (host(error="EIO"), "device-error", "none", "EIO"),
        (port(state="Down"), "port-state-changed", "Active", "Down"),
        (port(lid=9), "port-lid-changed", 5, 9),
        (port(sm_lid=2), "port-sm-lid-changed", 1, 2),
        (port(rate_gbps=100.0), "port-rate-changed", "200 Gb/s", "100 Gb/s"),
        (port(active_mtu_bytes=2048), "port-mtu-changed", 4096, 2048),
        (port(pkeys=(PKey(0xFFFF), PKey(0x8001))), "port-p-key-added", None, "0x8001"),
        (port(netdevs=()), "netdev-removed", "ib0", None),
        (port(gids=()), "gid-removed", "fe80:0000:0000:0000:0000:0000:0000:00a1 (IB)", None),
    ],
)
def test_what_changed_on_a_host(after: HostHcas, kind: str, was: Any, now: Any) -> None:
    (change,), doubts = compare_hosts([HOST], [after])
    assert (change.kind, change.before, change.after, doubts) == (kind, was, now, [])
    assert change.where.host == "n01"
    (back,), _ = compare_hosts([after], [HOST])
    assert (back.before, back.after) == (now, was)


@pytest.mark.parametrize(
    "after", [host(firmware=None), port(lid=None), port(tables_whole=None, pkeys=()), port(rate_gbps=None)]
)
def test_what_one_side_does_not_know_is_no_change(after: HostHcas) -> None:
    if after.hcas[0].ports[0].rate_gbps is None:
        after = port(rate_gbps=None, width=None, speed=None)
    assert compare_hosts([HOST], [after]) == compare_hosts([after], [HOST]) == ([], [])


def test_devices_that_come_and_go() -> None:
    second = HCA._replace(name="mlx5_1", node_guid=Guid(0xC0), bus_address="0000:5e:00.0")
    both = HOST._replace(hcas=(HCA, second))
    (change,), doubts = compare_hosts([both], [HOST])
    assert (change.kind, change.where.device, doubts) == ("device-lost", "mlx5_1", [])
    assert compare_hosts([HOST], [both])[0][0].kind == "device-new"
    changes, (doubt,) = compare_hosts([both], [HOST._replace(has_gaps=True)])
    assert (changes, doubt.kind) == ([], "device-not-seen")


def test_hosts_of_one_side_only() -> None:
    other = HOST._replace(host="n02")
    changes, doubts = compare_hosts([HOST], [other])
    assert (changes, [(doubt.kind, doubt.where.host, doubt.implied) for doubt in doubts]) == (
        [], [("no-host-in-both", None, False), ("host", "n01", True), ("host", "n02", True)],
    )  # fmt: skip
    changes, (doubt,) = compare_hosts([HOST, other], [HOST])
    assert (changes, doubt.where.host, doubt.why) == ([], "n02", "it was looked at only before")


def test_short_and_full_names_are_one_host() -> None:
    full = HOST._replace(host="n01.cluster")
    assert compare_hosts([HOST], [full]) == compare_hosts([full], [HOST]) == ([], [])
    other = HOST._replace(host="n01.lab")
    for before, after in (([HOST], [full, other]), ([full, other], [HOST]), ([full], [other])):
        assert "no-host-in-both" in {doubt.kind for doubt in compare_hosts(before, after)[1]}, "which of the two?"


def test_a_text_without_a_name_is_a_host_by_its_guids() -> None:
    unnamed, swapped = HOST._replace(host=""), host(node_guid=Guid(0xB0))._replace(host="")
    assert compare_hosts([HOST], [unnamed]) == compare_hosts([unnamed], [unnamed]) == ([], [])
    for before, after in ((unnamed, swapped), (HOST, swapped), (unnamed, HOST._replace(hcas=swapped.hcas))):
        changes, doubts = compare_hosts([before], [after])
        assert (changes, doubts[0].kind) == ([], "no-host-in-both"), "another host, or another adapter"
    assert compare_hosts([unnamed], [host(node_guid=None)]) == ([], []), "nothing shows that it is another one"


def test_ports_and_tables_of_which_one_side_knows_less() -> None:
    second = host(ports=(PORT, PORT._replace(port=2)))
    for before, after, why in (
        (HOST, second, "it was looked at only now"),
        (second, HOST, "it was looked at only before"),
    ):
        changes, (doubt,) = compare_hosts([before], [after])
        assert (changes, doubt.kind, doubt.where.port, doubt.why) == ([], "port", 2, why)
    changes, (doubt,) = compare_hosts([HOST], [port(tables_whole=False, pkeys=())])
    assert (changes, doubt.kind, doubt.where.port) == ([], "tables", 1)
    cut = port(tables_whole=False)
    assert compare_hosts([cut], [cut]) == ([], []), "nobody looked at the rest"


# All parts


def test_what_is_known_to_be_missing_may_hold_a_change() -> None:
    whole, cut = Fabric({}, (), True), Fabric({}, (), False, (Problem("cut", "the text ends early"),))
    for before, after, side in ((whole, cut, "after"), (cut, whole, "before")):
        (doubt,) = compare(View("before", before), View("after", after)).doubts
        assert (doubt.kind, doubt.why) == ("not-whole", f"{side}: the sweep is not whole: the text ends early")
    some = managers(ONE)._replace(complete=False)
    (doubt,) = compare(View("before", managers=some), View("after", managers=some)).doubts
    assert (doubt.kind, doubt.text) == ("not-whole", "whether something else changed of the subnet managers")
    gaps = HOST._replace(has_gaps=True, problems=(Problem("truncated", "cut at line 9"),))
    (doubt,) = compare(View("before", hosts=[HOST]), View("after", hosts=[gaps])).doubts
    assert (doubt.kind, doubt.why) == ("not-whole", "after: the evidence of host n01 has gaps: cut at line 9")


def test_tables_of_one_side_only_are_told_where_no_fabric_is() -> None:
    old, new = Partitions((table(0xFFFF),)), Partitions((table(0xFFFF), table(0xFFFF, guid=2)))
    (doubt,) = compare(View("before", partitions=old), View("after", partitions=new)).doubts
    assert (doubt.kind, doubt.why) == ("p-keys", "their tables are there only now")
    fabric = Fabric({}, (), True)
    assert compare(View("before", fabric, partitions=old), View("after", fabric, partitions=new)).doubts == ()


def test_tables_of_one_side_only_are_told_of_nodes_that_are_in_both() -> None:
    node = Node(Guid(2), CHANNEL_ADAPTER, "n02", 1)
    fabric = Fabric({node.guid: node}, (), True)
    old, new = Partitions((table(0xFFFF), table(0xFFFF, guid=2))), Partitions((table(0xFFFF),))
    (doubt,) = compare(View("before", fabric, partitions=old), View("after", fabric, partitions=new)).doubts
    assert (doubt.kind, doubt.text) == ("p-keys", "whether the P_Keys of 1 port changed")


def test_two_hosts_are_not_compared() -> None:
    found = compare(View("before", hosts=[HOST]), View("after", hosts=[HOST._replace(host="n02")]))
    part = found.parts[-1]
    assert (found.changes, part.name, part.compared) == ((), "hosts", False)
    assert part.missing == "no host is in both, by name or by a device's GUID: before host n01, now host n02"


def test_what_neither_has_is_not_missing() -> None:
    fabric = Fabric({}, (), True)
    found = compare(View("before", fabric), View("after", fabric))
    assert (found.changes, found.doubts) == ((), ())
    assert [(part.name, part.compared) for part in found.parts] == [
        ("fabric", True), ("subnet-managers", False), ("partitions", False), ("hosts", False),
    ]  # fmt: skip


def test_what_only_one_has_cannot_be_compared() -> None:
    before = View("before", managers=managers(ONE))
    (doubt,) = compare(before, View("after", missing={"subnet-managers": "nobody could be asked"})).doubts
    assert (doubt.kind, doubt.text, doubt.why) == (
        "part-missing", "what changed of the subnet managers", "after: nobody could be asked",
    )  # fmt: skip
    found = compare(before._replace(fabric=Fabric({}, (), True)), View("after", Fabric({}, (), True), is_one_text=True))
    assert found.doubts == (), "nobody expects a manager of ibnetdiscover"


def test_nothing_that_could_be_compared_is_not_the_same() -> None:
    (doubt,) = compare(View("before"), View("after", missing={"fabric": "no RDMA device"})).doubts
    assert (doubt.kind, doubt.why) == ("part-missing", "before: not there; after: no RDMA device")
