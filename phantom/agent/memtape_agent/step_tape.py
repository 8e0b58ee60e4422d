# SPDX-License-Identifier: Apache-2.0
"""The run's allocator events as a tape with its phases (`memtape run --html`): process-PID.tape.

    {"device": 0, "dropped": 0, "step": 2, "places": ["train.py:7 <module>", ...], "events": [...]}
    event:  [0, bytes, stream, category, place, caller] a block comes to life (blocks count from 0)
            [1, block] it is freed   [2, step, phase] a phase begins   [3] the cache was emptied

Where in the history a phase began is told by the allocator's own counts of allocations and frees. What a block is (parameter,
gradient ...) is what lay at its address when the optimizer had stepped; the others go by how long they live.
"""
import collections
import gc
import json

from . import stacks
from .native import PHASES

CATEGORIES = ("parameter", "buffer", "optimizer_state", "gradient", "activation", "temporary", "unknown")
_MARKS = 4096  # phase changes that are kept
_ALLOC, _FREE, _PHASE, _EMPTY = range(4)


def moves(stats):
    """How many blocks were allocated and freed so far."""
    counts = (stats.get("allocation") or {}).get("all", {})
    return counts.get("allocated", 0), counts.get("freed", 0)


class Marks:
    """Where phases began, as counts of allocations and frees; and what lay where after the optimizer's last step."""

    def __init__(self, torch, read):
        self._torch, self._read = torch, read
        self._rows = collections.deque(maxlen=_MARKS)  # (step, phase, {device: counts})
        self._contents = {}  # device -> (counts, {address: category})
        self.last_step = None

    def phase(self, step, phase, devices):
        self._rows.append((step, phase, {d: moves(self._read(d)) for d in devices}))

    def step_done(self, step, devices):
        """Step `step` has ended, and with it the phase that had just begun belongs to the next."""
        if self._rows and self._rows[-1][0] == step:
            _, phase, counts = self._rows.pop()
            self._rows.append((step + 1, phase, counts))
        self.last_step = step
        categories = _categories(self._torch)
        self._contents = {d: (moves(self._read(d)), categories) for d in devices}

    def of_device(self, device):
        """[(counts, step, phase)] in order."""
        return [(counts.get(device, (0, 0)), step, phase) for step, phase, counts in self._rows]

    def contents(self, device):
        return self._contents.get(device, ((0, 0), {}))


def _categories(torch):
    """{address: category} of everything that a module or an optimizer holds."""
    found = {}

    def put(tensor, category):
        if isinstance(tensor, torch.Tensor) and tensor.is_cuda and tensor.layout == torch.strided:
            found.setdefault(tensor.untyped_storage().data_ptr(), CATEGORIES.index(category))
    def alive(kind):  # isinstance would ask lazy objects for their class
        return [o for o in gc.get_objects() if issubclass(type(o), kind)]
    modules, optimizers = alive(torch.nn.Module), alive(torch.optim.Optimizer)
    parameters = [p for m in modules for p in m._parameters.values() if p is not None]
    parameters += [p for o in optimizers for g in o.param_groups for p in g["params"]]
    for p in parameters:
        put(p, "parameter")
        put(p.grad, "gradient")
    for o in optimizers:
        for state in list(o.state.values()):
            for value in state.values() if isinstance(state, dict) else ():
                put(value, "optimizer_state")
    for m in modules:
        for b in m._buffers.values():
            put(b, "buffer")
    return found


