# SPDX-License-Identifier: Apache-2.0
"""dead_rank.py: a launcher that ends well although its second rank died in its second step. memtape run says so."""
import os
import subprocess
import sys

if "RANK" not in os.environ:
    ranks = [subprocess.Popen([sys.executable, __file__], env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2"}) for rank in range(2)]
    for rank in ranks:
        rank.wait()
    raise SystemExit(0)

import torch

model = torch.nn.Linear(4, 4).cuda(int(os.environ["RANK"]))
optimizer = torch.optim.SGD(model.parameters())
for step in range(3):
    if step == 1 and os.environ["RANK"] == "1":
        raise ValueError("no more data")
    model(torch.zeros(1, 4, device=model.weight.device)).sum().backward()
    optimizer.step()
