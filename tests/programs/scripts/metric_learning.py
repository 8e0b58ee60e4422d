# SPDX-License-Identifier: Apache-2.0
"""metric_learning.py: pytorch-metric-learning over a ResNet: mined triplets, ArcFace's weights and a contrastive loss, whose pairs the
labels decide."""
import torch
import torchvision
from pytorch_metric_learning import losses, miners

network = torchvision.models.resnet18(num_classes=64).cuda()
triplets, miner = losses.TripletMarginLoss(margin=0.2), miners.TripletMarginMiner(margin=0.2, type_of_triplets="semihard")
faces, pairs = losses.ArcFaceLoss(10, 64).cuda(), losses.NTXentLoss()
optimizer = torch.optim.Adam([*network.parameters(), *faces.parameters()])
for step in range(3):
    pictures, labels = torch.randn(16, 3, 64, 64).cuda(), torch.arange(16).remainder(10).cuda()
    embedded = network(pictures)
    loss = triplets(embedded, labels, miner(embedded, labels)) + faces(embedded, labels) + pairs(embedded, labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
