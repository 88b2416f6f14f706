"""ibkit.parsers.records.NamedTuple behaves as typing.NamedTuple does: each class here is made with both."""

from __future__ import annotations

import copy
import json
import pickle
import typing
from typing import Any, Generic, TypeVar

import pytest

from ibkit.parsers import records

T = TypeVar("T")


class OursPort(records.NamedTuple):
    """A port."""

    number: int
    state: str | None = None
    lids: tuple[int, ...] = ()

    @property
    def is_up(self) -> bool:
        return self.state == "Active"

    def __str__(self) -> str:
        return f"port {self.number}"


class TheirsPort(typing.NamedTuple):
    """A port."""

    number: int
    state: str | None = None
    lids: tuple[int, ...] = ()

    @property
    def is_up(self) -> bool:
        return self.state == "Active"

    def __str__(self) -> str:
        return f"port {self.number}"


class OursBox(records.NamedTuple, Generic[T]):
    value: T
    problems: tuple[str, ...] = ()


class TheirsBox(typing.NamedTuple, Generic[T]):
    value: T
    problems: tuple[str, ...] = ()


@pytest.fixture(params=[OursPort, TheirsPort])
def port(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=[OursBox, TheirsBox])
def box(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_positions_names_and_defaults(port: Any) -> None:
    assert port(1) == (1, None, ()) == port(number=1) == port(1, None, lids=())
    assert port(1, "Active", (4,)).lids == (4,)
    assert port(2, state="Active").is_up and not port(2).is_up
    assert str(port(2)) == "port 2"


@pytest.mark.parametrize("arguments", [((), {}), ((1, 2, 3, 4), {}), ((1,), {"number": 1}), ((1,), {"nonsense": 1})])
def test_wrong_arguments(port: Any, arguments: tuple[tuple[int, ...], dict[str, int]]) -> None:
    with pytest.raises(TypeError):
        port(*arguments[0], **arguments[1])


def test_is_a_tuple_and_frozen(port: Any) -> None:
    number, state, lids = made = port(1, "Down")
    assert (number, state, lids) == (1, "Down", ())
    assert isinstance(made, tuple) and hash(made) == hash((1, "Down", ()))
    assert json.dumps(made) == '[1, "Down", []]'
    with pytest.raises(AttributeError):
        made.number = 2
    with pytest.raises(AttributeError):
        made.other = 2
    assert not hasattr(made, "__dict__")


def test_named_tuple_interface(port: Any) -> None:
    made = port(1, "Down")
    assert port._fields == port.__match_args__ == ("number", "state", "lids")
    assert port._field_defaults == {"state": None, "lids": ()}
    assert port._make([1, "Down", ()]) == made
    assert made._asdict() == {"number": 1, "state": "Down", "lids": ()}
    assert made._replace(state="Active") == (1, "Active", ())
    assert type(made._replace(number=3)) is port
    assert repr(made) == f"{port.__name__}(number=1, state='Down', lids=())"
    with pytest.raises((ValueError, TypeError)):
        made._replace(nonsense=1)
    with pytest.raises(TypeError):
        port._make([1, 2, 3, 4])
    assert port.__doc__ == "A port."


def test_tuple_new_needs_no_record_before(box: Any) -> None:
    """The shortest way to make one in a loop; the fields answer although nothing was compiled yet."""
    assert tuple.__new__(box, ("a", ("b",))).problems == ("b",)


def test_copies_and_pickles(port: Any) -> None:
    made = port(1, lids=(1, 2))
    for again in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert again == made and type(again) is port


def test_patterns(port: Any) -> None:
    match port(1, "Active"):
        case OursPort(number, state) | TheirsPort(number, state):
            assert (number, state) == (1, "Active")
        case _:
            pytest.fail("not matched")


def test_generic(box: Any) -> None:
    made = box[int](1)
    assert made.value == 1 and made.problems == ()
    assert type(made) is box


def test_derived_class(port: Any) -> None:
    class Special(port):  # type: ignore[misc]
        __slots__ = ()

        def double(self) -> int:
            return int(self.number) * 2

    assert Special(2).double() == 4
    assert type(Special(2)) is Special and isinstance(Special(2), port)


def test_a_record_without_fields_is_refused() -> None:
    """In place of a class that silently has none, where a Python keeps annotations elsewhere."""
    with pytest.raises(TypeError, match="no fields"):

        class Nothing(records.NamedTuple):
            pass
