"""Every tool's output is recognised by its content, whatever terminals, mails and other tools did to it."""

from __future__ import annotations

import importlib
import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.cli import main
from ibkit.collectors import counters, fabric, partitions, pasted, routing
from ibkit.collectors.path import TRACE_TOOL
from ibkit.parsers import FORMATS, JOB_COMMAND, holds, identify
from ibkit.parsers.base import NotThisFormat

FIXTURES = Path(__file__).parents[2] / "fixtures"
#: The folder of a sample, and what it is; the command that is to read it where that is not the same for all.
TOOLS = {
    "ibaddr": "ibaddr",
    "ibhosts": "ibhosts, ibswitches or ibnodes",
    "ibdiagnet2.db_csv": "ibdiagnet2.db_csv",
    "ibdiagnet2.net_dump": "ibdiagnet2.net_dump",
    "ibdiagnet2.net_dump_ext": "ibdiagnet2.net_dump_ext",
    "ibdiagnet2.log": "ibdiagnet2.log",
    "iblinkinfo": "iblinkinfo",
    "ibnetdiscover": "ibnetdiscover",
    "ibportstate": "ibportstate",
    "ibqueryerrors": "ibqueryerrors",
    "ibroute": "ibroute",
    "ibsim-console": "ibsim console",
    "ibsim-netlist": "ibsim netlist",
    "ibstat": "ibstat",
    "ibstatus": "ibstatus",
    "ibtracert": "ibtracert",
    "ibdev2netdev": "ibdev2netdev",
    "show_gids": "show_gids",
    "mlxlink": "mlxlink",
    "mlxlink-pcie": "mlxlink --port_type PCIE",
    "ibv_devices": "ibv_devices",
    "ibv_devinfo": "ibv_devinfo",
    "opensm": "opensm log",
    "opensm-lfts.dump": "opensm-lfts.dump",
    "opensm.fdbs": "opensm.fdbs",
    "opensm.mcfdbs": "opensm.mcfdbs",
    "opensm-sa.dump": "opensm-sa.dump",
    "guid2lid": "guid2lid",
    "ibswinfo": "ibswinfo",
    "node-name-map": "node-name map",
    "topology-file": "topology file",
    "cabling-csv": "cabling list",
    "ufm-events": "UFM event log",
    "partitions.conf": "partitions.conf",
    "ibacm_hosts.data": "ibacm_hosts.data",
    "ibacm_addr.cfg": "ibacm_addr.cfg",
    "ibacm_opts.cfg": "ibacm_opts.cfg",
    "ibacm_route.data": "ibacm_route.data",
    "opensm-subnet.lst": "opensm-subnet.lst",
    "perfquery": "perfquery",
    "rdma": "rdma",
    "saquery": "saquery",
    "sminfo": "sminfo",
    "smpquery": "smpquery",
}
COMMANDS = {
    "ibhosts": "parse", "iblinkinfo": "fabric", "ibnetdiscover": "fabric", "ibportstate": "parse",
    "ibqueryerrors": "counters", "perfquery": "counters", "ibroute": "path", "ibtracert": "path", "ibstat": "status",
    "ibstatus": "status", "ibdev2netdev": "status", "show_gids": "status", "mlxlink": "status",
    "ibv_devices": "status", "ibv_devinfo": "status", "rdma": "status",
    **{
        f"rdma/{name}{form}": "consumers"
        for name in ("queue-pairs", "connections", "resources")
        for form in ("", "-json")
    },
    "ibsim-console": "parse", "ibsim-netlist": "parse",
    "ibaddr": "parse", "opensm": "parse", "opensm-lfts.dump": "path", "opensm.fdbs": "path", "opensm.mcfdbs": "parse",
    "opensm-sa.dump": "parse", "guid2lid": "parse", "ibswinfo": "parse", "mlxlink-pcie": "parse",
    "node-name-map": "parse", "topology-file": "parse", "cabling-csv": "parse", "ufm-events": "parse",
    "ibdiagnet2.net_dump_ext": "parse", "ibdiagnet2.log": "parse",
    "ibacm_hosts.data": "parse", "ibacm_addr.cfg": "parse", "ibacm_opts.cfg": "parse", "ibacm_route.data": "parse",
    "opensm-subnet.lst": "fabric",
    "ibdiagnet2.db_csv": "fabric", "ibdiagnet2.net_dump": "parse", "partitions.conf": "partitions",
    "sminfo": "sm", "smpquery": "parse", "saquery": "parse", "saquery/links": "fabric", "saquery/is-sm": "sm",
    "saquery/pkeys": "partitions", "smpquery/pkeys": "partitions",
}  # fmt: skip
SAMPLES = sorted(
    str(path.relative_to(FIXTURES / "tools").with_suffix(""))
    for path in (FIXTURES / "tools").glob("*/*.txt")
    if ".stderr." not in path.name
)
#: Files of jobs that hold no line of a runtime; what they hold would be anybody's.
NOBODYS = {
    "binary-garbage", "blank-lines-only", "empty-log", "prose-with-net-ib", "srun-task-died-alone",
    "ucc-sharp-noise-only",
}  # fmt: skip
JOBS = sorted(
    path.parent.name
    for path in (FIXTURES / "jobs").glob("*/job.log")
    if path.parent.name not in NOBODYS and not path.read_bytes().startswith(b"\xff\xfe")
)


