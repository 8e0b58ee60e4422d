# SPDX-License-Identifier: Apache-2.0
"""linear_attention.py: flash-linear-attention's gated linear attention and its delta rule, whose Triton kernels tune themselves."""
import torch
from fla import models

for name in ("GLA", "DeltaNet"):
    config = getattr(models, name + "Config")(hidden_size=256, num_hidden_layers=2, num_heads=4, vocab_size=1000)
    model = getattr(models, name + "ForCausalLM")(config).to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        ids = torch.randint(0, 1000, (2, 128), device="cuda")
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
