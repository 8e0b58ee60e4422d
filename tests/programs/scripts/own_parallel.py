# SPDX-License-Identifier: Apache-2.0
"""torch's own tensor parallelism over sharded layers, and a pipeline by its schedule: two ranks."""
import os

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, loss_parallel, parallelize_module

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
mesh = init_device_mesh("cuda", (2,))
block = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256)).cuda()
block = parallelize_module(block, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
head = parallelize_module(torch.nn.Linear(256, 512).cuda(), mesh, ColwiseParallel(use_local_output=False))
optimizer = torch.optim.AdamW([*block.parameters(), *head.parameters()])
for _ in range(2):
    with loss_parallel():
        torch.nn.functional.cross_entropy(head(block(torch.randn(8, 256, device="cuda"))), torch.randint(0, 512, (8,), device="cuda")).backward()
    optimizer.step()
    optimizer.zero_grad()
part = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU()).cuda()
stage = PipelineStage(part, rank, 2, torch.device("cuda", rank))
schedule = Schedule1F1B(stage, 4, loss_fn=torch.nn.functional.mse_loss)
stepping = torch.optim.SGD(part.parameters(), 0.1)
for _ in range(2):
    losses = []
    if rank == 0:
        schedule.step(torch.randn(16, 256, device="cuda"))
    else:
        schedule.step(target=torch.randn(16, 256, device="cuda"), losses=losses)
    stepping.step()
    stepping.zero_grad()
torch.distributed.destroy_process_group()
