# SPDX-License-Identifier: Apache-2.0
"""The plugin of pytest, run by pytest."""
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

TESTS = '''
import memtape, pytest

@pytest.mark.gpu_budget("22GiB")
def test_enough():
    memtape.train("Qwen/Qwen3-0.6B", releases="newest")

@pytest.mark.gpu_budget("1GiB")
def test_too_little():
    memtape.train("Qwen/Qwen3-0.6B", releases="newest")

@pytest.mark.gpu_budget("1GiB")
def test_nothing():
    pass

@pytest.mark.gpu_budget("much")
def test_no_limit():
    pass
'''


@unittest.skipUnless(importlib.util.find_spec("pytest"), "pytest is not installed")
class Budget(unittest.TestCase):
    def test_each_outcome(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "test_it.py").write_text(TESTS)
            installed = importlib.util.find_spec("memtape").origin.find("site-packages") >= 0
            words = [] if installed else ["-p", "memtape.pytest_plugin"]
            done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-rA", *words, folder], capture_output=True, text=True)
        self.assertIn("1 passed", done.stdout)
        self.assertIn("3 failed", done.stdout)
        for line in ("Qwen/Qwen3-0.6B needs", "of 1.00 GiB (parameter", "the test made no prediction", "unusable value 'much'"):
            self.assertIn(line, done.stdout)


if __name__ == "__main__":
    unittest.main()
