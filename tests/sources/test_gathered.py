"""What pdsh, dshbak and clush gathered of several hosts: each host gets its own text, and a subnet is one text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.cli.main import main
from ibkit.errors import UnreadableInput
from ibkit.sources.base import NOT_RECORDED
from ibkit.sources.gathered import texts_of_hosts
from ibkit.sources.opening import open_site
from ibkit.sources.raw import require_tool
from ibkit.sources.site import Site

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
IBSTAT = (TOOLS / "ibstat/two-devices.txt").read_text()
OTHER = IBSTAT.replace("State: Active", "State: Initializing")
SWEEP = (TOOLS / "ibnetdiscover/ports-report.txt").read_text()
NO_TOOL = "bash: line 1: ibstat: command not found\n"


def pdsh(**texts: str) -> str:
    return "".join(f"{host}: {line}" for host, text in texts.items() for line in text.splitlines(keepends=True))


def dshbak(*blocks: tuple[str, str], rule: str = "-" * 16) -> str:
    """As the script prints it, a rule above and below the names."""
    return "".join(f"{rule}\n{names}\n{rule}\n{text}" for names, text in blocks)


def site(tmp_path: Path, text: str) -> Site:
    (tmp_path / "gathered.txt").write_text(text)
    return open_site(str(tmp_path / "gathered.txt"))


def texts(found: Site, tool: str = "ibstat") -> dict[str, str]:
    return {host.name: host.source.run((tool,)).out for host in found.hosts}


def test_a_folded_block_is_the_text_of_each_of_its_hosts(tmp_path: Path) -> None:
    found = site(tmp_path, dshbak(("n[01-03,07],login1", IBSTAT), ("n04", OTHER)))
    assert found.origin.label == "gathered.txt (6 hosts)"
    assert texts(found) == {**dict.fromkeys(("n01", "n02", "n03", "n07", "login1"), IBSTAT), "n04": OTHER}


def test_dshbak_without_folding_and_with_carriage_returns(tmp_path: Path) -> None:
    found = site(tmp_path, dshbak(("n01", IBSTAT), ("n02", IBSTAT)).replace("\n", "\r\n"))
    assert texts(found) == {"n01": IBSTAT, "n02": IBSTAT}


def test_clush_counts_its_hosts_and_tells_first_who_failed(tmp_path: Path) -> None:
    text = "clush: n05: exited with exit code 127\n" + dshbak(("n[1-2] (2)", IBSTAT), rule="-" * 15)
    assert texts(site(tmp_path, text)) == {"n05": "exited with exit code 127\n", "n1": IBSTAT, "n2": IBSTAT}


def test_what_pdsh_says_of_a_host(tmp_path: Path) -> None:
    """Beside the hosts' lines, and folded by dshbak below a heading of its own."""
    said = "n03: ssh exited with exit code 255\n"
    alone = site(tmp_path, f"{pdsh(n01=IBSTAT)}pdsh@head: {said}")
    folded = site(tmp_path, dshbak(("n01", IBSTAT), ("pdsh@head", said)))
    for found in (alone, folded):
        assert texts(found) == {"n01": IBSTAT, "n03": "ssh exited with exit code 255\n"}


def test_a_host_without_the_tool_does_not_void_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gathered.txt").write_text(pdsh(n01=IBSTAT, n02=NO_TOOL, n03=IBSTAT))
    status = main(["status", "--json", "--from", str(tmp_path / "gathered.txt")])
    document = json.loads(capsys.readouterr().out)
    assert (status, document["verdict"]) == (3, "unknown")
    assert [device["host"] for device in document["devices"]] == ["n01", "n01", "n03", "n03"]
    (problem,) = document["problems"]
    assert (problem["kind"], problem["source"]) == ("tool-failed", "n02: ibstat")
    assert "command not found" in problem["text"]


def test_problems_on_stderr_name_their_host(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gathered.txt").write_text(pdsh(n01=IBSTAT, n02=NO_TOOL))
    main(["status", "--from", str(tmp_path / "gathered.txt")])
    assert "ibkit: n02: ibstat: ibstat: bash: line 1" in capsys.readouterr().err


def test_a_subnet_that_all_hosts_tell_alike_is_one(tmp_path: Path) -> None:
    found = site(tmp_path, dshbak(("head[1-2]", SWEEP)))
    require_tool(found, ("ibnetdiscover",), "fabric")
    assert found.subnet.run(("ibnetdiscover", "-p")).out == SWEEP


def test_a_subnet_that_hosts_tell_differently_is_refused(tmp_path: Path) -> None:
    found = site(tmp_path, dshbak(("head1", SWEEP), ("head2", SWEEP.replace("Switch", "switch", 1))))
    with pytest.raises(UnreadableInput, match=r"texts of 2 hosts, which differ, and `ibkit fabric` shows one subnet"):
        require_tool(found, ("ibnetdiscover",), "fabric")
    assert found.subnet.run(("ibnetdiscover",)).failure == NOT_RECORDED
    with pytest.raises(UnreadableInput, match="this is ibnetdiscover output, which is for `ibkit fabric`"):
        require_tool(found, ("sminfo",), "sm")


def test_a_command_of_hosts_reads_what_any_host_holds(tmp_path: Path) -> None:
    found = site(tmp_path, pdsh(n01=(TOOLS / "rdma/link.txt").read_text(), n02=IBSTAT))
    require_tool(found, ("ibstat",), "status", each_host=True)
    with pytest.raises(UnreadableInput):
        require_tool(found, ("sminfo",), "status", each_host=True)


def test_a_capture_of_it_replays_to_the_same_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gathered.txt").write_text(dshbak(("n[01-02]", IBSTAT), ("n03", NO_TOOL)))
    main(["capture", "--from", str(tmp_path / "gathered.txt"), "-o", str(tmp_path / "it")])
    capsys.readouterr()
    documents = []
    for place in ("gathered.txt", "it"):
        status = main(["status", "--json", "--from", str(tmp_path / place)])
        documents.append((status, capsys.readouterr().out))
    assert documents[0] == documents[1]


@pytest.mark.parametrize(
    "text",
    [
        dshbak(("no names here", IBSTAT)), dshbak(("n[3-1]", IBSTAT)), dshbak(("n[1-99999999]", IBSTAT)),
        "-" * 16 + "\nn01\n", IBSTAT,
    ],
    ids=["prose", "backwards", "absurd", "cut", "one-host"],
)  # fmt: skip
def test_what_is_no_block(text: str) -> None:
    assert texts_of_hosts(text.encode()) == {}


@given(st.text(alphabet=st.sampled_from("-n1[]:,()@ pdsh\n\r"), max_size=200))
def test_no_text_stops_it(text: str) -> None:
    assert all(texts_of_hosts(("-" * 16 + "\n").join(text.split("@")).encode()))
