# SPDX-License-Identifier: Apache-2.0
"""A dozen training steps of tests/truth/torch_steps.jsonl of the card's capability, by the recipe with which they were recorded."""
import functools
import sys

from kit import ROOT, Case, NotMeasured

sys.path.insert(0, str(ROOT / "tests"))
import truth_rows  # noqa: E402

FIGURES = ("steady_allocated_bytes", "peak_requested_bytes", "peak_allocated_bytes", "peak_reserved_bytes")
DOZEN = 12


def rows_for(kit):
    """Rows that leave room on the card, spread over all their sizes."""
    capability = "sm" + kit.card["capability"].replace(".", "")
    room = kit.card["free_bytes"] * 0.8
    rows = [row for row in truth_rows.read_rows(truth_rows.TRUTH / "torch_steps.jsonl")
            if row["stack"].endswith(capability) and row["expect"]["peak_reserved_bytes"] < room]
    if not rows:
        raise NotMeasured(f"no row has {capability}")
    rows.sort(key=lambda row: row["expect"]["peak_reserved_bytes"])
    return rows[::max(1, len(rows) // DOZEN)][:DOZEN]


def real_step(kit, settings, config):
    folder = kit.folder / "step"
    folder.mkdir(parents=True, exist_ok=True)
    return kit.recipe(["recording.py", "train_step.py"], settings, config, folder)


def case_of(kit, row):
    args = [kit.gpu if before == "--gpu" else word for before, word in zip(["", *row["args"]], row["args"])]
    folder = kit.model(row["config"])
    answer = kit.ask(*[str(folder) if word == "{config}" else word for word in args], "--with", kit.releases)
    result = real_step(kit, answer["workload"], row["config"])
    return Case(row["id"], {figure: result["expect"][figure] for figure in FIGURES}, answer["ranks"][0],
                {"args": args, "config": row["config"], "stack": result["stack"], "expect": result["expect"]})


def cases(kit):
    for row in rows_for(kit):
        yield functools.partial(case_of, kit, row)
