# SPDX-License-Identifier: Apache-2.0
"""The functions that ask. Their full signatures, with every option, are in functions.pyi."""
from typing import Any, List, Mapping, Optional, Sequence, Union

from . import _requests
from ._error import Error

_LIST = (list, tuple, range)


def ask(request: Mapping[str, Any]) -> Any:
    """Answers a request as docs/library.md describes it; for what has no function of its own."""
    from ._answer import answer_of

    asked = dict(request)
    return answer_of(*_requests.answered(asked), asked)


def _swept(command: str, options: Mapping[str, Any]) -> Mapping[str, Sequence[Any]]:
    """Those options whose list is values to be tried, not a value that is a list."""
    lists = {name: value for name, value in options.items() if isinstance(value, _LIST)}
    if not lists:
        return {}
    from .options import LISTS, SERVE, TRAIN

    known = TRAIN if command == "train" else SERVE
    return {name: value for name, value in lists.items() if name.rstrip("_") in known and name.rstrip("_") not in LISTS}


def _answered(command: str, model: Any, held: Sequence[Any], config: Any, files: Optional[Mapping[str, Any]], releases: Optional[str],
              options: Mapping[str, Any]) -> Any:
    swept = _swept(command, options)
    if not swept:
        return ask(_requests.build(command, model, held, config, files, releases, options))
    from ._sweep import sweep

    return sweep(train if command == "train" else serve, model, *held, config=config, files=files, releases=releases,
                 fixed={name: value for name, value in options.items() if name not in swept}, **swept)


def train(model: Any, *held: Any, config: Any = None, files: Optional[Mapping[str, Any]] = None, releases: Optional[str] = None,
          **options: Any) -> Any:
    """One training step: an answers.TrainAnswer, every figure in bytes, per GPU.

    model: a catalog name, a hub id, a path, a transformers configuration (the object, or its config.json as a dict), or a module
    that has one.
    held: TrainingArguments, a LoraConfig, a BitsAndBytesConfig, a DeepSpeed dict; a keyword goes before what they say.
    config: the model's config.json, as a dict or text. files: texts by the names that options use, as in deepspeed="ds.json".
    releases: "environment" (what is installed here; the default), "newest", or "torch==2.8.0,transformers==4.57.6".
    options: those of `memtape train`, with _ for - (memtape.options.TRAIN has them with their meaning), and TrainingArguments' names
    with framework="transformers". A list for an option of one value makes a Sweep of all combinations.

    Raises memtape.Error. Where the figures come from: docs/architecture.md and docs/accuracy.md; `answer.explain()` says it of each.
    """
    return _answered("train", model, held, config, files, releases, options)


def serve(model: Any, *held: Any, config: Any = None, files: Optional[Mapping[str, Any]] = None, releases: Optional[str] = None,
          **options: Any) -> Any:
    """An inference server: an answers.ServeAnswer, every figure in bytes, per GPU.

    model: as of train, or vLLM's EngineArgs. options: those of `memtape serve` and of its engine (memtape.options.SERVE).
    """
    return _answered("serve", model, held, config, files, releases, options)


def plan_train(model: Any, *held: Any, config: Any = None, files: Optional[Mapping[str, Any]] = None, releases: Optional[str] = None,
               **options: Any) -> Any:
    """What fits and is fastest, ranked: the answer of `memtape plan train`; memory confirmed in bytes, time in seconds as a range.

    A list for an option is the values that it may take: tp=[1, 2, 4].
    """
    return ask(_requests.build("plan train", model, held, config, files, releases, options))


def plan_serve(model: Any, *held: Any, config: Any = None, files: Optional[Mapping[str, Any]] = None, releases: Optional[str] = None,
               **options: Any) -> Any:
    """The same of servers: the answer of `memtape plan serve`. gpu, gpus: the GPUs at hand, as available="8xl4" says them."""
    gpu, gpus = options.pop("gpu", None), options.pop("gpus", None)
    if gpu is not None and options.get("available") is not None:
        raise Error("the GPUs at hand are named twice", "available", "gpu with gpus, or available")
    if gpu is None and gpus is not None:
        raise Error("which GPU?", "gpus", 'gpu="h100-80gb" beside it')
    if gpu is not None:
        options["available"] = f"{1 if gpus is None else gpus}x{gpu}"
    return ask(_requests.build("plan serve", model, held, config, files, releases, options))


def fits(model: Any, gpu: str, *held: Any, **options: Any) -> bool:
    """Whether the training step fits on that GPU, by the central figures; with engine= whether the server does.

    `train(...).verdict` also says "may not fit", where what is uncertain decides.
    """
    answer = serve(model, *held, gpu=gpu, **options) if "engine" in options else train(model, *held, gpu=gpu, **options)
    return bool(answer.fits)


def launch(command: Union[str, Sequence[str]], *, releases: Optional[str] = None, **options: Any) -> Any:
    """A launch command, predicted without running it: memtape.launch("vllm serve Qwen/Qwen3-8B", gpu="l4")."""
    import shlex

    words: List[str] = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
    if not words:
        raise Error("is empty", "command", 'memtape.launch("vllm serve Qwen/Qwen3-8B", gpu="l4")')
    # The options of a training of the command's model, which the command names itself.
    request = _requests.build("train", None, (), None, None, releases, options)
    before = _requests.words_of({**request, "model": "MODEL"})[2:]  # without "train" and the model
    outside = {key: request[key] for key in ("installed", "environment") if key in request}
    return ask({"argv": [*before, "--", *words], **outside})


def models() -> Any:
    """The models that are known by name: an answers.ModelsAnswer."""
    return ask({"command": "models"})


def model(name: str) -> Any:
    """What is known of one model: an answers.ModelAnswer."""
    return ask({"command": "models", "model": name})


def gpus(id: Optional[str] = None) -> Any:
    """The GPUs that are known by name, and what each gives a program, in bytes: an answers.GpusAnswer."""
    return ask({"command": "gpus", **({"model": id} if id else {})})
