"""Open MPI's lines, 1.2 to 5.0: the formats of its sources."""
# ruff: noqa: E501 - log lines are as long as they are

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import openmpi
from ibkit.parsers.job_facts import Failure, Setting, Version
from ibkit.parsers.line_prefixes import to_line
from ibkit.parsers.log_lines import IGNORE, shape

WHO = "[n01:04711] "
DASHES = "-" * 74


def facts(text: str) -> list[openmpi.OpenMpiFact]:
    reader = openmpi.Reader()
    found: list[openmpi.OpenMpiFact] = []
    for number, line in enumerate(text.split("\n"), 1):
        if openmpi.worth(shape(line.encode())) != IGNORE:
            found += list(reader.read(to_line(number, line.encode())))
    return found + list(reader.finish())


def only(text: str) -> openmpi.OpenMpiFact:
    (fact,) = facts(text)
    return fact


@pytest.mark.parametrize(
    ("text", "btl", "peer", "node", "better"),
    [
        ("mca: bml: Using openib btl to [[31337,1],5] on node n02", "openib", 5, "n02", None),  # 1.8, 1.10
        (
            "mca: bml: Using tcp btl for send to [[31337,1],5] on node n02.cluster",
            "tcp",
            5,
            "n02.cluster",
            None,
        ),  # 2.x and later
        ("mca: bml: Using tcp btl for send to [[31337,1],5] on node unknown", "tcp", 5, None, None),
        (
            "mca: bml: Not using tcp btl for send to [[31337,1],5] on node n02 because openib btl has higher exclusivity (1024 > 100)",
            "tcp",
            5,
            "n02",
            "openib",
        ),
        (
            "mca: bml: Not using tcp btl to [[31337,1],5] on node n02 because openib btl has higher exclusivity (1024 > 100)",
            "tcp",
            5,
            "n02",
            "openib",
        ),
    ],
)
def test_bml_lines(text: str, btl: str, peer: int, node: str | None, better: str | None) -> None:
    fact = only(WHO + text)
    assert isinstance(fact, openmpi.Btl)
    assert (fact.btl, fact.peer, fact.node, fact.better, fact.family) == (btl, peer, node, better, 31337)
    assert (fact.said.host, fact.said.pid) == ("n01", 4711)


@pytest.mark.parametrize("component", ["ob1", "ucx", "cm", "yalla"])
def test_the_selected_pml(component: str) -> None:
    fact = only(f"{WHO}select: component {component} selected")
    assert isinstance(fact, openmpi.Pml)
    assert fact.component == component


@pytest.mark.parametrize("component", ["psm", "psm2", "mxm"])
def test_the_selected_mtl_before_2_0(component: str) -> None:
    fact = only(f"{WHO}select: component {component} selected")
    assert isinstance(fact, openmpi.Mtl)
    assert fact.component == component


@pytest.mark.parametrize(
    "text",
    [
        "select: component v not in the include list",
        "select: component monitoring selected",
        "select: initializing pml component ucx",
        "select: init returned priority 51",
    ],
)
def test_noise_of_the_selection(text: str) -> None:
    assert not facts(WHO + text)


def test_pml_ucx_in_use_and_its_support_level() -> None:
    path = "../../../../../../"
    assert only(f"{WHO}{path}ompi/mca/pml/ucx/pml_ucx.c:411 connecting to proc. 1")[1] == "ucx"
    assert (
        only(f"{WHO}{path}opal/mca/common/ucx/common_ucx.c:337 support level is transports only")[1]
        == "transports only"
    )
    assert only(f"{WHO}common_ucx.c:264  ucx is enabled on any transport or device")[1] == "any"
    loaded, version = facts(f"{WHO}pml_ucx.c:197 mca_pml_ucx_open: UCX version 1.13.1")
    assert (loaded[1:], version[1:]) == (("pml", "ucx"), ("UCX", "1.13.1"))
    assert only(f"{WHO}pml_ucx.c:134 mca_pml_ucx_open")[1:] == ("pml", "ucx")


