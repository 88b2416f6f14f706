"""docs/accuracy.md says what the judge does today."""

from pathlib import Path

import accuracy

DOCUMENT = Path(__file__).parents[2] / "docs/accuracy.md"


def test_the_page_is_what_the_corpus_gives() -> None:
    counts = accuracy.score()
    assert counts[accuracy.WRONG] == 0
    assert counts.total() >= 150
    assert DOCUMENT.read_text() == accuracy.document(counts), "write it again: tools/accuracy.py"


def test_a_wrong_verdict_would_be_counted(tmp_path, monkeypatch) -> None:
    folder = tmp_path / "case"
    folder.mkdir()
    log = Path(accuracy.JOBS) / "intel-2021-tcp-two-hosts/job.log"
    (folder / "job.log").write_bytes(log.read_bytes())
    (folder / "truth.json").write_text('{"target": "job.log", "verdict": "ib"}')
    monkeypatch.setattr(accuracy, "JOBS", str(tmp_path))
    assert accuracy.score() == {accuracy.WRONG: 1}
