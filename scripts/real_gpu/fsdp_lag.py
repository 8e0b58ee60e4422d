# SPDX-License-Identifier: Apache-2.0
"""FSDP2 on one card: how far the host runs ahead of the streams, as a peak beside that of a step that waits after each layer."""
import functools
import json
import os
import sys

from kit import LLAMA, Case


def cases(kit):
    for ahead in ("waits", "runs_ahead"):
        yield functools.partial(case_of, kit, ahead)


def case_of(kit, ahead):
    folder = kit.model(LLAMA)
    answer = kit.ask("train", folder, "--framework", "fsdp2", "--gpu", kit.gpu, "--micro-batch-size", 2, "--sequence-length", 1024,
                     "--with", kit.releases)
    return Case(f"fsdp2 {ahead}", kit.child("fsdp_lag", folder, ahead), answer["ranks"][0], {"config": LLAMA})


def measure(folder, ahead):
    import torch
    import torch.distributed as dist
    from torch.distributed.fsdp import fully_shard
    from transformers import AutoConfig, AutoModelForCausalLM
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="29555", RANK="0", WORLD_SIZE="1", LOCAL_RANK="0")
    dist.init_process_group("nccl")
    torch.cuda.set_device(0)
    config = AutoConfig.from_pretrained(folder, use_cache=False)
    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(config, torch_dtype=torch.bfloat16)
    for layer in model.model.layers:
        fully_shard(layer)
        if ahead == "waits":
            layer.register_forward_hook(lambda *_: torch.cuda.synchronize())
            layer.register_full_backward_hook(lambda *_: torch.cuda.synchronize())
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    ids = torch.zeros(2, 1024, dtype=torch.long, device="cuda")
    for _ in range(3):
        torch.cuda.reset_peak_memory_stats()
        model(input_ids=ids, labels=ids).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    stats = torch.cuda.memory_stats()
    dist.destroy_process_group()
    return {f"peak_{kind}_bytes": stats[f"{kind}_bytes.all.peak"] for kind in ("allocated", "reserved")}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], sys.argv[2])))
