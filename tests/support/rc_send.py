"""Send one message over an RC connection by pyverbs, with the GIDs and GID indexes that somebody resolved.

    python tests/support/rc_send.py DEVICE INDEX GID PEER-DEVICE PEER-INDEX PEER-GID

Each end uses its own GID index as the source and the other's GID as the destination. Prints what arrived.
"""

from __future__ import annotations

import sys
import time

from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.enums import IBV_ACCESS_LOCAL_WRITE, IBV_MTU_1024, IBV_QPT_RC, IBV_SEND_SIGNALED, IBV_WR_SEND
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

MESSAGE = b"over the GID that was resolved"
DEADLINE_SECONDS = 20.0


class End:
    """One end: a queue pair and memory for the message."""

    def __init__(self, device: str, index: int) -> None:
        self.index = index
        self.context = Context(name=device)
        self.pd = PD(self.context)
        self.memory = MR(self.pd, 4096, IBV_ACCESS_LOCAL_WRITE)
        self.cq = CQ(self.context, 16)
        wanted = QPInitAttr(qp_type=IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=QPCap(max_send_wr=4, max_recv_wr=4))
        self.qp = QP(self.pd, wanted, QPAttr(port_num=1))

    def connect(self, other: End, gid: str) -> None:
        """To the other end, which has the GID."""
        wanted = QPAttr(port_num=1)
        wanted.dest_qp_num = other.qp.qp_num
        wanted.path_mtu = IBV_MTU_1024
        wanted.rq_psn = wanted.sq_psn = 7
        wanted.max_dest_rd_atomic = wanted.max_rd_atomic = 1
        wanted.min_rnr_timer, wanted.timeout, wanted.retry_cnt, wanted.rnr_retry = 12, 14, 7, 7
        route = GlobalRoute(dgid=GID(gid), sgid_index=self.index)
        wanted.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
        self.qp.to_rts(wanted)

    def place(self) -> list[SGE]:
        """The memory for work requests."""
        return [SGE(self.memory.buf, len(MESSAGE), self.memory.lkey)]

    def wait(self) -> None:
        """For one completion, which must be a success."""
        end = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < end:
            count, done = self.cq.poll()
            if count:
                if done[0].status:
                    raise SystemExit(f"completion with status {done[0].status}")
                return
        raise SystemExit("no completion in time")


def main(device: str, index: str, gid: str, peer_device: str, peer_index: str, peer_gid: str) -> None:
    """Connect both ends, send from the first to the second."""
    sender, receiver = End(device, int(index)), End(peer_device, int(peer_index))
    sender.connect(receiver, peer_gid)
    receiver.connect(sender, gid)
    receiver.qp.post_recv(RecvWR(sg=receiver.place(), num_sge=1))
    sender.memory.write(MESSAGE, len(MESSAGE))
    sender.qp.post_send(SendWR(opcode=IBV_WR_SEND, num_sge=1, sg=sender.place(), send_flags=IBV_SEND_SIGNALED))
    receiver.wait()
    sender.wait()
    print(receiver.memory.read(len(MESSAGE), 0).decode())


if __name__ == "__main__":
    main(*sys.argv[1:])
