# SPDX-License-Identifier: Apache-2.0
"""One process plays rank R of N: nobody else answers, so nothing may wait for an answer.

Tensor collectives go to the NCCL stand-in, which succeeds at once. What remains is what torch.distributed does on the host: the
store, where ranks meet, and collectives of Python objects. The store never waits and knows nothing; an object from another rank
is this rank's own.
"""
import functools


def install(torch):
    dist = torch.distributed
    if not dist.is_available():
        return
    from torch.distributed import distributed_c10d as c10d

    class LoneStore(dist.Store):
        """What this rank has set, and 128 zero bytes (the size of NCCL's id) for everything else."""

        def __init__(self):
            super().__init__()
            self._values = {}

        def set(self, key, value):
            self._values[key] = value.encode() if isinstance(value, str) else bytes(value)

        def get(self, key):
            return self._values.get(key, bytes(128))

        def add(self, key, amount):
            value = int(self._values.get(key, b"0")) + amount
            self._values[key] = str(value).encode()
            return value

        def compare_set(self, key, expected, value):
            self.set(key, value)
            return self._values[key]

        def wait(self, *_):
            return None

        def check(self, keys):
            return all(key in self._values for key in keys)

        def delete_key(self, key):
            return self._values.pop(key, None) is not None

        def num_keys(self):
            return len(self._values)

        def set_timeout(self, timeout):
            return None

    _take_over(dist, c10d, LoneStore)


_kept = []  # C++ holds a store without its Python half


def _lone(LoneStore):
    _kept.append(LoneStore())
    return _kept[-1]


def _put(modules, name, function):
    for module in modules:
        if hasattr(module, name):
            setattr(module, name, function)


def _take_over(dist, c10d, LoneStore):
    modules = (dist, c10d)
    _start_alone(modules, c10d, LoneStore)
    _put(modules, "all_gather_object", lambda out, obj, group=None: out.__setitem__(slice(None), [obj] * len(out)))
    _put(modules, "gather_object", lambda obj, out=None, *_, **__: out.__setitem__(slice(None), [obj] * len(out)) if out else None)
    _put(modules, "broadcast_object_list", lambda *_, **__: None)
    _put(modules, "scatter_object_list", lambda out, objects=None, *_, **__: out.__setitem__(0, objects[0] if objects else None))
    _put(modules, "monitored_barrier", lambda *_, **__: None)
    _put(modules, "barrier", lambda *_, **__: None)


def _start_alone(modules, c10d, LoneStore):
    """Groups on the host (gloo) become torch's own fake ones: a connection to another rank would never come."""
    from torch.testing._internal.distributed import fake_pg  # noqa: F401: registers the backend
    start, group = c10d.init_process_group, c10d.new_group

    def alone(backend):
        return "cuda:nccl,cpu:fake" if backend in (None, "cpu:gloo,cuda:nccl") else "fake" if backend == "gloo" else backend

    @functools.wraps(start)
    def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, *args, **kwargs):
        import os
        world_size = world_size if world_size > 0 else int(os.environ["WORLD_SIZE"])
        rank = rank if rank >= 0 else int(os.environ["RANK"])
        return start(alone(backend), None, timeout, world_size, rank, store or _lone(LoneStore), *args, **kwargs)

    @functools.wraps(group)
    def new_group(ranks=None, timeout=None, backend=None, *args, **kwargs):
        return group(ranks, timeout, backend and alone(backend), *args, **kwargs)
    _put(modules, "init_process_group", init_process_group)
    _put(modules, "new_group", new_group)
