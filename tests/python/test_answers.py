# SPDX-License-Identifier: Apache-2.0
"""Requests, answers and mistakes of the Python package."""
import dataclasses
import json
import pickle
import subprocess
import unittest

import memtape
from memtape import _library

SMALL = {"gpu": "rtx-4090", "micro_batch_size": 2, "releases": "newest"}


def told(*words):
    """What the command line prints for the same, without an environment of Python."""
    done = subprocess.run([_library.program(), *words], stdout=subprocess.PIPE, env={"PATH": "/usr/bin:/bin", "MEMTAPE_WITH": "none"})
    return done.stdout.decode()


class Answers(unittest.TestCase):
    def test_fields_are_the_keys_of_the_json(self):
        answer = memtape.train("Qwen/Qwen3-0.6B", **SMALL)
        raw = json.loads(answer.json)
        self.assertEqual(answer.ranks[0].peak_device_bytes, raw["ranks"][0]["peak_device_bytes"])
        self.assertEqual(answer.model.parameters, raw["model"]["parameters"])
        self.assertEqual(answer.peak, raw["ranks"][0]["peak_device_bytes"])
        self.assertEqual(dict(answer.at_peak), raw["ranks"][0]["at_peak"])
        self.assertIs(answer.fits, True)
        self.assertEqual(answer.verdict, "fits")
        self.assertTrue(answer.passes)
        with self.assertRaises(dataclasses.FrozenInstanceError):
            answer.verdict = "does not fit"
        self.assertEqual(pickle.loads(pickle.dumps(answer)), answer)

    def test_the_bytes_are_those_of_the_command_line(self):
        drawn = [
            (memtape.train, "gpt2", {}, ["train", "gpt2"]),
            (memtape.train, "Qwen/Qwen3-0.6B", {"precision": "amp-bf16", "gpu": "l4"},
             ["train", "Qwen/Qwen3-0.6B", "--precision", "amp-bf16", "--gpu", "l4"]),
            (memtape.train, "meta-llama/Llama-3.1-8B", {"qlora": True, "gpu": "rtx-4090"},
             ["train", "meta-llama/Llama-3.1-8B", "--qlora", "--gpu", "rtx-4090"]),
            (memtape.train, "meta-llama/Llama-3.1-8B", {"lora_rank": 8, "lora_targets": ["q_proj", "v_proj"]},
             ["train", "meta-llama/Llama-3.1-8B", "--lora-rank", "8", "--lora-targets", "q_proj,v_proj"]),
            (memtape.train, "Qwen/Qwen3-0.6B", {"framework": "transformers", "per_device_train_batch_size": 4, "bf16": True},
             ["train", "Qwen/Qwen3-0.6B", "--framework", "transformers", "--per_device_train_batch_size", "4", "--bf16"]),
            (memtape.train, "meta-llama/Llama-3.1-8B", {"framework": "fsdp2", "gpus": 8, "gpu": "a100-80gb"},
             ["train", "meta-llama/Llama-3.1-8B", "--framework", "fsdp2", "--gpus", "8", "--gpu", "a100-80gb"]),
            (memtape.serve, "Qwen/Qwen3-8B", {"engine": "vllm", "gpu": "l4", "max_model_len": 4096},
             ["serve", "Qwen/Qwen3-8B", "--engine", "vllm", "--gpu", "l4", "--max-model-len", "4096"]),
            (memtape.serve, "Qwen/Qwen3-8B", {"engine": "llamacpp", "gpu": "rtx-4090", "quantize": "Q4_K_M"},
             ["serve", "Qwen/Qwen3-8B", "--engine", "llamacpp", "--gpu", "rtx-4090", "--quantize", "Q4_K_M"]),
            (memtape.plan_train, "Qwen/Qwen3-8B", {"gpu": "h100-80gb", "gpus": 8, "framework": "fsdp2"},
             ["plan", "train", "Qwen/Qwen3-8B", "--gpu", "h100-80gb", "--gpus", "8", "--framework", "fsdp2"]),
            (memtape.plan_serve, "Qwen/Qwen3-8B", {"users": 10, "available": "2xl4"},
             ["plan", "serve", "Qwen/Qwen3-8B", "--users", "10", "--available", "2xl4"]),
        ]
        for ask, model, options, words in drawn:
            with self.subTest(words=words):
                newest = {} if ask is memtape.plan_serve else {"releases": "newest"}
                self.assertEqual(ask(model, **options, **newest).json, told(*words, "--json"))

    def test_shows_what_the_command_line_shows(self):
        answer = memtape.train("Qwen/Qwen3-0.6B", **SMALL)
        words = ["train", "Qwen/Qwen3-0.6B", "--gpu", "rtx-4090", "--micro-batch-size", "2"]
        self.assertEqual(answer.text(), told(*words))
        self.assertIn("<html", answer.html())
        self.assertIn("<iframe", answer._repr_html_())
        self.assertIn("gradient", answer.explain())

    def test_servers_and_their_comparison(self):
        self.assertGreater(memtape.serve("Qwen/Qwen3-8B", engine="vllm", gpu="l4", max_model_len=4096).peak, 2**30)
        compared = memtape.serve("Qwen/Qwen3-8B", engine="vllm", compare="l4,a100-80gb", max_model_len=4096)
        self.assertEqual(len(compared.compared), 2)

    def test_plans_are_ranked(self):
        plans = memtape.plan_train("Qwen/Qwen3-8B", gpu="h100-80gb", gpus=8, framework="fsdp2", releases="newest").plans
        self.assertEqual([plan["rank"] for plan in plans], list(range(1, len(plans) + 1)))

    def test_a_launch_command(self):
        self.assertEqual(memtape.launch("vllm serve Qwen/Qwen3-8B --max-model-len 4096", gpu="a100-80gb").command, "serve")
        self.assertEqual(memtape.launch(["vllm", "serve", "Qwen/Qwen3-8B"], gpu="l4").fits, False)

    def test_what_is_known_by_name(self):
        self.assertIn("Qwen/Qwen3-8B", [entry.id for entry in memtape.models().models])
        self.assertEqual(memtape.gpus("l4").gpus[0].id, "l4")
        self.assertEqual(memtape.model("Qwen/Qwen3-8B").model.id, "Qwen/Qwen3-8B")
        self.assertRegex(memtape.__version__, r"^\d+\.\d+\.\d+$")

    def test_a_configuration_of_ones_own(self):
        config = dict(model_type="llama", hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
                      num_key_value_heads=4, vocab_size=256, max_position_embeddings=128, tie_word_embeddings=False)
        answer = memtape.train(None, config=config, sequence_length=32, micro_batch_size=1)
        self.assertEqual(answer.model.family, "llama")

    def test_fits(self):
        self.assertTrue(memtape.fits("Qwen/Qwen3-0.6B", "a100-80gb"))
        self.assertFalse(memtape.fits("meta-llama/Llama-3.1-70B", "l4"))


