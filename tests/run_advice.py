#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Advice that can be acted on: drawn trainings and servers that do not fit are asked for advice, and every command it gives is run as
a shell would run it. It has to answer with the bytes and the verdict that the advice states.

    run_advice.py PROGRAM [--count N] [--seed N] [--verbose]
"""
import argparse
import concurrent.futures
import json
import os
import random
import shlex
import subprocess
import sys

MODELS = ["Qwen/Qwen3-0.6B", "Qwen/Qwen3-1.7B", "meta-llama/Llama-3.2-3B", "Qwen/Qwen3-8B", "meta-llama/Llama-3.1-8B"]
GPUS = ["rtx-4090", "rtx-3060-12gb", "t4", "a100-40gb", "h100-80gb"]
LENGTHS, BATCHES = ["512", "1024", "2048", "4096", "8192"], ["1", "2", "3", "4", "8", "12", "16"]
TIMEOUT_SECONDS = 120
FEWEST_RUN = 3  # of ten commands, so many advices have to come


def maybe(draw, share, *words):
    return list(words) if draw.random() < share else []


def common(draw):
    return (maybe(draw, 0.5, "--attention", draw.choice(["eager", "sdpa"])) +
            maybe(draw, 0.3, "--gradient-checkpointing", draw.choice(["none", "full"])) +
            maybe(draw, 0.3, "--gradient-accumulation", draw.choice(["1", "2", "4"])) +
            maybe(draw, 0.3, "--optimizer-impl", draw.choice(["foreach", "for-loop"])))


def trainer(draw):
    words = ["--framework", "transformers"]
    words += draw.choice([[], ["--micro-batch-size", draw.choice(BATCHES)],
                          ["--per_device_train_batch_size", draw.choice(BATCHES)],
                          [f"--per_device_train_batch_size={draw.choice(BATCHES)}"]])
    words += draw.choice([[], ["--bf16"], ["--bf16", "true"], ["--precision", "bf16"], ["--fp16"]])
    words += maybe(draw, 0.3, "--gradient_checkpointing", draw.choice(["true", "false"]))
    words += maybe(draw, 0.3, "--optim", draw.choice(["adamw_torch", "adafactor", "sgd", "adamw_8bit"]))
    words += maybe(draw, 0.2, "--gpus", "2")
    words += maybe(draw, 0.2, "--peft", json.dumps({"r": 8, "target_modules": ["q_proj", "v_proj"]}))
    return words


def one_gpu(draw):
    return common(draw) + ["--micro-batch-size", draw.choice(BATCHES)] + maybe(draw, 0.4, "--precision", draw.choice(["bf16", "amp-bf16", "fp32"]))


def sharded(draw):
    framework = draw.choice(["ddp", "fsdp1", "fsdp2"])
    return one_gpu(draw) + ["--framework", framework, "--gpus", draw.choice(["2", "4", "8"])]


def deepspeed(draw):
    return one_gpu(draw) + ["--framework", "deepspeed", "--gpus", draw.choice(["2", "4"]), "--zero", draw.choice(["0", "1", "2", "3"])]


def tensor_parallel(draw):
    return (["--framework", "torch-tp", "--gpus", "2", "--max-grad-norm", "none", "--micro-batch-size", draw.choice(BATCHES)] +
            maybe(draw, 0.4, "--gradient-checkpointing", "none"))


def pipeline(draw):
    return (["--framework", "torch-pp", "--gpus", "4", "--global-batch-size", "48", "--micro-batch-size", draw.choice(["1", "2", "4", "8", "12"])])


def megatron(draw):
    layout = draw.choice([["--gpus", "1"], ["--tp", "2", "--dp", "2"], ["--pp", "2", "--dp", "2", "--gradient-accumulation", "4"]])
    return ["--framework", "megatron-core", "--micro-batch-size", draw.choice(BATCHES)] + layout


def torchtitan(draw):
    return ["--framework", "torchtitan", "--gpus", draw.choice(["2", "8"]), "--micro-batch-size", draw.choice(BATCHES)]


def litgpt(draw):
    return ["--framework", "litgpt", "--micro-batch-size", draw.choice(BATCHES)]


def server(draw):
    engine = draw.choice(["vllm", "sglang", "llamacpp"])
    words = ["memtape", "serve", draw.choice(MODELS + ["Qwen/Qwen3-32B", "mistralai/Mixtral-8x7B-v0.1"]), "--engine", engine, "--gpu", draw.choice(GPUS)]
    share = {"vllm": "--gpu-memory-utilization", "sglang": "--mem-fraction-static"}.get(engine)
    if share:
        words += maybe(draw, 0.4, share, draw.choice(["0.3", "0.6", "0.8", "0.95"])) + maybe(draw, 0.3, "--max-model-len", draw.choice(LENGTHS))
        return words + maybe(draw, 0.3, "--gpus", "2", "--tp", "2")
    return words + maybe(draw, 0.5, "--ctx-size", draw.choice(LENGTHS))


FRAMEWORKS = [trainer, trainer, trainer, one_gpu, sharded, sharded, deepspeed, tensor_parallel, pipeline, megatron, torchtitan, litgpt]


def drawn(seed, number):
    draw = random.Random(f"{seed}/{number}")
    if number % (len(FRAMEWORKS) + 1) == len(FRAMEWORKS):
        return server(draw)
    model = draw.choice(MODELS)
    return (["memtape", "train", model, "--gpu", draw.choice(GPUS)] + FRAMEWORKS[number % (len(FRAMEWORKS) + 1)](draw) +
            ["--sequence-length", draw.choice(LENGTHS)])


def answer(program, words):
    """The JSON answer of the command, or None where it is refused."""
    done = subprocess.run([program, *words[1:], "--json"], capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False,
                          env=dict(os.environ, HF_HUB_OFFLINE="1"))
    if done.returncode not in (0, 1):
        return None, done.stderr.strip()
    return json.loads(done.stdout), ""


def peak(found):
    """What the verdict rests on where it fits, else the peak of a step."""
    return found["needed_bytes"] if found["fits"] and found["command"] == "train" else max(rank["peak_device_bytes"] for rank in found["ranks"])


def faults(program, words):
    """How many advices were run, and what was wrong with them."""
    found, refused = answer(program, words)
    if found is None:
        return 0, refused, []
    wrong = []
    for advice in found["advice"]:
        told, error = answer(program, shlex.split(advice["command"]))
        if told is None:
            wrong.append(f"{advice['command']}\n    is refused: {error}")
        elif peak(told) != advice["peak_device_bytes"] or told["fits"] != advice["fits"]:
            wrong.append(f"{advice['command']}\n    says {peak(told)} bytes, fits {told['fits']}; the advice said "
                         f"{advice['peak_device_bytes']}, {advice['fits']}")
    return len(found["advice"]), "", wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    commands = [drawn(options.seed, number) for number in range(options.count)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda words: faults(program, words), commands))
    for words, (_, refused, wrong) in zip(commands, results):
        if refused and options.verbose:
            print(f"{shlex.join(words)}\n    is refused: {refused}")
        for fault in wrong:
            print(f"FAILED {shlex.join(words)}\n  {fault}")
    run, failed = sum(r[0] for r in results), sum(len(r[2]) for r in results)
    refusals = sum(bool(r[1]) for r in results)
    print(f"{len(commands)} commands, {refusals} refused, {run} advices run, {failed} failed")
    return 1 if failed or run * 10 < FEWEST_RUN * len(commands) else 0


if __name__ == "__main__":
    sys.exit(main())
