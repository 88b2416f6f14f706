"""The reasons why a job has no RDMA: what each one means, how to look at it on a node, and what mends it where. Data.

Ids are stable. Which line of which runtime proves which reason is in ``reasons``; what is here was read in the
runtimes' sources and manuals, which each entry names. ``ibkit check-mpi-transport --explain ID`` prints an entry.
"""

from __future__ import annotations

from ibkit.parsers.records import NamedTuple

#: Kinds of entries. A remark is told beside a verdict that it does not spoil; noise is never given as a reason.
REASON, REMARK, NOISE = "reason", "remark", "noise"


class Fix(NamedTuple):
    """What mends it: of one runtime, of its versions from ``since`` to below ``before``, at one place.

    A ``place`` is what started the ranks (slurm, pbs, lsf) or what they run in (kubernetes, docker, apptainer). None
    stands for any. The most specific fix that fits is given.
    """

    text: str
    runtime: str | None = None
    since: str | None = None
    before: str | None = None
    place: str | None = None


class Check(NamedTuple):
    """A command for the node, and what its answer tells."""

    command: str
    tells: str


class Entry(NamedTuple):
    """``text``: the reason in a sentence; ``meaning``: what happens then; ``lines``: how it looks in logs."""

    id: str
    text: str
    meaning: str
    lines: tuple[str, ...]
    checks: tuple[Check, ...]
    fixes: tuple[Fix, ...]
    sources: tuple[str, ...]
    kind: str = REASON


_LIMITS = Check(
    "grep 'Max locked memory' /proc/PID/limits",
    "of a rank (PID) while it runs, not of your login shell: both figures should be unlimited",
)
_DEVICES = Check(
    "ls -l /dev/infiniband",
    "where the rank runs, in its container: uverbs0 ... must be there and writable",
)
_PORTS = Check(
    "ibkit status",
    "ports, their states and link layers, GIDs and P_Keys of the host",
)
_OMPI_BUILD = Check(
    "ompi_info | grep -E 'MCA (pml|btl|mtl)'",
    "the modules of this build: ucx, openib, ofi, tcp ...",
)
_UCX_DEVICES = Check(
    "ucx_info -d | grep -E 'Transport|Device'",
    "what UCX finds on this node: rc_mlx5, ud_verbs ... or only tcp",
)

