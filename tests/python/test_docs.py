# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/python.md: those with answers are run, the others compile."""
import doctest
import pathlib
import re
import unittest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"


class Docs(unittest.TestCase):
    def test_examples(self):
        names, count = {}, 0
        for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S):
            if ">>>" not in block:
                compile(block, str(PAGE), "exec")
                continue
            example = doctest.DocTestParser().get_doctest(block, names, "docs/python.md", str(PAGE), 0)
            runner = doctest.DocTestRunner(verbose=False)
            runner.run(example, clear_globs=False)
            names = example.globs
            self.assertEqual(runner.failures, 0)
            count += len(example.examples)
        self.assertGreater(count, 5)


if __name__ == "__main__":
    unittest.main()
