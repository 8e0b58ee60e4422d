# SPDX-License-Identifier: Apache-2.0
"""Runs inside `memtape run` with the interpreter of a release: records many steps, one forked child each, so that torch and
transformers are imported once. As many children run at once as there are cores.

    recorder.py CASES FOLDER SECONDS    CASES: JSON lines {"id", "script"}; each script leaves its result in FOLDER/ID, and the id
                                        is printed when it ended. None begins later than SECONDS after the start.
"""
import json
import os
import sys
import time
import traceback

SECONDS_A_CASE = 300


def preload():
    """What every step imports, before the first fork; the CUDA context comes later, in the children."""
    import torch  # noqa: F401
    import transformers
    from transformers.models.auto import modeling_auto  # noqa: F401

    transformers.logging.set_verbosity_error()


def record(case, folder):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "log"), "w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        script = case["script"].replace("{folder}", folder)
        try:
            exec(compile(script, os.path.join(folder, "step.py"), "exec"), {"__name__": "__main__"})
            code = 0
        except BaseException:
            traceback.print_exc(file=log)
            code = 1
        log.flush()
    os._exit(code)


class Children:
    """The steps that are being recorded."""

    def __init__(self):
        self.running = {}  # process: its case and when it must have ended

    def start(self, case, folder):
        child = os.fork()
        if child == 0:
            record(case, os.path.join(folder, case["id"]))
        self.running[child] = (case["id"], time.monotonic() + SECONDS_A_CASE)

    def wait_until(self, most):
        """Until no more than that many run; ends those that take too long."""
        while len(self.running) > most:
            for child, (name, end) in list(self.running.items()):
                if time.monotonic() > end:
                    os.kill(child, 9)
                    os.waitpid(child, 0)
                elif not os.waitpid(child, os.WNOHANG)[0]:
                    continue
                del self.running[child]
                print(name, flush=True)
            time.sleep(0.02)


def main(cases, folder, seconds):
    deadline = time.monotonic() + seconds
    preload()
    children = Children()
    with open(cases, encoding="utf-8") as lines:
        for line in lines:
            if time.monotonic() > deadline:
                break
            children.start(json.loads(line), folder)
            children.wait_until((os.cpu_count() or 1) - 1)
    children.wait_until(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
