"""Who uses the RDMA devices of hosts, as documents: schema ibkit.consumers/1, one CSV row per use (docs/json.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ibkit.export.problems import problems_of
from ibkit.model.consumers import Connection, Consumers, Owner, Pair, QueuePair, Use
from ibkit.parsers.erased import Any

SCHEMA = "ibkit.consumers/1"
OK, UNKNOWN = "ok", "unknown"
COLUMNS = (
    "host", "kind", "pid", "name", "service", "uid", "container", "device", "qp", "cm_id", "ctx", "pd", "mr", "cq",
    "states",
)  # fmt: skip


def verdict(hosts: Sequence[Consumers]) -> str:
    """``ok`` where the queue pairs of all hosts could be listed, however many there are."""
    return OK if hosts and all(host.listed for host in hosts) else UNKNOWN


def consumers_document(hosts: Sequence[Consumers]) -> dict[str, Any]:
    """All of it. Owners are named by their place in ``owners``, queue pairs by theirs in ``queue_pairs``."""
    document: dict[str, Any] = {
        "schema": SCHEMA, "verdict": verdict(hosts), "hosts": [], "owners": [], "uses": [], "queue_pairs": [],
        "pairs": [], "connections": [],
        "problems": [problem._asdict() for problem in problems_of(hosts)],
    }  # fmt: skip
    for host in hosts:
        name = host.host or None
        first_owner, first_pair = len(document["owners"]), len(document["queue_pairs"])
        document["hosts"].append({"host": name, "listed": host.listed})
        document["owners"] += [_owner(name, owner) for owner in host.owners]
        document["uses"] += [_use(name, use, first_owner) for use in host.uses]
        document["queue_pairs"] += [_queue_pair(name, one, first_owner) for one in host.queue_pairs]
        document["pairs"] += [_pair(name, pair, first_pair) for pair in host.pairs]
        document["connections"] += [_connection(name, one, first_owner) for one in host.connections]
    return document


def consumers_rows(hosts: Sequence[Consumers]) -> Iterator[list[Any]]:
    """One row per owner and device in the order of COLUMNS."""
    for host in hosts:
        for use in host.uses:
            owner = host.owners[use.owner]
            yield [
                host.host or None, owner.kind, owner.pid, owner.name, owner.service, owner.uid, owner.container,
                *use[1:], states(host, use),
            ]  # fmt: skip


def states(host: Consumers, use: Use) -> str:
    """How many queue pairs an owner has on a device, by type and state: ``2 RC RTS, 1 UD RTS``."""
    counts: dict[str, int] = {}
    for one in host.queue_pairs:
        if (one.owner, one.device) == (use.owner, use.device):
            what = f"{one.type or '?'} {one.state or '?'}"
            counts[what] = counts.get(what, 0) + 1
    return ", ".join(f"{count} {what}" for what, count in counts.items())


def _owner(host: str | None, owner: Owner) -> dict[str, Any]:
    made: dict[str, Any] = {"host": host, **owner._asdict()}
    for name in ("threads", "nodes", "libraries", "own_namespaces"):
        made[name] = None if made[name] is None else list(made[name])
    for name in ("environment", "namespaces"):
        made[name] = None if made[name] is None else dict(made[name])
    return made


def _use(host: str | None, use: Use, first_owner: int) -> dict[str, Any]:
    return {"host": host, **use._asdict(), "owner": first_owner + use.owner}


def _queue_pair(host: str | None, one: QueuePair, first_owner: int) -> dict[str, Any]:
    return {"host": host, **one._asdict(), "owner": first_owner + one.owner}


def _pair(host: str | None, pair: Pair, first: int) -> dict[str, Any]:
    return {"host": host, "a": first + pair.a, "b": first + pair.b, "basis": pair.basis}


def _connection(host: str | None, one: Connection, first_owner: int) -> dict[str, Any]:
    return {"host": host, **one._asdict(), "owner": first_owner + one.owner}
