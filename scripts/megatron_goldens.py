#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accounts for every golden of Megatron-LM's CI: what memtape says, what was measured, and which facts of the row stand between.

    megatron_goldens.py [PROGRAM] [--page]

Rows: tests/truth/megatron_goldens.jsonl.gz. A row's facts are its command with the recipe's environment, its container, its GPU and
the day on which its figures were written down; the kinds below follow from them alone, never from the difference. --page prints
docs/accuracy/megatron_goldens.md. Without it: the figures that no kind accounts for; exit status 1 when there are more
than the file's first line allows (unaccounted_figures), or fewer exact rows than it demands (exact_rows).
"""
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
import truth_rows  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE = truth_rows.TRUTH / "megatron_goldens.jsonl.gz"
MIB = 2**20
STEADY, PEAK = "steady_allocated_bytes", "peak_allocated_bytes"


class Row:
    """A golden and its facts."""

    def __init__(self, row):
        self.id, self.args, self.expect = row["id"], row["args"], row["expect"]
        self.gpu, self.container, self.recorded = row["gpu"], row["container"], row["recorded"]
        self.environment = dict(word.split("=", 1) for word in self.args if re.match(r"[A-Z_0-9]+=", word))
        self.program = next(word for word in self.args if word.endswith(".py")).split("/")[-1]
        self.is_copy = False  # of another GPU's golden of this recipe

    def has(self, flag):
        return flag in self.args

    def words(self, flag):
        at = self.args.index(flag) + 1 if flag in self.args else len(self.args)
        end = next((i for i in range(at, len(self.args)) if self.args[i].startswith("--")), len(self.args))
        return " ".join(self.args[at:end])

    def number(self, flag, otherwise=1):
        return int((self.words(flag).split() or [otherwise])[0])

    def gpus(self):
        return self.number("--nproc-per-node") * self.number("--nnodes")

    def model_gpus(self):
        """As many GPUs as hold the model once."""
        tensor, stages = self.number("--tensor-model-parallel-size"), self.number("--pipeline-model-parallel-size")
        experts = self.number("--expert-tensor-parallel-size", tensor) * self.number("--expert-model-parallel-size")
        return stages * max(tensor * self.number("--context-parallel-size"), experts)

    def expandable(self):
        return "expandable_segments:True" in self.environment.get("PYTORCH_CUDA_ALLOC_CONF", "")

    def micro_batches(self):
        model = self.number("--tensor-model-parallel-size") * self.number("--pipeline-model-parallel-size")
        replicas = max(1, self.gpus() // (model * self.number("--context-parallel-size")))
        return self.number("--global-batch-size") // (self.number("--micro-batch-size") * replicas)


# The first day of each image of NVIDIA's that docker/.ngc_version.dev named, and the PyTorch that it brings; the container of long
# support has 25.09 since 23a1dcaf (6 November 2025), and had 24.01 before (.gitlab/stages/01.build.yml).
IMAGES = [("2026-05-07", "26.04", "torch==2.12.0"), ("2026-03-05", "26.02", "torch==2.11.0"), ("2026-01-14", "25.11", "torch==2.10.0"),
          ("", "25.09", "torch==2.9.0")]
LONG_SUPPORT = [("2025-11-06", "25.09", "torch==2.9.0"), ("", "24.01", "torch==2.2.0,transformer-engine==1.2.0")]


def releases_of_image(row):
    """What the image brought in which a golden was written down; that of 26.06 does what 26.04's does, as far as the goldens say."""
    images = LONG_SUPPORT if row.container == "lts" else IMAGES
    return next(releases for first, _, releases in images if row.recorded >= first)


def held_batches(row):
    """From 5e4fc931 on get_batch moved tensors to the GPU within the dictionary that RerunDataIterator keeps for a replay, so that the
    first tensor parallel rank held all batches of a step; since bf32f441 it keeps a copy of the dictionary."""
    ours = row.program in ("pretrain_gpt.py", "pretrain_hybrid.py", "pretrain_mamba.py")
    first = row.number("--tensor-model-parallel-size") == 1  # the last rank is measured
    return ours and first and "2026-05-21" <= row.recorded <= "2026-07-08" and row.words("--rerun-mode") != "disabled"


def held_bytes(row, key):
    """Mask, labels and the loss's mask of each batch, and where the last stage is the first tokens and positions. At the peak the last
    batch is there anyway, and the last of several stages has let go of its tokens and positions, which it did not before."""
    tokens = row.number("--micro-batch-size") * row.number("--seq-length") // row.number("--context-parallel-size")
    mask = 0 if row.has("--no-create-attention-mask-in-dataloader") else tokens * row.number("--seq-length")
    is_first = row.number("--pipeline-model-parallel-size") == 1
    batch = mask + tokens * (8 + 4 + (16 if is_first else 0))
    if key == STEADY:
        return row.micro_batches() * batch
    return (row.micro_batches() - 1) * batch - (0 if is_first else 16 * tokens)


