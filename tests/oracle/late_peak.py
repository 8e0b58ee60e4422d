# SPDX-License-Identifier: Apache-2.0
"""late_peak.py: thirty level steps, then higher ones: what was alive at the peak is known by its lines."""
import torch

layer = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.SGD(layer.parameters(), 0.1)


def step(rows):
    high = torch.zeros(rows, 1024, device="cuda")
    layer(high).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(30):
    step(1024)
for _ in range(3):
    step(8192)
