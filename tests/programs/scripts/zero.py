# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed's own engine under its own launcher, ZeRO-3 on two GPUs."""
import deepspeed
import torch

config = {"train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": True}, "zero_optimization": {"stage": 3}, "gradient_clipping": 1.0,
          "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True}}}
with deepspeed.zero.Init(config_dict_or_path=config):
    model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU()) for _ in range(4)])
engine, *_ = deepspeed.initialize(model=model, config=config, model_parameters=model.parameters())
for _ in range(3):
    engine.backward(engine(torch.randn(4, 256, device=engine.device, dtype=torch.bfloat16)).float().square().mean())
    engine.step()
engine.save_checkpoint("out/zero")
