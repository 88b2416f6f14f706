"""Made-up clusters, each with one trap; the truth is what the cluster was made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from support.small_cluster import (
    PREFIX,
    SECONDS,
    fabric,
    gid,
    guid,
    host,
    infiniband_port,
    interface,
    neighbour,
    path_record,
    roce_port,
    site,
)

from ibkit.model.resolution import DEFAULT_SOURCES, FINDING, HOSTS, NEIGHBOURS, RESOLVED, UNKNOWN, Answer
from ibkit.resolve.acm_export import ROUTE_NAME, export
from ibkit.resolve.queries import read_query
from ibkit.resolve.resolver import Resolver
from ibkit.resolve.view import View
from ibkit.sources.site import Host, Site

IB0 = interface("ib0", "10.10.0.1/24", 1)
PORT = infiniband_port("mlx5_0", 1, 17, "ib0")
HOSTS_FILE = "/etc/rdma/ibacm_hosts.data"
NODES = {1: "n01 mlx5_0", 2: "n02 mlx5_0", 3: "n03 mlx5_0"}


def answers(place: Site, *texts: str, via: Sequence[str] = DEFAULT_SOURCES) -> list[Answer]:
    view = View(place, place.hosts[0], now=SECONDS)
    return list(Resolver(view, via).resolve([read_query(text) for text in texts]).answers)


def one(place: Site, text: str, via: Sequence[str] = DEFAULT_SOURCES) -> Answer:
    (answer,) = answers(place, text, via=via)
    return answer


def kinds(answer: Answer) -> list[str]:
    return [problem.kind for problem in answer.problems]


def n01(*, neighbours: Sequence[dict[str, object]] = (), files: Mapping[str, str] | None = None) -> Host:
    return host("n01", [PORT], [IB0], neighbours=neighbours, files=files)


def swept(names: Mapping[int, str] = NODES, **more: str) -> dict[str, str]:
    return {"ibnetdiscover": fabric(names), **more}


def paths_from_n01() -> dict[str, str]:
    table = "".join(path_record(1, number, 17, 16 + number) for number in (1, 2, 3))
    return {"saquery PR --slid 17": table}


def test_a_host_of_the_capture_knows_its_own_address_best() -> None:
    n02 = host("n02", [infiniband_port("mlx5_0", 2, 18, "ib0")], [interface("ib0", "10.10.0.2/24", 2)])
    place = site(n01(files={HOSTS_FILE: f"10.10.0.2 {gid(3)}\n"}), n02, subnet=swept() | paths_from_n01())
    answer = one(place, "10.10.0.2")
    assert (answer.status, str(answer.gid), answer.name) == (FINDING, gid(2), "n02 mlx5_0")
    assert kinds(answer) == ["sources-differ"]
    assert answer.path
    assert (answer.path.slid, answer.path.dlid, answer.path.mtu_bytes, answer.path.rate_gbps) == (17, 18, 4096, 200)


def test_rails_in_one_network_answer_for_each_other() -> None:
    rails = [PORT, infiniband_port("mlx5_1", 3, 19, "ib1")]
    both = [neighbour("10.10.0.2", "ib0", 2), neighbour("10.10.0.2", "ib1", 3)]
    here = host("n01", rails, [IB0, interface("ib1", "10.10.0.9/24", 3)], neighbours=both)
    answer = one(site(here, subnet=swept()), "10.10.0.2")
    assert (answer.status, answer.gid) == (FINDING, None)
    assert kinds(answer) == ["sources-differ"]


def test_a_host_with_several_ports_has_an_answer_for_each() -> None:
    names = {1: "n01 mlx5_0", 2: "n02 mlx5_0", 3: "n02 mlx5_1"}
    found = answers(site(n01(), subnet=swept(names) | paths_from_n01()), "n02")
    assert [(answer.status, str(answer.gid), answer.lid) for answer in found] == [
        (RESOLVED, gid(2), 18), (RESOLVED, gid(3), 19),
    ]  # fmt: skip


def test_addresses_of_two_ports_of_one_host_contradict_nobody() -> None:
    names = {1: "n01 mlx5_0", 2: "n02 mlx5_0", 3: "n02 mlx5_1"}
    files = {"/etc/hosts": "10.10.0.2 n02\n10.11.0.2 n02\n", HOSTS_FILE: f"10.10.0.2 {gid(2)}\n10.11.0.2 {gid(3)}\n"}
    found = answers(site(n01(files=files), subnet=swept(names) | paths_from_n01()), "n02")
    assert [(answer.status, str(answer.gid)) for answer in found] == [(RESOLVED, gid(2)), (RESOLVED, gid(3))]


def test_addresses_of_a_name_on_two_hosts_do() -> None:
    files = {"/etc/hosts": "10.10.0.2 x\n10.10.0.3 x\n", HOSTS_FILE: f"10.10.0.2 {gid(2)}\n10.10.0.3 {gid(3)}\n"}
    answer = one(site(n01(files=files), subnet=swept()), "x")
    assert (answer.status, answer.gid, kinds(answer)) == (FINDING, None, ["sources-differ"])


def test_a_management_address_on_a_roce_card_is_no_rival_of_the_infiniband_port() -> None:
    roce = roce_port("mlx5_4", "eno1", [("0000:0000:0000:0000:0000:ffff:c0a8:0001", "RoCE v2", "eno1")])
    here = host(
        "n01", [PORT, roce], [IB0, interface("eno1", "192.168.0.1/24")],
        files={"/etc/hosts": "192.168.0.2 n02\n"},
    )  # fmt: skip
    place = site(here, subnet=swept() | paths_from_n01())
    answer = one(place, "n02")
    assert (answer.status, str(answer.gid), kinds(answer)) == (RESOLVED, gid(2), [])
    assert str(one(place, "192.168.0.2").gid).endswith("ffff:c0a8:0002")


def test_roce_by_vlan_takes_the_entry_of_its_interface() -> None:
    table = [
        ("fe80:0000:0000:0000:9e63:c0ff:fe12:3450", "IB/RoCE v1", "eno1"),
        ("fe80:0000:0000:0000:9e63:c0ff:fe12:3450", "RoCE v2", "eno1"),
        ("0000:0000:0000:0000:0000:ffff:c0a8:0001", "IB/RoCE v1", "eno1"),
        ("0000:0000:0000:0000:0000:ffff:c0a8:0001", "RoCE v2", "eno1"),
        ("0000:0000:0000:0000:0000:ffff:c0a8:6401", "IB/RoCE v1", "eno1.100"),
        ("0000:0000:0000:0000:0000:ffff:c0a8:6401", "RoCE v2", "eno1.100"),
    ]
    vlan = {"linkinfo": {"info_kind": "vlan", "info_data": {"id": 100}}}
    here = host(
        "n01", [roce_port("mlx5_4", "eno1", table)],
        [interface("eno1", "192.168.0.1/24"), interface("eno1.100", "192.168.100.1/24", **vlan)],
    )  # fmt: skip
    answer = one(site(here), "192.168.100.7")
    assert (answer.status, answer.roce and answer.roce.gid_index) == (RESOLVED, 5)
    assert "VLAN 100" in answer.claims[0].detail
    assert answer.source_port
    assert (answer.source_port.gid_index, str(answer.path and answer.path.sgid)) == (5, table[5][0])
    own = one(site(here), "192.168.0.1")
    assert own.roce
    assert (own.roce.gid_index, "index 2 RoCE v1, index 3 RoCE v2" in own.claims[0].detail) == (3, True)


def test_a_roce_address_behind_a_gateway_gives_way_to_what_is_known() -> None:
    roce = roce_port("mlx5_4", "eno1", [("0000:0000:0000:0000:0000:ffff:c0a8:0001", "RoCE v2", "eno1")])
    files = {HOSTS_FILE: f"10.10.0.2 {gid(2)}\n"}
    routes = [{"dst": "default", "gateway": "192.168.0.254", "dev": "eno1"}]
    here = host("n01", [PORT, roce], [interface("eno1", "192.168.0.1/24")], routes=routes, files=files)
    answer = one(site(here, subnet=swept() | paths_from_n01()), "10.10.0.2")
    assert (answer.status, str(answer.gid), kinds(answer)) == (RESOLVED, gid(2), [])


@pytest.mark.parametrize(
    "spelling", [gid(2), gid(2, 0xFE80 << 48), gid(2, 0xFEC00000_0007_0001)], ids=["real", "link-local", "with an FLID"]
)
def test_spellings_of_one_port_agree(spelling: str) -> None:
    place = site(
        n01(neighbours=[neighbour("10.10.0.2", "ib0", 2)], files={HOSTS_FILE: f"10.10.0.2 {spelling}\n"}),
        subnet=swept() | paths_from_n01(),
    )
    answer = one(place, "10.10.0.2")
    assert (answer.status, str(answer.gid), kinds(answer)) == (RESOLVED, gid(2), [])


def test_an_alias_is_the_port_whose_lid_it_holds() -> None:
    alias = f"fec0::1:14:500:0:{18:x}"
    place = site(
        n01(neighbours=[neighbour("10.10.0.2", "ib0", 2)], files={HOSTS_FILE: f"10.10.0.2 {alias}\n"}),
        subnet=swept() | paths_from_n01(),
    )
    answer = one(place, "10.10.0.2")
    assert (answer.status, str(answer.gid), kinds(answer)) == (RESOLVED, gid(2), [])


def test_an_alias_of_a_lid_that_is_gone() -> None:
    place = site(n01(files={HOSTS_FILE: "10.10.0.2 fec0::1:14:500:0:77\n"}), subnet=swept())
    answer = one(place, "10.10.0.2")
    assert (answer.status, answer.gid, kinds(answer)) == (FINDING, None, ["alias-lid-differs"])


def test_a_guid_with_the_prefix_of_another_subnet() -> None:
    place = site(
        n01(files={HOSTS_FILE: f"10.10.0.2 {gid(2, 0xFEC0000000000009)}\n"}), subnet=swept() | paths_from_n01()
    )
    answer = one(place, "10.10.0.2")
    assert (answer.status, str(answer.gid), kinds(answer)) == (FINDING, gid(2), ["wrong-prefix"])


def test_nothing_is_gone_from_a_sweep_that_lost_something() -> None:
    cut = fabric(NODES).rsplit("vendid", 1)[0]  # n03's own block is missing
    place = site(n01(files={HOSTS_FILE: f"10.10.0.9 {gid(9)}\n"}), subnet={"ibnetdiscover": cut})
    answer = one(place, "10.10.0.9")
    assert (answer.status, str(answer.gid)) == (UNKNOWN, gid(9))
    assert "gid-not-in-fabric" not in kinds(answer)


def test_a_virtual_port_that_the_sa_knows_is_not_gone() -> None:
    ask = f"saquery PR --sgid {short(gid(1))} --dgid {short(gid(9))} --pkey 0xffff"
    place = site(n01(files={HOSTS_FILE: f"10.10.0.9 {gid(9)}\n"}), subnet=swept(**{ask: path_record(1, 9, 17, 18)}))
    answer = one(place, "10.10.0.9")
    assert (answer.status, str(answer.gid), kinds(answer)) == (RESOLVED, gid(9), [])


def short(text: str) -> str:
    import ipaddress

    return ipaddress.IPv6Address(text).compressed


def test_every_lid_of_a_range_is_the_port() -> None:
    place = site(n01(), subnet={"ibnetdiscover": fabric(NODES, lmc=2, first_lid=16)})
    for lid in (24, 25, 27):
        answer = one(place, str(lid))
        assert (answer.name, answer.lid, answer.guid) == ("n02 mlx5_0", lid, guid(2))


def test_a_route_file_of_before_the_lids_changed() -> None:
    routes = (
        f'Channel Adapter {guid(1):#018x}, base LID 17, "n01", port 1\n# LID\n0x001D : 0 : 5 : 17\n\n'
        f'Channel Adapter {guid(2):#018x}, base LID 29, "n02", port 1\n# LID\n\n'
    )
    files = {HOSTS_FILE: f"10.10.0.2 {gid(2)}\n", "/etc/rdma/ibacm_route.data": routes}
    answer = one(site(n01(files=files), subnet=swept() | paths_from_n01()), "10.10.0.2")
    assert (answer.status, answer.path and answer.path.dlid, kinds(answer)) == (FINDING, 18, ["lid-differs"])
    assert "dlid 18 and 29" in answer.problems[0].text


def test_a_hosts_file_alone_is_no_proof_of_a_path() -> None:
    answer = one(site(n01(files={HOSTS_FILE: f"10.10.0.2 {gid(2)}\n"}), subnet=swept()), "10.10.0.2")
    assert (answer.status, str(answer.gid), answer.lid) == (UNKNOWN, gid(2), 18)
    assert kinds(answer) == ["not-recorded"]


def test_two_partitions_and_only_one_of_them_has_the_path() -> None:
    port = infiniband_port("mlx5_0", 1, 17, "ib0", ("0x7fff", "0x8001"))
    words = f"saquery PR --sgid {short(gid(1))} --dgid {short(gid(2))} --pkey"
    subnet = swept(**{f"{words} 0x7fff": "", f"{words} 0x8001": path_record(1, 2, 17, 18, pkey="0x8001")})
    answer = one(site(host("n01", [port], [IB0]), subnet=subnet), "n02")
    assert (answer.status, str(answer.pkey), kinds(answer)) == (RESOLVED, "0x8001", [])
    answer = one(
        site(host("n01", [port], [IB0]), subnet=swept(**{f"{words} 0x7fff": "", f"{words} 0x8001": ""})), "n02"
    )
    assert (answer.status, kinds(answer)) == (FINDING, ["no-path"])


def test_the_partition_of_a_neighbour_is_that_of_its_interface() -> None:
    port = infiniband_port("mlx5_0", 1, 17, "ib0", ("0xffff", "0x0012"))
    port.files["/sys/class/net/ib0.8012/pkey"] = "0x8012"
    child = interface("ib0.8012", "10.12.0.1/24", 1)
    here = host("n01", [port], [IB0, child], neighbours=[neighbour("10.12.0.2", "ib0.8012", 2)])
    port.netdev = "ib0"
    answer = one(site(here, subnet=swept()), "10.12.0.2", via=("neighbours",))
    assert str(answer.gid) == gid(2)
    assert answer.claims[0].pkey is not None
    assert answer.claims[0].pkey.partition == 0x12


def test_an_address_that_is_still_looked_for_is_not_settled() -> None:
    answer = one(site(n01(neighbours=[neighbour("10.10.0.2", "ib0", None, "INCOMPLETE")]), subnet=swept()), "10.10.0.2")
    assert (answer.status, kinds(answer)) == (UNKNOWN, ["unresolved"])


def test_loopback_names_mean_no_host() -> None:
    place = site(n01(files={"/etc/hosts": "127.0.1.1 n02\n::1 n02\n"}), subnet=swept() | paths_from_n01())
    answer = one(place, "n02")
    assert (answer.status, str(answer.gid)) == (RESOLVED, gid(2))


def test_names_with_domains() -> None:
    names = {1: "n01 mlx5_0", 2: "n02.a.example mlx5_0", 3: "n02.b.example mlx5_0"}
    place = site(n01(), subnet=swept(names) | paths_from_n01())
    assert [str(answer.gid) for answer in answers(place, "n02.a.example", "n02.b.example")] == [gid(2), gid(3)]
    assert [str(answer.gid) for answer in answers(place, "n02")] == [gid(2), gid(3)]
    assert str(one(place, "n01.a.example").gid) == gid(1)


def test_hostile_names_and_files_break_nothing() -> None:
    names = {1: "n01 mlx5_0", 2: '"; rm -rf / #\x1b[31m', 3: "localhost mlx5_0"}
    files = {"/etc/hosts": "10.10.0.2 \x00 n02\n" + "x" * 100_000 + "\n", HOSTS_FILE: "\xff\x00 ::\n" * 10}
    place = site(n01(files=files), subnet=swept(names))
    for text in ("n02", "localhost", "10.10.0.2", "-v", "n\x1b", "fe80::" + "1" * 200):
        for answer in answers(place, text):
            assert answer.query == text


def two_rails(
    prefix: int, hosts_file: str = "", *, is_seen: bool = True, more: Mapping[str, str] | None = None
) -> Site:
    """A host with a port in each of two subnets: adapters 1 to 3 are in one, 4 and 5 in the other, with equal LIDs."""
    rails = [PORT, infiniband_port("mlx5_1", 4, 17, "ib1", prefix=prefix)]
    there = [neighbour("10.10.0.2", "ib0", 2), neighbour("10.11.0.5", "ib1", 5, prefix=prefix)]
    here = host(
        "n01", rails, [IB0, interface("ib1", "10.11.0.4/24", 4, prefix=prefix)], neighbours=there,
        files={HOSTS_FILE: hosts_file},
    )  # fmt: skip
    second = {
        "ibnetdiscover -C mlx5_1 -P 1": fabric({4: "n01 mlx5_1", 5: "n05 mlx5_0"}, first_lid=13, number=7),
        "saquery -C mlx5_1 -P 1 PR --slid 17": path_record(4, 5, 17, 18, prefix=prefix, mtu="0x84"),
    }
    told = swept() | paths_from_n01() | (second if is_seen else {}) | dict(more or {})
    return site(here, subnet=told, trees=rails)


@pytest.mark.parametrize("prefix", [PREFIX, PREFIX + 1])
def test_each_rail_is_asked_for_its_own_subnet(prefix: int) -> None:
    place = two_rails(prefix)
    for text in ("10.11.0.5", gid(5, prefix), f"{guid(5):#x}", "n05"):
        answer = one(place, text)
        assert (answer.status, str(answer.gid), answer.lid) == (RESOLVED, gid(5, prefix), 18), text
        assert answer.source_port
        assert answer.path
        assert (answer.source_port.device, answer.path.dlid, answer.path.mtu_bytes) == ("mlx5_1", 18, 2048), text
    near = one(place, "10.10.0.2")
    assert near.source_port
    assert near.path
    assert (near.status, near.source_port.device, near.path.dlid, near.path.mtu_bytes) == (RESOLVED, "mlx5_0", 18, 4096)
    gone = one(place, gid(9, prefix))
    assert (gone.status, kinds(gone)[:1]) == (FINDING, ["gid-not-in-fabric"])


def test_a_virtual_port_is_found_by_the_rail_whose_manager_knows_it() -> None:
    ask = f"saquery -C mlx5_1 -P 1 PR --sgid {short(gid(4))} --dgid {short(gid(9))} --pkey 0xffff"
    place = two_rails(PREFIX, more={ask: path_record(4, 9, 17, 30)})
    answer = one(place, gid(9))
    assert answer.source_port
    assert answer.path
    assert (answer.status, answer.source_port.device, answer.path.dlid) == (RESOLVED, "mlx5_1", 30)


def test_a_lid_is_one_of_the_first_subnet() -> None:
    answer = one(two_rails(PREFIX + 1), "18")
    assert (answer.status, str(answer.gid)) == (RESOLVED, gid(2))
    assert "several-subnets" in kinds(answer)


@pytest.mark.parametrize("prefix", [PREFIX, PREFIX + 1])
def test_what_may_be_in_a_subnet_that_was_not_seen_is_not_called_gone(prefix: int) -> None:
    place = two_rails(prefix, f"10.11.0.5 {gid(5, prefix)}\n", is_seen=False)
    answer = one(place, "10.11.0.5")
    assert (answer.status, str(answer.gid)) == (UNKNOWN, gid(5, prefix))
    assert one(place, f"{guid(5):#x}").status == UNKNOWN
    assert one(place, "10.10.0.2").status == RESOLVED


def test_no_route_file_for_two_subnets() -> None:
    place = two_rails(PREFIX)
    view = View(place, place.hosts[0], now=SECONDS)
    made = export(view, (), SECONDS)
    assert ROUTE_NAME not in made.files
    assert [problem.kind for problem in made.problems] == ["several-subnets"]


@pytest.mark.parametrize(("order", "number"), [((HOSTS, NEIGHBOURS), 3), ((NEIGHBOURS, HOSTS), 2)])
def test_a_forced_order_says_whom_to_believe_and_the_contradiction_is_told(order: Sequence[str], number: int) -> None:
    file = {HOSTS_FILE: f"10.10.0.2 {gid(3)}\n"}
    place = site(n01(neighbours=[neighbour("10.10.0.2", "ib0", 2)], files=file), subnet=swept())
    resolver = Resolver(View(place, place.hosts[0], now=SECONDS), order, is_forced=True)
    (answer,) = resolver.resolve([read_query("10.10.0.2")]).answers
    assert (answer.status, str(answer.gid), kinds(answer)) == (FINDING, gid(number), ["sources-differ"])
