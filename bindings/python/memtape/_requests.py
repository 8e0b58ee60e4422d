# SPDX-License-Identifier: Apache-2.0
"""Requests: keywords become one JSON object (docs/library.md), the library answers it."""
import json
import os
import sys
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from . import _library
from ._error import Error

_VARIABLES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "MEMTAPE_WITH")
_NAMING = ("with", "requirements", "python", "engine_version")

Request = Dict[str, Any]


def plain(value: Any) -> Any:
    """A value as JSON has it: what people hold (a LoraConfig, a dtype, a path) said in plain words."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(plain(item) for item in value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    from ._held import plain_object

    return plain_object(value)


def build(command: str, model: Any, held: Sequence[Any], config: Any, files: Optional[Mapping[str, Any]], releases: Optional[str],
          options: Mapping[str, Any]) -> Request:
    """The request of a call. `held`: TrainingArguments, a LoraConfig and their like."""
    options = {name.rstrip("_"): value for name, value in options.items() if value is not None}
    if isinstance(model, Mapping):
        if config is not None:
            raise Error("the configuration is given twice", "model", "leave out config")
        model, config = str(model.get("_name_or_path") or "config.json"), model
    if held or not (model is None or isinstance(model, (str, os.PathLike))):
        from ._held import understand

        model, config, options = understand(command, model, held, config, options)
    request: Request = {"command": command, "options": {name: plain(value) for name, value in options.items()}}
    if model is not None:
        request["model"] = os.fspath(model)
    if config is not None:
        request["config"] = config if isinstance(config, str) else plain(config)
    if files:
        request["files"] = {name: text if isinstance(text, str) else json.dumps(plain(text)) for name, text in files.items()}
    return with_releases(request, releases)


def with_releases(request: Request, releases: Optional[str]) -> Request:
    """The request with the releases that it is for: those installed here, the newest known, or those that are named."""
    environment = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    named = any(name in request.get("options", {}) for name in _NAMING)
    if releases == "newest":
        environment["MEMTAPE_WITH"] = "none"
    elif releases not in (None, "environment"):
        if named:
            raise Error("releases are named twice", "releases", "leave out with_, requirements and python")
        request["options"]["with"] = releases
    elif not named:
        from ._installed import installed

        request["installed"] = installed()
    if environment:
        request["environment"] = environment
    return request


def encoded(request: Request) -> bytes:
    return json.dumps(request).encode("utf-8", "replace")


def answered(request: Request, form: str = "json") -> Tuple[str, int]:
    """Text and exit code; what lies in files or on the hub is asked of the program."""
    if request.get("options", {}).get("real", "never") != "never":
        return _really(request, form)
    text, code = _library.answer(encoded(request if form == "json" else {**request, "as": form}))
    if code < 2:
        return text, code
    if '"wanted"' in text and "files" not in request and "config" not in request:
        if form == "json":
            return _library.run(words_of(request), _surroundings(request))
        return _written(request, form), 0
    raise _library.error_of(text)


def _really(request: Request, form: str) -> Tuple[str, int]:
    """With the real step on a phantom GPU, which the program runs."""
    import tempfile

    if "config" not in request:
        return (_library.run(words_of(request), _surroundings(request)) if form == "json" else (_written(request, form), 0))
    with tempfile.TemporaryDirectory() as folder:
        config = request["config"]
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            file.write(config if isinstance(config, str) else json.dumps(config))
        said = {key: value for key, value in request.items() if key != "config"}
        return _really({**said, "model": os.path.join(folder, "config.json")}, form)


def words_of(request: Mapping[str, Any]) -> List[str]:
    """The words of the command line that ask the same."""
    text, code = _library.answer(encoded({**request, "as": "argv"}))
    if code:
        raise _library.error_of(text)
    words = json.loads(text)["argv"]
    return [str(word) for word in words]


def _surroundings(request: Request) -> Mapping[str, str]:
    """Variables of the program: this Python is its active environment."""
    more = dict(request.get("environment", {}))
    if "installed" in request:
        more["VIRTUAL_ENV"] = sys.prefix
    return {**os.environ, **more}


def _written(request: Request, form: str) -> str:
    """A form other than JSON of what the program alone can read."""
    import subprocess
    import tempfile

    words = list(words_of(request))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "page")
        asked = {"html": ["--html", path, "--quiet"], "csv": ["--csv"], "explain": ["--explain"], "text": []}.get(form)
        if asked is None:
            raise Error(f"a {form} of a model that the program reads is not there", "as", "text, html, csv or explain")
        at = words.index("--") if "--" in words else len(words)
        done = subprocess.run([_library.program(), *words[:at], *asked, *words[at:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, env=_surroundings(request))
        if done.returncode > 1:
            raise _library._told(done.stderr.decode("utf-8", "replace"), done.returncode)
        if form != "html":
            return done.stdout.decode("utf-8")
        with open(path, encoding="utf-8") as file:
            return file.read()
