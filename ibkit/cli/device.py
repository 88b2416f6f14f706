"""``--device`` and ``--port``: which port of this host the tools ask the subnet through."""

from __future__ import annotations

import argparse
import re

from ibkit.collectors.local_ports import chosen_entrance
from ibkit.collectors.mad_tools import Through
from ibkit.collectors.sysfs import CLASS
from ibkit.errors import IbkitError
from ibkit.sources.site import Site

#: What the kernel takes for a device's name, and no option (drivers/infiniband/core/device.c, IB_DEVICE_NAME_MAX).
_DEVICE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,62}\Z")


def add_device_arguments(parser: argparse.ArgumentParser) -> None:
    """Both options; without them the tools take the first active InfiniBand port."""
    parser.add_argument("--device", metavar="NAME", type=_device, help="ask through this device, such as mlx5_0")
    parser.add_argument("--port", metavar="N", type=_port, help="ask through this port of the device")


def through_of(args: argparse.Namespace, site: Site) -> Through:
    """What the user chose. Raises IbkitError for a device that there is not, and for a tool's saved output."""
    through = Through(args.device, args.port)
    if site.origin.kind == "raw" and any(through):
        raise IbkitError("--device and --port choose whom to ask; a tool's saved output has been asked already")
    if site.origin.kind != "live" and args.device:
        devices = sorted({name for host in site.hosts for name in host.source.list(CLASS).names})
        if devices and args.device not in devices:
            raise IbkitError(f"--device {args.device}: no host here has such a device; there are {', '.join(devices)}")
    return chosen_entrance(site.subnet, through)


def _device(text: str) -> str:
    if _DEVICE.match(text):
        return text
    raise argparse.ArgumentTypeError(f"not a device's name: {text[:40]!r}; `ibkit status` lists them")


def _port(text: str) -> int:
    """PortInfo has a byte for it."""
    if text.isascii() and text.isdigit() and len(text) < 4 and 0 <= int(text) <= 254:
        return int(text)
    raise argparse.ArgumentTypeError(f"not a port's number: {text[:40]}")