def keeps_cache(row):
    """Megatron empties the cache before it writes a checkpoint from a2381d80 (5 March 2026) to 21197199 (13 August), but for the week
    of 11 to 18 June, and memtape with it; the step after a checkpoint then finds other holes."""
    saves = 0 < row.number("--save-interval", 0) < row.number("--train-iters", 0)
    empties = "2026-03-05" <= row.recorded < "2026-08-13" and not "2026-06-11" <= row.recorded < "2026-06-18"
    return saves and not row.expandable() and not empties


class Kind:
    def __init__(self, name, text, holds, added=None, peak_only=False, most=None):
        self.name, self.text, self.holds = name, text, holds
        self.added = added  # bytes that the rule knows, in what is measured
        self.peak_only, self.most = peak_only, most


KINDS = [
    Kind("held", "All batches of a step stay on the first tensor parallel rank (goldens of 21 May to 8 July 2026, whose bytes are "
         "counted here): " + " ".join(held_batches.__doc__.split()), held_batches, held_bytes),
    Kind("image", "Written down before November 2025, in an image of an older date (the first one that the repository names is 25.09): no "
         "fused cross entropy, other placeholders of gradients.",
         lambda row: row.recorded < "2025-11"),
    Kind("lts", "The container of long support: an image of its own, which stays while the other one moves on.",
         lambda row: row.container == "lts" and row.recorded >= "2025-11"),
    Kind("routing", "Experts get as many tokens as a real router sends them.", lambda row: row.has("--num-experts")),
    Kind("nodes", "The recipe names no nodes: the fewest that hold the model once are taken, and more would share the optimizer's states.",
         lambda row: row.model_gpus() > row.gpus()),
    Kind("graphs", "CUDA graphs keep their pools and static inputs.", lambda row: row.has("--cuda-graph-impl")),
    Kind("offload", "Activations that lie on the host meanwhile.", lambda row: row.has("--fine-grained-activation-offloading")),
    Kind("mtp", "Layers for further tokens.", lambda row: row.has("--mtp-num-layers")),
    Kind("fp8", "Scales and histories of fp8.", lambda row: row.has("--fp8-format")),
    Kind("overlap", "Experts' messages overlap with another micro-batch's work.", lambda row: row.has("--overlap-moe-expert-parallel-comm")),
    Kind("resumed", "The second run of two, which began by loading a checkpoint.", lambda row: row.id.endswith("_2nd"), peak_only=True),
    Kind("copy", "The figures are those of another GPU, byte for byte, though Transformer Engine's workspace differs.", lambda row: row.is_copy),
    Kind("a2a", "Context parallel attention by all-to-all.", lambda row: "a2a" in row.words("--cp-comm-type")),
    Kind("cache", " ".join(keeps_cache.__doc__.split()), keeps_cache, peak_only=True, most=8 * MIB),
    Kind("tails", "What is left of a hole in a large block, up to 8 MiB in all.", lambda row: not row.expandable(), most=8 * MIB),
]


def answer(program, row):
    split = row.args.index("--")
    last = max(row.gpus(), row.model_gpus()) - 1
    words = [*row.args[:split], "--json", "--rank", str(last), "--with", releases_of_image(row), *row.args[split:]]
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        # Without the command to run in its place, which differs from launcher to launcher.
        return None, done.stderr.strip().removeprefix("memtape: ").split(" (its real memory, ")[0]
    return json.loads(done.stdout)["ranks"][-1], ""


class Account:
    """One figure of a row: the difference that remains when what the kinds know in bytes is added, and the kinds that remain."""

    def __init__(self, row, said, key):
        holds = [kind for kind in KINDS if kind.holds(row) and (key == PEAK or not kind.peak_only)]
        added = sum(kind.added(row, key) for kind in holds if kind.added)
        self.measured = row.expect[key]
        self.difference = said[key] - self.measured
        self.rest = self.difference + added
        exact = self.rest == 0
        self.kinds = [kind for kind in holds if kind.added or not exact]
        open_ended = any(kind.added is None and kind.most is None for kind in holds)
        most = sum(kind.most or 0 for kind in holds)
        self.accounted = exact or open_ended or abs(self.rest) <= most

    def text(self):
        percent = 100 * self.difference / self.measured
        difference = "exact" if self.difference == 0 else f"{self.difference:+,} ({percent:+.2f} %)"
        return f"{self.measured:,} | {difference}"


