#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures a card and prints what it does beside memtape's predictions; scripts/real_gpu.sh says how it is called.

Rows of truth are left in FOLDER/NAME.jsonl, one file a measurement, with the card, its driver and the releases. Exit status 1 when a
measurement failed.
"""
import argparse
import importlib
import json
import os
import pathlib
import time

from kit import ROOT, Kit, LeftOut, NotMeasured

MEASUREMENTS = ("context", "observed", "cudnn_attention", "steps", "fsdp_lag", "vllm_start")
SHARE = {"steps": 0.5}  # of the time that is left, when others still wait for theirs
MIB = 2**20
IDLE = 64 * MIB  # of the card may be in use before anything is measured


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("memtape")
    parser.add_argument("--python", required=True, help="of an environment with torch and transformers")
    parser.add_argument("--into", type=pathlib.Path, default=ROOT / "build/real_gpu/rows")
    parser.add_argument("--seconds", type=float, default=570)
    parser.add_argument("--phantom", metavar="GPU")
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, default=MEASUREMENTS)
    return parser.parse_args()


def line(name, case, figure):
    measured, predicted = case.measured[figure], case.predicted.get(figure)
    beside = "" if predicted is None else f"{predicted / MIB:12,.2f} {100 * (predicted - measured) / measured if measured else 0:+8.2f} %"
    return f"{name:16} {case.name[:44]:44} {figure.removesuffix('_bytes'):28} {measured / MIB:12,.2f} {beside}"


def row(name, kit, case):
    card = {key: kit.card[key] for key in ("name", "driver", "capability")}
    return {"id": f"{name}.{case.name}", "gpu": kit.card["id"], "card": card, "releases": kit.releases, "expect": case.measured, **case.row}


def run(name, kit):
    """Prints a line a figure and writes a row a case; gives the number of those that failed."""
    failed, ends = 0, time.monotonic() + SHARE.get(name, 1) * kit.left()
    with open(kit.folder / f"{name}.jsonl", "w", encoding="utf-8") as rows:
        for count, measure in enumerate(importlib.import_module(name).cases(kit)):
            if time.monotonic() > ends:
                print(f"{name:16} its share of the time is over after {count} cases", flush=True)
                break
            try:
                case = measure()
            except NotMeasured as reason:
                print(f"{name:16} not measured: {reason}", flush=True)
                failed += 1
                continue
            for figure in case.measured:
                print(line(name, case, figure), flush=True)
            rows.write(json.dumps(row(name, kit, case)) + "\n")
    return failed


def main():
    given = arguments()
    given.into.mkdir(parents=True, exist_ok=True)
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"  # as the driver and memtape count
    kit = Kit(str(pathlib.Path(given.memtape).resolve()), given.python, given.into.resolve(), time.monotonic() + given.seconds, given.phantom)
    try:
        print(f"{kit.card['name']}, driver {kit.card['driver']}, {kit.releases}")
    except NotMeasured as reason:
        print(f"nothing can be measured: {reason}")
        return 1
    taken = kit.card["total_bytes"] - kit.card["free_bytes"]
    if taken > IDLE:
        print(f"{taken / MIB:,.0f} MiB of the card are in use already: the context may be off by what others take meanwhile")
    print(f"{'':16} {'':44} {'MiB':28} {'measured':>12} {'predicted':>12} {'difference':>10}")
    failed = 0
    for name in given.only:
        try:
            failed += run(name, kit)
        except NotMeasured as reason:
            print(f"{name:16} {'left out' if isinstance(reason, LeftOut) else 'not measured'}: {reason}", flush=True)
            failed += not isinstance(reason, LeftOut)
    print(f"rows are in {given.into}; {time.monotonic() - kit.ends + given.seconds:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
