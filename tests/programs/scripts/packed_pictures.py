# SPDX-License-Identifier: Apache-2.0
"""vit-pytorch: distillation without labels (DINO), and pictures of several sizes packed into one row (NaViT)."""
import torch
from vit_pytorch import ViT
from vit_pytorch.dino import Dino
from vit_pytorch.na_vit import NaViT

vit = ViT(image_size=64, patch_size=8, num_classes=10, dim=128, depth=2, heads=4, mlp_dim=256).cuda()
student = Dino(vit, image_size=64, hidden_layer="to_latent", projection_hidden_size=64, projection_layers=2, num_classes_K=256).cuda()
packed = NaViT(image_size=64, patch_size=8, num_classes=10, dim=64, depth=2, heads=4, mlp_dim=128, token_dropout_prob=0.1).cuda()
optimizer = torch.optim.AdamW([*student.parameters(), *packed.parameters()])
for _ in range(3):
    sizes = [[torch.randn(3, 64, 32, device="cuda"), torch.randn(3, 32, 32, device="cuda")], [torch.randn(3, 48, 64, device="cuda")]]
    (student(torch.randn(4, 3, 64, 64, device="cuda")) + packed(sizes).square().mean()).backward()
    optimizer.step()
    optimizer.zero_grad()
    student.update_moving_average()
