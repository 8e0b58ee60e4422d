# SPDX-License-Identifier: Apache-2.0
"""ranks.py: what ranks tell one another in small tensors and objects arrives, as between devices. Run by memtape run on two GPUs."""
import os

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives

failures = []


def expect(what, got, right):
    if got != right:
        failures.append("rank %d: %s: %r, not %r" % (me, what, got, right))


def tensors():
    mine = torch.tensor([me + 1, 10 * (me + 1)], device="cuda")
    summed = mine.clone()
    dist.all_reduce(summed)
    expect("a sum", summed.tolist(), [3, 30])
    most = torch.tensor([float(me)], device="cuda")
    dist.all_reduce(most, dist.ReduceOp.MAX)
    expect("the most", most.item(), 1.0)
    told = torch.tensor([5 if me == 1 else 0], device="cuda")
    dist.broadcast(told, 1)
    expect("told", told.item(), 5)
    every = torch.empty(4, dtype=torch.long, device="cuda")
    dist.all_gather_into_tensor(every, mine)
    expect("gathered", every.tolist(), [1, 10, 2, 20])
    parts = list(torch.zeros(2, 2, dtype=torch.long, device="cuda"))
    dist.all_gather(parts, mine)
    expect("gathered apart", [p.tolist() for p in parts], [[1, 10], [2, 20]])
    swapped = torch.empty(2, dtype=torch.long, device="cuda")
    dist.all_to_all_single(swapped, mine)
    expect("swapped", swapped.tolist(), [1, 2] if me == 0 else [10, 20])
    part = torch.empty(1, dtype=torch.long, device="cuda")
    dist.reduce_scatter_tensor(part, mine)
    expect("a part of the sum", part.item(), 3 if me == 0 else 30)
    if me == 0:
        dist.send(mine, 1)
    else:
        heard = torch.empty_like(mine)
        dist.recv(heard, 0)
        expect("heard", heard.tolist(), [1, 10])
    functional = torch.distributed._functional_collectives
    expect("a sum as an operator", functional.all_reduce(mine, "sum", dist.group.WORLD).tolist(), [3, 30])
    expect("gathered by one", functional.all_gather_tensor(mine, 0, dist.group.WORLD).tolist(), [1, 10, 2, 20])
    unknown = torch.randn(8, 4096, device="cuda") @ torch.randn(4096, 8, device="cuda")
    dist.all_reduce(unknown)
    expect("what nobody knows", unknown[0, 0].item(), 0.0)


def objects():
    mine = {"rank": me, "name": "x" * (1 + 70000 * me)}
    right = [{"rank": 0, "name": "x"}, {"rank": 1, "name": "x" * 70001}]
    every = [None, None]
    dist.all_gather_object(every, mine)
    expect("objects", every, right)
    told = [mine, me] if me == 0 else [None, None]
    dist.broadcast_object_list(told, 0)
    expect("objects told", told, [right[0], 0])
    gathered = [None, None] if me == 1 else None
    dist.gather_object(mine, gathered, dst=1)
    expect("objects gathered", gathered, right if me == 1 else None)
    got = [None]
    dist.scatter_object_list(got, ["a", "bc" * 99] if me == 0 else None, src=0)
    expect("an object of two", got, ["a"] if me == 0 else ["bc" * 99])
    if me == 1:
        dist.send_object_list([mine], 0)
    else:
        sent = [None]
        dist.recv_object_list(sent, 1)
        expect("an object sent", sent, [right[1]])


local = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
dist.init_process_group("nccl")
me = dist.get_rank()
tensors()
objects()
group = dist.new_group([0, 1])
every = [None, None]
dist.all_gather_object(every, me, group=group)
expect("objects of another group", every, [0, 1])
dist.barrier()
dist.destroy_process_group()
print("\n".join(failures) or "all as between devices")
raise SystemExit(1 if failures else 0)
