"""ibkit.consumers/1: its schema, and that places in its lists hold over several hosts."""

from __future__ import annotations

import json

import jsonschema
from support.schemas import strict

from ibkit.export.consumers import COLUMNS, consumers_document, consumers_rows, verdict
from ibkit.model.consumers import Connection, Consumers, Owner, Pair, QueuePair, Use
from ibkit.parsers.base import Problem

SCHEMA = strict("consumers")


def host(name: str) -> Consumers:
    return Consumers(
        name,
        (
            Owner("process", 89, "pp.ompi", threads=(89, 99), confirmed=True, environment=(("UCX_TLS", "rc"),)),
            Owner("kernel", name="ib_ipoib", service="IPoIB"),
        ),
        (QueuePair("mlx5_0", 1, 5, 0, 6, "RC", "RTS", 7, 8), QueuePair("mlx5_0", 1, 6, 1, 5, "RC", "RTS")),
        (Connection("mlx5_0", 1, 1, 6),),
        (Pair(0, 1, "numbers"),),
        (Use(0, "mlx5_0", 1, 0, 1), Use(1, "mlx5_0", 1)),
        (Problem("not-permitted", "maps of process 89: only its user may look", None, "/proc/PID"),),
    )


def test_places_in_the_lists_of_two_hosts() -> None:
    made = json.loads(json.dumps(consumers_document([host("n01"), host("n02")])))
    jsonschema.validate(made, SCHEMA)
    for pair in made["pairs"]:
        a, b = made["queue_pairs"][pair["a"]], made["queue_pairs"][pair["b"]]
        assert (a["host"], a["qpn"], b["host"], b["qpn"]) == (pair["host"], 5, pair["host"], 6)
    for name in ("queue_pairs", "uses", "connections"):
        for entry in made[name]:
            assert made["owners"][entry["owner"]]["host"] == entry["host"]
    assert made["problems"][1]["source"] == "n02: /proc/PID"
    assert made["owners"][0]["environment"] == {"UCX_TLS": "rc"}
    assert made["owners"][1]["environment"] is None


def test_rows() -> None:
    (rank, kernel) = consumers_rows([host("n01")])
    assert dict(zip(COLUMNS, rank, strict=True)) == {
        "host": "n01", "kind": "process", "pid": 89, "name": "pp.ompi", "service": None, "uid": None,
        "container": None, "device": "mlx5_0", "qp": 1, "cm_id": 0, "ctx": 1, "pd": None, "mr": None, "cq": None,
        "states": "1 RC RTS",
    }  # fmt: skip
    assert kernel[COLUMNS.index("service")] == "IPoIB"


def test_what_could_not_be_listed_is_unknown() -> None:
    assert verdict([host("n01")]) == "ok"
    assert verdict([host("n01"), Consumers("n02", listed=False)]) == "unknown"
    assert verdict([]) == "unknown"
