#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`memtape explain TRACE --against 'train ...'` over recorded steps of real torch: where the program is known, the whole predicted step
lies in the recording in order, and nothing is left over, to the byte.

    run_against.py PROGRAM ROWS.jsonl FOLDER
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import truth_rows


def laid_beside(program, row, folder):
    with tempfile.TemporaryDirectory() as temporary:
        config = pathlib.Path(temporary) / "config.json"
        config.write_text(json.dumps(row["config"]))
        words = [str(config) if word == "{config}" else word for word in row["args"]]
        answer = subprocess.run([program, "explain", folder / row["trace"], "--against", shlex.join(words), "--json"],
                                capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        return answer.stderr.strip()
    told = json.loads(answer.stdout)
    if told["step_allocations_found"] != told["step_allocations"]:
        return told["step_difference"]
    if told["residual"]:
        return f"left over: {told['residual'][0]}"
    return ""


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[3])
    rows = [row for row in truth_rows.read_rows(sys.argv[2]) if row.get("trace") and (folder / row["trace"]).exists()]
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for row, fault in zip(rows, pool.map(lambda row: laid_beside(program, row, folder), rows)):
            wrong += bool(fault)
            if fault:
                print(f"{row['id']}: {fault}")
    print(f"{len(rows) - wrong} of {len(rows)} recorded steps are explained to the byte")
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