def read_rows():
    rows = [Row(row) for row in truth_rows.read_rows(FILE)]
    seen = collections.defaultdict(set)
    for row in rows:
        seen[row.id.split("/")[1], *row.expect.values()].add(row.gpu)
    for row in rows:
        row.is_copy = row.gpu == "a100" and not row.has("local") and seen[row.id.split("/")[1], *row.expect.values()] - {"a100", None} != set()
    return rows


def summary(accounts, key):
    figures = [account[key] for account in accounts]
    errors = sorted(abs(one.difference) / one.measured for one in figures)
    exact = sum(one.difference == 0 for one in figures)
    with_bytes = sum(one.rest == 0 for one in figures)
    return (f"{len(figures)} | {exact} | {with_bytes} | {100 * errors[len(errors) // 2]:.3f} % | {100 * sum(errors) / len(errors):.3f} % | "
            f"{sum(not one.accounted for one in figures)}")


def page(rows, answers):
    told = [(row, {key: Account(row, said, key) for key in (STEADY, PEAK)}) for row, (said, _) in zip(rows, answers) if said]
    lines = ["# Megatron-LM's goldens, one by one", "",
             "Written by `scripts/megatron_goldens.py`; a test fails when it is out of date. Bytes of the last rank between steps and at",
             "the peak since start, as Megatron-LM's CI wrote them down (commit d98e8a64), and memtape's answer less that. The launch",
             "commands carry the environment of their recipe, and each is asked with the releases of the image of its day ("
             + ", ".join(f"{image}: {releases.replace('==', ' ')}" for _, image, releases in [*IMAGES, LONG_SUPPORT[-1]]) + ").",
             "What stands between follows from a row's command, environment, container, GPU and day alone; a kind with bytes of its own",
             "is counted in \"exact with these\".", "",
             "| kind | what |", "|---|---|"]
    lines += [f"| {kind.name} | {kind.text} |" for kind in KINDS]
    lines += ["", "| | rows | exact | exact with the bytes of `held` | median | mean | nothing accounts for |",
              "|---|---:|---:|---:|---:|---:|---:|"]
    sets = [("all", lambda row: True), ("dense", lambda row: not row.has("--num-experts")),
            ("dense, since November 2025", lambda row: not row.has("--num-experts") and row.recorded >= "2025-11"),
            ("dense, expandable segments", lambda row: not row.has("--num-experts") and row.expandable())]
    for name, chosen in sets:
        some = [account for row, account in told if chosen(row)]
        lines += [f"| {name}, between steps | {summary(some, STEADY)} |", f"| {name}, peak | {summary(some, PEAK)} |"]
    lines += ["", "| golden | written down | between steps | memtape less that | peak | memtape less that | what stands between |",
              "|---|---|---:|---:|---:|---:|---|"]
    for row, account in told:
        names = dict.fromkeys(kind.name for key in (STEADY, PEAK) for kind in account[key].kinds)
        if not all(one.accounted for one in account.values()):
            names["**not known**"] = None
        lines.append(f"| {row.id} | {row.recorded} | {account[STEADY].text()} | {account[PEAK].text()} | {', '.join(names)} |")
    lines += ["", "Not answered:", ""]
    refused = collections.defaultdict(list)
    for row, (said, why) in zip(rows, answers):
        if not said:
            refused[why].append(row.id)
    for why, ids in refused.items():
        lines.append(f"- {why}: {', '.join(ids)}")
    return "\n".join(lines) + "\n"


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    program = words[0] if words else str(ROOT / "build/release/memtape")
    rows = read_rows()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda row: answer(program, row), rows))
    if "--page" in sys.argv:
        sys.stdout.write(page(rows, answers))
        return 0
    unknown = 0
    exact = collections.Counter()
    for row, (said, _) in zip(rows, answers):
        for key in (STEADY, PEAK) if said else ():
            account = Account(row, said, key)
            exact[key] += account.difference == 0
            if not account.accounted:
                unknown += 1
                print(f"{row.id} {row.recorded} {key}: {account.rest / MIB:+.3f} MiB")
    print(f"{unknown} figures that nothing accounts for; exact: {exact[STEADY]} between steps, {exact[PEAK]} at the peak")
    demands = truth_rows.read_head(FILE)["demands"]
    return unknown > demands["unaccounted_figures"] or any(exact[key] < rows for key, rows in demands["exact_rows"].items())


if __name__ == "__main__":
    sys.exit(main())
