#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`memtape detect` on a machine with several phantom GPUs and several processes on them.

    run_detect.py PROGRAM
"""
import json
import subprocess
import sys
import tempfile
import pathlib

HOLD = """
import ctypes, os, sys, time
cuda = ctypes.CDLL(None)
at = ctypes.c_void_p()
assert cuda.cudaSetDevice(int(sys.argv[1])) == 0 and cuda.cudaMalloc(ctypes.byref(at), ctypes.c_size_t(int(sys.argv[2]))) == 0
open(sys.argv[3], "w").close()
time.sleep(20)
"""
SHELL = """
{python} {hold} 0 1073741824 {folder}/a & A=$!
{python} {hold} 1 2147483648 {folder}/b & B=$!
{python} {hold} 1 536870912 {folder}/c & C=$!
while [ ! -e {folder}/a ] || [ ! -e {folder}/b ] || [ ! -e {folder}/c ]; do sleep 0.05; done
{memtape} detect --json
kill $A $B $C
"""


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        hold = pathlib.Path(folder) / "hold.py"
        hold.write_text(HOLD)
        script = SHELL.format(python=sys.executable, hold=hold, folder=folder, memtape=program)
        run = subprocess.run([program, "run", "--quiet", "--gpus", "3", "--gpu", "a100-80gb", "--context-bytes", "436207616", "--", "sh", "-c", script],
                             capture_output=True, text=True, timeout=60, check=False)
    answer = json.loads(run.stdout[:run.stdout.rindex("}") + 1])
    context = 436207616
    found = [[p["used_bytes"] for p in gpu["processes"]] for gpu in answer["gpus"]]
    expected = [[1073741824 + context], [2147483648 + context, 536870912 + context], []]
    faults = []
    if found != expected:
        faults.append(f"processes hold {found}, not {expected}")
    for gpu, processes in zip(answer["gpus"], expected):
        if gpu["used_bytes"] != sum(processes) or gpu["free_bytes"] != gpu["total_bytes"] - gpu["used_bytes"]:
            faults.append(f"GPU {gpu['gpu']}: {gpu['used_bytes']} used, {gpu['free_bytes']} free of {gpu['total_bytes']}")
        if gpu["id"] != "a100-80gb":
            faults.append(f"GPU {gpu['gpu']} is called {gpu['id']}")
        for process in gpu["processes"]:
            if "hold.py" not in process["command"]:
                faults.append(f"process {process['pid']} is called {process['command']}")
    for fault in faults:
        print(fault)
    print(f"{len(answer['gpus'])} GPUs, {sum(map(len, found))} processes")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
