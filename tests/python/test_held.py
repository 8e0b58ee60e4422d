# SPDX-License-Identifier: Apache-2.0
"""Objects that people hold: stand-ins with the names and the fields that the package looks at. bindings/python/try_held.py does
the same with the real ones."""
import dataclasses
import enum
import logging
import tempfile
import types
import unittest
from typing import Any, Dict, List, Optional

import memtape
from memtape._units import bytes_of

LLAMA = dict(model_type="llama", hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=4, vocab_size=1024, max_position_embeddings=512, tie_word_embeddings=False)


class PretrainedConfig:
    _name_or_path = "my/model"

    def to_dict(self):
        return dict(LLAMA)


class LlamaConfig(PretrainedConfig):
    pass


class PeftType(str, enum.Enum):
    LORA = "LORA"


@dataclasses.dataclass
class LoraConfig:
    r: int = 8
    target_modules: Any = None
    lora_dropout: float = 0.0

    def to_dict(self):
        return {"peft_type": PeftType.LORA, "r": self.r, "target_modules": self.target_modules, "lora_dropout": self.lora_dropout}


@dataclasses.dataclass
class TrainingArguments:
    output_dir: Optional[str] = None
    per_device_train_batch_size: int = 8
    bf16: bool = False
    gradient_checkpointing: bool = False
    fsdp: List[str] = dataclasses.field(default_factory=list)
    learning_rate: float = 5e-5
    accelerator_config: Optional[Dict[str, Any]] = None


@dataclasses.dataclass
class EngineArgs:
    model: str = "facebook/opt-125m"
    max_model_len: Optional[int] = None
    gpu_memory_utilization: float = 0.9


class Held(unittest.TestCase):
    def test_what_post_init_fills_in_is_not_handed_on(self):
        @dataclasses.dataclass
        class Arguments:
            fsdp: List[str] = dataclasses.field(default_factory=list)
            fsdp_config: Any = None
            activation_checkpointing: Any = None
            gradient_checkpointing: Any = None
            optim: str = "adamw_torch"

        Arguments.__name__ = "TrainingArguments"
        held = memtape.train("Qwen/Qwen3-0.6B", Arguments(fsdp_config={"min_num_params": 0}, activation_checkpointing=True,
                                                          gradient_checkpointing=True), releases="newest")
        self.assertEqual(held.json, memtape.train("Qwen/Qwen3-0.6B", framework="transformers", optim="adamw_torch",
                                                  gradient_checkpointing=True, releases="newest").json)

    def test_an_adapter_as_peft_saves_it(self):
        peft = {"peft_type": "LORA", "r": 8, "target_modules": "all-linear", "megatron_config": None, "megatron_core": "megatron.core"}
        self.assertGreater(memtape.train("Qwen/Qwen3-0.6B", peft=peft, framework="transformers").model.trainable_parameters, 0)

    def test_a_model_says_its_dtype_and_what_is_frozen(self):
        def named(grad, dtype="torch.float16"):
            return types.SimpleNamespace(requires_grad=grad, dtype=dtype)

        names = [("model.embed_tokens.weight", named(False)), ("lm_head.weight", named(True))]
        model = types.SimpleNamespace(config=LlamaConfig(), named_parameters=lambda: iter(names),
                                      parameters=lambda: iter(tensor for _, tensor in names))
        held = memtape.train(model, sequence_length=64, releases="newest")
        typed = memtape.train("my/model", config=LLAMA, precision="fp16", freeze="model.embed_tokens.weight", sequence_length=64,
                              releases="newest")
        self.assertEqual(held.json, typed.json)

    def test_a_module_without_a_configuration(self):
        with self.assertRaisesRegex(memtape.Error, "memtape run"):
            memtape.train(types.SimpleNamespace(parameters=lambda: iter(())))

    def test_a_configuration_and_a_model_that_has_one(self):
        by_config = memtape.train(LlamaConfig(), sequence_length=64, releases="newest")
        self.assertEqual(by_config.model.family, "llama")
        model = types.SimpleNamespace(config=LlamaConfig())
        self.assertEqual(memtape.train(model, sequence_length=64, releases="newest").peak, by_config.peak)

    def test_training_arguments_and_an_adapter(self):
        held = memtape.train("Qwen/Qwen3-0.6B", TrainingArguments(output_dir="/x", per_device_train_batch_size=4, bf16=True,
                                                                   learning_rate=1e-3),
                             LoraConfig(r=16, target_modules={"q_proj", "v_proj"}), releases="newest")
        typed = memtape.train("Qwen/Qwen3-0.6B", framework="transformers", per_device_train_batch_size=4, bf16=True,
                              peft='{"peft_type": "LORA", "r": 16, "target_modules": ["q_proj", "v_proj"], "lora_dropout": 0.0}',
                              releases="newest")
        self.assertEqual(held.json, typed.json)

    def test_an_adapter_sets_the_adapters_and_nothing_else(self):
        held = memtape.train("Qwen/Qwen3-8B", LoraConfig(r=16, target_modules="all-linear"), gpu="a100-80gb", releases="newest")
        typed = memtape.train("Qwen/Qwen3-8B", lora_rank=16, lora_targets="all-linear", gpu="a100-80gb", releases="newest")
        self.assertEqual(held.json, typed.json)
        self.assertEqual((held.workload["framework"], held.workload["micro_batch_size"], held.workload["precision"]), ("torch", 1, "bf16"))

    def test_a_quantization_asks_for_the_framework_that_has_it(self):
        four = types.new_class("BitsAndBytesConfig")()
        four.to_dict = lambda: {"load_in_4bit": True}
        with self.assertRaisesRegex(memtape.Error, "framework transformers"):
            memtape.train("Qwen/Qwen3-0.6B", four, lora_rank=8, lora_targets="all-linear", releases="newest")
        said = memtape.train("Qwen/Qwen3-0.6B", four, lora_rank=8, framework="transformers", releases="newest")
        self.assertEqual(said.workload["framework"], "transformers")

    def test_a_model_with_quantized_weights_asks_for_it_too(self):
        config = LlamaConfig()
        config.quantization_config = {"quant_method": "bitsandbytes", "load_in_4bit": True}
        with self.assertRaisesRegex(memtape.Error, 'framework="transformers"'):
            memtape.train(types.SimpleNamespace(config=config), sequence_length=64, releases="newest")

    def test_what_was_taken_stands_in_the_first_line(self):
        answer = memtape.train("Qwen/Qwen3-0.6B", LoraConfig(target_modules="all-linear"), releases="newest")
        trainer = memtape.train("Qwen/Qwen3-0.6B", TrainingArguments(), releases="newest")
        for told, taken in ((answer, ("torch", "1 x 2048 tokens", "bf16")), (trainer, ("transformers", "8 x 2048 tokens", "bf16 weights"))):
            for line in (told.text().splitlines()[0], repr(told)):
                for word in taken:
                    self.assertIn(word, line)

    def test_a_keyword_goes_before_what_an_object_says(self):
        held = memtape.train("Qwen/Qwen3-0.6B", TrainingArguments(per_device_train_batch_size=4), per_device_train_batch_size=2,
                             releases="newest")
        self.assertEqual(held.json, memtape.train("Qwen/Qwen3-0.6B", framework="transformers", per_device_train_batch_size=2,
                                                  releases="newest").json)

    def test_engine_arguments(self):
        self.assertEqual(memtape.serve(EngineArgs("Qwen/Qwen3-8B", max_model_len=4096), gpu="l4", engine="vllm").json,
                         memtape.serve("Qwen/Qwen3-8B", max_model_len=4096, gpu="l4", engine="vllm").json)

    def test_a_deepspeed_dictionary(self):
        stage = {"zero_optimization": {"stage": 3}, "bf16": {"enabled": True}}
        self.assertEqual(memtape.train("Qwen/Qwen3-0.6B", stage, framework="deepspeed", gpus=2, releases="newest").command, "train")

    def test_weights_of_a_module(self):
        def tensor(count, size, grad=True):
            return types.SimpleNamespace(numel=lambda: count, element_size=lambda: size, requires_grad=grad)

        tied = tensor(100, 2)
        module = types.SimpleNamespace(parameters=lambda: [tied, tensor(10, 4, False), tied], buffers=lambda: [tensor(7, 8, False)])
        self.assertEqual(memtape.weights(module), (110, 240, 200, 56))


