"""What ibkit can and cannot see on a host, and how to mend it. Nothing here changes anything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ibkit.collectors.absence import NO_DEVICE, RDMA_MODULES
from ibkit.collectors.access import Identity, may_open, read_identity
from ibkit.collectors.doctor_acm import acm_checks
from ibkit.collectors.doctor_launchers import launcher_checks
from ibkit.collectors.doctor_ports import port_checks
from ibkit.collectors.hca import collect_hcas
from ibkit.collectors.pci import PciAdapter, rdma_adapters
from ibkit.collectors.sysfs import NETDEV_CLASS
from ibkit.display import first_few
from ibkit.model.checks import BROKEN, DENIED, LIMITED, MISSING, OK, UNKNOWN, Check, Fix, HostChecks
from ibkit.model.host import HostHcas
from ibkit.sources import base
from ibkit.sources.base import NOT_RECORDED, CommandAnswer, Entry, FolderAnswer, Source
from ibkit.sources.verbs import NO_IMPORT

NODES = "/dev/infiniband"
_VERBS_CLASS = "/sys/class/infiniband_verbs"
_MAD_CLASS = "/sys/class/infiniband_mad"
_MISC_CLASS = "/sys/class/misc"

#: The subsystem that udev makes the nodes of, by check.
_SUBSYSTEMS = {"uverbs": "infiniband_verbs", "umad": "infiniband_mad", "rdma_cm": "misc"}
#: What libibverbs has known since 2008 (``libibverbs/ibverbs.h``); the kernel has spoken 6 as long.
MIN_ABI, MAX_ABI = 3, 6

#: Names the file of the driver, or that it is built in, where this kernel has it (kmod).
_RXE = ("modinfo", "-n", "rdma_rxe")
#: ``ARPHRD_ETHER`` of the kernel's if_arp.h.
_ETHERNET = "1"
#: A tool that only prints its version has no reason to take longer (seconds).
_TOOL_DEADLINE_SECONDS = 5
_VERSION = re.compile(r"(?:BUILD VERSION: |iproute2-|version )([0-9A-Za-z.\-]{1,30})")
_MEMLOCK = re.compile(r"Max locked memory +(unlimited|[0-9]{1,20}) +(unlimited|[0-9]{1,20}) +bytes")


def collect_checks(source: Source, host: str) -> HostChecks:
    """All checks that make sense on this host: without a device, its nodes are not asked for."""
    hcas = collect_hcas(source, host, whole=False)
    identity = read_identity(source)
    checks = list(_devices(source, hcas))
    transports = {port.transport for hca in hcas.hcas for port in hca.ports}
    in_kernel = any(hca.source == "sysfs" for hca in hcas.hcas)  # a simulator's device is not
    if in_kernel:
        nodes = source.list(NODES)
        checks += _verbs(source, nodes, identity)
        checks.append(_connection_manager(source, nodes, identity))
        if transports & {"ib", None}:
            checks += _umad(source, nodes, identity)
            checks += acm_checks(source)
        checks += port_checks(source, hcas.hcas)
    checks.append(_pyverbs(source, [hca.name for hca in hcas.hcas if in_kernel and hca.error is None]))
    checks += _tools(source, transports)
    checks.append(_memlock(source, identity))
    checks += launcher_checks(source)
    return HostChecks(host, tuple(checks), hcas.problems)


def _install(apt: str, dnf: str) -> tuple[Fix, ...]:
    return Fix("apt", f"apt install {apt}"), Fix("dnf", f"dnf install {dnf}")


def _modprobe(module: str) -> Fix:
    return Fix("any", f"modprobe {module}")


def _devices(source: Source, hcas: HostHcas) -> Iterator[Check]:
    readable = [hca.name for hca in hcas.hcas if hca.error is None]
    if readable:
        yield Check("devices", OK, f"RDMA devices: {', '.join(readable)}", "`ibkit status` shows them")
    for hca in hcas.hcas:
        if hca.error:
            look = Fix("any", "dmesg | grep -i -e mlx -e infiniband -e rdma")
            means = "the driver lists it and does not answer for it: look at the kernel log, reset or replace the card"
            yield Check("devices", BROKEN, f"{hca.name}: {hca.error}", means, (look,))
    if hcas.hcas:
        return
    problem = hcas.problems[0]
    if problem.kind != NO_DEVICE:
        yield Check("devices", UNKNOWN, problem.text, "nothing can be said about ports of this host")
        return
    means = "there is nothing for RDMA to run on; captures of other hosts can be looked at (--from)"
    yield Check("devices", MISSING, problem.text, means, tuple(_ways_to_a_device(source, rdma_adapters(source))))


def _ways_to_a_device(source: Source, adapters: tuple[PciAdapter, ...] | None) -> Iterator[Fix]:
    for driver in dict.fromkeys(adapter.driver for adapter in adapters or ()):
        if driver is None:
            yield Fix("any", "lspci -nnk   # names the driver that the adapter wants")
        elif module := RDMA_MODULES.get(driver):
            yield _modprobe(module)
            yield Fix("apt", "apt install linux-modules-extra-$(uname -r)   # where the kernel's package lacks it")
            yield Fix("dnf", "dnf install kernel-modules-extra")
    if adapters == ():
        yield Fix("any", "lspci -nn   # an adapter that is seated, and has power, is in this list")
    if adapters == () and (netdev := _netdev_for_rxe(source)):
        command = f"modprobe rdma_rxe && rdma link add rxe0 type rxe netdev {netdev}"
        yield Fix("any", f"{command}   # SoftRoCE, to try RDMA without an adapter")


def _netdev_for_rxe(source: Source) -> str | None:
    """An Ethernet interface that SoftRoCE can run over; None where there is none, or the kernel lacks the driver."""
    answer = source.run(_RXE, deadline_seconds=_TOOL_DEADLINE_SECONDS)
    if answer.failure or answer.exit_status != 0:
        return None
    for name in source.list(NETDEV_CLASS).names:
        kind, state = (
            (source.read(f"{NETDEV_CLASS}/{name}/{word}").text or "").strip() for word in ("type", "operstate")
        )
        if kind == _ETHERNET and state == "up" and name.isprintable() and " " not in name:
            return name
    return None


def _verbs(source: Source, nodes: FolderAnswer, identity: Identity | None) -> Iterator[Check]:
    listing = source.list(_VERBS_CLASS)
    means = "programs and ibkit reach the devices by verbs through these nodes"
    names = [name for name in listing.names if name.startswith("uverbs")]
    if not names:
        yield _no_class("uverbs", listing, "ib_uverbs", means)
        return
    group = Fix("any", "usermod -aG GROUP USER   # the group that owns the nodes; distributions give them mode 0666")
    yield _access("uverbs", names, nodes, identity, means, (group,))


def _umad(source: Source, nodes: FolderAnswer, identity: Identity | None) -> Iterator[Check]:
    listing = source.list(_MAD_CLASS)
    means = "infiniband-diags, and so `ibkit fabric` and `ibkit sm`, ask the fabric through these nodes"
    names = [name for name in listing.names if name.startswith("umad")]
    if not names:
        yield _no_class("umad", listing, "ib_umad", means)
        return
    rule = """echo 'KERNEL=="umad*", GROUP="rdma", MODE="0660"' > /etc/udev/rules.d/90-umad.rules"""
    fixes = (
        Fix("any", "sudo ibkit fabric"),
        Fix("any", f"groupadd -f rdma; usermod -aG rdma USER; {rule}; udevadm trigger -s infiniband_mad"),
    )
    yield _access("umad", names, nodes, identity, means, fixes)


def _no_class(what: str, listing: FolderAnswer, module: str, means: str) -> Check:
    if listing.error not in (None, "ENOENT"):
        return Check(what, UNKNOWN, f"{listing.path}: {listing.error}", means)
    fixes = (_modprobe(module), *_install("rdma-core", "rdma-core"))
    return Check(what, MISSING, f"kernel module {module} is not loaded", means, fixes)


def _access(
    what: str, names: list[str], nodes: FolderAnswer, identity: Identity | None, means: str, fixes: tuple[Fix, ...]
) -> Check:
    """Of the nodes that the kernel's class names, the worst case."""
    if nodes.error not in (None, "ENOENT"):
        state = DENIED if nodes.error == "EACCES" else UNKNOWN
        return Check(what, state, f"{NODES}: {nodes.error}", means, fixes if state == DENIED else ())
    there = {entry.name: entry for entry in nodes.entries or ()}
    gone = [name for name in names if name not in there]
    if gone:
        mends = (
            Fix("any", f"udevadm trigger -s {_SUBSYSTEMS[what]}"),
            Fix("any", "docker run --device /dev/infiniband ...   # in a container"),
        )
        return Check(what, MISSING, f"{NODES} lacks {first_few(gone)}", means, mends)
    rights = {name: may_open(there[name], identity) for name in names}
    denied = [name for name, right in rights.items() if right is False]
    if denied:
        return Check(
            what, DENIED, f"{identity} may not open {first_few(denied)} ({_ownership(there[denied[0]])})", means, fixes
        )
    if None in rights.values():
        return Check(what, UNKNOWN, "neither modes nor user are known", means)
    return Check(what, OK, f"{first_few(names)} can be opened", means)


