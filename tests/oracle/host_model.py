# SPDX-License-Identifier: Apache-2.0
"""host_model.py: 16 GiB of weights built on the host, converted and moved, take none of it."""
import resource

import torch

model = torch.nn.Sequential(*[torch.nn.Linear(16384, 16384, bias=False) for _ in range(16)]).to(torch.bfloat16).cuda()
assert model[0].weight.dtype == torch.bfloat16 and torch.cuda.memory_allocated() == 16 * 2 * 16384**2
taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert taken < 2 << 20, "%d KiB of host memory" % taken
small = torch.nn.Linear(8, 8)
assert small.weight.abs().sum() > 0, "a small one gets its numbers"
print("ok")
