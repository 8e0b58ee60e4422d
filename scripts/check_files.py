#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source compiles alone, so it includes what it uses.

    check_files.py [--jobs N] [PATH...]     all sources, or those whose path contains one of the words

What people start is built in batches (MEMTAPE_UNITY), where a file finds the includes of the one before it. This reads each file by
itself with clang, as the debug preset would compile it, but writes no objects. It takes about 25 minutes of processor time for everything.
It prints the errors of each file that does not compile, and exits with 1 if there was any.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "files"
COMPILER = "clang++-19"


def commands():
    """(path from the root, words of the compiler's command) of each source of the project."""
    configure = ["cmake", "--preset", "debug", "-B", str(BUILD), f"-DCMAKE_CXX_COMPILER={COMPILER}",
                 "-DMEMTAPE_WARNINGS_AS_ERRORS=ON"]
    made = subprocess.run(configure, cwd=ROOT, capture_output=True, text=True)
    if made.returncode != 0:
        sys.exit(f"check_files.py: the debug preset cannot be configured with {COMPILER}:\n{made.stdout}{made.stderr}")
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if path.is_relative_to(ROOT) and not path.is_relative_to(ROOT / "build"):
            yield str(path.relative_to(ROOT)), syntax_only(shlex.split(entry["command"]))


def syntax_only(words):
    """The command without the compiler cache, which keeps objects only, and without an object."""
    words = words[words.index(next(word for word in words if word.endswith(COMPILER))):]
    output = words.index("-o")
    del words[output:output + 2]
    words[words.index("-c")] = "-fsyntax-only"
    return words


def errors_of(command):
    done = subprocess.run(command, cwd=BUILD, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr or f"the compiler ended with {done.returncode}"


def show_progress(done, total, path):
    if sys.stderr.isatty():
        print(f"\r\x1b[K{100 * done // total:3} % {path}", end="" if done < total else "\r\x1b[K", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="compilers at once (the processors)")
    parser.add_argument("paths", nargs="*", metavar="PATH")
    options = parser.parse_args()
    sources = [(path, command) for path, command in commands() if not options.paths or any(word in path for word in options.paths)]
    if not sources:
        sys.exit("check_files.py: no source has a path with " + " or ".join(options.paths))
    broken = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done, (path, errors) in enumerate(zip((path for path, _ in sources), pool.map(errors_of, (command for _, command in sources))), 1):
            show_progress(done, len(sources), path)
            if errors:
                broken += 1
                print(f"{path} does not compile alone:\n{errors}", flush=True)
    print(f"{len(sources) - broken} of {len(sources)} sources compile alone")
    return broken > 0


if __name__ == "__main__":
    sys.exit(main())
