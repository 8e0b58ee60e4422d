#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows of truth: reading their files, and saying a row as a command of the program."""
import gzip
import json
import pathlib

TRUTH = pathlib.Path(__file__).resolve().parent / "truth"
SIDE_FILES = ("config", "assistant")  # members of a row that its arguments name as "{config}" and "{assistant}"


def read_rows(path):
    """The rows of one file, .jsonl or .jsonl.gz."""
    path = pathlib.Path(path)
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def named_releases(row):
    """--with for the releases of the row's stack ("torch 2.11.0, transformers 5.17.0, sm80"), where its arguments name none."""
    parts = [part.split() for part in row.get("stack", "").split(", ")] if isinstance(row.get("stack", ""), str) else []
    pairs = ["==".join(part) for part in parts if len(part) == 2 and part[1][0].isdigit()]
    return ["--with", ",".join(pairs)] if pairs and row["args"][0] == "train" and "--with" not in row["args"] else []


def with_option(words, *option):
    """The words of a command with an option behind them, but before the -- of a launch command."""
    split = words.index("--") if "--" in words else len(words)
    return [*words[:split], *option, *words[split:]]


def words_of(row, folder):
    """The words behind the program's name that ask for a row; what its arguments name is written to the folder."""
    words = list(row["args"])
    for name in SIDE_FILES:
        if "{%s}" % name in " ".join(words):
            file = pathlib.Path(folder) / f"{name}.json"
            file.write_text(json.dumps(row.get(name) or {}), encoding="utf-8")
            words = [word.replace("{%s}" % name, str(file)) for word in words]
    return with_option(words + named_releases(row), "--json")
