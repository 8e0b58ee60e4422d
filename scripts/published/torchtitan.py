# SPDX-License-Identifier: Apache-2.0
"""torchtitan: its benchmark pages, commit messages and issues, and torchao's pages about it. The trainer that ran is dated by its commit."""
import datetime
import json
import pathlib
import re

from .row import NotAnswerable, NotModelled, Plan, base_model, gpu, need

MODELS = [("Llama-3.1-8B", "meta-llama/Llama-3.1-8B"), ("Meta-Llama-3-8B", "meta-llama/Llama-3.1-8B"), ("Llama-3.1-70B", "meta-llama/Llama-3.1-70B"),
          ("Llama-3.1-405B", "meta-llama/Llama-3.1-405B"), ("llama2 7B", "meta-llama/Llama-2-7b-hf"), ("llama-13b", "meta-llama/Llama-2-13b-hf"),
          ("Qwen3-32B", "Qwen/Qwen3-32B"), ("Qwen3-8B", "Qwen/Qwen3-8B"), ("deepseek_v3 16B", None), ("DeepSeek-V3 671B", "deepseek-ai/DeepSeek-V3")]
# deepseek_v3's "16B" (torchtitan/models/deepseek_v3/__init__.py).
DSV3_16B = {"model_type": "deepseek_v3", "hidden_size": 2048, "intermediate_size": 10944, "moe_intermediate_size": 1408, "num_hidden_layers": 27,
            "first_k_dense_replace": 1, "num_attention_heads": 16, "num_key_value_heads": 16, "n_routed_experts": 64, "n_shared_experts": 2,
            "num_experts_per_tok": 6, "q_lora_rank": None, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
            "v_head_dim": 128, "vocab_size": 102400, "max_position_embeddings": 16384}
# Of every commit its day, and "graph" where its subject names a trainer of an experiment that compiles whole graphs (git log of torchtitan).
COMMITS = {line.split()[0]: line.split()[1:] for line in (pathlib.Path(__file__).parent / "torchtitan_commits.txt").read_text().splitlines()}
EXPANDABLE_SINCE = "2024-07-01"  # run_llama_train.sh sets expandable_segments:True


def commits(row):
    named = re.findall(r"\b[0-9a-f]{7,40}\b", row["framework_version"] or "")
    return [COMMITS[commit[:7]] for commit in named if commit[:7] in COMMITS]


def date(row):
    """The day of the row's commit; the day before it for what a message says of the code that it replaces."""
    for day, *_ in commits(row):
        if day:
            if "before" in (row["notes"] or "").lower():
                day = str(datetime.date.fromisoformat(day) - datetime.timedelta(days=1))
            return day
    if month := re.search(r"\b(20\d\d-\d\d)(-\d\d)?\b", row["framework_version"]):
        return month[1] + (month[2] or "-15")
    if stamp := re.search(r"\bdev(\d{4})(\d\d)(\d\d)", row["framework_version"]):
        return "-".join(stamp.groups())
    if "torchao 0.10" in row["framework_version"]:
        return "2025-03-15"
    raise NotAnswerable("the day of the trainer")


def refuse(row):
    if any("graph" in rest for _, *rest in commits(row)):
        raise NotModelled("the graph trainer")
    text = " ".join(str(row[key]) for key in ("id", "compile", "quant", "activation_checkpointing", "notes", "precision", "method")).lower()
    for words, feature in (("asynctp", "asynchronous tensor parallelism"), ("async tp", "asynchronous tensor parallelism"),
                           ("fsdp1", "FSDP1, which torchtitan no longer had after this comparison"), ("simplefsdp", "SimpleFSDP"),
                           ("graph traine", "the graph trainer"), ("graphsac", "the graph trainer"), ("saveabs", "a policy that keeps the maxima of float8 casts"),
                           ("mi300", "ROCm"), ("mxfp8", "MXFP8 training"), ("nvfp4", "NVFP4 training"), ("deepep", "DeepEP")):
        if words in text and not (words == "fsdp1" and not re.search(r"fsdp1(_|$)(?!28|cp)", row["id"])):
            raise NotModelled(feature)
    if "float8" in text and row["compile"] == "no":
        raise NotModelled("float8 without compile")
    if date(row) < "2024-05-01" and (row["parallel"]["tp"] or 1) > 1:
        raise NotModelled("a model of March 2024 that folds batch and sequence")


def strategy(row, day):
    chosen = {"version": day}
    compiled = (row["compile"] or "no").lower()
    if not compiled.startswith("no"):
        chosen["compile"] = True
    if (row["loss"] or "").startswith("chunked"):
        chosen["chunked_loss"] = True
    for policy in ("always", "never"):
        if f"reshard_{policy}" in row["id"]:
            chosen["fsdp_reshard_after_forward"] = policy
    return chosen


def plan(row):
    day = date(row) if row["framework_version"] else None
    refuse(row)
    need(row, "micro_batch", "seq_len")
    parallel = row["parallel"]
    if (parallel["pp"] or 1) > 1 and not re.search(r"\d+ microbatches", str(parallel["schedule"])):
        raise NotAnswerable("micro-batches of the pipeline")
    checkpointing = row["activation_checkpointing"] or ""
    if "not stated" in checkpointing or checkpointing == "selective":
        raise NotAnswerable("activation checkpointing")
    if "default not restated" in (row["notes"] or ""):
        raise NotAnswerable("activation checkpointing (with full, not the selective that was inferred, the answer is 0.2 % off)")
    model = base_model(row, MODELS) if "deepseek_v3 16B" not in row["model"] else "{config}"
    if (parallel["ep"] or 1) > 1:
        raise NotAnswerable("how tokens are routed among the ranks that share experts")
    args = ["train", model, "--framework", "torchtitan", "--gpus", str(row["num_gpus"]), "--micro-batch-size", str(row["micro_batch"]),
            "--sequence-length", str(row["seq_len"]), "--gradient-checkpointing", "full" if checkpointing.startswith("full") else
            "selective" if checkpointing.startswith("selective") else "none", *gpu(row)]
    for key in ("tp", "cp", "pp"):
        if (parallel[key] or 1) > 1:
            args += [f"--{key}", str(parallel[key])]
    chosen = strategy(row, day)
    if (parallel["pp"] or 1) > 1:
        args += ["--schedule", parallel["schedule"].split(",")[0], "--gradient-accumulation", re.search(r"(\d+) microbatches", parallel["schedule"])[1]]
    args += ["--strategy", json.dumps(chosen)]
    environment = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"} if day >= EXPANDABLE_SINCE else {}
    rank = "max" if "max" in (row["rank"] or "") else 0
    kinds = tuple(kind for kind, there in (("inductor", "compile" in chosen), ("days", day < "2024-07-01"), ("near", (row["value"] or 0) > 75)) if there)
    figure = "peak_allocated_bytes" if "active" in row["metric"] else "peak_reserved_bytes"
    return Plan(args, figure, rank, DSV3_16B if model == "{config}" else None, environment, kinds)
