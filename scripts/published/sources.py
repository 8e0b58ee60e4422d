# SPDX-License-Identifier: Apache-2.0
"""Which file maps the rows of a source, by the beginning of their ids."""
from . import fms_acceleration, fsdp_programs, litgpt, others, qwen, torchtitan, trainers
from .row import NotAnswerable, NotModelled, need  # noqa: F401

SOURCES = {
    "fms-acceleration": ("fms-acceleration's benchmarks", fms_acceleration.plan),
    "torchtitan": ("torchtitan and torchao", torchtitan.plan),
    "litgpt": ("litgpt", litgpt.plan),
    "fsdp_qlora": ("fsdp_qlora", fsdp_programs.fsdp_qlora),
    "atorch": ("ATorch", fsdp_programs.atorch),
    "llama-cookbook": ("llama-recipes", fsdp_programs.llama_recipes),
    "qwen_readme": ("Qwen's README", qwen.plan),
    "peft": ("peft", trainers.peft),
    "hf_docs": ("transformers' documents", trainers.hf_docs),
    "torchtune": ("torchtune", trainers.torchtune),
    "torchao": ("torchao's optimizers under torchtune", trainers.torchtune),
    "ms-swift": ("ms-swift", trainers.swift),
    "megatron-wild": ("Megatron-LM, by others", others.megatron),
    "zero-bubble": ("Megatron-LM's zero-bubble fork", others.megatron),
    "megatron-bridge": ("Megatron-Bridge", others.bridge),
    "llm.c": ("llm.c", others.llmc),
    "deepspeed": ("DeepSpeed", others.deepspeed),
}


def source_of(row):
    """Its name on the page, and the function that maps its rows."""
    start = row["id"].split("/")[0]
    return SOURCES.get(start, (row["framework"], others.nothing))