def sample(name: str) -> str:
    return (FIXTURES / "tools" / f"{name}.txt").read_text()


def tool_of(text: str) -> str:
    return identify(text).tool


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_of_real_tools(name):
    folder = name.partition("/")[0]
    found = identify(sample(name))
    assert found.tool.removesuffix(" -j") == TOOLS[folder]
    assert found.command == COMMANDS.get(name, COMMANDS[folder])
    assert holds(sample(name), found.tool)


def test_a_format_names_a_command_that_exists_and_reads_it():
    """Whoever is sent on by a refusal must not be refused there."""
    reads = {
        "status": pasted.TOOLS, "fabric": fabric.READS, "sm": ("sminfo", "saquery"), "consumers": ("rdma",),
        "counters": (counters.SWEEP_TOOL, counters.PORT_TOOL), JOB_COMMAND: ("job log",),
        "partitions": partitions.READS, "path": (TRACE_TOOL, *routing.READS),
    }  # fmt: skip
    assert {*reads, "parse"} <= {command.name for command in main.COMMANDS}
    for form in FORMATS:
        if form.command == "parse":
            # these two print records of many types, which are for several commands or for none
            assert form.tool in ("saquery", "smpquery") or not any(form.tool in tools for tools in reads.values())
            assert "`ibkit parse`" not in form.reader or form.module
        else:
            assert form.tool in reads[form.command]
            assert form.reader == f"which is for `ibkit {form.command}`"


def test_there_is_a_sample_of_every_format():
    tools = {found.tool for found in (identify(sample(name)) for name in SAMPLES)}
    assert {form.tool for form in FORMATS} - tools == {"job log"}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r\r\n"),
        lambda text: "\n".join(f"> {line}" for line in text.split("\n")),
        lambda text: "\n".join(f"    {line}" for line in text.split("\n")),
        lambda text: text.replace("\t", " "),
        lambda text: "Last login: Tue Dec  1 on pts/0\n*** Authorised use only ***\n[root@head ~]# ibtool -x\n" + text,
        lambda text: text + "[root@head ~]# exit\nlogout\n",
        lambda text: "#" * 70_000 + "\n" + text,
    ],
    ids=["crlf", "crcrlf", "quoted", "indented", "no-tabs", "banner", "prompt", "far-down"],
)
def test_what_happens_to_text_on_its_way(name, change):
    if name.startswith("rdma/") and "-json" in name and change(" ").startswith(">"):
        return  # JSON that is quoted line by line is no JSON
    assert tool_of(change(sample(name))) == tool_of(sample(name))


