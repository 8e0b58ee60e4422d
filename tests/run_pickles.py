#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recorded snapshots as pickles: each trace of tests/truth/snapshots is pickled as torch would have, without the state before its
first event, and `memtape replay` must rebuild that state and agree with every event, and `memtape explain` must attribute every byte of the peak.
memtape's own snapshots, which hold that state, must be read back to the byte: the peaks of the step, by category.

    run_pickles.py PROGRAM FOLDER
"""
import concurrent.futures
import gzip
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile


def entry(action, address, size, stream, base, time):
    where = {"device_free": address} if action == "oom" else {"addr": address + base}
    return {"action": action, **where, "size": size, "stream": stream, "time_us": time, "frames": []}


def segment(address, size, stream, kind, expandable, blocks, base):
    return {"device": 0, "address": address + base, "total_size": size, "stream": stream, "segment_type": kind,
            "segment_pool_id": (0, 0), "is_expandable": expandable,
            "blocks": [{"address": a + base, "size": s, "requested_size": r, "state": state, "frames": []} for a, s, r, state in blocks]}


def snapshot_of(path):
    with gzip.open(path, "rt") as file:
        header = json.loads(file.readline())
        base = header["base"]
        events = [entry(*json.loads(line), base, i) for i, line in enumerate(file)]
    segments = [segment(*s, base) for s in header["segments"]]
    return {"segments": segments, "device_traces": [events], "allocator_settings": header["settings"]}


def replays(program, path, folder):
    snapshot = snapshot_of(path)
    file = folder / (path.name + ".pickle")
    with open(file, "wb") as out:
        pickle.dump(snapshot, out, protocol=2 + len(snapshot["device_traces"][0]) % 4)
    answer = subprocess.run([program, "replay", file], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        return False, answer.stdout + answer.stderr
    told = json.loads(subprocess.run([program, "explain", file, "--json"], capture_output=True, text=True, check=True).stdout)
    attributed = sum(told["at_peak"].values()) == told["peak_allocated_bytes"]
    listed = sum(row["bytes"] for row in told["largest"]) <= told["peak_allocated_bytes"]
    return told["exact"] and attributed and listed, "its peak is not attributed to the byte"


MODEL = ["train", "Qwen/Qwen3-0.6B", "--gpu", "l4", "--sequence-length", "512"]
OWN = [
    MODEL,
    [*MODEL, "--framework", "transformers", "--per_device_train_batch_size", "2", "--gradient_checkpointing", "true"],
    [*MODEL, "--framework", "fsdp2", "--gpus", "4"],
    [*MODEL, "--framework", "deepspeed", "--gpus", "2", "--zero", "2"],
    [*MODEL, "--lora-rank", "8", "--lora-targets", "all-linear", "--precision", "amp-bf16"],
]


def reads_back(program, number, words, folder):
    file = folder / f"own-{number}.pickle"
    answer = subprocess.run([program, *words, "--snapshot", file, "--json"], capture_output=True, text=True, check=True)
    predicted = max(json.loads(answer.stdout)["ranks"], key=lambda rank: rank["peak_device_bytes"])
    told = json.loads(subprocess.run([program, "explain", file, "--json"], capture_output=True, text=True, check=True).stdout)
    wrong = [f"{figure}: {told[figure]:,}, not {predicted[figure]:,}" for figure in ("peak_allocated_bytes", "peak_reserved_bytes")
             if told[figure] != predicted[figure]]
    if told["at_peak"] != {name: held for name, held in predicted["at_peak"].items() if held}:
        wrong.append(f"at the peak {told['at_peak']}, not {predicted['at_peak']}")
    if not told["exact"]:
        wrong.append("an event is not as the allocator's rules have it")
    return not wrong, "; ".join(wrong)


def main():
    program, truth = sys.argv[1], pathlib.Path(sys.argv[2])
    paths = sorted(truth.glob("*.jsonl.gz"))
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, (good, said) in zip(paths, pool.map(lambda p: replays(program, p, pathlib.Path(folder)), paths)):
            if not good:
                wrong += 1
                print(f"{path.name}: {said.strip()}")
        read = list(pool.map(lambda own: reads_back(program, *own, pathlib.Path(folder)), enumerate(OWN)))
        for words, (good, said) in zip(OWN, read):
            if not good:
                print(f"{' '.join(words)}: {said}")
    print(f"{len(paths) - wrong} of {len(paths)} pickles replay event for event, their peaks attributed to the byte")
    print(f"{sum(good for good, _ in read)} of {len(OWN)} snapshots of memtape's own read back to the byte")
    return 1 if wrong or not paths or not all(good for good, _ in read) else 0


if __name__ == "__main__":
    sys.exit(main())
