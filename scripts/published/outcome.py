# SPDX-License-Identifier: Apache-2.0
"""A row laid beside the program's answer: what came of it."""
import dataclasses
import decimal
import json
import os
import subprocess
import tempfile

from .row import UNITS, NotAnswerable, NotModelled
from .sources import source_of

KINDS = {
    "streams": "FSDP's streams: a block waits for its event before it is used again, so other holes are cut; tails count as allocated.",
    "routing": "Experts get as many tokens as a real router sends them.",
    "beside": "Shared experts work beside the exchange of tokens in Megatron-Bridge, and hold more at once; here they work after it.",
    "kernels": "Triton kernels of fms-acceleration (norms, rope) run in place of the model's own, which are taken.",
    "first": "The peak is that of the first iteration, whose sample is the longest; the answer is that of one of many as long.",
    "later": "Later iterations hold the gradients of the whole model that accumulate, and have shorter samples than the first, whose length is "
             "taken for all.",
    "kept": "bitsandbytes before 0.43.2 keeps inputs of the graph before, of samples whose lengths are not said; they are not counted.",
    "lengths": "512 is the longest a sample may be; how long the longest was is not said.",
    "inductor": "Reserved memory of what inductor generated on that day, or of what it tried in the first step.",
    "days": "torchtitan before July 2024: of a trainer and a PyTorch of that day.",
    "near": "Reserved memory near the card's limit: a failed request frees cached blocks.",
    "program": "A program of its own around the model; its loop is taken to be the framework's.",
    "counter": "The source does not say what was counted.",
    "context": "The context of that card and driver is part of the figure.",
    "states": "The source does not name the optimizer's package; torchao's makes its states in the first step, which goes higher than those after it.",
    "command": "The launch command is not published; the row's facts are taken and the framework's defaults.",
}
ORDER = ("exact", "rounding", "off", "verdict", "wrong verdict", "not answerable", "not modelled", "not a measurement")


@dataclasses.dataclass
class Outcome:
    row: dict
    what: str            # one of ORDER
    why: str = ""        # the fact, the feature, or kinds
    predicted: int | None = None
    error: float | None = None
    verdict: str | None = None

    @property
    def source(self):
        return source_of(self.row)[0]


def measured_bytes(row, unit=None):
    """The figure, and how far rounding may have moved it."""
    if row["value_bytes"] is not None:
        return row["value_bytes"], 0
    scale = unit or UNITS[row["unit"]]
    digits = -decimal.Decimal(str(row["value"])).as_tuple().exponent
    return row["value"] * scale, 0.5 * 10**-digits * scale if row["unit"] != "bytes" else 0


def answer(program, plan):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(plan.config, file)
        file.flush()
        args = [file.name if arg == "{config}" else arg for arg in plan.args]
        done = subprocess.run([program, *args, "--json"], capture_output=True, text=True, check=False, env={**os.environ, **plan.environment})
        if done.returncode not in (0, 1):
            raise NotModelled(done.stderr.strip().splitlines()[0].replace("memtape: ", "").replace(file.name, "its configuration"))
    return json.loads(done.stdout)


def figure_of(said, plan):
    return counted(said, plan) + plan.beside


def counted(said, plan):
    ranks = said["ranks"]
    if plan.figure == "peak_reserved_bytes" and said.get("within_limit_bytes"):  # cached segments went back on that card
        rank = ranks[0]
        return said["within_limit_bytes"] - (rank["peak_device_bytes"] - rank["peak_reserved_bytes"])
    if plan.rank == "max":
        return max(rank[plan.figure] for rank in ranks)
    if plan.rank == "last":
        return ranks[-1][plan.figure]
    return next((rank for rank in ranks if plan.rank in rank["ranks"]), ranks[0])[plan.figure]


def outcome(program, row):
    if row["kind"] not in ("measured", "oom"):
        return Outcome(row, "not a measurement", row["kind"])
    try:
        plan = source_of(row)[1](row)
        said = answer(program, plan)
    except NotAnswerable as fact:
        return Outcome(row, "not answerable", str(fact))
    except NotModelled as feature:
        return Outcome(row, "not modelled", str(feature))
    verdict = said.get("verdict")
    if row["kind"] == "oom":
        right = verdict in ("does not fit", "may not fit")
        return Outcome(row, "verdict" if right else "wrong verdict", verdict=verdict, predicted=figure_of(said, plan))
    measured, rounding = measured_bytes(row, plan.unit)
    predicted = figure_of(said, plan)
    error = 100 * (predicted - measured) / measured
    what = "exact" if predicted == measured else "rounding" if abs(predicted - measured) <= rounding else "off"
    return Outcome(row, what, ", ".join(plan.kinds) if what == "off" else "", predicted, error, verdict)
