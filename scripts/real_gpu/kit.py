# SPDX-License-Identifier: Apache-2.0
"""What the measurements of a card share: the card, the questions to memtape, and programs that run on the card.

A measurement is a module with cases(kit), which yields functions; each measures one Case.
"""
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LLAMA = {"model_type": "llama", "vocab_size": 32000, "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 8,
         "num_attention_heads": 16, "num_key_value_heads": 4, "max_position_embeddings": 2048, "tie_word_embeddings": False}


class NotMeasured(Exception):
    """The reason why something was not measured, for people."""


class LeftOut(NotMeasured):
    """The reason why something cannot be measured here at all."""


@dataclasses.dataclass
class Case:
    name: str
    measured: dict  # bytes by the name of the figure
    predicted: dict = dataclasses.field(default_factory=dict)  # of the same names, as far as memtape tells them
    row: dict = dataclasses.field(default_factory=dict)  # what a row of truth has besides


def last_line(text):
    return next((line for line in reversed(text.strip().splitlines()) if line.strip()), "no word")[:200]


def first_visible():
    """The number of the GPU that programs see first, as the driver counts them."""
    name = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()
    if not name.isdigit():
        raise NotMeasured(f"CUDA_VISIBLE_DEVICES is {name!r}: name the GPU by its number")
    return int(name)


@dataclasses.dataclass
class Kit:
    memtape: str
    python: str
    folder: pathlib.Path
    ends: float  # of time.monotonic()
    phantom: str | None = None

    def left(self):
        return self.ends - time.monotonic()

    def run(self, words, seconds=180):
        """What a program prints that uses the card."""
        before = [self.memtape, "run", "--quiet", "--gpu", self.phantom, "--"] if self.phantom else []
        limit = min(seconds, self.left())
        if limit < 5:
            raise NotMeasured("no time is left")
        try:
            done = subprocess.run([*before, *map(str, words)], capture_output=True, text=True, check=False, timeout=limit)
        except subprocess.TimeoutExpired as late:
            raise NotMeasured(f"not through within {limit:.0f} s") from late
        if done.returncode != 0:
            raise NotMeasured(last_line(done.stderr))
        return done.stdout

    def child(self, module, *words, seconds=180):
        """The object that a measurement's own file prints when it is run by the card's Python."""
        printed = self.run([self.python, HERE / f"{module}.py", *words], seconds)
        found = next((line for line in printed.splitlines() if line.startswith("{")), None)
        if found is None:
            raise NotMeasured(f"{module}.py printed no figures: {last_line(printed)}")
        return json.loads(found)

    def ask(self, *words):
        """The answer of a command of memtape, as JSON."""
        first, *rest = map(str, words)
        done = subprocess.run([self.memtape, first, "--json", *rest], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise NotMeasured(last_line(done.stderr))
        return json.loads(done.stdout)

    @functools.cached_property
    def card(self):
        """The GPU that programs see first, as `memtape detect` sees it."""
        detected = json.loads(self.run([self.memtape, "detect", "--json"]).split("\n}\n", 1)[0] + "\n}")
        if not detected["gpus"]:
            raise NotMeasured(detected["none"])
        if first_visible() >= len(detected["gpus"]):
            raise NotMeasured(f"CUDA_VISIBLE_DEVICES names GPU {first_visible()}, and there are {len(detected['gpus'])}")
        return dict(detected["gpus"][first_visible()], driver=detected["driver"])

    @property
    def gpu(self):
        if not self.card.get("id"):
            raise NotMeasured(f"{self.card['name']} is not in memtape's catalog")
        return self.card["id"]

    @functools.cached_property
    def releases(self):
        """The packages of the card's Python as --with takes them; without a GPU that torch can use there is nothing to measure."""
        program = ("import torch, transformers as t; print('torch==%s,transformers==%s' % (torch.__version__.split('+')[0], t.__version__))\n"
                   "if not torch.cuda.is_available(): raise SystemExit('torch %s, built for CUDA %s, can use no GPU under this driver'"
                   " % (torch.__version__, torch.version.cuda))")
        return self.run([self.python, "-c", program]).split()[0]

    def model(self, config):
        """A folder whose config.json is this object."""
        text = json.dumps(config, sort_keys=True)
        folder = self.folder / "models" / hashlib.sha256(text.encode()).hexdigest()[:12]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(text)
        return folder

    def recipe(self, names, settings, config, folder, seconds=180):
        """The result of recipes of phantom/recipes, one behind the other; phantom/recipes says what stands above them."""
        parts = [(ROOT / "phantom/recipes" / name).read_text() for name in names]
        head = "import json\n\nSETTINGS = json.loads(%r)\nCONFIG = json.loads(%r)\nFOLDER = %r" % (json.dumps(settings), json.dumps(config), str(folder))
        script = folder / names[-1]
        script.write_text("\n\n".join([head, *parts]))
        result = folder / "result.json"
        result.unlink(missing_ok=True)
        self.run([self.python, script], seconds)
        if not result.exists():
            raise NotMeasured(f"{script.name} left no result")
        return json.loads(result.read_text())
