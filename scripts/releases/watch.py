# SPDX-License-Identifier: Apache-2.0
"""Records small steps with a release on the phantom GPU, lays them beside the predictions and groups what differs by cause."""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
from typing import Dict, List, NamedTuple, Optional

from . import sources

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRUTH = ROOT / "tests" / "truth"
sys.path.insert(0, str(TRUTH.parent))
import truth_rows as rows_of_truth  # noqa: E402
FIGURES = ("peak_requested_bytes", "peak_allocated_bytes", "peak_reserved_bytes")
UNLIMITED = "30000000000000"


class Case(NamedTuple):
    id: str
    args: List[str]  # of memtape, with the configuration's file in place
    config: pathlib.Path


class Outcome(NamedTuple):
    id: str
    failure: str                 # why there is nothing to compare, or ""
    errors: Dict[str, float]     # percent by figure; 0: to the byte
    cause: str                   # the first event that differs: upstream line and op


def program() -> str:
    return str(ROOT / "build" / "release" / "memtape")


def truth_rows(files):
    for name in files:
        yield from rows_of_truth.read_rows(TRUTH / name)


def make_cases(rows, releases: str, folder: pathlib.Path) -> List[Case]:
    cases = []
    for row in rows:
        config = folder / "configs" / f"{row['id']}.json"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(json.dumps(row["config"]), encoding="utf-8")
        args = [word.replace("{config}", str(config)) for word in row["args"]]
        if "--with" in args:
            at = args.index("--with")
            del args[at:at + 2]
        cases.append(Case(row["id"].replace("/", "_"), [*args, "--with", releases], config))
    return cases


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


def record(python: str, cases: pathlib.Path, folder: pathlib.Path, gpu: str) -> None:
    recorder = pathlib.Path(__file__).with_name("recorder.py")
    environment = {**os.environ, "MEMTAPE_PHANTOM_AGENT": "off", "TORCH_SYMBOLIZE_MODE": "dladdr", "HF_HUB_OFFLINE": "1",
                   "CUDA_VISIBLE_DEVICES": "0"}
    words = [program(), "run", "--quiet", "--gpu", gpu, "--gpu-memory-bytes", UNLIMITED, "--context-bytes", "0", "--", python,
             str(recorder), str(cases), str(folder)]
    total = sum(1 for _ in open(cases, encoding="utf-8"))
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as running:
        for number, line in enumerate(running.stdout, 1):
            if sys.stderr.isatty():
                print(f"\r\033[Krecorded {number} of {total}  {line.strip()}", end="", file=sys.stderr, flush=True)
        complaint = running.stderr.read().strip()
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if running.returncode not in (0, 3) and not any(folder.glob("*/result.json")):
        raise sources.SourceError(f"{python}: recorded nothing: {(complaint.splitlines() or ['no reason given'])[-1]}")


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
    cause = ""
    if any(errors.values()):
        step, *rest = case.args  # "train"
        assert step == "train"
        cause = first_cause(_ask(["diff", str(folder / case.id / "step.tape"), *rest]).stdout)
    return Outcome(case.id, "", errors, cause)


def outcomes(cases: List[Case], failures: Dict[str, str], folder: pathlib.Path) -> List[Outcome]:
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        compared = list(pool.map(lambda case: compare(case, folder), [case for case in cases if case.id not in failures]))
    return compared + [Outcome(name, "no script: " + why, {}, "") for name, why in failures.items()]


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


def report(results: List[Outcome], most: Optional[int] = 20) -> str:
    total = summary(results)
    shares = ", ".join(f"{key.split('_')[1]} {100 * n / max(total.rows, 1):.1f} %" for key, n in total.exact.items())
    lines = [f"{total.rows} steps compared, to the byte: {shares}; largest error {total.largest:.2f} %; "
             f"{total.unanswered} without an answer"]
    causes = collections.defaultdict(list)
    for result in results:
        if result.cause:
            causes[result.cause].append(result)
    for cause, hit in sorted(causes.items(), key=lambda item: -len(item[1]))[:most]:
        worst = max(hit, key=lambda result: abs(result.errors["peak_allocated_bytes"]))
        lines.append(f"  {len(hit):4}  {cause}   (worst {worst.errors['peak_allocated_bytes']:+.3f} %: {worst.id})")
    reasons = collections.Counter(result.failure for result in results if result.failure)
    lines += [f"  {count:4}  {reason}" for reason, count in reasons.most_common(most)]
    return "\n".join(lines)
