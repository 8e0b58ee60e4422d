# SPDX-License-Identifier: Apache-2.0
"""The C interface of libmemtape through ctypes, which lets other threads run during a call; and the program beside it."""
import ctypes
import json
import os
import subprocess
from typing import Optional, Sequence, Tuple

from ._error import Error

_NATIVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native")
_library: Optional[ctypes.CDLL] = None


class File(ctypes.Structure):
    """memtape_file of memtape.h."""

    _fields_ = [("name", ctypes.c_char_p), ("bytes", ctypes.c_char_p), ("count", ctypes.c_size_t), ("size", ctypes.c_int64)]


def library() -> ctypes.CDLL:
    """libmemtape, loaded when it is first asked."""
    global _library
    if _library is None:
        path = os.environ.get("MEMTAPE_LIBRARY") or os.path.join(_NATIVE, "lib", "libmemtape.so")
        loaded = ctypes.CDLL(path)
        loaded.memtape_answer_with.restype = ctypes.c_void_p
        loaded.memtape_answer_with.argtypes = [ctypes.c_char_p, ctypes.POINTER(File), ctypes.c_size_t, ctypes.POINTER(ctypes.c_int)]
        loaded.memtape_free.argtypes = [ctypes.c_void_p]
        loaded.memtape_free.restype = None
        loaded.memtape_version.restype = ctypes.c_char_p
        _library = loaded
    return _library


def version() -> str:
    return bytes(library().memtape_version()).decode()


def program() -> str:
    """The command line program that came with the package."""
    return os.environ.get("MEMTAPE_PROGRAM") or os.path.join(_NATIVE, "bin", "memtape")


def answer(request: bytes) -> Tuple[str, int]:
    """The text of the answer and its exit code (0 fits, 1 does not fit, 2 bad input, 3 internal)."""
    native, code = library(), ctypes.c_int(3)
    place = native.memtape_answer_with(request, None, 0, ctypes.byref(code))
    if not place:
        raise MemoryError("memtape")
    try:
        return ctypes.string_at(place).decode("utf-8"), code.value
    finally:
        native.memtape_free(place)


def run(words: Sequence[str]) -> Tuple[str, int]:
    """The same of the program, which reads files, the cache of the hub and the network. Its text and exit code."""
    at = list(words).index("--") if "--" in words else len(words)
    command = [program(), *words[:at], "--json", *words[at:]]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    if done.returncode in (0, 1):
        return done.stdout.decode("utf-8"), done.returncode
    line = done.stderr.decode("utf-8", "replace").strip()
    raise Error(line.rsplit("memtape: ", 1)[-1] or f"the program ended with {done.returncode}", "", "")


def error_of(text: str) -> Error:
    told = json.loads(text)["error"]
    return Error(told["what"], told["where"], told["hint"])
