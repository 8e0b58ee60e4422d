#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package's types under mypy --strict, and pyright where it is there: each right call passes, each line of wrong ones is an error.

    run_types.py        exit code 77 (skipped) where no checker is installed
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent
TYPES, PACKAGE = TESTS / "python" / "types", TESTS.parent / "bindings" / "python"
SKIPPED = 77


def mypy(file):
    """Numbers of the lines with errors, and the report."""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, "--config-file", str(TESTS.parent / "pyproject.toml"), str(file)],
                              capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(PACKAGE)})
    return {int(line) for line in re.findall(rf"{file.name}:(\d+): error", done.stdout)}, done.stdout + done.stderr


def pyright(file):
    with tempfile.TemporaryDirectory() as folder:
        settings = pathlib.Path(folder, "pyrightconfig.json")
        settings.write_text(json.dumps({"include": [os.path.relpath(file, os.path.realpath(folder))], "extraPaths": [str(PACKAGE)], "typeCheckingMode": "strict"}))
        done = subprocess.run([shutil.which("pyright") or "pyright", "--project", str(settings), "--outputjson"], capture_output=True, text=True)
    found = json.loads(done.stdout)["generalDiagnostics"]
    errors = [one for one in found if one["severity"] == "error"]
    return {one["range"]["start"]["line"] + 1 for one in errors}, "\n".join(f"{one['range']['start']['line'] + 1}: {one['message']}" for one in errors)


def checkers():
    if subprocess.run([sys.executable, "-c", "import mypy, typing_extensions"], capture_output=True).returncode == 0:
        yield "mypy", mypy
    if shutil.which("pyright"):
        yield "pyright", pyright


def main():
    failed, there = 0, list(checkers())
    for name, check in there:
        found, report = check(TYPES / "right.py")
        if found or "error" in report:
            failed += 1
            print(f"{name} refuses right calls:\n{report}")
        lines = (TYPES / "wrong.py").read_text().splitlines()
        wanted = {number for number, line in enumerate(lines, 1) if line.startswith("memtape.")}
        found, report = check(TYPES / "wrong.py")
        for number in sorted(wanted ^ found):
            failed += 1
            print(f"{name}: wrong.py:{number} is {'no' if number in wanted else 'an'} error: {lines[number - 1]}")
        print(f"{name}: {len(wanted)} wrong calls, {failed} faults")
    return SKIPPED if not there else 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
