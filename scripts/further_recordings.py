#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A table of the files of recorded rows that docs/accuracy.md shows without a section of their own: how many rows were predicted, and
how their main figures fared.

usage: further_recordings.py PROGRAM"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import truth_rows  # noqa: E402

PAGE = "docs/accuracy.md"


def has_section(path):
    name = path.name.partition(".")[0]
    return name == "torch_steps" or (ROOT / f"docs/accuracy/{name}.md").exists()


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
    program = sys.argv[1]
    print("| file | rows predicted | figure | to the byte | mean error | largest |")
    print("|---|---:|---|---:|---:|---:|")
    for path in truth_rows.files():
        if truth_rows.read_head(path).get("page") == PAGE and not has_section(path):
            print(*lines(program, path), sep="\n")


if __name__ == "__main__":
    main()
