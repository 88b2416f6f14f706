"""pyverbs, asked for everything at once. The import is guarded: it is a part of the distribution, not of PyPI."""

from __future__ import annotations

from ibkit.sources.base import VerbsAnswer


def read_verbs() -> VerbsAnswer:
    """All devices as JSON-like data, or the reason why pyverbs said nothing."""
    try:
        from pyverbs import device
    except ImportError as error:
        return VerbsAnswer(error=f"pyverbs cannot be imported: {error}")
    try:
        names = [entry.name.decode("utf-8", "backslashreplace") for entry in device.get_device_list()]
    except Exception as error:  # PyverbsRDMAError is no OSError, and is raised where there is no device at all
        return VerbsAnswer(error=f"pyverbs: {error}")
    return VerbsAnswer(devices=[{"name": name} for name in names])
