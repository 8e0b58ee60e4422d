# SPDX-License-Identifier: Apache-2.0
"""Twins: host memory that holds what a small device tensor would hold.

One twin per storage, found by the storage's address and alive as long as the storage is; views of a tensor are views of its twin.
A twin is either bytes or a call that makes them, put off until somebody asks: a mask of some MiB that nobody reads costs nothing.
In-place ops that pass us by raise the tensor's version, and an outdated twin is unknown.
"""
import weakref

_IN_TURN = 512  # bytes
_DEEPEST = 40  # calls that may be put off behind one another
_SWEEP = 512
_PRUNED_FROM = 64  # dependents, of which most have gone


class Unknown(Exception):
    """Something that a value depends on is not known."""


class Source:
    """A tensor in the arguments of a call that is put off: a view of a twin that need not be there yet."""

    def __init__(self, twin, tensor):
        self.twin = twin
        self._view = (tensor.dtype, tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()))

    def tensor(self, twins):
        return twins.view(self.twin, *self._view)


class Twin:
    """`drawn`: chance or weights had a part in it."""
    __slots__ = ("storage", "size", "host", "later", "depth", "layout", "version", "owner", "origin", "drawn", "dependents", "__weakref__")

    def __init__(self, storage, size, tensor, origin):
        self.storage, self.size, self.origin, self.drawn = storage, size, origin, False
        self.host = self.later = None
        self.depth, self.dependents = 0, []
        self.layout = (tensor.dtype, tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()))
        self.owner = weakref.ref(tensor)
        self.version = version_of(tensor)

    def needed_by(self, row):
        """Before these bytes change, the row is made."""
        if len(self.dependents) >= _PRUNED_FROM and len(self.dependents) & (len(self.dependents) - 1) == 0:
            self.dependents = [r for r in self.dependents if r() is not None and r().later is not None]
        self.dependents.append(weakref.ref(row))


class _Chance:
    """Beside the Sources of a call: chance or a product with weights has a part in it."""
    drawn, depth, origin = True, 0, None

    @property
    def twin(self):
        return self


DRAWN = _Chance()


def version_of(tensor):
    return 0 if tensor.is_inference() else tensor._version


