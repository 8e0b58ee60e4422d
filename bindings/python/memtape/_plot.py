# SPDX-License-Identifier: Apache-2.0
"""Pictures of an answer with matplotlib."""
import json
from typing import Any, Dict, List, Tuple

from ._error import Error

_MOST_POINTS = 2000


def levels(step: Dict[str, Any], categories: List[str]) -> Tuple[List[int], Dict[str, List[int]]]:
    """Bytes of live blocks by category after the events of a step, of which at most _MOST_POINTS are kept.

    `step`: of the form "timeline": `events` holds n for the block n that is made and -n for one that is freed, `sizes` and `why`
    are those of the blocks from 1 on, the first `alive` of which are there before the step.
    """
    kind = [step["whys"][why][0] for why in step["why"]]
    held = [0] * len(categories)
    for block in range(step["alive"]):
        held[kind[block]] += step["sizes"][block]
    every = max(1, len(step["events"]) // _MOST_POINTS)
    at: List[int] = []
    rows: List[List[int]] = []
    for event, block in enumerate(step["events"]):
        if block:
            held[kind[abs(block) - 1]] += step["sizes"][abs(block) - 1] * (1 if block > 0 else -1)
        if event % every == 0 or event == step["peak_event"]:
            at.append(event)
            rows.append(list(held))
    return at, {name: [row[index] for row in rows] for index, name in enumerate(categories) if any(row[index] for row in rows)}


def plot(answer: Any, axes: Any = None) -> Any:
    if axes is None:
        from matplotlib import pyplot

        axes = pyplot.subplots(figsize=(9, 4))[1]
    try:
        drawn = json.loads(answer._shown("timeline"))
    except Error:
        drawn = {}
    if "step" in drawn:
        at, by_category = levels(drawn["step"], drawn["categories"])
        axes.stackplot(at, [[held / 2**30 for held in values] for values in by_category.values()], labels=list(by_category))
        axes.set_xlabel("event")
        axes.set_ylabel("allocated GiB")
    else:
        left = 0.0
        for name, held in answer.at_peak.items():
            axes.barh([0], [held / 2**30], left=left, label=name)
            left += held / 2**30
        axes.set_yticks([])
        axes.set_xlabel("GiB")
    axes.legend(fontsize="small", ncol=4, loc="lower left", bbox_to_anchor=(0, 1))
    return axes
