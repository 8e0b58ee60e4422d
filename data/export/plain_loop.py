# SPDX-License-Identifier: Apache-2.0
"""A training loop of plain PyTorch: one GPU, DDP, FSDP1, FSDP2 or DeepSpeed, as `memtape plan --export` has written its options.

    torchrun --nproc-per-node 8 plain_loop.py --model MODEL --framework fsdp2 --micro-batch-size 2 --global-batch-size 64 ...

Arguments are those of `memtape train`, by the same names. Without --data the tokens are zeros, which is enough to see time and memory.
"""
import argparse
import contextlib
import fnmatch
import json
import os

import torch
import torch.distributed as dist
from transformers import AutoConfig, AutoModelForCausalLM

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
AUTOCAST = {"amp-bf16": torch.bfloat16, "amp-fp16": torch.float16}
OPTIMIZERS = {"adamw": "AdamW", "adam": "Adam", "sgd": "SGD", "sgd-momentum": "SGD", "adagrad": "Adagrad", "rmsprop": "RMSprop",
              "adafactor": "Adafactor", "adamax": "Adamax", "nadam": "NAdam"}


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True)
    p.add_argument("--framework", default="torch", choices=["torch", "ddp", "fsdp1", "fsdp2", "deepspeed"])
    p.add_argument("--micro-batch-size", type=int, default=1)
    p.add_argument("--global-batch-size", type=int)
    p.add_argument("--sequence-length", type=int, default=2048)
    p.add_argument("--gradient-checkpointing", default="none", choices=["none", "full"])
    p.add_argument("--precision", default="bf16", choices=["fp32", "bf16", "fp16", "amp-bf16", "amp-fp16"])
    p.add_argument("--weights", choices=list(DTYPES))
    p.add_argument("--attention", default="sdpa", choices=["sdpa", "eager", "flash"])
    p.add_argument("--optimizer", default="adamw", choices=list(OPTIMIZERS))
    p.add_argument("--optimizer-impl", default="foreach", choices=["fused", "foreach", "for-loop"])
    p.add_argument("--max-grad-norm", default="1")
    p.add_argument("--lora-rank", type=int)
    p.add_argument("--lora-targets")
    p.add_argument("--lora-dropout", type=float, default=0.0)
    p.add_argument("--freeze", action="append", default=[])
    p.add_argument("--init-device", default="cuda", choices=["cuda", "cpu", "meta"])
    p.add_argument("--offload", default="none", choices=["none", "all"])
    p.add_argument("--strategy", default="{}", help="JSON, or a file of it")
    p.add_argument("--compile", action="store_true")
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--learning-rate", type=float, default=1e-4)
    p.add_argument("--data", help="a file of token ids that torch.load reads, one long row")
    return p.parse_args()


def strategy_of(a):
    text = a.strategy
    if not text.lstrip().startswith("{"):
        with open(text, encoding="utf-8") as file:
            text = file.read()
    return json.loads(text)


def build_model(a):
    config = AutoConfig.from_pretrained(a.model)
    config.use_cache = False
    weights = a.weights or {"bf16": "bf16", "fp16": "fp16"}.get(a.precision, "fp32")
    attention = {"flash": "flash_attention_2"}.get(a.attention, a.attention)
    with torch.device(a.init_device):
        model = AutoModelForCausalLM.from_config(config, attn_implementation=attention, dtype=DTYPES[weights])
    model.train()
    if a.lora_rank:
        from peft import LoraConfig, get_peft_model
        targets = a.lora_targets if a.lora_targets in (None, "all-linear") else a.lora_targets.split(",")
        model = get_peft_model(model, LoraConfig(r=a.lora_rank, lora_alpha=2 * a.lora_rank, lora_dropout=a.lora_dropout,
                                                 target_modules=targets, task_type="CAUSAL_LM"))
    for pattern in a.freeze:
        for name, parameter in model.named_parameters():
            if fnmatch.fnmatch(name, pattern):
                parameter.requires_grad_(False)
    if a.gradient_checkpointing == "full":
        model.gradient_checkpointing_enable()
        if a.lora_rank:
            model.enable_input_require_grads()
    return model


def layers_of(model):
    """The longest list of modules: the decoder's layers."""
    lists = [m for m in model.modules() if isinstance(m, torch.nn.ModuleList)]
    return max(lists, key=len)


def on_gpu(model, a):
    if a.init_device != "meta":
        return model.to("cuda")
    model.to_empty(device="cuda")
    model.tie_weights()
    initialize(model)
    return model


def initialize(model):
    """What from_config would have drawn: replace by the loading of a checkpoint where one is trained on."""
    for parameter in model.parameters():
        with torch.no_grad():
            parameter.normal_(0.0, 0.02) if parameter.dim() > 1 else parameter.fill_(1.0)


def wrapped_in_fsdp2(model, a, strategy):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
    options = {}
    if "mixed_precision" in strategy:
        mixed = {k: DTYPES[v] if isinstance(v, str) else v for k, v in strategy["mixed_precision"].items()}
        options["mp_policy"] = MixedPrecisionPolicy(**mixed)
    if "mesh" in strategy:
        options["mesh"] = init_device_mesh("cuda", tuple(strategy["mesh"]), mesh_dim_names=("replicate", "shard"))
    if "reshard_after_forward" in strategy:
        options["reshard_after_forward"] = strategy["reshard_after_forward"]
    if a.offload == "all" or strategy.get("cpu_offload"):
        options["offload_policy"] = CPUOffloadPolicy()
    if a.init_device == "cuda":
        model.to("cuda")
    for layer in layers_of(model):
        fully_shard(layer, **options)
    fully_shard(model, **options)
    if a.init_device == "meta":
        model.to_empty(device="cpu" if "offload_policy" in options else "cuda")
        model.tie_weights()
        initialize(model)
    return model


