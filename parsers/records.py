"""``NamedTuple`` for records that are made on every start.

``typing.NamedTuple`` compiles each annotation and a constructor while a class is being defined, 0.15 to 0.4 ms a class,
and some thirty records are defined before `ibkit status` prints a word: more than half of what the interpreter itself
needs to start. This one compiles a constructor when the first record of the class is made, and annotations never.
It behaves as ``typing.NamedTuple`` does in all else, and is that for type checkers.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what typing has under this name, without importing it: type checkers know the name
if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from _collections import _tuplegetter  # what collections.namedtuple makes its fields of
    from collections import namedtuple

    class _RecordType(type):
        """Makes the class of a record; see the module."""

        def __new__(meta, name, bases, namespace):
            if not bases:
                return super().__new__(meta, name, (tuple,), namespace)
            if NamedTuple not in bases:
                return super().__new__(meta, name, bases, namespace)  # a class derived from a record
            fields = tuple(namespace.get("__annotations__", ()))
            if not fields:
                raise TypeError(f"{name} has no fields; its module needs `from __future__ import annotations`")
            defaults = {field: namespace.pop(field) for field in fields if field in namespace}

            def first_new(cls, /, *args, **kwargs):
                made.__new__ = namedtuple(name, fields, defaults=defaults.values()).__new__
                return made.__new__(cls, *args, **kwargs)

            for index, field in enumerate(fields):
                namespace[field] = _tuplegetter(index, f"Field number {index}")
            namespace.update(_fields=fields, _field_defaults=defaults, __match_args__=fields, __slots__=())
            namespace["__new__"] = first_new
            made = super().__new__(meta, name, bases, namespace)
            return made

    class NamedTuple(metaclass=_RecordType):
        """The base of a record: ``class Port(NamedTuple)`` with its fields as annotations."""

        __slots__ = ()

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def _replace(self, /, **changes):
            replaced = type(self)(*map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"unknown fields: {sorted(changes)}")
            return replaced

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            texts = ", ".join(f"{field}={value!r}" for field, value in self._asdict().items())
            return f"{type(self).__name__}({texts})"

        def __getnewargs__(self):
            return tuple(self)