@pytest.mark.parametrize("name", ["ibnetdiscover/topology", "ibqueryerrors/thresholds", "iblinkinfo/table"])
def test_a_text_whose_head_is_lost(name):
    lines = sample(name).splitlines(keepends=True)
    for start in range(len(lines) // 2):
        assert tool_of("".join(lines[start:])) == TOOLS[name.partition("/")[0]]


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("CA 'mlx5_0'\n", "ibstat"),
        ("CA: 'mlx5_0'\nPort 1:\nState: Active\n", "ibstat"),  # ibstat mlx5_0 1
        ("ibpanic: [7] main: stat of IB device 'mlx5_8' failed: Resource temporarily unavailable\n", "ibstat"),
        ('Switch 36 "S-b8599f0300000200" # "MF0;s:MQM8700/U1" enhanced port 0 lid 4 lmc 0\n', "ibnetdiscover"),
        ('Switch\t40 "S-1"', "ibnetdiscover"),
        ('[1](e41d2d0300000001) \t"S-e41d2d03006f3f30"[13]\t\t# lid 1 lmc 0 "sw" lid 4 4xHDR\n', "ibnetdiscover"),
        ("CA    15  1 0x0c42a103000000b1 4x HDR - SW     2 12 0xb8599f0300000000 ( 'a' - 'b' )\n", "ibnetdiscover"),
        ("sminfo: sm lid 1 sm guid 0x2, activity count 606 priority 0 state 3 SMINFO_MASTER\n", "sminfo"),
        ("/usr/sbin/sminfo: iberror: failed: query\n", "sminfo"),
        ('Errors for "old version"\n   GUID 0x2c9 port 1: [SymbolErrorCounter == 5]\n', "ibqueryerrors"),
        ("1/1: mlx5_0/1: subnet_prefix fe80:0000:0000:0000 lid 13399 sm_lid 49151 lmc 0 state ACTIVE "
         "physical_state LINK_UP \n", "rdma"),
        ("link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 65535 sm_lid 0 lmc 0 state DOWN "
         "physical_state DISABLED\n", "rdma"),
        ("mlx5_0 port 1 ==> ib0 (Down)\n", "ibdev2netdev"),
        ("0000:18:00.0 mlx5_0 (MT4129 - MCX75310AAS-NEAT) NVIDIA fw 28.39.1002 port 1 (ACTIVE) ==> ib0 (Up)\n",
         "ibdev2netdev"),
        ("DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n", "show_gids"),
        ("Infiniband device '*' port * status:\n", "ibstatus"),
        ("Fatal error:  device '*': sys files not found (/sys/class/infiniband/*/ports)\n", "ibstatus"),
        ("2024-01-01 [1,3]<stdout>:n01:12:34 [0] NCCL INFO Using network IB\n", "job log"),
        ("7: n01:12:34 [0] NCCL INFO Using network IB\n", "job log"),
    ],
)  # fmt: skip
def test_forms_that_were_not_recorded_here(text, tool):
    assert tool_of(text) == tool


def test_what_comes_first_decides_and_the_rest_is_found_too():
    """A session in a terminal."""
    text = f"$ ibstat\n{sample('ibstat/two-devices')}$ sminfo\n{sample('sminfo/master')}"
    assert tool_of(text) == "ibstat"
    assert holds(text, "sminfo")
    assert not holds(text, "ibnetdiscover")
    assert tool_of(f"{sample('sminfo/master')}{sample('ibstat/two-devices')}") == "sminfo"


@pytest.mark.parametrize("tool", ["ibstat/two-devices", "ibnetdiscover/topology", "ibv_devinfo/two-devices"])
def test_a_jobs_log_is_a_jobs_log_whatever_it_quotes(tool):
    prologue = f"Prolog on n01\n{sample(tool)}"
    assert tool_of(f"{prologue}n01:12:34 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n") == "job log"
    assert tool_of(f"{prologue}[n01:00123] mca: bml: Using tcp btl for send to [[1,1],0] on node n02\n") == "job log"


