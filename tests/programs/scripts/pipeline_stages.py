# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed's pipeline engine, two stages."""
import deepspeed
import torch
from deepspeed.pipe import LayerSpec, PipelineModule

deepspeed.init_distributed()
layers = [layer for _ in range(4) for layer in (LayerSpec(torch.nn.Linear, 256, 256), LayerSpec(torch.nn.GELU))]
model = PipelineModule(layers, loss_fn=torch.nn.MSELoss(), num_stages=2, partition_method="uniform", activation_checkpoint_interval=1)
engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=[p for p in model.parameters() if p.requires_grad], config={
    "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4, "optimizer": {"type": "Adam", "params": {"lr": 1e-3, "torch_adam": True}}})
rows = iter([(torch.randn(4, 256), torch.randn(4, 256))] * 64)
for _ in range(3):
    engine.train_batch(rows)
