#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lays the predicted step of every truth row that has a tape beside the recording, with `memtape diff`.

    run_tapes.py PROGRAM ROWS.jsonl TAPES

Every event must agree: sizes in order, and what is freed between two allocations. Rows of families that memtape does not
have are counted and passed over. The last line is 'N passed, M failed, K skipped'."""
import json
import pathlib
import subprocess
import sys
import tempfile

import truth_rows


def main():
    program, rows, tapes = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "config.json"
        for row in truth_rows.read_rows(rows):
            tape = tapes / f"{row['id']}.tape"
            if not tape.exists():
                continue
            config.write_text(json.dumps(row["config"]))
            args = [arg.replace("{config}", str(config)) for arg in row["args"][1:]]
            run = subprocess.run([program, "diff", str(tape), *args], capture_output=True, text=True)
            if run.returncode == 2 and "unknown model family" in run.stderr:
                skipped += 1
            elif run.returncode == 0:
                passed += 1
            else:
                failed += 1
                print(row["id"], run.stdout + run.stderr, sep="\n")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


sys.exit(main())
