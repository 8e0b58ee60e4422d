#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Text cases: tests/cases/AREA/NAME.case is a description, a command and what it must answer.

    run_cases.py PROGRAM [--update] [CASE-OR-FOLDER...]

    Unknown commands name the nearest one.        the description, up to the first section

    --- file config.json                          input files, written to the empty folder the command runs in
    {"model_type": "llama"}
    --- stdin                                     what the command reads (default: nothing)
    --- env NO_COLOR=1                            one variable; everything else is the fixed environment below
    --- run                                       the command, split like a shell would, run without one; "memtape"
    memtape trian x                               stands for PROGRAM, {tests} for the tests folder
    --- exit 2                                    default 0
    --- stdout                                    what it prints, in full; without the section: nothing. A line "..."
    --- stderr                                    stands for any lines, "..." inside a line for any text

--update writes what the commands answered into the cases that differ; it is refused when CI is set. Expectations with "..." are
mended by hand: they would come back in full.
"""
import concurrent.futures
import dataclasses
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent
TIMEOUT_SECONDS = 120
SECTION = re.compile(r"^--- (file|stdin|env|run|exit|stdout|stderr)(?: (.+))?$")
ONE_LINE = {"env", "exit"}


@dataclasses.dataclass
class Case:
    path: pathlib.Path
    description: str
    sections: list  # of (kind, argument, text), in the order of the file

    def text(self, kind):
        return next((text for k, _, text in self.sections if k == kind), "")

    def arguments(self, kind):
        return [argument for k, argument, _ in self.sections if k == kind]

    def exit_code(self):
        return int((self.arguments("exit") or ["0"])[0])


def read_case(path):
    description, sections, current = [], [], None
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        found = SECTION.match(line.rstrip("\n"))
        if found:
            current = [found[1], found[2], ""]
            sections.append(current)
        elif current is None:
            description.append(line)
        else:
            current[2] += line
    case = Case(path, "".join(description), [tuple(s) for s in sections])
    if not case.description.strip() or not case.text("run").strip():
        raise ValueError(f"{path}: a case needs a description and a '--- run' section")
    return case


def write_case(case, answer):
    code, stdout, stderr = answer
    kept = [s for s in case.sections if s[0] not in {"exit", "stdout", "stderr"}]
    if code:
        kept.append(("exit", str(code), ""))
    kept += [(kind, None, text) for kind, text in (("stdout", stdout), ("stderr", stderr)) if text]
    text = case.description
    for kind, argument, body in kept:
        text += f"--- {kind}{f' {argument}' if argument else ''}\n{'' if kind in ONE_LINE else body}"
    case.path.write_text(text, encoding="utf-8")


def environment(case, folder):
    fixed = {"PATH": os.environ.get("PATH", ""), "HOME": folder, "LC_ALL": "C.UTF-8", "COLUMNS": "100", "TERM": "xterm",
             "HF_HOME": os.path.join(folder, ".hf"), "HF_HUB_OFFLINE": "1", "MEMTAPE_WITH": "none"}
    return fixed | dict(pair.split("=", 1) for pair in case.arguments("env"))


def write_files(case, folder):
    for kind, name, text in case.sections:
        if kind == "file":
            target = pathlib.Path(folder, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")


def run(case, program):
    with tempfile.TemporaryDirectory() as folder:
        write_files(case, folder)
        words = [w.replace("{tests}", str(TESTS)) for w in shlex.split(case.text("run"))]
        words[0] = program if words[0] == "memtape" else words[0]
        done = subprocess.run(words, cwd=folder, env=environment(case, folder), input=case.text("stdin").encode(),
                              capture_output=True, timeout=TIMEOUT_SECONDS, check=False)
    return done.returncode, *(s.decode("utf-8", "backslashreplace") for s in (done.stdout, done.stderr))


def pattern_of(expected):
    """A regular expression for text in which "..." stands for anything."""
    lines = []
    for line in expected.splitlines(keepends=True):
        lines.append("(?:.*\n)*?" if line == "...\n" else "[^\n]*?".join(map(re.escape, line.split("..."))))
    return "".join(lines)


def faults(case, answer):
    code, *streams = answer
    if code != case.exit_code():
        yield f"exit code {code}, expected {case.exit_code()}\n"
    for kind, text in zip(("stdout", "stderr"), streams):
        expected = case.text(kind)
        if not re.fullmatch(pattern_of(expected), text):
            yield from difflib.unified_diff(expected.splitlines(True), text.splitlines(True), f"{kind} expected", f"{kind}")


def check(case, program, update):
    """What is wrong with the answer to this case, as text; empty when nothing is."""
    try:
        answer = run(case, program)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    wrong = "".join(line if line.endswith("\n") else line + "\n" for line in faults(case, answer))
    if wrong and update and not any("..." in case.text(kind) for kind in ("stdout", "stderr")):
        write_case(case, answer)
        return ""
    return wrong


def cases_in(paths):
    files = [f for p in paths for f in (sorted(p.rglob("*.case")) if p.is_dir() else [p])]
    return [read_case(f) for f in files]


def main():
    words = sys.argv[1:]
    update = "--update" in words
    program, *chosen = [w for w in words if w != "--update"]
    if update and os.environ.get("CI"):
        sys.exit("run_cases.py: --update is refused when CI is set: expectations are recorded by people")
    cases = cases_in([pathlib.Path(c) for c in chosen] or [TESTS / "cases"])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda c: check(c, os.path.abspath(program), update), cases))
    for case, wrong in zip(cases, results):
        if wrong:
            print(f"FAILED {case.path.relative_to(TESTS) if case.path.is_relative_to(TESTS) else case.path}\n{wrong}")
    failed = sum(map(bool, results))
    print(f"{len(cases)} cases, {failed} failed")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
