#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One figure for one thing: drawn trainings are asked on devices whose memory lies about their peak, where cached segments go
back or the bounds decide. Verdict, figure, bounds, text, page, comparison, grid, budgets, advice and Python must agree.

    run_near_limit.py PROGRAM [--count N] [--seed N] [--verbose]
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bindings" / "python"))
from memtape._answer import answer_of  # noqa: E402  (what Python says of the same JSON)

MODELS = ["Qwen/Qwen3-0.6B", "Qwen/Qwen3-1.7B", "meta-llama/Llama-3.2-1B", "meta-llama/Llama-3.2-3B"]
GPUS = ["rtx-4090", "a100-40gb", "h100-80gb"]
FRAMEWORKS = [[], [], ["--framework", "transformers"], ["--framework", "fsdp2", "--gpus", "2"], ["--framework", "ddp", "--gpus", "2"],
              ["--framework", "deepspeed", "--gpus", "2", "--zero", "2"]]
MIB = 1 << 20
TIMEOUT_SECONDS = 120
GIVEN_BACK = ", cached segments given back"
FEWEST_GIVING_BACK = 10  # of a hundred answers: else the draw does not reach what it is for


def drawn(seed, number):
    """A training, and how far from its peak the memory of its device lies."""
    draw = random.Random(f"{seed}/{number}")
    words = ["train", draw.choice(MODELS), "--gpu", draw.choice(GPUS), *draw.choice(FRAMEWORKS),
             "--sequence-length", draw.choice(["512", "1024", "2048"]), "--micro-batch-size", draw.choice(["1", "2", "3"])]
    if draw.random() < 0.3:
        words += ["--gradient-checkpointing", "full"]
    if draw.random() < 0.3:
        words += ["--optimizer-impl", draw.choice(["foreach", "fused", "for-loop"])]
    # Most of what is given back lies within a few hundred MiB below the peak.
    return words, round(draw.choice([-1, -1, -1, 1]) * draw.random() ** 2 * 1500) * MIB - draw.randrange(MIB)


def run(program, words):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False,
                          env=dict(os.environ, HF_HUB_OFFLINE="1"))


def gib(size):
    return f"{size / 2**30:.2f}"


def faults_of_figures(found):
    """What an answer's own figures contradict."""
    total, needed, within = found["device"]["total_bytes"], found["needed_bytes"], found["within_limit_bytes"]
    peak = max(rank["peak_device_bytes"] for rank in found["ranks"])
    bounds, verdict, room = found["bounds"], found["verdict"], found["headroom_bytes"]
    says = {"fits": bounds["high_bytes"] <= total, "does not fit": bounds["low_bytes"] > total,
            "may not fit": bounds["low_bytes"] <= total < bounds["high_bytes"]}
    python = answer_of(json.dumps(found), 0)
    claims = {
        "the figure lies within the device where it fits, above it where not": found["fits"] == (needed <= total),
        "the bounds hold the figure": bounds["low_bytes"] <= needed <= bounds["high_bytes"],
        "the bounds say what the verdict says": says[verdict],
        "fits and room agree": found["fits"] == (room >= 0),
        "the figure within the limit and the room make the device": within is None or within + room == total,
        "more than there is fits by giving back alone": not found["fits"] or peak <= total or within is not None,
        "the figure is the one within the limit, else at least the peak": needed == within if within is not None else needed >= peak,
        "the figure within the limit is another than the peak": within != peak,
        "Python's peak is the figure": python.peak == needed and python.without_limit == peak,
        "advice fits within the device": all(a["peak_device_bytes"] <= total for a in found["advice"] if a["fits"]),
    }
    return [claim for claim, holds in claims.items() if not holds]


def without(words, option):
    """The words without an option, and its value."""
    at = words.index(option)
    return words[:at] + words[at + 2:], words[at + 1]


