#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks two builds of the program the same and says where their answers differ: standard output, standard error, exit code and
written files, byte for byte.

    compare_answers.py OLD NEW [--quick] [--only KIND] [--expected FILE] [--jobs N] [--count N] [--seed N] [--keep FOLDER]

Asked are all rows of truth, all text cases, the command lines of the documents, and command lines drawn from OLD's own tables of
options (draw_requests.py): the same list for both. --expected names a file of differences that are meant, one a line:

    REGULAR EXPRESSION ## REASON

The expression is searched in "CAUSE: OLD -> NEW | COMMAND LINE". Exit status 1 where another difference is found.
"""
import argparse
import contextlib
import itertools
import multiprocessing
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import draw_requests
import known_requests
from answer_differences import Answer, Expected, Groups, pieces

QUICK = 10  # one of so many requests
MOST_MEMORY = 6 << 30  # of one command
LONGEST_KNOWN = 120  # seconds of the processor that a request of the repository may take
MOST_WAITED = 900  # seconds of the clock, for a command that waits
TOO_SLOW = "too slow"
RAN_FOR = re.compile(r"(?<=\"seconds\": )[\d.]+|[\d.]+(?= s\b)")
MOST_WRITTEN = 1 << 20  # of a file that a command wrote
PROGRESS_SECONDS = 5
SHOWN = 5  # slow requests, and such as crash


def environment(request, folder):
    """Nothing of this machine: the answers depend on the request alone."""
    fixed = {"PATH": os.environ.get("PATH", ""), "HOME": folder, "LC_ALL": "C.UTF-8", "COLUMNS": "100", "TERM": "xterm",
             "HF_HOME": f"{folder}/.hf", "HF_HUB_OFFLINE": "1", "MEMTAPE_WITH": "none"}
    return {**fixed, **request.environment}


def written_files(folder, given):
    """What the commands left in the folder beside what they were given."""
    found = {}
    for file in sorted(p for p in pathlib.Path(folder).rglob("*") if p.is_file() and ".cache" not in p.parts):
        text = file.read_bytes()[:MOST_WRITTEN].decode("utf-8", "backslashreplace")
        if given.get(str(file.relative_to(folder))) != text:
            found[str(file.relative_to(folder))] = text
    return found


def answer(program, request, folder, seconds):
    """The answers of all commands of a request as one, in a folder that is made for it."""
    shutil.rmtree(folder, ignore_errors=True)
    pathlib.Path(folder).mkdir()
    for name, text in request.files.items():
        file = pathlib.Path(folder, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    code, out, err = 0, "", ""
    for words in request.commands:
        with subprocess.Popen([program, *words], cwd=folder, env=environment(request, folder), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, close_fds=False) as process:
            limit(process.pid, seconds)
            try:
                printed = process.communicate(request.stdin.encode(), timeout=MOST_WAITED)
            except subprocess.TimeoutExpired:
                process.kill()
                return Answer(TOO_SLOW)
        if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return Answer(TOO_SLOW)
        code = process.returncode
        out, err = (text + comparable(more, words, program) for text, more in zip((out, err), printed))
    return Answer(code, out, err, written_files(folder, request.files))


def comparable(printed, words, program):
    """What a command printed, without the program's own name and how long another program ran."""
    text = printed.decode("utf-8", "backslashreplace").replace(program, "memtape")
    return RAN_FOR.sub("N", text) if words and words[0] in ("run", "watch") else text


def limit(pid, seconds):
    """Time of the processor, not of the clock: other work on the machine must not decide who answers."""
    with contextlib.suppress(ProcessLookupError):
        resource.prlimit(pid, resource.RLIMIT_CPU, (seconds, seconds + 1))


class Worker:
    """One of the processes that ask both programs, one request after the other."""

    def __init__(self, programs, seconds, quick, keep, folder):
        self.programs, self.seconds, self.quick, self.keep = programs, seconds, quick, keep
        self.folder = tempfile.mkdtemp(dir=folder)
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))

    def compare(self, request):
        began = time.monotonic()
        seconds = self.seconds if self.quick or request.kind.startswith("drawn") else max(self.seconds, LONGEST_KNOWN)
        old = answer(self.programs[0], request, f"{self.folder}/asked", seconds)
        # What the old one has no answer to in time is not asked again; the new one may be somewhat slower.
        new = old if old.code == TOO_SLOW else answer(self.programs[1], request, f"{self.folder}/asked", 3 * seconds)
        found = pieces(old, new)
        if found and self.keep:
            self.keep_example(request, old, new)
        return request.kind, request.name, command_line(request), old.code, found, time.monotonic() - began

    def keep_example(self, request, old, new):
        folder = pathlib.Path(self.keep, "".join(c if c.isalnum() or c in "-._" else "_" for c in request.name))
        (folder / "asked").mkdir(parents=True, exist_ok=True)
        for name, text in request.files.items():
            (folder / "asked" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "asked" / name).write_text(text, encoding="utf-8")
        (folder / "command").write_text(command_line(request) + "\n", encoding="utf-8")
        for name, given in (("old", old), ("new", new)):
            (folder / f"{name}.stdout").write_text(given.stdout, encoding="utf-8")
            (folder / f"{name}.stderr").write_text(given.stderr, encoding="utf-8")


