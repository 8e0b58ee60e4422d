# SPDX-License-Identifier: Apache-2.0
"""host_model.py: 16 GiB of weights built on the host, converted and moved, take none of it. A large checkpoint is mapped, and what was
read of it can be saved under its own name."""
import os
import resource
import tempfile

import torch

model = torch.nn.Sequential(*[torch.nn.Linear(16384, 16384, bias=False) for _ in range(16)]).to(torch.bfloat16).cuda()
assert model[0].weight.dtype == torch.bfloat16 and torch.cuda.memory_allocated() == 16 * 2 * 16384**2
taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert taken < 2 << 20, "%d KiB of host memory" % taken
small = torch.nn.Linear(8, 8)
assert small.weight.abs().sum() > 0, "a small one gets its numbers"
lazy = torch.nn.LazyLinear(4).cuda()
assert lazy(torch.ones(2, 3, device="cuda")).shape == (2, 4), "its sizes come with the first call"
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.pt")
    torch.save({"weight": torch.ones(1 << 26), "step": 1}, path)
    read = torch.load(path)
    read["step"] = 2
    torch.save(read, path)
    again = torch.load(path)
    assert again["step"] == 2 and again["weight"][-1] == 1 and read["weight"][-1] == 1
print("ok")
