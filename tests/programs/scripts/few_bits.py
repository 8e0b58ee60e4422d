# SPDX-License-Identifier: Apache-2.0
"""few_bits.py FOLDER: a model in nf4 by bitsandbytes, LoRA on it, the paged optimizer in 8 bits."""
import sys

import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments

bits = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16, bnb_4bit_use_double_quant=True)
base = AutoModelForCausalLM.from_pretrained(sys.argv[1] + "/llama", quantization_config=bits, device_map={"": 0})
model = get_peft_model(prepare_model_for_kbit_training(base), LoraConfig(r=8, target_modules="all-linear", task_type="CAUSAL_LM"))
rows = torch.randint(4, 2000, (16, 128)).tolist()
arguments = TrainingArguments("out/bits", per_device_train_batch_size=2, max_steps=3, optim="paged_adamw_8bit", bf16=True, report_to="none")
Trainer(model, arguments, train_dataset=Dataset.from_dict({"input_ids": rows, "labels": rows})).train()
