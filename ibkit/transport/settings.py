"""Settings that leave a runtime nothing but TCP between hosts. They explain a verdict, and never make one.

Sources: UCX's src/ucp/core/ucp_context.c (aliases of transports, deny lists, names of devices) and src/ucs/sys/module.c
(UCX_MODULES), Open MPI's opal/mca/btl and ompi/mca/pml.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from ibkit.parsers.job_facts import Setting

_BTLS_FOR_HCAS = frozenset(("openib", "uct", "ofi", "usnic", "ugni", "mx", "udapl", "mvapi"))
_SHARED_MEMORY = frozenset(("sm", "vader"))
#: UCX's module for verbs; UCX_MODULES has names and patterns of those to be loaded, or behind ``^`` not to be.
_UCX_VERBS = "ib"
#: UCX's transports through segments that are mapped in common, and the aliases that hold them.
_UCX_SEGMENTS = frozenset(("all", "sm", "shm", "mm", "posix", "sysv", "xpmem"))
#: All that reaches a process of the same host and no other one, by the first part of its name.
_UCX_WITHIN_HOST = _UCX_SEGMENTS - {"all"} | {"self", "cma", "knem", "cuda", "gdr", "rocm", "ze"}
#: UCX transports by which one process reads another's memory.
UCX_COPIES = frozenset(("cma", "knem", "xpmem"))


def leaves_tcp_to_ucx(setting: Setting) -> bool:
    """UCX_TLS without verbs, UCX_NET_DEVICES without an HCA port (``mlx5_0:1``), or UCX_MODULES without ``ib``."""
    names = [name for name in setting.value.split(",") if name]
    if not names:
        return False
    if setting.name == "UCX_TLS":
        kinds = {name.lstrip("^\\").split(":")[0] for name in names}
        families = {name.split("_")[0] for name in kinds}
        if names[0].startswith("^"):
            return "ib" in kinds or {"rc", "ud", "dc"} <= families
        return not families & {"ib", "rc", "ud", "dc", "srd", "all"}
    if setting.name == "UCX_MODULES":
        is_listed = any(name == "all" or fnmatchcase(_UCX_VERBS, name.removeprefix("^")) for name in names)
        return is_listed == names[0].startswith("^")
    return setting.name == "UCX_NET_DEVICES" and all(":" not in name and not _is_hca(name) for name in names)


def leaves_no_network(setting: Setting) -> bool:
    """UCX_TLS, or Open MPI's ``btl``, that names what reaches no other host."""
    names = {name for name in setting.value.split(",") if name}
    if not names or setting.value.startswith("^"):
        return False
    if setting.name == "UCX_TLS":
        return {name.lstrip("\\").split(":")[0].split("_")[0] for name in names} <= _UCX_WITHIN_HOST
    return setting.name == "btl" and names <= {"self", "smcuda"} | _SHARED_MEMORY


def _is_hca(name: str) -> bool:
    """A device without its port matches nothing: a mistake, and no wish for TCP."""
    return name == "all" or name.startswith(("mlx", "hfi", "bnxt", "irdma", "rxe", "efa", "rocep", "ibp"))


def leaves_tcp_to_openmpi(setting: Setting, version: str | None, *, has_module: bool) -> bool:
    """``btl`` without a module for HCAs, or ``pml`` without ucx where ob1 has none (4.x with InfiniBand, 5.x).

    ``has_module``: ob1 had, or tried to have, a module for HCAs, so that ``pml ob1`` alone explains nothing.
    """
    names = set(setting.value.lstrip("^").split(","))
    is_denied = setting.value.startswith("^")
    if setting.name == "btl":
        return "openib" in names if is_denied else "tcp" in names and not names & _BTLS_FOR_HCAS
    if setting.name == "pml":
        needs_ucx = version is None or version.split(".")[0] not in ("1", "2", "3")
        return needs_ucx and not has_module and ("ucx" in names if is_denied else names == {"ob1"})
    return False


def denies_ucx(setting: Setting) -> bool:
    """``pml`` with ucx struck out."""
    return setting.name == "pml" and setting.value.startswith("^") and "ucx" in setting.value.lstrip("^").split(",")


def bars_ucx(setting: Setting) -> bool:
    """``pml`` that leaves UCX out: others are named, or it is struck out."""
    names = setting.value.split(",")
    is_of_others = bool(setting.value) and not setting.value.startswith("^") and "ucx" not in names
    return denies_ucx(setting) or (setting.name == "pml" and is_of_others)


def denies_ucx_shared_memory(setting: Setting) -> bool:
    """UCX_TLS that names none of UCX's shared memory, or strikes some of it out."""
    if setting.name != "UCX_TLS" or not setting.value:
        return False
    kinds = {name.lstrip("^\\").split(":")[0] for name in setting.value.split(",")}
    return bool(kinds & _UCX_SEGMENTS) == setting.value.startswith("^")


