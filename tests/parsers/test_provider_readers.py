"""Readers of runtimes that name one transport: Intel MPI, MPICH, MVAPICH2, Gloo. Lines as their sources print them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import (
    gloo,
    horovod,
    intel_mpi,
    libfabric,
    mpich,
    mvapich2,
    other_runtimes,
    psm3,
    torch_distributed,
)
from ibkit.parsers.job_facts import (
    Attempt,
    Backend,
    Build,
    Failure,
    Mesh,
    Provider,
    RankPlace,
    Setting,
    SharedMemory,
    Version,
)
from ibkit.parsers.line_prefixes import to_line
from ibkit.parsers.log_lines import IGNORE, shape

READERS = (intel_mpi, libfabric, mpich, mvapich2, psm3, gloo, horovod, torch_distributed)


def said(reader, text: str) -> list[tuple]:
    line = to_line(7, text.encode())
    facts = list(reader.read(line))
    assert all(fact.said.line == 7 and fact.said.text == text for fact in facts)
    assert not facts or reader.worth(shape(text.encode())) != IGNORE
    return [(type(fact), *fact[1:]) for fact in facts]


@pytest.mark.parametrize(
    ("reader", "text", "found"),
    [
        (
            intel_mpi,
            "[0] MPI startup(): Intel(R) MPI Library, Version 2021.9  Build 20230307 (id: d82b3071db)",
            [(Version, "Intel MPI", "2021.9")],
        ),
        (
            intel_mpi,
            "[0] MPI startup(): Intel(R) MPI Library, Version 2019 Update 12  Build 20210517 (id: 6dc8fbbe1)",
            [(Version, "Intel MPI", "2019 Update 12")],
        ),
        (intel_mpi, "[0] MPI startup(): libfabric version: 1.18.0-impi", []),
        (intel_mpi, "MPI startup(): libfabric provider:  mlx", [(Provider, "Intel MPI", "mlx", None, None)]),
        (
            intel_mpi,
            "[0] MPI startup(): libfabric provider: tcp;ofi_rxm",
            [(Provider, "Intel MPI", "tcp;ofi_rxm", None, None)],
        ),
        (intel_mpi, "[0] MPI startup(): Rank    Pid      Node name  Pin cpu", []),
        (
            intel_mpi,
            "[0] MPI startup(): 1       20415    n02        {0,1}",
            [(RankPlace, "Intel MPI", 1, "n02", None, None)],
        ),
        (intel_mpi, "[0] MPI startup(): shm segment size (342 MB per rank)", [(SharedMemory, "Intel MPI", False)]),
        (intel_mpi, "[3] MPI startup(): shm data transfer mode", [(SharedMemory, "Intel MPI", True)]),
        (
            intel_mpi,
            "[0] MPI startup(): shm and dapl data transfer modes",
            [(SharedMemory, "Intel MPI", False), (Provider, "Intel MPI", "dapl", "fabric", None)],
        ),
        (
            intel_mpi,
            "[0] MPI startup(): I_MPI_FABRICS=ofi",
            [(Setting, "intel", "I_MPI_FABRICS", "ofi", "printed", None)],
        ),
        (
            intel_mpi,
            "init_tmi_provider(): TMI provider initialized: psm2 (1.3)",
            [(Provider, "Intel MPI", "psm2", None, "tmi")],
        ),
        (
            intel_mpi,
            "[1] MPI startup(): dapl fabric is not available and fallback fabric is not enabled",
            [(Failure, "intel", "no-fabric", True, None, None, "dapl")],
        ),
        (mpich, "provider: tcp, score = 4, pref = -2, FI_SOCKADDR_IN [16] 10.20.4.17", []),
        (mpich, "libfabric provider: tcp - 10.20.4.0/24", [(Provider, "MPICH", "tcp", "10.20.4.0/24", None)]),
        (mpich, "libfabric provider: verbs;ofi_rxm", [(Provider, "MPICH", "verbs;ofi_rxm", None, None)]),
        (mpich, "Rank: 12, Local_rank: 3, NIC: mlx5_0", [(RankPlace, "MPICH", 12, None, 3, "mlx5_0")]),
        (
            mpich,
            "x4310c3s2b0n0.hsn.example 12: Rank: 12, Local_rank: 0, NIC: cxi0",
            [(RankPlace, "MPICH", 12, None, 0, "cxi0")],
        ),
        (
            mpich,
            "x4310c3s2b0n0.hsn.example 0: libfabric provider: cxi - cxi",
            [(Provider, "MPICH", "cxi", "cxi", None)],
        ),
        (mpich, "n01: the libfabric provider: cxi is not there", []),
        (mpich, "MPICH Device:    \tch3:nemesis", [(Build, "MPICH", "ch3:nemesis", False)]),
        (mpich, "MPICH Device:       ch4:ofi", [(Build, "MPICH", "ch4:ofi", False)]),
        (mpich, "MVAPICH2 Device:      \tch3:mrail", [(Build, "MVAPICH2", "ch3:mrail", False)]),
        (mpich, "MVAPICH Version:      4.0", [(Version, "MVAPICH", "4.0")]),
        (mpich, "MPICH configure: \t--prefix=/opt/mpich", [(Build, "MPICH", "", True)]),
        (mpich, "MVAPICH2 Device       :\tch3:sock", [(Build, "MVAPICH2", "ch3:sock", False)]),
        (
            mpich,
            "PE 0: MPICH CH4 OFI netmod using cxi provider (domain_name=cxi0)",
            [(Provider, "Cray MPICH", "cxi", "cxi0", None)],
        ),
        (
            mpich,
            "MPICH CH4 OFI netmod using tcp;ofi_rxm provider",
            [(Provider, "Cray MPICH", "tcp;ofi_rxm", None, None)],
        ),
        (mpich, "PE 0:   MPICH_OFI_USE_PROVIDER                         = cxi", []),
        (
            mpich,
            "PE 3: Host nid005187 selected NIC index=1, domain_name=cxi1, numa_node=1, address=[0x73c2]",
            [(RankPlace, "Cray MPICH", 3, "nid005187", None, "cxi1")],
        ),
        (mpich, "==== UCX netmod Capability ====", [(Build, "MPICH", "ch4:ucx", False)]),
        (mpich, "==== Capability set configuration ====", [(Build, "MPICH", "ch4:ofi", False)]),
        (mpich, "  Transport: rc_mlx5 , Device: mlx5_0:1", []),
        (
            mpich,
            "MVAPICH2 2.3.7 Wed March 02 22:00:00 EST 2022 ch3:mrail",
            [(Version, "MVAPICH2", "2.3.7"), (Build, "MVAPICH2", "ch3:mrail", False)],
        ),
        (other_runtimes, "MPICH 5.0.0b1 - cceacdf01e - unreleased development copy", [(Version, "MPICH", "5.0.0b1")]),
        (other_runtimes, "built with MPICH 5.0.0 - see the site's pages - and UCX", []),
        (
            mpich,
            "    MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)",
            [(Version, "Cray MPICH", "8.1.25.17")],
        ),
        (
            mpich,
            "open_fabric(1559)........: OFI fi_getinfo() failed (ofi_init.c:1559:open_fabric:No data available)",
            [(Failure, "mpich", "no-provider", True, None, None, None)],
        ),
        (
            mpich,
            "MPICH configure: \t--with-device=ch3:nemesis:mxm --prefix=/opt/mpich",
            [(Build, "MPICH", "ch3:nemesis:mxm", True)],
        ),
        (
            mpich,
            "MVAPICH2 configure:   \t--with-device=ch3:psm --with-psm2=/usr",
            [(Build, "MVAPICH2", "ch3:psm:psm2", True)],
        ),
        (
            mpich,
            "    Configure options:      '--prefix=/usr' '--with-device=ch3:sock' 'CC=gcc'",
            [(Build, "MPICH", "ch3:sock", True)],
        ),
        (mpich, "    Configure options:      '--prefix=/usr' 'CC=gcc'", [(Build, "MPICH", "", True)]),
        (
            mvapich2,
            "[n01:mpi_rank_0][rdma_param_handle_heterogeneity] All nodes involved in the job were detected to be",
            [(Provider, "MVAPICH2", "mrail", None, None)],
        ),
        (mvapich2, "[n01:mpi_rank_0][MPIDI_CH3I_SMP_init] CMA is not available.", []),
        (
            intel_mpi,
            '[0] MPI startup(): Load tuning file: "/opt/mpi/etc/tuning_generic_shm-ofi.dat"',
            [(SharedMemory, "Intel MPI", False)],
        ),
        (
            intel_mpi,
            '[0] MPI startup(): Load tuning file: "/opt/mpi/etc/tuning_generic_ofi.dat"',
            [(Setting, "intel", "I_MPI_FABRICS", "ofi", "printed", None)],
        ),
        (
            intel_mpi,
            "[0] MPI startup(): I_MPI_FABRICS=shm",
            [(SharedMemory, "Intel MPI", True), (Setting, "intel", "I_MPI_FABRICS", "shm", "printed", None)],
        ),
        (intel_mpi, "[0] MPI startup(): 0       eth0", []),
        (
            intel_mpi,
            "/etc/tmi.conf: No such file or directory",
            [(Failure, "intel", "no-tmi", False, None, None, None)],
        ),
        (mvapich2, " MVAPICH2-2.3.7 Parameters", [(Version, "MVAPICH2", "2.3.7")]),
        (
            mvapich2,
            "\tHCA NAME                       : MV2_HCA_MLX_CX_EDR",
            [(Provider, "MVAPICH2", "mrail", "MV2_HCA_MLX_CX_EDR", None)],
        ),
        (mvapich2, "\tHCA NAME                       : MV2_HCA_UNKWN", []),
        (
            mvapich2,
            "[n01:mpi_rank_5][rdma_open_hca] No active HCAs found on the system!!!",
            [(Failure, "mvapich2", "no-port", True, "n01", None, None)],
        ),
        (
            mvapich2,
            "[n01:mpi_rank_0][handle_cqe] Msg from 1: wc.status=12 (transport retry counter exceeded), wc.wr_id=0x1f6",
            [(Failure, "mvapich2", "broken", True, "n01", None, None)],
        ),
        (
            mvapich2,
            "[n01:mpi_rank_7][handle_cqe] gen2/ibv_channel_manager.c:547: [] Got completion with error 12, dest rank=6",
            [(Failure, "mvapich2", "broken", True, "n01", None, None)],
        ),
        (mvapich2, "[n01:mpi_rank_0][handle_cqe] Msg from 1: wc.status=0 (success)", []),
        (
            intel_mpi,
            "[1] MPI startup(): DAPL provider ofa-v2-cma-roe-eth4",
            [(Provider, "Intel MPI", "dapl:ofa-v2-cma-roe-eth4", None, "dapl")],
        ),
        (intel_mpi, "[0] DAPL startup(): trying to open default DAPL provider from dat registry: ofa-v2-ib0", []),
        (
            libfabric,
            "libfabric:core:core:fi_fabric_():1264<info> Opened fabric: psm2",
            [(Provider, "libfabric", "psm2", "psm2", None)],
        ),
        (
            libfabric,
            "libfabric:316582:core:core:fi_fabric_():1264<info> Opened fabric: IB-0xfe80000000000000",
            [(Provider, "libfabric", "verbs", "IB-0xfe80000000000000", None)],
        ),
        (
            libfabric,
            "libfabric:252928:1707218868::core:core:fi_fabric_():1383<info> Opened fabric: 10.20.4.0/24",
            [(Provider, "libfabric", "tcp", "10.20.4.0/24", None)],
        ),
        (
            libfabric,
            "libfabric:1:1707::core:core:fi_getinfo_():1387<warn> fi_getinfo: provider verbs returned -61 (No data)",
            [(Failure, "ofi", "no-verbs", False, None, None, None)],
        ),
        (
            libfabric,
            "libfabric:1:1707::core:core:fi_getinfo_():1387<info> fi_getinfo: provider psm2 returned -61 (No data)",
            [],
        ),
        (
            libfabric,
            "libfabric:1:1707218868::core:core:ofi_register_provider():526<info> registering provider: efa",
            [],
        ),
        (
            psm3,
            "n01:rank0 PSM3_IDENTIFY HAL: sockets (Linux Sockets)",
            [(Provider, "psm3", "sockets", None, "psm3")],
        ),
        (
            psm3,
            "n02:rank1 PSM3_IDENTIFY Global Rank 1 (2 total) Local Rank 0 (1 total)",
            [(RankPlace, "psm3", 1, "n02", 0, None)],
        ),
        (
            gloo,
            "RuntimeError: [enforce fail at ../third_party/gloo/gloo/transport/tcp/device.cc:83] ifa != nullptr. "
            "Unable to find address for: eth0",
            [(Failure, "gloo", "not-connected", True, None, None, "tcp")],
        ),
        (gloo, "Using ibverbs device=mlx5_0 port=1 index=0", [(Provider, "Gloo", "verbs", "mlx5_0:1", None)]),
        (
            gloo,
            "no connection to tcp, pci=, iface=ib0, speed=-1, addr=[10.0.0.1]:3",
            [(Provider, "Gloo", "tcp", "ib0", None)],
        ),
        (
            gloo,
            "[Gloo] Rank 0 is connected to 3 peer ranks. Expected number of connected peer ranks is : 3",
            [(Mesh, 0, 3, 4)],
        ),
        (
            gloo,
            "[/src/gloo/transport/tcp/context.cc:242] INFO Rank 5 is connected to 7. "
            "Expected number of connected peers is: 7",
            [(Mesh, 5, 7, 8)],
        ),
        (
            gloo,
            "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.2]:4",
            [(Failure, "gloo", "connection-lost", True, None, None, "tcp")],
        ),
        (
            horovod,
            "[2024-01-01 00:00:00.1: D horovod/common/operations.cc:1] Using MPI to perform controller operations.",
            [(Backend, "Horovod", "mpi", "control")],
        ),
        (
            horovod,
            "horovodrun -np 4 --gloo --network-interfaces ib0 -H n01:2,n02:2 python t.py",
            [(Backend, "Horovod", "gloo", "data"), (Setting, "gloo", "HOROVOD_GLOO_IFACE", "ib0", "command", None)],
        ),
        (
            horovod,
            "$ horovodrun -np 4 python t.py",
            [(Setting, "ompi", "pml", "ob1", "command", None), (Setting, "ompi", "btl", "^openib", "command", None)],
        ),
        (
            horovod,
            "[2019-08-29 21:45:08.3: D horovod/common/utils/env_parser.cc:72] Using GLOO to perform CPU operations.",
            [(Backend, "Horovod", "gloo", "data")],
        ),
        (torch_distributed, "backend_name: gloo", [(Backend, "PyTorch", "gloo", "data")]),
        (torch_distributed, "INFO [pynccl.py:111] vLLM is using nccl==2.27.3", [(Backend, "PyTorch", "nccl", "data")]),
        (torch_distributed, "[TP0] sglang is using nccl==2.30.7", [(Backend, "PyTorch", "nccl", "data")]),
        (
            torch_distributed,
            "INFO [parallel_state.py:1102] world_size=2 rank=0 distributed_init_method=tcp://n01:29 backend=nccl",
            [(Backend, "PyTorch", "nccl", "data")],
        ),
        (
            torch_distributed,
            "INFO [parallel_state.py:1201] rank 2 in world size 4 is assigned as DP rank 0, PP rank 0, TP rank 2",
            [(Backend, "vLLM", "nccl", "data")],
        ),
        *(
            (gloo, text, [(Failure, "gloo", "barrier", True, None, None, None)])
            for text in (
                "RuntimeError: [Rank 0]: Ranks 1 failed to pass monitoredBarrier in 1800000 ms",
                "[Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 1800000 ms",
                "RuntimeError: Rank 1 successfully reached monitoredBarrier, but received errors while waiting for "
                "send/recv from rank 0. Please check rank 0 logs for faulty rank.",
            )
        ),
        (gloo, "E20261203 ProcessGroupGloo.cpp:137] [Rank 0]: Ranks 1 failed to pass monitoredBarrier in 1800 ms", []),
        (
            torch_distributed,
            '  File "/opt/torch/distributed/distributed_c10d.py", line 786, in init_process_group',
            [(Backend, "PyTorch", "gloo", "start")],
        ),
        (
            torch_distributed,
            '  File "/opt/torch/autograd/graph.py", line 825, in _engine_run_backward',
            [(Backend, "PyTorch", "gloo", "backward")],
        ),
        (
            torch_distributed,
            '  File "/opt/torch/autograd/__init__.py", line 173, in backward',
            [(Backend, "PyTorch", "gloo", "backward")],
        ),
        (torch_distributed, '  File "/opt/torch/_tensor.py", line 581, in backward', []),
        (
            torch_distributed,
            "PyTorch version: 2.3.1+cu121",
            [(Setting, "gloo", "PYTORCH_VERSION", "2.3.1+cu121", "printed", None)],
        ),
        (
            torch_distributed,
            "- PyTorch version (GPU?): 2.1.0 (True)",
            [(Setting, "gloo", "PYTORCH_VERSION", "2.1.0", "printed", None)],
        ),
        (torch_distributed, "CUDA used to build PyTorch: 12.1", []),
        (
            torch_distributed,
            "gloo_device_transport: N/A",
            [(Setting, "gloo", "GLOO_DEVICE_TRANSPORT", "", "printed", None)],
        ),
        (
            torch_distributed,
            "I1202 agent/server/api.py:899] [default] Worker group FAILED. 3/3 attempts left; "
            "will restart worker group",
            [(Failure, "job", "died", True, None, None, "restarted"), (Attempt, False)],
        ),
        (
            torch_distributed,
            "[default] Detected 1 new nodes from group_rank=0; will restart worker group",
            [(Attempt, False)],
        ),
        (torch_distributed, "MASTER_ADDR=n01", []),
        *(
            (torch_distributed, text, [(Backend, "PyTorch", name, "data")])
            for text, name in (
                ("    dist.init_process_group('gloo', rank=0)", "gloo"),
                ('  torch.distributed.init_process_group(backend="nccl")', "nccl"),
                ("Namespace(data='/d', dist_backend='gloo', seed=None)", "gloo"),
                ('{"distributed_backend": "nccl", "lr": 0.1}', "nccl"),
                ("+ python train.py --dist-backend gloo --epochs 2", "gloo"),
                ("ddp_backend: gloo", "gloo"),
                ("Namespace(lr=0.1, backend='gloo', seed=7)", "gloo"),
                ("+ torchrun --nproc_per_node 2 train.py --backend gloo", "gloo"),
                ("rank 0 of 2: backend gloo", "gloo"),
                ("[Rank 3] Using backend: gloo", "gloo"),
                ("[comm.py:652:init_distributed] Initializing TorchBackend in DeepSpeed with backend nccl", "nccl"),
                (
                    "[rank2]:[W1201 10:00:00.1 ProcessGroupNCCL.cpp:1262] Warning: destroy_process_group() was not",
                    "nccl",
                ),
            )
        ),
        *(
            (torch_distributed, text, [])
            for text in (
                'dist.init_process_group("gloo" if not cuda else "nccl")',
                "dist.init_process_group(args.backend)",
                "  --dist-backend gloo or nccl",
                "  --dist-backend {nccl,gloo}",
                "dist_backend: gloo|nccl",
                "dist_backend=gloo, nccl or mpi",
                "group = dist.new_group(backend='gloo')",
                '    self.cpu_group = torch.distributed.new_group(ranks, backend="gloo")',
                "train.py [--backend {nccl,gloo}]",
                "--checkpoint-backend gloo",
                "checkpoint engine backend: gloo",
                "falling back to the gloo backend",
            )
        ),
        (
            torch_distributed,
            'File "/opt/venv/lib/python3.12/site-packages/sglang/srt/utils.py", line 7, in broadcast_pyobj',
            [(Backend, "sglang", "nccl", "data")],
        ),
    ],
)
def test_what_a_line_says(reader, text: str, found: list[tuple]) -> None:
    assert said(reader, text) == found


@pytest.mark.parametrize("who", [b"2#18811@n01", b"2#18811:18840@n01"])
def test_who_says_it(who: bytes) -> None:
    (fact,) = intel_mpi.read(to_line(1, b"[%s] MPI startup(): libfabric provider: psm2" % who))
    assert fact.said[2:] == ("n01", 18811, 2)


@pytest.mark.parametrize(
    ("before", "is_quoted"),
    [
        ("output with InfiniBand was: ", True),
        ("the previous run printed '", True),
        ("", False),
        ("impi-0 stdout: ", False),
    ],
)
def test_a_sentence_quotes_another_jobs_line(before: str, is_quoted: bool) -> None:
    reader = intel_mpi.Reader()
    own = "[0] MPI startup(): libfabric provider: psm2"
    texts = (own, f"{before}[1] MPI startup(): libfabric provider: tcp", own)
    found = [fact for number, line in enumerate(texts, 1) for fact in reader.read(to_line(number, line.encode()))]
    found += reader.finish()
    assert [fact.provider for fact in found] == (["psm2", "psm2"] if is_quoted else ["psm2", "tcp", "psm2"])


@pytest.mark.parametrize(
    "text",
    [
        "    libfabric provider: cxi - cxi   <- this is what one wants",
        "libfabric provider: the one that MPICH has chosen",
        "expected here: PE 0: MPICH CH4 OFI netmod using cxi provider (domain_name=cxi0)",
    ],
)
def test_prose_about_a_provider_is_none(text: str) -> None:
    assert said(mpich, text) == []


WORDS = st.sampled_from(
    ["[0] ", "MPI startup(): ", "libfabric provider: ", "Rank: ", "Local_rank: ", "HCA NAME ", ": ", "9" * 4000,
     "tcp, ", "iface=", "\x1b[1m", "\0", " " * 500, " data transfer mode", "shm and ", "MV2_HCA_", "\u2028"]
)  # fmt: skip


@given(st.lists(st.one_of(WORDS, st.text(max_size=20)), max_size=20))
def test_no_line_makes_a_reader_raise(parts: list[str]) -> None:
    line = to_line(1, "".join(parts).encode("utf-8", "replace"))
    for reader in READERS:
        list(reader.read(line))


def test_the_nics_of_intel_mpis_ranks() -> None:
    lines = [
        "[0] MPI startup(): 0       ib0",  # behind no head of such a table
        "[0] MPI startup(): ===== NIC pinning on n01 =====",
        "[0] MPI startup(): Rank    Pin nic",
        "[0] MPI startup(): 0       ib0",
        "a line of the program",
        "[0] MPI startup(): 1       mlx5_0",
        "[0] MPI startup(): ===== CPU pinning =====",
        "[0] MPI startup(): 2       ib0",
    ]
    reader = intel_mpi.Reader()
    found = [fact for number, text in enumerate(lines, 1) for fact in reader.read(to_line(number, text.encode()))]
    assert [(fact.said.line, *fact[1:]) for fact in found] == [
        (4, "Intel MPI", 0, None, None, "ib0"),
        (6, "Intel MPI", 1, None, None, "mlx5_0"),
    ]
    assert all(intel_mpi.worth(shape(text.encode())) != IGNORE for text in lines if "MPI startup" in text)


@pytest.mark.parametrize(
    ("head", "host", "rank"),
    [
        ("n01:rank3.dimr: ", "n01", 3),
        ("[1726132598.97] n01:rank3.python3: ", "n01", 3),
        ("n01:4711.a.out: ", "n01", None),
        ("", None, None),
    ],
)
def test_psm3_is_refused_its_queue_pair(head: str, host: str | None, rank: int | None) -> None:
    text = f"{head}Failed to modify UD QP to INIT on mlx5_0: Operation not permitted"
    (fact,) = psm3.read(to_line(1, text.encode()))
    assert isinstance(fact, Failure)
    assert (fact.runtime, fact.topic, fact.is_fatal, fact.device) == ("psm3", "qkey", False, "mlx5_0")
    assert (fact.host, fact.said.host, fact.said.rank) == (host, host, rank)
    for other in (text.replace("Operation not permitted", "Invalid argument"), f"### `{text}`"):
        assert list(psm3.read(to_line(1, other.encode()))) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[error_sighandler] Caught error: Segmentation fault (signal 11)", [("job", "died", True, "n01", "MVAPICH2")]),
        ("[error_sighandler] Caught error: Terminated (signal 15)", []),  # somebody ended it
        ("[print_backtrace]   3: /opt/lib/libmpi.so.12(error_sighandler+0x59) [0x7f]", []),
    ],
)
def test_a_process_of_mvapich2_dies(text: str, told: list[tuple[str, str, bool, str, str]]) -> None:
    found = mvapich2.read(to_line(1, f"[n01:mpi_rank_3]{text}".encode()))
    assert [(f.runtime, f.topic, f.is_fatal, f.host, f.detail) for f in found if isinstance(f, Failure)] == told


def test_mvapich2s_channel_in_a_backtrace() -> None:
    text = b"[n01:mpi_rank_3][print_backtrace]   5: /opt/lib/libmpi.so.12(MPIDI_CH3I_MRAILI_Cq_poll_ib+0x2a1) [0x7f]"
    (fact,) = mvapich2.read(to_line(1, text))
    assert isinstance(fact, Provider) and (fact.provider, fact.said.host, fact.said.rank) == ("mrail", "n01", 3)


def test_tmis_provider_behind_intel_mpis_prefix() -> None:
    text = b"[0] MPI startup(): init_tmi_provider(): TMI provider initialized: psm2 (1.3)"
    (fact,) = intel_mpi.read(to_line(1, text))
    assert isinstance(fact, Provider) and (fact.provider, fact.below) == ("psm2", "tmi")
