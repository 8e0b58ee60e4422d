# SPDX-License-Identifier: Apache-2.0
"""Calls that a type checker accepts."""
from typing import Mapping, Tuple

import memtape
from memtape import answers

trained: answers.TrainAnswer = memtape.train("Qwen/Qwen3-8B", gpu="rtx-4090", micro_batch_size=2, sequence_length="8k", precision="bf16", zero=3)
peak: int = trained.peak
held: Mapping[str, int] = trained.at_peak
memtape.train("Qwen/Qwen3-8B", framework="transformers", gradient_checkpointing="full", max_grad_norm="none", learning_rate=1e-4)
memtape.train({"model_type": "llama"}, lora_rank=16, lora_targets=["q_proj", "v_proj"], with_="torch==2.8.0")
memtape.train("Qwen/Qwen3-8B", config={"model_type": "llama"}, quantization={"load_in_4bit": True})
solved: answers.QuestionAnswer = memtape.train("Qwen/Qwen3-8B", gpu="l4", solve="micro-batch-size")
served: answers.ServeAnswer = memtape.serve("Qwen/Qwen3-8B", engine="vllm", gpu="l4", max_model_len=4096)
compared: answers.CompareAnswer = memtape.serve("Qwen/Qwen3-8B", compare="l4,a10")
fits: bool = memtape.fits("Qwen/Qwen3-8B", "l4", lora_rank=8)
served_fits: bool = memtape.fits("Qwen/Qwen3-8B", "l4", engine="vllm")
plan: answers.PlanAnswer = memtape.plan_train("Qwen/Qwen3-8B", gpu="h100-80gb", gpus=8, tp=[1, 2, 4])
best: int = plan.plans[0].gpus
servers: answers.PlanAnswer = memtape.plan_serve("Qwen/Qwen3-8B", gpu="l4", gpus=2, users=10)
explained: answers.Explanation = memtape.explain("oom.log")
advice: Tuple[str, ...] = tuple(one.change for one in explained.advice or ())
known: int = len(memtape.models())
swept = memtape.sweep(memtape.train, "Qwen/Qwen3-8B", gpu=["l4", "a10"], micro_batch_size=[1, 2])
rows: int = len(swept)
