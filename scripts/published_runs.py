#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lays predictions beside training runs that others measured on real GPUs and published.

    published_runs.py [PROGRAM] [--most PERCENT]

Rows: tests/truth/published_runs.jsonl, each with its source. Exit status 1 when a peak is off by more than
PERCENT (1), or by more than the row's own `within`, whose reason stands in tests/truth/README.md.
"""
import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def predicted(program, row):
    done = subprocess.run([program, *row["args"], "--json"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{row['id']}: {done.stderr.strip()}")
    return json.loads(done.stdout)["ranks"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", default=str(ROOT / "build/release/memtape"))
    parser.add_argument("--most", type=float, default=1.0)
    options = parser.parse_args()
    rows = map(json.loads, (ROOT / "tests/truth/published_runs.jsonl").read_text().splitlines())
    worst, beyond = 0.0, False
    for row in rows:
        rank = predicted(options.program, row)
        for key, measured in row["expect"].items():
            error = 100 * (rank[key] - measured) / measured
            if key == "peak_allocated_bytes":
                worst = max(worst, abs(error))
                beyond |= abs(error) > row.get("within", options.most)
            print(f"{row['id']:34} {key:24} {measured:15,} {rank[key]:15,} {error:+8.4f} %")
    print(f"largest error of a peak: {worst:.4f} %")
    return beyond


if __name__ == "__main__":
    sys.exit(main())
