# SPDX-License-Identifier: Apache-2.0
"""The allocator's own history (torch.cuda.memory._record_memory_history): what was alive, and where it was allocated."""
from . import stacks

_MOST = 20  # rows of a table


def start(torch, entries):
    torch.cuda.memory._record_memory_history(enabled="all", context="alloc", stacks="python", max_entries=entries)


def _grouped(tensors):
    """Tensors of one place and size as one row, the largest rows first."""
    rows = {}
    for size, frames in tensors:
        stack = stacks.of_frames(frames)
        key = (size, stacks.inner_of_frames(frames), tuple(stack))
        rows[key] = rows.get(key, 0) + 1
    table = [{"bytes": size * count, "count": count, "size": size, "place": inner, "stack": list(stack)}
             for (size, inner, stack), count in rows.items()]
    table.sort(key=lambda row: (-row["bytes"], row["place"], row["stack"]))
    return table[:_MOST]


def alive_now(snapshot, device):
    tensors = []
    for segment in snapshot["segments"]:
        if segment["device"] == device:
            tensors += [(b.get("requested_size", b["size"]), b.get("frames", [])) for b in segment["blocks"]
                        if b["state"] == "active_allocated"]
    return _grouped(tensors)


def alive_at_peak(events):
    """What was alive when the live requests were largest, of the events that are kept. None when they hold no allocation."""
    now = most = 0
    at = None
    size = {}
    for i, event in enumerate(events):
        if event["action"] == "alloc":
            size[event["addr"]] = event["size"]
            now += event["size"]
            if now > most:
                most, at = now, i
        elif event["action"] == "free_completed":
            now -= size.pop(event["addr"], 0)
    if at is None:
        return None
    alive = {}
    for event in events[: at + 1]:
        if event["action"] == "alloc":
            alive[event["addr"]] = event
        elif event["action"] == "free_completed":
            alive.pop(event["addr"], None)
    return {"requested": most, "largest": _grouped([(e["size"], e.get("frames", [])) for e in alive.values()])}
