# SPDX-License-Identifier: Apache-2.0
"""transformers' Mask2Former on a small Swin, three steps."""
import torch
from transformers import Mask2FormerConfig, Mask2FormerForUniversalSegmentation, SwinConfig

swin = SwinConfig(image_size=128, embed_dim=32, depths=[1, 1, 1, 1], num_heads=[2, 2, 4, 4], window_size=4,
                  out_features=["stage1", "stage2", "stage3", "stage4"])
config = Mask2FormerConfig(backbone_config=swin, feature_size=64, mask_feature_size=64, hidden_dim=64, encoder_feedforward_dim=128,
                           dim_feedforward=128, decoder_layers=3, encoder_layers=2, num_attention_heads=4, num_queries=20,
                           num_labels=4, train_num_points=256)
model = Mask2FormerForUniversalSegmentation(config).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    masks = [(torch.rand(2, 128, 128, device="cuda") > 0.5).float() for _ in range(2)]
    classes = [torch.tensor([0, 2], device="cuda") for _ in range(2)]
    model(pixel_values=torch.randn(2, 3, 128, 128, device="cuda"), mask_labels=masks, class_labels=classes).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
