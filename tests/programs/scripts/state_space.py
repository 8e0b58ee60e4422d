# SPDX-License-Identifier: Apache-2.0
"""transformers' Mamba in its own slow path, three steps."""
import torch
from transformers import MambaConfig, MambaForCausalLM

model = MambaForCausalLM(MambaConfig(hidden_size=128, num_hidden_layers=2, vocab_size=1024)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    ids = torch.randint(0, 1000, (2, 64), device="cuda")
    model(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
