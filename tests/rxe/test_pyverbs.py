"""The real pyverbs has the oddities that ibkit/sources/verbs.py copes with. If one goes away, that code may go, too."""

from __future__ import annotations

import importlib.metadata
import sys

import pytest

pytestmark = pytest.mark.rxe

pyverbs = pytest.importorskip("pyverbs.device", exc_type=ImportError)


@pytest.fixture
def name() -> str:
    return str(pyverbs.get_device_list()[0].name.decode())


def test_two_byte_orders_of_one_guid(name: str) -> None:
    written = pyverbs.get_device_list()[0].guid
    context = pyverbs.Context(name=name)
    raw = context.query_device().node_guid
    context.close()
    swapped = int.from_bytes(raw.to_bytes(8, sys.byteorder), "big")
    assert written == swapped
    with open(f"/sys/class/infiniband/{name}/node_guid") as file:
        assert f"{written:016x}" == file.read().strip().replace(":", "")


def test_two_numberings_of_gid_types(name: str) -> None:
    context = pyverbs.Context(name=name)
    entry = context.query_gid_table(1024)[0]
    other = context.query_gid_type(entry.port_num, entry.gid_index)
    context.close()
    if int(entry.gid_type) == 2:  # RoCE v2
        assert int(other) == 1


def test_an_unknown_device_raises_what_is_no_oserror() -> None:
    with pytest.raises(Exception, match="Failed to find device") as caught:
        pyverbs.Context(name="nosuch0")
    assert not isinstance(caught.value, OSError)


def test_the_gid_table_holds_filled_entries_only(name: str) -> None:
    context = pyverbs.Context(name=name)
    entries = context.query_gid_table(1024)
    length = context.query_port(1).gid_tbl_len
    context.close()
    assert 0 < len(entries) < length
    assert all(entry.gid_str().strip("0:") for entry in entries)


def test_the_distribution_gives_it_no_metadata() -> None:
    try:
        importlib.metadata.version("pyverbs")
    except importlib.metadata.PackageNotFoundError:
        return
    pytest.fail("pyverbs has a version now: doctor could tell it")
