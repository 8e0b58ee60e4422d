# SPDX-License-Identifier: Apache-2.0
"""Qwen 1's README at 2df8e8ac: finetune.py of that commit under the scripts beside it (finetune/), with the releases that its table of
requirements has for torch 2.0. The README prints "G", calls the column memory (GB), and counts several GPUs together.

What was counted shows in its 22 LoRA rows on one GPU: read as thousands of nvidia-smi's MiB, 18 of them lie 1.64 to 1.80 GB above
what is reserved, whatever the length (256 to 8192) and the model (1.8B, 7B, 14B); read as GB or GiB the distance grows with the figure.
162.0 on two GPUs would be more than they have if it were GiB. Torch 2.0 under a driver before 515 loads all kernels at once;
transformers' document of that time (BERT on a V100) has 1,343 MiB for a context with them, which is counted beside what is reserved."""
import json

from .row import MIB, Plan

RELEASES = "torch==2.0.1,transformers==4.34.0,peft==0.5.0,accelerate==0.24.0,deepspeed==0.12.4"
# config.json of the checkpoints on the hub.
SHAPES = {
    "Qwen/Qwen-1_8B": {"hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 11008, "vocab_size": 151936},
    "Qwen/Qwen-7B": {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 22016, "vocab_size": 151936},
    "Qwen/Qwen-14B": {"hidden_size": 5120, "num_hidden_layers": 40, "num_attention_heads": 40, "intermediate_size": 27392, "vocab_size": 152064},
    "Qwen/Qwen-72B": {"hidden_size": 8192, "num_hidden_layers": 80, "num_attention_heads": 64, "intermediate_size": 49152, "vocab_size": 152064},
}
COMMON = {"architectures": ["QWenLMHeadModel"], "model_type": "qwen", "kv_channels": 128, "max_position_embeddings": 8192, "no_bias": True,
          "use_flash_attn": "auto", "tie_word_embeddings": False}
# The Int4 checkpoints; GPTQConfig(disable_exllama=True) makes optimum take auto_gptq's CUDA layers.
INT4 = {"bits": 4, "group_size": 128, "desc_act": False, "sym": True, "quant_method": "gptq", "backend": "auto_gptq_cuda"}

SHARED = {"fp16": {"enabled": "auto", "loss_scale": 0, "loss_scale_window": 1000, "initial_scale_power": 16, "hysteresis": 2, "min_loss_scale": 1},
          "bf16": {"enabled": "auto"},
          "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
          "gradient_accumulation_steps": "auto", "gradient_clipping": "auto", "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto"}
# finetune/ds_config_zero2.json and ds_config_zero3.json.
ZERO2 = {**SHARED, "zero_optimization": {
    "stage": 2, "allgather_partitions": True, "allgather_bucket_size": 2e8, "overlap_comm": True, "reduce_scatter": True,
    "reduce_bucket_size": 2e8, "contiguous_gradients": True}}
ZERO3 = {**SHARED, "zero_optimization": {
    "stage": 3, "overlap_comm": True, "contiguous_gradients": True, "sub_group_size": 1e9, "reduce_bucket_size": "auto",
    "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto", "stage3_max_live_parameters": 1e9,
    "stage3_max_reuse_distance": 1e9}}


def deepspeed(row):
    """finetune_qlora_single_gpu.sh has ZeRO 2, finetune_ds.sh ZeRO 3, and so has the README's 72B; finetune_lora_single_gpu.sh has none."""
    if row["quant"]:
        return ["--deepspeed", json.dumps(ZERO2)]
    if not row["lora"] or row["num_gpus"] > 1:
        return ["--deepspeed", json.dumps(ZERO3)]
    return []


def adapters(row):
    if not row["lora"]:
        return []
    saved = ["wte", "lm_head"]
    targets = [name for name in row["lora"]["targets"] if name not in saved]
    config = {"r": row["lora"]["r"], "lora_alpha": row["lora"]["alpha"], "lora_dropout": row["lora"]["dropout"], "target_modules": targets}
    if len(targets) < len(row["lora"]["targets"]):
        config["modules_to_save"] = saved
    return ["--peft", json.dumps(config)]


def plan(row):
    config = {**COMMON, **SHAPES[row["model"]], **({"quantization_config": INT4} if row["quant"] else {})}
    half = ["--fp16", "true"] if row["quant"] else ["--bf16", "true", "--weights", "bf16"]  # QWenLMHeadModel.__init__ casts itself to bf16
    args = ["train", "{config}", "--framework", "transformers", *half, "--optim", "adamw_torch", "--per_device_train_batch_size",
            str(row["micro_batch"]), "--gradient_accumulation_steps", str(row["grad_accum"]), "--sequence-length", str(row["seq_len"]),
            "--gradient_checkpointing", "true", "--attention", "flash", "--gpu", "a100-80gb", "--gpus", str(row["num_gpus"]), "--with", RELEASES,
            *adapters(row), *deepspeed(row)]
    return Plan(args, "peak_reserved_bytes", "max", config=config, kinds=("counter",), unit=1000 * MIB // row["num_gpus"], beside=1343 * MIB)
