# SPDX-License-Identifier: Apache-2.0
"""The workspaces of cuDNN's attention: what a call takes beyond its results, forward and backward, by shape [B, H, S, D]."""
import json
import sys

from kit import Case, LeftOut

SHAPES = ["2,16,1024,64", "2,16,2048,64", "1,32,4096,128", "4,32,2048,128", "1,16,8192,128", "2,12,1536,96"]


def cases(kit):
    if kit.phantom:
        raise LeftOut("cuDNN does not run on a phantom GPU")
    for shape in SHAPES:
        yield lambda of=shape: Case(of, kit.child("cudnn_attention", of), {}, {"shape": of, "dtype": "bf16", "causal": True})


def measure(shape):
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    query, key, value = (torch.zeros(shape, dtype=torch.bfloat16, device="cuda", requires_grad=True) for _ in range(3))

    def extra(call, kept):
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        result = call()
        beyond = torch.cuda.max_memory_allocated() - before - sum(t.numel() * t.element_size() for t in kept(result))
        return result, beyond

    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        out, forward = extra(lambda: torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True), lambda out: [out])
    grad = torch.zeros_like(out)
    _, backward = extra(lambda: out.backward(grad), lambda _: [query.grad, key.grad, value.grad])
    return {"forward_beyond_output_bytes": forward, "backward_beyond_gradients_bytes": backward}


if __name__ == "__main__":
    print(json.dumps(measure([int(size) for size in sys.argv[1].split(",")])))
