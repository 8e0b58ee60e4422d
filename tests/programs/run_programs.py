#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_programs.py MEMTAPE VENV FOLDER [--page FILE] [--limit SECONDS] [NAME...]: the programs of register.toml under `memtape run`, one line each.

VENV has their packages (requirements.txt), FOLDER gets the material and what they write. Exit code 1 when one does not run to its
end with a report. --page writes the table: what each program did when it last ran in FOLDER.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
QUIET = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "WANDB_MODE": "disabled", "YOLO_OFFLINE": "true",
         "TOKENIZERS_PARALLELISM": "false", "PYTHONWARNINGS": "ignore"}
PAGE = """# Real programs on the phantom GPU

Written by `./check --programs` (tests/programs): programs by their own entry points, or their packages' usual calls in a few lines, on
small data and random weights, under `memtape run`. Peaks are allocated bytes of the fullest rank. What was invented is what would come
from weights (docs/phantom.md) and the program then read; a peak beside it is one that the program can have.

| program | what | runs | since | steps | seconds | peak, bytes | invented |
|---|---|---|---|---:|---:|---:|---|
"""


def command(entry, options):
    words = entry["run"].format(material=options.folder / "material", scripts=HERE / "scripts").split()
    return [options.memtape, "run", "--json", "--gpus", str(entry.get("gpus", 1)), "--", options.venv / "bin" / words[0], *words[1:]]


def run(name, entry, options):
    """{runs, seconds, steps, peak, invented, why}"""
    began = time.time()
    own = {**os.environ, **QUIET, "PATH": "%s:%s" % (options.venv / "bin", os.environ["PATH"]),
           "HF_HOME": str(options.folder / "cache"), "YOLO_CONFIG_DIR": str(options.folder)}
    with open(options.folder / (name + ".log"), "w") as log:
        child = subprocess.Popen(command(entry, options), stdout=subprocess.PIPE, stderr=log, text=True, cwd=options.folder, env=own,
                                 start_new_session=True)
        try:
            out, _ = child.communicate(timeout=options.limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGTERM)  # ranks that a program started itself outlive it otherwise
            out, _ = child.communicate()
            late = "not through within %d s" % options.limit
        else:
            late = ""
    answer = {**judged(child.returncode, out, entry, late), "seconds": time.time() - began}
    result_file(options, name).write_text(json.dumps(answer))
    return answer


def result_file(options, name):
    return options.folder / (name + ".result.json")


def judged(code, out, entry, late):
    try:
        report = json.loads(out)
    except ValueError:
        return {"runs": False, "why": late or "no report, exit code %d" % code, "steps": 0, "peak": 0, "invented": []}
    steps = max([rank["steps"] for rank in report["ranks"]], default=0)
    peak = max([rank["peak_allocated_bytes"] for rank in report["ranks"]], default=0)
    why = (late or "exit code %d" % code if late or code else "%d ranks" % len(report["ranks"]) if len(report["ranks"]) != entry.get("gpus", 1)
           else "%d steps, not %d" % (steps, entry["steps"]) if steps < entry["steps"] else "")
    invented = sorted({re.split(" of (?:an )?unknown| spreads| draws| leaves", row["what"])[0] for row in report["invented"] if row["reads"]})
    return {"runs": not why, "why": why, "steps": steps, "peak": peak, "invented": invented}


def page(rows):
    lines = ["| %s | %s | %s | %s | %d | %.0f | %s | %s |" % (
        name, entry["what"], "yes" if found["runs"] else "no: " + found["why"], entry["since"] if found["runs"] else "", found["steps"],
        found["seconds"], format(found["peak"], ",") if found["runs"] else "", ", ".join(found["invented"])) for name, entry, found in rows]
    count = sum(found["runs"] for _, _, found in rows)
    return PAGE + "\n".join(lines) + "\n\n%d of %d run to their end.\n" % (count, len(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("memtape", "venv", "folder"):
        parser.add_argument(name, type=lambda text: pathlib.Path(text).absolute())
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--limit", type=float, default=300, help="seconds of one program, where nothing else keeps the machine busy")
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    register = tomllib.loads((HERE / "register.toml").read_text())
    options.folder.mkdir(parents=True, exist_ok=True)
    if not (options.folder / "material/molecules.xyz").exists():
        subprocess.run([options.venv / "bin/python", HERE / "material.py", options.folder / "material"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ran = []
    for name, entry in register.items():
        if options.names and name not in options.names:
            continue
        found = run(name, entry, options)
        ran.append(found)
        print("%s %5.1f s  %s%s" % ("ok    " if found["runs"] else "FAILED", found["seconds"], name, found["why"] and ": " + found["why"]),
              flush=True)
    if options.page:
        files = [(name, entry, result_file(options, name)) for name, entry in register.items()]
        options.page.write_text(page([(name, entry, json.loads(file.read_text())) for name, entry, file in files if file.exists()]))
    failed = sum(not found["runs"] for found in ran)
    print("%d programs, %d failed" % (len(ran), failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