def test_the_pml_mismatch_is_fatal() -> None:
    fact = only("[n02:00007] [[57,1],5] selected pml ob1, but peer [[57,1],0] on n01 selected pml ucx")
    assert isinstance(fact, Failure)
    assert (fact.topic, fact.is_fatal, fact.detail) == ("pml-mismatch", True, "ob1, ucx on n01")
    assert (fact.said.host, fact.said.rank) == ("n02", 5)


def test_openib_ports_and_matching_layers() -> None:
    fact = only(f"{WHO}[rank=3] openib: using port mlx5_0:1")
    assert isinstance(fact, openmpi.OpenibPort)
    assert (fact.device, fact.said.rank) == ("mlx5_0:1", 3)
    assert only(f"{WHO}mca:base:select:(  mtl) Selected component [psm2]")[1] == "psm2"
    assert only(f"{WHO}mtl_ofi_component.c:346: mtl:ofi:prov: psm2")[1] == "psm2"
    assert only(f"{WHO}mtl_ofi_component.c:342: mtl:ofi:provider: cxi")[1] == "cxi"
    assert only(f"{WHO}mtl_ofi_component.c:367: mtl:ofi:provider:domain: cxi0")[1] == "cxi0"
    assert not facts(f'{WHO}mtl_ofi_component.c:586: mtl:ofi:provider_include = "tcp"')


def test_interfaces_of_the_tcp_module() -> None:
    """`Using interface` is also printed for the names of the exclude list: it tells nothing."""
    assert only(f"{WHO}btl:tcp: using ipv4 interface ib0")[1] == "ib0"
    assert not facts(f"{WHO}btl: tcp: Using interface: sppp ")


HELPS = {
    "no-nics": f"""{DASHES}
[[52456,1],5]: A high-performance Open MPI point-to-point messaging module
was unable to find any relevant network interfaces:

Module: OpenFabrics (openib)
  Host: gpu005

Another transport will be used instead, although this may result in
lower performance.
{DASHES}""",
    "no-port": f"""{DASHES}
WARNING: There is at least non-excluded one OpenFabrics device found,
but there are no active ports detected (or Open MPI was unable to use
them).  This is most certainly not what you wanted.  Check your
cables, subnet manager configuration, etc.  The openib BTL will be
ignored for this job.

  Local host: gpu005
{DASHES}""",
    "ib-port-refused": f"""{DASHES}
By default, for Open MPI 4.0 and later, infiniband ports on a device
are not used by default.  The intent is to use UCX for these devices.
You can override this policy by setting the btl_openib_allow_ib MCA parameter
to true.

  Local host:              gpu005
  Local adapter:           mlx5_0
  Local port:              1

{DASHES}""",
    "openib-init": f"""{DASHES}
WARNING: There was an error initializing an OpenFabrics device.

  Local host:   gpu005
  Local device: mlx5_0
{DASHES}""",
    "memlock": f"""{DASHES}
The OpenFabrics (openib) BTL failed to initialize while trying to
allocate some locked memory.  This typically can indicate that the
memlock limits are set too low.  For most HPC installations, the
memlock limits should be set to "unlimited".  The failure occured
here:

  Local host:    gpu005
  OMPI source:   btl_openib.c:828
  Function:      opal_free_list_init()
  Device:        mlx5_0
  Memlock limit: 65536
{DASHES}""",
    "no-cpc": f"""{DASHES}
No OpenFabrics connection schemes reported that they were able to be
used on a specific port.  As such, the openib BTL (OpenFabrics
support) will be disabled for this port.

  Local host:           gpu005
  Local device:         mlx5_0
  Local port:           1
  CPCs attempted:       rdmacm, udcm
{DASHES}""",
    "no-parameters": f"""{DASHES}
WARNING: No preset parameters were found for the device that Open MPI
detected:

  Local host:            gpu005
  Device name:           mlx5_0
  Device vendor ID:      0x02c9
  Device vendor part ID: 4123
{DASHES}""",
    "device-missing": f"""{DASHES}
WARNING: One or more nonexistent OpenFabrics devices/ports were
specified:

  Host:                 gpu005
  MCA parameter:        mca_btl_if_include
  Nonexistent entities: mlx4_0
{DASHES}""",
}
DETAILS = {"no-nics": "OpenFabrics (openib)", "memlock": "65536", "no-cpc": "rdmacm, udcm", "device-missing": "mlx4_0"}


