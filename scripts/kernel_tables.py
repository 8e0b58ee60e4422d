#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes data/kernels.txt: how much of a GPU's data sheet its kernels reach, from measured kernels.

    scripts/kernel_tables.py SYSTEMS data/kernels.txt     SYSTEMS: aic-core/src/aiconfigurator_core/systems of a checkout of
                                                         github.com/ai-dynamo/aiconfigurator (Apache-2.0); needs pyarrow and numpy

Of each GPU and dtype the newest release of each server counts; of equal products and experts the fastest, of other kernels the median. What is kept is time over the
roofline, max(operations / peak, bytes / bandwidth), by shape; no measured training or serving run is read.
"""
import collections
import json
import pathlib
import re
import sys

import numpy as np
import pyarrow.parquet as pq

GPUS = {"a100_sxm": "a100-80gb", "h100_sxm": "h100-80gb", "h200_sxm": "h200-141gb", "b200_sxm": "b200-180gb", "b300_sxm": "b300-288gb",
        "gb200": "gb200", "gb300": "gb300", "l40s": "l40s", "rtx_pro_6000_server": "rtx-pro-6000"}
M = [1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768]
NK = [256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536]
GEMM = {"bfloat16": "bf16", "fp8": "fp8", "fp8_block": "fp8_block", "nvfp4": "nvfp4"}
MOE = {"bfloat16": "bf16", "float16": "bf16", "fp8": "fp8", "fp8_block": "fp8_block", "nvfp4": "nvfp4", "w4a16_mxfp4": "w4a16", "int4_wo": "w4a16",
       "w4a8_mxfp4_mxfp8": "w4a8", "w4a8_mxfp4_fp8": "w4a8"}
BYTES = {"bf16": 2.0, "fp8": 1.0, "fp8_block": 1.0, "nvfp4": 0.5625, "w4a16": 0.53125, "w4a8": 0.53125}
PEAK = {"bf16": "tflops_bf16_dense", "fp8": "tflops_fp8_dense", "fp8_block": "tflops_fp8_dense", "nvfp4": "tflops_fp4_dense",
        "w4a16": "tflops_bf16_dense", "w4a8": "tflops_fp8_dense"}


def version_key(path):
    return [int(x) for x in re.findall(r"\d+", path.parent.name)]


def newest(root, system, area, file):
    """The newest table of each server, as dictionaries of columns."""
    by_server = collections.defaultdict(list)
    for path in root.glob(f"data/{system}/{area}/*/*/{file}"):
        if path.stat().st_size > 1000:
            by_server[path.parent.parent.name].append(path)
    for paths in by_server.values():
        yield pq.read_table(max(paths, key=version_key)).to_pydict()


def gemm(root, system, gpu):
    for dtype, name in GEMM.items():
        peak = gpu.get(PEAK[name], 0) * 1e12
        bandwidth = gpu["memory_bandwidth_gb_s"] * 1e9
        by_shape = collections.defaultdict(list)
        for t in newest(root, system, "gemm", "gemm_perf.parquet"):
            for d, m, n, k, latency in zip(t["gemm_dtype"], t["m"], t["n"], t["k"], t["latency"]):
                if d == dtype and int(m) in M and int(n) in NK and int(k) in NK:
                    by_shape[int(m), int(n), int(k)].append(float(latency) * 1e-3)
        if not by_shape or not peak:
            continue
        table = np.full((len(M), len(NK), len(NK)), np.nan)
        for (m, n, k), seconds in by_shape.items():
            b = BYTES[name]
            roof = max(2 * m * n * k / peak, (m * k * b + n * k * b + 2 * m * n) / bandwidth)
            table[M.index(m), NK.index(n), NK.index(k)] = roof / min(seconds)
        known = np.argwhere(~np.isnan(table))
        for place in np.argwhere(np.isnan(table)):  # a shape that nobody measured: as the nearest
            distance = np.abs(known - place).sum(axis=1)
            near = known[distance == distance.min()]
            table[tuple(place)] = np.median([table[tuple(x)] for x in near if not np.isnan(table[tuple(x)])])
        for i, m in enumerate(M):
            yield f"gemm {gpu['id']} {name} {m} " + " ".join(str(max(1, round(1000 * x))) for x in table[i].flatten())


def median_by(pairs, low, high):
    """The median of the values of each key from low to high; what lacks values is as its neighbour below, else above."""
    by = collections.defaultdict(list)
    for key, value in pairs:
        by[min(max(key, low), high)].append(value)
    known = sorted(by)
    out = []
    for key in range(low, high + 1):
        nearest = min(known, key=lambda x: (abs(x - key), x))
        out.append(float(np.median(by[nearest])))
    return out


def context_attention(root, system, gpu):
    for dim in (64, 128, 256):
        pairs = []
        for t in newest(root, system, "attention", "context_attention_perf.parquet"):
            for b, s, h, d, kv, dtype, w, step, latency in zip(t["batch_size"], t["isl"], t["num_heads"], t["head_dim"], t["kv_cache_dtype"],
                                                               t.get("attn_dtype", ["bfloat16"] * len(t["isl"])), t.get("window_size", [0] * len(t["isl"])),
                                                               t["step"], t["latency"]):
                if int(d) == dim and kv == "bfloat16" and dtype in ("bfloat16", "float16") and int(w) == 0 and int(step) == 0 and int(b) * int(h) >= 32 and int(s) >= 64:
                    flops = 2.0 * int(b) * int(h) * float(s) ** 2 * dim
                    pairs.append((round(np.log2(int(s))), flops / (float(latency) * 1e-3) / (gpu["tflops_bf16_dense"] * 1e12)))
        if pairs:
            yield f"context {gpu['id']} {dim} " + " ".join(str(max(1, round(1000 * x))) for x in median_by(pairs, 6, 14))


def generation_attention(root, system, gpu):
    pairs = []
    for t in newest(root, system, "attention", "generation_attention_perf.parquet"):
        for b, h, g, d, kv, w, step, latency in zip(t["batch_size"], t["num_heads"], t["num_key_value_heads"], t["head_dim"], t["kv_cache_dtype"],
                                                    t.get("window_size", [0] * len(t["step"])), t["step"], t["latency"]):
            if int(d) == 128 and kv == "bfloat16" and int(w) == 0:
                size = 2.0 * 2 * int(b) * (int(g) or int(h)) * 128 * (int(step) + 1)
                pairs.append((round(np.log2(size)), size / (float(latency) * 1e-3) / (gpu["memory_bandwidth_gb_s"] * 1e9)))
    if pairs:
        yield f"generation {gpu['id']} " + " ".join(str(max(1, round(10000 * x))) for x in median_by(pairs, 14, 34))


def latent_attention(root, system, gpu):
    """Of DeepSeek's latent attention: the context's by length, a step's by bytes read and by operations."""
    pairs = []
    for t in newest(root, system, "mla", "context_mla_perf.parquet"):
        for b, s, h, kv, step, latency in zip(t["batch_size"], t["isl"], t["num_heads"], t["kv_cache_dtype"], t["step"], t["latency"]):
            if kv == "bfloat16" and int(step) == 0 and int(b) * int(h) >= 32 and int(s) >= 64:
                flops = int(b) * int(h) * float(s) ** 2 * (192 + 128)
                pairs.append((round(np.log2(int(s))), flops / (float(latency) * 1e-3) / (gpu["tflops_bf16_dense"] * 1e12)))
    if pairs:
        yield f"latent_context {gpu['id']} " + " ".join(str(max(1, round(1000 * x))) for x in median_by(pairs, 6, 14))
    pairs = []
    for t in newest(root, system, "mla", "generation_mla_perf.parquet"):
        for b, h, kv, step, latency in zip(t["batch_size"], t["num_heads"], t["kv_cache_dtype"], t["step"], t["latency"]):
            if kv == "bfloat16":
                size = 2.0 * int(b) * 576 * (int(step) + 1)
                flops = 2.0 * int(b) * int(h) * (576 + 512) * (int(step) + 1)
                roof = max(size / (gpu["memory_bandwidth_gb_s"] * 1e9), flops / (gpu["tflops_bf16_dense"] * 1e12))
                pairs.append((round(np.log2(roof * 1e9)), roof / (float(latency) * 1e-3)))
    if pairs:
        yield f"latent_generation {gpu['id']} " + " ".join(str(max(1, round(10000 * x))) for x in median_by(pairs, 4, 22))