class _Tape:
    """Events as they are written; addresses become block numbers."""

    def __init__(self):
        self.events, self.alive, self.born_in, self.places = [], {}, {}, {}
        self._streams, self._blocks, self.step, self.phase = {0: 0}, 0, 0, None

    def place(self, text):
        return self.places.setdefault(text, len(self.places))

    def alloc(self, event):
        frames = event.get("frames", [])
        callers = stacks.of_frames(frames)
        stream = self._streams.setdefault(event.get("stream", 0), len(self._streams))
        self.alive[event["addr"]] = self._blocks
        self.born_in[self._blocks] = (len(self.events), self.phase)
        self.events.append([_ALLOC, event["size"], stream, CATEGORIES.index("unknown"), self.place(stacks.inner_of_frames(frames)),
                            self.place(callers[0] if callers else "")])
        self._blocks += 1

    def free(self, address):
        block = self.alive.pop(address, None)
        if block is not None:
            self.events.append([_FREE, block])
            self._set(block, "temporary")

    def begin(self, step, phase):
        """What a forward pass leaves behind is kept for the backward pass, unless it outlives the step, as workspaces do."""
        for block in self.alive.values():
            if phase == "backward" and self.born_in[block][1] == "forward":
                self._set(block, "activation")
            elif step != self.step and self._category(block) == "activation":
                self.events[self.born_in[block][0]][3] = CATEGORIES.index("unknown")
        self.step = step
        self.phase = phase
        self.events.append([_PHASE, step, PHASES.index(phase)])

    def name_contents(self, categories):
        for address, block in self.alive.items():
            if address in categories:
                self.events[self.born_in[block][0]][3] = categories[address]

    def _category(self, block):
        return CATEGORIES[self.events[self.born_in[block][0]][3]]

    def _set(self, block, category):
        if self._category(block) == "unknown":
            self.events[self.born_in[block][0]][3] = CATEGORIES.index(category)


def _alive_before(history, segments, device):
    """Blocks from before the kept history, in order of address: freed in it, or alive behind it, without an allocation in it."""
    known, before = set(), {}
    for event in history:
        if event["action"] == "alloc":
            known.add(event["addr"])
        elif event["action"] == "free_completed" and event["addr"] not in known:
            before[event["addr"]] = event
        if event["action"] == "free_completed":
            known.discard(event["addr"])
    for segment in segments:
        for block in segment["blocks"] if segment["device"] == device else ():
            if block["state"] == "active_allocated" and block["address"] not in known:
                before.setdefault(block["address"], {"addr": block["address"], "size": block.get("requested_size", block["size"]),
                                                     "stream": segment["stream"], "frames": block.get("frames", [])})
    return [before[address] for address in sorted(before)]


def tape_of(snapshot, device, marks, now):
    history = snapshot["device_traces"][device]
    dropped = [n - sum(e["action"] == action for e in history) for n, action in zip(now, ("alloc", "free_requested"))]
    tape, seen = _Tape(), list(dropped)
    ahead, step = marks.of_device(device), marks.last_step
    if step is None or not any(s == step and counts[0] >= dropped[0] for counts, s, _ in ahead):
        ahead, step = [], 0  # no whole step in what is kept: all of it is one
        tape.begin(step, "forward")
    contents_at, categories = marks.contents(device)
    if dropped[0] > 0:
        for block in _alive_before(history, snapshot["segments"], device):
            tape.alloc(block)
    emptied = False
    for event in history:
        while ahead and seen[0] >= ahead[0][0][0] and seen[1] >= ahead[0][0][1]:
            tape.begin(*ahead.pop(0)[1:])
        if categories and seen[0] >= contents_at[0] and seen[1] >= contents_at[1]:
            tape.name_contents(categories)
            categories = None
        action = event["action"]
        if action == "segment_free" and not emptied:
            tape.events.append([_EMPTY])
        emptied = action == "segment_free"
        seen[0] += action == "alloc"
        seen[1] += action == "free_requested"
        if action == "alloc":
            tape.alloc(event)
        elif action == "free_completed":
            tape.free(event["addr"])
    if categories:
        tape.name_contents(categories)
    return {"device": device, "dropped": max(0, dropped[0]), "step": step, "places": list(tape.places), "events": tape.events}


def write(path, tape):
    with open(path, "w") as file:
        json.dump(tape, file, separators=(",", ":"))
