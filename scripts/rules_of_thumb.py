#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/rules-of-thumb.md: the well-known rules of thumb against exact steps of real models.

    rules_of_thumb.py PROGRAM > docs/rules-of-thumb.md
"""
import json
import subprocess
import sys

LORA = '{"r": 16, "target_modules": "all-linear"}'
NF4 = '{"load_in_4bit": true, "bnb_4bit_use_double_quant": true, "bnb_4bit_compute_dtype": "bfloat16"}'
STEPS = [
    ("GPT-2, fp32", "openai-community/gpt2", "--precision fp32 --micro-batch-size 8 --sequence-length 1024"),
    ("GPT-2, fp32, eager attention", "openai-community/gpt2",
     "--precision fp32 --micro-batch-size 8 --sequence-length 1024 --attention eager"),
    ("Llama 3.2 3B, bf16", "meta-llama/Llama-3.2-3B", "--precision bf16 --micro-batch-size 4 --sequence-length 2048"),
    ("Llama 3.2 3B, fp32 under bf16 autocast", "meta-llama/Llama-3.2-3B",
     "--precision amp-bf16 --micro-batch-size 4 --sequence-length 2048"),
    ("Llama 3.1 8B, bf16, checkpointed", "meta-llama/Llama-3.1-8B",
     "--precision bf16 --micro-batch-size 2 --sequence-length 4096 --gradient-checkpointing full"),
    ("Qwen2.5 7B, fp32 under bf16 autocast, checkpointed", "Qwen/Qwen2.5-7B",
     "--precision amp-bf16 --micro-batch-size 1 --sequence-length 4096 --gradient-checkpointing full"),
    ("Llama 3.1 8B, LoRA", "meta-llama/Llama-3.1-8B",
     f"--framework transformers --weights bf16 --bf16 --gradient_checkpointing --per_device_train_batch_size 2 "
     f"--sequence-length 2048 --peft".split() + [LORA]),
    ("Llama 3.1 8B, QLoRA", "meta-llama/Llama-3.1-8B",
     f"--framework transformers --weights bf16 --bf16 --gradient_checkpointing --per_device_train_batch_size 2 "
     f"--sequence-length 2048 --peft".split() + [LORA, "--quantization", NF4]),
]
HEAD = """# Rules of thumb, and what a step really holds

Written by `scripts/rules_of_thumb.py`; `memtape train MODEL ... --rules` prints the same for any step. Each rule stands
beside the exact figure of what it speaks of, in GiB (2^30 bytes).
"""


def predicted(program, model, options):
    words = options if isinstance(options, list) else options.split()
    command = [program, "train", model, *words, "--gpu", "h100-80gb", "--rules", "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode not in (0, 1):
        sys.exit(result.stderr.strip())
    return json.loads(result.stdout)["rules"]


def error(rule):
    says, exact = rule["says_bytes"], rule["exact_bytes"]
    if says == exact:
        return "exact"
    percent = 100 * (says - exact) / exact
    return "< 0.1 %" if abs(percent) < 0.05 else f"{percent:+.1f} %"


def gib(count):
    return f"{count / 2**30:.2f}"


def main():
    program, sections, reasons = sys.argv[1], [], {}
    for title, model, options in STEPS:
        lines = [f"## {title}", "", "| rule | with this step's numbers | it says | really | off by | of |",
                 "|---|---|---:|---:|---:|---|"]
        for rule in predicted(program, model, options):
            lines.append(f"| {rule['name']} | {rule['formula']} | {gib(rule['says_bytes'])} | "
                         f"{gib(rule['exact_bytes'])} | {error(rule)} | {rule['of']} |")
            reasons.setdefault((rule["name"], rule["source"]), []).append(rule["why"])
        sections.append("\n".join(lines))
    print(HEAD)
    print("\n\n".join(sections))
    print("\n## Where the rules come from, and why they are off\n")
    for (name, source), why in reasons.items():
        print(f"- **{name}** ({source})")
        for sentence in dict.fromkeys(why):
            print(f"  - {sentence}")


if __name__ == "__main__":
    main()
