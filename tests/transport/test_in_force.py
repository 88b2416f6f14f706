"""Which settings were in force: what goes before a parameter file, and files that disagree."""

from __future__ import annotations

from ibkit.parsers.job_facts import Said, Scope, Setting
from ibkit.transport.evidence import File, Mark
from ibkit.transport.logs.in_force import in_force


def setting(line: int, value: str, *, order: int = 0, scope: Scope = "printed") -> tuple[Setting, Mark]:
    said = Said(line, f"btl = {value}")
    return Setting(said, "ompi", "btl", value, scope), File(order, f"file{order}").mark(said)


def values(*settings: tuple[Setting, Mark]) -> list[str]:
    return [one.value for one, _ in in_force(settings)]


def test_a_parameter_file_counts_where_nothing_else_sets_the_name() -> None:
    assert values(setting(3, "tcp,self", scope="parameters")) == ["tcp,self"]


def test_the_environment_goes_before_a_parameter_file_wherever_it_stands() -> None:
    assert values(setting(1, "^tcp"), setting(3, "tcp,self", order=1, scope="parameters")) == ["^tcp"]
    assert values(setting(1, "^tcp"), setting(3, "tcp,self", scope="parameters")) == ["^tcp"]


def test_parameter_files_that_disagree_tell_nothing() -> None:
    assert values(setting(1, "^openib", scope="parameters"), setting(9, "tcp,self", order=1, scope="parameters")) == []
