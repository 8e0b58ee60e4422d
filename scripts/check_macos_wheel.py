#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at a wheel for macOS as far as that can be done elsewhere (macholib from PyPI).

    check_macos_wheel.py WHEEL

Its program and library must be of the machine and of no newer system than the wheel's tag says, link nothing but the system's own
libraries, and carry a signature where Apple's processors refuse to run what has none; the library must export the C interface.
"""
import pathlib
import re
import sys
import tempfile
import zipfile

from macholib import mach_o
from macholib.MachO import MachO
from macholib.SymbolTable import SymbolTable

FILES = ["memtape/_native/bin/memtape", "memtape/_native/lib/libmemtape.dylib"]
MACHINES = {"arm64": 0x0100000C, "x86_64": 0x01000007}  # CPU_TYPE_ARM64 and CPU_TYPE_X86_64 of <mach/machine.h>
SYSTEM = ("/usr/lib/", "/System/Library/")


def version(number):
    """0x000B0000 as macOS writes it: (11, 0)."""
    return number >> 16, number >> 8 & 0xFF


def problems_of(path, machine, oldest):
    found = []
    for header in MachO(str(path)).headers:
        if header.header.cputype != MACHINES[machine]:
            found.append(f"is for another machine than {machine}")
        kinds = set()
        for load, command, data in header.commands:
            kinds.add(load.cmd)
            if load.cmd == mach_o.LC_LOAD_DYLIB:
                name = data.rstrip(b"\0").decode()
                if not name.startswith(SYSTEM):
                    found.append(f"links {name}")
            if load.cmd == mach_o.LC_BUILD_VERSION and version(command.minos) > oldest:
                found.append(f"needs macOS {version(command.minos)}")
        if machine == "arm64" and mach_o.LC_CODE_SIGNATURE not in kinds:
            found.append("carries no signature")
    return found


def exported(path):
    table = SymbolTable(MachO(str(path)))
    return {name.decode() for symbol, name in table.extdefsyms}


def main(wheel):
    tag = re.search(r"macosx_(\d+)_(\d+)_(\w+)\.whl$", wheel)
    if not tag:
        raise SystemExit(f"{wheel}: is tagged for no macOS")
    oldest, machine = (int(tag[1]), int(tag[2])), tag[3]
    header = (pathlib.Path(__file__).parent.parent / "include/memtape.h").read_text()
    interface = {"_" + name for name in re.findall(r"\b(memtape_\w+)\(", header)}
    failed = False
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        for name in FILES:
            path = archive.extract(name, folder)
            found = problems_of(path, machine, oldest)
            if name.endswith(".dylib") and (missing := interface - exported(path)):
                found.append(f"does not export {', '.join(sorted(missing))}")
            for problem in found:
                print(f"{wheel}: {name} {problem}", file=sys.stderr)
            failed = failed or bool(found)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
