# SPDX-License-Identifier: Apache-2.0
"""mixture.py FOLDER EXPERTS: Mixtral with Trainer, experts one by one (eager) or by grouped products (grouped_mm)."""
import sys

import torch
from datasets import Dataset
from transformers import MixtralForCausalLM, Trainer, TrainingArguments

model = MixtralForCausalLM.from_pretrained(sys.argv[1] + "/mixtral", dtype=torch.bfloat16, experts_implementation=sys.argv[2])
rows = torch.randint(4, 2000, (16, 128)).tolist()
arguments = TrainingArguments("out/mixture", per_device_train_batch_size=2, max_steps=3, bf16=True, report_to="none")
Trainer(model, arguments, train_dataset=Dataset.from_dict({"input_ids": rows, "labels": rows})).train()
