# SPDX-License-Identifier: Apache-2.0
"""What `memtape run` asked of the agent, from the environment."""
import os


def _number(name, otherwise):
    value = os.environ.get(name, "")
    return int(value) if value.isdigit() else otherwise


def _fraction(name, otherwise):
    try:
        return float(os.environ.get(name, otherwise))
    except ValueError:
        return otherwise


RUN_FOLDER = os.environ.get("MEMTAPE_PHANTOM_RUN", "")
STOP_AFTER = _number("MEMTAPE_PHANTOM_STOP_AFTER", 0)  # optimizer steps; 0: never
MOST_READS = _number("MEMTAPE_PHANTOM_MOST_READS", 10000)  # equal ones of one line without progress; 0: any number
HISTORY = _number("MEMTAPE_PHANTOM_HISTORY", 300000)  # allocator events that are kept
WATCH = os.environ.get("MEMTAPE_WATCH") == "1"  # a real GPU: nothing is stood in for, and little may be spent
SOLO = os.environ.get("MEMTAPE_PHANTOM_SOLO") == "1"  # this process plays one rank of many
WANT_TAPE = os.environ.get("MEMTAPE_PHANTOM_TAPE") == "1"
WANT_SNAPSHOT = os.environ.get("MEMTAPE_PHANTOM_SNAPSHOT") == "1"
VALUES = os.environ.get("MEMTAPE_PHANTOM_VALUES", "steer") == "steer"  # small tensors have their values on the host
IMBALANCE = _fraction("MEMTAPE_PHANTOM_IMBALANCE", 1.0)  # the fullest of what topk chooses among, in times of the mean
HOST_INIT = os.environ.get("MEMTAPE_PHANTOM_HOST_INIT", "skip") == "real"  # large host tensors get their initial values
