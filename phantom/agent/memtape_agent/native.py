# SPDX-License-Identifier: Apache-2.0
"""The stand-ins' own functions."""
import ctypes

_ReadWatcher = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_kept = []  # what C calls must stay alive
try:
    _core = ctypes.CDLL("libmemtape_phantom.so", mode=ctypes.RTLD_GLOBAL)
    _core.memtape_phantom_sent_copies.restype = ctypes.c_uint64
    _core.memtape_phantom_forget.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
except OSError:
    _core = None

PHASES = ("init", "forward", "backward", "optimizer")


def mark(step, phase):
    if _core is not None:
        _core.memtape_phantom_mark(step, PHASES.index(phase))


def watch_reads(function):
    """`function(to, from, bytes)` for each copy to the host that found nothing: 1 when it wrote the bytes. None ends it."""
    if _core is None:
        return
    watcher = _ReadWatcher(function) if function else ctypes.cast(None, _ReadWatcher)
    _kept.append(watcher)
    _core.memtape_phantom_watch_reads(watcher)


def forget(tensor):
    """What the host once sent there is there no more."""
    if _core is not None:
        _core.memtape_phantom_forget(tensor.data_ptr(), tensor.numel() * tensor.element_size())


def gpus_held():
    """On how many GPUs this process has taken memory; -1 where nobody counts."""
    return _core.memtape_phantom_gpus_held() if _core is not None else -1


def sent_copies():
    """How many copies of more than a number the host has sent to devices."""
    return _core.memtape_phantom_sent_copies() if _core is not None else 0
