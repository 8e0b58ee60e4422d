#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""update.py SITE_PACKAGES...: brings the symbol lists up to date with the NVIDIA packages that pip installed there.

A list holds what every version seen so far exports; names are added, never removed. Calls that may do nothing are marked idle by
the patterns below; every other one that nobody wrote is refused (core/unwritten.h).
"""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

IDLE = {
    "libcudart": r"cuda(Stream(?!Get)|Event|Graph|Device(Reset|Set|Enable|Disable|Flush)|FuncSet|Ctx|Thread|Profiler|Memcpy|Memset|"
                 r"MemPrefetch|MemAdvise|MemDiscard|Launch|IpcClose|Init|Unregister|SetDeviceFlags|SetValidDevices|UserObject|"
                 r"MemPoolSetAccess|MemPoolDestroy|KernelSet|LibraryUnload|Destroy).*|__cuda.*",
    "libcuda": r"cu(Launch|Memset|Memcpy|Stream(?!Get)|Event|Graph|Ctx(?!Get|Create)|FuncSet|FuncLoad|ModuleUnload|LibraryUnload|"
               r"KernelSet|Link|Profiler|MemSetAccess|MemPrefetch|MemAdvise|MemDiscard|MemHostRegister|MemHostUnregister|TensorMap|"
               r"DevicePrimaryCtx|DeviceSet|UserObject|PointerSet|FlushGPU|ThreadExchange|MemPoolSetAccess|MemPoolDestroy).*",
    "libcublas": r".*",
    "libcublasLt": r".*",
    "libnccl": r"nccl(?!DevComm|CommQueryProperties|CommDump|CommMemStats).*",
    "libnvidia-ml": r"nvml\w*(Set|Clear|Reset)\w*",
    "libcudnn": r"cudnn(Create|Destroy|Set|BackendDestroy)\w*",
}


def exported(path):
    out = subprocess.run(["nm", "-D", "--defined-only", str(path)], capture_output=True, text=True, check=True).stdout
    names = {line.split()[2].split("@")[0] for line in out.splitlines() if len(line.split()) == 3 and line.split()[1] in "TWi"}
    return {n for n in names if not n.startswith("_") or n.startswith("__cuda")}


def declared(header, prefix):
    """Functions of a header under every name the header knows them by: cuMemAlloc, cuMemAlloc_v2, cuMemcpyAsync_ptsz."""
    text = pathlib.Path(header).read_text(encoding="utf-8", errors="replace")
    names = set(re.findall(rf"\b({prefix}[A-Z]\w*)\s*\(", text))
    names |= set(re.findall(rf"#\s*define\s+{prefix}[A-Z]\w*\s+(?:__CUDA_API_P\w+\()?({prefix}[A-Z]\w*)", text))
    return {n for n in names if not re.search(r"_st$|_enum$", n)}


def how(library, name):
    return "idle" if re.fullmatch(IDLE[library], name) else "refused"


def write(library, soname, names):
    path = HERE / f"{soname}.txt"
    old = {line.split()[0] for line in path.read_text().splitlines() if line and line[0] != "#"} if path.exists() else set()
    rows = sorted(old | names)
    if rows:
        path.write_text("".join(f"{n} {how(library, n)}\n" for n in rows))
        print(f"{soname}: {len(rows)} names, {len(set(rows) - old)} new")


def main():
    for site in map(pathlib.Path, sys.argv[1:]):
        for library in ("libcudart", "libcublas", "libcublasLt", "libcudnn", "libnccl"):
            for path in sorted((site / "nvidia").glob(f"*/lib/{library}.so.*")):
                write(library, path.name, exported(path))
        for header in list(site.glob("nvidia/*/include/cuda.h")) + list(site.glob("triton/backends/nvidia/include/cuda.h")):
            write("libcuda", "libcuda.so.1", declared(header, "cu"))
        for header in [*site.glob("triton/backends/nvidia/include/nvml.h"), *site.glob("pynvml.py")]:
            names = set(re.findall(r"\b(nvml[A-Z]\w*)\b", header.read_text()))
            write("libnvidia-ml", "libnvidia-ml.so.1", {n for n in names if not n.endswith("_t")})


if __name__ == "__main__":
    main()
