"""One rank of PyTorch over Gloo: python3 gloo_ranks.py SECONDS [FILE]. The environment tells RANK, WORLD_SIZE,
MASTER_ADDR and MASTER_PORT. Each round adds up 4 MiB over all ranks, and the first one is told; it ends when rank 0's
time is over, or FILE is there.
"""

from __future__ import annotations

import datetime
import os
import sys
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=30))
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: backend {dist.get_backend()}", flush=True)
end = time.monotonic() + float(sys.argv[1])
data = torch.ones(1 << 20)
rounds = 0
while True:
    data.fill_(1)
    dist.all_reduce(data)
    assert float(data[0]) == dist.get_world_size()
    goes_on = torch.tensor([float(time.monotonic() < end and not any(map(os.path.exists, sys.argv[2:])))])
    dist.broadcast(goes_on, 0)
    if not goes_on.item():
        break
    if not rounds:
        print(f"rank {os.environ['RANK']} has summed up", flush=True)
    rounds += 1
print(f"rank {os.environ['RANK']} done", flush=True)