def _connection_manager(source: Source, nodes: FolderAnswer, identity: Identity | None) -> Check:
    means = "librdmacm needs it: rping, perftest -R, NVMe-oF, iSER; MPI mostly not"
    listing = source.list(_MISC_CLASS)
    if "rdma_cm" in listing.names:
        group = Fix("any", "chmod 0666 /dev/infiniband/rdma_cm   # as the rules of udev that come with rdma-core do")
        return _access("rdma_cm", ["rdma_cm"], nodes, identity, means, (group,))
    if listing.error not in (None, "ENOENT"):
        return Check("rdma_cm", UNKNOWN, f"{_MISC_CLASS}: {listing.error}", means)
    fixes = (_modprobe("rdma_ucm"), *_install("rdma-core", "rdma-core"))
    return Check("rdma_cm", MISSING, "kernel module rdma_ucm is not loaded", means, fixes)


def _pyverbs(source: Source, devices: Sequence[str]) -> Check:
    means = "without it, ibkit reads /sys, which knows less"
    answer = source.verbs()
    abi = (source.read(f"{_VERBS_CLASS}/abi_version").text or "").strip()
    if abi.isdigit() and not MIN_ABI <= int(abi[:9]) <= MAX_ABI:
        fixes = _install("rdma-core python3-pyverbs", "rdma-core python3-pyverbs")
        text = f"the kernel's verbs speak ABI {abi[:9]}, libibverbs knows {MIN_ABI} to {MAX_ABI}"
        return Check("pyverbs", BROKEN, text, means, fixes)
    if answer.error is None:
        told = [one for one in answer.devices or () if isinstance(one, dict)]
        seen = {one.get("name") for one in told}
        unseen = [name for name in devices if name not in seen]
        if unseen:
            text = f"does not see {first_few(unseen)}: libibverbs has no provider that fits, or another version's"
            return Check("pyverbs", BROKEN, text, means, _install("ibverbs-providers", "libibverbs"))
        shut = [f"{one.get('name')}: {one.get('error')}" for one in told if one.get("error")]
        if shut:
            return Check("pyverbs", DENIED, f"cannot open {first_few(shut)}"[:400], means)
        return Check("pyverbs", OK, f"sees {len(told)} devices", means)
    if answer.error == NOT_RECORDED:
        return Check("pyverbs", UNKNOWN, "not recorded", means)
    if answer.error.startswith(NO_IMPORT):
        venv = Fix("any", "python3 -m venv --system-site-packages VENV   # a virtual environment that sees it")
        return Check("pyverbs", MISSING, answer.error, means, (*_install("python3-pyverbs", "python3-pyverbs"), venv))
    if not devices:
        return Check("pyverbs", OK, "imports; there is no device to see", means)
    return Check(
        "pyverbs", BROKEN, answer.error, means, _install("rdma-core python3-pyverbs", "rdma-core python3-pyverbs")
    )


