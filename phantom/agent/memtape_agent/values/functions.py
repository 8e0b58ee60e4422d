# SPDX-License-Identifier: Apache-2.0
"""torch's functions, followed on the twins.

Each named function (names.py) is replaced by one that calls it and then looks at what came out: a large tensor or one on the host is
none of our business, which costs some hundred nanoseconds. Modes and subclasses of the program's own see the replaced function
as the function, since that is what torch.NAME is.
"""
import functools

from . import divisors, names


def follow_all(torch, rules):
    """Replaces torch's functions."""
    replaced = {}
    modules = [(torch, None), (torch.Tensor, torch.Tensor), (torch._C._nn, None)]
    for wanted, make in _plan(rules):
        for name in wanted:
            for owner, kind in modules:
                _replace(owner, kind, name, make, replaced, rules)
    _replace(torch.Tensor, torch.Tensor, "__getitem__", rules.indexing, replaced, rules)
    _replace(torch.Tensor, torch.Tensor, "__setitem__", rules.assignment, replaced, rules)
    _tell_torch(torch, replaced)


def _plan(rules):
    """What is said last about a name holds."""
    yield names.PURE + names.METHODS, rules.pure
    yield names.MADE, rules.made
    yield names.EMPTY, rules.empty
    yield names.FROM_LISTS, rules.from_lists
    yield names.FILLED, rules.filled
    yield names.IN_PLACE, rules.in_place
    yield names.OVERWRITE, rules.overwrite
    yield names.READ_INSIDE, rules.read_inside
    yield names.NN_READ_INSIDE, rules.read_inside
    yield names.NN_PURE, rules.pure
    yield names.CHECKED, rules.checked
    yield names.CHOOSE, rules.choose
    yield names.COMPARED, rules.compared
    yield names.BOUNDED, rules.bounded
    yield ["resize_"], rules.resized
    yield divisors.READ, lambda name, real: divisors.number(rules, real)
    yield ["_foreach_add_"], rules.steps
    yield names.FALSE, lambda name, real: rules.truth(name, real, False)
    yield names.TRUE, lambda name, real: rules.truth(name, real, True)


def _replace(owner, kind, name, make, replaced, rules):
    """`replaced`: (owner, name) -> torch's own."""
    torch = rules.torch
    present = getattr(owner, name, None)
    if not callable(present) or (owner is torch._C._nn) != (name in names.NN_READ_INSIDE + names.NN_PURE):
        return
    real = replaced.setdefault((owner, name), present)
    made = make(name, real)
    functools.update_wrapper(made, real)
    made.__name__ = getattr(real, "__name__", name)
    setattr(owner, name, made)


def _tell_torch(torch, replaced):
    """torch keeps tables of its own functions, which must know both the old and the new."""
    from torch.utils import _device
    constructors = set(_device._device_constructors())
    constructors |= {old for (owner, name), old in replaced.items() if owner is torch and getattr(torch, name) in constructors}
    _device._device_constructors = lambda: constructors
    for name in names.NN_READ_INSIDE + names.NN_PURE:
        if getattr(torch.nn.functional, name, None) is replaced.get((torch._C._nn, name), torch):
            setattr(torch.nn.functional, name, getattr(torch._C._nn, name))
    lazy = torch.nn.parameter.UninitializedTensorMixin._allowed_methods
    lazy += [getattr(owner, name) for (owner, name), old in replaced.items() if old in lazy]
    from torch.jit import _builtins
    table = _builtins._get_builtin_table()
    for (owner, name), old in replaced.items():
        if id(old) in table:
            _builtins._register_builtin(getattr(owner, name), table[id(old)])