class Sweeps(unittest.TestCase):
    def test_all_combinations_in_order(self):
        sweep = memtape.train("Qwen/Qwen3-0.6B", gpu="l4", micro_batch_size=[1, 2, 4], sequence_length=[512, 1024], releases="newest")
        self.assertEqual([(o["micro_batch_size"], o["sequence_length"]) for o in sweep.options],
                         [(1, 512), (1, 1024), (2, 512), (2, 1024), (4, 512), (4, 1024)])
        for options, answer in zip(sweep.options, sweep):
            self.assertEqual(answer.json, memtape.train("Qwen/Qwen3-0.6B", gpu="l4", releases="newest", **options).json)
        self.assertIn("<table>", sweep._repr_html_())
        self.assertTrue(all(answer.passes for _, answer in sweep.fitting))

    def test_lists_that_are_values_stay_values(self):
        answer = memtape.train("Qwen/Qwen3-0.6B", lora_rank=8, lora_targets=["q_proj", "v_proj"])
        self.assertEqual(answer.command, "train")

    def test_one_that_is_not_possible_is_an_error_in_its_place(self):
        sweep = memtape.train("Qwen/Qwen3-0.6B", gpu=["l4", "no-such-gpu"])
        self.assertEqual(sweep[0].command, "train")
        self.assertIsInstance(sweep[1], memtape.Error)
        with self.assertRaises(memtape.Error):
            memtape.train("Qwen/Qwen3-0.6B", gpu=["no-such-gpu", "nor-this"])


class Releases(unittest.TestCase):
    def test_named_and_newest(self):
        old = memtape.train("Qwen/Qwen3-0.6B", releases="torch==2.8.0,transformers==4.57.6")
        self.assertEqual(json.loads(old.json)["workload"]["releases"]["torch"], "2.8.0")
        self.assertEqual(memtape.train("gpt2", releases="newest").json, told("train", "gpt2", "--json"))

    def test_two_that_differ_are_refused(self):
        with self.assertRaises(memtape.Error):
            memtape.train("gpt2", releases="torch==2.8.0", with_="torch==2.9.0")


class Mistakes(unittest.TestCase):
    def check(self, ask, what, where="", hint=""):
        with self.assertRaises(memtape.Error) as raised:
            ask()
        error = raised.exception
        self.assertIn(what, error.what)
        self.assertIn(where, error.where)
        self.assertIn(hint, error.hint)
        self.assertEqual(pickle.loads(pickle.dumps(error)).args, error.args)

    def test_each_says_what_where_and_what_would_be_right(self):
        self.check(lambda: memtape.train("gpt2", gpux="l4"), "unknown option --gpux", "train", "did you mean --gpu?")
        self.check(lambda: memtape.train("gpt2", gpu="l5"), "l5", "--gpu")
        self.check(lambda: memtape.train("gpt2", micro_batch_size=-1), "-1", "--micro-batch-size")
        self.check(lambda: memtape.serve("gpt2", engine="vlm"), "vlm")
        self.check(lambda: memtape.ask({"comand": "train"}), "unknown key", "comand")
        self.check(lambda: memtape.ask({}), "names no command")
        self.check(lambda: memtape.train("gpt2", object()), "object", "train")
        self.check(lambda: memtape.train("gpt2", gpu=object()), "object")
        self.check(lambda: memtape.train("/no/such/folder"), "")
        self.check(lambda: memtape.train(None, config="{"), "")
        self.check(lambda: memtape.explain("/no/such/file"), "")


if __name__ == "__main__":
    unittest.main()
