# SPDX-License-Identifier: Apache-2.0
"""written_configs.py MEMTAPE FOLDER: a configuration as transformers writes it, with every default and every null, and one that names
its model_type alone are the same model. Every type that transformers has, and memtape; prints those that differ, exit code 1."""
import json
import pathlib
import subprocess
import sys

from transformers import CONFIG_MAPPING

memtape, folder = sys.argv[1], pathlib.Path(sys.argv[2])
# Upstream's own defaults make no model: a size is None.
NO_MODEL = {"deepseek_v2", "dots1", "esm"}


def parameters(name, config):
    path = folder / name
    path.write_text(json.dumps(config, default=str))
    words = [memtape, "train", str(path), "--sequence-length", "64", "--optimizer", "sgd", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    return json.loads(done.stdout)["model"]["parameters"] if done.returncode in (0, 1) else done.stderr.strip()


def main():
    folder.mkdir(parents=True, exist_ok=True)
    compared = wrong = 0
    for model_type in sorted(set(CONFIG_MAPPING) - NO_MODEL):
        bare = parameters(f"{model_type}.bare.json", {"model_type": model_type})
        if isinstance(bare, str):
            continue
        written = parameters(f"{model_type}.json", CONFIG_MAPPING[model_type]().to_dict())
        compared += 1
        if written != bare:
            wrong += 1
            print(f"{model_type}: {bare} parameters by its defaults, written out {written}")
    print(f"{compared} types, {wrong} differ")
    return 1 if wrong or compared < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