def faults_of_doors(program, words, found):
    """Where another door says something else of the same training."""
    total, needed, within = found["device"]["total_bytes"], found["needed_bytes"], found["within_limit_bytes"]
    told = found["verdict"] + (GIVEN_BACK if within is not None else "")
    wrong = []
    text = run(program, words)
    line = next((row.strip() for row in text.stdout.splitlines() if row.startswith(f"  {found['verdict']}")), "")
    if within is None and GIVEN_BACK in line or not line.startswith(f"{told}: "):
        wrong.append(f"text says {line!r}")
    figures = re.match(r"([\d.]+) of ([\d.]+) (GiB|MiB)", line[len(told) + 2:])
    if figures and figures[3] == "GiB" and (figures[1], figures[2]) != (gib(needed), gib(total)):
        wrong.append(f"text says {line!r} of {gib(needed)}")
    between = re.search(r"Between ([\d.]+) and ([\d.]+) GiB", " ".join(text.stdout.split()))
    if between and (between[1], between[2]) != (gib(found["bounds"]["low_bytes"]), gib(found["bounds"]["high_bytes"])):
        wrong.append(f"text says {between[0]!r}")
    quiet = run(program, [*words, "--quiet"]).stdout
    if f", {told}" not in quiet:
        wrong.append(f"--quiet says {quiet!r}")
    others, gpu = without(words, "--gpu")
    compared = json.loads(run(program, [*others, "--compare", gpu, "--json"]).stdout)["compared"][0]
    others, size = without(words, "--micro-batch-size")
    cell = json.loads(run(program, [*others, "--grid", f"micro-batch-size={size}", "--json"]).stdout)["cells"][0]
    peak = max(rank["peak_device_bytes"] for rank in found["ranks"])
    for door, one in (("--compare", compared), ("--grid", cell)):
        same = (one["peak_device_bytes"] == needed and one["verdict"] == found["verdict"] and one["headroom_bytes"] == found["headroom_bytes"] and
                one["low_bytes"] == found["bounds"]["low_bytes"] and one["high_bytes"] == found["bounds"]["high_bytes"] and
                one["without_limit_bytes"] == (None if within is None else peak))
        if not same:
            wrong.append(f"{door} says {one}")
    return wrong


def faults_of_budgets(program, words, found):
    """`memtape check` against a limit of exactly what is needed, and of a byte less."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for less in (0, 1):
            file = pathlib.Path(folder) / "memtape.toml"
            file.write_text(f"[runs.one]\ncommand = {json.dumps(shlex.join(words))}\nlimit = \"{found['needed_bytes'] - less} B\"\n")
            told = json.loads(run(program, ["check", str(file), "--json"]).stdout)["runs"][0]
            if told["over_limit"] != bool(less):
                wrong.append(f"check: over_limit is {told['over_limit']} at {less} bytes less than needed")
    return wrong


def page_of(program, words):
    """The answer that the page of --html shows."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "page.html"
        run(program, [*words, "--html", str(file)])
        return file.read_text() if file.exists() else ""


def faults_of_page(program, words, found):
    page = page_of(program, words)
    told = found["verdict"] + (GIVEN_BACK if found["within_limit_bytes"] is not None else "")
    claims = {f'"needs":{found["needed_bytes"]},': "needs", f'"verdict_in_words":"{told}"': "verdict", f'"room":{found["headroom_bytes"]},': "room"}
    return [f"the page of --html has no {name} {text}" for text, name in claims.items() if text not in page.replace('": ', '":')]


def faults(program, words, beside):
    asked = run(program, [*words, "--json"])
    if asked.returncode not in (0, 1):
        return None, asked.stderr.strip(), []
    peak = max(rank["peak_device_bytes"] for rank in json.loads(asked.stdout)["ranks"])
    words = [*words, "--gpu-memory-bytes", str(peak + beside)]
    found = json.loads(run(program, [*words, "--json"]).stdout)
    wrong = faults_of_figures(found) + faults_of_doors(program, words, found)
    wrong += faults_of_budgets(program, words, found) + faults_of_page(program, words, found)
    return found, shlex.join(words), wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    draws = [drawn(options.seed, number) for number in range(options.count)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda one: faults(program, *one), draws))
    answered = [found for found, _, _ in results if found]
    back = sum(found["within_limit_bytes"] is not None for found in answered)
    doubts = sum(found["verdict"] == "may not fit" for found in answered)
    failed = 0
    for found, said, wrong in results:
        if options.verbose:
            print(said, found and (found["verdict"], found["within_limit_bytes"]))
        for fault in wrong:
            failed += 1
            print(f"FAILED memtape {said}\n    {fault}")
    print(f"{len(answered)} of {len(draws)} answered, {back} fit by giving back, {doubts} may not fit, {failed} faults")
    return 1 if failed or back * 100 < FEWEST_GIVING_BACK * len(draws) else 0


if __name__ == "__main__":
    sys.exit(main())
