#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps drawn at random under pairs of releases, as rows of truth that are still to be recorded.

    draw_steps.py PAIR... [--seed TEXT] [--count N]     PAIR: torch==2.15.0,transformers==5.19.0 and what else --with shall name
    draw_steps.py record FILE --python PYTHON --folder FOLDER [--only REGEX]

The first prints JSON lines: models of the catalog, whole where that is cheap, else their first layers, and small ones of other
families; a family comes again once every other that the release has was drawn. The second records the rows of a file with the
interpreter of one pair, which `--only` picks by their ids, and prints them with what was recorded. Draw, and predict, before recording.
"""
import argparse
import json
import pathlib
import random
import re
import sys

from releases import sources, watch, watch_rows

ROOT = watch_rows.ROOT
SMALL = ["small_models.jsonl", "small_multimodal_and_mixtures.jsonl"]
NO_TEXT = {"vit", "clip", "whisper"}  # steps of the recipes take tokens alone
WHOLE = 4_000_000_000  # parameters
ENCODERS = ["masked-lm", "sequence-classification", "token-classification", "question-answering"]
CHOICES = {"--micro-batch-size": [1, 1, 1, 2, 2, 3, 4, 7], "--sequence-length": [64, 128, 200, 256, 333, 512, 777, 1000, 1024],
           "--gradient-accumulation": [1, 1, 1, 2, 3], "--gradient-checkpointing": ["none", "none", "full"]}
OPTIMIZERS = ["adamw"] * 5 + ["adam", "sgd", "sgd-momentum", "adagrad", "rmsprop", "adafactor", "adafactor-hf", "adamax", "nadam"]
FUSED = {"adamw", "adam", "sgd", "sgd-momentum"}


def first_layers(config, count):
    """The configuration of the model's first layers: lists of one entry a layer are cut with them."""
    text = config.get("text_config", config)
    had = text.get("num_hidden_layers") or text.get("n_layer") or text.get("num_layers")
    for name in ("num_hidden_layers", "n_layer", "num_layers"):
        if name in text:
            text[name] = count
    for name, value in text.items():
        if isinstance(value, list) and len(value) == had:
            text[name] = value[:count]
    if "max_window_layers" in text:
        text["max_window_layers"] = min(text["max_window_layers"], count)
    return config


class Models:
    """What there is to draw, by family: (name, configuration, task or "")."""

    def __init__(self):
        self.by_family = {}
        said = watch_rows.subprocess.run([watch_rows.program(), "models", "--json"], capture_output=True, text=True, check=True)
        for model in json.loads(said.stdout)["models"]:
            config = json.loads((ROOT / "data" / "models" / (model["id"].replace("/", "__") + ".json")).read_text(encoding="utf-8"))
            if model["supported"] and config.get("model_type", "") not in NO_TEXT:
                self.add(config["model_type"], model["id"].replace("/", "__"), config, "", model["parameters"] or WHOLE * 2)
        for row in watch_rows.small_rows(SMALL):
            kind, args = row["config"]["model_type"], row["args"]
            task = args[args.index("--task") + 1] if "--task" in args else ""
            if task != "multiple-choice" and kind not in NO_TEXT:
                self.add(kind, f"small.{kind}", row["config"], task, 0)

    def add(self, family, *what):
        self.by_family.setdefault(family, []).append(what)

    def families(self, version):
        """Those that this transformers has."""
        auto = sources.of_release("transformers", version) / "models" / "auto"
        text = "".join(file.read_text(encoding="utf-8") for file in auto.glob("*auto*.py"))
        return [family for family in sorted(self.by_family) if f'"{family}"' in text]


