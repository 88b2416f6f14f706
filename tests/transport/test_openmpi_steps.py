"""What makes Open MPI tell its transport fits the release that the log shows."""

from __future__ import annotations

import pytest
from support.job_logs import bml_lines, judged, text

REFUSED = ["[e01:13377] 15 more processes have sent help message help-mpi-btl-openib.txt / no active ports found"]


@pytest.mark.parametrize(
    ("version", "has", "lacks"),
    [
        ("5.0.6", "hook_comm_method_display mpi_finalize", "btl_base_verbose"),
        ("4.1.5", "btl_base_verbose 100", "hook_comm_method"),
        ("1.10.7", "btl_base_verbose 100", "hook_comm_method"),
        ("1.6.5", "--mca btl openib,sm,self", "verbose"),
        (None, "Open MPI 5: --mca hook_comm_method_display", "1.8"),
    ],
)
def test_the_step_of_a_release(version: str | None, has: str, lacks: str) -> None:
    head = [f"mpirun (Open MPI) {version}"] if version else []
    (layer,) = judged(text(head, REFUSED)).layers
    assert layer.next_step is not None
    assert has in layer.next_step
    assert lacks not in layer.next_step


@pytest.mark.parametrize("module", ["usnic", "ugni", "mx", "portals4", "udapl"])
def test_a_network_without_a_verdict_is_named(module: str) -> None:
    (layer,) = judged(text(bml_lines(btl=module))).layers
    assert (layer.verdict, layer.status) == ("unknown", "undecided")
    assert layer.next_step is not None and f"sends by: {module} (" in layer.next_step


def chosen(*lines: str) -> list[str]:
    return [f"[n0{host}:0010{host}] {line}" for host in (1, 2) for line in lines]


def test_libfabric_without_its_provider_is_asked_for_it() -> None:
    (layer,) = judged(text(chosen("select: component ofi selected", "select: component cm selected"))).layers
    assert layer.verdict == "unknown"
    assert layer.next_step is not None and "opal_common_ofi_verbose" in layer.next_step


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("pml_ucx.c:203 UCX PML is disabled because the run-time UCX version is 1.8, which has", "newer UCX"),
        ("WARNING: fork() support was requested for the OpenFabrics (openib)", "openib tells itself why"),
    ],
)
def test_what_open_mpi_tells_itself_of_why_is_pointed_to(line: str, word: str) -> None:
    answer = judged(text(f"[n01:00100] {line}", bml_lines()))
    (layer,) = answer.layers
    assert (layer.verdict, layer.status, layer.reasons) == ("tcp", "fallback", ())
    assert layer.next_step is not None and word in layer.next_step
    assert [item.text for item in answer.evidence if item.evidence_class == "failure"] == [f"[n01:00100] {line}"]
