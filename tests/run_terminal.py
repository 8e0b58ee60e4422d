#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people see who sit at a terminal: progress, colour, and what Ctrl-C does.

    run_terminal.py PROGRAM

Each command runs on a pseudo terminal of its own, all at once. What takes over a second must show progress on the error stream where
that is a terminal, and nothing where it is a pipe; Ctrl-C must end it at once (a second, where nothing else runs); NO_COLOR must be obeyed.
"""
import concurrent.futures
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import termios
import time

ERASE = b"\r\x1b[K"
COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
PATIENCE = 20  # seconds until a line of progress must have come: other tests run beside this one
GRACE = 6  # seconds from Ctrl-C to the end: other tests run beside this one

SIZES = ",".join(str(n) for n in range(1, 25))
TRAIN = ["train", "meta-llama/Llama-3.1-405B", "--framework", "fsdp2", "--gpus", "64", "--grid", f"micro-batch-size={SIZES} gradient-accumulation={SIZES}"]
PLAN = ["plan", "train", "deepseek-ai/DeepSeek-V3", "--gpu", "h100-80gb", "--gpus", "1024"]
FITS = ["fits", "--gpu", "h100-80gb"]
SHORT = ["train", "gpt2", "--gpu", "a100-80gb"]
SLOW_BUILD = """
rule compile
  command = {sleep}; touch $out # -o $out -c $in
  description = Building CXX object $out
build CMakeFiles/a.dir/1.o: compile
build CMakeFiles/a.dir/2.o: compile CMakeFiles/a.dir/1.o
build all: phony CMakeFiles/a.dir/2.o
"""


class OnTerminal:
    """A command whose streams are a terminal of its own, but for those that are piped."""

    def __init__(self, command, piped=(), **environment):
        self.master, slave = pty.openpty()
        self.seen = b""

        def take_terminal():
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        streams = {name: subprocess.PIPE if name in piped else slave for name in ("stdout", "stderr")}
        known = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
        self.process = subprocess.Popen(command, stdin=slave, start_new_session=True, preexec_fn=take_terminal, **streams,
                                        env={**known, "TERM": "xterm", "HF_HUB_OFFLINE": "1", **environment})
        os.close(slave)

    def read(self, seconds, until=None):
        """What the terminal shows until `until` comes, the command ends or the time is over."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not (until and until in self.seen):
            if not select.select([self.master], [], [], min(left, 0.1))[0]:
                if self.process.poll() is not None:
                    break
                continue
            try:
                self.seen += os.read(self.master, 65536)
            except OSError:  # nobody has the other end any more
                break
        return self.seen

    def press_ctrl_c(self):
        """The seconds until the command has ended, and its exit code as a shell says it."""
        pressed = time.monotonic()
        os.write(self.master, b"\x03")
        self.end()
        code = self.process.returncode
        return time.monotonic() - pressed, 128 - code if code < 0 else code

    def end(self):
        self.read(PATIENCE)
        self.process.wait(PATIENCE)
        return self.seen


def shows_progress_and_stops(command, said, codes):
    run = OnTerminal(command)
    if said not in run.read(PATIENCE, said):
        run.process.kill()
        return [f"no progress: {run.seen[-200:]}"]
    faults = [] if ERASE in run.seen else ["the line of progress is not written over"]
    seconds, code = run.press_ctrl_c()
    if seconds > GRACE:
        faults.append(f"ends {seconds:.1f} s after ctrl-C")
    if code not in codes:
        faults.append(f"ends with exit code {code}, not one of {codes}: {run.seen[-200:]}")
    return faults


def says_nothing_in_a_pipe(command):
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    time.sleep(1.6)
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=PATIENCE)
    return [f"says on a piped error stream: {errors[:200]}"] if errors else []


def best_plan_so_far(command):
    run = OnTerminal(command, piped=("stdout",))
    run.read(PATIENCE, b"ctrl-C shows the best so far")
    os.write(run.master, b"\x03")
    answer, _ = run.process.communicate(timeout=PATIENCE)
    return [] if b"deepseek-ai/DeepSeek-V3" in answer else [f"ctrl-C shows no plan: {answer[:200]}"]


def obeys_no_color(command):
    coloured, plain = OnTerminal(command).end(), OnTerminal(command, NO_COLOR="1").end()
    faults = [] if COLOUR.search(coloured) else ["no colour on a terminal"]
    return faults + (["colour in spite of NO_COLOR"] if COLOUR.search(plain) else [])


def first_build(script, folder):
    """An interrupted build leaves what it has made, and the next start goes on from there."""
    folder = pathlib.Path(folder)
    (folder / "build.ninja").write_text(SLOW_BUILD.format(sleep=f"sleep 1; test -e {folder}/go-on || sleep 30"))
    (folder / "CMakeFiles/a.dir").mkdir(parents=True)
    command = [sys.executable, script, str(folder), "a program", "all"]
    faults = shows_progress_and_stops(command, b"building a program: 0 %", [130])
    (folder / "go-on").touch()
    run = OnTerminal(command)
    seen = run.end()
    if run.process.returncode != 0 or b"built in" not in seen or not (folder / "CMakeFiles/a.dir/2.o").exists():
        faults.append(f"an interrupted build does not go on: {seen[-200:]}")
    return faults


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    script = str(pathlib.Path(__file__).resolve().parent.parent / "scripts" / "build_with_progress.py")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(8) as pool:
        checks = {
            "train": pool.submit(shows_progress_and_stops, [program, *TRAIN], b"s: each allocation of 126 layers is made in turn", [130]),
            "plan": pool.submit(shows_progress_and_stops, [program, *PLAN], b"ctrl-C shows the best so far", [0, 1]),
            "plan's best": pool.submit(best_plan_so_far, [program, *PLAN]),
            "fits": pool.submit(shows_progress_and_stops, [program, *FITS], b"ctrl-C shows those so far", [0, 1]),
            "train, piped": pool.submit(says_nothing_in_a_pipe, [program, *TRAIN]),
            "NO_COLOR": pool.submit(obeys_no_color, [program, *SHORT]),
            "the first build": pool.submit(first_build, script, folder)}
        faults = [f"{name}: {fault}" for name, check in checks.items() for fault in check.result()]
    print("\n".join([*faults, f"{len(checks)} checks, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
