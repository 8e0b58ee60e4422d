# SPDX-License-Identifier: Apache-2.0
"""Tables of docs/releases.md beyond torch and transformers: by package and version, how many recorded steps and start-ups there are, and
how many answers are right to the byte; published logs by how close the answers are."""
import collections
import concurrent.futures
import re
import statistics
import sys
import pathlib
from typing import Dict, Iterator, List, Tuple

from . import recorded

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import megatron_goldens as goldens  # noqa: E402
import published_servers_page as servers  # noqa: E402
import torchtitan_runs  # noqa: E402

truth_rows = recorded.truth_rows
TRAINING = {"peak_requested_bytes": "requested", "peak_allocated_bytes": "allocated", "peak_reserved_bytes": "reserved"}
SERVING = {"weights_bytes": "weights", "activation_peak_bytes": "activation peak", "kv_cache.num_blocks": "cache blocks"}
PACKAGES = {"accelerate": TRAINING, "deepspeed": TRAINING, "megatron-core": TRAINING, "peft": TRAINING, "torchtitan": TRAINING,
            "trl": TRAINING, "vllm": SERVING}
PUBLISHED_STEPS = ["published_runs.jsonl"]  # of files with a driver of their own, those whose figures are a step's
VERSION = r"v?(\d+\.\d+(?:\.\d+)?)"


def version_of(package: str, row: dict, head: dict) -> str:
    """As the row's stack, its --with or, where neither names the package, its file's first line says; "" where none does."""
    stack, words = row.get("stack"), row.get("args", [])
    named = words[words.index("--with") + 1] if "--with" in words else ""
    for text, between in ((stack if isinstance(stack, str) else "", " "), (named, "=="), (head.get("source", ""), " ")):
        found = re.search(rf"(?i)\b{re.escape(package)}{between}{VERSION}", text)
        if found:
            return found[1]
    return ""


def published(row: dict) -> dict:
    """As the scoreboard takes it. Its stack names packages that --with does not; its arguments say what decides."""
    args = ["{config}" if place == 1 else word for place, word in enumerate(row["args"])]
    return {**row, "stack": "", "config": recorded.config_of(row), "args": args}


def recorded_rows() -> Iterator[Tuple[str, str, dict]]:
    """(package, version, row) of every row whose figures the scoreboard compares."""
    for path in truth_rows.files():
        head = truth_rows.read_head(path)
        if "driver" in head and path.name not in PUBLISHED_STEPS:
            continue
        for row in truth_rows.read_rows(path):
            asked = published(row) if path.name in PUBLISHED_STEPS else row
            for package in PACKAGES:
                version = version_of(package, row, head) if "expect" in row else ""
                if version:
                    yield package, version, asked


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def recorded_line(program: str, version: str, rows: List[dict], figures: Dict[str, str]) -> str:
    said = recorded.score(program, rows)
    found = {entry["key"]: entry for entry in said["distributions"]}
    cells = [version, str(len(rows)), str(sum(row["predicted"] for row in said["rows"]))]
    cells += [percent(found[key]["exact"], found[key]["rows"]) if key in found else "-" for key in figures]
    largest = [found[key]["max"] for key in figures if key in found]
    return "| " + " | ".join([*cells, f"{max(largest):.2f} %" if largest else "-"]) + " |"


def by_version(rows) -> List[Tuple[str, List[dict]]]:
    found = collections.defaultdict(list)
    for version, row in rows:
        found[version].append(row)
    return sorted(found.items(), key=lambda entry: [int(part) for part in entry[0].split(".")])


def recorded_text(program: str) -> List[str]:
    by_package = collections.defaultdict(list)
    for package, version, row in recorded_rows():
        by_package[package].append((version, row))
    lines = []
    for package, figures in PACKAGES.items():
        lines += ["", f"### {package}", "", f"| version | rows | answered | {' | '.join(figures.values())} | largest error |",
                  "|---|---:|---:|" + "---:|" * (len(figures) + 1)]
        lines += [recorded_line(program, version, rows, figures) for version, rows in by_version(by_package[package])]
    return lines