def _tools(source: Source, transports: set[str | None]) -> Iterator[Check]:
    """The tools that ibkit asks, by package. Where no port speaks InfiniBand, its tools are not needed."""
    if not transports or transports & {"ib", None}:
        means = "`ibkit fabric` and `ibkit sm` ask them"
        fixes = _install("infiniband-diags", "infiniband-diags")
        yield _package(source, "infiniband-diags", ("ibnetdiscover", "sminfo", "ibstat"), means, fixes)
    if "opa" in transports:
        means = (
            "the fabric of Omni-Path speaks other management packets than infiniband-diags, so only its tools see it"
        )
        yield _package(source, "opa-tools", ("opainfo",), means, (Fix("dnf", "dnf install opa-basic-tools"),))
    fixes = _install("iproute2", "iproute")
    yield _package(source, "iproute2", ("rdma", "ip"), "they name netdevs, addresses and queue pairs", fixes)


def _package(source: Source, name: str, tools: Sequence[str], means: str, fixes: tuple[Fix, ...]) -> Check:
    answers = [source.run((tool, "-V"), deadline_seconds=_TOOL_DEADLINE_SECONDS) for tool in tools]
    for state, failures in (
        (MISSING, (base.MISSING,)), (DENIED, (base.DENIED,)), (BROKEN, (base.TIMEOUT, base.TOO_MUCH)),
        (UNKNOWN, (NOT_RECORDED,)),
    ):  # fmt: skip
        bad = [answer.argv[0] for answer in answers if answer.failure in failures]
        if bad:
            return Check(name, state, f"{first_few(bad)}: {failures[0]}", means, fixes if state == MISSING else ())
    return Check(name, OK, f"{', '.join(tools)}: version {_version(answers[0]) or 'not told'}", means)


def _version(answer: CommandAnswer) -> str | None:
    found = _VERSION.search(answer.out[:4096] + answer.err[:4096])
    return found[1] if found else None


def _memlock(source: Source, identity: Identity | None) -> Check:
    means = "RDMA pins its buffers: with a low limit MPI and NCCL fail to register memory or fall back to TCP"
    answer = source.read("/proc/self/limits")
    found = _MEMLOCK.search(answer.text or "")
    if not found:
        return Check("memlock", UNKNOWN, f"/proc/self/limits: {answer.error or 'no line about locked memory'}", means)
    if found[1] == "unlimited":
        return Check("memlock", OK, "unlimited", means)
    text = f"{int(found[1]) >> 10} KiB of locked memory"
    if identity and identity.uid == 0:
        return Check("memlock", OK, f"{text}, which does not bind root; look again as the jobs' user", means)
    fixes = (
        Fix("any", r"printf '* soft memlock unlimited\n* hard memlock unlimited\n' > /etc/security/limits.d/rdma.conf"),
        Fix("any", "systemctl edit slurmd   # [Service] LimitMEMLOCK=infinity; likewise sshd, kubelet"),
    )
    return Check("memlock", LIMITED, text, means, fixes)


def _ownership(node: Entry) -> str:
    return f"mode {node.mode:04o}, uid {node.uid}, gid {node.gid}"
