#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What scripts/upstream.py stands on: hashes of symbols, the ledger, and how a watch names its causes."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts"))
from releases import changes, ledger, sources, symbols, unread, watch  # noqa: E402


def symbols_in(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "modeling_x.py"
        path.write_text(text, encoding="utf-8")
        return {name: symbol.digest for name, symbol in symbols.symbols_of(path).items()}


class Symbols(unittest.TestCase):
    def test_comments_docstrings_annotations_and_layout_do_not_count(self):
        plain = symbols_in("class A:\n    def f(self, x):\n        return x + 1\n")
        dressed = symbols_in('# a file\nclass A:\n    """Says."""\n    n: int\n    def f(self, x: int) -> int:\n'
                             '        "more"\n        return (x +\n                1)  # one\n')
        self.assertEqual(plain, dressed)

    def test_what_runs_counts(self):
        before = symbols_in("def f(x):\n    return x.float()\ndef g(): pass\nEPS = 1e-6\n")
        after = symbols_in("def f(x):\n    return x.to(int)\ndef g(): pass\nEPS = 1e-5\n")
        changed = {name for name in before if before[name] != after[name]}
        self.assertEqual(changed, {"f", symbols.MODULE})


class Ledger(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.kept, ledger.FOLDER = ledger.FOLDER, pathlib.Path(self.folder.name)

    def tearDown(self):
        ledger.FOLDER = self.kept
        self.folder.cleanup()

    def test_keeps_a_symbols_hashes_through_a_round_trip(self):
        compared = ledger.Compared("p")
        compared.put("1.9.0", {("a.py", "f"): "11111111"})
        compared.put("1.10.0", {("a.py", "f"): "22222222", ("a.py", "g"): "33333333"})
        compared.put("2.0.0", {("a.py", "f"): "22222222"})
        compared.save()
        again = ledger.Compared("p")
        self.assertEqual(again.releases, ["1.9.0", "1.10.0", "2.0.0"])
        self.assertEqual(again.hashes, compared.hashes)
        self.assertTrue(again.is_known("a.py", "f", "11111111"))
        self.assertFalse(again.is_known("a.py", "h", "11111111"))
        self.assertEqual(again.newest_before("1.12.3"), "1.10.0")

    def test_unread_files_are_transcribed_and_of_releases_between_those_compared(self):
        ledger.FOLDER = self.kept
        releases, files = unread.read("transformers")
        compared = ledger.Compared("transformers").releases
        self.assertEqual(unread.between([*releases, *compared], compared), releases, "run scripts/upstream.py unread transformers")
        self.assertLessEqual({release for at in files.values() for release in at}, {*releases})
        self.assertLessEqual({*files}, {entry.upstream for entry in ledger.transcriptions("transformers")})

    def test_the_newest_release_of_each_minor_between_those_compared_is_looked_at(self):
        self.assertEqual(unread.between(["1.0.0", "1.1.0", "1.2.0", "1.10.0", "1.10.1", "2.0.0", "2.1.0"], ["1.1.0", "2.0.0"]),
                         ["1.2.0", "1.10.1"])

    def test_every_transcription_names_a_file_of_ours(self):
        ledger.FOLDER = self.kept
        root = self.kept.parents[1]
        for package in ledger.packages():
            for entry in ledger.transcriptions(package):
                self.assertTrue((root / entry.ours).exists(), entry)


ATTENTION = """class {name}Attention:
    def forward(self, x, past_states=None):
        if past_states is not None:
            x = past_states.update(x)
        seen = past_states.get_length()
        return attend(x, past_states, seen)
"""


class Changes(unittest.TestCase):
    def between(self, before, after, is_known=lambda *_: False):
        with tempfile.TemporaryDirectory() as folder:
            old, new = pathlib.Path(folder, "old"), pathlib.Path(folder, "new")
            for root, files in ((old, before), (new, after)):
                root.mkdir()
                for name, text in files.items():
                    (root / name).write_text(text, encoding="utf-8")
            return changes.difference(sorted({*before, *after}), old, new, is_known)

    def test_a_name_that_is_exchanged_everywhere_is_one_line(self):
        before = {f"{name}.py": ATTENTION.format(name=name) for name in ("llama", "gptj")}
        after = {file: text.replace("past_states", "cache") for file, text in before.items()}
        found = self.between(before, after)
        self.assertEqual(found.renames, {"past_states": "cache"})
        self.assertEqual((found.changes, found.files), ([], 0))

    def test_equal_changes_of_files_are_one_and_those_of_memory_come_first(self):
        before = {file: "class Router:\n    def __init__(self):\n        self.w = torch.zeros(4)\n        self.n = 1\n        self.m = 2\n"
                  for file in ("a.py", "b.py")}
        after = {file: text.replace("zeros(4)", "zeros(4, dtype=torch.float32)").replace("self.m = 2", "self.m = 3")
                 for file, text in before.items()}
        first, second = self.between(before, after).changes
        self.assertEqual((first.changes_memory, first.files), (True, ["a.py", "b.py"]))
        self.assertEqual(first.lines, ("- self.w = torch.zeros(4)", "+ self.w = torch.zeros(4, dtype=torch.float32)"))
        self.assertFalse(second.changes_memory)

    def test_what_a_compared_release_has_is_not_told(self):
        found = self.between({"a.py": "def f(x): return x"}, {"a.py": "def f(x): return x.float()"}, lambda *_: True)
        self.assertEqual(found.changes, [])


class Watch(unittest.TestCase):
    def test_names_the_first_event_that_differs(self):
        diff = ("first difference at event 15 of 357 (323 differ)\n   14\n    recorded   8,192  a.py:f:1 mul \n"
                "    predicted  8,192  model bmm\n>> 15\n    recorded   16,384  b.py:g:124 cat    after freeing 13\n"
                "    predicted  16,384  model cat\n")
        self.assertEqual(watch.first_cause(diff), "b.py:g:124 cat")

    def test_counts_rows_without_an_answer_apart(self):
        exact = dict.fromkeys(watch.FIGURES, 0.0)
        off = {**exact, "peak_allocated_bytes": -2.5}
        results = [watch.Outcome("a", "", exact, ""), watch.Outcome("b", "", off, "x.py:f:1 add"),
                   watch.Outcome("c", "refused: why", {}, "")]
        total = watch.summary(results)
        self.assertEqual((total.rows, total.unanswered, total.largest), (2, 1, 2.5))
        self.assertEqual(total.exact["peak_allocated_bytes"], 1)
        self.assertIn("x.py:f:1 add", watch.report(results))


class Releases(unittest.TestCase):
    def test_refuses_what_names_no_release(self):
        for text in ("torch", "==2.0", "torch=="):
            with self.assertRaises(sources.SourceError):
                sources.parse_release(text)


if __name__ == "__main__":
    unittest.main()
