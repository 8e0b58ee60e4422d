# SPDX-License-Identifier: Apache-2.0
"""Runs of transformers' Trainer and of loops around peft: peft's comparison, ms-swift's examples, transformers' documents."""
import re

from .row import NotAnswerable, NotModelled, Plan, need

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


def torchtune(row):
    words = row["id"].lower()
    if row["seq_len"] is None and "init" not in words and "linear" not in words:
        raise NotAnswerable("sequence length")
    if "linear" in words or "init" in words:
        raise NotModelled("a layer or a model alone")
    if "unpacked" in words:
        raise NotAnswerable("sequence length (texts are not packed to one)")
    if "act_offload" in words or "plus_" in words:
        raise NotModelled("offloaded activations under torch.compile")
    if row["optimizer"] is None or row["activation_checkpointing"] is None:
        raise NotAnswerable(" and ".join(name for name, there in (("optimizer", row["optimizer"]), ("activation checkpointing", row["activation_checkpointing"])) if not there))
    if re.match("yes", row["compile"] or ""):
        raise NotModelled("torchtune's compiled layers and chunked loss")
    raise NotModelled("torchtune's own modules")