@pytest.mark.parametrize("tag", ["", "[1,5]<stderr>:"])
@pytest.mark.parametrize("topic", sorted(HELPS))
def test_help_messages(topic: str, tag: str) -> None:
    text = "\n".join(tag + line for line in HELPS[topic].split("\n"))
    fact = only(text)
    assert isinstance(fact, Failure)
    assert (fact.topic, fact.host, fact.is_fatal) == (topic, "gpu005", False)
    assert fact.detail == DETAILS.get(topic)
    if topic in ("ib-port-refused", "no-cpc"):
        assert fact.device == "mlx5_0:1"


def test_a_repeated_message_about_another_host_is_kept() -> None:
    text = HELPS["openib-init"] + "\n" + HELPS["openib-init"].replace("gpu005", "gpu006")
    assert [fact.host for fact in facts(text) if isinstance(fact, Failure)] == ["gpu005", "gpu006"]


def test_the_wording_of_12() -> None:
    fact = only(
        "[0,1,3]: OpenIB on host n07 was unable to find any HCAs.\nAnother transport will be used instead, although this may result in"
    )
    assert isinstance(fact, Failure)
    assert (fact.topic, fact.host, fact.detail, fact.said.rank) == ("no-nics", "n07", "OpenIB", 3)
    assert fact.said.host == "n07"


def test_repetitions_are_counted_by_mpirun() -> None:
    fact = only(
        "[head:00099] 7 more processes have sent help message help-mpi-btl-openib-cpc-base.txt / no cpcs for port"
    )
    assert isinstance(fact, Failure)
    assert (fact.topic, fact.detail) == ("no-cpc", "7 more processes")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("Open MPI v4.1.4, package: Debian OpenMPI", "4.1.4"),
        ("mpirun (Open MPI) 5.0.2", "5.0.2"),
        ("rank 0 lib Open MPI v4.1.4", "4.1.4"),
    ],
)
def test_versions(text: str, version: str) -> None:
    fact = only(text)
    assert isinstance(fact, Version)
    assert fact.version == version


def test_the_version_in_a_help_text_is_none() -> None:
    """`By default, for Open MPI 4.0 and later` is a policy."""
    assert not [fact for fact in facts(HELPS["ib-port-refused"]) if isinstance(fact, Version)]


MATRIX = """Host 0 [cl-a] ranks 0 - 3
Host 1 [cl-b] ranks 4 - 6, 9

 host | 0   1
======|========
    0 : sm  tcp
    1 : tcp sm

Connection summary: (pml)
  on-host:  all connections are sm or self
  off-host: all connections are tcp
"""

UCX_MATRIX = """Host 0 [cl-a] ranks 0
Host 1 [cl-b] ranks 1

 host | 0        1
======|===================
    0 : ucx[  2] ucx[  4]
    1 : ucx[  4] n/a

UCX Transport/Device
ucx[  2]:
    posix            memory
    rc_mlx5          mlx5_0:1
ucx[  4]:
    rc_mlx5          mlx5_0:1
    tcp              eth0
Connection summary: (pml)
  on-host:  all connections are ucx=posix;memory,rc_mlx5;mlx5_0:1
  off-host: all connections are ucx=rc_mlx5;mlx5_0:1,tcp;eth0
"""

