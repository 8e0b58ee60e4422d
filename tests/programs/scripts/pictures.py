# SPDX-License-Identifier: Apache-2.0
"""pictures.py FOLDER: timm's ViT on folders of pictures, its own mixup and optimizer."""
import sys

import timm
import timm.data
import timm.loss
import torch
from timm.optim import create_optimizer_v2

model = timm.create_model("vit_tiny_patch16_224", num_classes=2, img_size=96).cuda()
optimizer = create_optimizer_v2(model, "lamb", lr=1e-3)
mixup = timm.data.Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=2)
data = timm.data.create_loader(timm.data.create_dataset("", sys.argv[1] + "/classes/train"), (3, 96, 96), 4, is_training=True, num_workers=0)
for pixels, labels in data:
    pixels, labels = mixup(pixels, labels)
    with torch.autocast("cuda", torch.float16):
        loss = timm.loss.SoftTargetCrossEntropy()(model(pixels), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
