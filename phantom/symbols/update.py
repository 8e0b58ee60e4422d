#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""update.py SITE_PACKAGES...: brings the symbol lists up to date with the NVIDIA packages that pip installed there.

A list holds what every version seen so far exports; names are added, never removed. Calls that may do nothing are marked idle by
the patterns below; every other one that nobody wrote is refused (core/unwritten.h). Which argument of an idle call is a place for a
size of workspace stands in the library's header.
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
    "libcufft": r".*",
    "libcusolver": r".*",
    "libcusparse": r".*",
}
HEADERS = {"libcufft": ["cufft.h", "cufftXt.h"], "libcusolver": ["cusolverDn.h", "cusolverSp.h"], "libcusparse": ["cusparse.h"]}
# What such a call answers on the host: sizes of workspaces and of results, and the number of a plan.
ANSWER = re.compile(r"(int|size_t|int64_t|cufftHandle)\s*\*\s*(lwork|Lwork|\w*[bB]ufferSize\w*|workSize|lwork_bytes|workspaceInBytes\w*|plan|rows|cols|nnz)")


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


def answers(library, folder):
    """{function: "argument:bytes ..."} for those whose arguments are places on the host that are read after the call."""
    found = {}
    for header in HEADERS.get(library, []):
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", (folder / header).read_text(errors="replace"), flags=re.S)
        for name, arguments in re.findall(r"\b(cu(?:fft|solver|sparse)\w+)\s*\(([^()]*)\)\s*;", text):
            places = [(at, ANSWER.fullmatch(" ".join(argument.split()))) for at, argument in enumerate(arguments.split(","))]
            found[name] = " ".join("%d:%d" % (at, 4 if place[1] in ("int", "cufftHandle") else 8) for at, place in places if place)
    return {name: places for name, places in found.items() if places}


def how(library, name):
    return "idle" if re.fullmatch(IDLE[library], name) else "refused"


def write(library, soname, names, places=None):
    path = HERE / f"{soname}.txt"
    lines = [line.split(maxsplit=2) for line in path.read_text().splitlines() if line and line[0] != "#"] if path.exists() else []
    old = {line[0] for line in lines}
    known = {**{line[0]: line[2] for line in lines if len(line) > 2}, **(places or {})}
    rows = sorted(old | names)
    if rows:
        path.write_text("".join(f"{n} {how(library, n)} {known.get(n, '')}".rstrip() + "\n" for n in rows))
        print(f"{soname}: {len(rows)} names, {len(set(rows) - old)} new")


def main():
    for site in map(pathlib.Path, sys.argv[1:]):
        for library in ("libcudart", "libcublas", "libcublasLt", "libcudnn", "libnccl", *HEADERS):
            for path in sorted((site / "nvidia").glob(f"*/lib/{library}.so.*")):
                names = exported(path)
                if library in HEADERS:  # cuSOLVER exports pieces of other libraries
                    names = {n for n in names if n.startswith(library.removeprefix("lib"))}
                write(library, path.name, names, answers(library, path.parents[1] / "include"))
        for header in list(site.glob("nvidia/*/include/cuda.h")) + list(site.glob("triton/backends/nvidia/include/cuda.h")):
            write("libcuda", "libcuda.so.1", declared(header, "cu"))
        for header in [*site.glob("triton/backends/nvidia/include/nvml.h"), *site.glob("pynvml.py")]:
            names = set(re.findall(r"\b(nvml[A-Z]\w*)\b", header.read_text()))
            write("libnvidia-ml", "libnvidia-ml.so.1", {n for n in names if not n.endswith("_t")})


if __name__ == "__main__":
    main()
