# SPDX-License-Identifier: Apache-2.0
"""own_documents.py: torch's compiled flex attention, each token seeing those before it in its own document."""
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

run = torch.compile(flex_attention)
document = torch.arange(8, device="cuda").repeat_interleave(128)


def seen(batch, head, query, key):
    return (query >= key) & (document[query] == document[key])


mask = create_block_mask(seen, None, None, 1024, 1024)
layer = torch.nn.Linear(256, 768, device="cuda", dtype=torch.bfloat16)
optimizer = torch.optim.AdamW(layer.parameters())
for _ in range(3):
    words = torch.randn(2, 1024, 256, device="cuda", dtype=torch.bfloat16)
    query, key, value = layer(words).view(2, 1024, 3, 4, 64).permute(2, 0, 3, 1, 4)
    run(query, key, value, block_mask=mask).float().square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
