# SPDX-License-Identifier: Apache-2.0
"""transformers' Llava: features of pictures take the place of their tokens."""
import torch
from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

vision = CLIPVisionConfig(hidden_size=128, intermediate_size=256, num_hidden_layers=3, num_attention_heads=4, image_size=56, patch_size=14)
text = LlamaConfig(hidden_size=256, intermediate_size=512, num_hidden_layers=3, num_attention_heads=4, vocab_size=1024)
config = LlavaConfig(vision_config=vision, text_config=text, image_token_index=1000, image_seq_length=16)
model = LlavaForConditionalGeneration(config).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    ids = torch.randint(0, 900, (2, 64))
    ids[:, 5:21] = 1000
    ids = ids.cuda()
    pixels = torch.randn(2, 3, 56, 56, device="cuda")
    model(input_ids=ids, pixel_values=pixels, attention_mask=torch.ones_like(ids), labels=ids).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
