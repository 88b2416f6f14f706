"""Why a job lost RDMA, as far as a line proves it, and what mends it. The ids are stable.

Which sentence of which runtime proves which reason was read in the runtimes' sources; see the parsers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ibkit.model.mpi import Reason
from ibkit.parsers.job_facts import Failure
from ibkit.transport.evidence import Book, Mark


class Known(NamedTuple):
    """A reason's sentence and its mend."""

    text: str
    fix: str


KNOWN = {
    "memlock": Known(
        "the limit on locked memory is too low to register memory with the HCA",
        "unlimited memlock where ranks are started: LimitMEMLOCK=infinity in the unit of slurmd, pbs_mom or sshd, then "
        "restart it; in containers --ulimit memlock=-1 and the capability IPC_LOCK. Check /proc/PID/limits of a rank.",
    ),
    "noport": Known(
        "no port that could be used was found: no HCA, no driver, or no port in state Active",
        "look at `ibkit status` there: bring the port up (cable, subnet manager), or exclude the dead HCA",
    ),
    "nolib": Known(
        "the user-space InfiniBand library or its driver is missing, or the runtime was built without it "
        "(where UCX only says that a transport is not available: or no port is usable)",
        "install libibverbs and its providers (rdma-core, ibverbs-providers; ucx-ib for UCX on RHEL and Fedora) inside "
        "the container or image, of the host's release; check `ibv_devinfo` and `ucx_info -d` there",
    ),
    "nodev": Known(
        "an HCA is visible, but its device node is missing or may not be opened",
        "pass /dev/infiniband (or the device plugin's rdma resource) into the container, the same on all nodes; check "
        "`ls -l /dev/infiniband` there",
    ),
    "hwlimit": Known(
        "the HCA ran out of a resource of its own (queue pairs, UARs), which is not locked memory",
        "see dmesg of the node; fewer queue pairs (UCX_TLS=dc,sm,self or ud,sm,self), or higher limits in firmware "
        "and driver",
    ),
    "wrongdev": Known(
        "the device that was asked for is not there or not usable on this host",
        "correct the name for each node (UCX_NET_DEVICES needs the port: mlx5_0:1; NCCL_IB_HCA, "
        "btl_openib_if_include), or remove the setting on clusters whose nodes differ",
    ),
    "wrongtls": Known(
        "TCP was asked for",
        "remove the setting if RDMA is wanted: look in the job script, the environment, module and MCA parameter files",
    ),
    "noucx": Known(
        "Open MPI 4's openib module refuses InfiniBand ports and leaves them to UCX; from 4.0.2 on it says so only in "
        "a build without UCX",
        "use a build of Open MPI with UCX (`ompi_info | grep ucx`); stop-gap: --mca btl_openib_allow_ib 1",
    ),
    "nobuild": Known(
        "this build of the MPI knows neither verbs nor UCX nor libfabric: between hosts it has TCP and nothing else",
        "a build for the fabric (MPICH: --with-device=ch4:ucx or ch4:ofi; MVAPICH2: --with-device=ch3:mrail; Open MPI: "
        "--with-ucx): `mpichversion` or `ompi_info` tell what a build has",
    ),
    "ucxlist": Known(
        "Open MPI's list of transports and devices for pml ucx does not match what UCX offers here",
        "--mca opal_common_ucx_tls any --mca opal_common_ucx_devices any, or --mca pml ucx, or a newer UCX",
    ),
    "ucxrace": Known(
        "Open MPI 4.1.1 lets ranks of one job choose different point-to-point layers",
        "Open MPI 4.1.2 or later; stop-gap: --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any",
    ),
    "cpc": Known(
        "Open MPI's openib module has no way to connect on this port (for RoCE: no IP address on the port's interface)",
        "use UCX; else give the RoCE interface an address, raise memlock",
    ),
    "ofmismatch": Known(
        "the user-space RDMA libraries do not fit the kernel's driver",
        "the same OFED or rdma-core on both sides (`ofed_info -s`, `rpm -q libibverbs`); rebuild UCX and MPI with it",
    ),
    "pkey": Known(
        "the partition key that was asked for is not in the port's table",
        "UCX_IB_PKEY (without its top bit), NCCL_IB_PKEY; the subnet manager's partition configuration",
    ),
    "gid": Known(
        "the GID that was used does not work: a wrong index, VLAN, or a network namespace that does not own it",
        "NCCL_IB_GID_INDEX or UCX_IB_GID_INDEX (`ibkit status` lists GIDs); in containers the network that owns it",
    ),
    "psm2": Known(
        "PSM2 could not open the Omni-Path adapter",
        "bring the link up (`opainfo`), free contexts",
    ),
    "plugin": Known(
        "the network plugin found nothing to use, or the network that was asked for does not exist",
        "install the fabric's plugin (aws-ofi-nccl for EFA and Slingshot), put it on LD_LIBRARY_PATH; check NCCL_NET",
    ),
    "mixed": Known(
        "the hosts or ranks of the job do not have the same devices, or chose different networks",
        "make the nodes equal: the same HCAs, all ports up, the same environment",
    ),
    "dat": Known(
        "an old Intel MPI did not find what DAPL or TMI need: the DAT library and dat.conf, or tmi.conf",
        "a newer Intel MPI (2019 or later uses libfabric); else install libdat2 and name the provider "
        "(I_MPI_DAPL_PROVIDER), or point TMI_CONFIG to a tmi.conf",
    ),
    "ofi": Known(
        "libfabric found no provider that it could use",
        "look at `fi_info`; the verbs provider needs an IP address on the port's interface (`ip addr show ib0`); the "
        "provider mlx needs UCX with a full set of transports (`ucx_info -v`); else FI_PROVIDER=verbs",
    ),
    "gloo": Known(
        "Gloo's processes could not connect over TCP: mostly an interface that does not reach the other hosts",
        "GLOO_SOCKET_IFNAME: the interface that does, on each host; look at firewalls between the hosts",
    ),
    "glootcp": Known(
        "Gloo was chosen, which in PyTorch and Horovod has TCP and nothing else",
        "NCCL or MPI for what should go by RDMA (init_process_group(\"nccl\"), horovodrun without --gloo); Gloo over "
        "verbs needs a PyTorch that is built for it (USE_GLOO_IBVERBS) and GLOO_DEVICE_TRANSPORT=IBVERBS",
    ),
    "lo": Known(
        "only the loopback interface was found or asked for",
        "NCCL_SOCKET_IFNAME: the interface that reaches the other hosts",
    ),
}  # fmt: skip

