"""What pyverbs says and how: its oddities, with a stand-in that has them all. tests/rxe asks the real one."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import Any

import pytest

from ibkit.sources import verbs
from ibkit.sources.base import MISSING, TIMEOUT, CommandAnswer
from ibkit.sources.live import LiveSource
from ibkit.sources.verbs import ask_verbs, read_verbs

GUID = 0xB4F034FFFE8ED331


def swapped(value: int, size: int) -> int:
    return int.from_bytes(value.to_bytes(size, sys.byteorder), "big")


class Attributes:
    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


class PyverbsRDMAError(Exception):
    """As in pyverbs: no OSError."""


class Device:
    def __init__(self, name: str) -> None:
        self.name = name.encode()
        self.guid, self.node_type, self.transport_type = GUID, 1, 0


class Entry(Attributes):
    def gid_str(self) -> str:
        return str(self.gid)


class Context:
    """Two ports; the second does not answer. ``opened`` counts, since no node may be opened twice."""

    opened: list[str] = []  # noqa: RUF012
    closed: list[str] = []  # noqa: RUF012
    host_order = False

    def __init__(self, name: str) -> None:
        if name == "forbidden":
            raise PyverbsRDMAError(f"Failed to open device {name}. Errno: 13, Permission denied")
        self.name = name
        self.opened.append(name)

    def close(self) -> None:
        self.closed.append(self.name)

    def query_device(self) -> Attributes:
        guid, image = (GUID, GUID + 3) if self.host_order else (swapped(GUID, 8), swapped(GUID + 3, 8))
        return Attributes(
            fw_version="28.39.1002", node_guid=guid, sys_image_guid=image, vendor_id=0x2C9, vendor_part_id=4129,
            hw_ver=0, phys_port_cnt=2,
        )  # fmt: skip

    def query_port(self, number: int) -> Attributes:
        if number == 2:
            raise PyverbsRDMAError("Failed to query port 2")
        return Attributes(
            state=4, phys_state=5, link_layer=1, lid=65, lmc=0, sm_lid=1, sm_sl=0, max_mtu=5, active_mtu=5,
            active_width=2, active_speed=0, active_speed_ex=256, port_cap_flags=0x10000, port_cap_flags2=0,
            max_msg_sz=1 << 30, max_vl_num=4, gid_tbl_len=8, pkey_tbl_len=4,
        )  # fmt: skip

    def query_pkey(self, port: int, index: int) -> int:
        return swapped((0xFFFF, 0x8012, 0, 0x7FFF)[index], 2)

    def query_gid_table(self, length: int) -> list[Entry]:
        assert length == 8
        return [
            Entry(gid="fe80::1", gid_index=0, port_num=1, gid_type=2, ndev_ifindex=0),
            Entry(gid="::ffff:10.0.0.1", gid_index=5, port_num=1, gid_type=1, ndev_ifindex=1 << 30),
        ]

    def query_gid_type(self, port: int, index: int) -> int:
        raise AssertionError("its numbering is another one")


@pytest.fixture
def pyverbs(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    package, device = ModuleType("pyverbs"), ModuleType("pyverbs.device")
    package.device = device  # type: ignore[attr-defined]
    device.Context = Context  # type: ignore[attr-defined]
    device.get_device_list = lambda: [Device("mlx5_0")]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyverbs", package)
    monkeypatch.setitem(sys.modules, "pyverbs.device", device)
    monkeypatch.setattr(Context, "opened", [])
    monkeypatch.setattr(Context, "closed", [])
    monkeypatch.setattr(Context, "host_order", False)
    return device


@pytest.mark.parametrize("host_order", [False, True])
def test_guids_come_as_people_write_them(
    pyverbs: ModuleType, monkeypatch: pytest.MonkeyPatch, host_order: bool
) -> None:
    monkeypatch.setattr(Context, "host_order", host_order)
    (device,) = read_verbs().devices
    assert device["node_guid"] == "0xb4f034fffe8ed331"
    assert device["sys_image_guid"] == "0xb4f034fffe8ed334"


def test_a_device_is_opened_once_and_closed(pyverbs: ModuleType) -> None:
    read_verbs()
    assert (Context.opened, Context.closed) == (["mlx5_0"], ["mlx5_0"])


def test_pkeys_are_put_in_order_and_empty_ones_left_out(pyverbs: ModuleType) -> None:
    port = read_verbs().devices[0]["ports"][0]
    assert port["pkeys"] == [[0, 0xFFFF], [1, 0x8012], [3, 0x7FFF]]


def test_xdr_is_found_in_the_wider_attribute(pyverbs: ModuleType) -> None:
    assert read_verbs().devices[0]["ports"][0]["active_speed"] == 256


def test_gids_have_their_own_numbering_of_types_and_no_foreign_netdev(pyverbs: ModuleType) -> None:
    gids = read_verbs().devices[0]["ports"][0]["gids"]
    assert gids == [
        {"index": 0, "gid": "fe80::1", "type": 2, "netdev": None},
        {"index": 5, "gid": "::ffff:10.0.0.1", "type": 1, "netdev": None},
    ]


def test_one_dead_port_or_forbidden_device_keeps_the_rest(pyverbs: ModuleType) -> None:
    pyverbs.get_device_list = lambda: [Device("forbidden"), Device("mlx5_0")]  # type: ignore[attr-defined]
    forbidden, good = read_verbs().devices
    assert "Permission denied" in forbidden["error"]
    assert good["error"] is None
    assert [port["error"] for port in good["ports"]] == [None, "Failed to query port 2"]


def test_no_device_raises_and_is_an_answer(pyverbs: ModuleType) -> None:
    def no_devices() -> None:
        raise PyverbsRDMAError("Failed to get devices list")

    pyverbs.get_device_list = no_devices  # type: ignore[attr-defined]
    answer = read_verbs()
    assert (answer.devices, answer.error) == (None, "pyverbs: Failed to get devices list")


def test_a_package_that_imports_without_its_device_module(pyverbs: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys.modules["pyverbs"], "device")
    monkeypatch.setitem(sys.modules, "pyverbs.device", None)  # type: ignore[arg-type]
    assert (read_verbs().error or "").startswith(verbs.NO_IMPORT)


def test_an_old_kernel_without_the_gid_table(pyverbs: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(self: Context, length: int) -> None:
        raise PyverbsRDMAError("Errno: 95, Operation not supported")

    monkeypatch.setattr(Context, "query_gid_table", unsupported)
    port = read_verbs().devices[0]["ports"][0]
    assert (port["gids"], port["state"]) == (None, 4)


def test_what_is_told_survives_json(pyverbs: ModuleType) -> None:
    answer = read_verbs()
    assert json.loads(json.dumps(answer.devices)) == answer.devices


@pytest.mark.parametrize(
    ("answer", "words"),
    [(CommandAnswer((), failure=TIMEOUT), "timeout"), (CommandAnswer((), failure=MISSING), "missing"),
     (CommandAnswer((), stderr=b"x\nSegmentation fault\n", exit_status=-11), "-11: Segmentation fault"),
     (CommandAnswer((), b"[]", exit_status=0), "ended with 0"), (CommandAnswer((), b"\xff", exit_status=0), "ended")],
)  # fmt: skip
def test_a_child_that_dies_or_hangs_is_an_answer(answer: CommandAnswer, words: str) -> None:
    told = ask_verbs(lambda *_, **__: answer)
    assert told.devices is None
    assert words in (told.error or "")


def test_the_child_really_runs() -> None:
    answer = LiveSource().verbs()
    assert answer.error is None or answer.error.startswith("pyverbs")
    assert answer == LiveSource().verbs()
