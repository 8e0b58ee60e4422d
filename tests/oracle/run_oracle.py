#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_oracle.py MEMTAPE PYTHON FOLDER [SECONDS]: the tests against real PyTorch on phantom GPUs. PYTHON has torch and transformers.

One line a test; exit code 1 when one fails. Two run at a time; none begins after SECONDS.
"""
import concurrent.futures
import json
import pathlib
import re
import shlex
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
memtape, python, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
end = time.time() + float(sys.argv[4]) if len(sys.argv) > 4 else float("inf")


def run(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def tail(stdout, stderr):
    return "\n".join((stdout + stderr).strip().splitlines()[-25:])


def programs():
    code, out, err = run(memtape, "run", "--quiet", "--gpu", "h100-80gb", "--", python, HERE / "programs.py")
    return code == 0, tail(out, err)


def steering():
    """Values that steer, and that what was invented is listed by its line."""
    code, out, err = run(memtape, "run", "--json", "--", python, HERE / "steering.py")
    if code:
        return False, tail(out, err)
    invented = {row["place"].split(":")[0]: row["reads"] for row in json.loads(out)["invented"] if "topk" in row["what"]}
    return list(invented.values()) and all(n > 0 for n in invented.values()), json.dumps(json.loads(out)["invented"])


def ranks():
    """What ranks say to one another in small tensors and in objects arrives; alone, a rank hears itself."""
    torchrun = pathlib.Path(python).parent / "torchrun"
    code, out, err = run(memtape, "run", "--quiet", "--gpus", "2", "--", torchrun, "--nproc-per-node", "2", HERE / "ranks.py")
    if code:
        return False, tail(out, err)
    code, out, err = run(memtape, "run", "--quiet", "--rank", "1", "--world", "4", "--", python, HERE / "alone.py")
    return code == 0, tail(out, err)


def waiting():
    """A program that waits for ever ends with 3, and its line is named."""
    code, out, err = run(memtape, "run", "--quiet", "--", python, HERE / "waiting.py")
    return code == 3 and "waiting.py:6" in err, tail(out, err)


def host_model():
    code, out, err = run(memtape, "run", "--quiet", "--", python, HERE / "host_model.py")
    return code == 0, tail(out, err)


def late_peak():
    """Of steps that go higher after many level ones it is known what was alive."""
    code, out, err = run(memtape, "run", "--json", "--", python, HERE / "late_peak.py")
    if code:
        return False, tail(out, err)
    rank = json.loads(out)["ranks"][0]
    lines = {place for row in rank["largest"] for place in row["stack"]}
    named = any("late_peak.py:11" in line for line in lines) and any(row["bytes"] == row["count"] * 8192 * 4096 for row in rank["largest"])
    return named and rank["largest_alive_bytes"] == rank["peak_requested_bytes"], "%d of %d bytes, %s" % (
        rank["largest_alive_bytes"], rank["peak_requested_bytes"], sorted(lines))


def ended_child():
    """The account of a GPU: the most that was held at one time, not the sum over those who came and went."""
    code, out, err = run(memtape, "run", "--json", "--", python, HERE / "ended_child.py")
    if code:
        return False, tail(out, err)
    held = json.loads(out)["gpus"][0]["peak_device_bytes"]
    return held < 50 << 30, "%d bytes held" % held


def limited():
    """Out of memory and retries: the replica decides as the real allocator did, and puts segments where the phantom's driver did."""
    trace = folder / "limited.jsonl.gz"
    code, out, err = run(memtape, "run", "--quiet", "--gpu-memory-bytes", 2 << 30, "--context-bytes", 64 << 20, "--", python,
                         HERE / "limited.py", trace)
    if code:
        return False, tail(out, err)
    code, out, err = run(memtape, "replay", trace, "--place-segments")
    return code == 0, tail(out, err)


def record_and_replay():
    """A recorded row is predicted to the byte, and its trace replays with every address."""
    rows = folder / "rows"
    step = ["Qwen/Qwen3-0.6B", "--sequence-length", "128", "--gpu", "a100-80gb"]
    (rows / "torch_steps.jsonl").unlink(missing_ok=True)
    code, out, err = run(memtape, "record", "train", *step, "--into", rows, "--id", "row", "--python", python)
    if code:
        return False, tail(out, err)
    row = json.loads((rows / "torch_steps.jsonl").read_text())
    (rows / "config.json").write_text(json.dumps(row["config"]))
    code, out, err = run(memtape, *[rows / "config.json" if w == "{config}" else w for w in row["args"]], "--json")
    if code:
        return False, tail(out, err)
    predicted = json.loads(out)["ranks"][0]
    same = predicted["peak_reserved_bytes"] == row["expect"]["peak_reserved_bytes"]
    code, out, err = run(memtape, "replay", rows / row["trace"], "--place-segments")
    return same and code == 0, tail(out, err)