def wrapped_in_fsdp1(model, a, strategy):
    from torch.distributed.fsdp import CPUOffload, FullyShardedDataParallel, MixedPrecision, ShardingStrategy
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    options = {}
    if "mixed_precision" in strategy:
        options["mixed_precision"] = MixedPrecision(**{k: DTYPES[v] for k, v in strategy["mixed_precision"].items()})
    if "sharding_strategy" in strategy:
        options["sharding_strategy"] = ShardingStrategy[strategy["sharding_strategy"]]
    if a.offload == "all":
        options["cpu_offload"] = CPUOffload(offload_params=True)
    if a.init_device == "meta":
        options["param_init_fn"] = lambda module: module.to_empty(device="cuda", recurse=False)
    return FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({type(layers_of(model)[0])}),
                                    device_id=torch.cuda.current_device(), use_orig_params=strategy.get("use_orig_params", True), **options)


def wrapped(model, a, strategy):
    if a.framework == "torch":
        return on_gpu(model, a)
    if a.framework == "ddp":
        return torch.nn.parallel.DistributedDataParallel(on_gpu(model, a), **strategy)
    return wrapped_in_fsdp2(model, a, strategy) if a.framework == "fsdp2" else wrapped_in_fsdp1(model, a, strategy)


def build_optimizer(parameters, a):
    how = {"fused": True} if a.optimizer_impl == "fused" else {"foreach": a.optimizer_impl == "foreach"}
    if a.optimizer == "sgd-momentum":
        how["momentum"] = 0.9
    return getattr(torch.optim, OPTIMIZERS[a.optimizer])(parameters, lr=a.learning_rate, **how)


def batch(a, data, at):
    rows, length = a.micro_batch_size, a.sequence_length
    if data is None:
        ids = torch.zeros(rows, length, dtype=torch.long, device="cuda")
    else:
        start = at * rows * length % max(1, data.numel() - rows * length)
        ids = data[start:start + rows * length].view(rows, length).to("cuda", torch.long)
    return {"input_ids": ids, "labels": ids.clone() if a.framework == "torch" else ids}


def batches(a):
    data = torch.load(a.data) if a.data else None
    rank, ranks = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    at = rank
    while True:
        yield batch(a, data, at)
        at += ranks


def reduces_each(a):
    """Whether the strategy has the gradients of every micro-batch go over the ranks, in place of those of a step's last one."""
    strategy = strategy_of(a)
    return strategy.get("requires_gradient_sync", False) or not strategy.get("no_sync", True)


def synchronised(model, a, last):
    """Gradients go over the ranks in a step's last micro-batch."""
    if a.framework == "fsdp2":
        model.set_requires_gradient_sync(last)
        return contextlib.nullcontext()
    return contextlib.nullcontext() if last or a.framework == "torch" else model.no_sync()


def clip(model, a):
    if a.max_grad_norm == "none":
        return
    if a.framework == "fsdp1":
        model.clip_grad_norm_(float(a.max_grad_norm))
    else:
        torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], float(a.max_grad_norm), foreach=True)


def train(a, ranks):
    model = wrapped(build_model(a), a, strategy_of(a))
    torch.cuda.empty_cache()
    optimizer = build_optimizer([p for p in model.parameters() if p.requires_grad], a)
    called = torch.compile(model) if a.compile else model
    scaler = torch.amp.GradScaler("cuda") if a.precision == "amp-fp16" else None
    accumulation = max(1, (a.global_batch_size or a.micro_batch_size * ranks) // (a.micro_batch_size * ranks))
    source, each = batches(a), reduces_each(a)
    for step in range(a.steps):
        for micro in range(accumulation):
            data = next(source)
            amp = torch.autocast("cuda", dtype=AUTOCAST[a.precision]) if a.precision in AUTOCAST else contextlib.nullcontext()
            with synchronised(model, a, each or micro == accumulation - 1):
                with amp:
                    loss = called(**data).loss
                if accumulation > 1:
                    loss = loss / accumulation
                (scaler.scale(loss) if scaler else loss).backward()
            del loss
            if a.framework != "torch":
                del data
        if scaler:
            scaler.unscale_(optimizer)
        clip(model, a)
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        data = None
        report(step)


def train_with_deepspeed(a, ranks):
    import deepspeed
    config = strategy_of(a)
    config.setdefault("train_micro_batch_size_per_gpu", a.micro_batch_size)
    model = build_model(a)
    options = {"config": config, "model": model}
    if "optimizer" not in config:
        options["optimizer"] = build_optimizer([p for p in model.parameters() if p.requires_grad], a)
    engine = deepspeed.initialize(**options)[0]
    source = batches(a)
    for step in range(a.steps):
        for _ in range(engine.gradient_accumulation_steps()):
            data = next(source)
            loss = engine(**data).loss
            engine.backward(loss)
            del loss
            engine.step()
        del data
        report(step)


def report(step):
    if not dist.is_initialized() or dist.get_rank() == 0:
        print("step %d: %.2f GiB at most allocated, %.2f GiB reserved" % (
            step, torch.cuda.max_memory_allocated() / 2**30, torch.cuda.max_memory_reserved() / 2**30), flush=True)


def main():
    a = arguments()
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    ranks = 1
    if a.framework == "deepspeed":
        import deepspeed
        deepspeed.init_distributed()
    elif a.framework != "torch":
        dist.init_process_group("nccl")
    if dist.is_initialized():
        ranks = dist.get_world_size()
    (train_with_deepspeed if a.framework == "deepspeed" else train)(a, ranks)
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
