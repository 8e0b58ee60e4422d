#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every published start-up log of vLLM, SGLang and llama.cpp, laid beside the answer or with the reason why not.

    published_servers_page.py [PROGRAM] [--head]

Writes docs/accuracy/published_servers.md to standard output; with --head its table of shares alone. Rows: tests/truth/serving_logs.jsonl,
llamacpp_logs.jsonl and llamacpp_logs_left.jsonl, as replay_serving_logs.py and replay_llamacpp_logs.py replay them.
"""
import argparse
import dataclasses
import pathlib
import statistics
import sys
import tempfile

import replay_llamacpp_logs as llamacpp
import replay_serving_logs as serving

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
import truth_rows  # noqa: E402
FIGURES = ("weights_gib", "activation_peak_gib", "non_torch_gib", "cuda_graph_gib", "kv_gib", "kv_tokens given the bytes", "gpu_blocks given the bytes")
HALF = 0.0051  # logs print GiB to 0.01
NEAR = 0.15  # GiB: non-torch memory within is near


@dataclasses.dataclass
class Server:
    """What is answered for a row of vLLM or SGLang: its figures (name, logged, here), or why it is left; whether the bounds hold the log's device."""
    figures: list | str
    holds: bool | None = None


def rows_of(name):
    return truth_rows.read_rows(truth_rows.TRUTH / name)


def within_bounds(answered, found):
    """Whether the bounds hold the device as it is with the log's non-torch memory and graphs in place of those answered; None where it prints neither."""
    others = [(logged - here) * serving.GIB for key, logged, here in found if key in ("non_torch_gib", "cuda_graph_gib")]
    if not others or not answered.get("bounds"):
        return None
    device = max(rank["peak_device_bytes"] for rank in answered["ranks"]) + sum(others)
    printed = len(others) * HALF * serving.GIB
    return answered["bounds"]["low_bytes"] - printed <= device <= answered["bounds"]["high_bytes"] + printed


def served(program, row):
    try:
        config = serving.config_of(row)
        args = serving.arguments(row, config)
        answered = serving.answer(program, config, args)
        given = serving.given_budget(program, row, config, args)
    except serving.Left as why:
        return Server(str(why))
    whole = serving.figures(answered, row["engine"])
    found = [(key, logged, value) for key, value, logged, _ in serving.errors(whole, row["measured"]) if serving.is_comparable(row, key)]
    holds = within_bounds(answered, found)
    return Server(found + [(f"{key} given the bytes", logged, value) for key, value, logged, _ in serving.errors(given, row["measured"])], holds)


def started(program, row, folder):
    found = []
    for figure, device, logged, here in llamacpp.figures(row, llamacpp.answer(program, row, folder)):
        found.append((f"{figure} on {device}", logged, here))
    return found


def is_as_printed(figure, logged, here):
    if " on " in figure:
        return abs(logged - here) <= llamacpp.HALF_A_DIGIT
    return abs(logged - here) <= HALF if figure.endswith("_gib") else round(here) == logged or abs(here - logged) <= HALF


def lines(name, found, note):
    if isinstance(found, str):
        return [f"| {name} | | | | not answered: {found.replace('memtape: ', '')} |"]
    if not found:
        return [f"| {name} | | | | not answerable: the row has no figure that its settings decide |"]
    out = []
    for figure, logged, here in found:
        same = is_as_printed(figure, logged, here)
        out.append(f"| {name} | {figure} | {logged:,} | {here:,.2f} | {'as printed' if same else f'{100 * (here - logged) / abs(logged):+.2f} %'}"
                   f"{'' if same or not note else ': ' + note} |")
        name = ""
    return out


def beside_the_allocator(servers, answered):
    apart = [abs(here - logged) for found in answered for figure, logged, here in found if figure == "non_torch_gib"]
    held = [server.holds for server in servers if server.holds is not None]
    return ("| memory outside the allocator | logs |\n|---|---:|\n"
            f"| non-torch memory within {NEAR} GiB | {sum(one <= NEAR + HALF for one in apart)} of {len(apart)} |\n"
            f"| the device with the log's own non-torch memory and graphs lies within the bounds | {sum(held)} of {len(held)} |")


def shares(servers, buffers, left):
    answered = [server.figures for server in servers if isinstance(server.figures, list) and server.figures]
    values = {figure: [] for figure in FIGURES}
    for found in answered:
        for figure, logged, here in found:
            if figure in values:
                values[figure].append((100 * abs(here - logged) / abs(logged), is_as_printed(figure, logged, here)))
    table = [f"| published start-up logs | rows |\n|---|---:|\n| vLLM and SGLang, in the file | {len(servers)} |\n| of these answered | {len(answered)} |\n"
             f"| llama.cpp, in the files | {len(buffers) + left} |\n| of these answered | {len(buffers)} |",
             "| figure | values | as printed | median off | within 5 % |\n|---|---:|---:|---:|---:|"]
    for figure, found in values.items():
        if found:
            table.append(f"| {figure} | {len(found)} | {sum(same for _, same in found)} | {statistics.median(error for error, _ in found):.3f} % | "
                         f"{sum(error <= 5 for error, _ in found)} |")
    whole = [(figure.split(" ")[0], is_as_printed(figure, logged, here)) for found in buffers for figure, logged, here in found]
    for kind in dict.fromkeys(kind for kind, _ in whole):
        same = [printed for one, printed in whole if one == kind]
        table.append(f"| llama.cpp's {kind} buffers | {len(same)} | {sum(same)} | | |")
    return table[0] + "\n\n" + "\n".join(table[1:]) + "\n\n" + beside_the_allocator(servers, answered) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", default=str(truth_rows.TRUTH.parent.parent / "build/release/memtape"))
    parser.add_argument("--head", action="store_true")
    options = parser.parse_args()
    logs, ggml, left = rows_of("serving_logs.jsonl"), rows_of("llamacpp_logs.jsonl"), rows_of("llamacpp_logs_left.jsonl")
    servers = [served(options.program, row) for row in logs]
    with tempfile.TemporaryDirectory() as folder:
        buffers = [started(options.program, row, folder) for row in ggml]
    head = shares(servers, buffers, len(left))
    if options.head:
        print(head, end="")
        return 0
    print(f"""# Published start-up logs, one by one

Written by `scripts/published_servers_page.py`; a test fails when it is out of date. Every row of `tests/truth/serving_logs.jsonl`,
`llamacpp_logs.jsonl` and `llamacpp_logs_left.jsonl`, which name their sources, is here. Figures that the row's settings do not decide are
left out. GiB as logs print them, to 0.01; llama.cpp's MiB, to 0.01.

{head}
## vLLM and SGLang

| row | figure | log | memtape | |
|---|---|---:|---:|---|""")
    for row, server in zip(logs, servers, strict=True):
        card = f"{row['num_gpus'] or 1} x {row['gpu'] or 'a card that is not said'}"
        print("\n".join(lines(f"{row['id']} ({row['version']}, {card})", server.figures, "")))
    print("\n## llama.cpp\n\n| row | figure | log | memtape | |\n|---|---|---:|---:|---|")
    for row, found in zip(ggml, buffers, strict=True):
        print("\n".join(lines(f"{row['id']} {row['model'] or ''} ({row['build']})", found, row["note"] or "")))
    for row in left:
        print(f"| {row['id']} {row['model'] or ''} ({row['engine']}) | | | | {row['why']} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
