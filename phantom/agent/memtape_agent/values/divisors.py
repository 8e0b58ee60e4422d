# SPDX-License-Identifier: Apache-2.0
"""Numbers by which a program divides at once: `x / float(t)`, `x /= t.item()`.

Python divides by no zero, where a device would have given some number. So a number that nobody knows, which is otherwise read as 0, is 1
there. That it divides shows in the program's own code: the instruction behind the call takes what the call put last on the stack as
its right side.
"""
import dis
import functools
import sys

READ = "item __float__ __int__".split()
_DIVIDES = ("/", "/=", "//", "//=", "%", "%=")  # BINARY_OP's, from Python 3.11 on
_DIVIDED = tuple(kind + what for kind in ("BINARY_", "INPLACE_") for what in ("TRUE_DIVIDE", "FLOOR_DIVIDE", "MODULO"))


@functools.lru_cache(maxsize=4096)
def divides(code, at):
    """Whether the instruction behind the call at `at`, or at one of its caches, divides by what that gives. Python 3.11 calls by two
    instructions, PRECALL and CALL, the first of which does it all where it is specialized."""
    steps = [i for i in dis.get_instructions(code) if i.opname != "CACHE"]
    now = max(n for n, i in enumerate(steps) if i.offset <= at)
    behind = steps[now + (2 if steps[now].opname == "PRECALL" else 1):][:1]
    return any(i.opname in _DIVIDED or i.opname == "BINARY_OP" and i.argrepr in _DIVIDES for i in behind)


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
