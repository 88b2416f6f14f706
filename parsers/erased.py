"""The names of ``typing`` that only type checkers look at, without importing it: that is 3 ms of every start.

Annotations are never evaluated (`from __future__ import annotations`), so what stands there need not exist; as a base
class each of these is an empty one.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what typing has under this name: type checkers know the name
if TYPE_CHECKING:
    from typing import Any as Any
    from typing import BinaryIO as BinaryIO
    from typing import Generic as Generic
    from typing import NoReturn as NoReturn
    from typing import Protocol as Protocol
    from typing import TypeVar as TypeVar
else:

    class _Erased:
        __slots__ = ()

        def __class_getitem__(cls, item):
            return cls

    Any = BinaryIO = Generic = NoReturn = Protocol = _Erased

    def TypeVar(name):
        """Nothing that anybody looks at."""
        return name
