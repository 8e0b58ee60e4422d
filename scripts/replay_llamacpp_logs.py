#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Start-up logs of llama.cpp against the answers for the same servers.

    replay_llamacpp_logs.py PROGRAM [LOGS.jsonl] [--rows] [--check] [--only TEXT]

A row (tests/truth/llamacpp_logs.jsonl) has the metadata of the model, the flags, and what the log prints, to 0.01 MiB: model, keys and
values (kv), recurrent states (rs), both (context) and compute buffers by device. A figure that depends on what the log does not tell is not in the row.
Where the log does not name its build, `guessed_build` says so: --engine-version is one of that time that has the log's features.
"""
import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
import truth_rows  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
MIB = 2**20
HALF_A_DIGIT = 0.0051  # of what logs print


def answer(program, row, folder):
    config = pathlib.Path(folder, "config.json")
    config.write_text(json.dumps(row["config"]))
    args = [str(config) if a == "{config}" else a for a in row["args"]]
    run = subprocess.run([program, *args, "--json"], capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise RuntimeError(run.stderr.strip())
    return json.loads(run.stdout)


def states_of(got):
    """Bytes of recurrent states by GPU; the GPUs' buffers come first."""
    names = list(got["buffers"])
    of = collections.Counter()
    for rank in got["ranks"]:
        for group in rank["kv_cache"]["layers"]:
            if group["kind"] == "recurrent":
                for gpu in rank["ranks"]:
                    of[names[gpu]] += group["bytes"]
    return of


def figures(row, got):
    """(figure, device, measured, predicted) in MiB."""
    states = states_of(got)
    for figure, devices in row["measured_mib"].items():
        for device, measured in devices.items():
            buffer = got["buffers"].get(device, {})
            if figure == "rs":
                predicted = states[device]
            elif figure == "kv":
                predicted = buffer.get("context_bytes", 0) - states[device]
            else:
                predicted = buffer.get(f"{figure}_bytes", 0)
            yield figure, device, measured, predicted / MIB


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("logs", nargs="?", default=ROOT / "tests/truth/llamacpp_logs.jsonl")
    parser.add_argument("--rows", action="store_true", help="each figure that differs")
    parser.add_argument("--check", action="store_true", help="fail where a row differs that no note explains")
    parser.add_argument("--only", default="", help="rows whose id or model has this")
    args = parser.parse_args()
    off = collections.defaultdict(list)
    exact = collections.Counter()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for row in truth_rows.read_rows(args.logs):
            if args.only not in f"{row['id']} {row['model']}":
                continue
            try:
                got = answer(args.program, row, folder)
            except RuntimeError as problem:
                failed += 1
                print(f"{row['id']}: {problem}", file=sys.stderr)
                continue
            for figure, device, measured, predicted in figures(row, got):
                whole = "whole MiB" in row["note"]  # cut off, not rounded
                same = int(predicted) == measured if whole else abs(measured - predicted) <= HALF_A_DIGIT
                exact[figure] += same
                off[figure].append(0.0 if same else abs(predicted - measured) / measured * 100)
                if args.check and not same and not row["note"]:
                    failed += 1
                if (args.rows or args.check and not row["note"]) and not same:
                    print(f"{row['id']} {row['model'] or row['config']['metadata']['general.architecture']}: {figure} on {device}: "
                          f"log {measured:.2f}, here {predicted:.2f} MiB; {row['note']}")
    print("| figure | values | as printed | median off | most off |\n|---|---|---|---|---|")
    for figure, values in off.items():
        print(f"| {figure} | {len(values)} | {exact[figure]} | {statistics.median(values):.2f} % | {max(values):.1f} % |")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
