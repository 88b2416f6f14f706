"""Which transport a network's name and device number stand for, on each process of one run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ibkit.transport import words
from ibkit.transport.evidence import Mark
from ibkit.transport.logs.nccl import Channel, NcclProcess
from ibkit.transport.logs.nccl_peers import Peers

_SOCKETS = frozenset(("Socket", "FastSocket"))
_LIBFABRIC = frozenset(("AWS Libfabric", "Libfabric", "OFI"))
_LINK_WORDS = {"IB": "ib", "RoCE": "roce"}

#: What UCX lines say of a process: its transport to other hosts, and the line.
UcxWords = Mapping[tuple[str | None, int | None], tuple[str, Mark]]


class Networks:
    """Words for networks.

    IB and IBext (nccl-rdma-sharp-plugins) are verbs: the device list tells IB from RoCE. Socket and FastSocket are TCP
    over an interface. The libfabric plugin is what its provider is, the UCX plugin what UCX lines say. Another name is
    unknown, unless the plugin lists its devices with a link layer as NCCL's own does.
    """

    def __init__(self, peers: Peers, ucx: UcxWords) -> None:
        self._peers = peers
        self._ucx = ucx
        self._links: dict[str | None, set[str]] = {}
        self._interfaces: dict[tuple[str | None, str], set[tuple[str, ...]]] = {}
        self._providers = {p.provider for n in peers.numbers if (p := peers.process(n)).provider}
        for number in peers.numbers:
            process, host = peers.process(number), peers.host(number)
            self._links.setdefault(host, set()).update(process.links)
            for network, names in process.interfaces.items():
                self._interfaces.setdefault((host, network), set()).add(names)
        self._spread: dict[str | None, str] = {}
        self._spread_links()

    def word(self, number: int, network: str, device: int | None) -> str:
        """The transport of ``NET/network/device`` said by a process."""
        process = self._peers.process(number)
        if network in _SOCKETS:
            return self._socket_word(process, self._peers.host(number), network, device)
        if network in _LIBFABRIC:
            provider = process.provider or (next(iter(self._providers)) if len(self._providers) == 1 else None)
            return words.of_provider(provider) if provider else "unknown"
        if network.startswith("UCX"):
            found = self._ucx.get((process.host, process.pid))
            return found[0] if found else "unknown"
        if _is_verbs(network) or network in process.devices or network == "SHARP":
            return self._verbs_word(process, self._peers.host(number), network, device)
        return "unknown"

    def proof(self, number: int, network: str, word: str) -> Mark | None:
        """The line of the process that makes the network's name this word: its list of devices, the provider."""
        process = self._peers.process(number)
        if network in _SOCKETS:
            return process.interface_marks.get(network) if word == "ipoib" else None
        if network in _LIBFABRIC:
            return process.provider_mark
        if network.startswith("UCX"):
            found = self._ucx.get((process.host, process.pid))
            return found[1] if found else None
        return process.device_marks.get(network) or process.device_marks.get("IB") or process.link_mark

    def _socket_word(self, process: NcclProcess, host: str | None, network: str, device: int | None) -> str:
        names = process.interfaces.get(network, ())
        if not names:
            lists = self._interfaces.get((host, network), set())
            names = next(iter(lists)) if len(lists) == 1 else ()
        if not names and process.interface_count == 1:
            names = process.interfaces.get("Bootstrap", ())  # 2.2 and 2.3 use one search for both
        if device is not None and device < len(names):
            return words.of_interface(names[device])
        return words.combine(words.of_interface(name) for name in names) if names else "tcp"

    def _verbs_word(self, process: NcclProcess, host: str | None, network: str, device: int | None) -> str:
        listed = process.devices.get(network) or process.devices.get("IB")
        if listed is not None and device is not None and listed.is_indexed:
            entries = list(zip(listed.names, listed.links, strict=True))
            if parts := process.virtual.get(device):
                entries = [(name, link) for name, link in entries if name.rsplit(":", 1)[0] in parts]
                return _of_links(entries) if entries else "rdma"
            if device < len(entries):
                return _of_links(entries[device : device + 1])
        if listed is not None:
            return _of_links(zip(listed.names, listed.links, strict=True))
        if device is not None and device in process.device_links:
            return _LINK_WORDS[process.device_links[device]]
        return self.link_word(host)

    def link_word(self, host: str | None) -> str:
        """The word for verbs of this host: its link layer where all its NICs have the same one."""
        links = self._links.get(host, set())
        if len(links) == 1:
            return _LINK_WORDS.get(next(iter(links)), "rdma")
        return self._spread.get(host, "rdma") if not links else "rdma"

    def _spread_links(self) -> None:
        """Queue pairs connect equal link layers only: a host without a device list has that of the peers that each
        of its devices reaches.
        """
        between: dict[str | None, dict[tuple[int, int | None], set[str | None]]] = {}
        for channel, _ in self._peers.channels:
            host = self._peers.host(channel.process)
            if _is_verbs_channel(channel) and not self._links.get(host):
                device = channel.process, channel.device
                between.setdefault(host, {}).setdefault(device, set()).add(self._peers.peer(channel).host)
        while True:
            news = {}
            for host, devices in between.items():
                kinds = [{self.link_word(peer) for peer in peers} - {"rdma"} for peers in devices.values()]
                if all(kinds) and len(set().union(*kinds)) == 1 and host not in self._spread:
                    news[host] = kinds[0].pop()
            if not news:
                return
            self._spread.update(news)


def is_of_libfabric(network: str) -> bool:
    """Whether this is the network of aws-ofi-nccl."""
    return network in _LIBFABRIC


def _is_verbs(network: str) -> bool:
    return network == "IB" or network.startswith("IBext")


def _is_verbs_channel(channel: Channel) -> bool:
    return channel.medium == "NET" and channel.network is not None and _is_verbs(channel.network)


def _of_links(entries: Iterable[tuple[str, str]]) -> str:
    """The word for these devices. Omni-Path's ports call their link layer InfiniBand, too."""
    found = {"opa" if name.startswith("hfi1_") else _LINK_WORDS.get(link, "rdma") for name, link in entries}
    return found.pop() if len(found) == 1 else "rdma"
