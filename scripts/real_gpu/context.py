# SPDX-License-Identifier: Apache-2.0
"""The CUDA context, and what the modules of kernels add to it: what the driver counts beyond the allocator's reserved bytes."""
import ctypes
import json

from kit import Case, first_visible


def cases(kit):
    gpu = kit.ask("gpus", kit.gpu)["gpus"][0]
    yield lambda: Case(kit.gpu, kit.child("context"), {name: gpu[name] for name in ("context_bytes", "total_bytes")},
                       {"certainty": gpu["context_certainty"]})


class Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


def driver_used():
    """Bytes in use on the GPU, by NVML, which needs no context."""
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    device, memory = ctypes.c_void_p(), Memory()
    for status in (nvml.nvmlInit_v2(), nvml.nvmlDeviceGetHandleByIndex_v2(first_visible(), ctypes.byref(device)),
                   nvml.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory))):
        if status:
            raise SystemExit(f"NVML answers {status}")
    return memory.used


def measure():
    before = driver_used()
    import torch
    figures = {}

    def note(name):
        torch.cuda.synchronize()
        figures[name] = driver_used() - before - torch.cuda.memory_reserved()

    torch.cuda.init()
    held = torch.empty(1, device="cuda")
    note("context_bytes")
    held = torch.zeros(1024, 1024, device="cuda", dtype=torch.bfloat16)
    note("with_pointwise_kernels_bytes")
    held = held @ held
    note("with_cublas_bytes")
    layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, device="cuda", dtype=torch.bfloat16)
    optimizer = torch.optim.AdamW(layer.parameters())
    layer(torch.zeros(2, 256, 512, device="cuda", dtype=torch.bfloat16)).sum().backward()
    optimizer.step()
    note("with_a_training_step_bytes")
    return {**figures, "total_bytes": torch.cuda.get_device_properties(0).total_memory}


if __name__ == "__main__":
    print(json.dumps(measure()))
