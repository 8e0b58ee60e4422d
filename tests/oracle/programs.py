# SPDX-License-Identifier: Apache-2.0
"""Small torch programs with the memory_stats that a device of that kind gives them; the bytes beside each are worked out by hand.

    memtape run --gpu h100-80gb -- python programs.py

Ends with exit code 1 and the difference when a figure is another.
"""
import torch

MIB = 1 << 20
GIB = 1 << 30
failures = []


def expect(what, found, right):
    if found != right:
        failures.append("%s: %s, should be %s" % (what, found, right))


def fresh():
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()


def a_small_tensor():
    fresh()
    t = torch.empty(1, device="cuda")
    expect("a tensor of 4 bytes takes 512", torch.cuda.memory_allocated(), 512)
    expect("and its pool a segment of 2 MiB", torch.cuda.memory_reserved(), 2 * MIB)
    expect("4 bytes are requested", torch.cuda.memory_stats()["requested_bytes.all.current"], 4)
    del t


def a_large_tensor():
    fresh()
    t = torch.empty(3 * MIB, dtype=torch.uint8, device="cuda")
    expect("3 MiB come out of a segment of 20 MiB", torch.cuda.memory_reserved(), 20 * MIB)
    expect("and take 3 MiB", torch.cuda.memory_allocated(), 3 * MIB)
    u = torch.empty(11 * MIB + 1, dtype=torch.uint8, device="cuda")
    expect("11 MiB and a byte fit beside them", torch.cuda.memory_reserved(), 20 * MIB)
    expect("rounded to 512", torch.cuda.memory_allocated(), 14 * MIB + 512)
    del t, u
    expect("the peak stays", torch.cuda.max_memory_allocated(), 14 * MIB + 512)


def a_matrix_product():
    fresh()
    a = torch.empty(256, 256, device="cuda")
    before = torch.cuda.memory_allocated()
    c = a @ a
    expect("cuBLAS's workspace on capability 9.0 is 32 MiB, the product 256 KiB", torch.cuda.memory_allocated() - before,
           32 * MIB + 256 * 1024)
    del a, c
    torch._C._cuda_clearCublasWorkspaces()


def out_of_memory():
    fresh()
    total = torch.cuda.mem_get_info()[1]
    hoard = []
    try:
        while True:
            hoard.append(torch.empty(GIB, dtype=torch.uint8, device="cuda"))
    except torch.cuda.OutOfMemoryError as error:
        expect("the message names the request", "Tried to allocate 1024.00 MiB" in str(error), True)
    free = torch.cuda.mem_get_info()[0]
    expect("what was left is less than was asked for", free < GIB, True)
    expect("no tensor is too many", (len(hoard) + 1) * GIB > total - (total - free - len(hoard) * GIB), True)
    stats = torch.cuda.memory_stats()
    expect("one retry, which frees cached blocks, before the error", (stats["num_alloc_retries"], stats["num_ooms"]), (1, 1))
    del hoard[-1]
    expect("and one smaller fits again", torch.empty(GIB, dtype=torch.uint8, device="cuda").numel(), GIB)


def a_retry():
    fresh()
    free = torch.cuda.mem_get_info()[0]
    half = free // 2 // (2 * MIB) * (2 * MIB)
    cached = torch.empty(half + 2 * MIB, dtype=torch.uint8, device="cuda")
    del cached
    before = torch.cuda.memory_stats()["num_alloc_retries"]
    t = torch.empty(half + 64 * MIB, dtype=torch.uint8, device="cuda")
    expect("a cached block makes room", torch.cuda.memory_stats()["num_alloc_retries"] - before, 1)
    del t


def a_graph():
    fresh()
    x = torch.empty(MIB, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x + 1
    expect("a graph's tensors have a pool of their own", any(s["segment_pool_id"] != (0, 0)
                                                             for s in torch.cuda.memory._snapshot()["segments"]), True)
    graph.replay()
    del x, y, graph


def values():
    sent = torch.arange(100)
    expect("what was sent comes back", sent.cuda().cpu().tolist(), list(range(100)))
    expect("a mask's check is true", bool(torch.ones(4, dtype=torch.bool, device="cuda").all()), True)
    expect("an event is done", (lambda e: (e.record(), e.query())[1])(torch.cuda.Event()), True)
    expect("pinned memory is real", torch.ones(8).pin_memory().sum().item(), 8.0)


for program in (a_small_tensor, a_large_tensor, a_matrix_product, out_of_memory, a_retry, a_graph, values):
    program()
print("\n".join(failures) or "all as a device has it")
raise SystemExit(1 if failures else 0)
