# SPDX-License-Identifier: Apache-2.0
"""vision.py NAME: one of torchvision's models with the loss that its reference trainer has, three steps."""
import sys

import torch
import torchvision

name = sys.argv[1]
size = {"raft": 128, "r3d": 32}.get(name, 128)
boxes = [{"boxes": torch.tensor([[8.0, 8.0, 60.0, 70.0]]).cuda(), "labels": torch.tensor([1]).cuda(),
          "keypoints": torch.tensor([[[20.0, 20.0, 1.0]] * 17]).cuda()} for _ in range(2)]
pictures = torch.rand(2, 3, size, size, device="cuda")
models = torchvision.models


def detected(model):
    return lambda: sum(model(list(pictures), boxes).values())


def flow(model):
    wanted = torch.randn(2, 2, size, size, device="cuda")
    return lambda: sum((made - wanted).abs().mean() for made in model(pictures, pictures.flip(0)))


def deeplab(model):
    labels = torch.randint(0, 5, (2, size, size), device="cuda")
    return lambda: torch.nn.functional.cross_entropy(model(pictures)["out"], labels)


def video(model):
    clips, labels = torch.rand(2, 3, 8, size, size, device="cuda"), torch.tensor([0, 3], device="cuda")
    return lambda: torch.nn.functional.cross_entropy(model(clips), labels)


none = {"weights": None, "weights_backbone": None}
make = {"retinanet": lambda: (models.detection.retinanet_resnet50_fpn(**none, num_classes=3), detected),
        "ssd": lambda: (models.detection.ssdlite320_mobilenet_v3_large(**none, num_classes=3), detected),
        "keypoints": lambda: (models.detection.keypointrcnn_resnet50_fpn(**none), detected),
        "raft": lambda: (models.optical_flow.raft_small(weights=None), flow),
        "deeplab": lambda: (models.segmentation.deeplabv3_resnet50(**none, num_classes=5), deeplab),
        "r3d": lambda: (models.video.r3d_18(num_classes=5), video)}
model, losses = make[name]()
model = model.cuda().train()
loss = losses(model)
optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
for _ in range(3):
    loss().backward()
    optimizer.step()
    optimizer.zero_grad()
model.eval()
with torch.no_grad():
    model(pictures, pictures) if name == "raft" else model(torch.rand(2, 3, 8, size, size, device="cuda")) if name == "r3d" else model(pictures)
