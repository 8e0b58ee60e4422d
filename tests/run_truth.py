#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays truth rows and holds the answers to them.

    run_truth.py PROGRAM FILE.jsonl[.gz] [--exact KEY]... [--within KEY PERCENT ROWS]...

--exact: every row's figure (a dotted path) must agree to the byte. --within: at least ROWS percent of the rows must lie within PERCENT.
A row that was recorded with other releases than its `args` name is asked for with those of its `stack`. A row's `rank` picks the entry of `ranks` that is compared: a number, or "last".
"""
import concurrent.futures
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile


def read_rows(path):
    text = gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8")
    with text:
        return [json.loads(line) for line in text if line.strip()]


def named_releases(row):
    """--with for the releases of the row's stack ("torch 2.11.0, transformers 5.17.0, sm80"), where its arguments name none."""
    parts = [part.split() for part in row.get("stack", "").split(", ")] if isinstance(row.get("stack", ""), str) else []
    pairs = ["==".join(part) for part in parts if len(part) == 2 and part[1][0].isdigit()]
    return ["--with", ",".join(pairs)] if pairs and row["args"][0] == "train" and "--with" not in row["args"] else []


def answer_of(program, row):
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "config.json"
        config.write_text(json.dumps(row.get("config") or {}), encoding="utf-8")
        words = [word.replace("{config}", str(config)) for word in row["args"]]
        words += named_releases(row)
        split = words.index("--") if "--" in words else len(words)
        done = subprocess.run([program, *words[:split], "--json", *words[split:]], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return None, done.stderr.strip()
    ranks = json.loads(done.stdout)["ranks"]
    wanted = row.get("rank", 0)
    if wanted == "last":
        return ranks[-1], ""
    return next(entry for entry in ranks if wanted in entry["ranks"]), ""


def at(figures, path):
    for key in path.split("."):
        figures = figures[key]
    return figures


def demands(words):
    exact, within = [], []
    while words:
        if words[0] == "--exact":
            exact.append(words[1])
            words = words[2:]
        elif words[0] == "--within":
            within.append((words[1], float(words[2]), float(words[3])))
            words = words[4:]
        else:
            sys.exit(__doc__)
    return exact, within


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, rows = sys.argv[1], read_rows(sys.argv[2])
    exact, within = demands(sys.argv[3:])
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda row: answer_of(program, row), rows))
    faults = []
    for row, (answer, complaint) in zip(rows, answers):
        for key in exact:
            wanted = at(row["expect"], key)
            if answer is None or at(answer, key) != wanted:
                faults.append(f"{row['id']}: {key}: {at(answer, key) if answer else complaint}, not {wanted}")
    for key, percent, share in within:
        near = sum(
            answer is not None and abs(answer[key] - row["expect"][key]) * 100 <= percent * row["expect"][key]
            for row, (answer, _) in zip(rows, answers)
        )
        print(f"{key}: {near} of {len(rows)} rows within {percent} %")
        if near * 100 < share * len(rows):
            faults.append(f"{key}: fewer than {share} % of the rows within {percent} %")
    print("\n".join(faults + [f"{len(rows)} rows, {len(faults)} faults"]))
    return 1 if faults or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