def page():
    """The page of a run: the replica serves the recorded requests as torch's allocator did, and parameters are known."""
    html = folder / "run.html"
    program = ("import torch\nm = torch.nn.Linear(512, 2048).cuda()\no = torch.optim.Adam(m.parameters())\nfor _ in range(3):\n"
               " m(torch.zeros(8, 512, device='cuda')).sum().backward(); o.step(); o.zero_grad()")
    code, out, err = run(memtape, "run", "--quiet", "--html", html, "--", python, "-c", program)
    if code:
        return False, tail(out, err)
    data = json.loads(re.search(r'id="data">(.*?)</script>', html.read_text(), re.DOTALL)[1].replace("<\\/", "</"))
    levels = dict(zip(data["categories"], data["at_peak"]))
    weights = (512 * 2048 + 2048) * 4
    right = not any("replica" in note for note in data["notes"]) and levels["parameter"] == weights
    return right and levels["optimizer_state"] >= 2 * weights, json.dumps([data["notes"], levels])


def written_configs():
    """What transformers writes into a config.json is read as what it means."""
    code, out, err = run(python, HERE / "written_configs.py", memtape, folder / "configs")
    return code == 0, tail(out, err)


def dead_rank():
    """Nobody waits for a rank that died; the launcher says 0, and the run says 1 and names the rank."""
    code, out, err = run(memtape, "run", "--json", "--gpus", "2", "--", python, HERE / "dead_rank.py")
    return code == 1 and "rank 1 died: ValueError: no more data" in json.loads(out)["warnings"], tail(out, err)


def exit_codes():
    own_path = ("import os, subprocess, sys; raise SystemExit(subprocess.call([sys.executable, '-c', 'import sys; "
                "raise SystemExit(\"memtape_agent\" not in sys.modules)'], env={**os.environ, 'PYTHONPATH': '/nowhere'}))")
    wanted = [(["--", python, "-c", own_path], 0),
              (["--", python, "-c", "raise SystemExit(5)"], 5), (["--", "no-such-command"], 2),
              (["--", python, "-c", "import os; os.kill(os.getpid(), 9)"], 137),
              (["--", python, "-c", "import torch; torch.empty(10**12, device='cuda')"], 1),
              (["--", python, "-c", "import torch; torch.zeros(1, device='cuda:1')"], 1),
              (["--stop-after", "1", "--", python, "-c", "import torch\nm = torch.nn.Linear(4, 4).cuda()\no = torch.optim.SGD("
                "m.parameters())\nwhile True: m(torch.zeros(1, 4, device='cuda')).sum().backward(); o.step()"], 0)]
    for words, right in wanted:
        code, out, err = run(memtape, "run", "--quiet", *words)
        if code != right:
            return False, "%s ended with %d, not %d\n%s" % (words[-1], code, right, tail(out, err))
    return True, ""


def verify(line):
    code, out, err = run(memtape, "verify", *shlex.split(line), "--python", python)
    return code == 0, tail(out, err)


def real_gpu():
    """What measures a real card runs to its end, too, where there is none."""
    program = HERE.parent.parent / "scripts/real_gpu/run.py"
    code, out, err = run(sys.executable, program, memtape, "--python", python, "--into", folder / "real_gpu", "--phantom", "h100-80gb",
                         "--only", "context", "observed", "fsdp_lag")
    return code == 0 and "not measured" not in out, tail(out, err)


def main():
    folder.mkdir(parents=True, exist_ok=True)
    lines = [line for line in (HERE / "cases.txt").read_text().splitlines() if line and line[0] != "#"]
    tests = [("written configs", written_configs), ("programs", programs), ("steering", steering), ("ranks", ranks), ("waiting", waiting),
             ("host model", host_model), ("late peak", late_peak), ("ended child", ended_child), ("limited", limited), ("record and replay", record_and_replay), ("page", page),
             ("exit codes", exit_codes), ("dead rank", dead_rank), ("real_gpu", real_gpu)]
    tests += [("verify " + line, lambda line=line: verify(line)) for line in lines]
    failed = left_out = 0

    def one(test):
        began = time.time()
        return (*test[1](), time.time() - began) if began < end else None
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for (name, _), outcome in zip(tests, pool.map(one, tests)):
            if outcome is None:
                left_out += 1
                continue
            good, text, seconds = outcome
            print("%s %5.1f s  %s" % ("ok    " if good else "FAILED", seconds, name), flush=True)
            if not good:
                failed += 1
                print(text)
    late = ", %d left out: the time was up" % left_out if left_out else ""
    print("%d tests against real PyTorch, %d failed%s" % (len(tests) - left_out, failed, late))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