_TOPICS = {
    "nccl": {
        "no-verbs-library": "nolib", "no-device": "noport", "open-device": "nodev", "memlock": "memlock", "gid": "gid",
        "ofi-no-provider": "plugin", "no-such-network": "plugin", "mixed-devices": "mixed", "mixed-links": "mixed",
        "loopback": "lo",
    },
    "ucx": {
        "device-missing": "wrongdev", "transport-missing": "nolib", "memlock": "memlock", "resources": "hwlimit",
        "open-device": "nodev", "ofed-mismatch": "ofmismatch", "pkey": "pkey", "gid": "gid", "no-port": "noport",
    },
    "ompi": {
        "no-nics": "noport", "no-port": "noport", "ib-port-refused": "noucx", "memlock": "memlock", "no-cpc": "cpc",
        "device-missing": "wrongdev", "resources": "hwlimit", "psm2": "psm2", "ofed-mismatch": "ofmismatch",
        "pml-mismatch": "mixed",
    },
    "intel": {"memlock": "memlock", "no-dat": "dat", "no-fabric": "noport"},
    "mpich": {"no-provider": "ofi"},
    "ofi": {"no-verbs": "ofi"},
    "mvapich2": {"no-port": "noport", "memlock": "memlock"},
    "gloo": {"not-connected": "gloo", "no-device": "noport"},
    "verbs": {"stat-device": "nodev", "memlock": "memlock", "ofed-mismatch": "ofmismatch"},
}  # fmt: skip


def reason_of(failure: Failure) -> str | None:
    """The reason that this failure proves by itself, None for generic ones (``error initializing an OpenFabrics
    device`` follows others) and for those that only end a connection.
    """
    return _TOPICS.get(failure.runtime, {}).get(failure.topic)


def reasons(marks: Mapping[str, Iterable[tuple[Mark, str]]], book: Book) -> tuple[Reason, ...]:
    """Reasons by id from the lines that prove them, each with its evidence class; at most five lines a reason."""
    return tuple(
        Reason(id, KNOWN[id].text, KNOWN[id].fix, tuple(book.cite(mark, kind) for mark, kind in list(lines)[:5]))
        for id, lines in marks.items()
    )
