"""What of other people's processes leaves the host."""

from __future__ import annotations

from pathlib import Path

from ibkit.sources.base import Entry
from ibkit.sources.live import LiveSource
from ibkit.sources.private import reduced_file, reduced_folder


def test_an_environment_leaves_only_what_chooses_a_transport() -> None:
    """Of a real rank's environment: launchers' addresses and keys stay. Open MPI reads a parameter file at home.

    What is kept stays in its line.
    """
    data = b"\0".join(
        (
            b"HOME=/root", b"AWS_SECRET_ACCESS_KEY=x", b"BASH_FUNC_module%%=() {  eval x\n}",
            b"OMPI_MCA_orte_precondition_transports=1b6e5c3d-a6d0",
            b"OMPI_MCA_orte_hnp_uri=1495662592.0;tcp://10.77.0.2:42217", b"OMPI_MCA_pml=ucx", b"UCX_TLS=rc,self",
            b"OMPI_COMM_WORLD_RANK=0", b"PMIX_SERVER_URI21=x", b"SLURM_JOB_ID=12", b"SLURM_JWT=secret", b"FIREFOX=1",
            b"NCCL_IB_HCA=mlx5\n", b"MY_UCX_TLS=tcp", b"",
        )
    )  # fmt: skip
    assert reduced_file("/proc/89/environ", data).split(b"\0") == [
        b"HOME=/root", b"", b"\n", b"", b"", b"OMPI_MCA_pml=ucx", b"UCX_TLS=rc,self", b"OMPI_COMM_WORLD_RANK=0", b"",
        b"SLURM_JOB_ID=12", b"", b"", b"NCCL_IB_HCA=mlx5\n",
    ]  # fmt: skip
    assert reduced_file("/proc/89/environ", data.replace(b"OMPI_COMM", b"COMM")).startswith(
        b"\0\0\n\0\0\0OMPI_MCA_pml=ucx\0UCX_TLS"
    )


def test_a_file_below_a_process_s_root_leaves_parameters_in_their_lines() -> None:
    """What is a link there may lead anywhere."""
    data = b"# Open MPI\nroot:$6$x:19000:0\n  btl = tcp,self\nbtl_tcp_if_include=eth0\npassword = x\npml=^ucx"
    kept = b"\n\n  btl = tcp,self\nbtl_tcp_if_include=eth0\n\npml=^ucx"
    assert reduced_file("/proc/7/root/home/ann/.openmpi/mca-params.conf", data) == kept
    assert reduced_file("/proc/7/root/etc/shadow", b"root:$6$x:19000:0\n") == b"\n"


def test_a_memory_map_leaves_libraries_once() -> None:
    lines = [
        b"7f00-7f10 r--p 00000000 08:01 5 /usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0",
        b"7f10-7f20 r-xp 00001000 08:01 5 /usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0",
        b"7f20-7f30 r-xp 00001000 08:01 5 /usr/lib64/libibverbs/libmlx5-rdmav34.so",
        b"7f30-7f40 r-xp 00001000 08:01 5 /opt/nccl/lib/libnccl.so.2",
        b"7f40-7f50 r-xp 00001000 08:01 5 /usr/lib/libmpich.so.12",
        b"7f50-7f60 r-xp 00001000 08:01 5 /usr/lib/libc.so.6",
        b"7f60-7f70 rw-p 00000000 08:01 5 /home/ann/secret plan.txt",
        b"7f70-7f80 rw-p 00000000 00:00 0 [heap]",
    ]
    assert reduced_file("/proc/7/maps", b"\n".join(lines)).split(b"\n") == [
        b"/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0", b"/usr/lib64/libibverbs/libmlx5-rdmav34.so",
        b"/opt/nccl/lib/libnccl.so.2", b"/usr/lib/libmpich.so.12",
    ]  # fmt: skip


def test_a_segment_by_which_mpich_starts_is_not_one_that_it_sends_through() -> None:
    """MPICH 4.0 over UCX has 4 KiB; with memory for messages 83 MB, as seen of a job of 4.1."""
    lines = [
        b"40042000-40043000 rw-s 00000000 00:16 18                       /dev/shm/mpich_shar_tmpOdEUga (deleted)",
        b"7feafebf7000-7feb03afc000 rw-s 00000000 00:16 19               /dev/shm/mpich_shar_tmpMCilHL (deleted)",
        b"7feb03afc000-7feb03afd000 rw-s 00000000 00:16 20               /dev/shm/vader_segment.nodea.0.1.0",
    ]
    assert reduced_file("/proc/7/maps", b"\n".join(lines)).split(b"\n") == [
        b"00:16 19 /dev/shm/mpich_shar_tmpMCilHL (deleted)", b"00:16 20 /dev/shm/vader_segment.nodea.0.1.0",
    ]  # fmt: skip


def test_open_files_leave_device_nodes() -> None:
    entries = (
        Entry("0", "link", "/home/ann/mail"), Entry("3", "link", "/dev/infiniband/uverbs0"),
        Entry("4", "link", "socket:[5]"),
    )  # fmt: skip
    assert reduced_folder("/proc/7/fd", entries) == entries[1:2]
    assert reduced_folder("/proc/7/task/7/fd", entries) == entries[2:]
    assert reduced_folder("/proc/7/task", entries) == reduced_folder("/sys/class/net", entries) == entries


def test_other_files_are_whole() -> None:
    assert reduced_file("/proc/7/status", b"HOME=x") == reduced_file("/proc/self/limits", b"HOME=x") == b"HOME=x"


def test_the_live_host_reduces(tmp_path: Path) -> None:
    (tmp_path / "proc/7").mkdir(parents=True)
    (tmp_path / "proc/7/environ").write_bytes(b"HOME=/root\0UCX_TLS=rc\0")
    (tmp_path / "proc/7/fd").mkdir()
    (tmp_path / "proc/7/fd/3").symlink_to("/etc/passwd")
    source = LiveSource(root=str(tmp_path))
    assert source.read("/proc/7/environ").data == b"\0UCX_TLS=rc"
    assert source.list("/proc/7/fd").entries == ()
