# SPDX-License-Identifier: Apache-2.0
"""What answers can do, sweeps by name, files of this machine, and words that only Python can get wrong."""
import dataclasses
import importlib.util
import json
import pathlib
import pickle
import tempfile
import unittest

import memtape
from memtape._plot import levels

SMALL = "HuggingFaceTB/SmolLM2-135M"
GPT2 = {"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 128, "vocab_size": 1000, "architectures": ["GPT2LMHeadModel"]}


def small(**options):
    return memtape.train(SMALL, **{"gpu": "l4", "releases": "newest", **options})


class Parts(unittest.TestCase):
    def test_every_key_is_a_field_and_every_field_a_key(self):
        answer, told = small(), json.loads(small().json)
        fields = {field.name for field in dataclasses.fields(answer)}
        self.assertEqual(set(told) - fields, set())
        self.assertEqual([name for name in fields - set(told) if getattr(answer, name) is not None], [])
        self.assertEqual(answer.ranks[0].phases["forward"].peak_allocated_bytes, told["ranks"][0]["phases"]["forward"]["peak_allocated_bytes"])
        self.assertEqual(answer.ranks[0].largest[0].shape, tuple(told["ranks"][0]["largest"][0]["shape"]))
        self.assertEqual(sum(answer.at_peak.values()), answer.ranks[0].peak_allocated_bytes)
        with self.assertRaisesRegex(AttributeError, "no field 'peek'"):
            answer.peek

    def test_compared_and_pickled_before_and_after_they_are_read(self):
        unread, read = small(), small()
        self.assertGreater(read.peak, 0)
        self.assertEqual(pickle.loads(pickle.dumps(unread)).peak, read.peak)
        self.assertEqual(pickle.loads(pickle.dumps(read)), unread)

    def test_a_failure_is_there_where_it_does_not_fit(self):
        answer = memtape.train("Qwen/Qwen3-8B", gpu="rtx-4090", releases="newest")
        self.assertGreater(answer.failure.requested_bytes, 0)
        self.assertLess(answer.headroom_bytes, 0)
        self.assertFalse(answer.passes)

    def test_questions(self):
        solved = small(solve="micro-batch-size")
        self.assertIsInstance(solved, memtape.answers.QuestionAnswer)
        self.assertGreater(solved.value, 1)

    def test_fits_asks_servers_too(self):
        self.assertTrue(memtape.fits("Qwen/Qwen3-8B", "h100-80gb", engine="vllm", max_model_len=4096))

    def test_the_levels_of_the_picture_are_those_of_the_answer(self):
        answer = small()
        drawn = json.loads(answer._shown("timeline"))
        at, by_category = levels(drawn["step"], drawn["categories"])
        total = [sum(values) for values in zip(*by_category.values())]
        self.assertEqual(max(total), answer.ranks[0].peak_allocated_bytes)
        self.assertEqual(total[at.index(drawn["step"]["peak_event"])], max(total))

    @unittest.skipUnless(importlib.util.find_spec("pandas") and importlib.util.find_spec("matplotlib"), "pandas, matplotlib are not installed")
    def test_pandas_and_matplotlib(self):
        import matplotlib

        matplotlib.use("Agg")
        self.assertEqual(small().to_pandas()["at_peak.parameter"][0], small().at_peak["parameter"])
        self.assertEqual(list(small(micro_batch_size=[1, 2]).to_pandas()["micro_batch_size"]), [1, 2])
        self.assertGreater(len(small().plot().collections), 3)
        self.assertGreater(len(memtape.serve("Qwen/Qwen3-8B", engine="vllm", gpu="l4", max_model_len=2048).plot().patches), 0)


class Sweeps(unittest.TestCase):
    def test_models_are_swept_too_and_mistakes_stay_in_their_place(self):
        sweep = memtape.sweep(memtape.train, [SMALL, "Qwen/Qwen3-0.6B"], gpu="l4", sequence_length=[128, -5], releases="newest", threads=2)
        self.assertEqual([isinstance(answer, memtape.Error) for answer in sweep], [False, True, False, True])
        self.assertEqual(sweep.options[2], {"model": "Qwen/Qwen3-0.6B", "sequence_length": 128})

    def test_lists_of_lists(self):
        sweep = memtape.sweep(memtape.train, SMALL, lora_rank=8, lora_targets=[["q_proj"], ["q_proj", "v_proj"]], releases="newest")
        self.assertLess(sweep[0].model.trainable_parameters, sweep[1].model.trainable_parameters)

    def test_nothing_to_try(self):
        with self.assertRaisesRegex(memtape.Error, "a list is empty"):
            small(micro_batch_size=[])


class Words(unittest.TestCase):
    def test_a_zero_does_not_end_a_word(self):
        with self.assertRaisesRegex(memtape.Error, "zero byte"):
            small(gpu="l4\0")

    def test_a_truth_for_an_option_of_both_is_transformers_argument(self):
        said = {"framework": "transformers", "per_device_train_batch_size": 2}
        self.assertLess(small(gradient_checkpointing=True, **said).peak, small(gradient_checkpointing=False, **said).peak)
        self.assertEqual(small(gradient_checkpointing=True, **said).peak, small(gradient_checkpointing="full", **said).peak)

    def test_files_of_this_machine_are_read_by_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "config.json")
            with self.assertRaises(memtape.Error) as raised:
                memtape.train(path)
            self.assertEqual((raised.exception.what, raised.exception.where), ("no such file or folder", str(path)))
            path.write_text(json.dumps(GPT2))
            read = memtape.train(path, gpu="l4", releases="newest")
            self.assertEqual(read.ranks, memtape.train("mine", config=GPT2, gpu="l4", releases="newest").ranks)
            self.assertIn("html", read.html()[:100])
            self.assertIn("at the peak", read.text())


if __name__ == "__main__":
    unittest.main()