@pytest.mark.parametrize("name", JOBS)
def test_logs_of_jobs(name):
    found = identify((FIXTURES / "jobs" / name / "job.log").read_bytes().decode(errors="backslashreplace"))
    assert (found.tool, found.command) == ("job log", JOB_COMMAND)


@pytest.mark.parametrize("evil", ["NCCL INFO ", "a:1:2 [0] NCCL INFO via NET/IB/0", "[n01:00123] mca: bml: Using tcp"])
def test_a_node_whose_name_looks_like_a_log(evil):
    for name, old in (("ibnetdiscover/topology", "Hca1"), ("ibnetdiscover/ports-report", "Hca1"),
                      ("iblinkinfo/table", "Hca1"), ("iblinkinfo/lines", "Switch1"), ("ibhosts/hosts", "Hca1"),
                      ("saquery/links", "Hca1"), ("smpquery/node-description", "Hca1"),
                      ("ibqueryerrors/thresholds", "leaf1")):  # fmt: skip
        text = sample(name)
        assert tool_of(text.replace(old, evil)) == tool_of(text), name


def test_ibqueryerrors_is_no_iblinkinfo():
    """With -r it prints the rows of that tool."""
    text = (
        'Errors for 0xb8599f0300000200 "s"\n   GUID 0xb8599f0300000200 port 1: [SymbolErrorCounter == 4]\n'
        "       Link info:      4   1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>  0xb8599f0300000000      2   28"
        '[  ] "l" (Could be 12X )\n'
    )
    assert tool_of(text) == "ibqueryerrors"
    assert not holds(text, "iblinkinfo")


@pytest.mark.parametrize(
    "text",
    ["", "\n", "hello world\n", "CA 'x' is a device\n", "[1]+  Done  sleep 1\n", "Switch 36 ports\n", "{}\n", "\0\1\2",
     "#!/bin/sh\nibstat\n", "[root@head ~]# ibstat\n-bash: ibstat: command not found\n", "PortSelect\n", "1: 0xffff\n"],
)  # fmt: skip
def test_what_is_nobodys(text):
    with pytest.raises(NotThisFormat, match=r"^f: no known format; tried ibnetdiscover, ibstat, sminfo, .*job log$"):
        identify(text, source="f")


def test_parsers_that_are_named_exist_and_read_the_samples():
    for name in SAMPLES:
        form = identify(sample(name))
        if form.module and not name.endswith(("no-sm", "failed")):
            importlib.import_module(f"ibkit.parsers.{form.module}").parse(sample(name), source=name)


HOSTILE = {
    "line": "x" * (10 << 20),
    "breaks": "\n" * (1 << 20),
    "blanks": " " * (1 << 20),
    "almost rows": "[1] \n" * 200_000,
    "almost ids": 'Switch 36 "S-\n' * 80_000,
    "brackets": "[" * (1 << 20),
    "colons": "a:" * (1 << 19),
    "pids": "x:1:1 [\n" * 130_000,
    "json": '[{"ifindex":' * 90_000,
    "quotes": "> | " * (1 << 18),
    "dots": "." * (1 << 20),
    "words": "link a/1 " * 110_000,
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_text_costs_no_time(case):
    started = time.process_time()
    with pytest.raises(NotThisFormat):
        identify(HOSTILE[case])
    assert time.process_time() - started < 10


@given(st.text(max_size=300) | st.text(alphabet="[]():'\"=#> .\n0x1ACSNL", max_size=300))
def test_it_never_fails_otherwise(text):
    try:
        assert identify(text) in FORMATS
    except NotThisFormat as error:
        assert "tried" in str(error)


def test_truths_of_jobs_are_there():
    """The list above would be empty if the corpus moved."""
    assert len(JOBS) > 100
    assert json.loads((FIXTURES / "jobs" / JOBS[0] / "truth.json").read_text())
