# SPDX-License-Identifier: Apache-2.0
"""torchvision's Mask R-CNN: proposals, matching and NMS have sizes that weights decide."""
import torch
from torchvision.models.detection import maskrcnn_resnet50_fpn

model = maskrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=3).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for _ in range(3):
    images = [torch.rand(3, 256, 256, device="cuda") for _ in range(2)]
    targets = [{"boxes": torch.tensor([[20.0, 20, 120, 120], [60, 40, 200, 220]], device="cuda"),
                "labels": torch.tensor([1, 2], device="cuda"),
                "masks": torch.ones(2, 256, 256, dtype=torch.uint8, device="cuda")} for _ in range(2)]
    sum(model(images, targets).values()).backward()
    optimizer.step()
    optimizer.zero_grad()
model.eval()
with torch.no_grad():
    print([{k: tuple(v.shape) for k, v in found.items()} for found in model(images)])
