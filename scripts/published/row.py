# SPDX-License-Identifier: Apache-2.0
"""What every source's mapping of a row gives, and what it says where it cannot."""
import dataclasses
import re

GIB, MIB = 2**30, 2**20
UNITS = {"bytes": 1, "GiB": GIB, "MiB": MIB, "GB": 10**9}


class NotAnswerable(Exception):
    """The row lacks a fact that decides the answer; the message names it."""


class NotModelled(Exception):
    """The run has a feature that memtape does not model; the message names it."""


@dataclasses.dataclass
class Plan:
    """A row as a command, and where its answer has the figure."""
    args: list
    figure: str = "peak_allocated_bytes"
    rank: object = 0                    # a number, "last" or "max"
    config: dict | None = None          # stands for {config} in args
    environment: dict = dataclasses.field(default_factory=dict)
    kinds: tuple = ()                   # what may stand between, from the row's facts alone
    unit: int | None = None             # bytes of the source's unit, where its label is not meant
    beside: int = 0                     # bytes in the row's figure that the source itself counts beside this one
    also: tuple = ()                    # (words of a further counter, its figure)


def base_model(row, names):
    """The catalog's model for the row's, by the first of `names` whose words it has."""
    for words, model in names:
        if words.lower() in (row["model"] or "").lower():
            return model
    raise NotAnswerable(f"the shapes of {row['model']}")


def need(row, *fields):
    for field in fields:
        if row[field] is None:
            raise NotAnswerable(field.replace("_", " "))


GPUS = [("H100", "h100-80gb"), ("H200", "h200-141gb"), ("GB200", "gb200"), ("B200", "b200-180gb"), ("A100-SXM4-40", "a100-40gb"),
        ("A100 40", "a100-40gb"), ("A100", "a100-80gb"), ("3090", "rtx-3090"), ("4090", "rtx-4090"), ("A6000", "rtx-a6000"),
        ("A10G", "a10g"), ("V100", "v100-32gb"), ("L4", "l4"), ("L40S", "l40s")]


def gpu(row):
    """With the memory that the row gives the card, where the catalog's of that name has another."""
    for words, name in GPUS:
        if words in (row["gpu"] or ""):
            larger = re.search(r"\b(95(?:\.\d+)?)(?: ?GiB|-96GB)", row["gpu"]) if name == "h100-80gb" else None
            return ["--gpu", name] + (["--gpu-memory-bytes", str(int(float(larger[1]) * GIB))] if larger else [])
    return []
