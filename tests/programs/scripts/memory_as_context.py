# SPDX-License-Identifier: Apache-2.0
"""memory_as_context.py: titans-pytorch: a transformer whose memory is a network that it trains as it reads."""
import torch
from titans_pytorch import MemoryAsContextTransformer

model = MemoryAsContextTransformer(num_tokens=256, dim=64, depth=2, segment_len=32, num_persist_mem_tokens=4,
                                   num_longterm_mem_tokens=8).cuda()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    model(torch.randint(0, 256, (1, 128), device="cuda"), return_loss=True).backward()
    optimizer.step()
    optimizer.zero_grad()
