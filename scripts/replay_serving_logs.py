#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Published start-up logs of vLLM and SGLang against the answers for the same servers.

    replay_serving_logs.py PROGRAM [LOGS.jsonl] [--rows] [--only TEXT]

A row (tests/truth/serving_logs.jsonl) has what a log prints, to 0.01 GiB, and what is known of the command that printed it. Rows whose
model, quantization or device is not known here are named and left; a figure that depends on what a row does not say is left out. Two questions are asked of a row: the whole start-up as it is
described, and how many tokens the cache holds given the bytes that the log says it has.
"""
import argparse
import collections
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
import truth_rows  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
GIB = 2**30

# What the rows call a model, and the catalog's entry of the same architecture; in a pair, what its own config.json says otherwise.
QWEN15 = {"max_position_embeddings": 32768, "tie_word_embeddings": False, "rope_theta": 1e6}
PIXTRAL = {"model_type": "pixtral", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "patch_size": 14}
MODELS = [
    ("Mistral-Small-3.2-24B", ("mistralai/Mistral-Small-24B-Instruct-2501", {"vision_config": PIXTRAL, "max_position_embeddings": 131072})),
    ("Llama-3.2-1B", ("meta-llama/Llama-3.2-3B", {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
                                                 "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64})),
    ("opt-125m", ("facebook/opt-1.3b", {"hidden_size": 768, "ffn_dim": 3072, "num_hidden_layers": 12, "num_attention_heads": 12,
                                        "word_embed_proj_dim": 768})),
    ("google/gemma-2b", ("google/gemma-7b", {"hidden_size": 2048, "intermediate_size": 16384, "num_hidden_layers": 18,
                                             "num_attention_heads": 8, "num_key_value_heads": 1})),
    ("Qwen1.5-4B", ("Qwen/Qwen2-0.5B-Instruct", {**QWEN15, "hidden_size": 2560, "intermediate_size": 6912, "num_hidden_layers": 40,
                                                 "num_attention_heads": 20, "num_key_value_heads": 20})),
    ("Qwen1.5-7B", ("Qwen/Qwen2-0.5B-Instruct", {**QWEN15, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
                                                 "num_attention_heads": 32, "num_key_value_heads": 32})),
    ("Qwen1.5-14B", ("Qwen/Qwen2-0.5B-Instruct", {**QWEN15, "hidden_size": 5120, "intermediate_size": 13696, "num_hidden_layers": 40,
                                                  "num_attention_heads": 40, "num_key_value_heads": 40, "vocab_size": 152064})),
    ("deepseek-coder-6.7b", ("meta-llama/Llama-2-7b-hf", {"vocab_size": 32256, "max_position_embeddings": 16384})),
    ("Alpaca-2", ("meta-llama/Llama-2-7b-hf", {"vocab_size": 55296})),
    ("Qwen2.5-VL-72B", ("Qwen/Qwen2.5-VL-7B-Instruct", {"hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80,
                                                        "num_attention_heads": 64, "num_key_value_heads": 8})),
    ("GLM-5.1-NVFP4", "zai-org/GLM-5"), ("GLM-5 NVFP4", "zai-org/GLM-5"), ("qwen3.6-27b", "Qwen/Qwen3.5-27B"),
    ("qwen3.5_text hybrid (27B", "Qwen/Qwen3.5-27B"), ("qwen3_5_text hybrid (27B", "Qwen/Qwen3.5-27B"),
    ("Qwen3.8-27B-FP8", "Qwen/Qwen3.5-27B"), ("qwen3.6-35b-a3b", "Qwen/Qwen3.5-35B-A3B"),
    ("qwen3.5-122b-a10b-8bit", None), ("DeepSeek-V4-Pro", "deepseek-ai/DeepSeek-V4-Pro"),
    ("DeepSeek-V4-Flash", "deepseek-ai/DeepSeek-V4-Flash"), ("Qwen3.5-4B", "Qwen/Qwen3.5-4B"),
    ("Qwen1.5-72B-Chat", "Qwen/Qwen1.5-72B-Chat"), ("qwen3-4b-instruct-2507", "Qwen/Qwen3-4B-Instruct-2507"),
    ("gpt-oss-20b", "openai/gpt-oss-20b"), ("gpt-oss-120b", "openai/gpt-oss-120b"),
    ("Llama-3.3-70B", "meta-llama/Llama-3.3-70B-Instruct"), ("Llama-3.1-70B", "meta-llama/Llama-3.1-70B"),
    ("Llama-3 70B", "meta-llama/Meta-Llama-3-70B"), ("Llama-3.1-8B", "meta-llama/Llama-3.1-8B"),
    ("Meta-Llama-3-8B", "meta-llama/Meta-Llama-3-8B-Instruct"), ("Llama-3.2-3B", "meta-llama/Llama-3.2-3B"),
    ("Llama-3.2-11B-Vision", "meta-llama/Llama-3.2-11B-Vision-Instruct"), ("Llama-2-7B", "meta-llama/Llama-2-7b-hf"),
    ("Llama-2-70B", "meta-llama/Llama-2-70b-hf"), ("mistral-7b-instruct-v0.3", "mistralai/Mistral-7B-Instruct-v0.3"), ("DeepSeek-R1-Distill-Qwen-14B", "deepseek-ai/DeepSeek-R1-Distill-Qwen-14B"),
    ("DeepSeek-R1-Distill-Qwen-7B", "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B"), ("DeepSeek-R1-Distill-Qwen-1.5B", "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B"), ("DeepSeek-R1-0528-Qwen3-8B", "Qwen/Qwen3-8B"),
    ("DeepSeek-R1 AWQ", "deepseek-ai/DeepSeek-R1"), ("DeepSeek-R1-AWQ", "deepseek-ai/DeepSeek-R1"),
    ("Qwen3-235B-A22B-FP8", "Qwen/Qwen3-235B-A22B-FP8"), ("Qwen3-30B-A3B", "Qwen/Qwen3-30B-A3B"),
    ("Qwen3-Coder-30B-A3B", "Qwen/Qwen3-30B-A3B"), ("qwen3-4b", "Qwen/Qwen3-4B"), ("Qwen3-0.6B", "Qwen/Qwen3-0.6B"),
    ("Qwen3-32B", "Qwen/Qwen3-32B"), ("Qwen3-14B", "Qwen/Qwen3-14B"), ("Qwen3-8B", "Qwen/Qwen3-8B"),
    ("Qwen2-0.5B", "Qwen/Qwen2-0.5B-Instruct"), ("qwen2.5-0.5b", "Qwen/Qwen2.5-0.5B"), ("Qwen2.5-1.5B", "Qwen/Qwen2.5-1.5B"),
    ("qwen2.5-3b", "Qwen/Qwen2.5-3B"), ("Qwen2.5-VL-7B", "Qwen/Qwen2.5-VL-7B-Instruct"), ("phi-4", "microsoft/phi-4"),
    ("gemma-3-1b", "google/gemma-3-1b-it"), ("Gemma3ForConditionalGeneration", "google/gemma-3-4b-it"),
]
GPUS = [
    ("H100", "h100-80gb"), ("H200", "h200-141gb"), ("A100-SXM4-40", "a100-40gb"), ("A100-40", "a100-40gb"), ("A100 40", "a100-40gb"),
    ("A100", "a100-80gb"), ("T4", "t4"), ("L40S", "l40s"), ("L4", "l4"), ("RTX 4090", "rtx-4090"), ("RTX 3090", "rtx-3090"),
    ("RTX 5090", "rtx-5090"), ("RTX 3070", "rtx-3070"), ("V100", "v100-32gb"), ("A10 class", "a10"), ("B200", "b200-180gb"), ("RTX PRO 6000", "rtx-pro-6000"),
]
FP8_BLOCK = {"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", "weight_block_size": [128, 128]}


NVFP4 = {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16}


def kept_in_16_bits(model):
    """What NVFP4 checkpoints of experts leave as it is. For GLM the weights in the logs agree with it; no row of another model has them."""
    if "GLM" not in model:
        return ["*self_attn*", "*shared_expert*", "*linear_attn*", "*mlp.gate"]
    dense = [f"model.layers.{layer}.mlp.{part}" for layer in range(3) for part in ("gate_up_proj", "down_proj")]
    return ["*self_attn*", "*shared_experts*", *dense]


def compressed(kind, bits, strategy, activations):
    return {"quant_method": "compressed-tensors", "ignore": ["lm_head"], "config_groups": {"group_0": {
        "targets": ["Linear"], "weights": {"num_bits": bits, "type": kind, "strategy": strategy, "symmetric": True, "dynamic": False},
        "input_activations": {"num_bits": 8, "type": kind, "strategy": activations, "dynamic": True, "symmetric": True}}}}


class Left(Exception):
    """Why a row is not replayed."""


def looked_up(table, text, what):
    for words, value in table:
        if words.lower() in (text or "").lower():
            if value:
                return value
            break
    raise Left(f"{what} {text!r} is not known here")


def quantization(row):
    """The quantization_config of the row's checkpoint; None for none, or for one that the catalog's entry has."""
    text, model = (row["quantization"] or "").lower(), row["model"]
    if not text or "gpt-oss" in model or "DeepSeek-V4" in model or model.endswith("235B-A22B-FP8"):
        return None
    if "w8a8" in text:
        return compressed("int", 8, "channel", "token")
    if "compressed" in text and "block" not in text:
        return compressed("float", 8, "channel", "token")
    if "fp8" in text and ("block" in text or "Qwen3.8-27B" in model):
        return FP8_BLOCK
    if "nvfp4" in text and "mixed" not in text:
        return NVFP4 | {"exclude_modules": ["lm_head", *kept_in_16_bits(model)]}
    if "auto_round" in text:
        return {"quant_method": "auto-round", "bits": 4, "group_size": 128, "sym": True, "packing_format": "auto_round:auto_gptq"}
    if text == "fp8 (online)":
        return None
    if "bitsandbytes" in text:
        return {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
    if "gptq" in text:
        return {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True}
    if "awq" in text:
        return {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"}
    raise Left(f"the modules that {text!r} skips are not known")


def keeps_modules_unsaid(row):
    """Unsloth's dynamic checkpoints leave modules in 16 bits that no row names: what depends on the weights' bytes is not compared."""
    text = row["quantization"] or ""
    return "bitsandbytes" in text and ("dynamic" in text or "unsloth-bnb" in row["model"])


def catalog_config(model):
    for line in (ROOT / "data/models/INDEX.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry["id"] == model and "same_as" in entry:
            return catalog_config(entry["same_as"])
        if entry["id"] == model:
            return json.loads((ROOT / "data/models" / entry["file"]).read_text(encoding="utf-8"))
    raise Left(f"{model} is not in the catalog")


def config_of(row):
    entry = looked_up(MODELS, row["model"], "the model")
    model, own = entry if isinstance(entry, tuple) else (entry, {})
    config = catalog_config(model)
    (config["text_config"] if "text_config" in config else config).update(own)
    if "1.5B-Instruct" in row["model"]:
        config["max_position_embeddings"] = 32768  # the base model's is 131072
    scheme = quantization(row)
    if scheme:
        config["quantization_config"] = scheme
    if row["dtype"] and row["dtype"] != "float32":
        config.pop("dtype", None)
        config["torch_dtype"] = row["dtype"]
    return config


def arguments(row, config):
    found = re.search(r"max_lora_rank (\d+), max_loras (\d+)", row["note"])
    row["max_lora_rank"], row["max_loras"] = found.groups() if found else (None, None)
    if "DFlash" in row["note"]:
        raise Left("it speculates with a drafter, whose weights and cache are not modelled")
    drafts = re.search(r"MTP (\d+) tokens|(MTP on|\+ MTP layer)", row["note"])
    if not row["tp"] and (row["num_gpus"] or 1) > 1:
        raise Left("how the ranks are laid out is not said")
    version = re.search(r"(\d+\.\d+\.\d+)", (row["version"] or "").replace(".x", ".0"))
    measured = row["measured"]
    args = ["--engine", row["engine"], "--gpu", looked_up(GPUS, row["gpu"] or "H100", "the GPU")]
    total = measured.get("total_gpu_gib")
    if total:
        args += ["--gpu-memory-bytes", str(round(total * GIB))]
    vllm = row["engine"] == "vllm"
    if vllm and "V0" in (row["version"] or ""):
        args += ["--engine-version", "0.7.3"]
    elif version:
        args += ["--engine-version", version[1]]
    flags = {"max_model_len": "--max-model-len", "gpu_memory_utilization": "--gpu-memory-utilization", "max_num_seqs": "--max-num-seqs",
             "max_num_batched_tokens": "--max-num-batched-tokens", "block_size": "--block-size", "tp": "--tp", "pp": "--pp"}
    tokens = row["max_num_batched_tokens"]
    if vllm and not tokens and "Unsloth" in row["note"]:
        tokens = row["max_model_len"]  # what it prints as "Chunked prefill tokens" where the line is there
    for key, flag in flags.items():
        value = tokens if key == "max_num_batched_tokens" else row[key]
        if value:
            args += [flag, str(value)]
    length = config.get("max_position_embeddings") or config.get("text_config", {}).get("max_position_embeddings")
    if row["max_model_len"] and length and row["max_model_len"] > length:
        args[args.index("--max-model-len") + 1] = str(length)
    if row["kv_cache_dtype"] and row["kv_cache_dtype"] not in ("auto", "bfloat16"):
        args += ["--kv-cache-dtype", "fp8"]
    if measured.get("decode_context_parallel"):
        args += ["--decode-context-parallel-size", str(measured["decode_context_parallel"])]
    if vllm and row["quantization"] == "fp8 (online)":
        args += ["--quantization", "fp8"]
    if vllm and row["dtype"] == "float32":
        args += ["--dtype", "float32"]
    if vllm and drafts:
        speculation = {"method": "mtp", "num_speculative_tokens": int(drafts[1] or 1)}
        args += ["--speculative-config", json.dumps(speculation)]
    if vllm and row["max_loras"]:
        args += ["--enable-lora", "--max-loras", str(row["max_loras"]), "--max-lora-rank", str(row["max_lora_rank"])]
    if vllm:
        args += ["--usage-context", "api-server" if "serve" in row["note"] or "llmd" in row["id"] else "llm"]
        args += ["--enforce-eager"] if row["enforce_eager"] else []
        args += ["--enable-prefix-caching"] if "enable_prefix_caching" in row["note"] else []
    if "mem_fraction_static" in measured:
        args += ["--mem-fraction-static", str(measured["mem_fraction_static"])]
    return args


def answer(program, config, args):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "config.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        done = subprocess.run([program, "serve", str(path), *args, "--json"], capture_output=True, text=True, timeout=120)
    if done.returncode > 1:
        raise Left(done.stderr.strip().replace(folder, ""))
    return json.loads(done.stdout)


def is_comparable(row, key):
    """Whether the row says enough of its command for the figure to follow from it."""
    note = row["note"]
    lora = "LoRA enabled" in note and "No LoRA" not in note  # its buffers are in the weights, and nothing says how many
    if key in ("weights_gib", "kv_gib", "kv_tokens", "gpu_blocks", "max_concurrency") and keeps_modules_unsaid(row):
        return False
    if key == "weights_gib":
        return not lora
    if row["engine"] == "sglang":
        return True
    if row["grade"] != "A" or "not in excerpt)" in note:
        return False
    if key in ("activation_peak_gib", "non_torch_gib"):
        return True
    if key == "cuda_graph_gib":  # llm-d's figure is how the device's memory changed meanwhile, which may be less than nothing
        return not lora and "llmd" not in row["id"]
    return not lora and row["gpu_memory_utilization"] is not None and "shares the GPU" not in note and "scarcer rank" not in note


def figures(answered, engine):
    rank = answered["ranks"][0]
    cache = answered["kv_cache"]
    found = {"weights_gib": rank["weights_bytes"] / GIB, "kv_tokens": cache["tokens"], "max_concurrency": cache["max_concurrency"]}
    if engine == "sglang":
        found |= {"weights_gib": (rank["available_before_load_bytes"] - rank["available_after_load_bytes"]) / GIB,
                  "avail_after_load_gib": rank["available_after_load_bytes"] / GIB, "kv_gib": cache["bytes"] / GIB,
                  "avail_after_pool_gib": rank["available_after_pools_bytes"] / GIB, "full_layer_tokens": cache["tokens"],
                  "swa_layer_tokens": rank.get("swa_max_total_num_tokens")}
        return found
    found |= {"weights_gib": rank["model_memory_bytes"] / GIB, "activation_peak_gib": rank["activation_peak_bytes"] / GIB,
              "kv_gib": rank["available_kv_cache_bytes"] / GIB, "gpu_blocks": cache["num_blocks"]}
    if "cuda_graph_bytes" in rank:
        found["cuda_graph_gib"] = rank["cuda_graph_bytes"] / GIB
    if "non_torch_increase_bytes" in rank:
        found["non_torch_gib"] = rank["non_torch_increase_bytes"] / GIB
    return found


def given_budget(program, row, config, args):
    """Tokens, blocks and concurrency of a cache of the bytes that the log names."""
    measured = row["measured"]
    if row["engine"] != "vllm" or measured.get("kv_gib", 0) <= 0 or "scarce" in row["note"]:
        return {}
    answered = answer(program, config, args + ["--kv-cache-memory-bytes", str(round(measured["kv_gib"] * GIB))])
    cache = answered["kv_cache"]
    return {"kv_tokens": cache["tokens"], "gpu_blocks": cache["num_blocks"], "max_concurrency": cache["max_concurrency"]}


def errors(found, measured):
    for key, value in found.items():
        if value is not None and measured.get(key):
            yield key, value, measured[key], (value - measured[key]) / abs(measured[key]) * 100


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("logs", nargs="?", default=ROOT / "tests/truth/serving_logs.jsonl", type=pathlib.Path)
    parser.add_argument("--rows", action="store_true", help="every row with its figures")
    parser.add_argument("--only", default="", help="rows with this text in their id")
    options = parser.parse_args()
    all_errors, left = collections.defaultdict(list), []
    for row in truth_rows.read_rows(options.logs):
        if options.only not in row["id"]:
            continue
        try:
            config = config_of(row)
            args = arguments(row, config)
            parts = [("", figures(answer(options.program, config, args), row["engine"]))]
            parts.append((" given the bytes", given_budget(options.program, row, config, args)))
        except Left as why:
            left.append(f"{row['id']}: {why}")
            continue
        if options.rows:
            print(f"{row['id']} ({row['grade']}, {row['version']})")
        for about, found in parts:
            for key, value, logged, error in errors(found, row["measured"]):
                if not about and not is_comparable(row, key):
                    continue
                all_errors[f"{row['engine']} {key}{about}"].append((abs(error), value, logged))
                if options.rows:
                    print(f"  {key + about:32} {value:14.4f} {logged:14.4f} {error:8.2f} %")
    print(f"{'figure':44} rows  median %      p90 %      max %  to 0.011")
    for key, found in sorted(all_errors.items()):
        sizes = sorted(error for error, *_ in found)
        close = sum(abs(value - logged) <= 0.011 for _, value, logged in found)
        print(f"{key:44} {len(found):4} {statistics.median(sizes):9.3f} {sizes[int(0.9 * (len(sizes) - 1))]:10.3f} {sizes[-1]:10.3f} {close:9}")
    print(f"{len(left)} rows left" + "".join(f"\n  {line}" for line in left), file=sys.stderr)


if __name__ == "__main__":
    main()
