#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/releases.md: how the answers fare on steps recorded with each pair of releases, and every change that has a name.

    releases_page.py PROGRAM [--check]      writes the page; with --check fails where it is out of date

The rows are all of tests/truth that have a stack: those of torch's plain loop by their torch and transformers, all by the other packages that
they name. The changes are those of src/release/*_changes.h.
"""
import json
import pathlib
import re
import sys

from releases import engines, recorded

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "releases.md"
INTRODUCTION = ROOT / "docs" / "releases" / "introduction.md"
CHANGES = ROOT / "src" / "release"
CHANGE = re.compile(r"inline constexpr Change (k\w+)\{\s*Package::(\w+),\s*\{(\d+), (\d+), (\d+)\},\s*((?:\"(?:[^\"\\]|\\.)*\"\s*)+),"
                    r"\s*((?:\"(?:[^\"\\]|\\.)*\"\s*)+)\};")
FIGURES = ("peak_requested_bytes", "peak_allocated_bytes", "peak_reserved_bytes")


def rows_by_pair():
    pairs = {}
    for pair, row in recorded.plain_steps():
        pairs.setdefault(pair, []).append(row)
    return dict(sorted(pairs.items()))


def table_line(program, pair, rows):
    said = recorded.score(program, rows)
    answered = sum(row["predicted"] for row in said["rows"])
    figures = {entry["key"]: entry for entry in said["distributions"]}
    torch, transformers = (".".join(map(str, version)) for version in pair)
    cells = [torch, transformers, str(len(rows)), str(answered)]
    for key in FIGURES:
        entry = figures.get(key)
        cells.append(f"{100 * entry['exact'] / entry['rows']:.1f} %" if entry else "-")
    cells.append(f"{figures['peak_allocated_bytes']['max']:.2f} %" if "peak_allocated_bytes" in figures else "-")
    return "| " + " | ".join(cells) + " |"


def text_of(literals):
    """Adjacent string literals of C++ as one text."""
    return "".join(json.loads(literal) for literal in re.findall(r'"(?:[^"\\]|\\.)*"', literals))


def changes_by_package():
    """{package: [((major, minor, patch), what, source)]}, in the order of their releases."""
    packages = {}
    for path in sorted(CHANGES.glob("*_changes.h")):
        source = path.read_text(encoding="utf-8")
        found = CHANGE.findall(source)
        if len(found) != source.count("inline constexpr Change "):
            sys.exit(f"{path.name}: a change is written in a form that this script does not read")
        for _, package, *since, what, where in found:
            packages.setdefault(package, []).append((tuple(map(int, since)), text_of(what), text_of(where)))
    return {package: sorted(changes) for package, changes in sorted(packages.items())}


def since_text(package, since):
    """torchtitan is used from its repository: a day."""
    return "{}-{:02}-{:02}".format(*since) if package == "torchtitan" else ".".join(map(str, since))


def changes_text():
    lines = ["", "## What changed", "", "Every change that memory shows, by package and the first release that has it."]
    for package, changes in changes_by_package().items():
        lines += ["", f"### {package.replace('_', '-')}", "", "| since | what is so since then | where |", "|---|---|---|"]
        for since, what, where in changes:
            cells = [since_text(package, since), what, f"`{where}`"]
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def page(program):
    head = ["| torch | transformers | rows | answered | requested | allocated | reserved | largest error |",
            "|---|---|---:|---:|---:|---:|---:|---:|"]
    table = [table_line(program, pair, rows) for pair, rows in rows_by_pair().items()]
    return INTRODUCTION.read_text(encoding="utf-8") + "\n" + "\n".join(head + table) + "\n" + engines.text(program) + changes_text()


def main():
    program, *words = sys.argv[1:]
    text = page(program)
    if words != ["--check"]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    print("docs/releases.md is out of date: run scripts/releases_page.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