class Memory:
    def __init__(self, peak, total):
        self.peak, self.total, self.resets = peak, total, 0

    def reset_peak_memory_stats(self):
        self.resets += 1

    def max_memory_allocated(self):
        return self.peak

    def mem_get_info(self):
        return self.total, self.total


class Watching(unittest.TestCase):
    def test_a_plain_loop_says_one_line_after_the_third_step(self):
        answer = memtape.train("Qwen/Qwen3-0.6B", releases="newest")
        peak = answer.ranks[0].peak_allocated_bytes
        lines = []
        watch = memtape.Watch(answer, log=lines.append, memory=Memory(peak, 2**40))
        for _ in range(6):
            watch.step()
        self.assertEqual(len(lines), 1)
        self.assertIn("to the byte", lines[0])

    def test_trainer_is_predicted_and_warned(self):
        lines = []
        watch = memtape.Watch(log=lines.append, memory=Memory(2**30, 2**20), releases="newest")
        model = types.SimpleNamespace(config=LlamaConfig())
        control = object()
        self.assertIs(watch.on_train_begin(TrainingArguments(per_device_train_batch_size=2), None, control, model=model), control)
        self.assertEqual(len(lines), 1)
        self.assertIn("the GPU has 0.00 GiB", lines[0])
        for _ in range(3):
            self.assertIs(watch.on_step_end(None, None, control), control)
        self.assertIs(watch.on_log(None, None, control), control)
        self.assertEqual(len(lines), 2)


class Explains(unittest.TestCase):
    MESSAGE = ("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.02 GiB is free. "
               "Including non-PyTorch memory, this process has 22.61 GiB memory in use. Of the allocated memory 20.11 GiB is allocated "
               "by PyTorch, and 2.05 GiB is reserved by PyTorch but unallocated.")

    def test_an_exception_and_a_file(self):
        class OutOfMemoryError(RuntimeError):
            pass

        told = memtape.explain(OutOfMemoryError(self.MESSAGE))
        self.assertEqual(told.oom["requested_bytes"], 2 * 2**30)
        self.assertIn("asked for", told.text())
        with tempfile.NamedTemporaryFile("w", suffix=".log") as file:
            file.write("torch.OutOfMemoryError: " + self.MESSAGE)
            file.flush()
            self.assertEqual(memtape.explain(file.name).oom, told.oom)
            self.assertIn("asked for", memtape.explain(file.name).text())


class Budgets(unittest.TestCase):
    def test_limits_as_people_write_them(self):
        self.assertEqual([bytes_of(text) for text in ("22GiB", "24 GB", "512MiB", 7)], [22 * 2**30, 24 * 10**9, 512 * 2**20, 7])


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    unittest.main()
