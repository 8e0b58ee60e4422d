# SPDX-License-Identifier: Apache-2.0
"""transformers' DETR, a loss with matching, three steps."""
import torch
from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig

backbone = ResNetConfig(embedding_size=32, hidden_sizes=[32, 64, 128, 256], depths=[1, 1, 1, 1], out_features=["stage4"])
config = DetrConfig(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone, d_model=128,
                    encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=256,
                    decoder_ffn_dim=256, num_queries=50, num_labels=5)
model = DetrForObjectDetection(config).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    pixels = torch.randn(2, 3, 128, 128, device="cuda")
    labels = [{"class_labels": torch.tensor([1, 3], device="cuda"), "boxes": torch.rand(2, 4, device="cuda") / 2} for _ in range(2)]
    model(pixel_values=pixels, labels=labels).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
