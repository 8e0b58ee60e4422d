#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs libmemtape of a build folder into an empty prefix and builds small programs against it, with plain CMake and with pkg-config.

  run_library.py BUILD_FOLDER
"""
import os
import pathlib
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent / "library"


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        prefix, asks = pathlib.Path(folder, "prefix"), pathlib.Path(folder, "asks")
        run("cmake", "--install", build, "--prefix", prefix)
        run("cmake", "-S", TESTS, "-B", asks, f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", asks)
        programs = [asks / name for name in ("asks_c", "asks_cpp", "asks_static") if (asks / name).exists()]
        library = next(prefix.glob("lib*/**/libmemtape.so"))
        flags = run("pkg-config", "--cflags", "--libs", "memtape",
                    env={**os.environ, "PKG_CONFIG_PATH": str(library.parent / "pkgconfig")}).split()
        run("cc", TESTS / "asks.c", "-o", asks / "asks_pc", *flags)
        programs.append(asks / "asks_pc")
        for program in programs:
            print(program.name, run(program, env={**os.environ, "LD_LIBRARY_PATH": str(library.parent)}).strip())
        for installed in ("share/man/man1/memtape.1", "share/bash-completion/completions/memtape", "share/zsh/site-functions/_memtape",
                          "share/fish/vendor_completions.d/memtape.fish"):
            if not (prefix / installed).stat().st_size:
                sys.exit(f"{installed} is empty")
        exported = [line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()]
        others = [name for name in exported if not name.startswith("memtape_")]
        if others:
            sys.exit(f"{library.name} exports {others[:5]}")
    print(f"{len(programs)} passed, 0 failed")


if __name__ == "__main__":
    main()