def command_line(request):
    return "; memtape ".join(shlex.join(words) for words in request.commands)


def start_worker(*settings):
    global worker  # pylint: disable=global-statement
    worker = Worker(*settings)


def compare(request):
    return worker.compare(request)


def requests(options):
    """All that is asked, in an order that does not depend on the programs' answers."""
    asked = itertools.chain(known_requests.known_requests(), draw_requests.drawn_requests(options.old, options.count, options.seed))
    if options.quick:
        asked = (request for number, request in enumerate(asked) if random.Random(number).random() * QUICK < 1)
    return [request for request in asked if request.kind.startswith(options.only)]


class Progress:
    def __init__(self, total):
        self.total, self.began, self.told = total, time.monotonic(), 0.0

    def tell(self, done, different):
        now = time.monotonic()
        if now - self.told >= PROGRESS_SECONDS or done == self.total:
            self.told = now
            print(f"{done} of {self.total} asked, {different} differ, {now - self.began:.0f} s", file=sys.stderr, flush=True)


def ask_all(options, expected):
    asked = requests(options)
    groups, progress, kinds, slow, crashed = Groups(expected), Progress(len(asked)), {}, [], []
    asking = ((options.old, options.new), options.seconds, options.quick, options.keep)
    with (tempfile.TemporaryDirectory(prefix="compare-answers-") as folder,
          multiprocessing.get_context("spawn").Pool(options.jobs, start_worker, (*asking, folder)) as pool):
        results = pool.imap(compare, asked, chunksize=8)
        for number, (kind, name, command, code, found, seconds) in enumerate(results, 1):
            counts = kinds.setdefault(kind, {})
            counts[code] = counts.get(code, 0) + 1
            slow = sorted([*slow, (seconds, name, command)], reverse=True)[:SHOWN]
            if isinstance(code, int) and code < 0:
                crashed.append(f"signal {-code}: {name}: memtape {command}")
            if found:
                groups.add(name, command, found)
            progress.tell(number, groups.unintended())
    return groups, kinds, slow, crashed


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--quick", action="store_true", help=f"one request of {QUICK}")
    parser.add_argument("--only", metavar="KIND", default="", help="cases, documents, truth, drawn, drawn.serve ...")
    parser.add_argument("--expected", metavar="FILE", help="differences that are meant")
    parser.add_argument("--jobs", type=int, default=2, help="requests at a time (2)")
    parser.add_argument("--count", type=int, default=10_000, help="drawn command lines (10,000)")
    parser.add_argument("--seed", default="1", help="of the draw (1)")
    parser.add_argument("--seconds", type=int, default=5, help="of the processor that a drawn command may take (5)")
    parser.add_argument("--keep", metavar="FOLDER", help="write the requests and answers that differ there")
    parser.add_argument("--slowest", action="store_true", help="say which requests took longest")
    options = parser.parse_args()
    options.old, options.new = (str(pathlib.Path(program).resolve()) for program in (options.old, options.new))
    for program in (options.old, options.new):
        if not os.access(program, os.X_OK):
            parser.error(f"{program} is no program (build it first)")
    return options


def main():
    options = read_options()
    groups, kinds, slow, crashed = ask_all(options, Expected(options.expected))
    print(*groups.report(), sep="\n")
    for kind, counts in sorted(kinds.items()):
        told = ", ".join(f"{n} {code if code == TOO_SLOW else f'exit {code}'}" for code, n in sorted(counts.items(), key=str))
        print(f"{kind}: {sum(counts.values())} ({told})")
    if options.slowest:
        print(*(f"{seconds:.1f} s: {name}: memtape {command[:300]}" for seconds, name, command in slow), sep="\n")
    if crashed:
        print(f"{len(crashed)} requests crash the old program, which no answer should:", *crashed[:SHOWN], sep="\n    ")
    print(f"{sum(sum(counts.values()) for counts in kinds.values())} requests, {groups.unintended()} answered differently")
    return 1 if groups.unintended() else 0


if __name__ == "__main__":
    sys.exit(main())
