# SPDX-License-Identifier: Apache-2.0
"""memtape: GPU memory, predicted to the byte, without a GPU.

    import memtape

    answer = memtape.train("Qwen/Qwen3-8B", gpu="rtx-4090", lora_rank=16, lora_targets="all-linear")
    answer.peak            # bytes on the device, per GPU, of the fullest rank
    answer.fits            # True, False, or None where no GPU was named
    answer.at_peak         # {"parameter": ..., "activation": ...}, bytes
    answer.ranks[0].largest[0].why

Every option of the command line is a keyword (docs/python.md). Mistakes raise memtape.Error(what, where, hint).
"""
from typing import TYPE_CHECKING, Any

from ._error import Error
from .functions import ask, fits, gpus, launch, model, models, plan_serve, plan_train, serve, train

if TYPE_CHECKING:
    from . import answers as answers
    from . import options as options
    from ._explain import explain as explain
    from ._sweep import Sweep as Sweep
    from ._sweep import sweep as sweep
    from ._weights import Weights as Weights
    from ._weights import weights as weights
    from .watch import Watch as Watch

    __version__: str

__all__ = ["Error", "Sweep", "Watch", "Weights", "answers", "ask", "explain", "fits", "gpus", "launch", "model", "models",
           "options", "plan_serve", "plan_train", "serve", "sweep", "train", "weights"]

_LATER = {"Sweep": "_sweep", "sweep": "_sweep", "Watch": "watch", "explain": "_explain", "weights": "_weights",
          "Weights": "_weights", "answers": "", "options": ""}


def __getattr__(name: str) -> Any:
    """What is not always needed is imported when it is first used."""
    if name == "__version__":
        from ._library import version

        return version()
    if name not in _LATER:
        raise AttributeError(f"module 'memtape' has no attribute {name!r}")
    import importlib

    module = importlib.import_module(f"memtape.{_LATER[name] or name}")
    return getattr(module, name) if _LATER[name] else module
