#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A table of files of recorded rows: how many rows were predicted, and how their main figures fared.

usage: further_recordings.py PROGRAM FILE..."""

import json
import pathlib
import subprocess
import sys


def lines(program, path):
    command = [program, "scoreboard", "--json", str(path)]
    score = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    predicted = sum(row["predicted"] for row in score["rows"])
    told = f"`{path.name}` | {predicted} of {len(score['rows'])}"
    figures = {d["key"]: d for d in score["distributions"]}
    for d in map(figures.get, score["main_figures"]):
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
