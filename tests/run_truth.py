#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays rows of truth and holds the answers to what the first line of their file demands.

    run_truth.py PROGRAM [FILE...]      without files: all of tests/truth

    {"demands": {"exact": ["peak_requested_bytes"], "within": [{"figure": "peak_allocated_bytes", "percent": 0.1, "of_rows": 95}]}, ...}

exact: every row's figure (a dotted path) must agree to the byte; "*" stands for every number of `expect`, and what is not answered
counts as 0. within: at least `of_rows` percent of the rows must lie within `percent`. A figure is looked up in the entry of `ranks`
that the row's `rank` picks, a number or "last", else at the top of the answer.

A file whose first line names a `driver` is held by that program, which gets "{program}" and "{file}"; what a page shows
(`page`) is held by the page's own test.
"""
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

import truth_rows

ROOT = pathlib.Path(__file__).resolve().parent.parent


def rank_of(answer, wanted):
    if wanted == "last":
        return answer["ranks"][-1]
    return next(entry for entry in answer["ranks"] if wanted in entry["ranks"])


def answer_of(program, row):
    """What the program answers to a row, as the places where a figure is looked up; or why there is no answer."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([program, *truth_rows.words_of(row, folder)], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        return None, done.stderr.strip()
    answer = json.loads(done.stdout)
    return (rank_of(answer, row.get("rank", 0)), answer), ""


def at(places, path):
    """The number at a dotted path in the first of the places that has it, else None."""
    for place in places:
        for key in path:
            place = place.get(key) if isinstance(place, dict) else None
        if place is not None:
            return place
    return None


def numbers(value, path=()):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, (*path, key))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value


def inexact(row, places, complaint, exact):
    """What is demanded to the byte and is not."""
    if places is None:
        return [f"{row['id']}: {complaint}"]
    if exact == ["*"]:
        wanted = [(path, value, at(places, path) or 0) for path, value in numbers(row["expect"])]
    else:
        paths = [tuple(figure.split(".")) for figure in exact]
        wanted = [(path, at([row["expect"]], path), at(places, path)) for path in paths]
    return [f"{row['id']}: {'.'.join(path)}: {found}, not {value}" for path, value, found in wanted if found != value]


def too_far(rows, answers, demand):
    """Where fewer rows than demanded lie within a share of what was measured."""
    path, percent, share = tuple(demand["figure"].split(".")), demand["percent"], demand["of_rows"]
    pairs = [(at(places, path), at([row["expect"]], path)) for row, (places, _) in zip(rows, answers) if places]
    near = sum(found is not None and abs(found - value) * 100 <= percent * value for found, value in pairs)
    print(f"{demand['figure']}: {near} of {len(rows)} rows within {percent} %")
    return [f"{demand['figure']}: fewer than {share} % of the rows within {percent} %"] if near * 100 < share * len(rows) else []


def hold(program, path):
    """Whether the answers to a file's rows are what its first line demands."""
    head, rows = truth_rows.read_head(path), truth_rows.read_rows(path)
    if not head or not rows:
        print(f"{path.name}: {'no rows' if head else 'no first line says what its rows demand (tests/truth/README.md)'}")
        return False
    if "driver" in head:
        script, *words = [word.replace("{program}", program).replace("{file}", str(path)) for word in head["driver"]]
        return subprocess.run([sys.executable, str(ROOT / script), *words], check=False).returncode == 0
    exact, within = head["demands"].get("exact", []), head["demands"].get("within", [])
    if not exact and not within:
        print(f"{path.name}: {len(rows)} rows, shown by {head['page']}, whose test holds them")
        return True
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda row: answer_of(program, row), rows))
    faults = [fault for row, (places, complaint) in zip(rows, answers) for fault in inexact(row, places, complaint, exact) if exact]
    faults += [fault for demand in within for fault in too_far(rows, answers, demand)]
    print("\n".join([*faults, f"{path.name}: {len(rows)} rows, {len(faults)} faults"]), flush=True)
    return not faults


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, *chosen = sys.argv[1:]
    program = str(pathlib.Path(program).resolve())
    held = [hold(program, path) for path in map(pathlib.Path, chosen or truth_rows.files())]
    return 0 if held and all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