def log_version(row: dict) -> str:
    found = re.search(r"\b(\d+\.\d+)", row["version"] or "")
    return found[1] if found and not re.match(r"20\d\d", found[1]) else ""


def logs_text(program: str) -> List[str]:
    """Published start-up logs of vLLM and SGLang: they print 0.01 GiB."""
    rows = servers.rows_of("serving_logs.jsonl")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda row: servers.served(program, row), rows))
    lines = []
    for engine in ("vllm", "sglang"):
        groups = collections.defaultdict(list)
        for row, found in zip(rows, answers):
            if row["engine"] == engine:
                groups[log_version(row)].append(found)
        lines += ["", f"### {engine}, published logs", "",
                  "| version | logs | answered | figures | as printed | within 5 % | median off | largest |", "|---|---:|---:|---:|---:|---:|---:|---:|"]
        for version, found in sorted(groups.items(), key=lambda entry: [int(part) for part in entry[0].split(".") if part]):
            figures = [figure for one in found if isinstance(one, list) for figure in one]
            errors = [100 * abs(here - logged) / abs(logged) for _, logged, here in figures]
            cells = [version or "not said", str(len(found)), str(sum(isinstance(one, list) and bool(one) for one in found)), str(len(figures)),
                     str(sum(servers.is_as_printed(*figure) for figure in figures)), str(sum(error <= 5 for error in errors))]
            cells += [f"{statistics.median(errors):.2f} %", f"{max(errors):.1f} %"] if errors else ["-", "-"]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def error_cells(errors: List[float]) -> List[str]:
    if not errors:
        return ["0", "-", "-"]
    return [str(sum(error == 0 for error in errors)), f"{statistics.median(errors):.2f} %", f"{max(errors):.2f} %"]


def goldens_text(program: str) -> List[str]:
    """Megatron-LM's own CI: its containers, by the release of NVIDIA's image that they were made of."""
    rows = goldens.read_rows()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda row: goldens.answer(program, row)[0], rows))
    groups = collections.defaultdict(list)
    for row, said in zip(rows, answers):
        groups[row.container, goldens.releases_of_image(row)].append((row, said))
    lines = ["", "### Megatron-LM, goldens of its CI", "",
             "| container | image with | rows | answered | between steps exact | median off | largest | peak exact | median off | largest |",
             "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for (container, image), found in sorted(groups.items()):
        cells = [container, image.replace("==", " ").replace(",", ", "), str(len(found)), str(sum(said is not None for _, said in found))]
        for key in (goldens.STEADY, goldens.PEAK):
            cells += error_cells([100 * abs(said[key] - row.expect[key]) / row.expect[key] for row, said in found if said])
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def titan_text(program: str) -> List[str]:
    """torchtitan's published runs by the half-year of the commit that they name."""
    file = truth_rows.TRUTH / "torchtitan_runs.jsonl"
    groups = collections.defaultdict(list)
    for row in truth_rows.read_rows(file):
        day = re.search(r'"version": "(\d{4})-(\d\d)', " ".join(row.get("args", [])))
        groups[f"{day[1]}, {'first' if day[2] < '07' else 'second'} half" if day else "not said"].append(row)
    lines = ["", "### torchtitan, published runs", "", "| of | rows | answered | within 2 % | median off | largest |", "|---|---:|---:|---:|---:|---:|"]
    for when, rows in sorted(groups.items()):
        errors = [100 * abs(torchtitan_runs.predicted(program, row) - row["reserved_gib"]) / row["reserved_gib"] for row in rows if "args" in row]
        cells = [when, str(len(rows)), str(len(errors)), str(sum(error <= 2 for error in errors)), *error_cells(errors)[1:]]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def text(program: str) -> str:
    lines = ["", "## How the answers fare beyond torch and transformers", "",
             "By the version that a row's stack names, which lists what was installed: a step of Trainer counts under accelerate, peft and trl.",
             "A row is right where the figure is the recorded one to the byte. Versions without a line have no row."]
    lines += recorded_text(program) + logs_text(program) + goldens_text(program) + titan_text(program)
    return "\n".join(lines) + "\n"
