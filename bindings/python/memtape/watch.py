# SPDX-License-Identifier: Apache-2.0
"""memtape.Watch: a prediction beside what the device measures, one line in the log after the third step, and a warning before a
step that would not fit.

    trainer = Trainer(..., callbacks=[memtape.Watch()])                 # transformers, trl
    trainer = lightning.Trainer(..., callbacks=[memtape.Watch(optimizer="adamw").lightning()])

    watch = memtape.Watch(model, optimizer, precision="amp-bf16")       # a plain loop; accelerate: Watch(model, optimizer, accelerator)
    for batch in batches:
        ...
        optimizer.step()
        watch.step()
"""
import logging
import os
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from ._answer import RankAnswer

Shape = Tuple[int, int]

STEADY = 3  # the step whose peak is predicted: states are there, the caches are filled
_LOG = logging.getLogger("memtape")
_SECONDS_FOR_LENGTHS = 1.0


def _gib(count: int) -> str:
    return f"{count / 2**30:.2f} GiB"


def _shape_of(values: Tuple[Any, ...], named: Dict[str, Any]) -> Optional[Shape]:
    """(sequences, tokens) of a forward pass: of input_ids, else of the first argument with two dimensions."""
    for value in (named.get("input_ids"), named.get("inputs_embeds"), *values, *named.values()):
        shape = getattr(value, "shape", None)
        if shape is not None and len(shape) >= 2:
            return int(shape[0]), int(shape[1])
    return None