def options(draw, config, task, releases):
    precision = draw.choice(["bf16", "bf16", "amp-bf16", "amp-bf16", "fp32", "amp-fp16", "fp16"])
    optimizer = draw.choice(OPTIMIZERS)
    words = ["train", "{config}", "--framework", "torch", "--precision", precision, "--attention", draw.choice(["sdpa", "sdpa", "eager"])]
    for name, values in CHOICES.items():
        words += [name, str(draw.choice(values))]
    plain = optimizer.startswith("adafactor")
    how = "for-loop" if optimizer == "adafactor-hf" else draw.choice(["foreach", "for-loop"] + ["fused"] * (optimizer in FUSED))
    words += ["--optimizer", optimizer, "--optimizer-impl", "foreach" if plain and optimizer != "adafactor-hf" else how]
    words += ["--max-grad-norm", draw.choice(["1.0", "1.0", "none"])]
    decoder = not task and "CausalLM" in "".join(config.get("architectures") or [])
    if decoder and draw.random() < 0.25:
        words += ["--lora-rank", draw.choice(["8", "16", "64"]), "--lora-targets", "all-linear"]
    elif decoder and draw.random() < 0.12:
        task = draw.choice(["sequence-classification", "token-classification"])
    elif task in ENCODERS or (not task and "MaskedLM" in "".join(config.get("architectures") or [])):
        task = draw.choice(ENCODERS)
    words += ["--task", task] if task else []
    kept = [r for r in releases.split(",") if "--lora-rank" in words or not r.startswith("peft")]
    return [*words, "--gpu", draw.choice(["a100-80gb", "a100-80gb", "h100-80gb", "b200-180gb"]), "--with", ",".join(kept)]


def drawn(pairs, seed, count):
    models, draw, deck = Models(), random.Random(seed), {}
    for releases in pairs:
        named = dict(r.split("==") for r in releases.split(","))
        have = models.families(named["transformers"])
        for number in range(count):
            fewest = min(deck.get(family, 0) for family in have)
            family = draw.choice([one for one in have if deck.get(one, 0) == fewest])
            deck[family] = fewest + 1
            name, config, task, parameters = draw.choice(models.by_family[family])
            config = json.loads(json.dumps(config))
            if parameters > WHOLE or (parameters and draw.random() < 0.3):
                layers = draw.randint(2, 6)
                name, config = f"{name}.first{layers}", first_layers(config, layers)
            stack = f"torch{named['torch']}-tf{named['transformers']}"
            args = options(draw, config, task, releases)
            if "b200-180gb" not in args or tuple(map(int, named["torch"].split("."))) >= (2, 7):  # before, torch has no kernels for it
                yield {"id": f"{stack}.{seed}.{number}.{name}", "args": args, "config": config}


def record(path, python, folder, only):
    """Rows by what stands behind --gpu, which a process has one of."""
    rows = [row for row in map(json.loads, open(path, encoding="utf-8")) if re.search(only, row["id"])]
    for gpu in sorted({row["args"][row["args"].index("--gpu") + 1] for row in rows}):
        mine = [row for row in rows if row["args"][row["args"].index("--gpu") + 1] == gpu]
        into = pathlib.Path(folder) / gpu
        into.mkdir(parents=True, exist_ok=True)
        cases = {case.id: (row, case) for row, case in zip(mine, watch_rows.make_cases(mine, "", into))}
        for row, case in cases.values():
            case.args[-1] = row["args"][-1]
        failures = watch.scripts_of([case for _, case in cases.values()], into / "cases.jsonl")
        for name, why in failures.items():
            print(f"{name}: no script: {why}", file=sys.stderr)
        for name in watch.record(python, into / "cases.jsonl", into, gpu, 36000):
            result = into / name / "result.json"
            if name in cases and result.exists():
                print(json.dumps({**cases[name][0], **json.loads(result.read_text(encoding="utf-8"))}), flush=True)
            elif name in cases:
                log = (into / name / "log").read_text(errors="replace").strip().splitlines()
                print(f"{name}: not recorded: {(log or ['no log'])[-1][:160]}", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+")
    for name, default in (("--seed", "1"), ("--count", "12"), ("--python", "python3"), ("--folder", "recorded"), ("--only", "")):
        parser.add_argument(name, default=default)
    asked = parser.parse_args()
    if asked.what[0] == "record":
        record(asked.what[1], asked.python, asked.folder, asked.only)
        return
    for row in drawn(asked.what, asked.seed, int(asked.count)):
        print(json.dumps(row))


if __name__ == "__main__":
    main()
