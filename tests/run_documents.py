#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Types what README and the documents show, as a reader would: each document in a folder of its own.

    run_documents.py BUILD_FOLDER

The folder has what the document's own blocks make and, by the names that the documents give them, files that a reader brings
(tests/documents). Shell blocks are run by bash; of blocks without a language those lines that begin with `memtape`. Programs answer
0 or 1 (it does not fit). JSON, TOML and YAML are read, C is compiled and run, what is asked of a server is asked of one. The examples
in Python are run by tests/python/test_docs.py. Not run are blocks that say why (documents.py), and commands with `...` in them.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import documents

try:
    import yaml
except ImportError:  # python3-yaml, which nothing else needs
    yaml = None

HERE = pathlib.Path(__file__).resolve().parent
A_MODEL = "Qwen/Qwen3-0.6B"  # where a document says MODEL
A_PORT = "8471"  # where a document serves; the test takes a free one
SECONDS = 10  # of the processor: a search that is at work for so long was not refused
STOPPED = (128 + signal.SIGXCPU, -signal.SIGXCPU)  # where bash waits for the command, and where it became it
BROUGHT = {  # what a reader brings, by its name in the documents, and where the tests have the like
    "TRACE.jsonl.gz": "truth/torch_traces/sm100.var0.openai-community__gpt2-xl.jsonl.gz",
    "trace.jsonl.gz": "truth/torch_traces/sm100.var0.openai-community__gpt2-xl.jsonl.gz",
    "STEP.tape": "truth/torch_traces/small-fp32.Qwen__Qwen3-0.6B.tape",
    "Qwen3-30B-A3B-Q4_K_M.gguf": "sources/gguf/tiny-Q8_0.gguf",
}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def installed(build, prefix):
    """As `cmake --install` leaves them: the program, the library, its headers and what pkg-config reads."""
    for name in ("bin", "lib/pkgconfig"):
        (prefix / name).mkdir(parents=True)
    (prefix / "bin/memtape").symlink_to(build / "memtape")
    (prefix / "include").symlink_to(documents.ROOT / "include")
    for file in build.glob("libmemtape.so*"):
        (prefix / "lib" / file.name).symlink_to(file)
    shutil.copy(build / "bindings/c/memtape.pc", prefix / "lib/pkgconfig")


