# SPDX-License-Identifier: Apache-2.0
"""How one call is followed: the replacements that functions.py puts in place of torch's functions."""
import math
import sys

from . import names
from .answers import answering
from .inventions import truths
from .twins import DRAWN, Source, Unknown

_MOST_WHOLE = 1 << 24  # elements of integers and truths that are followed
_MOST_FLOAT = 4096  # of floats: learning rates, scales, counts, timesteps


def _holds(kind, values):
    """Whether the first of nested lists is of that kind, which is what torch looks at."""
    while values.__class__ in (list, tuple) and values:
        values = values[0]
    return isinstance(values, kind)


class Rules:
    COMPARED = "a comparison of unknown values is true for every second"

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
        return most is not None and out.is_cuda and 0 < out.numel() <= most

    def most(self, dtype):
        """How many elements of that type are followed."""
        return self._most.get(dtype, 0)

    def guarded(self, name, tensors, function, *args):
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
        return value.copy() if hasattr(value, "__array_interface__") else value  # whose owner may write into it before it is read

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
        if name in names.DRAWN:
            sources.append(DRAWN)
        origin = next((s.twin.origin for s in sources if s.twin.origin), None)

        def call():
            return real(*[self._resolve(a) for a in args], **{k: self._resolve(v) for k, v in kwargs.items()})
        return call, sources, origin

    # -- results -----------------------------------------------------------------------------------------------------------------

    def _bind(self, name, real, args, kwargs, out, on_host=False):
        if self.known.twin(out) is not None and out.numel():
            return  # a view, or the very argument
        call, sources, origin = self.put_off(name, real, args, kwargs, on_host)
        self.known.bind_later(out, call, sources, origin, name in names.RANDOM)

    def _bind_several(self, name, real, args, kwargs, outs):
        call, sources, origin = self.put_off(name, real, args, kwargs)
        with self.known.quiet():
            values = call()
        for out, value in zip(outs, values):
            if self.is_small(out) and self.known.twin(out) is None:
                self.known.bind(out, value, origin, sources)

    def _follow(self, name, real, args, kwargs, out, on_host=False):
        if type(out) is self.torch.Tensor:
            if self.is_small(out):
                self.guarded(name, (out,), self._bind, name, real, args, kwargs, out, on_host)
        elif isinstance(out, (tuple, list)) and any(self.is_small(o) for o in out):
            self.guarded(name, out, self._bind_several, name, real, args, kwargs, out)

    # -- replacements --------------------------------------------------------------------------------------------------------------

    def pure(self, name, real):
        if name in ("to", "cuda", "int", "long", "bool", "float", "half", "bfloat16", "double", "short", "char", "byte", "type", "type_as",
                    "contiguous", "clone"):
            return self.conversion(name, real)
        if name == "where":
            return self.where(name, real)
        if name == "histc":
            return self._plain_call(name, real, self._histogram(real))
        return self._plain_call(name, real)

    @staticmethod
    def _histogram(real):
        """histc of whole numbers, which the host does not have: a router's tokens per expert, which transformers' integrations/moe.py
        counts so, and whose sums torch reads where it multiplies group by group."""
        def of_twin(tensor, *args, **kwargs):
            return real(tensor.double(), *args, **kwargs).to(tensor.dtype)
        return of_twin

    def where(self, name, real):
        """With a condition alone it is nonzero (operators.py)."""
        follow = self._plain_call(name, real)
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function

        def call(*args, **kwargs):
            if own(args):
                return modes(call, args, *args, **kwargs)
            return (real if len(args) + len(kwargs) == 1 else follow)(*args, **kwargs)
        return call

    def _plain_call(self, name, real, of_twins=None):
        """of_twins: what makes the same of the twins, where the function itself cannot."""
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function
        Tensor, most, follow, is_unknown = self.torch.Tensor, self._most.get, self._follow, self._is_unknown

        def call(*args, **kwargs):
            if own(args):
                return modes(call, args, *args, **kwargs)
            if args and args[0].__class__ in (list, tuple) and own(args[0]):  # cat and stack of somebody's own kind
                return modes(call, args[0], *args, **kwargs)
            out = real(*args, **kwargs)
            if type(out) is Tensor:
                limit = most(out.dtype)
                if limit is None or out.numel() > limit or not out.is_cuda or is_unknown(args):
                    return out
            elif not isinstance(out, (tuple, list)):
                return out
            follow(name, of_twins or real, args, kwargs, out)
            return out
        return call

    def _is_unknown(self, args):
        """What comes of an unknown first argument is unknown, and nothing is noted where it lies but what has gone."""
        first = args[0] if args else None
        try:
            return type(first) in self._plain and first.is_cuda and first.numel() and not self.known.is_noted(first)
        except RuntimeError:  # a sparse tensor, or one within a transformation: without a storage
            return False

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
                if limit is not None and out.numel() <= limit and out.is_cuda and out is not args[0] and not self._is_unknown(args):
                    self.guarded(name, (out,), converted, args[0], out)
            return out
        return call

    def made(self, name, real):
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function

        def call(*args, **kwargs):
            if own(args):
                return modes(call, args, *args, **kwargs)
            out = real(*args, **kwargs)
            if self.is_small(out):
                self.guarded(name, (out,), self._bind, name, real, args, kwargs, out, True)
            return out
        return call

    def from_lists(self, name, real):
        """torch takes a number out of each tensor without dimensions; with an indexing of ours it would take them for lists."""
        follow = self.made(name, real) if name == "tensor" else self._plain_call(name, real)
        at = 1 if name == "new_tensor" else 0
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function

        def plain(value):
            if value.__class__ in (list, tuple):
                return value.__class__(plain(v) for v in value)
            return value.item() if isinstance(value, self.torch.Tensor) and value.dim() == 0 else value

        def call(*args, **kwargs):
            if own(args):
                return modes(call, args, *args, **kwargs)
            if len(args) > at and args[at].__class__ in (list, tuple) and _holds(self.torch.Tensor, args[at]):
                args = (*args[:at], plain(args[at]), *args[at + 1:])
            return follow(*args, **kwargs)
        return call

    def filled(self, name, real):
        """Made of one value, whatever the tensor holds whose shape or type it takes."""
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function
        value = {"ones": 1, "zeros": 0}.get(name.replace("new_", "").replace("_like", ""))
        position = 1 if name == "full_like" else 2

        def fill(out, args, kwargs):
            number = value if value is not None else kwargs.get("fill_value", args[position] if len(args) > position else None)
            if isinstance(number, self.torch.Tensor):
                number = self.known.value(number) if number.is_cuda else number
                number = number.item()
            if self.known.twin(out) is None:
                shape, dtype = tuple(out.shape), out.dtype
                self.known.bind_later(out, lambda: self.torch.full(shape, number, dtype=dtype, device="cpu"), [])

        def call(*args, **kwargs):
            if own(args):
                return modes(call, args, *args, **kwargs)
            out = real(*args, **kwargs)
            if self.is_small(out):
                self.guarded(name, (out,), fill, out, args, kwargs)
            return out
        return call

    def resized(self, name, real):
        """More or less of the same bytes, and then zeros."""
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function

        def before(tensor):
            return self.known.value(tensor).flatten() if tensor.is_contiguous() else self._unknown()

        def after(tensor, kept):
            made = self.torch.zeros(tensor.shape, dtype=tensor.dtype, device="cpu")
            part = min(made.numel(), kept.numel())
            made.view(-1)[:part] = kept[:part]
            self.known.bind(tensor, made)

        def call(*args, **kwargs):
            if own(args):
                return modes(call, args, *args, **kwargs)
            kept = self.guarded(name, (), before, args[0]) if self.is_small(args[0]) else None
            out = real(*args, **kwargs)
            if kept is not None and out.numel() and out.is_contiguous() and self.known.is_whole(out):
                self.guarded(name, (out,), after, out, kept.clone())
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
                self.guarded(name, (out,), zeros, out)
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
            if limit is None or tensor.numel() > limit or self._is_unknown(args):
                return real(*args, **kwargs)
            self.guarded(name, (), self._renew, tensor)
            out = real(*args, **kwargs)
            self.guarded(name, (tensor,), self._change, name, real, tensor, args, kwargs)
            return out
        return call

    def steps(self, name, real):
        """Lists of single numbers, as optimizers count their steps on a device, and read them where nothing is fused."""
        single = getattr(self.torch.Tensor, name.replace("_foreach_", ""))

        def is_counted(tensors):
            first = tensors[0]
            return first.numel() == 1 and self.is_small(first) and self.known.is_noted(first)

        def call(tensors, *args, **kwargs):
            if not tensors or not self.guarded(name, (), is_counted, tensors) or sys._getframe(1).f_code.co_name.startswith("_fused"):
                return real(tensors, *args, **kwargs)
            for tensor in tensors:
                self.guarded(name, (), self._renew, tensor)
            out = real(tensors, *args, **kwargs)
            for tensor in tensors:
                self.guarded(name, (tensor,), self._change, name, single, tensor, (tensor, *args), kwargs)
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
            call, sources, origin = self.put_off(name, real, args, kwargs)
            self.known.before_write(twin)
            with self.known.quiet():
                call()
        finally:
            twin.version = before
        self.known.wrote(twin, tensor, origin, sources)

    def overwrite(self, name, real):
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function
        most = self._most.get

        def anew(tensor, args, kwargs):
            """All of it is new: whoever still needs the old bytes has the old twin."""
            if not self.known.is_whole(tensor):
                return False
            shape, dtype = tuple(tensor.shape), tensor.dtype
            call, sources, origin = self.put_off(
                name, lambda *a, **k: real(self.torch.empty(shape, dtype=dtype, device="cpu"), *a, **k), args[1:], kwargs)
            self.known.bind_later(tensor, call, sources, origin, name in names.RANDOM)
            return True

        def call(*args, **kwargs):
            if own(args):
                return modes(call, args, *args, **kwargs)
            tensor = args[0]
            limit = most(tensor.dtype) if type(tensor) is self.torch.Tensor and tensor.is_cuda else None
            if limit is None or tensor.numel() > limit or tensor.numel() == 0:
                return real(*args, **kwargs)
            self.guarded(name, (), self._renew, tensor)
            out = real(*args, **kwargs)
            if not self.guarded(name, (tensor,), anew, tensor, args, kwargs):
                self.guarded(name, (tensor,), self._change, name, real, tensor, args, kwargs)
            return out
        return call

    # -- reads inside a function -----------------------------------------------------------------------------------------------------

    def read_inside(self, name, real):
        """The twins' result first: it says what torch is about to read. What operators read is said in operators.py."""
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function

        def call(*args, **kwargs):
            if own(args):
                return modes(call, args, *args, **kwargs)
            if not any(isinstance(a, self.torch.Tensor) and a.is_cuda for a in args):
                return real(*args, **kwargs)
            made = self.guarded(name, (), self._ahead, name, real, args, kwargs)
            if made is None:
                return real(*args, **kwargs)
            value, origin, counts = made
            if origin:
                self.book.was_read(origin)
            with answering(counts):
                out = real(*args, **kwargs)
            if isinstance(out, self.torch.Tensor) and self.is_small(out) and out.shape == value.shape and out.numel():
                self.guarded(name, (out,), self.known.bind, out, value, origin)
            return out
        return call

    def checked(self, name, real):
        """The one truth that torch reads inside is whether something is wrong, and nothing is."""
        def call(*args, **kwargs):
            with answering([(1, 0)]):
                return real(*args, **kwargs)
        return call

    def _ahead(self, name, real, args, kwargs):
        call, _, origin = self.put_off(name, real, args, kwargs)
        with self.known.quiet():
            value = call()
            return value, origin, self._counts(name, args, value)

    def _counts(self, name, args, value):
        """The values that torch reads inside a function, in order: (bytes, or 0 for a count of 4 or 8; value)."""
        if name == "one_hot":
            whole = self.known.value(args[0])
            return [(0, int(whole.max())), (0, int(whole.min()))] if whole.numel() else []
        return [(1, int(value)), (0, int(value))]  # equal, allclose, is_nonzero

    def indexing(self, name, real):
        """x[index] and x[mask] make a new tensor; the rest are views."""
        own, modes, Tensor = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function, self.torch.Tensor

        def call(tensor, index):
            if own((tensor,)):
                return modes(call, (tensor,), tensor, index)
            out = real(tensor, index)
            kind = type(index)
            if kind is not int and kind is not slice and tensor.is_cuda:
                for part in index if kind is tuple else (index,):
                    if isinstance(part, (Tensor, list)):
                        self._follow(name, real, (tensor, index), {}, out)
                        break
            return out
        return call

    def assignment(self, name, real):
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function

        def call(tensor, index, value):
            if own((tensor,)):
                return modes(call, (tensor,), tensor, index, value)
            if not self.is_small(tensor):
                return real(tensor, index, value)
            self.guarded(name, (), self._renew, tensor)
            real(tensor, index, value)
            self.guarded(name, (tensor,), self._change, name, real, tensor, (tensor, index, value), {})
        return call

    # -- inventions --------------------------------------------------------------------------------------------------------------------

    def truth(self, name, real, answer):
        """Known where the values are; else all is finite, any is false, all is true."""
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function

        def invent(out):
            shape, dtype = tuple(out.shape), out.dtype
            origin = self.book.origin("%s of unknown values is %s" % (name, str(answer).lower()))
            self.known.bind_later(out, lambda: self.torch.full(shape, answer, dtype=dtype, device="cpu"), [], origin)

        def is_compared(tensor):
            """Truths that a comparison invented are no answer to whether any, or all, are."""
            twin = self.known.twin(tensor) if isinstance(tensor, self.torch.Tensor) and tensor.numel() else None
            return twin is not None and twin.origin is not None and twin.origin[3] == self.COMPARED

        def call(*args, **kwargs):
            if own(args):
                return modes(call, args, *args, **kwargs)
            out = real(*args, **kwargs)
            if self.is_small(out):
                if not (args and self.guarded(name, (), is_compared, args[0])):
                    self.guarded(name, (out,), self._bind, name, real, args, kwargs, out)
                if out.numel() and self.guarded(name, (), self.known.twin, out) is None:
                    self.guarded(name, (out,), invent, out)
            return out
        return call

    def compared(self, name, real):
        """Known where the values are; else every second is true. One whole number alone compares as the 0 that it is read as, one float
        is read as --lone-byte says."""
        follow = self._plain_call(name, real)
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function

        def invent(args, out):
            if self.known.twin(out) is not None:
                return
            shape, count = tuple(out.shape), out.numel()
            if count > 1:
                origin = self.book.origin(self.COMPARED)
                self.known.bind_later(out, lambda: truths(self.torch, count, self.torch.bool).view(shape), [], origin)
            elif not any(isinstance(a, float) or isinstance(a, self.torch.Tensor) and a.is_floating_point() for a in args):
                with self.known.quiet():
                    truth = real(*[self._or_zero(a) for a in args])
                self.known.bind(out, truth.view(shape), self.book.origin("a comparison of an unknown whole number takes it as 0"))

        def call(*args, **kwargs):
            if own(args):
                return modes(call, args, *args, **kwargs)
            out = follow(*args, **kwargs)
            if self.is_small(out) and out.dtype == self.torch.bool:
                self.guarded(name, (out,), invent, args, out)
            return out
        return call

    def bounded(self, name, real):
        """Known where the values are; else what is at least some number from 1 on, a size or a count, is that number."""
        follow = self._plain_call(name, real)
        own, modes = self.torch.overrides.has_torch_function, self.torch.overrides.handle_torch_function

        def invent(out, least):
            if self.known.twin(out) is None:
                shape, dtype = tuple(out.shape), out.dtype
                origin = self.book.origin("%s of unknown values is the least that they may be" % name)
                self.known.bind_later(out, lambda: self.torch.full(shape, least, dtype=dtype, device="cpu"), [DRAWN], origin)

        def call(*args, **kwargs):
            if own(args):
                return modes(call, args, *args, **kwargs)
            out = follow(*args, **kwargs)
            if self.is_small(out) and out.numel():
                least = kwargs.get("min", args[1] if len(args) > 1 else None)
                if isinstance(least, (int, float)) and least >= 1:
                    self.guarded(name, (), invent, out, least)
            return out
        return call

    def _or_zero(self, value):
        if not (isinstance(value, self.torch.Tensor) and value.is_cuda):
            return value
        try:
            return self.known.value(value)
        except Unknown:
            return self.torch.zeros(value.shape, dtype=value.dtype, device="cpu")

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
            if name != "topk" or not self.guarded(name, (), self._is_drawn, tensor):
                self._follow(name, real, args, kwargs, out)
            self.guarded(name, (), invent, self, name, args, kwargs, out)
            return out
        return call

    def _is_drawn(self, tensor):
        """What a router makes of drawn numbers is no better known than what it makes of weights."""
        twin = self.known.twin(tensor) if tensor.numel() and tensor.is_floating_point() else None
        return twin is not None and twin.drawn