class Twins:
    def __init__(self, torch, book):
        from torch.multiprocessing.reductions import StorageWeakRef
        self.torch, self.book, self.Unknown = torch, book, Unknown
        self._weak = StorageWeakRef
        self._rows, self._sweep_at = {}, _SWEEP
        self.paused = False  # while a graph is captured: what a replay will write is not known now

    @staticmethod
    def _address(tensor):
        return tensor.data_ptr() - tensor.storage_offset() * tensor.element_size()

    def is_noted(self, tensor):
        """Whether there may be a twin: the cheap question before others."""
        return tensor.data_ptr() - tensor.storage_offset() * tensor.element_size() in self._rows

    def row(self, tensor):
        """What is noted for the storage, outdated or not."""
        return self._rows.get(self._address(tensor)) if tensor.numel() else None

    def twin(self, tensor):
        """The twin of a tensor's storage, or None."""
        address = self._address(tensor)
        row = self._rows.get(address)
        if row is None:
            return None
        if (row.storage.expired() or row.storage.cdata != tensor.untyped_storage()._cdata or version_of(tensor) > row.version
                or row.host is None and row.later is None):  # the host could not make it
            del self._rows[address]
            return None
        return row

    def view(self, row, dtype, offset, shape, stride):
        return self.torch.empty(0, dtype=dtype, device="cpu").set_(self._bytes(row), offset, shape, stride)

    def value(self, tensor):
        """The host tensor that a device tensor would equal; raises Unknown."""
        if tensor.numel() == 0:
            return self.torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu")
        row = self.twin(tensor)
        if row is None:
            raise Unknown
        return self.view(row, tensor.dtype, tensor.storage_offset(), tensor.shape, tensor.stride())

    def source(self, tensor):
        """As `value`, for a call that may be put off."""
        if tensor.numel() == 0:
            return self.value(tensor)
        row = self.twin(tensor)
        if row is None:
            raise Unknown
        if row.depth >= _DEEPEST:
            self._bytes(row)
        return Source(row, tensor)

    def _bytes(self, row):
        if row.later is not None:
            later, row.later, row.depth = row.later, None, 0
            with self.quiet():
                made = later()
                host = self.torch.UntypedStorage(row.size)
                dtype, offset, shape, stride = row.layout
                self.torch.empty(0, dtype=dtype, device="cpu").set_(host, offset, shape, stride).copy_(made)
            row.host = host
        if row.host is None:
            raise Unknown
        return row.host

    def bind(self, tensor, value, origin=None, sources=()):
        """A tensor with a storage of its own holds `value`, a host tensor of its shape."""
        row = self._new(tensor, origin)
        row.drawn = any(s.twin.drawn for s in sources)
        row.later = lambda: value
        self._bytes(row)

    def bind_whole(self, tensor, make, origin):
        """The storage of a tensor, whatever part of it the tensor is, holds `make(elements)`."""
        row = self._new(tensor, origin)
        count = row.size // tensor.element_size()
        row.layout = (tensor.dtype, 0, (count,), (1,))
        row.later = lambda: make(count)
        self._bytes(row)

    def overlay(self, tensor, call, put_off):
        """The part of a storage that the tensor is holds what `call` makes; the rest stays."""
        old, whole = self.twin(tensor), self.is_whole(tensor)
        if old is None and not whole:
            return
        if old is not None and (not put_off or old.depth >= _DEEPEST):
            self._bytes(old)
        row = self._new(tensor, None)
        row.later, row.depth = call, 1
        if not whole:
            dtype, part = tensor.dtype, (tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()))
            count = row.size // tensor.element_size()
            row.layout, row.depth = (dtype, 0, (count,), (1,)), old.depth + 1

            def written():
                made = self.view(old, *row.layout).clone()
                made.as_strided(part[1], part[2], part[0]).copy_(call())
                return made
            row.later = written
        if not put_off:
            self._bytes(row)

    def bind_later(self, tensor, call, sources, origin=None, by_chance=False):
        """What `call` makes of Sources, once somebody asks; a few numbers drawn by chance are drawn in their turn."""
        row = self._new(tensor, origin)
        row.later = call
        row.depth = 1 + max([s.twin.depth for s in sources], default=0)
        row.drawn = any(s.twin.drawn for s in sources)
        for s in sources:
            if s is not DRAWN:
                s.twin.needed_by(row)
        if by_chance and row.size <= _IN_TURN:
            self._bytes(row)

    def _new(self, tensor, origin):
        storage = tensor.untyped_storage()
        row = Twin(self._weak(storage), storage.nbytes(), tensor, origin)
        address = self._address(tensor)
        self._rows.pop(address, None)  # so that the rows are in the order of their making
        self._rows[address] = row
        if len(self._rows) > self._sweep_at:
            self._rows = {a: r for a, r in self._rows.items() if not r.storage.expired()}
            self._sweep_at = 2 * len(self._rows) + _SWEEP
        return row

    def is_whole(self, tensor):
        """Whether the tensor covers all of its storage."""
        return tensor.storage_offset() == 0 and tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes()

    def before_write(self, row):
        """Who still needs the old bytes takes them now."""
        self._bytes(row)
        dependents, row.dependents = row.dependents, []
        for reference in dependents:
            dependent = reference()
            if dependent is not None and dependent.later is not None:
                try:
                    self._bytes(dependent)
                except Exception:
                    dependent.host = None

    def wrote(self, row, tensor, origin, sources):
        row.version = max(row.version, version_of(tensor))
        row.origin = row.origin or origin
        row.drawn = row.drawn or any(s.twin.drawn for s in sources)

    def forget(self, tensor):
        if tensor.numel():
            self._rows.pop(self._address(tensor), None)

    def at(self, address, size):
        """(twin, offset) of the live twin that holds `size` bytes of device memory at `address`, or None."""
        row, start = self._rows.get(address), address
        if row is None:
            found = [(a, r) for a, r in self._rows.items() if a <= address and address + size <= a + r.size and not r.storage.expired()]
            if not found:
                return None
            start, row = found[-1]  # FSDP resizes a storage to nothing: its older row lies where something else is now
        if row.storage.expired() or address + size > start + row.size:
            return None
        owner = row.owner()
        if owner is not None and version_of(owner) > row.version:
            return None
        return row, address - start

    def bytes_at(self, row):
        """Address of the twin's bytes."""
        return self._bytes(row).data_ptr()

    def quiet(self):
        return _Quiet(self.torch)


class _Quiet:
    """Host calls that no mode of the program's sees: its function modes, dispatch modes and inference mode are left for a moment."""

    def __init__(self, torch):
        self._torch, self._left = torch, []

    def __enter__(self):
        torch = self._torch
        managers = [torch._C.DisableTorchFunction()]
        if torch._C._len_torch_dispatch_stack():
            from torch.utils._python_dispatch import _disable_current_modes
            managers.append(_disable_current_modes())
        if torch.is_inference_mode_enabled():
            managers.append(torch.inference_mode(False))
        for manager in managers:
            manager.__enter__()
            self._left.append(manager)

    def __exit__(self, *error):
        for manager in reversed(self._left):
            manager.__exit__(*error)