class Reader:
    """Reads one document, with a folder of its own. `mistakes`: what went wrong, a line each."""

    def __init__(self, page, prefix, folder):
        self.page, self.folder, self.port = page, folder / str(page.relative_to(documents.ROOT)).replace("/", "-"), free_port()
        self.servers, self.mistakes, self.run, self.left = [], [], 0, 0
        shutil.copytree(HERE / "documents", self.folder)
        for name, source in BROUGHT.items():
            (self.folder / name).symlink_to(HERE / source)
        (self.folder / "memtape").symlink_to(prefix / "bin/memtape")
        snapshot = folder / "snapshot.pickle"
        if snapshot.exists():
            shutil.copy(snapshot, self.folder)
        self.environment = {"PATH": f"{prefix}/bin:{os.environ['PATH']}", "HOME": str(self.folder), "HF_HUB_OFFLINE": "1",
                            "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig", "LD_LIBRARY_PATH": f"{prefix}/lib"}

    def wrong(self, block, what, why):
        self.mistakes.append(f"{block.place}: {what}\n    {why.strip()[-400:]}")

    def bash(self, command):
        """Its exit code, and what it printed."""
        command = command.replace("MODEL", A_MODEL).replace(A_PORT, self.port)
        seconds = "unlimited" if "--export" in command else SECONDS  # what a later command reads is written to its end
        done = subprocess.run(["bash", "-c", f"ulimit -S -t {seconds}; {command}"], cwd=self.folder, env=self.environment, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr

    def serve(self, command):
        """A service stays: it is there when its port is."""
        words = command.rstrip("& ").replace(A_PORT, self.port)
        self.servers.append(subprocess.Popen(["bash", "-c", f"exec {words}"], cwd=self.folder, env=self.environment,
                                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        for _ in range(200):
            with socket.socket() as one:
                if not one.connect_ex(("127.0.0.1", int(self.port))):
                    return True
            time.sleep(0.05)
        return False

    def statement(self, block, statement):
        if "..." in statement:
            self.left += 1
            return
        self.run += 1
        if re.match(r"memtape serve-http\b", statement):
            if not self.serve(re.split(r"\s+#", statement)[0]):
                self.wrong(block, statement, "no server on its port")
            return
        code, printed, told = self.bash(statement)
        if statement.startswith("curl"):
            if code or "error" in json.loads(printed):
                self.wrong(block, statement, printed + told)
        elif code not in (0, 1, *STOPPED) or (code == 1 and "memtape" not in statement and "./ask" not in statement):
            self.wrong(block, statement, f"exit code {code}: {told}")

    def shell(self, block):
        for statement in documents.statements(block.text):
            self.statement(block, statement)

    def listed(self, block):
        for statement in documents.statements(block.text):
            if re.match(r"(\./)?memtape ", statement):
                self.statement(block, documents.without_remark(statement))

    def read_as(self, block, read):
        self.run += 1
        try:
            value = read(block.text)
        except ValueError as problem:
            self.wrong(block, f"the {block.language} block", str(problem))
            return None
        if documents.file_name(block):
            (self.folder / documents.file_name(block)).write_text(block.text)
        return value

    def c(self, block):
        (self.folder / documents.file_name(block)).write_text(block.text)

    def cplusplus(self, block):
        source = f"#include <memtape.hpp>\n#include <iostream>\nint main() {{\n{block.text}}}\n"
        (self.folder / "lines.cpp").write_text(source)
        self.statement(block, "c++ -std=c++17 -fsyntax-only lines.cpp $(pkg-config --cflags memtape)")

    def manifest(self, block):
        for value in yaml_values(self.read_as(block, read_yaml)):
            if "curl " in value:
                self.ask_of_a_container(block, value)

    def ask_of_a_container(self, block, script):
        """What a container of a cluster asks of the service there is asked of one here."""
        self.statement(block, f"memtape serve-http --port {A_PORT}")
        self.run += 1
        _, printed, told = self.bash(script.replace("memtape.tools", "localhost"))
        if " 200 " not in (self.folder / "head").read_text():
            self.wrong(block, script, printed + told)

    def read(self):
        kinds = {"sh": self.shell, "": self.listed, "c": self.c, "c++": self.cplusplus, "yaml": self.manifest,
                 "json": lambda block: self.read_as(block, json.loads), "toml": lambda block: self.read_as(block, read_toml)}
        for block in documents.blocks(self.page):
            if block.not_run:
                self.left += 1
            elif block.language in kinds:
                kinds[block.language](block)
            elif block.language != "python" or self.page.name != "python.md":
                self.wrong(block, f"a block of {block.language}", "nothing here runs it, and no comment says why")
        for server in self.servers:
            server.terminate()
            server.wait()
        return self


def read_toml(text):
    try:
        import tomllib
    except ImportError:  # Python 3.9 and 3.10: `memtape check` reads it
        return None
    return tomllib.loads(text)


def read_yaml(text):
    if not yaml:
        return []
    try:
        return list(yaml.safe_load_all(text))
    except yaml.YAMLError as problem:
        raise ValueError(problem) from None


def yaml_values(value):
    """All texts in it."""
    if isinstance(value, str):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from yaml_values(one)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder, prefix = pathlib.Path(name), pathlib.Path(name, "prefix")
        installed(build, prefix)
        subprocess.run([prefix / "bin/memtape", "train", A_MODEL, "--quiet", "--snapshot", folder / "snapshot.pickle"], check=True,
                       stdout=subprocess.DEVNULL)
        readers = [Reader(page, prefix, folder) for page in documents.pages()]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            read = list(pool.map(Reader.read, readers))
    mistakes = [mistake for reader in read for mistake in reader.mistakes]
    print(*mistakes, sep="\n")
    print(f"{sum(reader.run for reader in read)} run, {sum(reader.left for reader in read)} left out, {len(mistakes)} failed")
    sys.exit(bool(mistakes))


if __name__ == "__main__":
    main()
