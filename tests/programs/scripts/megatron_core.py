# SPDX-License-Identifier: Apache-2.0
"""Megatron-core's own model, optimizer and schedule on one GPU, as its smallest example has them."""
import os

import torch
from megatron.core import parallel_state, tensor_parallel
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.pipeline_parallel.schedules import get_forward_backward_func
from megatron.core.transformer.module import Float16Module
from megatron.core.transformer.transformer_config import TransformerConfig

for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "29511"}.items():
    os.environ.setdefault(name, value)
torch.cuda.set_device(0)
torch.distributed.init_process_group("nccl")
parallel_state.initialize_model_parallel(1, 1)
tensor_parallel.model_parallel_cuda_manual_seed(1)
config = TransformerConfig(num_layers=2, hidden_size=256, num_attention_heads=4, pipeline_dtype=torch.bfloat16, bf16=True, params_dtype=torch.bfloat16,
                           recompute_granularity="full", recompute_method="uniform", recompute_num_layers=1)
model = GPTModel(config=config, transformer_layer_spec=get_gpt_layer_local_spec(), vocab_size=1024, max_sequence_length=128).cuda()
model = Float16Module(config, model)
model = DistributedDataParallel(config, DistributedDataParallelConfig(use_distributed_optimizer=True), model)
optimizer = get_megatron_optimizer(OptimizerConfig(optimizer="adam", lr=1e-4, bf16=True, params_dtype=torch.bfloat16, use_distributed_optimizer=True), [model])


def forward(batches, model):
    ids = next(batches)
    losses = model(ids, torch.arange(128, device="cuda").expand(2, -1), torch.ones(2, 1, 128, 128, dtype=torch.bool, device="cuda").triu(1), labels=ids)
    return losses, lambda out: (out.float().mean(), {"loss": out.float().mean().detach()})


for _ in range(3):
    model.zero_grad_buffer()
    optimizer.zero_grad()
    batches = iter([torch.randint(0, 1024, (2, 128), device="cuda") for _ in range(2)])
    get_forward_backward_func()(forward_step_func=forward, data_iterator=batches, model=model, num_microbatches=2, seq_length=128,
                                micro_batch_size=2, decoder_seq_length=128, forward_only=False)
    optimizer.step()
torch.distributed.destroy_process_group()
