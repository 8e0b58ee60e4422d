# SPDX-License-Identifier: Apache-2.0
"""memtape.explain: a snapshot, a log or the exception of an out-of-memory, attributed (`memtape explain`)."""
import os
import tempfile
from typing import List, Optional, Union

from . import _library
from ._answer import Answer, answer_of


def explain(what: Union[str, "os.PathLike[str]", BaseException], against: Optional[str] = None) -> Answer:
    """What held the memory, and what would have avoided it.

    what: a path, or the exception: `except torch.OutOfMemoryError as error: memtape.explain(error)`. against: a prediction to lay
    beside it, as in "train Qwen/Qwen3-8B --micro-batch-size 4". Raises memtape.Error where nothing known is in it.
    """
    if not isinstance(what, BaseException):
        return _explained([os.fspath(what)], against)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "error.log")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{type(what).__name__}: {what}\n")
        return _explained([path], against)


def _explained(files: List[str], against: Optional[str]) -> Answer:
    words = ["explain", *files, *(["--against", against] if against else [])]
    text, code = _library.run(words)
    return answer_of(text, code, {"argv": words})
