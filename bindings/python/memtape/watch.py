# SPDX-License-Identifier: Apache-2.0
"""memtape.Watch: a prediction beside what the device measures, one line in the log after the third step.

    trainer = Trainer(..., callbacks=[memtape.Watch()])          # transformers, trl

    watch = memtape.Watch(memtape.train(model.config, micro_batch_size=4, precision="amp-bf16"))
    for batch in batches:                                        # a plain loop, accelerate, Lightning's hooks
        ...
        watch.step()
"""
import logging
from typing import Any, Callable, Optional

from ._answer import Answer
from ._error import Error

_LOG = logging.getLogger("memtape")
STEADY = 3  # the step whose peak is predicted: states are there, the caches are filled


def _gib(count: int) -> str:
    return f"{count / 2**30:.2f} GiB"


class Watch:
    """Compares the peak of the third step with the prediction.

    prediction: an answer of memtape.train; with Trainer it is made of the model and the arguments, and of `options`. log: called with
    each line. memory: what stands for torch.cuda.
    """

    def __init__(self, prediction: Optional[Answer] = None, log: Optional[Callable[[str], object]] = None, memory: Any = None,
                 **options: Any) -> None:
        self.prediction, self.options = prediction, options
        self.measured: Optional[int] = None  # bytes, torch.cuda.max_memory_allocated of the third step
        self.line: Optional[str] = None
        self._log = log or _LOG.warning
        self._memory, self._steps, self._warned = memory, 0, False

    def step(self) -> None:
        """Call it after each optimizer step of a loop of your own."""
        self._steps += 1
        if self._steps == 1:
            self._warn_of_limit()
        if self._steps == STEADY - 1:
            self._cuda().reset_peak_memory_stats()
        if self._steps == STEADY:
            self.measured = int(self._cuda().max_memory_allocated())
            self._say(self.measured)

    # transformers' TrainerCallback, by its names: any object with them is one.
    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> Any:
        if self.prediction is None and model is not None:
            try:
                self.prediction = self._predicted(model, args)
            except Error as error:
                self._log(f"memtape: not predicted: {error}")
        self._warn_of_limit()
        return control

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        self.step()
        return control

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("on_"):  # the events that do not matter here: Trainer hands over its control as the third
            return lambda *args, **kwargs: args[2] if len(args) == 3 else None
        raise AttributeError(name)

    # Lightning's Callback.
    def on_train_batch_end(self, *args: Any, **kwargs: Any) -> None:
        self.step()

    def setup(self, *args: Any, **kwargs: Any) -> None:
        """Nothing to set up."""

    teardown = setup

    def state_dict(self) -> dict[str, Any]:
        """Nothing to keep in a checkpoint."""
        return {}

    def load_state_dict(self, state: Any) -> None:
        """Nothing was kept."""

    @property
    def state_key(self) -> str:
        return "memtape.Watch"

    def _predicted(self, model: Any, args: Any) -> Answer:
        from ._requests import answered, request_of

        held = [args]
        if hasattr(model, "peft_config"):
            held.append(next(iter(model.peft_config.values())))
            model = model.get_base_model()
        options = dict(self.options)
        releases = options.pop("releases", None)
        return answered(request_of("train", model, held, None, None, releases, options))

    def _cuda(self) -> Any:
        if self._memory is None:
            import torch

            self._memory = torch.cuda
        return self._memory

    def _warn_of_limit(self) -> None:
        if self.prediction is None or self._warned:
            return
        self._warned = True
        try:
            total = self._cuda().mem_get_info()[1]
        except Exception:  # no device: there is nothing to exceed
            return
        if self.prediction.peak > total:
            self._log(f"memtape: a step needs {_gib(self.prediction.peak)}, the GPU has {_gib(total)}")

    def _say(self, measured: int) -> None:
        told = f"memtape: step {self._steps} took {_gib(measured)}"
        if self.prediction is not None:
            predicted = max(rank["peak_allocated_bytes"] for rank in self.prediction.raw["ranks"])
            off = measured - predicted
            exact = "to the byte" if off == 0 else f"{off:+,} bytes, {off / max(predicted, 1):+.1%}"
            told += f", predicted {_gib(predicted)} ({exact})"
        self.line = told
        self._log(told)
