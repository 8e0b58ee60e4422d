# SPDX-License-Identifier: Apache-2.0
"""How one call is followed: the replacements that functions.py puts in place of torch's functions."""
import math

from . import names
from .answers import answering
from .twins import Source, Unknown

_MOST_WHOLE = 1 << 24  # elements of integers and truths that are followed
_MOST_FLOAT = 4096  # of floats: learning rates, scales, counts, timesteps
_LATER = 16384  # bytes above which a call is put off


class Rules:
    def __init__(self, torch, known, book):
        self.torch, self.known, self.book = torch, known, book
        whole = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
        self._most = dict.fromkeys(whole, _MOST_WHOLE)
        self._most.update(dict.fromkeys((torch.float16, torch.bfloat16, torch.float32, torch.float64), _MOST_FLOAT))
        self._generator = torch.Generator().manual_seed(1)
        self._host = torch.device("cpu")
        self._plain = (torch.Tensor, torch.nn.Parameter)
        self.failures = {}

    # -- which tensors are followed --------------------------------------------------------------------------------------------

    def is_small(self, out):
        if type(out) is not self.torch.Tensor:
            return False
        most = self._most.get(out.dtype)
        return most is not None and out.is_cuda and out.numel() <= most

    def _guarded(self, name, tensors, function, *args):
        """The program must never fail because of us: what cannot be followed is unknown."""
        try:
            if not self.known.paused:
                return function(*args)
        except Unknown:
            pass
        except Exception as error:  # an op that the host has not, a tensor without a storage
            self.failures[name] = "%s: %s" % (type(error).__name__, error)
        for tensor in tensors:
            self._forget(tensor)
        return None

    def _forget(self, tensor):
        try:
            if isinstance(tensor, self.torch.Tensor) and tensor.is_cuda:
                self.known.forget(tensor)
        except Exception:
            pass

    # -- arguments on the host ---------------------------------------------------------------------------------------------------

    def _translate(self, value, sources):
        """An argument with Sources for device tensors, host copies for the host's, the host for a device."""
        kind = type(value)
        if kind in (int, float, bool, str) or value is None:
            return value
        if kind in self._plain:
            if value.is_cuda:
                found = self.known.source(value)
                if type(found) is Source:
                    sources.append(found)
                return found
            return value.detach().clone() if value.numel() <= _MOST_WHOLE else self._unknown()
        if kind in (tuple, list):
            return kind(self._translate(v, sources) for v in value)
        if kind is slice:
            return slice(*[self._translate(v, sources) for v in (value.start, value.stop, value.step)])
        if isinstance(value, tuple):  # torch.Size and named tuples
            return tuple(self._translate(v, sources) for v in value)
        if isinstance(value, self.torch.device):
            return self._host
        if isinstance(value, self.torch.Tensor):
            return self._unknown()
        return value

    @staticmethod
    def _unknown():
        raise Unknown

    def _resolve(self, value):
        kind = type(value)
        if kind is Source:
            return value.tensor(self.known)
        if kind in (tuple, list):
            return kind(self._resolve(v) for v in value)
        if kind is slice:
            return slice(*[self._resolve(v) for v in (value.start, value.stop, value.step)])
        return value

    def put_off(self, name, real, args, kwargs, on_host=False):
        """(call, sources, origin): what makes the same of the twins. on_host: it makes tensors out of nothing."""
        sources = []
        args = [self._translate(a, sources) for a in args]
        kwargs = {k: self._translate(v, sources) for k, v in kwargs.items() if k not in ("pin_memory", "non_blocking", "out")}
        if "device" in kwargs or on_host:
            kwargs["device"] = self._host
        if name in names.RANDOM:
            kwargs["generator"] = self._generator
        origin = next((s.twin.origin for s in sources if s.twin.origin), None)

        def call():
            return real(*[self._resolve(a) for a in args], **{k: self._resolve(v) for k, v in kwargs.items()})
        return call, sources, origin

    # -- results -----------------------------------------------------------------------------------------------------------------

    def _bind(self, name, real, args, kwargs, out, on_host=False):
        if self.known.twin(out) is not None and out.numel():
            return  # a view, or the very argument
        call, sources, origin = self.put_off(name, real, args, kwargs, on_host)
        self.known.bind_later(out, call, sources, origin)

    def _bind_several(self, name, real, args, kwargs, outs):
        call, sources, origin = self.put_off(name, real, args, kwargs)
        with self.known.quiet():
            values = call()
        for out, value in zip(outs, values):
            if self.is_small(out) and self.known.twin(out) is None:
                self.known.bind(out, value, origin)

    def _follow(self, name, real, args, kwargs, out, on_host=False):
        if type(out) is self.torch.Tensor:
            if self.is_small(out):
                self._guarded(name, (out,), self._bind, name, real, args, kwargs, out, on_host)
        elif isinstance(out, (tuple, list)) and any(self.is_small(o) for o in out):
            self._guarded(name, out, self._bind_several, name, real, args, kwargs, out)

    # -- replacements --------------------------------------------------------------------------------------------------------------

    def pure(self, name, real):
        if name in ("to", "cuda", "int", "long", "bool", "float", "half", "bfloat16", "double", "short", "char", "byte", "type", "type_as",
                    "contiguous", "clone"):
            return self.conversion(name, real)
        if name == "where":
            return self.where(name, real)
        return self._plain_call(name, real)

    def _plain_call(self, name, real):
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function
        Tensor, most, follow = self.torch.Tensor, self._most.get, self._follow

        def call(*args, **kwargs):
            if own(args):
                return modes(call, args, *args, **kwargs)
            out = real(*args, **kwargs)
            if type(out) is Tensor:
                limit = most(out.dtype)
                if limit is None or not out.is_cuda or out.numel() > limit:
                    return out
            elif not isinstance(out, (tuple, list)):
                return out
            follow(name, real, args, kwargs, out)
            return out
        return call

    def where(self, name, real):
        """With a condition alone it is nonzero, and reads a count."""
        follow, forestall = self._plain_call(name, real), self.read_inside(name, real)

        def call(*args, **kwargs):
            return (forestall if len(args) + len(kwargs) == 1 else follow)(*args, **kwargs)
        return call

    def conversion(self, name, real):
        """The same values in another place or type: what is asked for shows in what came out."""
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function
        Tensor, most = self.torch.Tensor, self._most.get

        def converted(source, out):
            if self.known.twin(out) is None:
                dtype = out.dtype
                call, sources, origin = self.put_off(name, lambda t: t.to(dtype), (source.detach(),), {})
                self.known.bind_later(out, call, sources, origin)

        # torch's FakeCopyMode looks for this very function (torch/_subclasses/fake_tensor.py).
        public = real if name == "clone" else None

        def call(*args, **kwargs):
            if own(args):
                return modes(public or call, args, *args, **kwargs)
            out = real(*args, **kwargs)
            if type(out) is Tensor:
                limit = most(out.dtype)
                if limit is not None and out.is_cuda and out.numel() <= limit and out is not args[0]:
                    self._guarded(name, (out,), converted, args[0], out)
            return out
        return call

    def made(self, name, real):
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function

        def call(*args, **kwargs):
            if own(args):
                return modes(call, args, *args, **kwargs)
            out = real(*args, **kwargs)
            if self.is_small(out):
                self._guarded(name, (out,), self._bind, name, real, args, kwargs, out, True)
            return out
        return call

    def empty(self, name, real):
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function

        def zeros(out):
            if self.known.twin(out) is None:
                shape, dtype = tuple(out.shape), out.dtype
                self.known.bind_later(out, lambda: self.torch.zeros(shape, dtype=dtype, device="cpu"), [])

        def call(*args, **kwargs):
            if own(args):
                return modes(call, args, *args, **kwargs)
            out = real(*args, **kwargs)
            if self.is_small(out):
                self._guarded(name, (out,), zeros, out)
            return out
        return call

    def in_place(self, name, real):
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function
        most = self._most.get

        def call(*args, **kwargs):
            if own(args):
                return modes(call, args, *args, **kwargs)
            tensor = args[0]
            limit = most(tensor.dtype) if type(tensor) is self.torch.Tensor and tensor.is_cuda else None
            if limit is None or tensor.numel() > limit:
                return real(*args, **kwargs)
            self._guarded(name, (), self._renew, tensor)
            out = real(*args, **kwargs)
            self._guarded(name, (tensor,), self._change, name, real, tensor, args, kwargs)
            return out
        return call

    def _renew(self, tensor):
        """An outdated twin goes before the op raises the version once more."""
        if tensor.numel():
            self.known.twin(tensor)

    def _change(self, name, real, tensor, args, kwargs):
        twin = self.known.row(tensor)
        if twin is None:
            return
        before, twin.version = twin.version, math.inf  # the op itself has raised the tensor's version
        try:
            call, _, origin = self.put_off(name, real, args, kwargs)
            self.known.before_write(twin)
            with self.known.quiet():
                call()
        finally:
            twin.version = before
        self.known.wrote(twin, tensor, origin)

    def overwrite(self, name, real):
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function
        most = self._most.get

        def anew(tensor, args, kwargs):
            if self.known.row(tensor) is None and self.known.is_whole(tensor):
                shape, dtype = tuple(tensor.shape), tensor.dtype
                fresh = self.torch.zeros(shape, dtype=dtype, device="cpu")
                call, sources, origin = self.put_off(name, lambda *a, **k: real(fresh, *a, **k), args[1:], kwargs)
                self.known.bind_later(tensor, call, sources, origin)
                return True
            return False

        def call(*args, **kwargs):
            if own(args):
                return modes(call, args, *args, **kwargs)
            tensor = args[0]
            limit = most(tensor.dtype) if type(tensor) is self.torch.Tensor and tensor.is_cuda else None
            if limit is None or tensor.numel() > limit or tensor.numel() == 0:
                return real(*args, **kwargs)
            self._guarded(name, (), self._renew, tensor)
            out = real(*args, **kwargs)
            if not self._guarded(name, (tensor,), anew, tensor, args, kwargs):
                self._guarded(name, (tensor,), self._change, name, real, tensor, args, kwargs)
            return out
        return call

    # -- reads inside an op ----------------------------------------------------------------------------------------------------------

    def read_inside(self, name, real):
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function

        def call(*args, **kwargs):
            if own(args):
                return modes(call, args, *args, **kwargs)
            if not any(isinstance(a, self.torch.Tensor) and a.is_cuda for a in args):
                return real(*args, **kwargs)
            return self.forestall(name, real, args, kwargs)
        return call

    def forestall(self, name, real, args, kwargs):
        """The twins' result first: it says what torch is about to read."""
        made = self._guarded(name, (), self._ahead, name, real, args, kwargs)
        if made is None:
            out = real(*args, **kwargs)
            if name == "nonzero" and self.is_small(out):
                self._forget(out)
            return out
        value, origin = made
        if origin:
            self.book.was_read(origin)
        with answering(_counts(self.torch, name, args, value, self.known)):
            out = real(*args, **kwargs)
        several = zip(out, value) if isinstance(out, (tuple, list)) else [(out, value)]
        for o, v in several:
            if isinstance(o, self.torch.Tensor) and self.is_small(o) and o.shape == v.shape and o.numel():
                self._guarded(name, (o,), self.known.bind, o, v, origin)
        return out

    def _ahead(self, name, real, args, kwargs):
        call, _, origin = self.put_off(name, real, args, kwargs)
        with self.known.quiet():
            return call(), origin

    def indexing(self, name, real):
        """x[mask] reads how many there are; x[index] makes a new tensor; the rest are views."""
        own, modes, Tensor = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function, self.torch.Tensor

        def call(tensor, index):
            if own((tensor,)):
                return modes(call, (tensor,), tensor, index)
            kind = type(index)
            if kind is int or kind is slice or not tensor.is_cuda:
                return real(tensor, index)
            parts = index if kind is tuple else (index,)
            for part in parts:
                if isinstance(part, (Tensor, list)):
                    break
            else:
                return real(tensor, index)
            if any(self._is_mask(p) for p in parts):
                return self._masked(name, real, tensor, index, parts)
            out = real(tensor, index)
            self._follow(name, real, (tensor, index), {}, out)
            return out
        return call

    def _is_mask(self, part):
        return isinstance(part, self.torch.Tensor) and part.dtype in (self.torch.bool, self.torch.uint8) and part.is_cuda

    def _mask_counts(self, parts):
        """([how many are set], origin) of the masks among an index; None when one is unknown."""
        counts, origin = [], None
        for part in parts:
            if self._is_mask(part):
                with self.known.quiet():
                    counts.append((0, int(self.known.value(part).count_nonzero())))
                twin = self.known.twin(part) if part.numel() else None
                origin = origin or (twin.origin if twin else None)
        return counts, origin

    def _masked(self, name, real, tensor, index, parts):
        found = self._guarded(name, (), self._mask_counts, parts)
        if found is None:
            return real(tensor, index)
        counts, origin = found
        if origin:
            self.book.was_read(origin)
        with answering(counts):
            out = real(tensor, index)
        self._follow(name, real, (tensor, index), {}, out)
        return out

    def assignment(self, name, real):
        own, modes, Tensor = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function, self.torch.Tensor

        def call(tensor, index, value):
            if own((tensor,)):
                return modes(call, (tensor,), tensor, index, value)
            if not tensor.is_cuda or type(tensor) is not Tensor:
                return real(tensor, index, value)
            parts = index if type(index) is tuple else (index,)
            found = ([], None)
            if any(self._is_mask(p) for p in parts):
                found = self._guarded(name, (), self._mask_counts, parts)
                if found is not None and found[1]:
                    self.book.was_read(found[1])
            small = self.is_small(tensor)
            if small:
                self._guarded(name, (), self._renew, tensor)
            with answering(found[0] if found else []):
                real(tensor, index, value)
            if small:
                self._guarded(name, (tensor,), self._change, name, real, tensor, (tensor, index, value), {})
        return call

    # -- inventions --------------------------------------------------------------------------------------------------------------------

    def truth(self, name, real, answer):
        """Known where the values are; else all is finite, any is false, all is true."""
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function

        def invent(out):
            shape, dtype = tuple(out.shape), out.dtype
            origin = self.book.origin("%s of unknown values is %s" % (name, str(answer).lower()))
            self.known.bind_later(out, lambda: self.torch.full(shape, answer, dtype=dtype, device="cpu"), [], origin)

        def call(*args, **kwargs):
            if own(args):
                return modes(call, args, *args, **kwargs)
            out = real(*args, **kwargs)
            if self.is_small(out):
                self._guarded(name, (out,), self._bind, name, real, args, kwargs, out)
                if out.numel() and self._guarded(name, (), self.known.twin, out) is None:
                    self._guarded(name, (out,), invent, out)
            return out
        return call

    def choose(self, name, real):
        from .choices import invent
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function
        Tensor = self.torch.Tensor
        ahead = answering([(1, 1), (1, 0)])  # multinomial asks whether its weights are usable, and whether a row is all zeros

        def call(*args, **kwargs):
            if own(args):
                return modes(call, args, *args, **kwargs)
            tensor = args[0] if args else None
            if type(tensor) is not Tensor or not tensor.is_cuda:
                return real(*args, **kwargs)
            if name == "multinomial":
                with ahead:
                    out = real(*args, **kwargs)
            else:
                out = real(*args, **kwargs)
            self._follow(name, real, args, kwargs, out)
            self._guarded(name, (), invent, self, name, args, kwargs, out)
            return out
        return call


def _counts(torch, name, args, value, known):
    """The values that torch reads inside an op, in order: (bytes, or 0 for a count of 4 or 8; value)."""
    if name in ("equal", "allclose", "is_nonzero"):
        return [(1, int(value)), (0, int(value))]
    if name == "bincount":
        with known.quiet():
            whole = known.value(args[0])
            return [(0, int(whole.min())), (0, int(whole.max()))] if whole.numel() else []
    if name == "one_hot":
        with known.quiet():
            whole = known.value(args[0])
            return [(0, int(whole.max())), (0, int(whole.min()))] if whole.numel() else []
    if name == "pad":
        return []
    first = value[0] if isinstance(value, (tuple, list)) else value
    if name == "repeat_interleave":
        repeats = args[1] if len(args) > 1 else args[0]
        if not isinstance(repeats, torch.Tensor):
            return []
        with known.quiet():
            return [(0, int(known.value(repeats).sum())), (1, 1)]
    return [(0, first.shape[-1] if name == "nonzero_numpy" else first.shape[0])] if first.dim() else []
