#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every report of tests/truth/field, with what it measured, the commands that ask for it and what is answered today.

    field_page.py [PROGRAM] [--only TEXT] [--check]

Writes docs/field.md to standard output; with --check: nothing, and fails where the page that docs hold is another. `reports.jsonl` holds the reports as they
were found. `asked.jsonl` has for each report the commands (run in `inputs/`), whether the program of the report `ran`, the figures that it states, what had
to be assumed, and `why` an answer is known to be wrong.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIELD = ROOT / "tests/truth/field"
PAGE = ROOT / "docs/field.md"
UNITS = {"GiB": 2**30, "MiB": 2**20, "GB": 10**9}
REFUSED = "refused: "  # the message says why there is no answer
NEAR = 5  # per cent: a figure within is right
ORDER = ("wrong", "open", "figures off", "right", "nothing to judge")
KINDS = {
    "right": f"The verdict is that of the report, and its figures are answered within {NEAR} %; or the error is read as it is meant; or a program that "
             "memtape does not know is refused by its name.",
    "figures off": f"The verdict is right; a figure is more than {NEAR} % off.",
    "open": "The answer is \"may not fit\", with the reason.",
    "wrong": "The verdict is another, or there is no answer.",
}


def largest(key):
    return lambda said: max(rank[key] for rank in said["ranks"])


FIGURES = {  # by the names of asked.jsonl: where an answer has them
    "weights": lambda said: max(rank.get("model_memory_bytes", rank["weights_bytes"]) for rank in said["ranks"]),  # "Model loading took"
    "activation": largest("activation_peak_bytes"),
    "graphs": largest("cuda_graph_bytes"),
    "outside": largest("non_torch_bytes"),
    "load": largest("load_peak_bytes"),
    "held": lambda said: said["load_failure"]["held_allocated_bytes"],
    "cache": lambda said: said["kv_cache"]["bytes"],
    "tokens": lambda said: said["kv_cache"]["tokens"],
    "blocks": lambda said: said["kv_cache"]["num_blocks"],
    "gpus": lambda said: sum(len(rank["ranks"]) for rank in said["ranks"]),
    "trainable": lambda said: said["model"]["trainable_parameters"],
    "device": largest("peak_device_bytes"),
    "reserved": largest("peak_reserved_bytes"),
    "gpu_model": lambda said: said["buffers"]["CUDA0"]["model_bytes"],
    "host_model": lambda said: sum(said["buffers"][name]["model_bytes"] for name in ("CPU", "CUDA_Host")),
    "compute": lambda said: said["buffers"]["CUDA0"]["compute_bytes"],
}


@dataclasses.dataclass
class Answer:
    """One command's."""
    command: str
    text: str
    kind: str


def amount(text):
    """The number of a figure of a report, and its unit: (value, bytes of the unit or 1)."""
    value, _, unit = text.partition(" ")
    return float(value), UNITS.get(unit, 1)


def figure(name, stated, said):
    """(as a line says it, whether it is right)."""
    value, unit = amount(stated)
    try:
        here = FIGURES[name](said) / unit
    except (KeyError, TypeError):
        return f"{name.replace('_', ' ')} not answered (reported {stated})", False
    error = 100 * (here - value) / value
    shown = f"{here:,.2f} {stated.partition(' ')[2]}" if unit > 1 else f"{here:,.0f}"
    return f"{name.replace('_', ' ')} {shown} ({error:+.1f} %)", abs(error) <= NEAR


def has_words(text, words):
    return all(re.search(word, text) for word in words)


def predicted(ask, done):
    said = json.loads(done.stdout)
    lines = [figure(name, stated, said) for name, stated in ask.get("figures", {}).items()]
    verdict = said.get("verdict") or "no verdict"
    off = [text for text, right in lines if not right]
    peak = f"{largest('peak_device_bytes')(said) / 2**30:.2f}"
    text = "; ".join([f"{verdict}, {peak} GiB"] + [text for text, _ in lines])
    if ask["ran"] != (verdict == "fits") and verdict != "may not fit":
        return Answer(ask["command"], text, "wrong")
    return Answer(ask["command"], text, "open" if verdict == "may not fit" else "figures off" if off else "right")


