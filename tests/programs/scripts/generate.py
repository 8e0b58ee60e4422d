# SPDX-License-Identifier: Apache-2.0
"""generate.py FOLDER: transformers' generate in six ways."""
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

words = AutoTokenizer.from_pretrained(sys.argv[1] + "/qwen3", padding_side="left")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1] + "/qwen3", dtype=torch.bfloat16).cuda()
small = AutoModelForCausalLM.from_pretrained(sys.argv[1] + "/llama", dtype=torch.bfloat16).cuda()
batch = words(["a b c d e f g", "h i j"], return_tensors="pt", padding=True).to("cuda")
one = words(["a b c d"], return_tensors="pt").to("cuda")
for name, prompt, way in (("greedy", batch, {}), ("sampling", batch, {"do_sample": True, "top_k": 20, "top_p": 0.9}),
                          ("beams", batch, {"num_beams": 3}), ("sampled beams", batch, {"num_beams": 2, "do_sample": True}),
                          ("static cache", one, {"cache_implementation": "static", "disable_compile": True}),
                          ("assisted", one, {"assistant_model": small})):
    print(name, tuple(model.generate(**prompt, max_new_tokens=8, **way).shape))
