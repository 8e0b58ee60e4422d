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


# By category, each a hue or a lightness of its own, as the program's pages have them.
_COLOURS = {
    "parameter": "#4c78c8", "buffer": "#9a9ac4", "optimizer_state": "#8a56c8", "gradient": "#e08a1e", "activation": "#4fa64f",
    "input": "#6cc0c8", "temporary": "#d64f8c", "autograd_detail": "#c8403c", "kv_cache": "#0f9c92", "communication": "#d8b428",
    "workspace": "#a8743c", "cuda_graph": "#c79ac4", "context": "#8c8c8c", "unknown": "#4a4a4a"}


def _name(category: str) -> str:
    return category.replace("_", " ")


def _title(answer: Any) -> str:
    verdict = f": {answer.verdict} on {answer.device.name}" if answer.device and answer.verdict else ""
    return f"{answer.model.id}, {answer.peak / 2**30:.2f} GiB on the device{verdict}"


def _draw_step(axes: Any, drawn: Dict[str, Any]) -> None:
    at, by_category = levels(drawn["step"], drawn["categories"])
    axes.stackplot(at, [[held / 2**30 for held in values] for values in by_category.values()], labels=[_name(name) for name in by_category],
                   colors=[_COLOURS.get(name, "#4a4a4a") for name in by_category])
    axes.set_xlabel("event of the step")
    axes.set_ylabel("GiB allocated")
    axes.set_xlim(at[0], at[-1])


def _draw_peak(axes: Any, answer: Any) -> None:
    left = 0.0
    for name, held in answer.at_peak.items():
        if held > 0:
            axes.barh([0], [held / 2**30], left=left, label=_name(name), color=_COLOURS.get(name, "#4a4a4a"))
            left += held / 2**30
    axes.set_yticks([])
    axes.set_xlabel("GiB")


def plot(answer: Any, axes: Any = None) -> Any:
    if axes is None:
        from matplotlib import pyplot

        axes = pyplot.subplots(figsize=(9, 4.5), layout="constrained")[1]
    try:
        drawn = json.loads(answer._shown("timeline"))
    except Error:
        drawn = {}
    of_step = "step" in drawn
    _draw_step(axes, drawn) if of_step else _draw_peak(axes, answer)
    if answer.device:
        # What the driver gives, less what stands outside of the allocator in a step.
        outside = answer.peak - int(answer._fullest().peak_reserved_bytes) if of_step else 0
        limit = (answer.device.total_bytes - max(outside, 0)) / 2**30
        line = axes.axhline if of_step else axes.axvline
        line(limit, color="#202020", linestyle="--", linewidth=1, label=f"{answer.device.name}: {limit:.1f} GiB")
    axes.set_title(_title(answer), fontsize="medium", loc="left")
    axes.legend(fontsize="small", ncol=3, loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False)
    return axes
