#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every recorded family under every framework and the recipes that change its modules: an answer or one line that says what would be right.

    run_families.py PROGRAM ROWS.jsonl [ROWS.jsonl ...]

A family's configuration is that of its first row. Exit status 1 where the program crashes, ends in an internal error or hangs.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import truth_rows

SEVERAL_GPUS = ["ddp", "fsdp1", "fsdp2", "deepspeed", "torch-tp", "torch-cp", "torch-pp", "megatron-core", "litgpt", "torchtitan"]
TRAINER = ["--framework", "transformers"]
RECIPES = [["--framework", framework, "--gpus", "2"] for framework in SEVERAL_GPUS] + [
    ["--compile"],
    ["--lora-rank", "8", "--lora-targets", "all-linear", "--gradient-checkpointing", "full"],
    TRAINER,
    [*TRAINER, "--peft", '{"target_modules": "all-linear"}', "--quantization", '{"load_in_4bit": true}'],
    [*TRAINER, "--fsdp", "full_shard auto_wrap", "--gpus", "2", "--bf16", "true"],
    [*TRAINER, "--trainer", "sft"],
    [*TRAINER, "--label_smoothing_factor", "0.1", "--eval_strategy", "steps"],
    [*TRAINER, "--use_liger_kernel", "true"],
]
BATCH = ["--micro-batch-size", "2", "--sequence-length", "64", "--quiet"]
SECONDS = 60


def configurations(files):
    of = {}
    for file in files:
        for row in truth_rows.read_rows(file):
            config = row.get("config") or {}
            if "model_type" in config:
                of.setdefault(config["model_type"], config)
    return of


def fault(program, recipe, folder):
    """What is wrong with the program's end, or nothing."""
    try:
        run = subprocess.run([program, "train", "config.json", *recipe, *BATCH], cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"no answer in {SECONDS} s"
    if run.returncode not in (0, 1, 2):
        return f"exit code {run.returncode} {run.stderr.strip()}"
    if run.returncode == 2 and len(run.stderr.strip().splitlines()) != 1:
        return f"not one line: {run.stderr}"
    return None


def main():
    program, *files = sys.argv[1:]
    program = str(pathlib.Path(program).resolve())
    runs = faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for family, config in configurations(files).items():
            pathlib.Path(folder, "config.json").write_text(json.dumps(config), encoding="utf-8")
            for recipe in RECIPES:
                runs += 1
                if problem := fault(program, recipe, folder):
                    faults += 1
                    print(f"{family} {' '.join(recipe)}: {problem}")
    print(f"{runs} runs, {faults} faults")
    return faults > 0


if __name__ == "__main__":
    sys.exit(main())
