# SPDX-License-Identifier: Apache-2.0
"""transformers' Trainer with its own arguments, adapters and 4-bit weights, as `memtape plan --export` has written them.

    accelerate launch --config_file accelerate.yaml trainer_loop.py --model_name_or_path MODEL --per_device_train_batch_size 2 ...

Without --data the tokens are zeros, which is enough to see time and memory.
"""
import json
from dataclasses import dataclass, field
from typing import Optional

import torch
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, HfArgumentParser, Trainer, TrainingArguments


@dataclass
class Own:
    model_name_or_path: str
    max_seq_length: int = 2048
    attn_implementation: str = "sdpa"
    dtype: str = "auto"
    peft_config: Optional[str] = field(default=None, metadata={"help": "a LoraConfig as JSON"})
    quantization_config: Optional[str] = field(default=None, metadata={"help": "a BitsAndBytesConfig as JSON"})
    data: Optional[str] = field(default=None, metadata={"help": "token ids that torch.load reads, one long row"})


class Rows(torch.utils.data.Dataset):
    def __init__(self, own):
        self.length = own.max_seq_length
        self.tokens = torch.load(own.data) if own.data else torch.zeros(1 << 22, dtype=torch.long)

    def __len__(self):
        return max(1, self.tokens.numel() // self.length)

    def __getitem__(self, index):
        ids = self.tokens[index * self.length:(index + 1) * self.length].tolist()
        return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": ids}


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    own, arguments = HfArgumentParser((Own, TrainingArguments)).parse_args_into_dataclasses()
    options = {"attn_implementation": own.attn_implementation, "dtype": own.dtype}
    if own.quantization_config:
        options["quantization_config"] = BitsAndBytesConfig(**read(own.quantization_config))
    model = AutoModelForCausalLM.from_pretrained(own.model_name_or_path, **options)
    if own.peft_config:
        from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
        if own.quantization_config and not arguments.fsdp:
            model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=arguments.gradient_checkpointing)
        model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", **read(own.peft_config)))
        if arguments.gradient_checkpointing:
            model.enable_input_require_grads()
    Trainer(model=model, args=arguments, train_dataset=Rows(own)).train()


if __name__ == "__main__":
    main()
