# SPDX-License-Identifier: Apache-2.0
"""The steps that a watch records: small ones of tests/truth, and one of each family of the catalog at full depth."""
import itertools
import json
import pathlib
import re
import subprocess
import sys
from typing import Dict, Iterator, List, NamedTuple

from . import sources

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRUTH = ROOT / "tests" / "truth"
sys.path.insert(0, str(TRUTH.parent))
import truth_rows  # noqa: E402

SMALL_STEPS = ["small_models.jsonl", "small_models_by_task.jsonl"]
LARGEST = 9_000_000_000  # parameters: a larger model takes its time to be made
FULL_DEPTH = ["--framework", "torch", "--precision", "bf16", "--micro-batch-size", "1", "--sequence-length", "256"]


class Case(NamedTuple):
    id: str
    family: str
    args: List[str]  # of memtape, with the configuration's file in place


def program() -> str:
    return str(ROOT / "build" / "release" / "memtape")


def small_rows(files) -> Iterator[dict]:
    for name in files:
        yield from truth_rows.read_rows(TRUTH / name)


def full_depth_rows(gpu: str) -> List[dict]:
    """The smallest model of each family that is not too large, whole."""
    said = subprocess.run([program(), "models", "--json"], capture_output=True, text=True, check=True)
    smallest: Dict[str, dict] = {}
    for model in json.loads(said.stdout)["models"]:
        known = smallest.get(model["family"])
        if model["supported"] and (model["parameters"] or LARGEST) < LARGEST and (not known or model["parameters"] < known["parameters"]):
            smallest[model["family"]] = model
    rows = []
    for model in smallest.values():
        config = ROOT / "data" / "models" / (model["id"].replace("/", "__") + ".json")
        rows.append({"id": f"full-depth.{model['id']}", "config": json.loads(config.read_text(encoding="utf-8")),
                     "args": ["train", "{config}", *FULL_DEPTH, "--gpu", gpu]})
    return rows


def chosen(rows, gpu: str, only: str) -> List[dict]:
    """Those of the GPU whose id matches, each family once before any comes again."""
    found = [row for row in rows
             if "--gpu" in row["args"] and row["args"][row["args"].index("--gpu") + 1] == gpu and re.search(only, row["id"])]
    if not found:
        raise sources.SourceError(f'no row of {gpu} has an id that "{only}" matches (ids are like llama.0, eager.dbrx.2)')
    by_family: Dict[str, List[dict]] = {}
    for row in found:
        by_family.setdefault(row["config"].get("model_type", ""), []).append(row)
    turns = itertools.zip_longest(*by_family.values())
    return [row for turn in turns for row in turn if row]


def make_cases(rows, releases: str, folder: pathlib.Path) -> List[Case]:
    cases = []
    for row in rows:
        name = row["id"].replace("/", "_")
        config = folder / "configs" / f"{name}.json"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(json.dumps(row["config"]), encoding="utf-8")
        args = [word.replace("{config}", str(config)) for word in row["args"]]
        if "--with" in args:
            at = args.index("--with")
            del args[at:at + 2]
        cases.append(Case(name, row["config"].get("model_type", ""), [*args, "--with", releases]))
    return cases