ENTRIES = (
    Entry(
        "memlock",
        "the limit on locked memory is too low to register memory with the HCA",
        "RDMA needs memory that stays where it is. With a limit of some KiB the verbs calls fail with ENOMEM. Open "
        "MPI's openib and ucx then leave the work to TCP (or end the job where ucx was asked for); NCCL, MVAPICH2 "
        "and Intel MPI end it. The limit is that of the daemon that starts the ranks: /etc/security/limits.conf is "
        "for logins, and services of systemd do not read it.",
        (
            (
                "ibv_create_cq(cqe=4096) failed: Cannot allocate memory : Please set max locked memory (ulimit -l) "
                "to 'unlimited' (current: 64 kbytes)"
            ),
            "libibverbs: Warning: RLIMIT_MEMLOCK is 32768 bytes.",
            "The OpenFabrics (openib) BTL failed to initialize while trying to allocate some locked memory.",
            "Call to ibv_reg_mr failed with error Cannot allocate memory",
        ),
        (
            _LIMITS,
            Check("srun -N1 bash -c 'ulimit -l'", "the limit that Slurm gives to a job"),
            Check("systemctl show slurmd -p LimitMEMLOCK", "the limit of the daemon: infinity is right"),
        ),
        (
            Fix(
                "unlimited memlock where ranks are started: LimitMEMLOCK=infinity in the unit of slurmd, pbs_mom "
                "or sshd, then restart it; in containers --ulimit memlock=-1 and the capability IPC_LOCK. Check "
                "/proc/PID/limits of a rank.",
            ),
            Fix(
                "LimitMEMLOCK=infinity in slurmd's unit (systemctl edit slurmd), restart slurmd on each node, and "
                "PropagateResourceLimitsExcept=MEMLOCK in slurm.conf, so that the limit of the submitting shell is "
                "not carried to the job. Check: srun -N1 bash -c 'ulimit -l'",
                place="slurm",
            ),
            Fix(
                "LimitMEMLOCK=infinity in the unit of pbs_mom (systemctl edit pbs; before systemd: `ulimit -l "
                "unlimited` in its start script), restart it on each node. Check: qsub a job that runs `ulimit -l`",
                place="pbs",
            ),
            Fix(
                "`ulimit -l unlimited` where LSF's daemons are started (LimitMEMLOCK=infinity in their unit), "
                "restart sbatchd and res on each node. Check: bsub -I 'ulimit -l'",
                place="lsf",
            ),
            Fix(
                "docker or podman run with --ulimit memlock=-1:-1 --cap-add=IPC_LOCK --device=/dev/infiniband",
                place="docker",
            ),
            Fix(
                "securityContext.capabilities.add: [IPC_LOCK] in the pod's container (a pod has no ulimit of its "
                "own: else LimitMEMLOCK=infinity in the unit of containerd or crio on each node)",
                place="kubernetes",
            ),
        ),
        (
            "man 2 getrlimit (RLIMIT_MEMLOCK)",
            "man 5 slurm.conf (PropagateResourceLimitsExcept)",
            "man 5 systemd.exec (LimitMEMLOCK)",
            "UCX src/uct/ib/base/ib_iface.c",
            "Open MPI help-mpi-btl-openib.txt",
        ),
    ),
    Entry(
        "noport",
        "no port that could be used was found: no HCA, no driver, or no port in state Active",
        "The runtime looked for ports and had none in state Active: no cable, no subnet manager, a dead or "
        "driverless HCA, or a host that has none. NCCL says only that there is no device. MVAPICH2 ends the job.",
        (
            "NET/IB : No device found.",
            (
                "WARNING: There is at least non-excluded one OpenFabrics device found, but there are no active "
                "ports detected"
            ),
            "no compatible IB ports found for flags 0x0",
            "No active HCAs found on the system!!!",
        ),
        (
            _PORTS,
            Check(
                "ibstat",
                "State: Active and Physical state: LinkUp; Initializing means that no subnet manager has been here",
            ),
            Check("ibkit sm", "whether a subnet manager is master"),
            Check(
                "lspci -d 15b3: ; lsmod | grep -E 'mlx5_ib|irdma|bnxt_re'",
                "the card, and whether its RDMA driver is loaded",
            ),
        ),
        (
            Fix("look at `ibkit status` there: bring the port up (cable, subnet manager), or exclude the dead HCA"),
            Fix(
                "look at `ibkit status` there: bring the port up (cable, subnet manager; modprobe mlx5_ib); a dead "
                "HCA is left out by NCCL_IB_HCA=^mlx5_1. Where `lspci` shows no HCA, TCP is all that the host has: "
                "keep it out of jobs that need RDMA",
                runtime="NCCL",
            ),
            Fix(
                "look at `ibkit status` there: bring the port up (cable, subnet manager); a dead HCA is left out "
                "by UCX_NET_DEVICES=mlx5_0:1 (naming those that live) or --mca btl_openib_if_exclude mlx5_1",
                runtime="Open MPI",
            ),
            Fix(
                "look at `ibkit status` there: bring the port up (cable, subnet manager); MV2_IBA_HCA=mlx5_0 names "
                "the HCA that lives",
                runtime="MVAPICH2",
            ),
            Fix(
                "look at `ibkit status` in the pod and on its node: the port up on the node, and the device "
                "plugin's resource (rdma/...) in the pod's limits",
                place="kubernetes",
            ),
        ),
        (
            "IBTA specification, volume 1, 14.2.5.6 (PortInfo: PortState)",
            "NCCL src/transport/net_ib.cc",
            "Open MPI help-mpi-btl-openib.txt",
        ),
    ),
    Entry(
        "nolib",
        "the user-space InfiniBand library or its driver is missing, or the runtime was built without it (where "
        "UCX only says that a transport is not available: or no port is usable)",
        "libibverbs, or its driver for this HCA (libmlx5 ...), cannot be loaded where the ranks run; typically an "
        "image without rdma-core. UCX leaves out modules whose libraries are missing without a word. Warnings "
        "about drivers of other vendors (librxe, libi40iw, libcxgb4) are harmless.",
        (
            "Failed to open libibverbs.so[.1]",
            "transport 'ib' is not available, please use one or more of: ...",
            "libibverbs: Warning: couldn't load driver 'libmlx5-rdmav34.so'",
        ),
        (
            Check("ldconfig -p | grep -E 'libibverbs|libmlx5'", "in the container: both should be listed"),
            Check("ibv_devinfo", "in the container: the same devices as on its host"),
            Check("ucx_info -b | grep -i ib ; ucx_info -d", "whether UCX was built with verbs, and what it loads"),
        ),
        (
            Fix(
                "install libibverbs and its providers (rdma-core, ibverbs-providers; ucx-ib for UCX on RHEL and "
                "Fedora) inside the container or image, of the host's release; check `ibv_devinfo` and `ucx_info "
                "-d` there",
            ),
            Fix(
                "install rdma-core (RHEL, SUSE: libibverbs rdma-core; Debian, Ubuntu: libibverbs1 "
                "ibverbs-providers) on the node or in the image; check `ibv_devinfo` there",
                runtime="NCCL",
            ),
            Fix(
                "install rdma-core (libibverbs, ibverbs-providers) and UCX's verbs module (ucx-ib on RHEL and "
                "Fedora), or rebuild UCX --with-verbs; check `ucx_info -d` for rc_ and ud_ transports",
                runtime="UCX",
            ),
            Fix(
                "install rdma-core (libibverbs, ibverbs-providers) and UCX's verbs module (ucx-ib on RHEL and "
                "Fedora) where the ranks run; check `ucx_info -d` for rc_ and ud_ transports and `ompi_info` for "
                "pml ucx",
                runtime="Open MPI",
            ),
            Fix(
                "add rdma-core to the image (apt-get install libibverbs1 ibverbs-providers; dnf install rdma-core "
                "libibverbs): the host's libraries are not seen in a container",
                place="docker",
            ),
            Fix(
                "add rdma-core to the pod's image (apt-get install libibverbs1 ibverbs-providers; dnf install "
                "rdma-core libibverbs): the node's libraries are not seen in a pod",
                place="kubernetes",
            ),
            Fix(
                "add rdma-core to the image, or bind the host's libraries (apptainer exec --bind "
                "/etc/libibverbs.d,/usr/lib64/libibverbs ...) of the same release",
                place="apptainer",
            ),
        ),
        (
            "rdma-core libibverbs/init.c",
            "UCX documentation, FAQ (modules and their libraries)",
            "NCCL src/misc/ibvsymbols.cc",
        ),
    ),
    Entry(
        "nodev",
        "an HCA is visible, but its device node is missing or may not be opened",
        "/sys shows the HCA also to containers that may not use it: /dev/infiniband/uverbsN is not there, the "
        "device cgroup forbids it, or its mode does. Where only some nodes or some devices are like that, the job "
        "is uneven or hangs.",
        (
            "NET/IB : Unable to open device mlx5_0",
            "Call to ibv_open_device failed",
            "libibverbs: Warning: couldn't stat '/sys/class/infiniband/mlx5_7'",
        ),
        (
            _DEVICES,
            Check("ibv_devinfo", "where the rank runs: fails to open what it may not use"),
            Check("cat /proc/PID/cgroup", "the cgroup of a rank (PID), whose device list may forbid the nodes"),
        ),
        (
            Fix(
                "pass /dev/infiniband (or the device plugin's rdma resource) into the container, the same on all "
                "nodes; check `ls -l /dev/infiniband` there",
            ),
            Fix(
                "docker or podman run with --device=/dev/infiniband --cap-add=IPC_LOCK --ulimit memlock=-1",
                place="docker",
            ),
            Fix(
                "the RDMA device plugin's resource in the container's limits (resources.limits: rdma/...: 1), and "
                "capabilities.add: [IPC_LOCK]; the same for all pods of the job",
                place="kubernetes",
            ),
            Fix(
                "if cgroup.conf has ConstrainDevices=yes, /dev/infiniband/* must be allowed "
                "(cgroup_allowed_devices_file.conf of older Slurm); check `srun ls -l /dev/infiniband`; mode 0666 "
                "by rdma-core's udev rules",
                place="slurm",
            ),
        ),
        (
            "rdma-core libibverbs/device.c",
            "NCCL src/transport/net_ib.cc",
            "kernel Documentation/admin-guide/cgroup-v1/devices.rst",
        ),
    ),
    Entry(
        "hwlimit",
        "the HCA ran out of a resource of its own (queue pairs, UARs), which is not locked memory",
        "Each process needs its own doorbell pages (UARs) and queue pairs; with many ranks on a node, or many "
        "hosts over RC, the HCA or its firmware has no more.",
        (
            "ibv_open_device(mlx5_0) failed: Cannot allocate memory",
            "mlx5dv_devx_obj_create(QP) failed, syndrome ...: Cannot allocate memory",
            "A process failed to create a queue pair.",
        ),
        (
            Check("dmesg | grep -iE 'mlx5.*(limits exceeded|ALLOC_UAR|CREATE_QP)'", "the firmware's refusal"),
            Check("rdma resource show", "how many queue pairs and completion queues are in use on each device"),
        ),
        (
            Fix(
                "see dmesg of the node; fewer queue pairs (UCX_TLS=dc,sm,self or ud,sm,self), or higher limits in "
                "firmware and driver",
            ),
            Fix(
                "fewer queue pairs: mpirun -x UCX_TLS=dc,sm,self (mlx5) or ud,sm,self; with openib shared receive "
                "queues (--mca btl_openib_receive_queues X,...); see dmesg of the node for the firmware's limit",
                runtime="Open MPI",
            ),
            Fix(
                "fewer queue pairs: UCX_TLS=dc,sm,self (mlx5) or ud,sm,self with the provider mlx; see dmesg of "
                "the node",
                runtime="Intel MPI",
            ),
            Fix(
                "fewer queue pairs: NCCL_IB_QPS_PER_CONNECTION=1, fewer channels (NCCL_MAX_NCHANNELS); see dmesg "
                "of the node",
                runtime="NCCL",
            ),
        ),
        (
            "UCX src/uct/ib/base/ib_device.c",
            "openucx/ucx#6049",
            "openucx/ucx#7978",
            "kernel drivers/net/ethernet/mellanox/mlx5",
        ),
    ),
    Entry(
        "wrongdev",
        "the device that was asked for is not there or not usable on this host",
        "A setting names devices, and this host has none of them: other names than on the node where it was "
        "written, a port left out (UCX wants mlx5_0:1), a port that is down. UCX and NCCL then use what is left, "
        "which is TCP.",
        (
            "network device 'mlx5_9:1' is not available, please use one or more of: 'eth0'(tcp), ...",
            "WARNING: One or more nonexistent OpenFabrics devices/ports were specified",
            "NCCL_IB_HCA set to mlx5_7, then NET/IB : No device found.",
        ),
        (
            _PORTS,
            Check("ibv_devices ; ucx_info -d | grep Device", "the names on this node, as the runtime spells them"),
            Check("env | grep -E 'UCX_NET_DEVICES|NCCL_IB_HCA|btl_openib_if'", "what the job was told"),
        ),
        (
            Fix(
                "correct the name for each node (UCX_NET_DEVICES needs the port: mlx5_0:1; NCCL_IB_HCA, "
                "btl_openib_if_include), or remove the setting on clusters whose nodes differ",
            ),
            Fix(
                "correct UCX_NET_DEVICES (a device with its port: mpirun -x UCX_NET_DEVICES=mlx5_0:1), with openib "
                "--mca btl_openib_if_include mlx5_0:1; or remove the setting: on nodes that differ no one name fits",
                runtime="Open MPI",
            ),
            Fix(
                "correct UCX_NET_DEVICES (a device with its port: mpirun -x UCX_NET_DEVICES=mlx5_0:1), or remove "
                "it: Open MPI 5 has no openib, and its btl_openib_ parameters do nothing",
                runtime="Open MPI",
                since="5",
            ),
            Fix("correct UCX_NET_DEVICES (a device with its port: mlx5_0:1), or remove it", runtime="UCX"),
            Fix(
                "correct UCX_NET_DEVICES (a device with its port: mlx5_0:1; I_MPI_OFI_PROVIDER=mlx is UCX), or "
                "remove it",
                runtime="Intel MPI",
            ),
            Fix("correct UCX_NET_DEVICES (a device with its port: mlx5_0:1), or remove it", runtime="MPICH"),
            Fix(
                "correct NCCL_IB_HCA (prefixes: mlx5 fits all of them; =mlx5_0:1 is exact; ^mlx5_3 leaves one "
                "out), or remove it: NCCL finds the devices by itself",
                runtime="NCCL",
            ),
            Fix("correct MV2_IBA_HCA (mlx5_0), or remove it", runtime="MVAPICH2"),
        ),
        (
            "UCX src/ucp/core/ucp_context.c",
            "docs.nvidia.com/deeplearning/nccl, Environment Variables",
            "Open MPI help-mpi-btl-openib.txt",
        ),
    ),
    Entry(
        "wrongtls",
        "a setting leaves RDMA out",
        "A setting that was in force leaves nothing but TCP between hosts; or shared memory alone, by which no other "
        "host is reached, and the job ends. That may be what somebody wanted; where it is not, it often comes from a "
        "module file, an MCA parameter file, a wrapper, or a script written for another cluster.",
        (
            "--mca btl tcp,self",
            "--mca pml ob1",
            "UCX_TLS=tcp; UCX_TLS=self,sm, with which other hosts are not reached at all",
            "NCCL_IB_DISABLE=1",
            "NCCL_NET=Socket",
            "FI_PROVIDER=tcp",
        ),
        (
            Check("env | grep -E '^(OMPI_MCA|UCX|NCCL|FI|I_MPI|GLOO)_'", "in the job: settings of the environment"),
            Check("cat ~/.openmpi/mca-params.conf $PREFIX/etc/openmpi-mca-params.conf", "Open MPI's parameter files"),
            Check(
                "cat /etc/nccl.conf ~/.nccl.conf ; ucx_info -cf | grep -E 'TLS|NET_DEVICES'",
                "files of NCCL and UCX",
            ),
        ),
        (
            Fix(
                "remove the setting if RDMA is wanted: look in the job script, the environment, module and MCA "
                "parameter files",
            ),
            Fix(
                "remove the setting if RDMA is wanted; Open MPI 5 uses RDMA by pml ucx (--mca pml ucx ends the job "
                "where it cannot): look in the job script, OMPI_MCA_ variables, ~/.openmpi/mca-params.conf, "
                "etc/openmpi-mca-params.conf",
                runtime="Open MPI",
                since="5",
            ),
            Fix(
                "remove the setting if RDMA is wanted (--mca pml ucx asks for UCX and ends the job where it "
                "cannot): look in the job script, OMPI_MCA_ variables, ~/.openmpi/mca-params.conf, "
                "etc/openmpi-mca-params.conf",
                runtime="Open MPI",
            ),
            Fix(
                "remove the setting if RDMA is wanted: look in the job script, the image's environment, "
                "/etc/nccl.conf, ~/.nccl.conf",
                runtime="NCCL",
            ),
            Fix(
                "remove the setting if RDMA is wanted: I_MPI_FABRICS=shm:ofi with I_MPI_OFI_PROVIDER=mlx "
                "(InfiniBand) or verbs; look in the job script, mpivars, the module file",
                runtime="Intel MPI",
                since="2019",
            ),
            Fix(
                "remove the setting if RDMA is wanted: I_MPI_FABRICS=shm:dapl (or shm:ofa, shm:tmi for PSM); look "
                "in the job script, mpivars, the module file",
                runtime="Intel MPI",
                before="2019",
            ),
            Fix(
                "remove -TCP, or put ibv before tcp in MPI_IC_ORDER, if RDMA is wanted (mpirun -IBV asks for verbs and "
                "ends the job where it cannot): look in the job script, MPIRUN_OPTIONS, hpmpi.conf, STAR-CCM+'s "
                "-fabric",
                runtime="Platform MPI",
            ),
            Fix(
                "remove GLOO_DEVICE_TRANSPORT if RDMA is wanted: IBVERBS needs a PyTorch built with USE_GLOO_IBVERBS",
                runtime="Gloo",
            ),
        ),
        (
            "Open MPI FAQ, tuning (setting MCA parameters)",
            "UCX documentation, FAQ (UCX_TLS)",
            "docs.nvidia.com/deeplearning/nccl, Environment Variables",
            "Intel MPI Developer Reference, Fabrics Control",
            "HP-MPI user's guide, Interconnect support",
        ),
    ),
    Entry(
        "noucx",
        "Open MPI 4's openib module refuses InfiniBand ports and leaves them to UCX; from 4.0.2 on it says so only "
        "in a build without UCX",
        "Since 4.0 openib takes RoCE and iWARP ports, and InfiniBand only where it is told to. From 4.0.2 on the "
        "message is printed only by builds that have no UCX: nothing but TCP is left for InfiniBand.",
        ("By default, for Open MPI 4.0 and later, infiniband ports on a device are not used by default.",),
        (
            _OMPI_BUILD,
            Check("ompi_info | grep -i ucx", "nothing: the build has no UCX"),
        ),
        (
            Fix("use a build of Open MPI with UCX (`ompi_info | grep ucx`); stop-gap: --mca btl_openib_allow_ib 1"),
            Fix(
                "use a build of Open MPI with UCX (./configure --with-ucx; `ompi_info | grep ucx`), best of the "
                "cluster's modules; stop-gap until 5.0: --mca btl_openib_allow_ib 1",
                runtime="Open MPI",
                since="4",
                before="5",
            ),
        ),
        ("Open MPI 4.0 and 4.1 opal/mca/btl/openib/btl_openib_component.c and help-mpi-btl-openib.txt",),
    ),
    Entry(
        "nobuild",
        "this build of the MPI has no way to use RDMA: neither verbs nor UCX nor a libfabric provider for it",
        "An MPI from a distribution, conda or a container may know TCP and shared memory alone. It prints nothing "
        "about it: only what the build says of itself tells.",
        (
            "MPICH Device: ch3:nemesis",
            "ompi_info lists btl: self, sm, tcp, and no pml ucx, no btl openib, no mtl",
        ),
        (
            _OMPI_BUILD,
            Check(
                "mpichversion ; mpiexec --version",
                "ch3:nemesis and ch3:sock are TCP; ch4:ucx and ch4:ofi can have RDMA",
            ),
            Check("ldd ./a.out | grep -i libmpi", "which MPI the program is really linked with"),
        ),
        (
            Fix("use a build with RDMA: the cluster's module rather than that of conda or the distribution"),
            Fix(
                "use a build of Open MPI with UCX (./configure --with-ucx; `ompi_info | grep ucx` names pml ucx): "
                "the cluster's module rather than that of conda or the distribution",
                runtime="Open MPI",
            ),
            Fix(
                "use a build of MPICH for the network: ./configure --with-device=ch4:ucx (InfiniBand, RoCE) or "
                "ch4:ofi; ch3:nemesis has TCP alone",
                runtime="MPICH",
            ),
            Fix(
                "use a build of MVAPICH2 for the network: its default device ch3:mrail (InfiniBand, RoCE), not "
                "ch3:nemesis or ch3:sock",
                runtime="MVAPICH2",
            ),
        ),
        (
            "MPICH src/mpid/ch3/channels/nemesis/netmod",
            "Open MPI ompi_info(1)",
            "MVAPICH2 user guide, configuration",
        ),
    ),
    Entry(
        "ucxlist",
        "Open MPI's list of transports and devices for pml ucx does not match what UCX offers here",
        "From 4.1.1 on pml ucx is used only where UCX offers a transport and a device of two lists: rc_verbs, "
        "ud_verbs, rc_mlx5, dc_mlx5 ... on devices whose driver is mlx*. HCAs of others (irdma, bnxt_re, hns, "
        "qedr, rxe) and the transport names of old UCX are not in them: ob1 with TCP wins, perhaps on some ranks "
        "only.",
        (
            "rc_verbs/irdma0:1: matched transport list but not device list",
            "rc/mlx4_0:1: did not match transport list",
            "support level is transports only",
        ),
        (
            Check("mpirun --mca pml_ucx_verbose 100 ...", "which transport and device matched which list"),
            _UCX_DEVICES,
            Check(
                "basename $(readlink /sys/class/infiniband/DEV/device/driver)",
                "the driver that is compared with opal_common_ucx_devices",
            ),
        ),
        (
            Fix("--mca opal_common_ucx_tls any --mca opal_common_ucx_devices any, or --mca pml ucx, or a newer UCX"),
            Fix(
                "mpirun --mca pml ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any ...; 4.1.1 "
                "itself has a defect in this check that makes ranks differ: 4.1.2 or later",
                runtime="Open MPI",
                since="4.1.1",
                before="4.1.2",
            ),
            Fix(
                "mpirun --mca pml ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any ...",
                runtime="Open MPI",
                since="4.1.2",
                before="5",
            ),
            Fix(
                "mpirun --mca pml ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any ...; the "
                "same as OMPI_MCA_ variables where srun starts the ranks",
                runtime="Open MPI",
                since="5",
            ),
        ),
        (
            "Open MPI 4.1 opal/mca/common/ucx/common_ucx.c",
            "openucx/ucx#8549",
        ),
    ),
    Entry(
        "ucxrace",
        "Open MPI 4.1.1 lets ranks of one job choose different point-to-point layers",
        "The check of transports and devices that came with 4.1.1 has a defect: a rank at random takes ob1, the "
        "others ucx, and the job ends in MPI_Init.",
        ("[[52456,1],5] selected pml ob1, but peer [[52456,1],0] on n01 selected pml ucx",),
        (
            Check("ompi_info --version", "4.1.1"),
            _OMPI_BUILD,
        ),
        (Fix("Open MPI 4.1.2 or later; stop-gap: --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any"),),
        (
            "open-mpi/ompi#9505",
            "open-mpi/ompi#9617",
        ),
    ),
    Entry(
        "cpc",
        "Open MPI's openib module has no way to connect on this port (for RoCE: no IP address on the port's interface)",
        "openib connects by udcm (InfiniBand) or rdmacm (RoCE, iWARP), and none could be used on the port: no "
        "address on the RoCE interface, too little locked memory, or udcm's own failure. The port is passed over.",
        (
            "No OpenFabrics connection schemes reported that they were able to be used on a specific port.",
            "CPCs attempted: rdmacm, udcm",
        ),
        (
            _PORTS,
            Check(
                "ip addr show $(ls /sys/class/infiniband/DEV/device/net)",
                "an address on the port's interface, as rdmacm needs",
            ),
            _LIMITS,
        ),
        (
            Fix("use UCX; else give the RoCE interface an address, raise memlock"),
            Fix(
                "use UCX: --mca pml ucx --mca btl ^openib; else give the RoCE interface an address (--mca "
                "btl_openib_cpc_include rdmacm), and raise memlock",
                runtime="Open MPI",
                since="4",
                before="5",
            ),
            Fix(
                "RoCE: give the port's interface an address, and --mca btl_openib_cpc_include rdmacm; InfiniBand: "
                "raise memlock; or a newer Open MPI with UCX",
                runtime="Open MPI",
                before="4",
            ),
        ),
        (
            "Open MPI help-mpi-btl-openib-cpc-base.txt",
            "Open MPI FAQ, OpenFabrics (RoCE)",
        ),
    ),
    Entry(
        "ofmismatch",
        "the user-space RDMA libraries do not fit the kernel's driver",
        "libibverbs, or what UCX and MPI were built against (MLNX_OFED's ibv_exp_ calls), speaks another interface "
        "than the loaded kernel modules: devices cannot be asked for what they can do, and are passed over.",
        (
            "ibv_exp_query_device: invalid comp_mask !!! (comp_mask = 0x... valid_mask = 0x...)",
            "ibv_exp_query_device(mlx5_0) returned 38",
            "libibverbs: Warning: ... kernel ABI version",
        ),
        (
            Check(
                "ofed_info -s ; rpm -q libibverbs || dpkg -l libibverbs1",
                "the release of the user side, in the image too",
            ),
            Check(
                "modinfo mlx5_ib | grep -E '^(filename|version)'",
                "the kernel's side: of the distribution or of OFED (extra/, updates/)",
            ),
        ),
        (
            Fix(
                "the same OFED or rdma-core on both sides (`ofed_info -s`, `rpm -q libibverbs`); rebuild UCX and "
                "MPI with it",
            ),
            Fix(
                "an image with the node's OFED release, or with the distribution's rdma-core (which speaks to any "
                "kernel), and UCX and MPI rebuilt in it",
                place="kubernetes",
            ),
            Fix(
                "an image with the node's OFED release, or with the distribution's rdma-core (which speaks to any "
                "kernel), and UCX and MPI rebuilt in it",
                place="docker",
            ),
        ),
        (
            "rdma-core libibverbs/cmd_device.c",
            "openucx/ucx#4770",
            "open-mpi/ompi#5807",
        ),
    ),
    Entry(
        "pkey",
        "the partition key that was asked for is not in the port's table",
        "A queue pair belongs to a partition. The key that was named, or index 0, is not in the table that the "
        "subnet manager gave the port, or is there with limited membership at both ends: connections are refused "
        "or time out.",
        (
            "there is no valid pkey to use on mlx5_0:1",
            "unable to find specified pkey 0x8001 on mlx5_0:1/IB",
        ),
        (
            _PORTS,
            Check(
                "cat /sys/class/infiniband/*/ports/*/pkeys/* | sort -u",
                "the keys of the ports: 0xffff is the default one with full membership",
            ),
            Check("ibkit partitions", "who can talk to whom"),
        ),
        (
            Fix("UCX_IB_PKEY (without its top bit), NCCL_IB_PKEY; the subnet manager's partition configuration"),
            Fix(
                "mpirun -x UCX_IB_PKEY=0x1 (the key without its top bit; UCX 1.7 and later take one by "
                "themselves); else the subnet manager's partitions.conf",
                runtime="Open MPI",
            ),
            Fix(
                "UCX_IB_PKEY=0x1 (the key without its top bit; 1.7 and later take one by themselves); else the "
                "subnet manager's partitions.conf",
                runtime="UCX",
            ),
            Fix(
                "NCCL_IB_PKEY=N, the index in the port's table (not the key); else the subnet manager's "
                "partitions.conf",
                runtime="NCCL",
            ),
            Fix("MV2_DEFAULT_PKEY=0x8001; else the subnet manager's partitions.conf", runtime="MVAPICH2"),
            Fix(
                "UCX_IB_PKEY=0x1 with the provider mlx; else the subnet manager's partitions.conf",
                runtime="Intel MPI",
            ),
        ),
        (
            "IBTA specification, volume 1, 10.9 (partitioning)",
            "UCX src/uct/ib/base/ib_iface.c",
            "docs.nvidia.com/deeplearning/nccl, Environment Variables",
        ),
    ),
    Entry(
        "gid",
        "the peer's GID was not reached from the one that was used: a wrong index or VLAN, a network namespace that "
        "does not own it, or a peer that did not answer",
        "RoCE addresses a port by one of its GIDs, which belongs to an address of the port's interface. An index "
        "of the wrong version or VLAN, or one whose interface is in another network namespace (a pod), fails when "
        "the queue pair is connected, or the packets never arrive. The kernel looks up the peer's Ethernet address "
        "then: `Connection timed out` is a peer that did not answer, whose port may be down, `Network is unreachable` "
        "an address without a route, `No such device` a GID without an interface here.",
        (
            "Call to ibv_modify_qp failed with error No such device",
            "ibv_modify_qp failed with error Connection timed out",
            "failed to find a gid on rocep1s0:1",
            "NET/IB : Got completion from peer ... with error 12",
        ),
        (
            _PORTS,
            Check(
                "show_gids || grep . /sys/class/infiniband/DEV/ports/1/gid_attrs/types/*",
                "index, RoCE version and interface of each GID",
            ),
            Check("ip addr", "where the rank runs: the address that the GID is made of must be there"),
            Check(
                "ping -I IFACE ADDRESS; ip neigh show ADDRESS", "whether the peer's address answers on that interface"
            ),
        ),
        (
            Fix(
                "NCCL_IB_GID_INDEX or UCX_IB_GID_INDEX (`ibkit status` lists GIDs); in containers the network that "
                "owns it",
            ),
            Fix(
                "NCCL_IB_GID_INDEX=N, the RoCE v2 GID with the address that the hosts share (`ibkit status` lists "
                "them; 2.21 and later choose by themselves where it is unset)",
                runtime="NCCL",
            ),
            Fix(
                "mpirun -x UCX_IB_GID_INDEX=N, the RoCE v2 GID with the address that the hosts share (`ibkit status`)",
                runtime="Open MPI",
            ),
            Fix(
                "UCX_IB_GID_INDEX=N, the RoCE v2 GID with the address that the hosts share (`ibkit status`)",
                runtime="UCX",
            ),
            Fix("MV2_DEFAULT_GID_INDEX=N with MV2_USE_RoCE=1 (`ibkit status` lists GIDs)", runtime="MVAPICH2"),
            Fix(
                "a network attachment whose interface owns the GID in the pod (SR-IOV or macvlan of the RoCE port, "
                "or hostNetwork: true); then NCCL_IB_GID_INDEX or UCX_IB_GID_INDEX of that interface",
                place="kubernetes",
            ),
            Fix(
                "docker run --network=host (the GID's interface must be in the container's network namespace)",
                place="docker",
            ),
        ),
        (
            "kernel Documentation/infiniband and drivers/infiniband/core: roce_gid_mgmt.c, addr.c, verbs.c",
            "docs.nvidia.com/deeplearning/nccl, Environment Variables",
            "NVIDIA/nccl#925",
        ),
    ),
    Entry(
        "psm2",
        "PSM2 (or PSM) could not open an endpoint on its adapter",
        "PSM2 needs a free hardware context of an hfi1 (Omni-Path) adapter whose link is up, PSM one of a True Scale "
        "adapter. Open MPI then takes another way; Intel MPI without a fall-back ends. An assertion in psm_ep.c ends "
        "any of them: the endpoint got no address, as where no adapter was to be opened (PSM2_DEVICES=self,shm, which "
        "Open MPI has set for jobs on one host).",
        (
            "PSM2 can't open hfi unit: -1 (err=23)",
            "PSM2 no hfi units are active",
            "found 0 available contexts on opa device(s)",
            "Assertion failure at psm_ep.c:832: ep->epid != 0",
        ),
        (
            Check("opainfo", "PortState: Active, and the link's width"),
            Check(
                "ls -l /dev/hfi1_* ; cat /sys/class/infiniband/hfi1_0/nfreectxts",
                "the device, and how many contexts are free",
            ),
            Check("fuser -v /dev/hfi1_0", "who holds contexts: left-over ranks of another job"),
        ),
        (
            Fix("bring the link up (`opainfo`), free contexts (end left-over processes; fuser -v /dev/hfi1_0)"),
            Fix(
                "bring the link up (`opainfo`), free contexts (fuser -v /dev/hfi1_0), or have more (hfi1's "
                "num_user_contexts); --mca mtl psm2 --mca pml cm ends the job where it cannot",
                runtime="Open MPI",
            ),
            Fix(
                "bring the link up (`opainfo`), free contexts (fuser -v /dev/hfi1_0), or have more (hfi1's "
                "num_user_contexts); then I_MPI_OFI_PROVIDER=psm2",
                runtime="Intel MPI",
            ),
        ),
        (
            "cornelisnetworks/opa-psm2 psm_context.c, psm_ep.c",
            "open-mpi/ompi#1559",
            "Open MPI help-mtl-psm2.txt",
        ),
    ),
    Entry(
        "qkey",
        "the kernel refused psm3 its queue pair: before libfabric 1.22 its Q_Key may be one that is kept for "
        "privileged processes",
        "psm3 takes the Q_Key of its UD queue pairs from the job's key. With its top bit set a Q_Key is privileged, "
        "and kernels from 6.4 on (MLNX_OFED 23.10, and distributions' kernels that have it, too) give it to no "
        "ordinary process: some jobs are refused, others are not. libfabric 1.22 leaves that bit out. Intel MPI ends "
        "the job then; Open MPI, which asks libfabric even where it has UCX, may take another way or end it.",
        ("n01:rank0.a.out: Failed to modify UD QP to INIT on mlx5_0: Operation not permitted",),
        (
            Check("fi_info --version", "libfabric below 1.22: psm3 may choose such a Q_Key; Intel MPI brings its own"),
            Check("rdma system show", "privileged-qkey off: it is refused to ordinary processes (iproute2 6.7)"),
        ),
        (
            Fix("another provider (FI_PROVIDER=^psm3), or libfabric 1.22 or later"),
            Fix(
                "I_MPI_OFI_PROVIDER=mlx (InfiniBand, RoCE) or verbs in place of psm3, or an Intel MPI whose libfabric "
                "is 1.22 or later",
                runtime="Intel MPI",
            ),
            Fix(
                "leave libfabric out: --mca pml ucx --mca mtl ^ofi --mca btl ^ofi (or FI_PROVIDER=^psm3), or libfabric "
                "1.22 or later",
                runtime="Open MPI",
            ),
        ),
        (
            "ofiwg/libfabric prov/psm3/psm3/hal_verbs/verbs_ep.c at v1.18.1 and v1.22.0",
            "kernel drivers/infiniband/core/uverbs_cmd.c (privileged Q_Keys); man 8 rdma-system",
            "easybuilders/easybuild-easyconfigs#20233",
        ),
    ),
    Entry(
        "dat",
        "an old Intel MPI did not find what DAPL needs: the DAT library, dat.conf, or the provider's interface",
        "Before 2019 InfiniBand went through DAPL: libdat, a line of /etc/dat.conf and an IPoIB or RoCE interface "
        "with an address. Without one the next fabric is taken, which is TCP, unless I_MPI_FALLBACK=0.",
        (
            "cannot open dynamic library libdat.so.1",
            "open_hca: getaddr_netdev ERROR: No such device. Is ib0 configured?",
        ),
        (
            Check(
                "ldconfig -p | grep libdat ; cat /etc/dat.conf",
                "the library, and the providers (ofa-v2-mlx5_0-1u ...)",
            ),
            Check("ip addr show ib0", "the interface that the provider's line names, with an address"),
        ),
        (
            Fix(
                "a newer Intel MPI (2019 or later uses libfabric); else install libdat2 and name the provider "
                "(I_MPI_DAPL_PROVIDER)",
            ),
            Fix(
                "install dapl (libdat2, /etc/dat.conf) and name the provider: "
                "I_MPI_DAPL_PROVIDER=ofa-v2-mlx5_0-1u, or I_MPI_FABRICS=shm:ofa; I_MPI_FALLBACK=0 ends the job "
                "instead; best a newer Intel MPI",
                runtime="Intel MPI",
                before="2019",
            ),
        ),
        (
            "Intel MPI 2018 Developer Reference, DAPL-capable network fabrics control",
            "dat.conf(5)",
        ),
    ),
    Entry(
        "tmi",
        "an old Intel MPI did not find tmi.conf, which TMI (PSM, PSM2, MX) needs",
        "Before 2019 PSM and MX went through TMI, whose providers stand in tmi.conf. Without it the next fabric is "
        "taken.",
        ("/etc/tmi.conf: No such file or directory",),
        (
            Check(
                "ls -l /etc/tmi.conf $I_MPI_ROOT/intel64/etc/tmi.conf ; echo $TMI_CONFIG",
                "the file, and where it is looked for",
            ),
            Check("opainfo", "whether there is an Omni-Path adapter at all: without one, dapl or ofa is the fabric"),
        ),
        (
            Fix(
                "TMI_CONFIG=$I_MPI_ROOT/intel64/etc/tmi.conf; on InfiniBand I_MPI_FABRICS=shm:dapl instead; or "
                "Intel MPI 2019 or later",
            ),
        ),
        ("Intel MPI 2018 Developer Reference, TMI-capable network fabrics control",),
    ),
    Entry(
        "mlxucx",
        "Intel MPI's provider mlx could not use UCX: it needs UCX 1.4 or later with a full set of transports",
        "The provider mlx of Intel MPI 2019 and later is a layer on UCX. An old UCX (in practice before 1.7), a "
        "UCX_TLS without ud or dc, or a UCX_NET_DEVICES without the port leave it no transport, and the job ends.",
        (
            "OFI addrinfo() failed (ofi_init.c:...: No data available), with the provider mlx",
            "no active messages transport to <no debug data>: ...",
        ),
        (
            Check("ucx_info -v", "1.7 or later"),
            _UCX_DEVICES,
            Check("env | grep -E 'UCX_|FI_PROVIDER|I_MPI_OFI'", "UCX_TLS, UCX_NET_DEVICES (with :1), the provider"),
        ),
        (
            Fix(
                "a newer UCX (ucx_info -v: 1.7 or later); unset UCX_TLS, or UCX_TLS=rc,ud,sm,self; UCX_NET_DEVICES "
                "with the port (mlx5_0:1); else I_MPI_OFI_PROVIDER=verbs",
            ),
        ),
        (
            "Intel MPI Developer Reference, OFI-capable network fabrics control",
            "ofiwg/libfabric#10010",
        ),
    ),
    Entry(
        "ofi",
        "libfabric found no provider that it could use",
        "libfabric asked its providers in turn. verbs needs an address on the port's IPoIB or RoCE interface (it "
        "connects by rdma_cm); without one it gives nothing, and tcp or sockets are left, or the job ends.",
        (
            "fi_getinfo: provider verbs returned -61 (No data available)",
            "OFI fi_getinfo() failed",
            "No valid libfabric provider",
        ),
        (
            Check("fi_info -p verbs ; fi_info -l", "what the provider offers here, and which there are"),
            Check("ip addr show ib0", "an address on the port's interface"),
            Check("FI_LOG_LEVEL=info fi_info 2>&1 | grep -i -E 'returned|skip'", "why a provider was passed over"),
        ),
        (
            Fix(
                "look at `fi_info`; the verbs provider needs an IP address on the port's interface (`ip addr show "
                "ib0`); the provider mlx needs UCX with a full set of transports (`ucx_info -v`); else "
                "FI_PROVIDER=verbs",
            ),
            Fix(
                "I_MPI_OFI_PROVIDER=mlx on InfiniBand (UCX 1.7 or later), which needs no address; for verbs an IP "
                "address on the port's interface (`ip addr show ib0`); check `fi_info -p verbs`",
                runtime="Intel MPI",
            ),
            Fix(
                "an IP address on the port's interface (`ip addr show ib0`), a libfabric with verbs (`fi_info -p "
                "verbs`), FI_PROVIDER=verbs; or an MPICH for UCX (--with-device=ch4:ucx)",
                runtime="MPICH",
            ),
        ),
        (
            "fi_verbs(7)",
            "libfabric prov/verbs/src/verbs_init.c",
            "Intel MPI Developer Reference, OFI-capable network fabrics control",
        ),
    ),
    Entry(
        "plugin",
        "the network plugin found nothing to use, or the network that was asked for does not exist",
        "EFA and Slingshot are reached by a plugin of NCCL (aws-ofi-nccl, libnccl-net.so). It failed, or NCCL_NET "
        "names a network that no plugin has. On InfiniBand and RoCE a missing plugin is normal and no reason.",
        (
            "NET/OFI Could not find any optimal provider",
            "Error: network AWS Libfabric not found.",
            "Failed to initialize NET plugin Libfabric",
        ),
        (
            Check(
                "ldconfig -p | grep nccl-net ; echo $LD_LIBRARY_PATH $NCCL_NET $NCCL_NET_PLUGIN",
                "the plugin, and what was asked for",
            ),
            Check("fi_info -p efa ; fi_info -p cxi", "whether the fabric's provider is there"),
        ),
        (
            Fix(
                "install the fabric's plugin (aws-ofi-nccl for EFA and Slingshot), put it on LD_LIBRARY_PATH; "
                "check NCCL_NET",
            ),
            Fix(
                "install the fabric's plugin (EFA: aws-ofi-nccl by AWS's installer; Slingshot: aws-ofi-nccl built "
                "with the cxi libfabric; Google Cloud: its gIB plugin), put its libnccl-net.so on LD_LIBRARY_PATH; "
                "unset NCCL_NET, or give it the name that the plugin prints",
                runtime="NCCL",
            ),
            Fix(
                "install aws-ofi-rccl (librccl-net.so) built with the fabric's libfabric, put it on "
                "LD_LIBRARY_PATH; unset NCCL_NET",
                runtime="RCCL",
            ),
        ),
        (
            "NCCL ext-net/README.md",
            "aws/aws-ofi-nccl doc",
            "docs.nvidia.com/deeplearning/nccl, Environment Variables",
        ),
    ),
    Entry(
        "mixed",
        "the hosts or ranks of the job do not have the same devices, or chose different networks",
        "Some hosts have devices that others lack, or ranks chose differently: NCCL 2.30 warns, older ones hang; "
        "Open MPI ends in MPI_Init where one rank has pml ob1 and another ucx.",
        (
            "Detected mixed local Net device counts across ranks (min 1, max 2)",
            "selected pml ob1, but peer [[1,1],0] on n01 selected pml ucx",
        ),
        (
            Check("ibkit status --hosts n[01-16]", "the devices and ports of each host, side by side"),
            Check(
                "srun --ntasks-per-node=1 bash -c 'hostname; ibv_devices; env | grep -E \"UCX|NCCL|OMPI\"'",
                "what differs between the nodes",
            ),
        ),
        (
            Fix("make the nodes equal: the same HCAs, all ports up, the same environment"),
            Fix(
                "make the nodes equal: all ports up, the same devices in each container; NCCL_IB_HCA names those "
                "that all have",
                runtime="NCCL",
            ),
            Fix(
                "make the nodes equal: all ports up, the same build and environment; --mca pml ucx makes the rank "
                "that cannot say why",
                runtime="Open MPI",
            ),
        ),
        (
            "NCCL src/init.cc",
            "open-mpi/ompi#9617",
            "NVIDIA/nccl#234",
        ),
    ),
    Entry(
        "lo",
        "only the loopback interface was found or asked for",
        "NCCL meets its ranks by a socket first. Where only lo is up, or NCCL_SOCKET_IFNAME names it, other hosts "
        "cannot be reached at all.",
        (
            "Bootstrap : Using [0]lo:127.0.0.1<0>",
            "NET/Socket : Using [0]lo:127.0.0.1<0>",
        ),
        (
            Check("ip -br addr", "the interfaces and their addresses, where the rank runs"),
            Check("echo $NCCL_SOCKET_IFNAME", "what was asked for"),
        ),
        (
            Fix("NCCL_SOCKET_IFNAME: the interface that reaches the other hosts"),
            Fix(
                "NCCL_SOCKET_IFNAME=eth0 (the pod's interface; `ip -br addr` in the pod), or unset it",
                place="kubernetes",
            ),
        ),
        ("docs.nvidia.com/deeplearning/nccl, Environment Variables",),
    ),
    Entry(
        "gloo",
        "Gloo's processes could not connect over TCP: mostly an interface that does not reach the other hosts",
        "Gloo takes the interface of the host's own name, which may be lo or one that the others cannot reach.",
        ("Gloo connectFullMesh failed with [../gloo/transport/tcp/pair.cc:144] no error",),
        (
            Check("getent hosts $(hostname) ; ip -br addr", "the address that the host's name stands for"),
            Check("echo $GLOO_SOCKET_IFNAME", "what was asked for"),
        ),
        (Fix("GLOO_SOCKET_IFNAME: the interface that does, on each host; look at firewalls between the hosts"),),
        (
            "PyTorch documentation, torch.distributed (choosing the network interface)",
            "pytorch/gloo gloo/transport/tcp",
        ),
    ),
    Entry(
        "glootcp",
        "Gloo was chosen, which in PyTorch and Horovod has TCP and nothing else",
        "Gloo of the usual builds has no verbs. As a helper beside NCCL or MPI that is as it should be; as the "
        "only backend it carries the data over TCP.",
        (
            "Using Gloo to perform CPU operations.",
            'init_process_group("gloo")',
        ),
        (
            Check(
                "python3 -c 'import torch; print(torch.__config__.show())'",
                "USE_GLOO_IBVERBS: a build flag, and no proof of use",
            ),
        ),
        (
            Fix(
                'NCCL or MPI for what should go by RDMA (init_process_group("nccl"), horovodrun without --gloo); '
                "Gloo over verbs needs a PyTorch that is built for it (USE_GLOO_IBVERBS) and "
                "GLOO_DEVICE_TRANSPORT=IBVERBS",
            ),
        ),
        (
            "PyTorch c10d/GlooDeviceFactory.cpp",
            "Horovod documentation, Gloo",
        ),
    ),
    Entry(
        "peermem",
        "GPUDirect RDMA is off: the HCA cannot reach the GPU's memory, and data goes through the host's memory",
        "It is RDMA all the same, only slower: NCCL copies to host memory first (via NET/IB/0 without /GDRDMA).",
        ("NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0' (no module)",),
        (
            Check("lsmod | grep -E 'nvidia_peermem|nv_peer_mem'", "the module, where dma-buf is not used"),
            Check("nvidia-smi topo -m", "how near GPUs and HCAs are: PIX or PXB for GPUDirect"),
        ),
        (
            Fix(
                "modprobe nvidia_peermem on each node (it comes with NVIDIA's driver; /etc/modules-load.d), or a "
                "kernel and driver with dma-buf",
            ),
            Fix(
                "a kernel with dma-buf (CONFIG_DMABUF_MOVE_NOTIFY, CONFIG_PCI_P2PDMA), or ROCm's amdgpu-dkms, on "
                "each node",
                runtime="RCCL",
            ),
        ),
        (
            "NVIDIA GPUDirect RDMA documentation, nvidia-peermem",
            "NCCL src/transport/net_ib.cc",
        ),
        REMARK,
    ),
    Entry(
        "noparams",
        "Open MPI's openib module does not know tuned parameters for this HCA",
        "btl_openib's file of devices has no entry for the part: defaults are used. It costs a little speed, and "
        "decides nothing.",
        ("WARNING: No preset parameters were found for the device that Open MPI detected:",),
        (Check("ompi_info | grep -i ucx", "with UCX openib is not needed at all"),),
        (Fix("none is needed; --mca btl_openib_warn_no_device_params_found 0 or --mca btl ^openib silences it"),),
        ("Open MPI help-mpi-btl-openib.txt",),
        NOISE,
    ),
    Entry(
        "openibinit",
        "Open MPI's openib module did not take a device",
        "The message follows others that say why (memlock, noucx), and is printed, too, while UCX carries the "
        "data: by itself it proves nothing.",
        ("WARNING: There was an error initializing an OpenFabrics device.",),
        (
            Check(
                "mpirun --mca pml_base_verbose 100 ... 2>&1 | grep 'component ucx selected'",
                "UCX is used: the message is noise",
            ),
        ),
        (Fix("--mca btl ^openib silences it where UCX is used; else read the message before it"),),
        ("Open MPI help-mpi-btl-openib.txt",),
        NOISE,
    ),
)

BY_ID = {entry.id: entry for entry in ENTRIES}
