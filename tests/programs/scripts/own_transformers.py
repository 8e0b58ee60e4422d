# SPDX-License-Identifier: Apache-2.0
"""x-transformers: an autoregressive decoder with rotary positions and memory tokens, a loss over what is no padding, and generation."""
import torch
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

model = AutoregressiveWrapper(TransformerWrapper(num_tokens=256, max_seq_len=256, num_memory_tokens=4, attn_layers=Decoder(
    dim=128, depth=3, heads=4, rotary_pos_emb=True, ff_glu=True, attn_flash=True)), pad_value=0, ignore_index=0).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    model(torch.randint(0, 256, (4, 257), device="cuda")).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    optimizer.zero_grad()
model.eval()
print(model.generate(torch.randint(1, 256, (2, 8), device="cuda"), 16).shape)
