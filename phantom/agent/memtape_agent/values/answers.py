# SPDX-License-Identifier: Apache-2.0
"""Copies to the host, answered: from what was said to be read next inside an op, else from the twins."""
import ctypes
import threading

_next = threading.local()


class answering:
    """`with answering([(bytes, value)])`: what torch reads inside the op that follows, in order; 0 bytes: a count of 4 or 8."""

    def __init__(self, values):
        self._values = values

    def __enter__(self):
        self._before = getattr(_next, "values", None)
        _next.values = list(self._values)

    def __exit__(self, *error):
        _next.values = self._before


def _said_before(to, size):
    values = getattr(_next, "values", None)
    for i, (wanted, value) in enumerate(values or ()):
        if wanted == size or wanted == 0 and size in (2, 4, 8):
            ctypes.memmove(to, value.to_bytes(8, "little", signed=True), size)
            del values[i]
            return True
    return False


_known = None


def give(known):
    global _known
    _known = known


def answer(to, at, size):
    """Whether the bytes of device memory at `at` were written to `to`."""
    if _said_before(to, size):
        return True
    found = _known.at(at, size) if _known is not None else None
    if found is None:
        return False
    twin, offset = found
    ctypes.memmove(to, _known.bytes_at(twin) + offset, size)
    if twin.origin:
        _known.book.was_read(twin.origin)
    return True
