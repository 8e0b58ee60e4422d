# SPDX-License-Identifier: Apache-2.0
"""The questions, one function each. Their signatures, option by option, are in functions.pyi."""
import shlex

from ._error import Error
from ._requests import answered, plain, request_of, with_releases, words_of


def _all_of(command, model, held, config, files, releases, options):
    """One answer, or a Sweep where options are lists that are no values."""
    from .options import LISTS

    swept = {name: list(value) for name, value in options.items()
             if isinstance(value, (list, tuple, range)) and name.rstrip("_") not in LISTS and _is_sweep(command, name)}
    if not swept:
        return answered(request_of(command, model, held, config, files, releases, options))
    from ._sweep import sweep

    fixed = {name: value for name, value in options.items() if name not in swept}
    return sweep(lambda varied: answered(request_of(command, model, held, config, files, releases, {**fixed, **varied})), swept)


def _is_sweep(command, name):
    """Lists of transformers' own arguments (fsdp, report_to, optim_target_modules) are their values."""
    from .options import TRAIN, TRAINING_ARGUMENTS

    return command == "serve" or name in TRAIN or name not in TRAINING_ARGUMENTS or name.endswith(("size", "steps"))


def train(model, *held, config=None, files=None, releases=None, **options):
    """One training step, per GPU: an answers.TrainAnswer; a Sweep of all combinations where an option is a list.

    model: a catalog name, a hub id, a path, a transformers configuration or model. held: TrainingArguments, a LoraConfig, a
    BitsAndBytesConfig, a DeepSpeed dict. options: those of `memtape train`, with _ for -. config: a config.json as a dict or text.
    files: texts by name, for options that name files. releases: "environment" (what is installed here; the default), "newest", or
    "torch==2.8.0,transformers==4.57.6". Bytes are per GPU. Raises memtape.Error for bad input.
    """
    return _all_of("train", model, held, config, files, releases, options)


def serve(model, *held, config=None, files=None, releases=None, **options):
    """An inference server, per GPU: an answers.ServeAnswer; a Sweep where an option is a list.

    options: those of `memtape serve` and of its engine, by their own names. held: vLLM's EngineArgs. Raises memtape.Error.
    """
    return _all_of("serve", model, held, config, files, releases, options)


def plan_train(model, *held, config=None, files=None, releases=None, **options):
    """What fits and is fastest, ranked: the answer of `memtape plan train`, a list being the values that are allowed."""
    return answered(request_of("plan train", model, held, config, files, releases, options))


def plan_serve(model, *held, config=None, files=None, **options):
    """The servers that hold so many users, by cost: the answer of `memtape plan serve`."""
    return answered(request_of("plan serve", model, held, config, files, "newest", options))


def fits(model, gpu, *held, **options):
    """Whether the training step fits on that GPU. What may not fit (answer.verdict) counts as fitting."""
    return bool(train(model, *held, gpu=gpu, **options).fits)


def launch(command, *, releases=None, **options):
    """A launch command, predicted without running it: memtape.launch("vllm serve Qwen/Qwen3-8B", gpu="l4")."""
    words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
    given = words_of({"command": "serve" if "engine" in options else "train", "options": {k: plain(v) for k, v in options.items()}})
    request = with_releases({"argv": [*given[1:], "--", *words]}, releases)
    if "options" in request:
        raise Error("is said with the options", "releases", "with_='torch==2.8.0'")
    return answered(request)


def models():
    """The models that are known by name."""
    return answered({"command": "models"})


def model(name):
    """What is known of one model."""
    return answered({"command": "models", "model": name})


def gpus(id=None):
    """The GPUs that are known by name, and what each gives a program."""
    return answered({"command": "gpus", **({"model": id} if id else {})})


def ask(request):
    """Answers a request as docs/library.md describes it; for what has no function of its own."""
    return answered(dict(request))