LETTERS = """Host 0 [cl-a] ranks 0
Host 1 [cl-b] ranks 1, 3, ..

 host | 0 1
======|=====
    0 : B A
    1 : A B
key: A == ucx=rc_mlx5;mlx5_0:1,ud_mlx5;mlx5_0:1
key: B == self

Connection summary: (pml)
  on-host:  all connections are self
  off-host: most connections are ucx=rc_mlx5;mlx5_0:1,ud_mlx5;mlx5_0:1
Exceptions:
  host 1: [1x self] [1x tcp]
"""


def table(text: str) -> openmpi.CommMethod:
    fact = only(text)
    assert isinstance(fact, openmpi.CommMethod)
    return fact


def cells(found: openmpi.CommMethod) -> dict[tuple[int, int], tuple[str, ...]]:
    return {(cell.row, cell.column): cell.methods for cell in found.cells}


@pytest.mark.parametrize("tag", ["", "[1,0]<stdout>:", "[prte@1,0]<stdout>: "])
def test_comm_method_matrix(tag: str) -> None:
    found = table("\n".join(tag + line for line in MATRIX.split("\n")))
    assert [(host.name, host.ranks) for host in found.hosts] == [("cl-a", (0, 1, 2, 3)), ("cl-b", (4, 5, 6, 9))]
    assert cells(found) == {(0, 0): ("sm",), (0, 1): ("tcp",), (1, 0): ("tcp",), (1, 1): ("sm",)}
    assert (found.on_host, found.off_host, found.is_uniform) == (("sm",), ("tcp",), True)
    assert [cell.said.line for cell in found.cells] == [6, 6, 7, 7]


def test_comm_method_with_ucx_lists() -> None:
    found = table(UCX_MATRIX)
    assert cells(found) == {
        (0, 0): ("posix/memory", "rc_mlx5/mlx5_0:1"),
        (0, 1): ("rc_mlx5/mlx5_0:1", "tcp/eth0"),
        (1, 0): ("rc_mlx5/mlx5_0:1", "tcp/eth0"),
    }  # n/a was never connected


def test_comm_method_with_letters() -> None:
    found = table(LETTERS)
    assert found.hosts[1].ranks == ()  # the list is cut short
    assert cells(found)[0, 1] == ("rc_mlx5/mlx5_0:1", "ud_mlx5/mlx5_0:1")
    assert cells(found)[0, 0] == ("self",)
    assert not found.is_uniform


def test_a_list_cut_at_200_characters_loses_its_last_entry() -> None:
    long = "ucx=" + ",".join(f"rc_mlx5;mlx5_{n}:1" for n in range(30))
    found = table(
        f"Host 0 [a] ranks 0\nHost 1 [b] ranks 1\n\nConnection summary: (pml)\n  off-host: all connections are {long[:199]}"
    )
    assert found.off_host[0] == "rc_mlx5/mlx5_0:1"
    assert all(method.endswith(":1") for method in found.off_host)


def test_rows_outside_a_table_are_nothing() -> None:
    assert not facts("    0 : sm  tcp\nkey: A == tcp\n  off-host: all connections are tcp")


@given(
    st.lists(
        st.sampled_from(
            [*MATRIX.split("\n"), *UCX_MATRIX.split("\n"), *LETTERS.split("\n"), *HELPS["memlock"].split("\n"), WHO]
        ),
        max_size=25,
    )
)
def test_lines_in_any_order_never_fail(lines: list[str]) -> None:
    facts("\n".join(lines))


@given(st.binary(max_size=300))
def test_arbitrary_bytes_never_fail(data: bytes) -> None:
    reader = openmpi.Reader()
    data = data.replace(b"\n", b" ")
    for raw in (b"Host 0 [a] ranks 0 - 3", data, WHO.encode() + data, b"    0 : " + data, b"key: A == " + data):
        list(reader.read(to_line(1, raw)))
    list(reader.finish())


