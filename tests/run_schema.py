#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks what the text cases ask with --json, and holds every answer to docs/memtape-1.schema.json.

    run_schema.py PROGRAM SCHEMA [FOLDER-OF-CASES...]

A rank's bytes at the peak must sum up, too: those of a server to peak_device_bytes.
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import run_cases

sys.path.insert(0, str(run_cases.TESTS / "report"))
import validate_schema  # noqa: E402

COMMANDS = {"serve", "models", "gpus", "train", "fits", "plan", "time", "explain", "detect", "check", "scoreboard"}


def answer_of(case, program):
    """The JSON that the case's command prints; None where it is refused or is another command."""
    words = [w.replace("{tests}", str(run_cases.TESTS)) for w in shlex.split(case.text("run"))]
    if words[0] != "memtape" or not COMMANDS.intersection(words[1:2]) or "--html" in words or "--csv" in words or case.exit_code() > 1:
        return None
    with tempfile.TemporaryDirectory() as folder:
        run_cases.write_files(case, folder)
        dashes = words.index("--") if "--" in words else len(words)
        given = case.text("stdin").encode()
        done = subprocess.run([program, *words[1:dashes], "--json", *words[dashes:]], input=given, cwd=folder, env=run_cases.environment(case, folder),
                              capture_output=True, timeout=run_cases.TIMEOUT_SECONDS, check=False)
    if done.returncode > 1:
        return None
    if not done.stdout.startswith(b"{"):
        return None
    return json.JSONDecoder().raw_decode(done.stdout.decode())[0]  # of `time`, an object a line, the first


def sums(answer):
    for rank in answer.get("ranks", []) if answer.get("command") == "serve" else []:
        held = sum(rank["at_peak"].values())
        if held != rank["peak_device_bytes"]:
            yield f"at_peak sums to {held}, not to peak_device_bytes {rank['peak_device_bytes']}"


def names_itself(answer):
    if answer.get("schema") != "memtape/1" or answer.get("command") not in {*COMMANDS, "help"}:
        yield f"carries schema {answer.get('schema')} and command {answer.get('command')}"


def faults(case, program, schema):
    """The command that the answer carries, and what is wrong with it; None without an answer."""
    answer = answer_of(case, program)
    if answer is None:
        return None
    alternatives = [schema["$defs"][s["$ref"].rpartition("/")[2]] for s in schema["anyOf"]]
    found = [list(validate_schema.problems(answer, s, schema)) for s in alternatives]
    return answer.get("command"), [*(min(found, key=len) if all(found) else []), *sums(answer), *names_itself(answer)]


def main():
    program, schema_file, *folders = sys.argv[1:]
    schema = json.loads(pathlib.Path(schema_file).read_text(encoding="utf-8"))
    cases = run_cases.cases_in([pathlib.Path(f) for f in folders] or [run_cases.TESTS / "cases"])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda c: faults(c, os.path.abspath(program), schema), cases))
    checked = [(c, r[1]) for c, r in zip(cases, results) if r is not None]
    unseen = COMMANDS - {r[0] for r in results if r is not None} if not folders else set()
    if unseen:
        print(f"no case asks {', '.join(sorted(unseen))} with an answer")
    for case, wrong in checked:
        if wrong:
            print(f"{case.path}: " + "; ".join(wrong[:3]))
    failed = sum(bool(wrong) for _, wrong in checked)
    print(f"{len(checked)} answers, {failed} against the schema")
    return 1 if failed or unseen or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
