# SPDX-License-Identifier: Apache-2.0
"""fms-acceleration's benchmarks: trl's SFTTrainer over accelerate's FSDP (scripts/benchmarks of that repository)."""
import json
import re

from .row import NotAnswerable, NotModelled, Plan, base_model, gpu, need

MODELS = [("Mistral-7B-v0.1", "mistralai/Mistral-7B-v0.1"), ("Mixtral-8x7B", "mistralai/Mixtral-8x7B-v0.1"),
          ("Llama-2-70b", "meta-llama/Llama-2-70b-hf"), ("Meta-Llama-3-8B", "meta-llama/Meta-Llama-3-8B-Instruct"),
          ("Llama-3-70B", "meta-llama/Meta-Llama-3-70B")]
# Configurations that the catalog does not have: their config.json on the hub.
CONFIGS = {
    "bigcode/gpt_bigcode-santacoder": {
        "model_type": "gpt_bigcode", "n_embd": 2048, "n_head": 16, "n_layer": 24, "n_inner": 8192, "n_positions": 2048, "vocab_size": 49280,
        "multi_query": True, "activation_function": "gelu_pytorch_tanh", "attn_pdrop": 0.1, "embd_pdrop": 0.1, "resid_pdrop": 0.1,
        "attention_softmax_in_fp32": True, "scale_attention_softmax_in_fp32": True, "scale_attn_weights": True},
    "ibm/PowerLM-3b": {
        "model_type": "granite", "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 40, "num_attention_heads": 36,
        "num_key_value_heads": 36, "vocab_size": 49152, "max_position_embeddings": 4096, "attention_bias": True, "mlp_bias": True,
        "tie_word_embeddings": True, "attention_dropout": 0.1, "embedding_multiplier": 12.0, "logits_scaling": 0.25,
        "residual_multiplier": 0.22, "attention_multiplier": 0.015625, "rope_theta": 10000.0, "rms_norm_eps": 1e-05},
}


def of_trl(row):
    """SFTTrainer prepares a 4-bit base on one GPU and casts its embeddings back; the plugin and FSDP's bases are spared both."""
    return bool(row["quant"]) and row["num_gpus"] == 1 and row["config"]["framework_config"] == "baseline-peft-bnb"


def releases(row):
    """trl's of October 2024 where a row names none."""
    named = {"trl": "0.11.4"} if of_trl(row) else {}
    named |= dict(re.findall(r"\b(torch|transformers|trl|accelerate|peft|bitsandbytes) (\d[\d.]*)", row["framework_version"]))
    return ["--with", ",".join(f"{name}=={version}" for name, version in named.items())]


GPTQ_CONFIGS = {
    "Mistral-7B": {"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
                   "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 32768, "sliding_window": 4096},
    "Mixtral-8x7B": {"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
                     "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 32768,
                     "num_local_experts": 8, "num_experts_per_tok": 2},
    "Llama-2-70B": {"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64,
                    "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 4096}}


# fms_acceleration_foak/models/llama.py: a norm, rope and Liger's head with its loss; the MLP is the model's own.
FAST_KERNELS = {"rms_norm": True, "rope": True, "swiglu": False, "cross_entropy": False, "fused_linear_cross_entropy": True}


def lora(row):
    if not row["lora"]:
        return []
    return ["--peft", json.dumps({"r": row["lora"]["r"], "lora_dropout": row["lora"]["dropout"], "target_modules": row["lora"]["targets"]})]


def quantization(row, sharded):
    if "nf4" not in (row["quant"] or ""):
        return []
    config = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True, "bnb_4bit_compute_dtype": "bfloat16"}
    if sharded:
        config["bnb_4bit_quant_storage"] = "bfloat16"
    return ["--quantization", json.dumps(config)]


def packed(config):
    """As quantize_config.json of TheBloke's checkpoints says it: Mistral's in groups of 128, the others' in whole columns. The plugin has a
    copy of auto_gptq's Triton layer."""
    group_size = 128 if config["model_type"] == "mistral" else -1
    return {**config, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": group_size, "desc_act": True, "backend": "fms_auto_gptq"}}


def plan(row):
    if "moe" in row["id"] and "scattermoe" in row["id"]:
        raise NotModelled("ScatterMoE's kernels")
    if row["seq_len"] is None:
        raise NotAnswerable("sequence length (texts are not packed to one)")
    need(row, "micro_batch")
    extra = row["config"]["framework_config"]
    if "foak" in extra and "liger" not in extra:
        raise NotModelled("the fused kernels of fms-acceleration")
    config = CONFIGS.get(row["model"])
    if "autogptq" in extra:
        config = next(packed(config) for words, config in GPTQ_CONFIGS.items() if words in row["model"])
    model = "{config}" if config else base_model(row, MODELS)
    sharded = row["num_gpus"] > 1
    half = "float16" if "torch_dtype=float16" in row["precision"] else "bfloat16"
    args = ["train", model, "--framework", "transformers", *releases(row), "--optim", "adamw_torch", "--gradient_checkpointing", "true",
            "--weights", "fp16" if half == "float16" else "bf16", "--per_device_train_batch_size", str(row["micro_batch"]),
            "--sequence-length", str(row["seq_len"]), "--attention", "flash", *gpu(row), *lora(row), *quantization(row, sharded)]
    if "bf16=True" in row["precision"]:
        args += ["--bf16", "true"]
    if "autogptq" in extra:
        args += ["--fp16", "true"]
    if row["quant"] and (extra.startswith("accelerated-peft") or sharded):
        args += ["--prepare_model_for_kbit_training", "false"]  # the plugin's own, which casts nothing
    if of_trl(row):
        args += ["--trainer", "sft", "--max_length", str(row["seq_len"])]
    if sharded:
        args += ["--gpus", str(row["num_gpus"]), "--fsdp", "full_shard auto_wrap",
                 "--fsdp_config", json.dumps({"version": 1, "backward_prefetch": "BACKWARD_PRE"})]
    if extra == "accelerated-peft-bnb-foak-liger":
        args += ["--fused_lora", "true"]
    if "liger" in extra:
        args += ["--use_liger_kernel", "true", "--liger_kernel_config", json.dumps(FAST_KERNELS)]
    kinds = tuple(kind for kind, there in (("streams", sharded), ("routing", "ixtral" in row["model"]), ("kernels", "foak" in extra)) if there)
    return Plan(args, config=config, kinds=kinds, also=(("torch allocated at end of training", "steady_allocated_bytes"),))
