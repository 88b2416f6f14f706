"""How much memory the programs that start jobs let them lock: what counts is their limit, not that of this shell."""

from __future__ import annotations

from collections.abc import Iterator

from ibkit.model.checks import LIMITED, OK, Check, Fix
from ibkit.sources.base import Source

#: Units whose children are jobs. sshd's get the limits of pam_limits on top, where PAM is used.
UNITS = ("slurmd", "pbs", "pbs_mom", "lsfd", "sge_execd", "flux", "kubelet", "containerd", "docker", "sshd", "ssh")
COMMAND = ("systemctl", "show", "-p", "Id", "-p", "LoadState", "-p", "LimitMEMLOCK", *UNITS)
_UNLIMITED = ("infinity", str((1 << 64) - 1))


def launcher_checks(source: Source) -> Iterator[Check]:
    """One check for each unit that is there; none without systemd. Format: systemctl(1), ``show``."""
    inherit = "jobs that this unit starts inherit its limit of locked memory; MPI and NCCL need more than a few MiB"
    slurm = f"{inherit}. Slurm sets the submitting shell's limit over it, unless PropagateResourceLimitsExcept=MEMLOCK"
    answer = source.run(COMMAND, deadline_seconds=10)
    seen = set()
    for block in answer.out.split("\n\n"):
        known = dict(line.partition("=")[::2] for line in block.splitlines())
        name, limit = known.get("Id", "").removesuffix(".service"), known.get("LimitMEMLOCK", "")
        if known.get("LoadState") != "loaded" or not limit or name in seen:
            continue
        seen.add(name)  # ssh and sshd are names of one unit
        means = slurm if name == "slurmd" else inherit
        if limit in _UNLIMITED:
            yield Check(f"memlock-{name}", OK, f"{name}: unlimited", means)
        elif limit.isascii() and limit.isdigit() and len(limit) < 20:
            fixes = [Fix("any", f"systemctl edit {name}   # [Service] LimitMEMLOCK=infinity, then restart it")]
            if name in ("ssh", "sshd"):
                limits = (
                    "printf '* soft memlock unlimited\\n* hard memlock unlimited\\n' > /etc/security/limits.d/rdma.conf"
                )
                fixes.insert(0, Fix("any", limits))
            yield Check(
                f"memlock-{name}", LIMITED, f"{name}: {int(limit) >> 10} KiB of locked memory", means, tuple(fixes)
            )