@pytest.mark.parametrize("part", ["[a:1] ", "ucx[ 1] ", "x ", "1 - 2, ", "ucx=a;b,", "[["])
def test_long_lines_take_linear_time(part: str) -> None:
    start = time.perf_counter()
    facts(
        "\n".join(
            head + part * (65_000 // len(part))
            for head in ("Host 0 [a] ranks 0", "    0 : ", "key: A == ", WHO, "Module: ")
        )
    )
    assert time.perf_counter() - start < 3


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("btl=^openib (environment)", ("btl", "^openib")),
        ("btl=tcp,self (file [/opt/openmpi/etc/openmpi-mca-params.conf])", ("btl", "tcp,self")),
        ("pml=ob1 (command line)", ("pml", "ob1")),
    ],
)
def test_a_parameter_that_is_shown(text: str, found: tuple[str, str]) -> None:
    setting = only(WHO + text)
    assert isinstance(setting, Setting) and (setting.name, setting.value) == found


@pytest.mark.parametrize("text", ["btl= (default)", "pml=ob1 (default)", "coll_hcoll_enable=0 (environment)"])
def test_a_default_is_no_setting(text: str) -> None:
    assert facts(WHO + text) == []


def test_a_component_that_ompi_info_lists() -> None:
    found = only("                 MCA pml: ucx (MCA v2.1.0, API v2.0.0, Component v4.1.4)")
    assert isinstance(found, openmpi.Installed) and found[1:] == ("pml", "ucx")


@pytest.mark.parametrize(
    ("error", "topic"),
    [("Cannot allocate memory (errno=12)", "memlock"), ("Function not implemented (errno=38)", "create-queue")],
)
def test_a_queue_that_cannot_be_made_is_memory_only_where_it_says_so(error: str, topic: str) -> None:
    found = only(
        f"{DASHES}\nThe OpenFabrics (openib) BTL failed to initialize while trying to\n"
        "create an internal queue.  This typically indicates a failed\nOpenFabrics installation, faulty hardware\n\n"
        f"  Local host:  n01\n  Error:       {error}\n  Device:      mlx5_0\n{DASHES}"
    )
    assert isinstance(found, Failure) and (found.topic, found.host, found.device) == (topic, "n01", "mlx5_0")


@pytest.mark.parametrize(
    ("head", "rank"),
    [
        ("[[31337,1],3][btl_openib_component.c:3497:handle_wc] ", 3),
        ("[0,1,3][btl_openib_component.c:1332:btl_openib_component_progress] ", 3),  # 1.2
        ("", None),
    ],
)
def test_a_broken_queue_pair_names_both_ends(head: str, rank: int | None) -> None:
    end = "from n01 to: n02 error polling LP CQ with status RETRY EXCEEDED ERROR status number 12 for wr_id 2a opcode 0"
    fact = only(head + end)
    assert isinstance(fact, Failure) and fact.said.rank == rank
    assert fact[1:] == ("ompi", "broken", True, "n01", None, "n02")


def test_an_address_that_was_cut_is_no_name() -> None:
    fact = only(
        "[[51298,1],2][btl_openib_component.c:3496:handle_wc] from n01 to: 192 error polling LP CQ with status "
        "RETRY EXCEEDED ERROR status number 12 for wr_id 217ce00 opcode 0  vendor error 129 qp_idx 0"
    )
    assert isinstance(fact, Failure) and (fact.topic, fact.host, fact.detail) == ("broken", "n01", None)


def test_what_is_flushed_follows_an_error() -> None:
    assert not facts(
        "[[31337,1],3][btl_openib_component.c:3497:handle_wc] from n01 to: n02 error polling HP CQ with status "
        "WORK REQUEST FLUSHED ERROR status number 5 for wr_id 12 opcode 0  vendor error 249 qp_idx 0"
    )


