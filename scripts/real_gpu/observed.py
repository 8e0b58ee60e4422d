# SPDX-License-Identifier: Apache-2.0
"""`memtape detect` and `memtape watch` on the driver, beside what torch says of itself."""
import json

from kit import HERE, Case, NotMeasured


def cases(kit):
    yield lambda: detected(kit)
    if not kit.phantom:  # whose program `memtape run` observes already
        yield lambda: watched(kit)


def detected(kit):
    return Case("detect", {"total_bytes": kit.child("observed")["total_bytes"]}, {"total_bytes": kit.card["total_bytes"]})


def watched(kit):
    own = kit.child("observed")
    seen = kit.ask("watch", "--", kit.python, HERE / "observed.py")
    peaks = ("peak_allocated_bytes", "peak_reserved_bytes")
    if not seen["ranks"]:
        raise NotMeasured("watch saw no rank: " + "; ".join(seen["warnings"]))
    return Case("watch", {name: own[name] for name in peaks}, seen["ranks"][0])


def measure():
    import torch
    layer = torch.nn.Linear(64, 64, device="cuda")
    optimizer = torch.optim.SGD(layer.parameters())
    layer(torch.zeros(1, 64, device="cuda")).sum().backward()
    optimizer.step()  # from which on `memtape watch` tells of steps
    blocks = [torch.zeros(1 << 20, device="cuda") for _ in range(64)]
    del blocks[::2]
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    return {"total_bytes": torch.cuda.get_device_properties(0).total_memory,
            **{f"peak_{kind}_bytes": stats[f"{kind}_bytes.all.peak"] for kind in ("allocated", "reserved")}}


if __name__ == "__main__":
    print(json.dumps(measure()))
