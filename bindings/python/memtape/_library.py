# SPDX-License-Identifier: Apache-2.0
"""The C interface of libmemtape through ctypes, which lets other threads run during a call; and the program beside it."""
import ctypes
import os
import sys
from typing import List, Mapping, Optional, Tuple

from ._error import Error

_NATIVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native")
_LIBRARY = "libmemtape.dylib" if sys.platform == "darwin" else "libmemtape.so"
_loaded: Optional[ctypes.CDLL] = None


def _load() -> ctypes.CDLL:
    global _loaded
    path = os.environ.get("MEMTAPE_LIBRARY") or os.path.join(_NATIVE, "lib", _LIBRARY)
    try:
        native = ctypes.CDLL(path)
    except OSError as problem:
        raise Error(f"cannot be loaded: {problem}", path, "pip install --force-reinstall WHEEL, or MEMTAPE_LIBRARY=PATH") from None
    native.memtape_answer.restype = ctypes.c_void_p
    native.memtape_answer.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_int)]
    native.memtape_free.argtypes = [ctypes.c_void_p]
    native.memtape_free.restype = None
    native.memtape_version.restype = ctypes.c_char_p
    _loaded = native
    return native


def version() -> str:
    told: bytes = (_loaded or _load()).memtape_version()
    return told.decode()


def program() -> str:
    """The command line program that came with the package."""
    return os.environ.get("MEMTAPE_PROGRAM") or os.path.join(_NATIVE, "bin", "memtape")


def answer(request: bytes) -> Tuple[str, int]:
    """The text of the answer and its exit code (0 fits, 1 does not fit, 2 bad input, 3 internal)."""
    if b"\0" in request:
        raise Error("holds a zero byte", "request", "text")
    native, code = _loaded or _load(), ctypes.c_int(3)
    place = native.memtape_answer(request, ctypes.byref(code))
    if not place:
        raise MemoryError("memtape")
    try:
        return ctypes.string_at(place).decode("utf-8"), code.value
    finally:
        native.memtape_free(place)


def run(words: List[str], environment: Optional[Mapping[str, str]] = None, given: str = "",
        as_json: bool = True) -> Tuple[str, int]:
    """The same of the program, which reads files, the cache of the hub and the network. `given`: its standard input."""
    import subprocess

    at = words.index("--") if "--" in words else len(words)
    command = [program(), *words[:at], *(["--json"] if as_json else []), *words[at:]]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, input=given.encode("utf-8", "replace"),
                              env=None if environment is None else dict(environment))
    except OSError as problem:
        raise Error(f"cannot be started: {problem.strerror}", command[0], "pip install --force-reinstall WHEEL") from None
    if done.returncode in (0, 1):
        return done.stdout.decode("utf-8"), done.returncode
    raise _told(done.stderr.decode("utf-8", "replace"), done.returncode)


def _told(text: str, code: int) -> Error:
    """The program's line, "memtape: WHERE: WHAT (HINT)"."""
    lines = [line for line in text.splitlines() if line.startswith("memtape: ")]
    if not lines:
        return Error(f"the program ended with {code}", "memtape", text.strip()[-200:])
    line, hint = lines[-1][len("memtape: "):], ""
    if line.endswith(")") and " (" in line:
        line, _, hint = line[:-1].partition(" (")
    where, colon, what = line.rpartition(": ")
    return Error(what, where if colon else "", hint)


def error_of(text: str) -> Error:
    import json

    told = json.loads(text)["error"]
    return Error(told["what"], told["where"], told["hint"])
