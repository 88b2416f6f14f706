"""What makes Open MPI tell its transport, and what is to be done where it tells itself why it does without RDMA."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TABLE = "--mca hook_comm_method_display mpi_finalize"
_VERBOSE = (
    "--mca btl_base_verbose 100 --mca pml_base_verbose 100, and with UCX -x UCX_LOG_LEVEL=info "
    "--mca pml_ucx_verbose 100"
)
_OB1_STEP = (
    "pml ob1 sends by a btl that no line names, and a parameter file (openmpi-mca-params.conf) may leave TCP alone, "
    "even within a host: run again with --mca btl_base_verbose 100, which tells the btl to each peer (1.8 and later)"
)
_LIBFABRIC_STEP = (
    "Open MPI sends by a libfabric provider that no line names: run again with --mca opal_common_ofi_verbose 1 (before "
    "4.1: --mca mtl_base_verbose 100), or -x FI_LOG_LEVEL=info"
)
_OF_PML = {
    **dict.fromkeys(("ob1", "bfo", "csum"), _OB1_STEP),
    "ucx": "pml ucx is UCX, over whatever it finds: run again with -x UCX_LOG_LEVEL=info",
    "cm": "pml cm sends by an mtl that no line names: run again with --mca mtl_base_verbose 100",
}
#: Modules of networks for which there is no verdict.
_NETWORKS = {
    "elan": "Quadrics", "gm": "Myrinet", "mx": "Myrinet", "portals": "Cray's SeaStar",
    "portals4": "Portals 4, of Bull's BXI or over something else", "ugni": "Cray's Gemini or Aries",
    "usnic": "Cisco's usNIC, UDP over Ethernet past the kernel", "udapl": "uDAPL, over whatever its provider is",
}  # fmt: skip
#: By the topic of the message in which it tells why.
MENDS = {
    "openib-off": "openib tells itself why it was not used (the line of class failure below, and those that follow it "
    "in the log): mend what it names, or leave the HCA to UCX (Open MPI 4 and later)",
    "ucx-off": "Open MPI refuses this version of UCX (the line of class failure below): use a newer UCX",
}
_NUMBERS = re.compile(r"\d{1,6}")


def transport_step(version: str | None) -> str:
    """What to add to the next run so that a release tells its transport; any release where it is not known.

    The table is there from 5.0 on, lines about the module to a peer from 1.8 on (ompi/mca/bml/r2/bml_r2.c).
    """
    if version is None:
        return f"run again with the line that decides: Open MPI 5: {_TABLE}; older: {_VERBOSE}"
    release = [int(number) for number in _NUMBERS.findall(version)[:2]]
    if release >= [5]:
        return f"run again with {_TABLE}"
    if release >= [1, 8]:
        return f"run again with {_VERBOSE}"
    return (
        "before 1.8 no line names the module to a peer: run again with --mca btl openib,sm,self, which leaves no TCP; "
        "if it goes on, then by openib"
    )


def pml_step(pml: str) -> str | None:
    """The same where the pml is all that is known."""
    return _OF_PML.get(pml)


def module_step(modules: Iterable[str]) -> str | None:
    """Where these modules carry, and one of them leaves open what is below it, or is of a network without a verdict."""
    modules = set(modules)
    if others := [f"{name} ({_NETWORKS[name]})" for name in sorted(modules & _NETWORKS.keys())]:
        return (
            f"Open MPI names what it sends by: {', '.join(others)}. There is no verdict for that, and no other line "
            "would tell more"
        )
    return _LIBFABRIC_STEP if "ofi" in modules else None
