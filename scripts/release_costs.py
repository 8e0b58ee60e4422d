#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""data/release_costs.tsv: what releases have cost, by family, as recorded steps show it.

    release_costs.py PROGRAM [--check]     writes the table; with --check fails where it is out of date
    release_costs.py --check-rows          fails where the rows that it was made of are not those of tests/truth

Each recorded step is asked for as it ran, which gives the error of its release, and by the rules of the family's recorded release
before and after, which gives what it would have cost had nobody looked at it. Steps that reserve a GiB or more say it in thousandths
of that. Smaller ones say it in bytes, for workspaces and segments weigh more in them than in any model that is trained; in their
allocated bytes, which workspaces of one torch do not change, they say in thousandths what a release of transformers costs.
"""
import collections
import math
import pathlib
import sys
from typing import Dict, List, NamedTuple, Tuple

from releases import recorded

TABLE = pathlib.Path(__file__).resolve().parents[1] / "data" / "release_costs.tsv"
AXES = ("torch", "transformers")  # the places in a pair
LARGE = 1 << 30
OF_TWENTY = 19  # what a family without steps of its own is given: as much as that many of twenty steps cost at most
COLUMNS = "package, family, release, rows; the largest error there in thousandths and in bytes; the largest cost of coming there from the " \
          "family's recorded release before, likewise. Family * has what 19 of 20 such steps cost at most, and their number."


class Job(NamedTuple):
    axis: str  # "own torch" for the step as it ran
    family: str
    release: Tuple[int, int]  # where the cost counts: the step's own, or the later of the two
    row: dict


def minor(version) -> Tuple[int, int]:
    return version[:2]


def text(version) -> str:
    return ".".join(map(str, version))


def with_pair(row: dict, pair) -> dict:
    """The row, asked for under that pair of releases."""
    words = list(row["args"])
    others = []
    if "--with" in words:
        place = words.index("--with")
        others = [word for word in words[place + 1].split(",") if word.partition("==")[0] not in AXES]
        del words[place:place + 2]
    named = ",".join([*(f"{axis}=={text(version)}" for axis, version in zip(AXES, pair)), *others])
    return {**row, "args": recorded.truth_rows.with_option(words, "--with", named)}


class Steps:
    def __init__(self):
        self.all = [(pair, recorded.family_of(row), row) for pair, row in recorded.plain_steps()]
        self.rows: Dict[Tuple[str, str, Tuple[int, int]], int] = collections.Counter()
        self.newest = {}  # patch of each minor
        for pair, family, _ in self.all:
            for axis, version in zip(AXES, pair):
                self.rows[axis, family, minor(version)] += 1
                self.newest[axis, minor(version)] = max(version, self.newest.get((axis, minor(version)), version))
        self.releases = collections.defaultdict(list)
        for axis, family, release in sorted(self.rows):
            self.releases[axis, family].append(release)

    def jobs(self) -> List[Job]:
        found = []
        for pair, family, row in self.all:
            for axis in AXES:
                found.append(Job(f"own {axis}", family, minor(pair[AXES.index(axis)]), with_pair(row, pair)))
                found += self._neighbours(axis, pair, family, row)
        return found

    def _neighbours(self, axis, pair, family, row) -> List[Job]:
        at = AXES.index(axis)
        known = self.releases[axis, family]
        place = known.index(minor(pair[at]))
        found = []
        for other in (place - 1, place + 1):
            if 0 <= other < len(known):
                changed = list(pair)
                changed[at] = self.newest[axis, known[other]]
                found.append(Job(axis, family, known[max(place, other)], with_pair(row, changed)))
        return found


def cost(axis: str, values: dict) -> Tuple[int, int]:
    """In thousandths and in bytes."""
    predicted, real = values["peak_reserved_bytes"]
    if real >= LARGE:
        return math.ceil(1000 * abs(predicted - real) / real), 0
    share = 0
    if axis != "torch" and "peak_allocated_bytes" in values:
        answered, allocated = values["peak_allocated_bytes"]
        share = math.ceil(1000 * abs(answered - allocated) / allocated)
    return share, abs(predicted - real)


def costs(program: str, steps: Steps):
    """{(axis, family, release): (thousandths, bytes)}; axis "own torch" is the error there."""
    jobs = steps.jobs()
    said = recorded.score(program, [{**job.row, "id": str(number)} for number, job in enumerate(jobs)])
    found = {}
    for row in said["rows"]:
        job = jobs[int(row["id"])]
        if row["predicted"] and "peak_reserved_bytes" in row["values"]:
            key = (job.axis, job.family, job.release)
            found[key] = tuple(map(max, found.get(key, (0, 0)), cost(job.axis.replace("own ", ""), row["values"])))
    return found


def most_of(found: List[Tuple[int, int]]) -> Tuple[int, ...]:
    """Of each of the two figures, what 19 of 20 do not exceed."""
    place = math.ceil(len(found) * OF_TWENTY / 20) - 1
    return tuple(sorted(figures)[place] for figures in zip(*found))


def table(program: str) -> str:
    steps = Steps()
    found = costs(program, steps)
    lines = [f"# Written by scripts/release_costs.py. {COLUMNS}"]
    for axis in AXES:
        newest = [version for (package, _), version in steps.newest.items() if package == axis]
        lines.append(f"# {axis}: " + " ".join(map(text, sorted(newest))))
        all_steps = [figures for (package, _, _), figures in found.items() if package == axis]
        lines.append("\t".join([axis, "*", "-", str(len(all_steps)), "0", "0", *map(str, most_of(all_steps))]))
        for (package, family, release), rows in sorted(steps.rows.items()):
            if package == axis:
                own, step = (found.get((name, family, release), (0, 0)) for name in (f"own {axis}", axis))
                lines.append("\t".join(map(str, [axis, family, text(release), rows, *own, *step])))
    return "\n".join(lines) + "\n"


def rows_are_those_of_truth() -> bool:
    written = collections.Counter()
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            package, family, release, rows, *_ = line.split("\t")
            if family != "*":
                written[package, family, tuple(map(int, release.split(".")))] = int(rows)
    return written == Steps().rows


def main():
    words = sys.argv[1:]
    if words == ["--check-rows"]:
        fine = rows_are_those_of_truth()
    elif words[1:] == ["--check"]:
        fine = TABLE.read_text(encoding="utf-8") == table(words[0])
    elif len(words) == 1 and not words[0].startswith("-"):
        TABLE.write_text(table(words[0]), encoding="utf-8")
        fine = True
    else:
        sys.exit(__doc__)
    if not fine:
        print("data/release_costs.tsv is out of date: run scripts/release_costs.py", file=sys.stderr)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
