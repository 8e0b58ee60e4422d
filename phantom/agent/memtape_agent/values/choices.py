# SPDX-License-Identifier: Apache-2.0
"""Indices that must exist: what topk, sort, argmax and sampling answer when the values are unknown."""

_EVENLY = 4096  # topk over more than that is no router


def invent(rules, name, args, kwargs, out):
    """Binds the index among the outputs, if the twins did not know it."""
    torch, known = rules.torch, rules.known
    index = out if isinstance(out, torch.Tensor) else out[1] if len(out) > 1 else None
    if index is None or not rules.is_small(index) or index.dtype != torch.int64 or index.numel() == 0 or known.twin(index) is not None:
        return
    if name in ("max", "min", "msort") and index is out:
        return  # values, no index
    tensor = args[0]
    dim = _dimension(name, args, kwargs, tensor)
    size = max(tensor.numel() if dim is None else tensor.size(dim) if tensor.dim() else 1, 1)
    shape = tuple(index.shape)
    if name == "topk":
        origin = rules.book.origin("topk spreads its choices evenly")
        value = _spread(rules, shape, dim, size)
    elif name in ("sort", "argsort"):
        origin = rules.book.origin("%s leaves the order as it is" % name)
        value = _in_order(torch, shape, dim)
    else:
        origin = rules.book.origin("%s draws from a fixed seed" % name)
        with known.quiet():
            value = torch.randint(0, size, shape, generator=rules._generator, device="cpu")
    known.bind(index, value, origin)


def _dimension(name, args, kwargs, tensor):
    """The dimension that the index counts in; None: all."""
    if name == "multinomial":
        return -1
    position = {"topk": 2, "kthvalue": 2}.get(name, 1)
    otherwise = None if name in ("argmax", "argmin") else -1
    dim = kwargs.get("dim", args[position] if len(args) > position else otherwise)
    return dim if type(dim) is int else otherwise


def _spread(rules, shape, dim, size):
    torch = rules.torch
    with rules.known.quiet():
        if not shape:
            return torch.randint(0, size, (), generator=rules._generator, device="cpu")
        dim %= len(shape)
        choices = shape[dim]
        rest = shape[:dim] + shape[dim + 1:]
        rows = 1
        for n in rest:
            rows *= n
        if size <= _EVENLY:
            flat = rules.book.evenly(torch, rows, choices, size)
        else:
            flat = torch.randint(0, size, (rows, choices), generator=rules._generator, device="cpu")
        return flat.view(*rest, choices).movedim(-1, dim)


def _in_order(torch, shape, dim):
    if not shape:
        return torch.zeros((), dtype=torch.int64, device="cpu")
    view = [1] * len(shape)
    view[dim] = shape[dim]
    return torch.arange(shape[dim], device="cpu").view(view).expand(shape)
