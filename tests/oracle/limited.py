# SPDX-License-Identifier: Apache-2.0
"""limited.py TRACE: fills a small device past its end in several ways, and writes what the allocator did as a trace.

The replica must come to the same decisions: retries that free cached blocks, refusals, what is reused afterwards.
"""
import gzip
import json
import random
import sys

import torch

MIB = 1 << 20


def churn(seed):
    """Tensors of many sizes come and go until the device refuses; then half of them go."""
    chance = random.Random(seed)
    held = []
    refused = 0
    for _ in range(400):
        if held and chance.random() < 0.35:
            held.pop(chance.randrange(len(held)))
        size = int(2 ** chance.uniform(9, 27.5))
        try:
            held.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        except torch.cuda.OutOfMemoryError:
            refused += 1
            del held[::2]
    return refused


def main():
    torch.cuda.init()
    free, total = torch.cuda.mem_get_info()
    torch.cuda.memory._record_memory_history(context=None, stacks="python", max_entries=10**6)
    refused = sum(churn(seed) for seed in range(3))
    assert refused, "the device never ran out"
    events = [e for e in torch.cuda.memory._snapshot()["device_traces"][0] if e["action"] not in ("snapshot", "free_requested")]
    base = min(e["addr"] for e in events if e["action"] == "segment_alloc")
    header = {"format": 1, "name": "limited", "torch": torch.__version__, "settings": {}, "device": 0, "base": 0, "streams": [0],
              "events": len(events), "starts_empty": True, "initial": [],
              "device_memory": {"total": total, "outside": total - free, "fraction": None}}
    with gzip.open(sys.argv[1], "wt") as file:
        file.write(json.dumps(header) + "\n")
        for e in events:
            address = e.get("addr", 0) - base if e["action"] != "oom" else 0
            file.write(json.dumps([e["action"], address, e["size"], 0]) + "\n")
    print("%d events, %d requests refused" % (len(events), refused))


main()
