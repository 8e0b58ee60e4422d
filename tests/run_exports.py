#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `memtape plan --export` writes is read back by `memtape -- bash run.sh` and answers the plan's bytes: drawn plans.

    run_exports.py PROGRAM [--count N] [--seed N]
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

MODELS = ["meta-llama/Llama-3.1-8B", "Qwen/Qwen3-0.6B", "Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B", "mistralai/Mistral-7B-v0.1", "meta-llama/Llama-3.1-70B",
          "Qwen/Qwen2.5-7B", "deepseek-ai/DeepSeek-V3", "openai-community/gpt2"]
TRAINERS = ["megatron-core", "torchtitan", "fsdp2", "fsdp1", "deepspeed", "ddp", "transformers", "torch"]
SERVED = ["Qwen/Qwen3-8B", "meta-llama/Llama-3.1-70B", "Qwen/Qwen3-30B-A3B", "Qwen/Qwen2.5-7B"]
GPUS = ["h100-80gb", "a100-80gb", "a100-40gb", "rtx-4090", "h200-141gb", "b200-180gb", "l40s-48gb"]
FURTHER = [[], [], [], ["--optimizer", "adam"], ["--max-grad-norm", "2"], ["--attention", "flash"], ["--top", "3"]]


def training(draw):
    framework = draw.choice(TRAINERS)
    gpus = 1 if framework == "torch" else draw.choice([1, 2, 4, 8, 16, 64] if framework in ("transformers", "deepspeed") else [2, 8, 16, 64])
    batch = gpus * draw.choice([2, 4, 8])
    words = ["plan", "train", draw.choice(MODELS), "--gpu", draw.choice(GPUS), "--gpus", str(gpus), "--framework", framework,
             "--global-batch-size", str(batch), "--sequence-length", str(draw.choice([512, 1024, 4096]))]
    if framework in ("fsdp2", "ddp", "torch", "fsdp1"):
        words += draw.choice(FURTHER)
    return words


def serving(draw):
    gpu = draw.choice(GPUS)
    words = ["plan", "serve", draw.choice(SERVED), "--available", f"8x{gpu}", "--users", str(draw.choice([1, 10, 60])), "--context",
             draw.choice(["2k", "8000", "16k"]), "--output", "500", "--engine", draw.choice(["vllm", "sglang"])]
    return words + draw.choice([[], [], ["--allow-quantize", "fp8"]])


def asked(program, words):
    done = subprocess.run([program, *words], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return None, done.stderr.strip()
    return json.loads(done.stdout), ""


def fullest(answer):
    return max(rank["peak_device_bytes"] for rank in answer["ranks"])


def of_gpu(words, plan):
    if words[1] == "train":
        return ["--gpu", words[words.index("--gpu") + 1]]
    return ["--gpu", plan["layout"]["gpu"]]


def check(program, words, draw, folder):
    """"" where the bytes agree; None where there is no such plan."""
    out = pathlib.Path(folder) / "plan"
    first, why = asked(program, [*words, "--json"])
    if first is None or not first["plans"]:
        return None
    number = draw.randrange(len(first["plans"])) + 1
    answer, why = asked(program, [*words, "--json", "--plan", str(number), "--export", str(out)])
    if answer is None:
        # A model that the program has no name for is refused, in one line.
        return None if "has no flavor" in why else why
    plan = answer["plans"][number - 1]
    read, why = asked(program, [*of_gpu(words, plan), "--json", "--", "bash", str(out / "run.sh")])
    if read is None:
        return why
    found, right = fullest(read), plan["peak_device_bytes"]
    return "" if found == right else f"run.sh answers {found}, the plan {right}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    program = str(pathlib.Path(options.program).resolve())
    failed, agreed = 0, 0
    for _ in range(options.count):
        words = training(draw) if draw.random() < 0.75 else serving(draw)
        with tempfile.TemporaryDirectory() as folder:
            wrong = check(program, words, draw, folder)
        if wrong:
            failed += 1
            print(f"{' '.join(words)}: {wrong}")
        agreed += wrong == ""
    print(f"{agreed} of {options.count} drawn plans were written and read back to their bytes, {failed} were not; the others fit nowhere")
    if agreed * 3 < options.count:
        failed += 1
        print("too few plans to tell")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