def test_a_name_of_a_pml_that_could_not_be_read() -> None:
    fact = only(f"{WHO}[[31337,0],1] selected pml ob1, but peer [[31337,0],0] on n02 selected pml \ufffd\ufffd")
    assert isinstance(fact, Failure) and (fact.topic, fact.detail) == ("pml-mismatch", "ob1, ? on n02")


@pytest.mark.parametrize("end", ["", " on", " on node"])
def test_a_btl_line_that_a_mail_broke_before_the_host(end: str) -> None:
    fact = only(f"{WHO}mca: bml: Using tcp btl for send to [[31337,1],15]{end}")
    assert isinstance(fact, openmpi.Btl) and (fact.btl, fact.peer, fact.node) == ("tcp", 15, None)


@pytest.mark.parametrize("process", ["[[31337,1],3]", "[0,1,3]"])  # 1.3 and later, 1.2
@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("error obtaining device attributes for mlx4_0 errno says Function not implemented", "ofed-mismatch"),
        ("error obtaining device context for mlx4_0 errno says Permission denied", "open-device"),
        ("error obtaining device context for mlx4_0 errno says Cannot allocate memory", "resources"),
    ],
)
def test_the_head_of_a_modules_error_tells_host_and_rank(text: str, topic: str, process: str) -> None:
    fact = only(f"[n02]{process}[btl_openib_component.c:1689:init_one_device] {text}")
    assert isinstance(fact, Failure) and (fact.topic, fact.is_fatal) == (topic, False)
    assert (fact.host, fact.said.host, fact.said.rank) == ("n02", "n02", 3)
    bare = only(text)
    assert isinstance(bare, Failure) and (bare.topic, bare.host, bare.said.rank) == (topic, None, None)


@pytest.mark.parametrize("host", ["n02", "bdw-0214", "n02.cluster.example"])
@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("PSM2 no hfi units are active (err=23)", "psm2"),
        ("PSM2 can't open hfi unit: -1 (err=23)", "psm2"),
        ("hfi_userinit: mmap of rcvhdrq at dabbad0004030000 failed: Resource temporarily unavailable", "memlock"),
    ],
)
def test_what_psm2_says_begins_with_its_host(host: str, text: str, topic: str) -> None:
    for line, name in ((f"{host}.30734{text}", host), (f"[1] {host}.30734{text}", host), (text, None)):
        fact = only(line)
        assert isinstance(fact, Failure) and (fact.topic, fact.host, fact.said.host) == (topic, name, name)
        assert fact.runtime == "psm2"  # Intel MPI and others use it, too


@pytest.mark.parametrize("path", ["", "/builddir/libpsm2-11.2/", "../"])
@pytest.mark.parametrize("host", ["n02", "opal13", "bdw-0214.example"])
def test_an_endpoint_of_psm_without_an_address_ends_the_process(host: str, path: str) -> None:
    text = f"Assertion failure at {path}psm_ep.c:832: ep->epid != 0"
    for line, name in ((f"{host}.0{text}", host), (f"[1] {host}.30734{text}", host), (text, None)):
        fact = only(line)
        assert isinstance(fact, Failure) and fact.is_fatal
        assert (fact.runtime, fact.topic, fact.host, fact.said.host) == ("psm2", "no-endpoint", name, name)
    assert facts("n02.0Assertion failure at psm_ep.c:1059: ep->mctxt_master == ep") == []  # as it is closed
    assert facts("see the assertion failure at psm_ep.c:832: ep->epid != 0 of last week") == []


@pytest.mark.parametrize("head", ["[n02:06102] ", ""])
@pytest.mark.parametrize(
    "words", ["goodbye)", "your MPI job will now abort)", "processes in this communicator will now abort,"]
)
def test_an_error_of_a_call_ends_the_job(head: str, words: str) -> None:
    fact = only(f"{head}*** MPI_ERRORS_ARE_FATAL ({words}")
    assert isinstance(fact, Failure) and (fact.runtime, fact.topic, fact.is_fatal) == ("job", "died", True)
    assert (fact.host, fact.detail) == ("n02" if head else None, "Open MPI")
    assert facts("MPI_ERRORS_ARE_FATAL is the default error handler") == []


