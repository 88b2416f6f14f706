"""/proc of a host with two MPI ranks on SoftRoCE, as a guest of Linux 6.1 had it; rank 89's helper thread is 99."""

from __future__ import annotations

RANK_STATUS = """Name:\tpp.ompi
Umask:\t0022
State:\tR (running)
Tgid:\t{tgid}
Ngid:\t0
Pid:\t{pid}
PPid:\t83
Uid:\t1000\t1000\t1000\t1000
NSpid:\t{inner}
VmLck:\t       0 kB
VmPin:\t  103176 kB
Threads:\t4
"""
LIMITS = (
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max locked memory         {soft:<20} {hard:<20} bytes     \n"
)


def rank_files(pid: int, *, tgid: int | None = None, inner: str | None = None, cgroup: str = "/") -> dict[str, str]:
    """The files of a rank, or of its thread where ``tgid`` is another id."""
    status = RANK_STATUS.format(pid=pid, tgid=tgid or pid, inner=inner or pid)
    if tgid:
        return {f"/proc/{pid}/status": status.replace("pp.ompi", "async")}
    return {
        f"/proc/{pid}/status": status,
        f"/proc/{pid}/limits": LIMITS.format(soft="unlimited", hard="unlimited"),
        f"/proc/{pid}/cgroup": f"0::{cgroup}\n",
        f"/proc/{pid}/maps": "/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0\n/usr/lib/libucp.so.0.0.0",
        f"/proc/{pid}/environ": "UCX_TLS=rc,self\0OMPI_COMM_WORLD_RANK=0",
    }
