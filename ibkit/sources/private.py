"""What of other people's processes leaves the host: never a whole environment, memory map or list of open files.

Whoever reads these files of /proc gets the part that tells how RDMA is used, and so does a capture.
"""

from __future__ import annotations

import re

from ibkit.sources.base import Entry

RDMA_NODES = "/dev/infiniband/"

_SOCKET = "socket:["
_FILES_OF_A_THREAD = re.compile(r"/proc/[0-9]+/task/[0-9]+/fd\Z")
_OF_A_PROCESS = re.compile(r"/proc/[0-9]+/(environ|maps|fd|cmdline)\Z")
#: Variables that choose a transport or tell a rank. Keys, passwords and addresses of launchers are none of them.
_VARIABLE = re.compile(
    rb"(?:NCCL|RCCL|UCX|FI|PSM2|PSM3|MLX5|RDMAV|IBV|I_MPI_OFI|MV2|MPICH_OFI|MPICH_UCX)_[A-Z0-9_]*=|I_MPI_FABRICS="
    rb"|(?:OMPI|PRTE)_MCA_(?:pml|btl|mtl|osc|coll)[a-z0-9_]*="
    rb"|(?:OMPI_COMM_WORLD_(?:LOCAL_)?|PMI_|PMIX_|MV2_COMM_WORLD_)(?:RANK|SIZE)=|(?:WORLD_SIZE|RANK|LOCAL_RANK|PMIX_NAMESPACE)="
    rb"|SLURM_(?:JOB_ID|ARRAY_JOB_ID|HET_JOB_ID|PROCID|LOCALID|NODEID|NTASKS|STEP_ID|STEP_NUM_TASKS)=|PBS_JOBID=|LSB_JOBID="
    rb"|MASTER_(?:ADDR|PORT)=|TORCHELASTIC_RUN_ID=|MPIR_CVAR_(?:CH4_|OFI_|UCX_|NOLOCAL|ODD_EVEN)[A-Z0-9_]*="
    rb"|GLOO_(?:SOCKET_IFNAME|DEVICE_TRANSPORT)=|OMPI_MCA_mca_(?:base_)?(?:param_files|component_path)="
    rb"|OPAL_(?:PREFIX|LIBDIR|PKGLIBDIR)="
)
_OPENMPI = re.compile(rb"(?:\A|\0)OMPI_COMM_WORLD_RANK=")
#: Open MPI's parameter files as a process sees them: what a link in its root leads to is nobody's business.
_PARAMETERS = re.compile(r"/proc/[0-9]+/root/.")
_PARAMETER = re.compile(rb"[ \t]*(?:pml|btl|mtl)[a-z0-9_]{0,60}[ \t]*=")
_SECRET_OPTION = re.compile(rb"--?[\w.-]{0,60}(?:pass|token|secret|credential|api.?key)[\w.-]{0,60}", re.IGNORECASE)
_ASSIGNED = re.compile(rb"[A-Za-z_]\w{0,99}=")
_REMOVED = b"removed"
#: Providers of verbs lie in a folder of their own, ``libibverbs/``, or are a driver's library.
_LIBRARY = re.compile(
    rb"/libibverbs/|/lib(?:ibverbs|rdmacm|ibumad|ibmad|mlx4|mlx5|efa|mana|hns|uc[mpst]|uct_ib|fabric|psm2|psm3"
    rb"|nccl|nccl-net|nccl-fabric|rccl|sharp|hcoll|mpi|open-pal|mpich|gloo|torch_cpu)(?:[-_.][\w.+-]*)?\.so[\d.]*\Z"
)
#: Shared memory through which ranks of one host send: Open MPI's, UCX's, MPICH's, Intel MPI's, MVAPICH2's, and System
#: V's (which UCX uses, too).
_SEGMENT = re.compile(
    rb"/(?:vader_segment|sm_segment|ucx_shm_posix_|mpich_shar_tmp|Intel_MPI_|ib_shmem)[^/]*\Z"
    rb"|/SYSV[0-9a-f]{8}(?: \(deleted\))?\Z"
)
_MAPPED = re.compile(rb"([0-9a-f]{1,16})-([0-9a-f]{1,16}) \S{4} [0-9a-f]+ ([0-9a-f]+:[0-9a-f]+ [0-9]+) +(/[^\n]*)\Z")
#: By a segment of some cache lines the ranks of one host find each other when MPICH starts (its mpidu_init_shm.c). That
#: through which they send has room for many messages (bytes).
_MEETING_POINT = b"/mpich_shar_tmp"
_SENDS_FROM = 64 << 10


def reduced_file(path: str, data: bytes) -> bytes:
    """The named variables of an environment, in their places, the RDMA and MPI libraries of a memory map and its shared
    segments (as ``DEVICE INODE NAME``), a command line without its secrets, the parameters for transports of a file
    below a process's root; other files as they are.
    """
    if _PARAMETERS.match(path):
        return b"\n".join(line if _PARAMETER.match(line) else b"" for line in data.split(b"\n"))
    found = _OF_A_PROCESS.match(path)
    if not found:
        return data
    if found[1] == "environ":
        home = b"HOME=" if _OPENMPI.search(data) else b"\0"  # Open MPI reads a parameter file there
        variables = (
            one if _VARIABLE.match(one) or one.startswith(home) else _lines_of(one) for one in data.split(b"\0")
        )
        return b"\0".join(variables).rstrip(b"\0")
    if found[1] == "cmdline":
        return _without_secrets(data)
    lines = data.split(b"\n")
    names = dict.fromkeys(line[line.find(b"/") :] for line in lines if b"/lib" in line)
    kept = [name for name in names if _LIBRARY.search(name)]
    shared = (_MAPPED.match(line) for line in lines if _SEGMENT.search(line))
    segments = (one for one in shared if one and not _is_meeting_point(one))
    return b"\n".join((*kept, *dict.fromkeys(one[3] + b" " + one[4] for one in segments)))


def _lines_of(entry: bytes) -> bytes:
    """What keeps a variable's place, where there are several lines of it (a shell's functions)."""
    return b"\n" * entry.count(b"\n")


def _is_meeting_point(mapped: re.Match[bytes]) -> bool:
    return _MEETING_POINT in mapped[4] and int(mapped[2], 16) - int(mapped[1], 16) < _SENDS_FROM


def is_open_sockets(path: str) -> bool:
    """Whether of a folder's links those to sockets are of interest, and their inodes only."""
    return _FILES_OF_A_THREAD.match(path) is not None


def reduced_folder(path: str, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The open RDMA device nodes of a process's list of open files, the sockets of a thread's; other folders as they
    are.
    """
    if is_open_sockets(path):
        return tuple(entry for entry in entries if (entry.target or "").startswith(_SOCKET))
    if not _OF_A_PROCESS.match(path):
        return entries
    return tuple(entry for entry in entries if (entry.target or "").startswith(RDMA_NODES))


def _without_secrets(data: bytes) -> bytes:
    """A command line without the values of options that sound like a secret, and of variables that choose nothing."""
    words = []
    is_secret = False
    for word in data.split(b"\0"):
        name, mark, _ = word.partition(b"=")
        if is_secret and word:
            words.append(_REMOVED)
        elif mark and (_SECRET_OPTION.fullmatch(name) or (_ASSIGNED.match(word) and not _VARIABLE.match(word))):
            words.append(name + mark + _REMOVED)
        else:
            words.append(word)
        is_secret = not mark and _SECRET_OPTION.fullmatch(word) is not None
    return b"\0".join(words)
