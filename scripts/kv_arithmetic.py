#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/serving.md that are computed: what a token and a user take of the KV cache, and worked corrections.

    kv_arithmetic.py PROGRAM            writes them between their marks
    kv_arithmetic.py PROGRAM --check    says where they differ
"""
import json
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/serving.md"
CONTEXT, OUTPUT = 30000, 2768
MODELS = ["meta-llama/Llama-2-7b-hf", "meta-llama/Llama-3.1-8B", "meta-llama/Llama-2-70b-hf", "tiiuae/falcon-7b", "deepseek-ai/DeepSeek-V2-Lite",
          "openai/gpt-oss-20b", "google/gemma-3-27b-it", "Qwen/Qwen3-Next-80B-A3B-Instruct", "nvidia/Nemotron-H-4B-Base-8K"]
LENGTHS = {"meta-llama/Llama-2-7b-hf": 4096, "meta-llama/Llama-2-70b-hf": 4096, "tiiuae/falcon-7b": 2048, "nvidia/Nemotron-H-4B-Base-8K": 8192}


def asked(program, model, *options):
    done = subprocess.run([program, "serve", model, "--engine", "vllm", "--gpu", "h200-141gb", "--enforce-eager",
                           "--max-num-batched-tokens", "2048", "--explain", "--json", *options], capture_output=True, text=True)
    if done.returncode > 1:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def group_lines(answer):
    return [note for note in answer["notes"] if " layers: " in note]


def model_rows(program):
    yield "| model | KV cache of a token, by kind of layer | against a key and a value for every head | tokens of a user | one user |"
    yield "|---|---|---|---|---|"
    for model in MODELS:
        length = LENGTHS.get(model, CONTEXT + OUTPUT)
        ranks = ["--tp", "2", "--gpus", "2"] if "70b" in model or "80B" in model else []
        answer = asked(program, model, "--context", str(length), *ranks)
        kinds, ratios = [], []
        for line in group_lines(answer):
            name, layers = re.match(r"(.*), (\d+) layers", line).groups()
            size = re.search(r": ([\d,]+) B a token", line)
            kinds.append(f"{name}, {layers} layers: {size[1]} B" if size else f"{layers} recurrent layers: a state for each request")
            ratio = re.search(r"([\d.]+) times", line)
            if ratio and f"{ratio[1]} x less" not in ratios:
                ratios.append(f"{ratio[1]} x less")
        merged = collapse(kinds)
        each = answer["users"]["bytes_per_user"]
        where = " on each of 2 GPUs" if ranks else ""
        yield f"| {model} | {'; '.join(merged)}{where} | {'; '.join(ratios)} | {length:,} | {each / 2**30:.2f} GiB{where} |"


def collapse(kinds):
    """Groups of one kind, of which vLLM makes several, once with how many there are."""
    counted = {}
    for kind in kinds:
        counted[kind] = counted.get(kind, 0) + 1
    return [f"{n} x ({kind})" if n > 1 else kind for kind, n in counted.items()]


def per_token(program, model, *options):
    return asked(program, model, "--context", "2048", *options)["kv_cache"]["bytes_per_token"]


def corrections(program):
    llama2, llama3 = per_token(program, "meta-llama/Llama-2-7b-hf"), per_token(program, "meta-llama/Llama-3.1-8B")
    tokens = 32 * 4096
    yield (f"- *A model with 32 layers and 32 heads of 128 takes 0.25 MB a token, so 32 users of 4,096 tokens take 32.8 GB.* For Llama 2 7B it is "
           f"{llama2:,} B a token, keys and values, and {tokens:,} tokens take {llama2 * tokens:,} B, {llama2 * tokens / 1e9:.1f} GB.")
    yield (f"- *Llama 3.1 8B has 32 layers and 32 heads, too, so the same 0.5 MB.* Four query heads share a key and a value: {llama3:,} B a token, "
           f"{llama3 * tokens / 1e9:.1f} GB for the same users.")
    gemma = sum(int(re.search(r": ([\d,]+) B a token", line)[1].replace(",", ""))
                for line in group_lines(asked(program, "google/gemma-2-27b", "--context", "2048", "--kv-cache-dtype", "fp8")))
    yield (f"- *Gemma 2 27B in 8 bits: 2 x 46 x (16 x 144) x 1 B = {2 * 46 * 16 * 144:,} B a token.* Its heads are 128 wide, not the hidden size by the "
           f"number of heads: {gemma:,} B. And every second layer forgets what is more than 4,096 tokens back.")
    line = group_lines(asked(program, "deepseek-ai/DeepSeek-V2-Lite", "--context", "2048"))[0]
    size, heads, mha, ratio = re.search(r": ([\d,]+) B a token; .* all (\d+) heads ([\d,]+) B, ([\d.]+) times", line).groups()
    yield (f"- *DeepSeek-V2-Lite has {heads} heads with keys of 192 and values of 128: {mha} B a token.* Only the latent vector of 512 and the rotated part "
           f"of 64 are held: {size} B, {ratio} times less.")


def parts(program):
    yield "kv-models", "\n".join(model_rows(program))
    yield "kv-corrections", "\n".join(corrections(program))


def main():
    program, check = sys.argv[1], "--check" in sys.argv[2:]
    page = PAGE.read_text(encoding="utf-8")
    filled = page
    for mark, text in parts(program):
        begin, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->"
        if begin not in filled or end not in filled:
            sys.exit(f"{PAGE}: no marks for {mark}")
        filled = filled[: filled.index(begin) + len(begin)] + text + "\n" + filled[filled.index(end):]
    if check:
        sys.exit(f"{PAGE} is not what {program} answers: run scripts/kv_arithmetic.py {program}" if filled != page else 0)
    PAGE.write_text(filled, encoding="utf-8")


if __name__ == "__main__":
    main()
