# SPDX-License-Identifier: Apache-2.0
"""segmentation-models-pytorch: a U-Net, its Dice loss and its scores."""
import segmentation_models_pytorch as smp
import torch

model = smp.Unet("resnet18", encoder_weights=None, classes=1).cuda()
loss_of = smp.losses.DiceLoss("binary")
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    masks = (torch.rand(2, 1, 128, 128) > 0.5).long().cuda()
    found = model(torch.randn(2, 3, 128, 128, device="cuda"))
    loss_of(found, masks).backward()
    optimizer.step()
    optimizer.zero_grad()
    counts = smp.metrics.get_stats((found.sigmoid() > 0.5).long(), masks, mode="binary")
print(smp.metrics.iou_score(*counts, reduction="micro"))
