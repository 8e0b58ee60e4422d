# SPDX-License-Identifier: Apache-2.0
"""memtape.explain: a snapshot, a log or the exception of an out-of-memory, attributed (`memtape explain`)."""
import os
from typing import Any, List, Union

from . import _library, _requests
from ._answer import Answer, answer_of
from .answers import Explanation


def explain(what: Union[str, "os.PathLike[str]", BaseException], against: Union[None, str, Answer] = None) -> Explanation:
    """What held the memory, and what would have avoided it: the answer of `memtape explain`, in bytes (docs/explain.md).

    what: the path of a snapshot, trace or log, or the exception: `except torch.OutOfMemoryError as error: memtape.explain(error)`.
    against: a prediction laid beside it: an answer of memtape.train, or "train MODEL ..." as on the command line.
    """
    given, words = "", ["explain"]
    if isinstance(what, BaseException):
        import traceback

        given = "".join(traceback.format_exception(type(what), what, what.__traceback__))
        words.append("-")
    else:
        words.append(os.fspath(what))
    if against is not None:
        words += ["--against", against if isinstance(against, str) else _words(against)]
    explained: Explanation = answer_of(*_library.run(words, given=given), {"argv": words, "given": given}, Explanation)
    return explained


def _words(answer: Answer) -> str:
    import shlex

    words: List[str] = list(_requests.words_of(answer.__dict__["_request"]))
    return shlex.join(words)
