# SPDX-License-Identifier: Apache-2.0
"""Programs of their own around transformers' models: fsdp_qlora's train.py, ATorch's fsdp_llama2.py, llama-recipes."""
import json

from .row import NotAnswerable, NotModelled, Plan, base_model, gpu, need

MODELS = [("Llama-2-7b", "meta-llama/Llama-2-7b-hf"), ("Llama-2-70b", "meta-llama/Llama-2-70b-hf"), ("Llama-2-13b", "meta-llama/Llama-2-13b-hf"),
          ("Mistral-7B-v0.2", "mistralai/Mistral-7B-Instruct-v0.2"), ("Mistral-7B", "mistralai/Mistral-7B-v0.1"), ("Yi-34B", "01-ai/Yi-34B")]
FSDP_QLORA_RELEASES = "torch==2.4.0,transformers==4.45.0,peft==0.9.0,bitsandbytes==0.43.0"  # of March 2024, or the oldest known
ALL_LINEAR = ["k_proj", "q_proj", "v_proj", "up_proj", "down_proj", "gate_proj"]  # get_model_lora of train.py


def fsdp_qlora(row):
    need(row, "micro_batch", "seq_len")
    # "ddp" is FSDP, too, with NO_SHARD (benchmarks_03_2024.md). The wrappers that compute layers again lie inside of FSDP's units, output
    # is a name until the step has ended, and nothing is clipped (fsdp_main of train.py).
    shards = "FSDP" in str(row["parallel"]["fsdp"])
    words = "full_shard auto_wrap" + ("" if row["offload"] in (None, "none") else " offload")
    config = {"version": 1, "backward_prefetch": "BACKWARD_PRE", "use_orig_params": False, "activation_checkpointing": True,
              "reentrant_wrappers": True}
    if not shards:
        config["sharding_strategy"] = "NO_SHARD"
    args = ["train", base_model(row, MODELS), "--framework", "transformers", "--with", FSDP_QLORA_RELEASES, "--weights", "bf16", "--bf16", "false",
            "--optim", "adamw_torch", "--per_device_train_batch_size", str(row["micro_batch"]), "--sequence-length", str(row["seq_len"]),
            "--max_grad_norm", "0", "--use_cache", "false", "--keep_outputs", "true", "--attention", "sdpa", "--fsdp", words,
            "--fsdp_config", json.dumps(config), "--gpus", str(row["num_gpus"]), *gpu(row),
            "--peft", json.dumps({"r": row["lora"]["r"], "lora_dropout": row["lora"]["dropout"], "target_modules": ALL_LINEAR})]
    if row["quant"]:
        args += ["--quantization", json.dumps({"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_compute_dtype": "bfloat16",
                                               "bnb_4bit_quant_storage": "bfloat16"}), "--prepare_model_for_kbit_training", "false"]
    kinds = ("program",) + (("near",) if (row["value"] or 0) > 20 else ())
    return Plan(args, "peak_reserved_bytes", kinds=kinds)


def atorch(row):
    """fsdp_llama2.py checkpoints by wrappers, which leave config.use_cache on, and keeps the outputs of a step until the next forward has
    made new ones: keys and values of 32 layers (8.59 GB for 16,384 tokens) and the float32 logits, twice at the loss."""
    need(row, "micro_batch", "seq_len")
    if "3D" in row["framework"]:
        raise NotModelled("DeepSpeed's pipeline with tensor parallelism")
    raise NotModelled("a loop over FSDP that keeps its outputs with what the model caches")


def llama_recipes(row):
    need(row, "micro_batch", "seq_len")
    raise NotModelled("llama-recipes' loop")
