# SPDX-License-Identifier: Apache-2.0
"""What may be handed to a function, and how short its answer shows itself."""
import unittest

import memtape

NEWEST = {"releases": "newest"}
CONFIG = {"model_type": "gpt2", "n_layer": 2}
LONGEST_LINE = 118


class Calls(unittest.TestCase):
    def test_a_configuration_as_a_dict_is_a_model(self):
        handed = memtape.train(CONFIG, **NEWEST)
        named = memtape.train(None, config=CONFIG, **NEWEST)
        self.assertEqual(handed.peak, named.peak)
        with self.assertRaisesRegex(memtape.Error, "given twice"):
            memtape.train(CONFIG, config=CONFIG, **NEWEST)

    def test_plan_serve_takes_a_gpu(self):
        by_gpu = memtape.plan_serve("Qwen/Qwen3-0.6B", gpu="l4", gpus=2, users=2, **NEWEST)
        by_list = memtape.plan_serve("Qwen/Qwen3-0.6B", available="2xl4", users=2, **NEWEST)
        self.assertEqual(by_gpu.json, by_list.json)
        with self.assertRaisesRegex(memtape.Error, "named twice"):
            memtape.plan_serve("Qwen/Qwen3-0.6B", gpu="l4", available="2xl4")
        with self.assertRaisesRegex(memtape.Error, "which GPU"):
            memtape.plan_serve("Qwen/Qwen3-0.6B", gpus=2)

    def test_lists_have_a_length(self):
        models = memtape.models()
        self.assertEqual(len(models), len(models.models))
        self.assertEqual(models[0], next(iter(models)))
        self.assertEqual(models["models"], models.models)
        self.assertEqual(len(memtape.plan_serve("Qwen/Qwen3-0.6B", gpu="l4", **NEWEST).plans), 1)

    def test_each_shows_itself_in_one_short_line(self):
        trained = memtape.train(CONFIG, gpu="l4", **NEWEST)
        plan = memtape.plan_serve("Qwen/Qwen3-0.6B", gpu="l4", **NEWEST)
        for shown in (trained, trained.model, trained.ranks[0], trained.ranks[0].largest[0], plan, plan.plans[0], memtape.models(),
                      memtape.gpus(), memtape.model("gpt2")):
            self.assertLessEqual(len(repr(shown)), LONGEST_LINE)
            self.assertNotIn("\n", repr(shown))


class Pictures(unittest.TestCase):
    def test_a_plot_has_a_title_a_device_line_and_no_empty_entries(self):
        try:
            import matplotlib
        except ImportError:
            self.skipTest("matplotlib is not there")
        matplotlib.use("Agg")
        for answer in (memtape.train(CONFIG, gpu="l4", **NEWEST), memtape.serve("Qwen/Qwen3-0.6B", engine="vllm", gpu="l4", **NEWEST)):
            axes = answer.plot()
            self.assertIn(answer.model.id, axes.get_title(loc="left"))
            labels = [text.get_text() for text in axes.get_legend().get_texts()]
            self.assertTrue(any("NVIDIA L4" in label for label in labels), labels)
            self.assertEqual(len(set(labels)), len(labels))
            names = [name.replace("_", " ") for name, held in answer.at_peak.items() if held == 0]
            self.assertFalse(set(names) & set(labels) if answer.command == "serve" else set())
