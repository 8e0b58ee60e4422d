#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lays predictions beside training runs that others measured on real GPUs and published.

    published_runs.py [PROGRAM]

Rows: tests/truth/published_runs.jsonl, each with its source. Exit status 1 when a peak is off by more than the file's first line
demands (peak_within_percent), or by more than the row's own `within`, whose reason stands there, too.
"""
import argparse
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
import truth_rows  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent


def predicted(program, row):
    done = subprocess.run([program, *row["args"], "--json"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{row['id']}: {done.stderr.strip()}")
    return json.loads(done.stdout)["ranks"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", default=str(ROOT / "build/release/memtape"))
    options = parser.parse_args()
    file = truth_rows.TRUTH / "published_runs.jsonl"
    most, rows = truth_rows.read_head(file)["demands"]["peak_within_percent"], truth_rows.read_rows(file)
    worst, beyond = 0.0, False
    for row in rows:
        rank = predicted(options.program, row)
        for key, measured in row["expect"].items():
            error = 100 * (rank[key] - measured) / measured
            if key == "peak_allocated_bytes":
                worst = max(worst, abs(error))
                beyond |= abs(error) > row.get("within", most)
            print(f"{row['id']:34} {key:24} {measured:15,} {rank[key]:15,} {error:+8.4f} %")
    print(f"largest error of a peak: {worst:.4f} %")
    return beyond


if __name__ == "__main__":
    sys.exit(main())
