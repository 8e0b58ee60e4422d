# SPDX-License-Identifier: Apache-2.0
"""compiled.py FOLDER: a compiled Qwen3, its loss over the tokens that a mask keeps."""
import sys

import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained(sys.argv[1] + "/qwen3", dtype=torch.bfloat16).cuda()
run = torch.compile(model.model)
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
for _ in range(3):
    ids = torch.randint(4, 2000, (2, 128))
    ids[1, 100:] = 3
    ids = ids.cuda()
    kept = ids != 3
    hidden = run(input_ids=ids).last_hidden_state
    logits = model.lm_head(hidden[kept])
    torch.nn.functional.cross_entropy(logits.float(), ids[kept]).backward()
    optimizer.step()
    optimizer.zero_grad()
