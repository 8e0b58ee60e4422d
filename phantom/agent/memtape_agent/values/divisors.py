# SPDX-License-Identifier: Apache-2.0
"""Numbers by which a program divides: `x / float(t)`, `x /= t.item()`, `n = t.item()` and then `x / n`.

Python divides by no zero, where a device would have given some number. So a number that nobody knows, which is otherwise read as 0, is 1
there. That it divides shows in the program's own code: the instruction behind the call takes what the call put last on the stack as
its right side, or gives it a name that stands right before such an instruction.
"""
import dis
import functools
import sys

READ = "item __float__ __int__".split()
_DIVIDES = ("/", "/=", "//", "//=", "%", "%=")  # BINARY_OP's, from Python 3.11 on
_DIVIDED = tuple(kind + what for kind in ("BINARY_", "INPLACE_") for what in ("TRUE_DIVIDE", "FLOOR_DIVIDE", "MODULO"))
_NAMES = ("FAST", "NAME", "GLOBAL", "DEREF")


def _is_division(step):
    return step.opname in _DIVIDED or step.opname == "BINARY_OP" and step.argrepr in _DIVIDES


def _named(step, kind, which):
    """The name that the instruction stores or loads; from Python 3.13 on it may be of two, the first or the last of which is meant."""
    if not step.opname.startswith(tuple(kind + name for name in _NAMES)):
        return None
    return step.argval[which] if isinstance(step.argval, tuple) else step.argval


@functools.lru_cache(maxsize=4096)
def divides(code, at):
    """Whether what the call at `at`, or at one of its caches, gives is divided by. Python 3.11 calls by two instructions, PRECALL and
    CALL, the first of which does it all where it is specialized."""
    steps = [i for i in dis.get_instructions(code) if i.opname != "CACHE"]
    now = max(n for n, i in enumerate(steps) if i.offset <= at)
    behind = next(iter(steps[now + (2 if steps[now].opname == "PRECALL" else 1):]), None)
    if behind is None or _is_division(behind):
        return behind is not None
    name = _named(behind, "STORE_", 0)
    return name is not None and any(_named(a, "LOAD_", -1) == name and _is_division(b) for a, b in zip(steps, steps[1:]))


def number(rules, real):
    own, modes, known, book = rules.torch.overrides.has_torch_function, rules.torch.overrides.handle_torch_function, rules.known, rules.book

    def is_unknown(tensor):
        return tensor.is_cuda and known.twin(tensor) is None

    def call(tensor):
        if own((tensor,)):
            return modes(call, (tensor,), tensor)
        value = real(tensor)
        if type(value) in (int, float) and value == 0:  # no symbol of a trace
            frame = sys._getframe(1)
            if divides(frame.f_code, frame.f_lasti) and rules.guarded("item", (), is_unknown, tensor):
                book.was_read(book.origin("a number of unknown value that divides is 1"))
                return type(value)(1)
        return value
    return call
