#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks `memtape serve` for every truth row and compares each number that was measured.

    run_serve_rows.py PROGRAM ROWS.jsonl[.gz]...

Every number of a row's `expect` must be answered to the byte; a buffer that is not named counts as 0. The last line is
'N numbers of M rows, K differ'."""
import concurrent.futures
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def numbers(value, path=()):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, (*path, key))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value


def at(answer, path):
    """The value at the path: of the answer, else of its first rank."""
    if path[0] not in answer and answer.get("ranks"):
        answer = answer["ranks"][0]
    for key in path:
        answer = answer.get(key) if isinstance(answer, dict) else None
    return answer or 0


def replay(program, row, folder):
    args = row["args"]
    for name in ("config", "assistant"):
        if name in row:
            file = pathlib.Path(folder) / f"{row['id']}.{name}.json"
            file.write_text(json.dumps(row[name]))
            args = [arg.replace("{%s}" % name, str(file)) for arg in args]
    run = subprocess.run([program, *args, "--json"], capture_output=True, text=True)
    answer = json.loads(run.stdout) if run.returncode in (0, 1) else {}
    wanted = list(numbers(row["expect"]))
    wrong = [f"{row['id']} {'.'.join(path)}: measured {value}, predicted {at(answer, path)}"
             for path, value in wanted if at(answer, path) != value]
    return len(wanted), wrong + ([f"{row['id']}: {run.stderr.strip()}"] if not answer else [])


def rows(path):
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as lines:
        return [json.loads(line) for line in lines]


def main():
    program, all_rows = sys.argv[1], [row for path in sys.argv[2:] for row in rows(path)]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda row: replay(program, row, folder), all_rows))
    wrong = [line for _, lines in results for line in lines]
    print(*wrong[:40], sep="\n")
    print(f"{sum(count for count, _ in results)} numbers of {len(results)} rows, {len(wrong)} differ")
    return 1 if wrong or not results else 0


sys.exit(main())
