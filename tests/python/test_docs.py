# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/python.md are run: those with answers as they are, the others among stand-ins of what they hold."""
import dataclasses
import doctest
import pathlib
import re
import sys
import types
import unittest
from unittest import mock

import memtape
import test_held
from test_held import EngineArgs, LlamaConfig, LoraConfig, Memory
from test_watch import FusedAdamW, Model, Tensor

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"


@dataclasses.dataclass
class TrainingArguments(test_held.TrainingArguments):
    use_cpu: bool = False

    def __post_init__(self):
        if self.bf16 and not self.use_cpu:  # as transformers does on a machine without a GPU
            raise ValueError("Your setup doesn't support bf16/gpu.")


class BitsAndBytesConfig:
    def __init__(self, **fields):
        self.fields = fields

    def to_dict(self):
        return {"quant_method": "bitsandbytes", **self.fields}


class Callback:
    """lightning.pytorch.Callback"""


class OutOfMemoryError(RuntimeError):
    pass


def out_of_memory():
    raise OutOfMemoryError(test_held.Explains.MESSAGE)


def surroundings():
    """What the examples find: a model, a loader, and the names that they would import."""
    torch = types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError, cuda=Memory(2**30, 2**40),
                                  optim=types.SimpleNamespace(AdamW=lambda parameters: FusedAdamW()))
    lightning = types.SimpleNamespace(Trainer=mock.Mock(), pytorch=types.SimpleNamespace(Callback=Callback))
    optimizer = FusedAdamW()
    optimizer.step = lambda: None
    names = {"memtape": memtape, "torch": torch, "lightning": lightning, "model": Model(), "optimizer": optimizer, "step": out_of_memory,
             "module": types.SimpleNamespace(parameters=lambda: [], buffers=lambda: []), "Trainer": mock.Mock(),
             "accelerator": types.SimpleNamespace(mixed_precision="bf16"), "batches": [Tensor(1, 8)], "pytest": mock.Mock(),
             "AutoConfig": types.SimpleNamespace(from_pretrained=lambda name: LlamaConfig()), "TrainingArguments": TrainingArguments,
             "LoraConfig": LoraConfig, "BitsAndBytesConfig": BitsAndBytesConfig, "EngineArgs": EngineArgs}
    return names, {"torch": torch, "lightning": lightning, "lightning.pytorch": lightning.pytorch}


class Docs(unittest.TestCase):
    def test_examples(self):
        names, count = {}, 0
        others, modules = surroundings()
        for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S):
            if ">>>" not in block:
                with mock.patch.dict(sys.modules, modules), mock.patch("builtins.print"):
                    exec(compile(block, str(PAGE), "exec"), others)
                continue
            example = doctest.DocTestParser().get_doctest(block, names, "docs/python.md", str(PAGE), 0)
            runner = doctest.DocTestRunner(verbose=False)
            runner.run(example, clear_globs=False)
            names = example.globs
            self.assertEqual(runner.failures, 0)
            count += len(example.examples)
        self.assertGreater(count, 5)


if __name__ == "__main__":
    unittest.main()
