#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recorded snapshots as pickles: each trace of tests/truth/snapshots is pickled as torch would have, without the state before its
first event, and `memtape replay` must rebuild that state and agree with every event, and `memtape explain` must attribute every byte of the peak.

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


def main():
    program, truth = sys.argv[1], pathlib.Path(sys.argv[2])
    paths = sorted(truth.glob("*.jsonl.gz"))
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, (good, said) in zip(paths, pool.map(lambda p: replays(program, p, pathlib.Path(folder)), paths)):
            if not good:
                wrong += 1
                print(f"{path.name}: {said.strip()}")
    print(f"{len(paths) - wrong} of {len(paths)} pickles replay event for event, their peaks attributed to the byte")
    return 1 if wrong or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
