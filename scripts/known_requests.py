#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests that the repository holds: rows of truth, text cases, and the command lines that its documents show."""
import dataclasses
import json
import pathlib
import re
import shlex
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
sys.path.insert(0, str(TESTS))
import documents  # noqa: E402
import run_cases  # noqa: E402
import truth_rows  # noqa: E402

NOT_ANSWERED_HERE = {"run", "verify", "record", "watch", "web", "serve-http", "mcp", "detect"}  # they start programs or wait for some

A_MODEL = "meta-llama/Llama-3.1-8B"  # where a document says MODEL


@dataclasses.dataclass(frozen=True)
class Request:
    """What is typed in an empty folder. `commands`: the words behind the program's name, of one command after the other."""

    kind: str
    name: str
    commands: tuple
    files: dict = dataclasses.field(default_factory=dict)
    stdin: str = ""
    environment: dict = dataclasses.field(default_factory=dict)


def command_of_row(row):
    words = [word.replace("{config}", "config.json").replace("{assistant}", "assistant.json") for word in row["args"]]
    return words + truth_rows.named_releases(row)


def request_of_row(row, file):
    files = {f"{name}.json": json.dumps(row[name]) for name in truth_rows.SIDE_FILES if row.get(name)}
    words = truth_rows.with_option(command_of_row(row), "--json")
    return Request("truth", f"{file.name}: {row['id']}", (tuple(words),), files, environment=row.get("environment") or {})


def of_truth():
    for file in truth_rows.files():
        for row in truth_rows.read_rows(file):
            if row.get("args"):
                yield request_of_row(row, file)


def request_of_case(case):
    words = [word.replace("{tests}", str(TESTS)) for word in shlex.split(case.text("run"))]
    files = {name: text for kind, name, text in case.sections if kind == "file"}
    environment = dict(pair.split("=", 1) for pair in case.arguments("env"))
    name = str(case.path.relative_to(TESTS))
    return Request("cases", name, (tuple(words[1:]),), files, case.text("stdin"), environment)


def of_cases():
    for case in run_cases.cases_in([TESTS / "cases"]):
        if case.text("run").startswith("memtape"):
            yield request_of_case(case)


def shown_commands(page):
    """Command lines of a document: those of its blocks that begin with the program's name."""
    shown = (statement for block in documents.blocks(page) for statement in documents.statements(block.text))
    for line in shown:
        if not re.match(r"(\./)?memtape ", line):
            continue
        try:
            words = shlex.split(documents.without_remark(line).replace("MODEL", A_MODEL), comments=True)[1:]
        except ValueError:
            continue
        plain = words and not any(word in ("|", ">", "&&", ";") or "..." in word or "[" in word for word in words)
        if plain and words[0] not in NOT_ANSWERED_HERE and "--real" not in words:
            yield tuple(words)


def of_documents():
    for page in documents.pages():
        for words in dict.fromkeys(shown_commands(page)):
            yield Request("documents", str(page.relative_to(ROOT)), (words,))


def known_requests():
    yield from of_cases()
    yield from of_documents()
    yield from of_truth()
