# SPDX-License-Identifier: Apache-2.0
"""memtape.Watch as a callback of Lightning."""
import importlib
from typing import Any

from ._error import Error


def _base() -> Any:
    for name in ("lightning.pytorch", "pytorch_lightning"):
        try:
            return importlib.import_module(name).Callback
        except ImportError:
            continue
    raise Error("Lightning is not installed", "Watch.lightning", "pip install lightning")


def _watched(module: Any) -> Any:
    """The module that has a configuration: LightningModules hold their model in an attribute."""
    return next((part for part in module.modules() if hasattr(getattr(part, "config", None), "to_dict")), module)


def callback(watch: Any) -> Any:
    base: Any = _base()

    class LightningWatch(base):  # type: ignore[misc,unused-ignore]
        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            precision = {"bf16-mixed": "amp-bf16", "16-mixed": "amp-fp16", "bf16-true": "bf16", "16-true": "fp16"}.get(str(trainer.precision))
            if precision:
                watch._options.setdefault("precision", precision)
            if "optimizer" not in watch._options and not watch._held:
                watch._held.extend(trainer.optimizers[:1])
            if watch._model is None:
                watch._attach(_watched(pl_module))
            self._steps = trainer.global_step

        def on_train_batch_end(self, trainer: Any, *rest: Any, **named: Any) -> None:
            if trainer.global_step > self._steps:  # not each batch: gradients may be accumulated
                self._steps = trainer.global_step
                watch.step()

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            watch.close()

    return LightningWatch()
