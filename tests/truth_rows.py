#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows of truth: reading their files, and saying a row as a command of the program.

    truth_rows.py list                what each file of tests/truth holds and demands
    truth_rows.py share FILE...       move the configurations of these files' rows to tests/truth/configs/models.jsonl

The first line of a file describes it (tests/truth/README.md); every further line is a row. A row's configuration is an object, or the
name of one in configs/models.jsonl.
"""
import functools
import gzip
import hashlib
import json
import pathlib
import sys

TRUTH = pathlib.Path(__file__).resolve().parent / "truth"
CONFIGS = "configs/models.jsonl"  # below TRUTH
SIDE_FILES = ("config", "assistant")  # members of a row that its arguments name as "{config}" and "{assistant}"


def files():
    """The files of rows, by name."""
    return sorted([*TRUTH.glob("*.jsonl"), *TRUTH.glob("*.jsonl.gz")])


def read_lines(path):
    path = pathlib.Path(path)
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else open(path, encoding="utf-8") as lines:
        return [line for line in lines if line.strip()]


def is_head(line):
    return isinstance(line, dict) and "demands" in line


def read_head(path):
    """What the first line says of the file; {} where it is a row."""
    first = next((json.loads(line) for line in read_lines(path)[:1]), {})
    return first if is_head(first) else {}


@functools.lru_cache
def configs():
    """Configurations by name."""
    lines = (TRUTH / CONFIGS).read_text(encoding="utf-8").splitlines() if (TRUTH / CONFIGS).exists() else []
    return {entry["name"]: entry["config"] for entry in map(json.loads, lines)}


def read_rows(path):
    """The rows of one file, .jsonl or .jsonl.gz, each with its configuration as an object."""
    rows = [row for row in map(json.loads, read_lines(path)) if not is_head(row)]
    for row in rows:
        for name in SIDE_FILES:
            if isinstance(row.get(name), str):
                row[name] = configs()[row[name]]
    return rows


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
        if any("{%s}" % name in word for word in words):
            file = pathlib.Path(folder) / f"{name}.json"
            file.write_text(json.dumps(row.get(name) or {}), encoding="utf-8")
            words = [word.replace("{%s}" % name, str(file)) for word in words]
    return with_option(words + named_releases(row), "--json")


def name_of(config):
    """A name for a configuration that nobody has to choose: its family and a few digits of its hash."""
    family = config.get("model_type") or config.get("metadata", {}).get("general.architecture") or "model"
    return f"{family}-{hashlib.sha256(json.dumps(config).encode()).hexdigest()[:8]}"


def shared_line(line, known):
    """The line of a row with the names of its configurations, which `known` gets."""
    row = json.loads(line)
    for name in SIDE_FILES:
        if isinstance(row.get(name), dict) and row[name]:
            config, row[name] = row[name], name_of(row[name])
            known[row[name]] = config
    spaces = {"separators": (",", ":")} if '": ' not in line[:20] else {}  # as the line has them
    return json.dumps(row, ensure_ascii=False, **spaces) + "\n"


def write_lines(path, lines):
    text = "".join(lines).encode()
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)


def share(paths):
    known = dict(configs())
    for path in map(pathlib.Path, paths):
        lines = read_lines(path)
        head = lines[:1] if is_head(json.loads(lines[0])) else []
        write_lines(path, head + [shared_line(line, known) for line in lines[len(head):]])
    (TRUTH / CONFIGS).parent.mkdir(exist_ok=True)
    write_lines(TRUTH / CONFIGS, [json.dumps({"name": name, "config": known[name]}, ensure_ascii=False) + "\n" for name in sorted(known)])


def show():
    for path in files():
        head = read_head(path)
        print(f"{path.name}: {len(read_rows(path))} rows. {head.get('what', 'no first line describes it')}")
        print(f"    source: {head.get('source', '?')}\n    demands: {json.dumps(head.get('demands'))}")
        print(f"    why: {head['why']}" if head.get("why") else "", end="\n" if head.get("why") else "")


if __name__ == "__main__":
    if sys.argv[1:] == ["list"]:
        show()
    elif sys.argv[1:2] == ["share"] and len(sys.argv) > 2:
        share(sys.argv[2:])
    else:
        sys.exit(__doc__)