def test_a_pml_that_was_asked_for_and_is_not_to_be_had() -> None:
    fact = only(f"{WHO}PML ucx cannot be selected")
    assert isinstance(fact, Failure) and (fact.topic, fact.is_fatal, fact.host) == ("no-pml", True, "n01")
    assert facts("PML ucx cannot be selected where UCX is missing") == []


@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("mca_base_component_repository_open: unable to open mca_pml_ucx: libucp.so.0: cannot", "pml_ucx"),  # 4.1
        ("mca: base: component_find: unable to open /usr/lib64/openmpi/mca_btl_openib: libibverbs.so.1: cannot", "btl_openib"),
        ("mca_base_component_repository_open: unable to open mca_btl_openib: librdmacm.so.1: cannot", "btl_openib"),
        ("mca_base_component_repository_open: unable to open mca_mtl_psm: libpsm_infinipath.so.1: cannot", None),
        ("mca_base_component_repository_open: unable to open mca_oob_ud: libibverbs.so.1: cannot", None),
    ],
)  # fmt: skip
def test_modules_whose_libraries_are_missing(text: str, module: str | None) -> None:
    found = facts(f"{WHO}{text} open shared object file: No such file or directory (ignored)")
    told = [(fact.topic, fact.host, fact.detail) for fact in found if isinstance(fact, Failure)]
    assert told == ([("no-library", "n01", module)] if module else [])


OFF = (
    "fork() support was requested for the OpenFabrics (openib)\nBTL, but it is not supported on the host gpu005.  Deactivating the\nOpenFabrics BTL.",
    "The number of buffers for a queue pair specified via the\nbtl_openib_receive_queues MCA parameter must be greater than the low\nbuffer count watermark.",
    "The largest queue pair buffer size specified in the\nbtl_openib_receive_queues MCA parameter is smaller than the maximum\nsend size",
)  # fmt: skip


@pytest.mark.parametrize("text", OFF)
def test_openib_tells_why_it_is_not_used(text: str) -> None:
    fact = only(f"{DASHES}\nWARNING: {text}\n\n  Local host: gpu005\n{DASHES}")
    assert isinstance(fact, Failure)
    assert (fact.topic, fact.host, fact.is_fatal) == ("openib-off", "gpu005", False)


def test_a_queue_that_is_too_large_only_wastes_memory() -> None:
    text = "WARNING: The largest queue pair buffer size specified in the\nbtl_openib_receive_queues MCA parameter is larger than the maximum"
    assert not facts(text)


@pytest.mark.parametrize(
    ("text", "host", "rank"),
    [
        ("[n01][[57,1],3][btl_tcp_frag.c:241:mca_btl_tcp_frag_recv] mca_btl_tcp_frag_recv: readv failed: Connection reset by peer (104)", "n01", 3),
        ("[n01][[57,1],3][../../../../../opal/mca/btl/tcp/btl_tcp_endpoint.c:626:mca_btl_tcp_endpoint_recv_connect_ack] received", "n01", 3),
        (f"{DASHES}\nWARNING: Open MPI failed to TCP connect to a peer MPI process.  This\nshould not happen.\n\n  Local host: n01\n{DASHES}", "n01", None),
        ("An MPI communication peer process has unexpectedly disconnected.  This\n\n  Local host: n01\n  Peer host:  n02", "n01", None),
    ],
)  # fmt: skip
def test_complaints_of_the_tcp_module(text: str, host: str, rank: int | None) -> None:
    fact = only(text)
    assert isinstance(fact, Failure)
    assert (fact.topic, fact.host, fact.said.rank, fact.is_fatal) == ("tcp-module", host, rank, False)