def leaves_ucx_copies(setting: Setting) -> bool:
    """UCX_TLS by which UCX copies from process to process and maps no segment in common: the messages' heads may go by
    TCP, and their data does not.
    """
    if setting.name != "UCX_TLS":
        return False
    kinds = {name.lstrip("^\\").split(":")[0] for name in setting.value.split(",")}
    if setting.value.startswith("^"):
        return denies_ucx_shared_memory(setting) and not kinds & {"cma", "sm", "shm", "all"}
    return bool(kinds & UCX_COPIES)


def leaves_no_shared_memory(setting: Setting) -> bool:
    """``btl`` without sm and vader."""
    names = set(setting.value.lstrip("^").split(","))
    return setting.name == "btl" and bool(names & _SHARED_MEMORY) == setting.value.startswith("^")


#: MPICH's, HPE's and MVAPICH2's switches of shared memory, and the value that puts it off.
_NO_LOCAL = {
    "MPIR_CVAR_NOLOCAL": True, "MPIR_CVAR_NO_LOCAL": True, "MPIR_CVAR_CH3_NOLOCAL": True, "MPICH_NO_LOCAL": True,
    "MVP_NOLOCAL": True, "MV2_USE_SHARED_MEM": False, "MV2_USE_BLOCKING": True,
}  # fmt: skip


def denies_shared_memory(setting: Setting) -> bool:
    """Settings by which ranks on one host use the network: Intel MPI's fabrics without shm, MPICH's nolocal."""
    if setting.name == "I_MPI_FABRICS":
        return "shm" not in setting.value.lower()
    if setting.name == "I_MPI_SHM":  # else the name of a variant: bdw_sse, skx_avx512 ...
        return setting.value.strip().lower() in ("0", "no", "off", "disable")
    is_on = setting.value.strip(": ").lower() not in ("", "0", "no", "false")
    return _NO_LOCAL.get(setting.name) is is_on


def wants_module(setting: Setting) -> bool:
    """``btl`` names a module for HCAs."""
    return (
        setting.name == "btl"
        and not setting.value.startswith("^")
        and bool(set(setting.value.split(",")) & _BTLS_FOR_HCAS)
    )


def asks_for_tcp(setting: Setting, *, has_mlx: bool = True) -> bool:
    """Settings that leave libfabric or an old Intel MPI nothing but TCP (Intel MPI's and libfabric's manuals).

    ``has_mlx``: libfabric is Intel MPI's, with which verbs are had by the provider mlx, too.
    """
    value = setting.value.strip().lower()
    if setting.name in ("I_MPI_OFI_PROVIDER", "FI_PROVIDER"):
        names = {name.split(";")[0] for name in value.lstrip("^").split(",") if name}
        tcp = {"tcp", "sockets", "udp", "net"}
        return bool(names) and (
            (names >= {"verbs", "mlx"} if has_mlx else "verbs" in names)
            if value.startswith("^")
            else names <= tcp | {"shm"}
        )
    if setting.name in ("I_MPI_FABRICS", "I_MPI_DEVICE"):
        return value in ("tcp", "shm:tcp", "sock", "ssm")
    if setting.name == "I_MPI_FABRICS_LIST":
        return value == "tcp"
    if setting.name == "PSM3_HAL":
        return value == "sockets"
    if setting.name == "MPICH_NEMESIS_NETMOD":
        return value == "tcp"
    return False


def leaves_sockets(setting: Setting) -> bool:
    """Settings that leave NCCL its sockets alone; NCCL_SOCKET_IFNAME never does (NCCL's environment variables). Words
    are no number for NCCL (strtoll in src/misc/param.cc), and in a log they are a sentence's.
    """
    value = setting.value.strip("\"' .").lower()
    return (setting.name == "NCCL_IB_DISABLE" and value.isdecimal() and int(value) != 0) or (
        setting.name == "NCCL_NET" and value in ("socket", "fastsocket")
    )


def asks_for_ucx(setting: Setting) -> bool:
    """MPICH's choice of its network module, in all the names that it and MVAPICH have for it."""
    name = setting.name.removeprefix("MPIR_CVAR_").removeprefix("MPICH_").removeprefix("MVP_")
    return name == "CH4_NETMOD" and setting.value.strip().lower() == "ucx"


def asks_for_mlx(setting: Setting) -> bool:
    """Intel MPI's provider that is UCX."""
    return setting.name in ("FI_PROVIDER", "I_MPI_OFI_PROVIDER") and setting.value.strip().lower() == "mlx"
