"""The shipped JSON Schemas let new keys pass, as docs/json.md promises; the tests' strict ones do not."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from support.schemas import FOLDER, strict

NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


def objects(schema: Any) -> list[dict[str, Any]]:
    found = [schema] if isinstance(schema, dict) and isinstance(schema.get("properties"), dict) else []
    inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    return found + [each for value in inner for each in objects(value)]


@pytest.mark.parametrize("name", NAMES)
def test_a_new_key_breaks_no_script(name: str) -> None:
    schema = json.loads((FOLDER / f"{name}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert objects(schema)
    assert [one for one in objects(schema) if one.get("additionalProperties") is False] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_tests_see_a_key_that_is_not_described(name: str) -> None:
    assert all(one["additionalProperties"] is False for one in objects(strict(name)) if "type" in one)
