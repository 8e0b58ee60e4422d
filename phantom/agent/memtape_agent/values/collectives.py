# SPDX-License-Identifier: Apache-2.0
"""Collectives of small tensors carry their values: sizes, flags, counts, and the pickled objects of torch.distributed.

Every collective of torch.distributed ends in a method of the process group. Each of those here says what this rank has to say
(exchanges.py) before the call and what its result is made of after it; nobody waits before somebody reads.
"""
import functools

from .. import native
from .exchanges import Call, Post
from .twins import Unknown, version_of


def _like(tensor):
    return tensor.dtype, tuple(tensor.shape)


def _reduced(torch, op, values):
    kind = torch.distributed.ReduceOp
    name = op.upper() if isinstance(op, str) else next((n for n in ("SUM", "AVG", "MAX", "MIN", "PRODUCT", "BAND", "BOR", "BXOR")
                                                        if op == getattr(kind, n)), "")
    dtype = values[0].dtype
    wide = torch.stack([v.to(torch.float64 if dtype.is_floating_point else torch.int64) for v in values])
    if name in ("SUM", "AVG", "PRODUCT"):
        made = {"SUM": wide.sum, "AVG": lambda _: wide.double().mean(0), "PRODUCT": wide.prod}[name](0)
    elif name in ("MAX", "MIN"):
        made = wide.amax(0) if name == "MAX" else wide.amin(0)
    elif name in ("BAND", "BOR", "BXOR"):
        made = functools.reduce({"BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor}[name], wide)
    else:
        raise Unknown
    return made.to(dtype)


# Each: what is said before the call; then (tensor that it changes, how its value is made) of each.

def _allreduce(call, tensors, opts=None, *_):
    op = getattr(opts, "reduceOp", call.torch.distributed.ReduceOp.SUM)
    for part, tensor in enumerate(tensors):
        call.send(tensor, part)
    return [(t, lambda t=_like(t), part=part: _reduced(call.torch, op, call.all(t, part))) for part, t in enumerate(tensors)]


def _reduce(call, tensors, opts, *_):
    made = _allreduce(call, tensors, opts)
    return made if call.me == opts.rootRank else []


def _broadcast(call, tensors, opts, *_):
    if call.me == opts.rootRank or call.post.solo:
        call.send(tensors[0])
    call.say_nothing()
    like = _like(tensors[0])
    return [(tensors[0], lambda: call.of(opts.rootRank, like))]


def _allgather(call, outputs, inputs, *_):
    call.send(inputs[0])
    return [(out, lambda like=_like(out), rank=rank: call.of(rank, like)) for rank, out in enumerate(outputs[0])]


def _allgather_base(call, output, input_, *_):
    call.send(input_)
    like, shape = _like(input_), tuple(output.shape)
    return [(output, lambda: call.torch.cat([v.flatten() for v in call.all(like)]).view(shape))]


def _gather(call, outputs, inputs, opts, *_):
    call.send(inputs[0])
    wanted = outputs[0] if outputs and call.me == opts.rootRank else []
    return [(out, lambda like=_like(out), rank=rank: call.of(rank, like)) for rank, out in enumerate(wanted)]


def _scatter(call, outputs, inputs, opts, *_):
    for part, tensor in enumerate(inputs[0] if inputs else []):
        call.send(tensor, part)
    call.say_nothing()
    like = _like(outputs[0])
    return [(outputs[0], lambda: call.of(opts.rootRank, like, call.me))]


def _reduce_scatter(call, outputs, inputs, opts=None, *_):
    return _reduced_parts(call, outputs[0], inputs[0], opts)


def _reduce_scatter_base(call, output, input_, opts=None, *_):
    return _reduced_parts(call, output, input_.flatten().chunk(call.size), opts)


def _reduced_parts(call, output, parts, opts):
    op = getattr(opts, "reduceOp", call.torch.distributed.ReduceOp.SUM)
    for part, tensor in enumerate(parts):
        call.send(tensor, part)
    like = _like(output)
    return [(output, lambda: _reduced(call.torch, op, call.all(like, call.me)))]


def _alltoall(call, outputs, inputs, *_):
    for part, tensor in enumerate(inputs):
        call.send(tensor, part)
    return [(out, lambda like=_like(out), rank=rank: call.of(rank, like, call.me)) for rank, out in enumerate(outputs)]


def _alltoall_base(call, output, input_, output_splits, input_splits, *_):
    def cut(tensor, splits):
        return tensor.split(list(splits)) if splits else tensor.chunk(call.size)
    return _alltoall(call, cut(output, output_splits), cut(input_, input_splits))


# How each is found, and the tensors that decide on every rank alike whether it travels.
_METHODS = {
    "allreduce": (_allreduce, lambda tensors, *_: tensors), "allreduce_coalesced": (_allreduce, lambda tensors, *_: tensors),
    "reduce": (_reduce, lambda tensors, *_: tensors), "broadcast": (_broadcast, lambda tensors, *_: tensors),
    "allgather": (_allgather, lambda outputs, inputs, *_: inputs), "_allgather_base": (_allgather_base, lambda out, in_, *_: [in_]),
    "gather": (_gather, lambda outputs, inputs, *_: inputs), "scatter": (_scatter, lambda outputs, *_: outputs),
    "reduce_scatter": (_reduce_scatter, lambda outputs, *_: outputs),
    "_reduce_scatter_base": (_reduce_scatter_base, lambda out, *_: [out]),
    "alltoall": (_alltoall, lambda outputs, *_: outputs[:1]), "alltoall_base": (_alltoall_base, lambda out, *_: [out]),
}


# The same as operators (torch.distributed._functional_collectives, DTensor), which make a new tensor and name the group last.

def _functional(name, call, tensor, rest):
    """How the value of what comes out is made."""
    call.send(tensor)
    like = _like(tensor)
    if name == "all_reduce":
        return lambda: _reduced(call.torch, rest[0], call.all(like))
    if name == "broadcast":
        return lambda: call.of(rest[0], like)
    return lambda: call.torch.cat(call.all(like))  # all_gather_into_tensor, along the first dimension


def _carry_functional(torch, post, name, library, beyond):
    from torch.distributed import distributed_c10d
    operator = getattr(torch.ops._c10d_functional, name).default
    redispatch, guarded, known = operator._handle.redispatch_boxed, post.rules.guarded, post.rules.known

    def begun(tensor, rest):
        return _functional(name, Call(post, distributed_c10d._resolve_process_group(rest[-1])), tensor, rest)

    def bind(out, make):
        known.overlay(out, make, put_off=not post.solo)
        native.forget(out)

    def collective(keyset, tensor, *rest):
        make = guarded(name, (), begun, tensor, rest) if tensor.is_cuda and post.travels(tensor) else None
        out = redispatch(keyset & beyond, tensor, *rest)
        if make is not None and post.travels(out):
            guarded(name, (out,), bind, out, make)
        return out
    library.impl(name, collective, "BackendSelect", with_keyset=True)


def carry_values(torch, rules, solo):
    """What holds as long as it is kept."""
    if not torch.distributed.is_available():
        return None
    post = Post(torch, rules, solo)
    kind = torch.distributed.ProcessGroup
    for name, (rule, deciding) in _METHODS.items():
        setattr(kind, name, _carried(getattr(kind, name), name, rule, deciding, post))
    for name in ("send", "recv"):
        setattr(kind, name, _sent(getattr(kind, name), name, post))
    library = torch.library.Library("_c10d_functional", "IMPL")
    beyond = torch._C._dispatch_keyset_full_after(torch._C.DispatchKey.BackendSelect)
    for name in ("all_reduce", "broadcast", "all_gather_into_tensor"):
        _carry_functional(torch, post, name, library, beyond)
    return library


def _carried(real, name, rule, deciding, post):
    guarded, known = post.rules.guarded, post.rules.known

    def begun(group, args):
        return [(tensor, known.twin(tensor), make) for tensor, make in rule(Call(post, group), *args)]

    def bind(tensor, before, make):
        if before is not None:
            before.version = max(before.version, version_of(tensor))  # what the collective itself has raised
        if post.travels(tensor):
            known.overlay(tensor, make, put_off=not post.solo)
            native.forget(tensor)
        else:
            known.forget(tensor)

    @functools.wraps(real)
    def collective(group, *args, **kwargs):
        try:
            travels = not kwargs and all(post.travels(t) for t in deciding(*args))
        except Exception:  # another overload
            travels = False
        made = guarded(name, (), begun, group, args) if travels else None
        work = real(group, *args, **kwargs)
        for tensor, before, make in made or ():
            guarded(name, (tensor,), bind, tensor, before, make)
        return work
    return collective


def _sent(real, name, post):
    """From one rank to another: the messages of a pair are counted by their tag."""
    guarded, known = post.rules.guarded, post.rules.known

    def key(group, other, tag):
        call = Call(post, group)
        pair = (call.me, other) if name == "send" else (other, call.me)
        return post.number("%s/%d-%d/%s" % (call.address, *pair, tag))

    def say(group, tensor, other, tag):
        post.send(key(group, other, tag), post.pack(tensor))

    def hear(group, tensor, other, tag):
        address, like = key(group, other, tag), _like(tensor)
        known.overlay(tensor, lambda: post.unpack(post.receive(address), like), put_off=True)
        native.forget(tensor)

    @functools.wraps(real)
    def message(group, tensors, other, tag=0, *args, **kwargs):
        travels = not post.solo and len(tensors) == 1 and post.travels(tensors[0])
        if travels and name == "send":
            guarded(name, (), say, group, tensors[0], other, tag)
        work = real(group, tensors, other, tag, *args, **kwargs)
        if travels and name == "recv":
            guarded(name, tensors, hear, group, tensors[0], other, tag)
        return work
    return message
