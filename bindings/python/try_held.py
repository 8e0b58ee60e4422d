#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Objects that people hold, the real ones: run by a Python that has torch, transformers and peft, and a memtape (installed, or
PYTHONPATH, MEMTAPE_LIBRARY and MEMTAPE_PROGRAM). tests/python/test_held.py does the same with stand-ins, which need nothing.

  try_held.py      a line for each; the last is 'N passed, M failed'
"""
import sys
import tempfile
import warnings

import memtape

warnings.filterwarnings("ignore")

import peft  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

SIZES = dict(hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=1000,
             max_position_embeddings=512)
ON = dict(gpu="l4", sequence_length=128)


def config():
    return transformers.AutoConfig.for_model("llama", **SIZES)


def model(dtype=torch.float32):
    with torch.device("meta"):
        return transformers.AutoModelForCausalLM.from_config(config(), torch_dtype=dtype)


def arguments(**more):
    folder = tempfile.mkdtemp()
    return transformers.TrainingArguments(output_dir=folder, per_device_train_batch_size=2, report_to=[], use_cpu=True, optim="adamw_torch",
                                          **more)


def same(answer, other):
    assert answer.json == other.json, f"{answer.peak} and {other.peak}"


def a_configuration():
    same(memtape.train(config(), **ON), memtape.train("config", config=config().to_json_string(), **ON))
    releases = memtape.train(config(), **ON).workload["releases"]
    assert releases["torch"] == torch.__version__.split("+")[0] and releases["transformers"] == transformers.__version__, releases


def a_model_on_meta():
    for dtype in (torch.float32, torch.bfloat16):
        answer, counted = memtape.train(model(dtype), **ON), memtape.weights(model(dtype))
        rank = answer.ranks[0]
        predicted = answer.model.parameters, rank.parameter_bytes, rank.buffer_bytes
        assert predicted == (counted.parameters, counted.parameter_bytes, counted.buffer_bytes), (predicted, counted)


def frozen_parameters():
    held = model()
    for tensor in held.model.embed_tokens.parameters():
        tensor.requires_grad = False
    assert memtape.train(held, **ON).model.trainable_parameters * 4 == memtape.weights(held).trainable_bytes


def training_arguments():
    held = memtape.train(config(), arguments(gradient_checkpointing=True), **ON)
    same(held, memtape.train(config(), framework="transformers", per_device_train_batch_size=2, optim="adamw_torch",
                             gradient_checkpointing=True, dataloader_pin_memory=False, **ON))
    assert held.workload["gradient_checkpointing"] != memtape.train(config(), arguments(), **ON).workload["gradient_checkpointing"]


def adapters():
    lora = peft.LoraConfig(r=8, target_modules="all-linear", task_type="CAUSAL_LM")
    adapted = peft.get_peft_model(model(), lora)
    counted = sum(tensor.numel() for tensor in adapted.parameters() if tensor.requires_grad)
    assert memtape.train(config(), arguments(), lora, **ON).model.trainable_parameters == counted
    assert memtape.train(adapted, **ON).model.trainable_parameters == counted


def a_quantized_base():
    try:
        four = transformers.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
    except Exception as missing:  # older ones look for bitsandbytes here
        return f"left out: {missing}"
    plain = memtape.train(config(), framework="transformers", lora_rank=8, **ON)
    assert memtape.train(config(), four, lora_rank=8, framework="transformers", **ON).model.weight_bytes < plain.model.weight_bytes


def an_optimizer():
    held = model()
    for made, said in ((torch.optim.AdamW(held.parameters(), foreach=True), dict(optimizer="adamw", optimizer_impl="foreach")),
                       (torch.optim.SGD(held.parameters(), lr=0.1, momentum=0.9, foreach=False),
                        dict(optimizer="sgd-momentum", optimizer_impl="for-loop"))):
        same(memtape.train(held, made, **ON), memtape.train(held, **said, **ON))


def deepspeed():
    stage = {"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": True}}
    assert memtape.train(model(), stage, gpus=2, **ON).workload["framework"] == "deepspeed"
    auto = {"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto"}
    assert memtape.train(model(), auto, arguments(), gpus=2, **ON).workload["framework"] == "transformers"


def a_watched_loop():
    held, lines = transformers.AutoModelForCausalLM.from_config(config()), []

    class Device:
        reset_peak_memory_stats = staticmethod(lambda: None)
        max_memory_allocated = staticmethod(lambda: 2**30)
        mem_get_info = staticmethod(lambda: (2**40, 2**40))

    optimizer = torch.optim.SGD(held.parameters(), lr=0.1)
    watch = memtape.Watch(held, optimizer, log=lines.append, memory=Device)
    for _ in range(3):
        tokens = torch.ones(2, 64, dtype=torch.long)
        held(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        watch.step()
    assert len(lines) == 1 and watch.prediction.workload["sequence_length"] == 64, lines


def a_watched_trainer():
    held, lines = transformers.AutoModelForCausalLM.from_config(config()), []
    device = type("Device", (), {"reset_peak_memory_stats": staticmethod(lambda: None), "max_memory_allocated": staticmethod(lambda: 2**30),
                                 "mem_get_info": staticmethod(lambda: (2**20, 2**20))})
    data = [{"input_ids": [1] * 32, "labels": [1] * 32} for _ in range(8)]
    trainer = transformers.Trainer(model=held, args=arguments(max_steps=4, disable_tqdm=True), train_dataset=data,
                                   callbacks=[memtape.Watch(log=lines.append, memory=device)])
    trainer.train()
    assert "of the longest of 8 examples, 2 x 32 tokens" in lines[0] and "step 3 took 1.00 GiB, predicted" in lines[-1], lines


def main():
    print(f"torch {torch.__version__}, transformers {transformers.__version__}, peft {peft.__version__}")
    failed, tried = 0, [a_configuration, a_model_on_meta, frozen_parameters, training_arguments, adapters, a_quantized_base, an_optimizer,
                        deepspeed, a_watched_loop, a_watched_trainer]
    for one in tried:
        try:
            print(one.__name__.replace("_", " "), one() or "passed")
        except Exception as problem:
            failed += 1
            print(one.__name__.replace("_", " "), "FAILED", type(problem).__name__, str(problem)[:600])
    print(f"{len(tried) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
