#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lays predictions beside the memory that torchtitan's users published: the most that was reserved, over all ranks.

    torchtitan_runs.py [PROGRAM] [--only TEXT]

Rows: tests/truth/torchtitan_runs.jsonl, each with its source; those that memtape does not model say why. Exit status 1 when the
median error is more than the file's first line allows (median_within_percent).
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
import truth_rows  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
GIB = 2**30


def predicted(program, row):
    environment = {**os.environ, **row["environment"]}
    done = subprocess.run([program, *row["args"], "--json"], capture_output=True, text=True, check=False, env=environment)
    if done.returncode not in (0, 1):
        sys.exit(f"{row['id']}: {done.stderr.strip()}")
    return max(rank["peak_reserved_bytes"] for rank in json.loads(done.stdout)["ranks"]) / GIB


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", default=str(ROOT / "build/release/memtape"))
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    file = truth_rows.TRUTH / "torchtitan_runs.jsonl"
    most, rows = truth_rows.read_head(file)["demands"]["median_within_percent"], truth_rows.read_rows(file)
    errors = []
    for row in rows:
        if options.only not in row["id"]:
            continue
        if "args" not in row:
            print(f"{row['id']:50} {row['reserved_gib']:8.2f} not modelled: {row['not_modelled']}")
            continue
        reserved = predicted(options.program, row)
        error = 100 * (reserved - row["reserved_gib"]) / row["reserved_gib"]
        errors.append(abs(error))
        print(f"{row['id']:50} {row['reserved_gib']:8.2f} {reserved:8.2f} {error:+7.2f} %")
    median = statistics.median(errors)
    print(f"{len(errors)} rows: median {median:.2f} %, mean {statistics.mean(errors):.2f} %, largest {max(errors):.2f} %, "
          f"within 1 %: {sum(e <= 1 for e in errors)}, within 2 %: {sum(e <= 2 for e in errors)}")
    return median > most


if __name__ == "__main__":
    sys.exit(main())
