# SPDX-License-Identifier: Apache-2.0
"""Records steps with a release on the phantom GPU, lays each beside its prediction as soon as it is there, and groups what differs
by cause."""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
from typing import Dict, Iterator, List, NamedTuple, Optional

from . import sources
from .watch_rows import Case, program

FIGURES = ("peak_requested_bytes", "peak_allocated_bytes", "peak_reserved_bytes")
UNLIMITED = "30000000000000"


class Outcome(NamedTuple):
    id: str
    failure: str                 # why there is nothing to compare, or ""
    errors: Dict[str, float]     # percent by figure; 0: to the byte
    cause: str                   # the first event that differs: upstream line and op


def _ask(words, **more):
    return subprocess.run([program(), *words], capture_output=True, text=True, timeout=600, **more)


def scripts_of(cases: List[Case], path: pathlib.Path) -> Dict[str, str]:
    """Writes the recorder's cases; gives the failures of those that have no script."""
    failures = {}
    with open(path, "w", encoding="utf-8") as out:
        for case in cases:
            done = _ask(["verify", *case.args, "--show-script"])
            if done.returncode:
                failures[case.id] = done.stderr.strip().splitlines()[0]
                continue
            script = re.sub(r"^FOLDER = .*$", 'FOLDER = "{folder}"', done.stdout, count=1, flags=re.M)
            out.write(json.dumps({"id": case.id, "script": script}) + "\n")
    return failures


def record(python: str, cases: pathlib.Path, folder: pathlib.Path, gpu: str, seconds: float) -> Iterator[str]:
    """The ids, each when its step is recorded or has failed; those that had no time are not among them."""
    recorder = pathlib.Path(__file__).with_name("recorder.py")
    environment = {**os.environ, "TORCH_SYMBOLIZE_MODE": "dladdr", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "0"}
    words = [program(), "run", "--quiet", "--gpu", gpu, "--gpu-memory-bytes", UNLIMITED, "--context-bytes", "0", "--", python,
             str(recorder), str(cases), str(folder), str(seconds)]
    with open(folder / "recorder.log", "w+", encoding="utf-8") as log, \
            subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True, env=environment) as running:
        for line in running.stdout:
            yield line.strip()
        running.wait()
        log.seek(0)
        complaint = log.read().strip().splitlines()
    if running.returncode not in (0, 3) and not any(folder.glob("*/result.json")):
        raise sources.SourceError(f"{python}: recorded nothing: {(complaint or ['no reason given'])[-1]}")


def first_cause(diff: str) -> str:
    """The recorded side of the first event that differs: "modeling_llama.py:forward:75 mul"."""
    found = re.search(r"^>> \d+\n +(recorded|predicted) +[\d,]+ +(.*)$", diff, re.M)
    if not found:
        return "no difference in the step's own events"
    place = re.sub(r" +after freeing.*$", "", found[2]).strip()
    return place if found[1] == "recorded" else f"{place} (predicted, not recorded)"


def compare(case: Case, folder: pathlib.Path) -> Outcome:
    result = folder / case.id / "result.json"
    if not result.exists():
        log = folder / case.id / "log"
        lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
        return Outcome(case.id, "not recorded: " + (lines[-1][:120] if lines else "no log"), {}, "")
    real = json.loads(result.read_text(encoding="utf-8"))["expect"]
    done = _ask([*case.args, "--json"])
    if done.returncode not in (0, 1):
        return Outcome(case.id, "refused: " + done.stderr.strip().splitlines()[0][:160], {}, "")
    said = json.loads(done.stdout)["ranks"][0]
    errors = {key: 100.0 * (said[key] - real[key]) / real[key] for key in FIGURES}
    if not any(errors.values()):
        return Outcome(case.id, "", errors, "")
    step, *rest = case.args  # "train"
    assert step == "train"
    cause = first_cause(_ask(["diff", str(folder / case.id / "step.tape"), *rest]).stdout)
    return Outcome(case.id, "", errors, cause)


def told(outcome: Outcome) -> Optional[str]:
    """The line of a step that differs or has no answer."""
    if outcome.failure:
        return f"  -          {outcome.id}: {outcome.failure}"
    if outcome.cause:
        return f"  {outcome.errors['peak_allocated_bytes']:+8.3f} %  {outcome.id}: {outcome.cause}"
    return None


def outcomes(cases: List[Case], recorded: Iterator[str], folder: pathlib.Path) -> Iterator[Outcome]:
    """Each as soon as it is known."""
    by_id = {case.id: case for case in cases}
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = collections.deque()
        for name in filter(by_id.get, recorded):  # `memtape run` has lines of its own
            waiting.append(pool.submit(compare, by_id[name], folder))
            while waiting and waiting[0].done():
                yield waiting.popleft().result()
        for future in waiting:
            yield future.result()


def run(cases: List[Case], python: str, folder: pathlib.Path, gpu: str, seconds: float) -> str:
    """Tells on stderr what differs while it is found; gives the report."""
    failures = scripts_of(cases, folder / "cases.jsonl")
    found = [Outcome(name, "no script: " + why, {}, "") for name, why in failures.items()]
    recorded = record(python, folder / "cases.jsonl", folder, gpu, seconds)
    for number, outcome in enumerate(outcomes(cases, recorded, folder), 1):
        found.append(outcome)
        if sys.stderr.isatty():
            print(f"\r\033[K{number} of {len(cases) - len(failures)}", end="", file=sys.stderr, flush=True)
        line = told(outcome)
        if line:
            print(("\r\033[K" if sys.stderr.isatty() else "") + line, file=sys.stderr, flush=True)
    return report(found, left=len(cases) - len(found))


class Summary(NamedTuple):
    rows: int
    exact: Dict[str, int]
    largest: float
    unanswered: int


def summary(results: List[Outcome]) -> Summary:
    answered = [result for result in results if not result.failure]
    exact = {key: sum(result.errors[key] == 0 for result in answered) for key in FIGURES}
    largest = max((abs(result.errors["peak_allocated_bytes"]) for result in answered), default=0.0)
    return Summary(len(answered), exact, largest, len(results) - len(answered))


def report(results: List[Outcome], most: Optional[int] = 20, left: int = 0) -> str:
    total = summary(results)
    shares = ", ".join(f"{key.split('_')[1]} {100 * n / max(total.rows, 1):.1f} %" for key, n in total.exact.items())
    lines = [f"{total.rows} steps compared, to the byte: {shares}; largest error {total.largest:.2f} %; "
             f"{total.unanswered} without an answer" + (f"; {left} left out: the time was up" if left else "")]
    causes = collections.defaultdict(list)
    for result in results:
        if result.cause:
            causes[result.cause].append(result)
    for cause, hit in sorted(causes.items(), key=lambda item: -len(item[1]))[:most]:
        worst = max(hit, key=lambda result: abs(result.errors["peak_allocated_bytes"]))
        names = ", ".join(result.id for result in hit[:4]) + (" ..." if len(hit) > 4 else "")
        lines.append(f"  {len(hit):4}  {cause}   (worst {worst.errors['peak_allocated_bytes']:+.3f} %: {worst.id}; rows {names})")
    reasons = collections.Counter(result.failure for result in results if result.failure)
    lines += [f"  {count:4}  {reason}" for reason, count in reasons.most_common(most)]
    return "\n".join(lines)
