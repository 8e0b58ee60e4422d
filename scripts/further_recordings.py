#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A table of files of recorded rows: how many rows were predicted, and how their main figures fared.

usage: further_recordings.py PROGRAM FILE..."""

import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

PEAKS = ("peak_requested_bytes", "peak_allocated_bytes", "peak_reserved_bytes")


def scored(program, path):
    """The scoreboard of a file, unpacked first where it is packed."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as plain:
        if path.suffix == ".gz":
            plain.write(gzip.decompress(path.read_bytes()))
            plain.flush()
        name = plain.name if path.suffix == ".gz" else str(path)
        command = [program, "scoreboard", "--json", name]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main_figures(distributions):
    """The peaks, else the first three of the figures that most rows have."""
    peaks = [d for d in distributions if d["key"] in PEAKS]
    most = max(d["rows"] for d in distributions)
    return peaks or [d for d in distributions if d["rows"] == most][:3]


def lines(program, path):
    score = scored(program, path)
    predicted = sum(row["predicted"] for row in score["rows"])
    told = f"`{path.name}` | {predicted} of {len(score['rows'])}"
    for d in main_figures(score["distributions"]):
        exact = 100 * d["exact"] / d["rows"]
        yield f"| {told} | `{d['key']}` | {exact:.1f} % | {d['mean']:.3f} % | {d['max']:.2f} % |"
        told = " | "


def main():
    program, *files = sys.argv[1:]
    print("| file | rows predicted | figure | to the byte | mean error | largest |")
    print("|---|---:|---|---:|---:|---:|")
    for name in files:
        print(*lines(program, pathlib.Path(name)), sep="\n")


if __name__ == "__main__":
    main()
