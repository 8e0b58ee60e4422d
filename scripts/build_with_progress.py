#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds targets of a build folder and says how far it is, on standard error.

    scripts/build_with_progress.py FOLDER WHAT TARGET...

On a terminal that is one line, written over: percent, time that passed, time to go. Elsewhere a line each tenth. Counted is what is
compiled, by the size of its sources, and of an interrupted build what is left. Everything that ninja prints is in FOLDER/build.log;
its end is shown where the build fails, and the exit code is then 3.
"""

import collections
import os
import re
import signal
import subprocess
import sys
import threading
import time

OBJECT = re.compile(r"Building C(?:XX)? object (\S+)")
MADE = re.compile(r" -o (\S+) -c ")
INCLUDED = re.compile(r'#include "(/[^"]+)"')
HEADERS = 40_000  # what the headers of a file count, in bytes of source


def size(path):
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def weight(folder, made):
    """Of an object. A batch lists its files; the source of another object lies at the same path among the sources."""
    source = made.removesuffix(".o")
    if "/Unity/" in source:
        try:
            with open(os.path.join(folder, source), encoding="utf-8") as batch:
                return HEADERS + sum(size(file) for file in INCLUDED.findall(batch.read()))
        except OSError:
            return HEADERS
    parts = re.fullmatch(r"(.*/)?CMakeFiles/[^/]+\.dir/(.*)", source)
    return HEADERS + (size((parts.group(1) or "") + parts.group(2)) if parts else 0)


def minutes(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


class Progress:
    """What is done of what there was to do, and the line that says so."""

    def __init__(self, what, weights):
        self.what, self.weights, self.all = what, weights, sum(weights.values()) or 1
        self.began, self.done, self.shown_tenths = time.monotonic(), 0, 0
        self.on_terminal = sys.stderr.isatty()
        self.ended = threading.Event()

    def text(self):
        passed, share = time.monotonic() - self.began, min(self.done / self.all, 1)
        to_go = f", about {minutes(passed * (1 - share) / share)} to go" if share > 0.02 else ""
        return f"memtape: building {self.what}: {100 * share:.0f} %, {minutes(passed)}{to_go}"

    def step(self, made):
        self.done += self.weights.get(made, 0)
        tenths = int(10 * self.done / self.all)
        if not self.on_terminal and self.shown_tenths < tenths < 10:
            self.shown_tenths = tenths
            print(self.text(), file=sys.stderr, flush=True)

    def write_over(self):
        while not self.ended.wait(0.5):
            print("\r\033[K" + self.text(), end="", file=sys.stderr, flush=True)

    def end(self):
        self.ended.set()
        if self.on_terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def main():
    folder, what, targets = sys.argv[1], sys.argv[2], sys.argv[3:]
    ninja = ["ninja", "-C", folder, *targets]
    commands = subprocess.run(["ninja", "-C", folder, "-t", "commands", *targets], capture_output=True, text=True, check=False)
    objects = [made for made in MADE.findall(commands.stdout) if not os.path.exists(os.path.join(folder, made))]
    progress = Progress(what, {made: weight(folder, made) for made in objects})
    if objects:
        print(f"memtape: building {what}, once ({folder}/build.log holds what is said meanwhile)", file=sys.stderr, flush=True)
    line = threading.Thread(target=progress.write_over, daemon=True)
    if progress.on_terminal:
        line.start()
    last = collections.deque(maxlen=40)
    with open(os.path.join(folder, "build.log"), "w", encoding="utf-8") as log:
        build = subprocess.Popen(ninja, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            for text in build.stdout:
                log.write(text)
                last.append(text)
                found = OBJECT.search(text)
                if found:
                    progress.step(found.group(1))
            build.wait()
        except KeyboardInterrupt:  # a terminal sends it to ninja as well
            build.send_signal(signal.SIGTERM)
            build.wait()
            progress.end()
            print("memtape: interrupted; the next start goes on from here", file=sys.stderr)
            return 130
    progress.end()
    if build.returncode:
        sys.stderr.writelines(last)
        print(f"memtape: the build failed; {folder}/build.log holds all of it", file=sys.stderr)
        return 3
    if objects:
        print(f"memtape: built in {minutes(time.monotonic() - progress.began)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
