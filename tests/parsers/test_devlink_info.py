"""``devlink -j dev info``: the shape that iproute2 writes, and what is none of it."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.devlink_info import CardVersions, parse

#: A card with new firmware in its flash, and a virtual function, which tells nothing.
TOLD = """{"info":{"pci/0000:18:00.0":{"driver":"mlx5_core","versions":{"fixed":{"fw.psid":"MT_0000000838"},
"running":{"fw.version":"28.39.1002","fw":"28.39.1002"},"stored":{"fw.version":"28.41.1000","fw":"28.41.1000"}}},
"pci/0000:18:00.2":{"driver":"mlx5_core"},"auxiliary/mlx5_core.sf.4":{"driver":"mlx5_core.sf"}}}
"""


def test_cards() -> None:
    old, new = ({"fw.version": version, "fw": version} for version in ("28.39.1002", "28.41.1000"))
    assert parse(TOLD) == (
        (CardVersions("0000:18:00.0", "mlx5_core", old, new), CardVersions("0000:18:00.2", "mlx5_core", {}, {})), (),
        True,
    )  # fmt: skip


def test_the_same_printed_for_people() -> None:
    assert parse(json.dumps(json.loads(TOLD), indent=4)) == parse(TOLD)


@pytest.mark.parametrize("text", ["", "[]", '{"info": []}', TOLD[:200], "[" * 100_000, "Failed to connect\n"])
def test_what_it_does_not_read(text: str) -> None:
    with pytest.raises(NotThisFormat):
        parse(text)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.dictionaries(
                st.sampled_from(["info", "pci/0000:18:00.0", "versions", "running", "stored", "driver"]), inner
            )
            | st.lists(inner)
        ),
    )
)
def test_any_json_is_read_or_refused(value: Any) -> None:
    with contextlib.suppress(NotThisFormat):
        parse(json.dumps(value))
        parse(json.dumps({"info": value}))
