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
    for function in _objects(c10d):
        _put(modules, function.__name__, function)
    _put(modules, "monitored_barrier", lambda *_, **__: None)
    _put(modules, "barrier", lambda *_, **__: None)


def _objects(c10d):
    """Collectives of objects under their own parameters' names: an object from another rank is this rank's own, or what it has."""
    def all_gather_object(object_list, obj, group=None):
        object_list[:] = [obj] * len(object_list)

    def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
        if object_gather_list:
            object_gather_list[:] = [obj] * len(object_gather_list)

    def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None, **_):
        return None

    def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None):
        given = scatter_object_input_list
        scatter_object_output_list[0] = given[c10d.get_rank(group) % len(given)] if given else None

    def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None, **_):
        return None

    def recv_object_list(object_list, src=None, group=None, device=None, group_src=None, **_):
        return next((rank for rank in (src, group_src) if rank is not None), 0)
    return (all_gather_object, gather_object, broadcast_object_list, scatter_object_list, send_object_list, recv_object_list)


def _said(timeout):
    """torch before 2.2 takes no None."""
    return {} if timeout is None else {"timeout": timeout}


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
        kwargs.update(_said(timeout), world_size=world_size, rank=rank, store=store or _lone(LoneStore))
        return start(alone(backend), None, **kwargs, **dict(zip(("group_name", "pg_options", "device_id"), args)))

    @functools.wraps(group)
    def new_group(ranks=None, timeout=None, backend=None, *args, **kwargs):
        kwargs.update(_said(timeout), backend=backend and alone(backend))
        return group(ranks, **kwargs, **dict(zip(("pg_options", "use_local_synchronization"), args)))
    _put(modules, "init_process_group", init_process_group)
    _put(modules, "new_group", new_group)
