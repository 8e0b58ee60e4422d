#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Command lines drawn at random, right and wrong ones, over every command, framework, trainer and engine of a program.

    draw_requests.py PROGRAM [--count N] [--seed N]     prints them

What is drawn comes from the program's own tables (program_tables.py), so that a new option, framework or engine is drawn without an
edit here; values come from its lists of choices and from what rows of truth and text cases say for that option. Each number of a
seed is one request, whatever was drawn before it.
"""
import argparse
import json
import random
import shlex

import known_requests
import truth_rows
from known_requests import Request
from program_tables import Tables
from vary_requests import NUMBERS, ODD, SHARES, misspelt, pairs, varied_launch, varied_text, varied_words

RUNS_PROGRAMS = {"real", "python"}  # options that start other programs
MOST_VALUES = 60  # of one option
OUTPUT = [["--json"]] * 7 + [["--json", "--explain"], ["--explain"], ["--quiet"], []]
SMALL = ["Qwen/Qwen3-0.6B", "meta-llama/Llama-3.1-8B", "openai-community/gpt2", "google-bert/bert-base-uncased", "Qwen/Qwen3-30B-A3B",
         "google/flan-t5-large", "EleutherAI/pythia-1b"]
GPUS = ["h100-80gb", "a100-40gb", "rtx-4090", "b200-180gb"]
FITS = [(0.4, "host-memory", ["8GiB", "64GiB", "16GB"], ["1x"]), (0.3, "task", ["chat", "train"], ["sing"]),
        (0.7, "name", ["qwen3", "llama", "gpt"], ["zzz"]), (0.5, "size", ["0.5B..3B", "7B..14B", "..8B", "30B.."], ["9B..3B", "x"]),
        (0.3, "context", ["4k", "8192", "1m"], ["0"]), (0.2, "reserve", ["1GiB"], ["64GiB", "x"])]
PARTNERS = {"users": ("--context", "4000"), "output": ("--users", "4", "--context", "4000"), "lora-targets": ("--lora-rank", "8"),
            "lora-dropout": ("--lora-rank", "8"), "price": ("--compare", "h100-80gb,rtx-4090")}  # options that need another
CAREFUL = 0.7  # of the requests
TOO_LONG = 3000  # of a value that is worth drawing again


def group_of(command, said):
    """Requests of one framework and trainer, or of one engine, say options that go together."""
    options = {name.replace("_", "-"): value for name, value in said}
    return command, options.get("engine") or options.get("framework") or "torch", options.get("trainer")


class Said:
    """What the repository's own requests say: values by option, options by framework, and the requests themselves by command."""

    def __init__(self):
        self.values, self.together, self.by_command = {}, {}, {}
        self.configs = {"model": {}, "gguf": {}}
        for request in known_requests.known_requests():
            words = request.commands[0]
            if len(request.commands) == 1 and words:
                self.learn(request, words)

    def learn(self, request, words):
        command = "launch" if "--" in words else words[0]
        self.by_command.setdefault(command, []).append(request)
        said = pairs(words)
        group = group_of(command, said)
        for name, value in said:
            self.together.setdefault(group, {})[name] = None
            if value is None or len(value) < TOO_LONG:
                for key in (command, group):
                    values = self.values.setdefault((key, name.replace("_", "-")), {})
                    if len(values) < MOST_VALUES:
                        values[value] = None
        if "config.json" in request.files and words[0] in ("train", "serve"):
            kind = "model" if '"model_type"' in request.files["config.json"] else "gguf"
            self.configs[kind][request.files["config.json"]] = None

    def value_list(self, key, name):
        return list(self.values.get((key, name.replace("_", "-")), ()))


