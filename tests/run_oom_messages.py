#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Out-of-memory messages from public issues: `memtape explain -` must find every figure in the right field.

    run_oom_messages.py PROGRAM tests/truth/oom_messages.jsonl

A row is {"url", "text", "expect"}: sizes in `expect` are written as the message writes them, null stands for a figure that the message
has but that cannot be (17179869184.00 GiB), and what `expect` does not name is not looked at.
"""
import concurrent.futures
import json
import os
import subprocess
import sys

import truth_rows

UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "KB": 2**10, "MB": 2**20, "GB": 2**30}
SIZES = {"requested": "requested_bytes", "device": "device_bytes", "free": "free_bytes", "process": "process_bytes",
         "allocated": "allocated_bytes", "unallocated": "reserved_unallocated_bytes", "allowed": "allowed_bytes",
         "private_pools": "private_pool_bytes", "cache_needed": "cache_needed_bytes", "cache_available": "cache_available_bytes",
         "desired": "desired_bytes"}


def size(text):
    number, unit = text.split()
    return round(float(number) * UNITS[unit])


def wrong(row, answer):
    oom, faults = answer.get("oom") or {}, []

    def compare(name, expected, found, within=0):
        if expected is None or found is None or isinstance(expected, str):
            good = expected == found
        else:
            good = abs(expected - found) <= within
        if not good:
            faults.append(f"{name}: {found}, not {expected}")
    for name, value in row["expect"].items():
        if name in SIZES:
            compare(name, value and size(value), oom.get(SIZES[name]), 1)
        elif name == "reserved":
            compare(name, size(value), oom.get("allocated_bytes", 0) + (oom.get("reserved_unallocated_bytes") or 0),
                    max(1, size(row["expect"]["allocated"]) - size(value) + 1))
        elif name == "others":
            compare(name, len(value), len(oom.get("other_processes", [])))
            for (pid, held), found in zip(value, oom.get("other_processes", [])):
                compare("pid", pid, found["pid"])
                compare(f"process {pid}", size(held), found["bytes"], 1)
        elif name == "count":
            compare(name, value, len(answer.get("messages", [])))
        elif name != "fraction":
            compare(name, value, oom.get(name))
    return faults


def read(program, row):
    answer = subprocess.run([program, "explain", "-", "--json"], input=row["text"], capture_output=True, text=True, check=False)
    return wrong(row, json.loads(answer.stdout)) if answer.returncode == 0 else [answer.stderr.strip()]


def main():
    program = sys.argv[1]
    rows = truth_rows.read_rows(sys.argv[2])
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for row, faults in zip(rows, pool.map(lambda row: read(program, row), rows)):
            bad += bool(faults)
            for fault in faults:
                print(f"{row['url']}: {fault}")
    print(f"{len(rows) - bad} of {len(rows)} messages are read field for field")
    return 1 if bad or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
