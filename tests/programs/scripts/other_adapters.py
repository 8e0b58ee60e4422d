# SPDX-License-Identifier: Apache-2.0
"""adapters.py FOLDER: peft's kinds of adapters other than LoRA, one step each."""
import sys

import peft
import torch
import transformers

kinds = (peft.IA3Config(target_modules=["k_proj", "v_proj", "down_proj"], feedforward_modules=["down_proj"]), peft.LoHaConfig(target_modules=["q_proj"]),
         peft.LoKrConfig(target_modules=["q_proj"]), peft.OFTConfig(target_modules=["q_proj"]), peft.BOFTConfig(target_modules=["q_proj"], boft_block_size=8),
         peft.VeraConfig(target_modules=["q_proj", "v_proj"]), peft.AdaLoraConfig(target_modules=["q_proj"], total_step=10),
         peft.PromptTuningConfig(num_virtual_tokens=8), peft.PrefixTuningConfig(num_virtual_tokens=8), peft.PromptEncoderConfig(num_virtual_tokens=8),
         peft.AdaptionPromptConfig(adapter_layers=2, adapter_len=4))
for kind in kinds:
    kind.task_type = "CAUSAL_LM"
    model = peft.get_peft_model(transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1] + "/llama").cuda(), kind)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    ids = torch.randint(4, 2000, (2, 64), device="cuda")
    model(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()
    print(kind.peft_type)
