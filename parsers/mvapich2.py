"""MVAPICH2's lines (1.x and 2.x), in logs of a job.

Its usual channel, mrail, has no way between hosts but verbs: it uses an HCA or it ends the job. ``MV2_SHOW_ENV_INFO``
makes rank 0 print a table that only this channel has. Sources: MVAPICH2 2.3.7 src/mpid/ch3/channels/mrail/src/gen2
(rdma_iba_priv.c, ring_startup.c) and src/mpid/ch3/channels/common/src/detect/hca/mv2_hca_detect.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.parsers.job_facts import Failure, Provider, Said, SharedMemory, Version
from ibkit.parsers.log_lines import CONTEXT, IGNORE, KEEP, Line, shape

NAME = "MVAPICH2"
_VERSION = re.compile(r"MVAPICH2-(\d[\w.-]{0,30}) Parameters")
_HCA = re.compile(r"\s{0,99}HCA NAME\s{1,40}: (MV2_HCA_\w{1,40})\s{0,99}\Z")
#: ``MV2_SHOW_ENV_INFO=2`` lists all parameters as they are in force (gen2/ibv_env_params.c).
_SHARES = re.compile(r"\s{0,99}MV2_USE_SHARED_MEM {1,40}: 1\s{0,99}\Z")
_SPEAKER = re.compile(r"\[(?P<host>[\w.-]{1,253}):mpi_rank_(?P<rank>\d{1,7})\]")
#: Functions of this channel's own code speak, or are in a backtrace as it polls its completion queue; those for shared
#: memory are common to all channels.
_MRAIL = re.compile(
    r"\[[\w.-]{1,253}:mpi_rank_\d{1,7}\]\[(?:rdma_(?:param_handle_heterogeneity|get_process_to_rail_mapping)\]"
    r"|print_backtrace\] .{1,300}\(MPIDI_CH3I_MRAILI_Cq_poll_)"
)
#: The handler of signals that a process dies by, of src/util/error_handling; 15 is somebody's wish.
_CAUGHT = re.compile(r"\]\[error_sighandler\] Caught error: .{1,60} \(signal (?!15\))\d{1,3}\)")
_NO_HCA = re.compile(r"No HCAs found on the system|No IB device found|No active HCAs found on the system")
_NO_MEMORY = re.compile(r"\[rdma_iba_hca_init\w{0,40}\].{0,200}cannot create cq", re.IGNORECASE)
#: A completion with an error, of two generations: the channel ends the job. What is flushed (5) follows another one.
_BROKEN = re.compile(r"\[handle_cqe\].{0,300}(?:wc\.status=|Got completion with error )(?:[2-46-9]|1\d|2\d)\b")
_MARKS = (
    b"MVAPICH2-",
    b"HCA NAME ",
    b"MV2_USE_SHARED_MEM ",
    b"HCAs found on the system",
    b"No IB device found",
    b"[rdma_iba_hca_init",
    b"[handle_cqe]",
    b"][rdma_param_handle",
    b"][rdma_get_process",
    b"][error_sighandler]",
    b"_MRAILI_Cq_poll_",
)
_SHAPES = re.compile(b"|".join(re.escape(shape(mark)) for mark in _MARKS))
_SHAPE_PARAMETERS = shape(b" Parameters")


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader."""
    if _SHAPE_PARAMETERS in form:
        return CONTEXT  # that of a second run may be alike
    return KEEP if _SHAPES.search(form) else IGNORE


def read(line: Line) -> Iterator[Version | Provider | SharedMemory | Failure]:
    """What the line says. Never raises."""
    speaker = _SPEAKER.search(line.text)
    host, rank = (speaker["host"], int(speaker["rank"])) if speaker else (None, line.rank)
    said = Said(line.number, line.raw, host, None, rank)
    if found := _VERSION.search(line.text):
        yield Version(said, NAME, found.group(1))
    elif (found := _HCA.match(line.text)) and found.group(1) != "MV2_HCA_UNKWN":
        yield Provider(said, NAME, "mrail", found.group(1))
    elif _SHARES.match(line.text):
        yield SharedMemory(said, NAME)
    elif _MRAIL.search(line.text):
        yield Provider(said, NAME, "mrail")
    elif _CAUGHT.search(line.text):
        yield Failure(said, "job", "died", True, host, detail=NAME)
    elif _NO_HCA.search(line.text):
        yield Failure(said, "mvapich2", "no-port", True, host)
    elif _NO_MEMORY.search(line.text):
        yield Failure(said, "mvapich2", "memlock", True, host)
    elif _BROKEN.search(line.text):
        yield Failure(said, "mvapich2", "broken", True, host)
