"""What is to be done after an answer about a job, in words: the same for people and in the document."""

from __future__ import annotations

from ibkit.display import and_more, clean
from ibkit.model.host_matrix import Matrix, fold
from ibkit.model.mpi import Layer
from ibkit.model.node_set import natural, short_names
from ibkit.transport.words import RDMA

#: Characters of a set of hosts' names.
_MAX_NAME = 44
_NO_REASON = (
    "no line says why: look at `ibkit status` and at /proc/PID/limits of a rank on {hosts}; "
    "`ibkit check-mpi-transport --explain` lists what it can be"
)
_UNSEEN_PARAMETER = (
    "a parameter that no line shows has left tcp and self alone: look for it in the command line, OMPI_MCA_btl, "
    "~/.openmpi/mca-params.conf, etc/openmpi-mca-params.conf; --mca mpi_show_mca_params file,environment prints it"
)


def layer_step(layer: Layer, matrix: Matrix | None = None) -> str | None:
    """What the layer says is to be done; where no line proves a reason, where to look for it. ``matrix`` is the layer
    folded, if it is known already.
    """
    if layer.next_step or layer.status == "undecided":
        return layer.next_step
    if layer.status == "by-configuration" and layer.runtime == "Open MPI" and not layer.reasons:
        return _UNSEEN_PARAMETER
    if layer.reasons or layer.status not in ("fallback", "mixed"):
        return None
    matrix = matrix or fold(layer)
    known = {cell.transport for cell in matrix.between}
    if known and known <= RDMA:
        return None  # InfiniBand here and RoCE there
    odd = _without_rdma(matrix) if layer.status == "mixed" else []
    return _NO_REASON.format(hosts=name_of_groups(matrix, odd) if odd else "each host")


def name_of_groups(matrix: Matrix, numbers: list[int]) -> str:
    """The hosts of some groups."""
    if len(numbers) == 1:
        name, hosts = matrix.groups[numbers[0]][:2]
    else:
        hosts = tuple(host for number in numbers for host in matrix.groups[number].hosts)
        hosts = tuple(sorted(hosts, key=natural))
        name = ",".join(short_names(hosts))
    name = clean(name, 4096)
    return name if len(name) <= _MAX_NAME else f"{clean(hosts[0])}{and_more(len(hosts) - 1, 'host')}"


def _without_rdma(matrix: Matrix) -> list[int]:
    """The groups of which no pair is known to use RDMA, where pairs of others do."""
    having = {number for cell in matrix.between if cell.transport in RDMA for number in (cell.row, cell.column)}
    named = {number for cell in matrix.between for number in (cell.row, cell.column)}
    return sorted(named - having) if having else []
