# SPDX-License-Identifier: Apache-2.0
"""The allocator's own history (torch.cuda.memory._record_memory_history): what was alive, and where it was allocated."""
from . import stacks

_MOST = 20  # rows of a table
_LEVEL = 5  # steps that go no higher
_ROOM = 0.5  # of the device's bytes: a step that takes as much more comes after others that went higher


class History:
    """Every event until a few steps in a row have not gone higher, then none until a step does: a stack costs more host time than the
    allocation. Where the level is so high that the device may run out, the stacks of what is alive are still kept. `whole`: every event
    to the end."""

    def __init__(self, torch, entries, whole):
        self._torch, self._entries, self._whole = torch, entries, whole
        self._most, self._level_steps, self._tables = {}, 0, {}
        self._before, self._from = {}, {}  # device -> what was alive when events began to be kept, and how many older ones there are
        self._record_all()

    def _record_all(self):
        self._all = True
        self._torch.cuda.memory._record_memory_history(enabled="all", context="alloc", stacks="python", max_entries=self._entries)

    def step_done(self, peaks, events):
        """`peaks`: device -> bytes of the step; `events()`: how many the allocator has seen."""
        higher = [device for device, bytes_ in peaks.items() if bytes_ > self._most.get(device, 0)]
        self._most.update({device: peaks[device] for device in higher})
        self._level_steps = 0 if higher else self._level_steps + 1
        if self._whole:
            return
        if higher and not self._all:
            snapshot = self._torch.cuda.memory._snapshot()
            self._before = {device: _alive(snapshot, device) for device in peaks}
            self._from = {device: len(snapshot["device_traces"][device]) for device in peaks}
            self._record_all()
        elif self._all and self._level_steps == _LEVEL and events() < self._entries:  # a ring that has gone round does not shrink
            self._keep(self._torch.cuda.memory._snapshot(), peaks)
            self._all = False
            self._torch.cuda.memory._record_memory_history(enabled="state" if self._may_run_out(peaks) else None, context="alloc", stacks="python")

    def _may_run_out(self, devices):
        info = self._torch.cuda.mem_get_info
        return any(free < _ROOM * total for free, total in map(info, devices))

    def _keep(self, snapshot, devices):
        for device in devices:
            events = snapshot["device_traces"][device][self._from.get(device, 0):]
            table, kept = alive_at_peak(events, self._before.get(device, ())), self._tables.get(device)
            if table is not None and (kept is None or table["requested"] > kept["requested"]):
                self._tables[device] = table

    def at_peak(self, snapshot, device):
        """What was alive when most was, of all that was recorded. None where nothing was."""
        if self._all:
            self._keep(snapshot, [device])
        return self._tables.get(device)


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


def _alive(snapshot, device):
    """The blocks that are alive, as events that would have made them."""
    return [{"action": "alloc", "addr": b["address"], "size": b.get("requested_size", b["size"]), "frames": b.get("frames", [])}
            for segment in snapshot["segments"] if segment["device"] == device for b in segment["blocks"] if b["state"] == "active_allocated"]


def alive_now(snapshot, device):
    return _grouped([(e["size"], e["frames"]) for e in _alive(snapshot, device)])


def alive_at_peak(events, before=()):
    """What was alive when the live requests were largest, of the events that are kept behind those `before`. None when they hold no
    allocation."""
    now = most = 0
    at = None
    size = {}
    events = [*before, *events]
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
