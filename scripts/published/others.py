# SPDX-License-Identifier: Apache-2.0
"""Sources of few rows."""
import json

from .row import NotAnswerable, NotModelled, Plan, base_model, gpu, need

MODELS = [("Llama-2-7b", "meta-llama/Llama-2-7b-hf"), ("Meta-Llama-3-70B", "meta-llama/Meta-Llama-3-70B"), ("Qwen3-30B-A3B", "Qwen/Qwen3-30B-A3B")]


def megatron(row):
    """Log lines and documents of others; what Megatron-LM's own CI wrote down has a page of its own."""
    need(row, "micro_batch", "seq_len", "num_gpus")
    parallel = row["parallel"]
    if "zero-bubble" in row["id"]:
        raise NotModelled("zero-bubble schedules of the Megatron fork")
    if "offload" in row["id"] or "offload" in str(row["offload"] or "none").replace("none", ""):
        raise NotModelled("fine-grained offloading of a model whose recipe the document does not have")
    if "MiB" == row["unit"] and "nvidia-smi" in row["metric"]:
        raise NotAnswerable("the launch command")
    if (parallel["ep"] or 1) > 1:
        raise NotAnswerable("the launch command, and how tokens are routed")
    strategy = {"micro_batches": max(1, (row["global_batch"] or row["micro_batch"]) // (row["micro_batch"] * (parallel["dp"] or 1)))}
    layers = []
    if row["model_dims"] and "llama" not in row["model"].lower():
        raise NotAnswerable("the launch command")
    args = ["train", base_model(row, MODELS), "--framework", "megatron-core", "--gpus", str(row["num_gpus"]), "--precision", "bf16",
            "--micro-batch-size", str(row["micro_batch"]), "--sequence-length", str(row["seq_len"]), *gpu(row), *layers]
    for key in ("tp", "pp", "cp"):
        if (parallel[key] or 1) > 1:
            args += [f"--{key}", str(parallel[key])]
    args += ["--gradient-accumulation", str(strategy["micro_batches"])]
    if "distributed optimizer" not in (row["optimizer"] or ""):
        raise NotAnswerable("whether the optimizer is distributed")
    args += ["--zero", "1"]
    return Plan(args, "peak_allocated_bytes", "max", kinds=("command",))


def bridge(row):
    if row["kind"] == "oom" or "emotron" in row["model"]:
        raise NotModelled("Megatron-Bridge's recipes of hybrid models")
    if "FP8" in (row["precision"] or ""):
        raise NotModelled("recipes of Megatron-Bridge in fp8")
    raise NotModelled("recipes of Megatron-Bridge by name")


def llmc(row):
    if "pytorch" in row["id"]:
        raise NotAnswerable("what was counted")
    raise NotModelled("llm.c, which is not PyTorch")


def nothing(row):
    need(row, "micro_batch", "seq_len")
    raise NotModelled(f"{row['framework']}")


def deepspeed(row):
    need(row, "micro_batch", "seq_len")
    raise NotAnswerable("the program")
