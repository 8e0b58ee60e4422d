# SPDX-License-Identifier: Apache-2.0
"""Requests: keywords become one JSON object, the library answers it, the answer becomes a dataclass."""
import json
import os
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, cast

from . import _library
from ._answer import Answer, answer_of
from ._error import Error

_VARIABLES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "MEMTAPE_WITH")

Request = Dict[str, Any]


def plain(value: Any) -> Any:
    """A value as JSON has it: what people hold (a LoraConfig, a dtype, a path) said in plain words."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, range)):
        items: Iterable[Any] = sorted(value) if isinstance(value, (set, frozenset)) else value
        return [plain(item) for item in items]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    from ._held import plain_object

    return plain_object(value)


def request_of(command: str, model: Any, held: Sequence[Any], config: Any, files: Optional[Mapping[str, Any]],
               releases: Optional[str], options: Mapping[str, Any]) -> Request:
    """One request as docs/library.md describes it."""
    said = {name.rstrip("_"): value for name, value in options.items() if value is not None}
    if held or not (model is None or isinstance(model, (str, os.PathLike))):
        from ._held import understand

        model, config, said = understand(command, model, held, config, said)
    request: Request = {"command": command, "options": {name: plain(value) for name, value in said.items()}}
    if model is not None:
        request["model"] = os.fspath(model)
    if config is not None:
        request["config"] = config if isinstance(config, str) else plain(config)
    if files:
        request["files"] = {name: text if isinstance(text, str) else json.dumps(plain(text)) for name, text in files.items()}
    return with_releases(request, releases)


def with_releases(request: Request, releases: Optional[str]) -> Request:
    """`request` with the releases that are meant: those installed here unless it says so."""
    environment = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    if releases == "newest":
        environment["MEMTAPE_WITH"] = "none"
    elif releases not in (None, "environment"):
        if "with" in request.get("options", {}):
            raise Error("is said by with_, too", "releases", "one of the two")
        request.setdefault("options", {})["with"] = releases
    if releases in (None, "environment"):
        from ._installed import installed

        request["installed"] = installed()
    request["environment"] = environment
    return request


def words_of(request: Mapping[str, Any]) -> List[str]:
    """The words of the command line that ask the same."""
    text, code = _library.answer(json.dumps({**request, "as": "argv"}).encode())
    if code >= 2:
        raise _library.error_of(text)
    return cast(List[str], json.loads(text)["argv"])


def asked(request: Mapping[str, Any], form: str = "json") -> Tuple[str, int]:
    """Text and exit code; what needs files or the hub is asked of the program."""
    text, code = _library.answer(json.dumps({**request, "as": form} if form != "json" else request).encode())
    if code < 2:
        return text, code
    if '"wanted"' in text and form == "json" and "files" not in request:
        return _library.run(words_of(request))
    raise _library.error_of(text)


def answered(request: Mapping[str, Any]) -> Answer:
    """The answer to a request."""
    return answer_of(*asked(request), request)
