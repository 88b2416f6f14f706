"""Two processes that hold a connected RC queue pair by pyverbs until a line arrives on stdin.

    python tests/support/rc_pair.py DEVICE PEER-DEVICE [send]

Prints one line of JSON: for each end its pid, device and queue pair number. The second end makes its queue pair in a
thread of its own, so that the kernel names that thread. With ``send`` the first end sends some 100 messages a second to
the other one. Their environment calls the ends ranks of a job.
"""

from __future__ import annotations

import json
import os
import select
import sys
import threading
import time

from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.enums import IBV_ACCESS_LOCAL_WRITE, IBV_MTU_1024, IBV_QPT_RC, IBV_SEND_SIGNALED, IBV_WR_SEND
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

#: Any that are not small: where both ends start at 0, every host's look alike.
PSNS = (0x345678, 0x789ABC)


def hold(end: int, device: str, send: int, receive: int, *, sends: bool) -> None:
    """One end: tell number and GID, connect to the other, send or wait until the end of ``receive``."""
    context = Context(name=device)
    gid = context.query_gid(1, 0).gid
    pd = PD(context)
    memory = MR(pd, 4096, IBV_ACCESS_LOCAL_WRITE)
    cq = CQ(context, 16)
    made = []

    def make() -> None:
        wanted = QPInitAttr(qp_type=IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap(max_send_wr=4, max_recv_wr=4))
        made.append(QP(pd, wanted, QPAttr(port_num=1)))

    if end:
        ready, leave = threading.Event(), threading.Event()
        threading.Thread(target=lambda: (make(), ready.set(), leave.wait()), daemon=True).start()
        ready.wait()
    else:
        make()
    (qp,) = made
    os.write(send, json.dumps({"pid": os.getpid(), "device": device, "qpn": qp.qp_num, "gid": gid}).encode() + b"\n")
    peer = json.loads(os.read(receive, 4096))
    wanted = QPAttr(port_num=1)
    wanted.dest_qp_num = peer["qpn"]
    wanted.path_mtu = IBV_MTU_1024
    wanted.rq_psn, wanted.sq_psn = PSNS[1 - end], PSNS[end]
    wanted.max_dest_rd_atomic = wanted.max_rd_atomic = 1
    wanted.min_rnr_timer, wanted.timeout, wanted.retry_cnt, wanted.rnr_retry = 12, 14, 7, 7
    wanted.ah_attr = AHAttr(gr=GlobalRoute(dgid=GID(peer["gid"]), sgid_index=0), is_global=1, port_num=1)
    qp.to_rts(wanted)
    place = SGE(memory.buf, 64, memory.lkey)
    if sends and end:
        for number in range(4):
            qp.post_recv(RecvWR(wr_id=number, num_sge=1, sg=[place]))
    os.write(send, b"connected\n")
    while not select.select([receive], [], [], 0.01)[0]:  # until the parent closes it
        if not sends:
            continue
        if not end:
            qp.post_send(SendWR(opcode=IBV_WR_SEND, num_sge=1, sg=[place], send_flags=IBV_SEND_SIGNALED))
            while not cq.poll()[0]:
                time.sleep(0.001)
        while end and cq.poll()[0]:
            qp.post_recv(RecvWR(wr_id=0, num_sge=1, sg=[place]))
    del memory


def main() -> None:
    """Start both ends, introduce them to each other, wait for stdin."""
    ends = []
    for end in (0, 1):
        to_parent, to_child = os.pipe(), os.pipe()
        if not (child := os.fork()):
            # The environment of /proc is the one that a program was started with.
            words = ["--end", str(end), sys.argv[1 + end], str(to_parent[1]), str(to_child[0]), *sys.argv[3:]]
            os.set_inheritable(to_parent[1], True)
            os.set_inheritable(to_child[0], True)
            environment = {**os.environ, "RANK": str(end), "WORLD_SIZE": "2"}
            os.execve(sys.executable, [sys.executable, __file__, *words], environment)
        os.close(to_parent[1])
        os.close(to_child[0])
        ends.append((child, to_parent[0], to_child[1]))
    told = [os.read(reader, 4096) for _, reader, _ in ends]
    for (_, _, writer), peer in zip(ends, reversed(told), strict=True):
        os.write(writer, peer)
    for _, reader, _ in ends:
        assert os.read(reader, 4096) == b"connected\n"
    print(json.dumps([json.loads(text) for text in told]), flush=True)
    sys.stdin.readline()
    for child, _, writer in ends:
        os.close(writer)
        os.waitpid(child, 0)


if __name__ == "__main__":
    if sys.argv[1] == "--end":
        hold(int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), sends=sys.argv[6:] == ["send"])
    else:
        main()
