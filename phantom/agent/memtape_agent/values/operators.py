# SPDX-License-Identifier: Apache-2.0
"""Reads inside torch's operators, whoever calls them: Python, autograd's thread, compiled code, or another operator.

x[mask], its backward, masked_select and NMS all ask `nonzero` for a count; repeat_interleave sums its repeats; coalesce counts the
indices that differ; a factorization reads whether it succeeded, which it does. The dispatcher hands each call of these to us first (BackendSelect is a key that every call
passes, in every thread), and we say what the operator is about to read: what the twins know, or the count of invented truths.
"""
from .answers import answering
from .inventions import truths

READING = ("nonzero.default", "repeat_interleave.Tensor", "bincount.default", "_unique2.default", "unique_consecutive.default",
           "unique_dim.default")
_KEY = "BackendSelect"


def forestall_all(torch, rules):
    """The registrations, which hold as long as they are kept."""
    library = torch.library.Library("aten", "IMPL")
    beyond = torch._C._dispatch_keyset_full_after(getattr(torch._C.DispatchKey, _KEY))
    for name in READING:
        packet, overload = name.split(".")
        operator = getattr(getattr(torch.ops.aten, packet), overload)
        kernel = _nonzero(torch, rules, operator, beyond) if packet == "nonzero" else _reading(rules, packet, operator, beyond)
        library.impl(packet if overload == "default" else packet + "." + overload, kernel, _KEY, with_keyset=True)
    library.impl("_coalesce", _coalesced(rules, torch.ops.aten._coalesce.default, beyond), _KEY, with_keyset=True)
    library.impl("_linalg_check_errors", _succeeded(torch.ops.aten._linalg_check_errors.default, beyond), _KEY, with_keyset=True)
    return library


def _coalesced(rules, operator, beyond):
    """A sparse tensor whose indices nobody knows keeps all of them."""
    redispatch = operator._handle.redispatch_boxed

    def differing(indices):
        with rules.known.quiet():
            return rules.known.value(indices).unique(dim=1).shape[1]

    def coalesced(keyset, sparse):
        count = rules.guarded("coalesce", (), differing, sparse._indices()) if sparse.is_cuda and sparse._nnz() else None
        with answering([(0, sparse._nnz() if count is None else count)]):
            return redispatch(keyset & beyond, sparse)
    return coalesced


def _succeeded(operator, beyond):
    """torch.linalg's factorizations: whether any of them failed is the one byte that is read."""
    redispatch = operator._handle.redispatch_boxed

    def succeeded(keyset, *args, **kwargs):
        with answering([(1, 0)]):
            redispatch(keyset & beyond, *args, **kwargs)
    return succeeded


def _nonzero(torch, rules, operator, beyond):
    known, redispatch = rules.known, operator._handle.redispatch_boxed

    def invent(mask, most):
        """Every second truth, bound to the mask where it can be, so that its next use counts the same."""
        origin = rules.book.origin("truths of unknown values are every second")
        if mask.numel() <= most:
            known.bind_whole(mask, lambda size: truths(torch, size, mask.dtype), origin)
            return count(mask)
        return (mask.numel() + 1) // 2, origin

    def count(mask):
        with known.quiet():
            found = int(known.value(mask).count_nonzero())
        return found, known.twin(mask).origin

    def counted(mask):
        try:
            return count(mask)
        except known.Unknown:
            most = rules.most(mask.dtype)
            return invent(mask, most) if mask.numel() > 1 else None

    def bind(mask, out, origin):
        call, sources, _ = rules.put_off("nonzero", operator, (mask,), {})
        known.bind_later(out, call, sources, origin)

    def nonzero(keyset, mask):
        below = keyset & beyond
        if not mask.is_cuda or mask.numel() == 0:
            return redispatch(below, mask)
        found = rules.guarded("nonzero", (), counted, mask)
        if found is None:
            return redispatch(below, mask)
        if found[1]:
            rules.book.was_read(found[1])
        with answering([(0, found[0])]):
            out = redispatch(below, mask)
        if out.numel():
            rules.guarded("nonzero", (out,), bind, mask, out, found[1])
        return out
    return nonzero


def _reading(rules, name, operator, beyond):
    redispatch = operator._handle.redispatch_boxed

    def ahead(args, kwargs):
        call, _, origin = rules.put_off(name, operator, args, kwargs)
        with rules.known.quiet():
            made = call()
            return made, _counts(name, made, rules.known.value(args[0]), args, kwargs), origin

    def reading(keyset, *args, **kwargs):
        below = keyset & beyond
        found = rules.guarded(name, (), ahead, args, kwargs) if args[0].is_cuda and args[0].numel() else None
        if found is None:
            return redispatch(below, *args, **kwargs)
        made, counts, origin = found
        if origin:
            rules.book.was_read(origin)
        with answering(counts):
            out = redispatch(below, *args, **kwargs)
        for o, m in zip(out, made) if isinstance(out, tuple) else [(out, made)]:
            if rules.is_small(o) and o.shape == m.shape and o.numel():
                rules.guarded(name, (o,), rules.known.bind, o, m, origin)
        return out
    return reading


def _counts(name, made, first, args, kwargs):
    """The values that the operator reads, in order: (bytes, or 0 for a count of 4 or 8; value)."""
    if name == "bincount":
        return [(0, int(first.min())), (0, int(first.max()))]
    if name == "repeat_interleave":
        return [] if kwargs.get("output_size") is not None else [(0, int(first.sum())), (1, 1)]
    return [(0, made[0].shape[0])]
