"""Which of many lines are read first: those that tell what differs."""

from ibkit.export.mpi import mpi_document
from ibkit.export.mpi_evidence import names_of_runs, quoted, telling_first
from ibkit.export.mpi_text import lines
from ibkit.model.mpi import Evidence, JobVerdict, Layer, Reason


def item(number: int, transport: str | None, evidence_class: str = "path") -> Evidence:
    return Evidence(number, evidence_class, "job.log", number, f"line {number}", transport=transport)


def numbers(evidence: list[Evidence]) -> list[int]:
    return [one.id for one in evidence]


def test_rare_transport_is_first() -> None:
    many = [item(number, "rdma") for number in range(1, 30)]
    others = [item(30, "shm"), item(31, None, "failure"), item(32, "tcp"), item(33, "tcp")]
    assert numbers(telling_first([*many, *others])) == [32, 33, 31, *range(1, 30), 30]


def test_of_as_many_tcp_is_first() -> None:
    assert numbers(telling_first([item(1, "ib"), item(2, "tcp")])) == [2, 1]


def test_one_transport_stays_in_its_order() -> None:
    evidence = [item(1, "shm"), item(2, "ib"), item(3, None, "failure"), item(4, "ib", "candidate")]
    assert telling_first(evidence) == evidence


def test_each_kind_is_quoted() -> None:
    evidence = [*(item(number, "tcp") for number in range(1, 30)), item(30, None, "failure"), item(31, "rdma")]
    assert numbers(quoted(evidence, 12)) == [*range(1, 11), 30, 31]
    assert quoted(evidence[:12], 12) == evidence[:12]
    assert numbers(quoted(evidence, 2)) == [1, 30]


def test_text_quotes_the_lines_of_one_slow_host() -> None:
    """64 hosts, one of them on TCP: its lines come last in the log, and behind 4,000 others."""
    evidence = (*(item(number, "rdma") for number in range(1, 4000)), item(4000, "tcp"), item(4001, "tcp"))
    answer = JobVerdict("job.log", "mixed", "mixed", (Layer("mpi", "mixed", "mixed"),), evidence)
    told = [line for line in lines(answer) if line.startswith("  [path]")]
    assert len(told) == 12
    assert told[:3] == [f"  [path] job.log:{number}: line {number}" for number in (4000, 4001, 1)]


def test_evidence_names_its_run_where_there_are_several() -> None:
    one = Layer("mpi", "rdma", "as-expected", 1, evidence=(1, 3))
    other = Layer("mpi", "tcp", "fallback", 2, reasons=(Reason("memlock", "", "", (4,)),), evidence=(2, 3))
    assert names_of_runs([one]) == {}
    assert names_of_runs([one, other]) == {1: "run 1", 2: "run 2", 4: "run 2"}  # 3 is of both
    nccl = Layer("nccl", "ib", "as-expected", evidence=(5,))
    assert names_of_runs([one, other, nccl]) == {1: "mpi run 1", 2: "mpi run 2", 4: "mpi run 2"}
    running = [one._replace(process="pid:10"), other._replace(process="pid:20")]
    assert names_of_runs(running) == {1: "job pid:10", 2: "job pid:20", 4: "job pid:20"}


def test_document_and_text_tell_whose_evidence_is() -> None:
    layers = (
        Layer("mpi", "rdma", "as-expected", 1, evidence=(1,)),
        Layer("mpi", "tcp", "fallback", 2, evidence=(2,)),
    )
    answer = JobVerdict("job.log", "mixed", "fallback", layers, (item(1, "rdma"), item(2, "tcp"), item(3, None)))
    told = mpi_document(answer)
    assert [(one["layer"], one["job"]) for one in told["evidence"]] == [("mpi", 1), ("mpi", 2), (None, None)]
    assert [layer["evidence"] for layer in told["layers"]] == [[1], [2]]
    text = "\n".join(lines(answer))
    assert "[path, run 2] job.log:2: line 2" in text
    assert "[path] job.log:3: line 3" in text