def refused(ask, done):
    text = done.stderr.strip().split("\n")[0].removeprefix("memtape: ")
    right = "refuses" in ask and has_words(done.stderr, ask["refuses"])
    return Answer(ask["command"], REFUSED + text, "right" if right else "wrong")


def explained(ask, done):
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    text = "; ".join(" ".join(line.split()) for line in lines[:4])
    return Answer(ask["command"], text, "right" if has_words(done.stdout, ask["says"]) else "wrong")


def answer(program, ask):
    words = shlex.split(ask["command"])[1:]
    explains = words[0] == "explain"
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([program, *([] if explains else ["--json"] if words[0].startswith("-") else []), *words,
                           *(["--json"] if not explains and not words[0].startswith("-") else [])],
                          cwd=FIELD / "inputs", env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        return refused(ask, done)
    if "refuses" in ask:
        return Answer(ask["command"], "answered, where nothing could be known", "wrong")
    return explained(ask, done) if explains else predicted(ask, done)


def cell(text):
    return text.replace("|", "\\|")


def worst(answers):
    return min((one.kind for one in answers), key=ORDER.index)


def row(report, asked, answers):
    kind = worst(answers)
    why = "" if kind == "right" or any(one.text.startswith(REFUSED) for one in answers) else asked["why"] or "nothing accounts for it yet"
    lines = [f"### {report['id']}: {kind}", "", f"{report['source']}: {report['asked']}", "", f"Reported: {report['truth']}", ""]
    lines += ["Assumed: " + asked["assumed"] + ".", ""] if asked["assumed"] else []
    lines += [f"- `{one.command}`: {one.text} ({one.kind})" for one in answers]
    return "\n".join([*lines, ""] + ([f"Why not: {why}.", ""] if why else []))


def shares(found):
    lines = ["| | reports | serving | training |", "|---|---:|---:|---:|"]
    counts = collections.Counter((worst(answers), report["kind"]) for report, _, answers in found)
    for kind in KINDS:
        serve, train = counts[kind, "serve"], counts[kind, "train"]
        lines.append(f"| {kind} | {serve + train} | {serve} | {train} |")
    lines.append(f"| in all | {len(found)} | {sum(r['kind'] == 'serve' for r, _, _ in found)} | {sum(r['kind'] == 'train' for r, _, _ in found)} |")
    return "\n".join(lines)


def page(found):
    kinds = "\n".join(f"| {kind} | {text} |" for kind, text in KINDS.items())
    index = "\n".join(f"| [{report['id']}](#{report['id'].lower()}-{worst(answers).replace(' ', '-')}) | {cell(report['asked'])} | {cell(report['truth'])} | "
                      f"{worst(answers)} |" for report, _, answers in found)
    parts = "\n".join(row(*one) for one in found)
    return f"""# Reports from the field

Written by `scripts/field_page.py`; a test fails when it is out of date. These are public reports of people who trained or served a model,
as `tests/truth/field/reports.jsonl` has them with their sources: all of them, whether the answer agrees or not. `asked.jsonl` beside it has
the commands that ask for each, which run in `tests/truth/field/inputs`, and what had to be assumed where a report leaves a setting out.
Nothing is fitted to a report.

{shares(found)}

| kind | what |
|---|---|
{kinds}

| report | asked | reported | today |
|---|---|---|---|
{index}

## One by one

{parts}"""


def read(name):
    return [json.loads(line) for line in (FIELD / name).read_text(encoding="utf-8").splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", default=str(ROOT / "build/release/memtape"))
    parser.add_argument("--only", default="")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    asked = {one["id"]: one for one in read("asked.jsonl")}
    reports = [one for one in read("reports.jsonl") if options.only in one["id"]]
    program = str(pathlib.Path(options.program).resolve())
    with concurrent.futures.ThreadPoolExecutor() as pool:
        pending = [(report, asked[report["id"]], [pool.submit(answer, program, ask) for ask in asked[report["id"]]["asks"]]) for report in reports]
        found = [(report, one, [answer.result() for answer in answers]) for report, one, answers in pending]
    written = page(found)
    if not options.check:
        print(written, end="")
        return 0
    if written != PAGE.read_text(encoding="utf-8"):
        print("docs/field.md is out of date: run scripts/field_page.py > docs/field.md", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
