# SPDX-License-Identifier: Apache-2.0
"""Recorded steps of torch's plain loop, by the torch and transformers they ran with."""
import functools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Dict, Iterator, List, Optional, Tuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests"))
import truth_rows  # noqa: E402

Version = Tuple[int, ...]
Pair = Tuple[Version, Version]  # of torch and of transformers


def pair_of(row: dict) -> Optional[Pair]:
    """((2, 15, 0), (5, 23, 0)) of a row; None where its stack does not say both."""
    stack = row.get("stack")
    if not isinstance(stack, str):
        return None
    found = [re.search(rf"\b{package} (\d+)\.(\d+)\.?(\d*)", stack) for package in ("torch", "transformers")]
    return tuple(tuple(int(n or 0) for n in match.groups()) for match in found) if all(found) else None


def is_plain_step(row: dict) -> bool:
    """Of the loop that needs nothing but these two packages; compiled code is predicted by bounds of its own."""
    words = row.get("args") or [""]
    framework = words[words.index("--framework") + 1] if "--framework" in words else "torch"
    return words[0] == "train" and framework == "torch" and "torch.compile" not in str(row.get("stack"))


def plain_steps() -> Iterator[Tuple[Pair, dict]]:
    """Every such row of truth, file by file."""
    for path in truth_rows.files():
        for row in truth_rows.read_rows(path):
            pair = pair_of(row)
            if pair and is_plain_step(row):
                yield pair, row


@functools.lru_cache
def catalog() -> Dict[str, dict]:
    """The configurations of the program's catalog by their models' names."""
    folder = pathlib.Path(__file__).resolve().parents[2] / "data" / "models"
    rows = [json.loads(line) for line in (folder / "INDEX.jsonl").read_text(encoding="utf-8").splitlines()]
    files = {row["id"]: row["file"] for row in rows if "file" in row}
    files.update({row["id"]: files[row["same_as"]] for row in rows if "same_as" in row})
    return {name: json.loads((folder / file).read_text(encoding="utf-8")) for name, file in files.items()}


def config_of(row: dict) -> dict:
    """The row's own; of a model of the catalog, that one's."""
    config = row.get("config")
    return config if isinstance(config, dict) and config else catalog().get(row["args"][1], {})


def family_of(row: dict) -> str:
    return config_of(row).get("model_type", "")


def score(program: str, rows: List[dict]) -> dict:
    """What the program's scoreboard says of these rows."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
        file.flush()
        done = subprocess.run([program, "scoreboard", "--json", file.name], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
