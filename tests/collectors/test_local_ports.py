"""The ports of a host by subnet, and which of them the tools ask through."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.sysfs_tree import Device, Port, write_device

from ibkit.collectors.local_ports import chosen_entrance, further_entrances, local_ports, other_subnets, subnets_of
from ibkit.collectors.mad_tools import ANY_PORT, Through
from ibkit.errors import IbkitError
from ibkit.model.fabric import CHANNEL_ADAPTER, Fabric, FabricPort, Node
from ibkit.model.ids import Guid
from ibkit.sources.live import LiveSource

A, B = "fe80:0000:0000:0000", "fec0:0000:0000:0002"


def gid(prefix: str, last: int) -> str:
    return f"{prefix}:0c42:a103:0000:{last:04x}"


def guid(last: int) -> Guid:
    return Guid(0x0C42A10300000000 + last)


def host(tmp_path: Path, **ports: list[Port]) -> LiveSource:
    for number, (name, listed) in enumerate(ports.items()):
        write_device(tmp_path, Device(name, f"0c42:a103:0000:00{number:02x}", listed))
    return LiveSource(str(tmp_path))


def port(prefix: str, last: int, **more: str) -> Port:
    return Port(gids=[(0, gid(prefix, last), "IB/RoCE v1", "ib0")], **more)  # type: ignore[arg-type]


def seen(*guids: int, complete: bool | None = True) -> Fabric:
    ports = tuple(FabricPort(number, guid(last)) for number, last in enumerate(guids, 1))
    return Fabric({guid(0): Node(guid(0), CHANNEL_ADAPTER, None, len(guids), ports)}, (), complete)


def test_two_subnets_by_prefix(tmp_path: Path) -> None:
    source = host(tmp_path, mlx5_0=[port(A, 1)], mlx5_1=[port(B, 2)], mlx5_2=[port(A, 3)])
    first, second = subnets_of(local_ports(source))
    assert [named.device for named in first] == ["mlx5_0", "mlx5_2"]
    assert [named.device for named in second] == ["mlx5_1"]
    assert further_entrances(source, seen(1, 3)) == [Through("mlx5_1", 1)]


def test_only_active_infiniband_ports_count(tmp_path: Path) -> None:
    source = host(
        tmp_path,
        mlx5_0=[port(A, 1, link_layer="Ethernet"), port(A, 2, state="1: DOWN"), port(A, 3, state="2: INIT")],
        mlx5_1=[port(B, 4), Port()],
    )
    assert [(named.device, named.port) for named in local_ports(source)] == [("mlx5_1", 1)]


def test_the_tools_own_choice_and_its_name_are_one_question(tmp_path: Path) -> None:
    source = host(tmp_path, mlx5_0=[port(A, 1), port(A, 2)], mlx5_1=[port(B, 3)])
    assert chosen_entrance(source, ANY_PORT) == ANY_PORT
    assert chosen_entrance(source, Through("mlx5_0")) == ANY_PORT
    assert chosen_entrance(source, Through("mlx5_0", 1)) == ANY_PORT
    assert chosen_entrance(source, Through("mlx5_0", 2)) == Through("mlx5_0", 2)
    assert chosen_entrance(source, Through("mlx5_1")) == Through("mlx5_1", 1)
    assert chosen_entrance(source, Through("mlx5_1", 2)) == Through("mlx5_1", 2), "not active: the tool will say so"
    with pytest.raises(IbkitError, match="mlx5_9: there is no such device here; there are mlx5_0, mlx5_1"):
        chosen_entrance(source, Through("mlx5_9"))


def test_a_host_that_does_not_tell_its_ports_is_asked_as_said(tmp_path: Path) -> None:
    assert chosen_entrance(LiveSource(str(tmp_path)), Through("ibsim0", 1)) == Through("ibsim0", 1)


def test_other_subnets_are_named(tmp_path: Path) -> None:
    source = host(tmp_path, mlx5_0=[port(A, 1)], mlx5_1=[port(B, 2)])
    (problem,) = other_subnets(source, ANY_PORT, seen(1))
    assert problem.kind == "other-subnet"
    assert "shown is that of mlx5_0 port 1 (prefix fe80:0000:0000:0000)" in problem.text
    assert "mlx5_1 port 1 (prefix fec0:0000:0000:0002)" in problem.text
    (problem,) = other_subnets(source, Through("mlx5_1"), seen(2))
    assert "shown is that of mlx5_1 port 1" in problem.text


def test_one_subnet_is_nothing_to_speak_of(tmp_path: Path) -> None:
    source = host(tmp_path, mlx5_0=[port(A, 1)], mlx5_1=[port(A, 2)])
    assert other_subnets(source, ANY_PORT, seen(1, 2)) == ()
    assert further_entrances(source, seen(1, 2)) == []


def test_two_subnets_with_the_same_prefix(tmp_path: Path) -> None:
    source = host(tmp_path, mlx5_0=[port(A, 1)], mlx5_1=[port(A, 2)])
    (problem,) = other_subnets(source, ANY_PORT, seen(1))
    assert problem.kind == "same-prefix"
    assert problem.text.startswith("mlx5_1 port 1 (prefix fe80:0000:0000:0000) has the subnet prefix of mlx5_0 port 1")
    assert further_entrances(source, seen(1)) == [Through("mlx5_1", 1)]


@pytest.mark.parametrize("fabric", [seen(1, complete=False), seen(1, complete=None), seen(7)])
def test_absence_from_a_part_proves_nothing(tmp_path: Path, fabric: Fabric) -> None:
    source = host(tmp_path, mlx5_0=[port(A, 1)], mlx5_1=[port(A, 2)])
    assert other_subnets(source, ANY_PORT, fabric) == ()


def test_words_of_a_command() -> None:
    assert ANY_PORT.command("sminfo") == ("sminfo",)
    assert Through("mlx5_1", 2).command("saquery", "NR") == ("saquery", "-C", "mlx5_1", "-P", "2", "NR")
    assert Through(port=1).command("sminfo") == ("sminfo", "-P", "1")
    assert [str(one) for one in (ANY_PORT, Through("smi0"), Through("mlx5_0", 1))] == [
        "the first active port", "smi0", "mlx5_0 port 1",
    ]  # fmt: skip
