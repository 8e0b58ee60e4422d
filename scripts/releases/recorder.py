# SPDX-License-Identifier: Apache-2.0
"""Runs inside `memtape run` with the interpreter of a release: records many steps, one forked child each, so that torch and
transformers are imported once.

    recorder.py CASES FOLDER      CASES: JSON lines {"id", "script"}; each script leaves its result in FOLDER/ID
"""
import json
import os
import sys
import time
import traceback

SECONDS_A_CASE = 120


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


def wait(child):
    """Ends a child that takes too long."""
    end = time.monotonic() + SECONDS_A_CASE
    while time.monotonic() < end:
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        time.sleep(0.05)
    os.kill(child, 9)
    os.waitpid(child, 0)


def main(cases, folder):
    preload()
    with open(cases, encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            child = os.fork()
            if child == 0:
                record(case, os.path.join(folder, case["id"]))
            wait(child)
            print(case["id"], flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
