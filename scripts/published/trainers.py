# SPDX-License-Identifier: Apache-2.0
"""Runs of transformers' Trainer and of loops around peft: peft's comparison, ms-swift's examples, transformers' documents."""
import json

from .row import NotAnswerable, NotModelled, Plan, gpu, need

ADAPTERS = {"boft": "BOFT", "loha": "LoHa", "lokr": "LoKr", "prompt": "prompt tuning", "osf": "OSF", "lora-fa_r32": "LoRA-FA", "ia3": "(IA)3",
            "vera": "VeRA", "oft": "OFT", "ln_tuning": "LayerNorm tuning", "randlora": "RandLora", "vblora": "VB-LoRA", "fourierft": "FourierFT",
            "shira": "SHiRA", "miss": "MiSS", "c3a": "C3A", "bone": "Bone", "adaption": "adaption prompt", "prefix": "prefix tuning",
            "p_tuning": "P-tuning", "trainable": "trainable tokens", "road": "RoAd", "waveft": "WaveFT", "cartridge": "cartridges"}


def peft(row):
    if "metamathqa" in row["id"]:
        name = row["id"].split("/")[-1]
        for words, feature in ADAPTERS.items():
            if name.startswith(words):
                raise NotModelled(f"adapters of kind {feature}")
        raise NotAnswerable("the longest batch, and the evaluation's generation within the same peak")
    need(row, "micro_batch", "seq_len")
    raise NotAnswerable("what was counted")


def swift(row):
    raise NotAnswerable("lengths of the sequences, and what was counted (the script says approximately)")


def hf_docs(row):
    if "weights_only" in row["id"]:
        return Plan(["train", "google-bert/bert-large-uncased", "--task", "sequence-classification", "--weights", "fp32", "--precision", "fp32",
                     "--optimizer", "sgd", "--micro-batch-size", "1", "--sequence-length", "8", "--gpu", "v100-16gb"],
                    "parameter_bytes", kinds=("context",), beside=1343 << 20)  # nvidia-smi, with the context and kernels that it says were there before
    need(row, "micro_batch", "seq_len")
    batch = str(row["micro_batch"])
    args = ["train", "google-bert/bert-large-uncased", "--task", "sequence-classification", "--framework", "transformers", "--per_device_train_batch_size", batch,
            "--sequence-length", str(row["seq_len"]), "--gpu", "v100-16gb", "--attention", "eager", "--context-bytes", str(1343 << 20),
            "--with", "transformers==4.45.0"]
    words = row["id"].lower()
    if "fp16" in words:
        args += ["--fp16", "true"]
    if "accum" in words:
        args += ["--gradient_accumulation_steps", str(row["grad_accum"])]
    if "checkpoint" in words or "gc" in words:
        args += ["--gradient_checkpointing", "true"]
    args += ["--optim", "adafactor" if "adafactor" in words else "adamw_bnb_8bit" if "8bit" in words else "adamw_torch"]
    return Plan(args, "peak_device_bytes", kinds=("counter",))


def torchtune_levers(row):
    """README's table of optimization flags: full_finetune_single_device with each flag on top of those before it; LoRA without optimizers in
    backward and with torch's AdamW. It came in November 2024, when torchtune 0.4.0 and PyTorch 2.5.1 were the newest."""
    words = row["id"].split("/")[-1]
    strategy = {"version": "0.4.0", "packed": True, "compile": True}
    args = ["train", row["model"], "--framework", "torchtune", "--micro-batch-size", str(row["micro_batch"]), "--sequence-length", str(row["seq_len"]),
            "--with", "torch==2.5.1,bitsandbytes==0.44.1", *gpu(row)]
    if "none" not in row["activation_checkpointing"]:
        args += ["--gradient-checkpointing", "full"]
        strategy["enable_activation_offloading"] = True
    if row["lora"]:
        args += ["--lora-rank", str(row["lora"]["r"]), "--lora-targets", ",".join(row["lora"]["targets"]), "--optimizer-impl", "fused"]
    elif "plus_" in words:
        strategy["optimizer_in_bwd"] = True
    if "8bit" in words:
        strategy["optimizer"] = "bitsandbytes.optim.AdamW8bit"
    kinds = ("states",) if "8bit" in words else ()
    return Plan([*args, "--strategy", json.dumps(strategy)], kinds=kinds)


def torchtune(row):
    words = row["id"].lower()
    if row["seq_len"] is None and "init" not in words and "linear" not in words:
        raise NotAnswerable("sequence length")
    if "linear" in words or "init" in words:
        raise NotModelled("a layer or a model alone")
    if "unpacked" in words:
        raise NotAnswerable("sequence length (texts are not packed to one)")
    if row["quant"] and "levers" in words:
        raise NotModelled("torchao's NF4 weights")
    if row["optimizer"] is None or row["activation_checkpointing"] is None:
        raise NotAnswerable(" and ".join(name for name, there in (("optimizer", row["optimizer"]), ("activation checkpointing", row["activation_checkpointing"])) if not there))
    if "levers" not in words:  # README's other table is of September 2024
        raise NotModelled("torchtune's models compiled as a whole, before PyTorch 2.5")
    return torchtune_levers(row)
