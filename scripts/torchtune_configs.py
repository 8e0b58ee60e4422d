#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What memory depends on in the configurations that torchtune ships, for data/words/torchtune_configs.txt.

    torchtune_configs.py FOLDER > data/words/torchtune_configs.txt

FOLDER holds the unpacked wheel (torchtune 0.6.1). Written are the configurations of the recipes that data/words/torchtune_recipes.txt calls
modelled, by the names of torchtune's registry; of each the settings that data/settings/torchtune.txt does not call neutral.
"""
import json
import pathlib
import re
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent


def rows(path):
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]


def registry(folder):
    """(name, file) of each configuration of a modelled recipe."""
    text = (folder / "torchtune/_recipe_registry.py").read_text(encoding="utf-8")
    modelled = {name for name, state in rows("data/words/torchtune_recipes.txt") if state == "modelled"}
    for recipe in text.split("Recipe(")[1:]:
        if re.search(r'name="([^"]+)"', recipe).group(1) in modelled:
            yield from re.findall(r'Config\(\s*name="([^"]+)",\s*file_path="([^"]+)"', recipe)


def main():
    folder = pathlib.Path(sys.argv[1])
    neutral = {name for name, kind, *_ in rows("data/settings/torchtune.txt") if kind == "-"} | {"checkpointer"}
    print("# What memory depends on in the configurations that torchtune (0.6.1, recipes/configs) ships, by the names of its registry.")
    print("# scripts/torchtune_configs.py writes it.")
    for name, file in sorted(set(registry(folder))):
        settings = yaml.safe_load((folder / "recipes/configs" / file).read_text(encoding="utf-8"))
        said = {key: value for key, value in settings.items() if key not in neutral}
        said["dataset"] = {key: value for key, value in settings.get("dataset", {}).items() if key == "packed"}
        said["tokenizer"] = {"max_seq_len": settings.get("tokenizer", {}).get("max_seq_len")}
        said["optimizer"] = {key: value for key, value in settings["optimizer"].items() if key in ("_component_", "fused")}
        print(name, json.dumps(said))


if __name__ == "__main__":
    main()
