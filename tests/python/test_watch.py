# SPDX-License-Identifier: Apache-2.0
"""memtape.Watch on loops: a model that is called through its hooks, a device that counts."""
import types
import unittest

import memtape
from test_held import LlamaConfig, Memory, TrainingArguments


class Tensor:
    requires_grad, dtype = True, "torch.bfloat16"

    def __init__(self, *shape):
        self.shape = shape


class Model:
    """As much of an nn.Module as is looked at."""

    config, training = LlamaConfig(), True

    def __init__(self):
        self.hooks = []

    def parameters(self):
        return iter([Tensor(2)])

    def named_parameters(self):
        return iter([("weight", Tensor(2))])

    def register_forward_pre_hook(self, hook, with_kwargs):
        self.hooks.append(hook)
        return types.SimpleNamespace(remove=lambda: self.hooks.remove(hook))

    def __call__(self, **named):
        for hook in self.hooks:
            hook(self, (), named)


class AdamW:
    """torch.optim.AdamW, by its base class."""

    param_groups = [{"fused": True, "foreach": None}]


class Optimizer:
    pass


class FusedAdamW(AdamW, Optimizer):
    pass


FusedAdamW.__name__ = "AdamW"


def predicted(**options):
    return memtape.train("mine", config=LlamaConfig().to_dict(), precision="bf16", releases="newest", **options)


class Loops(unittest.TestCase):
    def setUp(self):
        self.lines, self.model = [], Model()

    def test_the_shape_of_the_third_step_is_what_is_predicted(self):
        peak = predicted(micro_batch_size=4, sequence_length=128, optimizer="adamw", optimizer_impl="fused",
                         gradient_accumulation=2).ranks[0].peak_allocated_bytes
        watch = memtape.Watch(self.model, FusedAdamW(), log=self.lines.append, memory=Memory(peak, 2**40), releases="newest")
        for _ in range(4):
            for _ in range(2):
                self.model(input_ids=Tensor(4, 128))
            watch.step()
        self.assertEqual(len(self.lines), 1)
        self.assertIn("(to the byte)", self.lines[0])
        self.assertEqual(watch.measured, peak)

    def test_a_batch_that_would_not_fit_is_warned_of_before_it_runs(self):
        small, large = (predicted(micro_batch_size=1, sequence_length=length, gpu="l4") for length in (64, 512))
        total = (small.peak + large.peak) // 2
        watch = memtape.Watch(self.model, log=self.lines.append, memory=Memory(0, total), releases="newest", gpu="l4")
        self.model(input_ids=Tensor(1, 64))
        self.assertEqual(self.lines, [])
        self.model(input_ids=Tensor(1, 512))
        self.assertRegex(self.lines[0], r"a step 1 x 512 tokens, needs [\d.]+ GiB, the GPU has")
        self.model(input_ids=Tensor(1, 512))
        self.model.training = False
        self.model(input_ids=Tensor(1, 4096))
        self.assertEqual(len(self.lines), 1)
        watch.close()
        self.assertEqual(self.model.hooks, [])

    def test_trainer_looks_for_the_longest_example_ahead(self):
        data = [{"input_ids": [1] * count} for count in (10, 400, 20)]
        watch = memtape.Watch(log=self.lines.append, memory=Memory(0, 2**20), releases="newest")
        watch.on_train_begin(TrainingArguments(per_device_train_batch_size=2), None, None, model=self.model,
                             train_dataloader=types.SimpleNamespace(dataset=data))
        self.assertIn("a step of the longest of 3 examples, 2 x 400 tokens, needs", self.lines[0])
        watch.on_train_end(None, None, None)
        self.assertEqual(self.model.hooks, [])

    def test_accelerate_says_its_precision(self):
        accelerator = types.SimpleNamespace(mixed_precision="bf16")
        watch = memtape.Watch(self.model, "sgd", accelerator, log=self.lines.append, memory=Memory(2**30, 2**40), releases="newest")
        for _ in range(3):
            self.model(input_ids=Tensor(1, 64))
            watch.step()
        self.assertEqual(watch.prediction.workload["precision"], "amp-bf16")
        self.assertEqual(watch.prediction.workload["optimizer"], "sgd")

    def test_what_cannot_be_predicted_is_said_once_and_ends_nothing(self):
        self.model.config = types.SimpleNamespace(to_dict=lambda: {"model_type": "of-tomorrow"})
        watch = memtape.Watch(self.model, log=self.lines.append, memory=Memory(2**30, 2**40), releases="newest")
        for length in (8, 16, 32):
            self.model(input_ids=Tensor(1, length))
            watch.step()
        self.assertEqual(len(self.lines), 2)
        self.assertIn("not predicted", self.lines[0])
        self.assertIn("step 3 took 1.00 GiB", self.lines[1])


class Lightning(unittest.TestCase):
    def test_without_it(self):
        try:
            import lightning  # noqa: F401
        except ImportError:
            with self.assertRaisesRegex(memtape.Error, "pip install lightning"):
                memtape.Watch().lightning()


if __name__ == "__main__":
    unittest.main()
