# SPDX-License-Identifier: Apache-2.0
"""transformers' wav2vec2 with CTC: lengths of outputs come from the attention mask."""
import torch
from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

config = Wav2Vec2Config(hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256, vocab_size=32,
                        conv_dim=(32,) * 7, num_feat_extract_layers=7, mask_time_length=2, ctc_loss_reduction="mean")
model = Wav2Vec2ForCTC(config).cuda().train()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    sound = torch.randn(2, 8000, device="cuda")
    mask = torch.ones(2, 8000, dtype=torch.long)
    mask[1, 6000:] = 0
    labels = torch.randint(1, 30, (2, 12), device="cuda")
    model(input_values=sound, attention_mask=mask.cuda(), labels=labels).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
