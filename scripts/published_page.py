#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every published training run of tests/truth/training_published.jsonl, answered or with the reason why not.

    published_page.py [PROGRAM] [--rows FILE] [--only TEXT] [--page | --head]

Without --page: a line a row and the shares. With it: docs/accuracy/published_training.md, as docs hold it; with --head: the shares alone,
for the head of docs/accuracy.md. A row becomes a command from its own facts, by its source's file in scripts/published.
"""
import argparse
import collections
import concurrent.futures
import functools
import pathlib
import statistics
import sys

from published.outcome import KINDS, ORDER, outcome

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
import truth_rows  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
ANSWERED = ("exact", "rounding", "off")


def errors(found):
    return [abs(one.error) for one in found if one.error is not None]


def spread(values):
    if not values:
        return "- | - | -"
    return f"{statistics.median(values):.2f} % | {statistics.mean(values):.2f} % | {max(values):.1f} %"


def wrong_verdicts(found):
    """Rows that ran and were said not to fit, and rows that ran out and were said to fit."""
    ran = [one for one in found if one.what in ANSWERED and one.verdict == "does not fit"]
    return ran + [one for one in found if one.what == "wrong verdict"]


def shares(found):
    counts = collections.Counter(one.what for one in found)
    answered = [one for one in found if one.what in ANSWERED]
    judged = [one for one in found if one.verdict in ("fits", "does not fit", "may not fit")]
    unsure = sum(one.verdict == "may not fit" for one in judged)
    ran_out = sum(one.row["kind"] == "oom" and one.verdict is not None for one in found)
    return f"""| published training runs | rows |
|---|---:|
| in the file | {len(found)} |
| not measurements (formulas, estimates, upper bounds) | {counts["not a measurement"]} |
| answered | {len(answered)} |
| of these to the byte | {counts["exact"]} |
| of these within the source's rounding | {counts["rounding"]} |
| of these within 1 % | {sum(e <= 1 for e in errors(answered))} |
| of these within 5 % | {sum(e <= 5 for e in errors(answered))} |
| ran out of memory, and said so | {counts["verdict"]} of {ran_out} |
| wrong verdicts among all that name a GPU | {len(wrong_verdicts(found))} of {len(judged)} ("may not fit": {unsure}) |
| not answerable: the row lacks a fact | {counts["not answerable"]} |
| not modelled | {counts["not modelled"]} |

Answered rows: median error {statistics.median(errors(answered)):.2f} %, mean {statistics.mean(errors(answered)):.2f} %.
"""


def by_source(found):
    lines = ["| source | rows | answered | exact | rounding | median | mean | largest | not answerable | not modelled |",
             "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for source in dict.fromkeys(one.source for one in found):
        rows = [one for one in found if one.source == source]
        counts = collections.Counter(one.what for one in rows)
        answered = sum(counts[what] for what in ANSWERED)
        lines.append(f"| {source} | {len(rows)} | {answered} | {counts['exact']} | {counts['rounding']} | {spread(errors(rows))} | "
                     f"{counts['not answerable']} | {counts['not modelled']} |")
    return "\n".join(lines)


def reasons(found, what):
    counts = collections.Counter(one.why for one in found if one.what == what)
    return "\n".join(f"| {why} | {count} |" for why, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def line(one):
    row = one.row
    measured = f"{row['value']:,} {row['unit']}" if row["value"] is not None else "out of memory"
    if one.predicted is None:
        return f"| {row['id']} | {measured} | - | {one.what}: {one.why} |"
    off = f" ({one.error:+.2f} %)" if one.error is not None else f" ({one.verdict})"
    stands = one.what if one.what != "off" else one.why or "nothing accounts for it"
    return f"| {row['id']} | {measured} | {one.predicted:,}{off} | {stands} |"


def page(found):
    kinds = "\n".join(f"| {kind} | {text} |" for kind, text in KINDS.items())
    tables = "\n\n".join(f"## {source}\n\n| row | measured | memtape, bytes | what stands between, or why not |\n|---|---:|---:|---|\n"
                         + "\n".join(line(one) for one in found if one.source == source) for source in dict.fromkeys(one.source for one in found))
    wrong = "\n".join(line(one) for one in wrong_verdicts(found)) or "| none | | | |"
    return f"""# Published training runs, one by one

Written by `scripts/published_page.py`; a test fails when it is out of date. Every row of `tests/truth/training_published.jsonl`, which
names each row's source, is here. A row becomes a command from its own facts alone, by the file of its source in `scripts/published`, the
same for all rows of that source. Nothing is fitted to a row.

{shares(found)}
| kind | what |
|---|---|
{kinds}

{by_source(found)}

| not answerable for want of | rows |
|---|---:|
{reasons(found, "not answerable")}

| not modelled | rows |
|---|---:|
{reasons(found, "not modelled")}

## Wrong verdicts

| row | measured | memtape, bytes | kinds |
|---|---:|---:|---|
{wrong}

{tables}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", default=str(ROOT / "build/release/memtape"))
    parser.add_argument("--rows", default=str(ROOT / "tests/truth/training_published.jsonl"))
    parser.add_argument("--only", default="")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--head", action="store_true")
    options = parser.parse_args()
    rows = truth_rows.read_rows(options.rows)
    rows = [row for row in rows if options.only in row["id"]]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        found = list(pool.map(functools.partial(outcome, options.program), rows))
    if options.page:
        print(page(found), end="")
    elif options.head:
        print(shares(found), end="")
    else:
        for one in sorted(found, key=lambda one: ORDER.index(one.what)):
            print(line(one))
        print(shares(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