class Watch:
    """Compares the peak of the third step with the prediction.

    model, optimizer, accelerator: what the loop has; Trainer hands its own over. options: those of memtape.train, which go before
    what is seen of the loop. prediction: an answer, in place of predicting; it may also stand for the model. log: called with each line (default: a warning of the
    logger "memtape"). The peak of torch.cuda's statistics is reset once, after the second step.
    """

    def __init__(self, model: Any = None, optimizer: Any = None, accelerator: Any = None, *, prediction: Optional[RankAnswer] = None,
                 log: Optional[Callable[[str], None]] = None, memory: Any = None, **options: Any) -> None:
        if isinstance(model, RankAnswer):  # Watch(memtape.train(...)), where the loop's model is out of reach
            model, prediction = None, model
        self.prediction, self.line = prediction, ""
        self.measured: Optional[int] = None  # bytes
        self._log = log or _LOG.warning
        self._memory, self._steps = memory, 0
        self._held: List[Any] = [] if optimizer is None or isinstance(optimizer, str) else [optimizer]
        self._options = dict(options, **({"optimizer": optimizer} if isinstance(optimizer, str) else {}))
        self._model: Any = None
        self._hook: Any = None
        self._passes: List[Shape] = []  # forward passes since the last step
        self._largest = 0  # tokens of the largest pass that was judged
        self._silent = False
        if accelerator is not None:
            mixed = str(getattr(accelerator, "mixed_precision", "no"))
            if mixed in ("bf16", "fp16"):
                self._options.setdefault("precision", f"amp-{mixed}")
        if model is not None:
            self._attach(model)
        if prediction is not None:
            self._warn(prediction, "")

    # A plain loop.
    def step(self) -> None:
        """Call it after each optimizer step."""
        self._steps += 1
        if self._steps == STEADY - 1:
            self._device().reset_peak_memory_stats()
        if self._steps == STEADY:
            self.measured = int(self._device().max_memory_allocated())
            if self.prediction is None and self._passes:
                self.prediction = self._predicted(max(self._passes, key=lambda shape: shape[0] * shape[1]), len(self._passes))
            elif self.prediction is None and self._model is not None and self._hook is None:
                self.prediction = self._predicted(None, 1)
            self._say()
        self._passes = []

    def close(self) -> None:
        """Takes the hook off the model again."""
        if self._hook is not None:
            self._hook.remove()
            self._hook = None

    # transformers' TrainerCallback, by its names: any object with them is one.
    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, train_dataloader: Any = None, **kwargs: Any) -> Any:
        self._held.insert(0, args)
        if model is not None and self._hook is None:
            self._attach(model)
        longest, seen = _longest(getattr(train_dataloader, "dataset", None))
        if longest and self._model is not None:
            batch = int(getattr(args, "per_device_train_batch_size", 1))
            self._judge((batch, min(longest, int(getattr(args, "max_length", None) or longest))), f"of the longest of {seen} examples, ")
        elif self._model is not None and self._hook is None:  # what it is called with is not seen: by the options alone
            self._judge(None, "")
        return control

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        self.step()
        return control

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        self.close()
        return control

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_"):  # the events of Trainer that do not matter here
            return lambda args, state, control, **kwargs: control
        raise AttributeError(name)

    def lightning(self) -> Any:
        """The same as a callback of Lightning, whose callbacks have a class of their own."""
        from ._lightning import callback

        return callback(self)

    def _attach(self, model: Any) -> None:
        self._model = model
        if hasattr(model, "register_forward_pre_hook"):
            self._hook = model.register_forward_pre_hook(self._before, with_kwargs=True)

    def _before(self, module: Any, values: Tuple[Any, ...], named: Dict[str, Any]) -> None:
        """Before each forward pass: a larger one than ever before is predicted first."""
        shape = _shape_of(values, named) if getattr(module, "training", True) else None
        if shape is None:
            return
        self._passes.append(shape)
        if shape[0] * shape[1] > self._largest:
            self._judge(shape, "")

    def _judge(self, shape: Optional[Shape], which: str) -> None:
        if shape is not None:
            self._largest = max(self._largest, shape[0] * shape[1])
            which += f"{shape[0]} x {shape[1]} tokens, "
        answer = self._predicted(shape, 1) if self._total() else None
        if answer is not None:
            self._warn(answer, which)

    def _warn(self, answer: RankAnswer, which: str) -> None:
        total = self._total()
        if total and answer.peak > total:
            self._log(f"memtape: a step {which}needs {_gib(answer.peak)}, the GPU has {_gib(total)}")

    def _predicted(self, shape: Optional[Shape], passes: int) -> Optional[RankAnswer]:
        """None where it cannot be predicted, which is said once: a run goes on without."""
        from .functions import train

        if self._silent:
            return None
        trainer = any(hasattr(held, "per_device_train_batch_size") for held in self._held)
        seen: Dict[str, Any] = {}
        if shape is not None:
            seen = {"sequence_length": shape[1], "per_device_train_batch_size" if trainer else "micro_batch_size": shape[0]}
        if passes > 1 and not trainer:
            seen["gradient_accumulation"] = passes
        seen.update(self._card())
        try:
            answer: RankAnswer = train(self._model, *self._held, **{**seen, **self._options})
            return answer
        except Exception as problem:  # whatever it is, it must not end a training
            self._silent = True
            self._log(f"memtape: not predicted: {problem}")
            return None

    def _card(self) -> Dict[str, str]:
        """The GPU by its name, where it is in the catalog: kernels and workspaces depend on it."""
        if "gpu" in self._options:
            return {}
        from .functions import gpus

        try:
            name = self._device().get_device_name()
        except Exception:  # no device
            return {}
        return next(({"gpu": gpu.id} for gpu in gpus().gpus if gpu.name == name), {})

    def _device(self) -> Any:
        if self._memory is None:
            import importlib

            self._memory = importlib.import_module("torch").cuda
        return self._memory

    def _total(self) -> int:
        try:
            return int(self._device().mem_get_info()[1])
        except Exception:  # no device: there is nothing to exceed
            return 0

    def _say(self) -> None:
        measured = self.measured or 0
        told = f"memtape: step {self._steps} took {_gib(measured)}"
        if self.prediction is not None:
            predicted = _allocated(self.prediction)
            off = measured - predicted
            exact = "to the byte" if off == 0 else f"{off:+,} bytes, {off / max(predicted, 1):+.1%}"
            told += f", predicted {_gib(predicted)} ({exact})"
        self.line = told
        self._log(told)


def _allocated(prediction: RankAnswer) -> int:
    """Peak of the allocated bytes of this process's rank."""
    rank = int(os.environ.get("RANK", "0") or 0)
    mine = [group for group in prediction.ranks if rank in group.ranks] or [prediction._fullest()]
    return int(mine[0].peak_allocated_bytes)


def _longest(dataset: Any) -> Tuple[int, int]:
    """Tokens of the longest example, and of how many: as many as can be read in a second."""
    if dataset is None or not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
        return 0, 0
    longest, seen, until = 0, 0, time.monotonic() + _SECONDS_FOR_LENGTHS
    for at in range(len(dataset)):
        example = dataset[at]
        if not hasattr(example, "get") or example.get("input_ids") is None:
            return 0, 0
        longest, seen = max(longest, len(example["input_ids"])), seen + 1
        if time.monotonic() > until:
            break
    return longest, seen
