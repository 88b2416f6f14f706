"""Read ``ibv_devinfo``, with or without ``-v``.

Format: rdma-core ``libibverbs/examples/devinfo.c``. Codes in brackets are those of ``verbs.h``; words before them
depend on the version. A port's lines follow ``port:``. ``GID[  0]`` lines have the type behind a comma since 2020, and
only filled entries.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.endings import is_cut, is_fragment
from ibkit.parsers.erased import Any
from ibkit.parsers.lines import BEFORE, Problems, count_of, lines_of
from ibkit.parsers.records import NamedTuple

_DEVICE = re.compile(r"hca_id:\s*(\S{1,80})\s*\Z")
_KEY = re.compile(r"([a-z_0-9]{2,40}):\s*(.*)\Z")
_CODE = re.compile(r"\(([0-9]{1,5})\)\Z")
_GID = re.compile(r"GID\[ *([0-9]{1,5})\]:\s*([0-9a-fA-F:.]{2,45})(?:, *(.{1,30}?))?\s*\Z")
#: A last line without an end that is whole all the same; a GID without its type is what old versions print.
_WHOLE = re.compile(
    r"link_layer:\s*(?:InfiniBand|Ethernet)\Z"
    r"|GID\[ *[0-9]{1,5}\]:\s*(?:[0-9a-f]{4}:){7}[0-9a-f]{4}(?:, (?:RoCE v[12]|IB/RoCE v1))?\Z"
)
_FAILURE = re.compile(r"(Failed to .{1,200}|No IB devices found.{0,80}|IB device '[^'\n]{1,80}' wasn't found.{0,20})")

_DEVICE_TEXTS = ("transport", "fw_ver", "node_guid", "sys_image_guid", "board_id", "hw_ver")
_DEVICE_NUMBERS = ("vendor_id", "vendor_part_id", "phys_port_cnt")
#: What every version prints of a port.
_PORT_ALWAYS = ("state", "sm_lid", "port_lid", "port_lmc")
#: These are given as codes.
_PORT_CODES = ("state", "max_mtu", "active_mtu", "active_width", "active_speed", "phys_state")
_PORT_NUMBERS = ("sm_lid", "port_lid", "port_lmc", "sm_sl", "port_cap_flags")
_STARTS = (
    "hca_id:", "port:", "link_layer:", "GID[", "Failed to ", *_DEVICE_TEXTS, *_DEVICE_NUMBERS, *_PORT_CODES,
    *_PORT_NUMBERS,
)  # fmt: skip


class DevinfoGid(NamedTuple):
    """One filled entry of a GID table; ``type`` as printed."""

    gid_index: int
    gid: str
    type: str | None = None


class DevinfoPort(NamedTuple):
    """A port. ``state``, ``phys_state``, ``max_mtu``, ``active_mtu``, ``active_width``, ``active_speed`` are codes."""

    port: int
    state: int | None = None
    max_mtu: int | None = None
    active_mtu: int | None = None
    sm_lid: int | None = None
    port_lid: int | None = None
    port_lmc: int | None = None
    link_layer: str | None = None
    port_cap_flags: int | None = None
    sm_sl: int | None = None
    active_width: int | None = None
    active_speed: int | None = None
    phys_state: int | None = None
    gids: tuple[DevinfoGid, ...] | None = None


class DevinfoDevice(NamedTuple):
    """One device as printed."""

    name: str
    transport: str | None = None
    fw_ver: str | None = None
    node_guid: str | None = None
    sys_image_guid: str | None = None
    vendor_id: int | None = None
    vendor_part_id: int | None = None
    hw_ver: str | None = None
    board_id: str | None = None
    phys_port_cnt: int | None = None
    ports: tuple[DevinfoPort, ...] = ()


def parse(text: str, *, source: str = "") -> Parsed[tuple[DevinfoDevice, ...]]:
    """Read all devices. Raises NotThisFormat where no line is the tool's."""
    lines, first = lines_of(text, source)
    problems = Problems(source, first)
    devices: list[dict[str, Any]] = []
    port: dict[str, Any] | None = None
    seen = False
    for number, line in enumerate(lines, 1):
        line = line.strip(BEFORE)
        if found := _DEVICE.match(line):
            seen = True
            port = None
            devices.append({"name": found[1], "ports": [], "line": number})
        elif found := _FAILURE.match(line):
            seen = True
            kind = "no-rdma-device" if line.startswith("No IB devices") else "tool-error"
            problems.add(kind, f"ibv_devinfo: {line[:200]}", number)
        elif devices and number == len(lines) and not _WHOLE.match(line) and _is_open(line):
            problems.add("truncated", "the text ends inside this line, so it is not taken", number)
        elif devices and (found := _KEY.match(line)) and found[1] == "port":
            index = count_of(found[2].strip())
            port = {"port": index}
            if index is not None and index < 1 << 16:
                devices[-1]["ports"].append(port)
        elif devices and (found := _GID.match(line)) and port is not None:
            port.setdefault("gids", []).append(DevinfoGid(int(found[1]), found[2], found[3]))
        elif devices and (found := _KEY.match(line)):
            _take(port if port is not None else devices[-1], found[1], found[2].strip(), number, problems, port is None)
    if not seen:
        raise NotThisFormat(f"{source or 'input'}: no line like 'hca_id: mlx5_0', so not output of ibv_devinfo")
    layered = any("link_layer" in port for device in devices for port in device["ports"])
    always = (*_PORT_ALWAYS, "link_layer") if layered else _PORT_ALWAYS  # old versions do not tell it
    for device in devices:
        for port in device["ports"]:
            if "port_cap_flags" in port and "active_speed" not in port:
                problems.add("truncated", f"{device['name']}: lines of port {port['port']} are missing", device["line"])
        count = device.get("phys_port_cnt")
        if (count is None and device["ports"]) or any(key not in port for port in device["ports"] for key in always):
            problems.add("truncated", f"{device['name']}: lines of the device or of a port are missing", device["line"])
        elif count is not None and len(device["ports"]) < count:
            missing = f"{device['name']} has {count} ports, {len(device['ports'])} are listed"
            problems.add("truncated", missing, device["line"])
    return Parsed(tuple(_device(device) for device in devices), problems.all())


def _is_open(line: str) -> bool:
    """Whether the last line of a text, which has no end, is the beginning of one of the tool's."""
    return is_fragment(line, _STARTS) or (":" not in line and is_cut(line))


def _take(known: dict[str, Any], key: str, value: str, number: int, problems: Problems, of_device: bool) -> None:
    if key in _DEVICE_TEXTS if of_device else key == "link_layer":
        known[key] = value or None
        return
    if key in (_DEVICE_NUMBERS if of_device else _PORT_NUMBERS):
        found = count_of(value)
    elif not of_device and key in _PORT_CODES:
        code = _CODE.search(value)
        found = int(code[1]) if code else None
    else:
        return
    if found is None:
        problems.add("bad-value", f"{key}: {value[:80]!r} cannot be read", number)
    else:
        known[key] = found


def _device(known: dict[str, Any]) -> DevinfoDevice:
    ports = [
        DevinfoPort(**{**port, "gids": tuple(port["gids"]) if "gids" in port else None}) for port in known["ports"]
    ]
    return DevinfoDevice(
        **{key: value for key, value in known.items() if key not in ("ports", "line")}, ports=tuple(ports)
    )
