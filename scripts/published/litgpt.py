# SPDX-License-Identifier: Apache-2.0
"""litgpt: tutorials/resource-tables.md of October 2023 (torch 2.1) and config_hub/finetune/README.md of 2024."""
import json

from .row import NotAnswerable, Plan, base_model, gpu, need

MODELS = [("phi-1_5", "microsoft/phi-1_5"), ("phi-2", "microsoft/phi-2"), ("Phi-3-mini", "microsoft/Phi-3-mini-128k-instruct"),
          ("Llama-2-7b", "meta-llama/Llama-2-7b-hf"), ("falcon-40b", "tiiuae/falcon-40b"), ("falcon-7b", "tiiuae/falcon-7b"),
          ("TinyLlama", "TinyLlama/TinyLlama-1.1B-Chat-v1.0"), ("Mistral-7B", "mistralai/Mistral-7B-v0.1"),
          ("gemma-7b", "google/gemma-7b"), ("gemma-2-2b", "google/gemma-2-2b"), ("gemma-2-9b", "google/gemma-2-9b"),
          ("Llama-3.1-8B", "meta-llama/Llama-3.1-8B"), ("Llama-3-8B", "meta-llama/Meta-Llama-3-8B-Instruct"), ("Llama-3.2-3B", "meta-llama/Llama-3.2-3B")]
CONFIGS = {
    "stabilityai/stablelm-base-alpha-3b": {
        "model_type": "gpt_neox", "hidden_size": 4096, "intermediate_size": 16384, "num_hidden_layers": 16, "num_attention_heads": 32,
        "vocab_size": 50688, "max_position_embeddings": 4096, "rotary_pct": 0.25, "use_parallel_residual": True, "tie_word_embeddings": False,
        "hidden_act": "gelu"},
    "google/gemma-2b": {
        "model_type": "gemma", "hidden_size": 2048, "intermediate_size": 16384, "num_hidden_layers": 18, "num_attention_heads": 8,
        "num_key_value_heads": 1, "head_dim": 256, "vocab_size": 256000, "max_position_embeddings": 8192, "hidden_activation": "gelu_pytorch_tanh"},
    "meta-llama/Llama-3.2-1B": {
        "model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 128256, "max_position_embeddings": 131072, "tie_word_embeddings": True,
        "rope_theta": 500000.0},
}
# global_batch_size and devices of config_hub/finetune/*/full.yaml; the table names the machine, and stablelm's file takes two GPUs of its four.
FULL = {"google/gemma-2b": (16, 4), "stabilityai/stablelm-base-alpha-3b": (8, 2), "TinyLlama/TinyLlama-1.1B": (32, 1)}
TARGETS = {"q": "query", "k": "key", "v": "value", "proj": "projection", "mlp": "mlp", "head": "head"}


def shares(row, october):
    """The GPUs, and the micro-batches whose gradients add up: those of the whole model stay meanwhile. finetune/lora.py of commit 8641822
    has batch_size = 128 whatever the devices."""
    whole, gpus = (128 * row["num_gpus"], row["num_gpus"]) if october else FULL[row["model"]]
    return ["--gpus", str(gpus), "--gradient-accumulation", str(max(1, whole // gpus // row["micro_batch"]))]


def plan(row):
    need(row, "micro_batch", "seq_len")
    config = CONFIGS.get(row["model"])
    october = "2023-10" in row["framework_version"]
    before = october or "lama-3.2" not in row["model"]  # litgpt 0.5.0 brought Llama 3.2; the table's other rows are older
    args = ["train", "{config}" if config else base_model(row, MODELS), "--framework", "litgpt", "--precision", "amp-bf16" if "mixed" in row["precision"] else "bf16",
            "--micro-batch-size", str(row["micro_batch"]), "--sequence-length", str(row["seq_len"]), *gpu(row),
            "--with", "litgpt==0.1.0" if october else "litgpt==0.4.0" if before else "litgpt==0.5.0"]
    if "SUSPECT" in (row["notes"] or ""):
        raise NotAnswerable("below its own weights, gradients and states: another setting than it says")
    if row["num_gpus"] > 1 or row["method"] == "full":
        args += shares(row, october)
    if row["lora"]:
        targets = row["lora"]["targets"] or ["q", "v"]
        args += ["--lora-rank", str(row["lora"]["r"]), "--lora-dropout", str(row["lora"]["dropout"]),
                 "--lora-targets", ",".join(TARGETS.get(target, target) for target in targets)]
    if row["method"].startswith("adapter"):
        args += ["--strategy", json.dumps({"finetune": row["method"]})]
    if row["quant"]:
        args += ["--quantize", row["quant"].split()[0].replace("bnb.", "")]
    kinds = ("later",) if october and row["num_gpus"] > 1 else ("first",) if october else ("lengths", "kept") if before and row["quant"] else ("lengths",)
    return Plan(args, config=config, kinds=kinds)