def experts(root, system, gpu):
    """By tokens of one expert and by the roofline's length in powers of 4 microseconds, tokens spread as evenly as they can be or by a power law."""
    for dtype in sorted(set(MOE.values())):
        peak, bandwidth = gpu.get(PEAK[dtype], 0) * 1e12, gpu["memory_bandwidth_gb_s"] * 1e9
        for spread in ("balanced", "power_law_1.2"):
            best = {}
            for t in newest(root, system, "moe", "moe_perf.parquet"):
                for d, tokens, h, i, k, e, tp, ep, how, latency in zip(t["moe_dtype"], t["num_tokens"], t["hidden_size"], t["inter_size"], t["topk"],
                                                                       t["num_experts"], t["moe_tp_size"], t["moe_ep_size"], t["distribution"], t["latency"]):
                    if MOE.get(d) == dtype and how == spread:
                        key = tuple(map(int, (tokens, h, i, k, e, tp, ep)))
                        best.setdefault(key, []).append(float(latency) * 1e-3)
            cells = collections.defaultdict(list)
            for (tokens, h, i, k, e, tp, ep), seconds in best.items():
                if not peak:
                    continue
                local, width = max(e // ep, 1), max(i // tp, 1)
                picks = tokens * k / ep
                touched = local * (1 - (1 - k / e) ** tokens)
                roof = max(6.0 * picks * h * width / peak, 3.0 * touched * h * width * BYTES[dtype] / bandwidth)
                per = min(max(round(np.log2(max(tokens * k / e, 1))), 0), 14)
                length = min(max(round(np.log2(roof * 1e6) / 2), 0), 7)
                cells[per, length].append(roof / min(seconds))
            if not cells:
                continue
            row = []
            for per in range(15):
                for length in range(8):
                    nearest = min(cells, key=lambda c: (abs(c[0] - per) + 2 * abs(c[1] - length), c))
                    row.append(float(np.median(cells[nearest])))
            yield f"experts {gpu['id']} {dtype} {spread} " + " ".join(str(max(1, round(1000 * x))) for x in row)


def messages(root, system, gpu):
    """Microseconds by operation, cards and bytes of a card's whole buffer, in powers of four from 1 KiB to 1 GiB."""
    sizes = [4 ** i * 1024 for i in range(11)]
    by = collections.defaultdict(lambda: collections.defaultdict(list))
    path = max(root.glob(f"data/{system}/comm/nccl/*/nccl_perf.parquet"), key=version_key, default=None)
    if path:
        t = pq.read_table(path).to_pydict()
        for op, dtype, n, size, latency in zip(t["op_name"], t["nccl_dtype"], t["num_gpus"], t["message_size"], t["latency"]):
            if dtype == "half":
                by[op, int(n)][2 * int(size)].append(float(latency) * 1e3)
    for server in ("vllm", "sglang", "trtllm"):
        path = max(root.glob(f"data/{system}/comm/{server}/*/custom_allreduce_perf.parquet"), key=version_key, default=None)
        if path and path.stat().st_size > 1000:
            t = pq.read_table(path).to_pydict()
            for source, n, size, latency in zip(t.get("kernel_source", t["op_name"]), t["num_gpus"], t["message_size"], t["latency"]):
                if "eager" not in str(source).lower():
                    by["custom_all_reduce", int(n)][2 * int(size)].append(float(latency) * 1e3)
    for (op, n), table in sorted(by.items()):
        xs = sorted(table)
        ys = [float(np.median(table[x])) for x in xs]
        at = np.exp(np.interp(np.log(sizes), np.log(xs), np.log(ys)))
        for i, size in enumerate(sizes):  # beyond what was measured: at the bandwidth of the last
            if size > xs[-1]:
                at[i] = ys[-1] * size / xs[-1]
        yield f"message {gpu['id']} {op} {n} " + " ".join(f"{x:.4g}" for x in at)


def main():
    root, output = map(pathlib.Path, sys.argv[1:3])
    gpus = {row["id"]: row for row in json.loads((pathlib.Path(__file__).parent.parent / "data/gpus.json").read_text(encoding="utf-8"))}
    lines = ["# Written by scripts/kernel_tables.py, which says what a line is. Measurements: github.com/ai-dynamo/aiconfigurator, Apache-2.0,",
             "# Copyright (c) 2025-2026 NVIDIA CORPORATION & AFFILIATES."]
    for system, name in GPUS.items():
        for area in (gemm, context_attention, generation_attention, latent_attention, experts, messages):
            lines += area(root, system, gpus[name])
            print(system, area.__name__, len(lines), file=sys.stderr)
    output.write_text("\n".join(lines) + "\n", encoding="utf-8")


main()