class Draw:
    """One request: everything that is random in it comes from `draw`. Most are careful: they say what the repository's requests of
    the same framework, trainer or engine have said; the others say anything."""

    def __init__(self, tables, said, number, seed):
        self.tables, self.said, self.number = tables, said, number
        self.draw = random.Random(f"{seed}/{number}")
        self.careful = self.chance(CAREFUL)

    def some(self, items):
        return self.draw.choice(list(items))

    def chance(self, share):
        return self.draw.random() < share

    def right_or_wrong(self, right, wrong):
        return self.some(right if self.careful else right + wrong)

    def value(self, group, name, option, choices):
        """A value for an option, None for a switch."""
        near, said = self.said.value_list(group, name), self.said.value_list(group[0], name)
        if not self.careful and self.chance(0.1):
            return self.some(ODD)
        if near and (self.careful or self.chance(0.3)) and self.chance(0.8):
            return self.some(near)
        if choices and (self.chance(0.5) or not said):
            return self.some(choices)
        if said and self.chance(0.8):
            return self.some(said)
        form = option.get("value")
        if form == "":
            return None if self.chance(0.9) else self.some(["true", "false"])
        if form and form.startswith(("X", "{X")):
            return self.some(SHARES)
        return self.some(said if said and self.chance(0.5) else NUMBERS)

    def option(self, group, table, names=None):
        """Words of one option of a table."""
        known = [name for name in (names or table) if name in table and name not in RUNS_PROGRAMS]
        name = self.some(sorted(known or table))
        option, choices = table[name]
        value = self.value(group, name, option, choices)
        return [f"--{name}"] if value is None else [f"--{name}={value}"] if self.chance(0.05) else [f"--{name}", value]

    def options(self, group, table, most, said=()):
        """Some options of a table, mostly of those that requests of this group have said before."""
        words, used = [], {word[2:] for word in said if word.startswith("--")}
        together = self.said.together.get(group) or self.said.together.get((*group[:2], None), ())
        for _ in range(self.draw.randint(0, most)):
            common = [name for name in together if name not in used or not self.careful]
            more = self.option(group, table, common if common and (self.careful or self.chance(0.5)) else None)
            name = more[0][2:].partition("=")[0]
            if name not in used or not self.careful:
                used.add(name)
                words += more + (list(PARTNERS.get(name, ())) if self.careful else [])
        if words and not self.careful and self.chance(0.2):
            at = self.draw.randrange(len(words))
            words[at] = misspelt(self.draw, words[at])
        return words

    def model(self, files, engine=None):
        """A model of the catalog, or the configuration of a recorded one as a file."""
        if self.chance(0.6):
            gguf = engine == "llamacpp" if self.careful else self.chance(0.1)
            files["config.json"] = self.some(self.said.configs["gguf" if gguf else "model"])
            return "config.json"
        if self.careful and self.chance(0.5):
            return self.some(SMALL)
        if self.chance(0.03):
            return misspelt(self.draw, self.some(self.tables.models))
        return self.some(self.tables.models)

    def request(self, kind, words, files=None, then=(), stdin=""):
        return Request(f"drawn.{kind}", f"drawn {self.number}", (tuple(words), *map(tuple, then)), files or {}, stdin)

    def machine(self, group):
        words = []
        for name, names in (("gpu", self.tables.gpus), ("gpus", ["1", "2", "3", "4", "8", "16", "64"])):
            near = self.said.value_list(group, name)
            if self.careful and group[0] == "serve" and name == "gpus":
                continue
            if (near and self.chance(0.8)) or (not self.careful and self.chance(0.7)):
                words += [f"--{name}", self.some(near if near and (self.careful or self.chance(0.3)) else names)]
        return words

    def train(self):
        files, table = {}, self.tables.train
        group = ("train", self.some(table["framework"][1]), None)
        words = ["train", self.model(files), "--framework", group[1], *self.machine(group)]
        words += self.options(group, table, 5, words)
        return self.request("train", words + self.some(OUTPUT), files)

    def trainer(self):
        files, table = {}, self.tables.train
        trainers = sorted({*table["trainer"][1], *(name for name in self.said.value_list("train", "trainer") if not self.careful)})
        group = ("train", "transformers", self.some(trainers) if self.chance(0.8) else None)
        words = ["train", self.model(files), "--framework", "transformers", *self.machine(group)]
        words += ["--trainer", group[2]] if group[2] else []
        words += self.options(group, {**self.tables.training_arguments, **table}, 5, words)
        words += self.options(("train", "", None), self.tables.training_arguments, 1 if self.careful else 4, words)
        return self.request("trainer", words + self.some(OUTPUT), files)

    def serve(self):
        files, engine = {}, self.some(self.tables.engines)
        group = ("serve", engine, None)
        words = ["serve", self.model(files, engine), "--engine", engine, *self.machine(group)]
        words += self.options(group, self.tables.engines[engine], 5, words)
        return self.request("serve", words + self.some(OUTPUT), files)

    def plan(self):
        """Few machines and short lists: a plan searches."""
        group = ("plan", self.some(self.tables.train["framework"][1]), None)
        gpus = GPUS if self.careful else self.tables.gpus
        if self.chance(0.3):
            words = ["plan", "serve", self.some(self.tables.models), "--available", f"{self.some(['1', '2', '8'])}x{self.some(gpus)}",
                     "--users", self.some(["1", "10", "60"])]
            return self.request("plan", words + self.options(group, self.tables.plan_serve, 2, words) + self.some(OUTPUT))
        words = ["plan", "train", self.some(self.tables.models), "--framework", group[1], "--gpu", self.some(gpus), "--gpus",
                 self.some(["1", "2", "8", "64"]), "--sequence-length", "1024", "--global-batch-size", self.some(["16", "48", "64"])]
        return self.request("plan", words + self.options(group, self.tables.plan_train, 2, words) + self.some(OUTPUT))

    def exports(self):
        """A plan that is written, and the script that it wrote read back."""
        gpu = self.some(GPUS)
        words = ["plan", "train", self.some(["Qwen/Qwen3-0.6B", "Qwen/Qwen3-8B", "meta-llama/Llama-3.1-8B"]), "--gpu", gpu, "--gpus",
                 self.some(["1", "2", "8"]), "--framework", self.some(self.tables.train["framework"][1]), "--micro-batch-size", "1",
                 "--global-batch-size", "16", "--sequence-length", "1024", "--gradient-checkpointing", "full", "--export", "out", "--json"]
        return self.request("exports", words, then=[["--gpu", gpu, "--json", "--", "bash", "out/run.sh"]])

    def fits(self):
        words = ["fits", *(["--gpu", self.some(self.tables.gpus)] if self.chance(0.9) else [])]
        for share, name, right, wrong in FITS:
            words += [f"--{name}", self.right_or_wrong(right, wrong)] if self.chance(share) else []
        return self.request("fits", words + self.some(OUTPUT))

    def catalog(self):
        command = self.some(["models", "gpus"])
        name = self.some(self.tables.models if command == "models" else self.tables.gpus)
        words = [command, name if self.chance(0.6) else misspelt(self.draw, name) if self.chance(0.7) else name[: len(name) // 2]]
        return self.request(command, words + self.some(OUTPUT))

    def explain(self):
        """An out-of-memory message with other numbers, now and then beside a step."""
        if not hasattr(self.said, "messages"):
            self.said.messages = [row["text"] for row in truth_rows.read_rows(truth_rows.TRUTH / "oom_messages.jsonl") if row.get("text")]
        text = self.some(self.said.messages)
        for _ in range(self.draw.randrange(3)):
            text = varied_text(self.draw, text)
        words = ["explain", "message.txt"]
        if self.chance(0.2):
            words += ["--against", f"train {self.some(self.tables.models)} --gpu {self.some(self.tables.gpus)}"]
        return self.request("explain", words + self.some(OUTPUT), {"message.txt": text})

    def help(self):
        """The help of a command or of an engine, and what a shell offers."""
        command = self.some(self.tables.commands)
        words = [command] if not self.chance(0.1) else [misspelt(self.draw, command)]
        words += ["serve" if self.chance(0.5) else "train"] if command in ("plan", "verify") else []
        words += ["--engine", self.some(self.tables.engines)] if command == "serve" and self.chance(0.7) else []
        if self.chance(0.5):
            return self.request("help", [*words, "--help"])
        name = self.some(self.tables.train)
        return self.request("help", ["__complete", *words, "x", f"--{name[: self.draw.randint(1, len(name))]}"])

    def varied(self, commands):
        """A request of the repository with one to three things changed: in its words, its launch command, or a file."""
        command = self.some(commands)
        base = self.some(self.said.by_command[command])
        words, files = list(base.commands[0]), dict(base.files)
        for _ in range(1 if self.careful else self.draw.randint(1, 3)):
            texts = [name for name in files if len(files[name]) < TOO_LONG]
            if texts and self.chance(0.1 if command in ("train", "serve") else 0.6):
                name = self.some(texts)
                files[name] = varied_text(self.draw, files[name])
            elif command == "launch" and self.chance(0.7):
                words = varied_launch(self.draw, words)
            else:
                words = self.varied_options(command, words)
        return Request(f"drawn.{command}", f"drawn {self.number} from {base.name}", (tuple(words),), files, base.stdin, base.environment)

    def varied_options(self, command, words):
        group = group_of(command, pairs(words))
        table = self.tables.plan_train if command == "plan" else self.tables.engines.get(group[1], self.tables.train)

        def value_of(name):
            option, choices = table.get(name.replace("_", "-")) or self.tables.training_arguments.get(name) or ({"value": "N"}, [])
            return self.value(group, name, option, choices) or "true"

        return varied_words(self.draw, words, value_of, lambda: self.options(group, table, 1, words), self.careful)


def kinds(said):
    """How often each kind is drawn, of a hundred; plans search and are slow."""
    rest = sorted(said.by_command.keys() & {"explain", "fits", "models", "gpus", "plan", "time", "replay", "check"} - {"plan"})
    return [(20, Draw.train), (16, Draw.trainer), (17, Draw.serve), (1, Draw.plan), (1, Draw.exports), (3, Draw.fits), (3, Draw.catalog),
            (3, Draw.explain), (2, Draw.help), (14, lambda draw: draw.varied(["train"])), (6, lambda draw: draw.varied(["serve"])),
            (11, lambda draw: draw.varied(["launch"])), (3, lambda draw: draw.varied(rest))]


def drawn_requests(program, count, seed):
    """The requests, one after the other; the same for the same program, count and seed."""
    tables, said = Tables(program), Said()
    shares = kinds(said)
    turns = [one for share, one in shares for _ in range(share)]
    random.Random(seed).shuffle(turns)
    for number in range(count):
        yield turns[number % len(turns)](Draw(tables, said, number, seed))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", default="1")
    options = parser.parse_args()
    for request in drawn_requests(options.program, options.count, options.seed):
        for words in request.commands:
            print(request.kind, "memtape", shlex.join(words), json.dumps(sorted(request.files)) if request.files else "")


if __name__ == "__main__":
    main()
