# SPDX-License-Identifier: Apache-2.0
"""The same request gives the same bytes in Python and on the command line: rows of tests/truth, asked with keywords.

MEMTAPE_EVERY_ROW=1 takes all of them, else about two hundred.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import memtape
from memtape._library import program

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import truth_rows  # noqa: E402

FEW = 200


def rows():
    for path in truth_rows.files():
        for row in truth_rows.read_rows(path):
            if isinstance(row.get("args"), list) and row["args"][0] in ("train", "serve") and "assistant" not in row:
                yield path.name, row


def keywords(args):
    """The options of a command line as a program says them; None where they have no such form."""
    said = {}
    words = iter(range(len(args)))
    for at in words:
        word = args[at]
        if not word.startswith("--"):
            return None
        name, _, value = word[2:].partition("=")
        if not value:
            bare = at + 1 == len(args) or args[at + 1].startswith("--")
            value = True if bare else args[next(words)]
        if name in said:
            return None
        said[name.replace("-", "_")] = value
    return said


def both(named):
    name, row = named
    args = [word.replace("{config}", "config.json") for word in row["args"]]
    files = {"config.json": json.dumps(row["config"])} if "config" in row else {}
    said = keywords(args[2:])
    try:
        if said is None:
            answer = memtape.ask({"argv": args, "files": files})
        else:
            ask = memtape.train if args[0] == "train" else memtape.serve
            said = {key + "_" if key in ("with", "files", "config", "model") else key: value for key, value in said.items()}
            answer = ask(args[1], files=files or None, releases=None if "with_" in said else "newest", **said)
        python = answer.json, 0 if answer.passes else 1
    except memtape.Error as error:
        python = str(error), 2
    return name, row["id"], python, command_line(args, files)


def command_line(args, files):
    with tempfile.TemporaryDirectory() as folder:
        for file, text in files.items():
            pathlib.Path(folder, file).write_text(text)
        done = subprocess.run([program(), *args, "--json"], cwd=folder, capture_output=True, text=True,
                              env={"PATH": "/nowhere", "HOME": folder, "MEMTAPE_WITH": "" if "--with" in args else "none"})
    if done.returncode < 2:
        return done.stdout, done.returncode
    return done.stderr.strip().replace("memtape: ", "", 1), 2


class SameBytes(unittest.TestCase):
    def test_rows_of_truth(self):
        every = list(rows())
        self.assertGreater(len(every), 3000)
        taken = every if os.environ.get("MEMTAPE_EVERY_ROW") else every[:: len(every) // FEW]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            compared = list(pool.map(both, taken))
        differing = [(name, row) for name, row, python, said in compared if python != said]
        answered = sum(python[1] < 2 for _, _, python, _ in compared)
        print(f"{len(compared)} rows, {answered} answered, {len(differing)} differ")
        self.assertGreater(answered, 0.95 * len(compared))
        self.assertEqual(differing[:5], [])


if __name__ == "__main__":
    unittest.main()
