# SPDX-License-Identifier: Apache-2.0
"""Sources of few rows."""
import json

from .row import NotAnswerable, NotModelled, Plan, base_model, gpu, need

MODELS = [("Llama-2-7b", "meta-llama/Llama-2-7b-hf"), ("Meta-Llama-3-70B", "meta-llama/Meta-Llama-3-70B"), ("Qwen3-30B-A3B", "Qwen/Qwen3-30B-A3B")]


def megatron(row):
    """Log lines and documents of others; what Megatron-LM's own CI wrote down has a page of its own."""
    need(row, "micro_batch", "seq_len", "num_gpus")
    if "inferred, not stated" in (row["notes"] or ""):
        raise NotAnswerable("sequence length (with 2,048 tokens, not the 4,096 that were inferred, the answers are 1 to 3 % off)")
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


# moonlight_16b_pretrain_8gpu_h100_bf16_config of Megatron-Bridge at 600d069b: recipes/moonlight/h100/moonlight_16b.py.
MOONLIGHT = {"etp": 1, "use_precision_aware_optimizer": True, "exp_avg_dtype": "bf16", "exp_avg_sq_dtype": "bf16",
             "ddp": {"grad_reduce_in_fp32": False, "overlap_grad_reduce": True, "overlap_param_gather": True, "use_distributed_optimizer": True}}
MOONLIGHT_CONFIG = {
    "model_type": "deepseek_v3", "hidden_size": 2048, "intermediate_size": 11264, "moe_intermediate_size": 1408, "num_hidden_layers": 27,
    "num_attention_heads": 16, "num_key_value_heads": 16, "kv_lora_rank": 512, "q_lora_rank": None, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 64, "num_experts_per_tok": 6, "n_shared_experts": 2,
    "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1, "norm_topk_prob": True, "vocab_size": 163840,
    "max_position_embeddings": 8192, "num_nextn_predict_layers": 0, "tie_word_embeddings": False}


def moonlight(row):
    modules = row["activation_checkpointing"].removeprefix("selective: ").split("+")
    recomputed = {} if "none" in row["activation_checkpointing"] else {"recompute": "selective", "recompute_modules": modules}
    parallel = row["parallel"]
    args = ["train", "{config}", "--framework", "megatron-core", "--gpus", str(row["num_gpus"]), "--micro-batch-size", str(row["micro_batch"]),
            "--sequence-length", str(row["seq_len"]), "--global-batch-size", str(row["global_batch"]), "--tp", str(parallel["tp"]),
            "--sp", str(parallel["tp"]), "--ep", str(parallel["ep"]), "--zero", "1", *gpu(row), "--strategy", json.dumps({**MOONLIGHT, **recomputed})]
    return Plan(args, rank="max", config=MOONLIGHT_CONFIG, kinds=("routing", "beside"))


def bridge(row):
    if "Moonlight" in row["model"]:
        return moonlight(row)
    if row["kind"] == "oom" or "emotron" in row["model"]:
        raise NotModelled("Megatron-Bridge's recipes of hybrid models")
    if "rank and optimizer precision not stated" in (row["notes"] or ""):
        raise NotAnswerable("the rank, and what the optimizer holds")
    if "gemma" in row["model"]:
        raise NotAnswerable("how large the images are")
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
