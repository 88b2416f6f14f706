"""pyverbs, asked for everything at once, in a process of its own.

pyverbs comes from the distribution and is loaded into a child: a device that hangs in a driver, or a library that does
not fit and crashes, then costs an answer and not ibkit.

What a reader of pyverbs must know (pyverbs 44 to 64, ``pyverbs/device.pyx``):

- ``import pyverbs`` succeeds where ``import pyverbs.device`` does not fit the system's libibverbs.
- ``get_device_list()`` raises where there is no device; PyverbsRDMAError is no OSError.
- ``Device.guid`` is a number as people write it. ``DeviceAttr.node_guid``, ``DeviceAttr.sys_image_guid`` and
  ``query_pkey()`` are in network order, so on most machines their bytes are the wrong way round.
- ``GIDEntry.gid_type`` counts IB, RoCE v1, RoCE v2 from 0; ``query_gid_type()`` has another numbering.
- ``active_speed`` has 8 bits: XDR (256) is 0 there and only in ``active_speed_ex`` of new versions.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence

from ibkit.parsers.erased import Any
from ibkit.sources.base import CommandAnswer, VerbsAnswer

DEADLINE_SECONDS = 20.0

#: First words of ``VerbsAnswer.error`` where pyverbs is not there at all.
NO_IMPORT = "pyverbs cannot be imported"

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_CHILD = "import sys; sys.path.insert(0, sys.argv[1]); from ibkit.sources.verbs import main; main()"

#: The devices' and ports' attributes that are copied as they are.
_DEVICE_NUMBERS = ("vendor_id", "vendor_part_id", "hw_ver", "phys_port_cnt")
_PORT_NUMBERS = (
    "state", "phys_state", "link_layer", "lid", "lmc", "sm_lid", "sm_sl", "max_mtu", "active_mtu", "active_width",
    "active_speed", "port_cap_flags", "port_cap_flags2", "max_msg_sz", "max_vl_num", "gid_tbl_len", "pkey_tbl_len",
)  # fmt: skip


def ask_verbs(run: Callable[..., CommandAnswer]) -> VerbsAnswer:
    """What the child says. ``run`` starts a command, as a source does."""
    answer = run((sys.executable, "-I", "-c", _CHILD, _ROOT), deadline_seconds=DEADLINE_SECONDS)
    try:
        told = json.loads(answer.stdout)
        return VerbsAnswer(told["devices"], told["error"])
    except (ValueError, KeyError, TypeError):
        reason = answer.failure or f"ended with {answer.exit_status}"
        last = answer.err.strip().splitlines()[-1:]
        return VerbsAnswer(error=": ".join(["pyverbs", reason, *last])[:500])


def main() -> None:
    """The child: print what pyverbs says as JSON."""
    answer = read_verbs()
    json.dump({"devices": answer.devices, "error": answer.error}, sys.stdout)


def read_verbs() -> VerbsAnswer:
    """All devices as JSON-like data, or the reason why there is none. Each device is opened once."""
    try:
        import pyverbs.device as pyverbs
    except ImportError as error:
        return VerbsAnswer(error=f"{NO_IMPORT}: {error}")
    try:
        devices = pyverbs.get_device_list()
    except Exception as error:
        return VerbsAnswer(error=f"pyverbs: {error}")
    return VerbsAnswer(devices=[_device(pyverbs, device) for device in devices])


def _device(pyverbs: Any, device: Any) -> dict[str, Any]:
    name = device.name.decode("utf-8", "backslashreplace")
    found: dict[str, Any] = {
        "name": name,
        "node_guid": f"0x{device.guid:016x}",
        "node_type": int(device.node_type),
        "transport_type": int(device.transport_type),
        "error": None,
        "ports": [],
    }
    try:
        context = pyverbs.Context(name=name)
    except Exception as error:
        found["error"] = str(error)
        return found
    try:
        attributes = context.query_device()
        found["fw_ver"] = attributes.fw_version
        found["sys_image_guid"] = f"0x{_as_written(attributes.sys_image_guid, attributes.node_guid, device.guid):016x}"
        found.update((name, int(getattr(attributes, name))) for name in _DEVICE_NUMBERS)
        ports = range(1, attributes.phys_port_cnt + 1)
        found["ports"] = [_port(context, number) for number in ports]
        _add_gids(context, found["ports"])
    except Exception as error:
        found["error"] = str(error)
    finally:
        context.close()
    return found


def _as_written(value: int, node_guid: int, node_guid_as_written: int) -> int:
    """``value`` in the byte order of people, by the order that the node GUID came in."""
    return value if node_guid == node_guid_as_written else int.from_bytes(value.to_bytes(8, "little"), "big")


def _port(context: Any, number: int) -> dict[str, Any]:
    found: dict[str, Any] = {"port": number, "error": None}
    try:
        attributes = context.query_port(number)
    except Exception as error:
        return {**found, "error": str(error)}
    found.update((name, int(getattr(attributes, name))) for name in _PORT_NUMBERS)
    found["active_speed"] = int(getattr(attributes, "active_speed_ex", 0)) or found["active_speed"]
    found["pkeys"] = _pkeys(context, number, found["pkey_tbl_len"])
    return found


def _pkeys(context: Any, port: int, length: int) -> list[list[int]] | None:
    """Index and P_Key of each entry that holds one; None where the table could not be read."""
    try:
        raw = [context.query_pkey(port, index) for index in range(length)]
    except Exception:
        return None
    return [[index, from_network(value)] for index, value in enumerate(raw) if value]


def from_network(value: int) -> int:
    """A 16-bit number of the network's byte order."""
    return int.from_bytes(value.to_bytes(2, sys.byteorder), "big")


def _add_gids(context: Any, ports: Sequence[dict[str, Any]]) -> None:
    """The filled entries of all ports come in one table; None where the kernel does not give it (before 5.10)."""
    length = sum(port.get("gid_tbl_len", 0) for port in ports)
    try:
        entries = context.query_gid_table(length)
    except Exception:
        entries = None
    for port in ports:
        if port["error"] is None:
            port["gids"] = None if entries is None else [
                {
                    "index": entry.gid_index,
                    "gid": entry.gid_str(),
                    "type": int(entry.gid_type),
                    "netdev": _netdev(entry.ndev_ifindex),
                }
                for entry in entries
                if entry.port_num == port["port"]
            ]  # fmt: skip


def _netdev(index: int) -> str | None:
    """The name of an interface of this network namespace."""
    import socket

    try:
        return socket.if_indextoname(index) if index else None
    except OSError:
        return None
