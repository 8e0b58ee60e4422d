# SPDX-License-Identifier: Apache-2.0
"""torch's fully_shard on two GPUs, clipped, and its state saved and loaded by torch.distributed.checkpoint."""
import os

import torch
import torch.distributed as dist
from torch.distributed import checkpoint
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU()) for _ in range(4)]).cuda()
for block in model:
    fully_shard(block)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    model(torch.randn(8, 256, device="cuda")).square().mean().backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
weights, moments = get_state_dict(model, optimizer)
checkpoint.save({"model": weights, "optimizer": moments}, checkpoint_id="out/sharded")
checkpoint.load({"model": weights, "optimizer": moments}, checkpoint_id="out/sharded")
set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=moments)
dist.destroy_process_group()
