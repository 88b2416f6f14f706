"""``ibkit consumers``: what a pasted list gives, exit statuses, hostile names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ibkit.cli.consumers import _container
from ibkit.cli.main import main
from ibkit.model.consumers import Owner

TOOLS = Path(__file__).parents[2] / "fixtures/tools"


@pytest.mark.parametrize("name", ["queue-pairs", "queue-pairs-json"])
def test_a_pasted_list(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["consumers", "--from", str(TOOLS / f"rdma/{name}.txt")]) == 0
    out = capsys.readouterr().out
    assert "pp.ompi                         89   ?     rxe0    1 UD RTS, 2 RC RTS  ?   ?   -" in out
    assert "rxe0 qpn 25 (pp.ompi 89) - rxe0 qpn 26 (pp.ompi 90), by numbers" in out


def test_the_column_of_containers() -> None:
    assert _container(Owner("process", container="docker 4f", own_namespaces=("mnt",))) == "docker 4f"
    assert _container(Owner("process", own_namespaces=("mnt", "user"))) == "own mnt, user"
    assert _container(Owner("process", own_namespaces=())) == _container(Owner("process")) == "-"


def test_every_queue_pair(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["consumers", "-v", "--from", str(TOOLS / "rdma/queue-pairs.txt")]) == 0
    assert "rxe0    1     25   26        RC    RTS    pp.ompi                         89" in capsys.readouterr().out


def test_a_list_of_connections_alone_does_not_list_queue_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["consumers", "--json", "--from", str(TOOLS / "rdma/connections.txt")]) == 3
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"], len(document["connections"]), document["queue_pairs"]) == ("unknown", 4, [])


def test_a_file_of_another_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["consumers", "--from", str(TOOLS / "ibstat/two-devices.txt")]) == 2
    assert "this is ibstat output, which is for `ibkit status`" in capsys.readouterr().err


def test_a_name_of_a_process_does_not_reach_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = '[{"ifindex":0,"ifname":"m","port":1,"lqpn":5,"type":"RC","state":"RTS","pid":5,"comm":"\\u001b[2Jx"}]'
    (tmp_path / "it").write_text(text)
    assert main(["consumers", "--from", str(tmp_path / "it")]) == 0
    assert "\x1b" not in capsys.readouterr().out
