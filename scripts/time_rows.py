#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks `memtape time` about measured training steps and servers, and writes docs/time.md's tables.

    scripts/time_rows.py MEMTAPE            print the errors by source
    scripts/time_rows.py MEMTAPE --update   write them into docs/time.md
    scripts/time_rows.py MEMTAPE --check    compare with docs/time.md (a test)

The rows are tests/truth/training_throughput.jsonl.gz and serving_throughput.jsonl.gz. A row is turned into sizes by its own facts and by
what its framework does by default; a row that lacks a size, or whose framework or model is not modelled, is counted with the reason.
"""
import collections
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
import truth_rows  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/time.md"
BEGIN, END = "<!-- scripts/time_rows.py begins -->\n", "<!-- scripts/time_rows.py ends -->\n"


def llama(hidden, layers, heads, kv_heads, width, vocab, **more):
    return dict(model_type="llama", hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=kv_heads,
                intermediate_size=width, vocab_size=vocab, tie_word_embeddings=False, **more)


def gpt(hidden, layers, heads):
    return dict(model_type="gpt2", hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, vocab_size=51200, tie_word_embeddings=True)


def mpt(hidden, layers, heads):
    return dict(model_type="mpt", d_model=hidden, n_layers=layers, n_heads=heads, vocab_size=50368)


def nemotron(hidden, layers, heads, kv_heads, width, head_dim):
    return dict(model_type="nemotron", hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=kv_heads,
                head_dim=head_dim, intermediate_size=width, vocab_size=256000, tie_word_embeddings=False)


CONFIGS = {  # models that have no configuration in the catalog
    "MPT-125m": mpt(768, 12, 12), "MPT-350m": mpt(1024, 24, 16), "MPT-760m": mpt(1536, 24, 12), "MPT-1b": mpt(2048, 24, 16),
    "MPT-3b": mpt(2560, 32, 20), "MPT-7b": mpt(4096, 32, 32), "MPT-13b": mpt(5120, 40, 40), "MPT-30b": mpt(7168, 48, 56),
    "MPT-70b": mpt(8192, 80, 64), "InternLM-7B": llama(4096, 32, 32, 32, 11008, 103168), "Llama-2-34B": llama(8192, 48, 64, 8, 22016, 32000),
    "megatron-22B": gpt(6144, 48, 64), "gpt3-175B": gpt(12288, 96, 96), "turing-530B": gpt(20480, 105, 128), "megatron-1T": gpt(25600, 128, 160),
    "GPT3-5B": gpt(4096, 24, 32), "Paxml GPT5B": gpt(4096, 24, 32), "Paxml GPT175B": gpt(12288, 96, 96), "NeMo Megatron": gpt(12288, 96, 96),
    "Nemotron-22B": nemotron(6144, 40, 48, 48, 24576, 128), "Nemotron-340B": nemotron(18432, 96, 96, 8, 73728, 192),
    "Nemotron4-340B": nemotron(18432, 96, 96, 8, 73728, 192),
    "Qwen2.5 32B": llama(5120, 64, 40, 8, 27648, 152064), "Qwen2.5 32B 2-node": llama(5120, 64, 40, 8, 27648, 152064),
    "Moonlight-16B": dict(model_type="deepseek_v3", hidden_size=2048, num_hidden_layers=27, num_attention_heads=16, num_key_value_heads=16, intermediate_size=11264,
                          moe_intermediate_size=1408, n_routed_experts=64, num_experts_per_tok=6, n_shared_experts=2, first_k_dense_replace=1,
                          kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128, vocab_size=163840),
}
MODELS = [  # the first pattern that a row's name has
    (r"405b", "meta-llama/Llama-3.1-405B"), (r"qwen3.?(moe )?.?30b", "Qwen/Qwen3-30B-A3B"), (r"qwen3.?235b", "Qwen/Qwen3-235B-A22B"),
    (r"qwen3.next", "Qwen/Qwen3-Next-80B-A3B-Instruct"), (r"deepseek.?(v3|r1)", "deepseek-ai/DeepSeek-V3"), (r"gpt.oss.120b", "openai/gpt-oss-120b"),
    (r"kimi.k2", "moonshotai/Kimi-K2-Instruct"), (r"llama.?3(\.1)?[ _-]8b|llama3 8b", "meta-llama/Llama-3.1-8B"),
    (r"llama.?3\.1[ _-]70b", "meta-llama/Llama-3.1-70B"), (r"llama.?3[ _-]70b", "meta-llama/Meta-Llama-3-70B"),
    (r"llama.?2[ _-]7b", "meta-llama/Llama-2-7b-hf"), (r"llama.?2[ _-]13b", "meta-llama/Llama-2-13b-hf"),
    (r"llama.?2[ _-]70b", "meta-llama/Llama-2-70b-hf"), (r"grok", "hpcai-tech/grok-1"), (r"maverick", "meta-llama/Llama-4-Maverick-17B-128E-Instruct"),
    (r"qwen2.5.7b", "Qwen/Qwen2.5-7B"), (r"qwen3.32b", "Qwen/Qwen3-32B"), (r"mixtral 8x22b", "mistralai/Mixtral-8x22B-v0.1"), (r"glm-5", "zai-org/GLM-5"),
]
MACHINES = {  # the GPU, GPUs a node, and the network of one GPU in GB/s
    "DGX-H100": ("h100-80gb", 8, 50), "DGX-GB200": ("gb200", 4, 50), "DGX-GB300": ("gb300", 4, 100), "DGX-B200": ("b200-180gb", 8, 50),
    "DGX-B300": ("b300-288gb", 8, 100), "GB200": ("gb200", 4, 50), "GB300": ("gb300", 4, 100), "a100_40gb": ("a100-40gb", 8, 25),
    "a100_80gb": ("a100-80gb", 8, 25), "h100_80gb": ("h100-80gb", 8, 50), "A100-80GB SXM4, 4x100Gb RoCE/node": ("a100-80gb", 8, 6.25),
    "A100-80GB Selene, 8/node": ("a100-80gb", 8, 25), "A100-80GB 400Gbps": ("a100-80gb", 8, 6.25), "H100-80GB 800Gbps": ("h100-80gb", 8, 12.5),
}
SERVERS = {"b200_sxm": "b200-180gb", "h100_sxm": "h100-80gb", "h200_sxm": "h200-141gb", "gb200": "gb200", "gb300": "gb300", "b300_sxm": "b300-288gb"}
PRECISIONS = {"bf16": "bf16", "amp_bf16": "bf16", "fp16": "fp16", "fp8": "fp8", "amp_fp8": "fp8", "fp8-cs": "fp8", "mxfp8": "mxfp8", "fp8-mx": "mxfp8",
              "nvfp4": "nvfp4"}
KEPT = {  # maxtext/configure.sh: POLICY; paxml/paxml_mod_configs.py: SAVE_DOT_ONLY and SAVE_QKV_OUT_PROJ
    "maxtext/README_70b.md": ["qkv"], "paxml/README_5b.md": ["qkv", "out", "mlp"], "paxml/README_175b.md": ["qkv", "out"],
}
# Rows by which the shares of kernels.cpp (what a card keeps up for as long as a step) were set; they are not judged.
CALIBRATION = [("llama.?3(\\.1)?[ _-]8b", "B200|GB200|GB300|H100"), ("gpt3-175B", "A100"), ("Llama-3.1-405B", "GB200")]
SERVE_CALIBRATION = ("Llama-3.1-8B", "Qwen3-32B")  # and those by which the waits of serve_time.cpp were


def model_of(name):
    if name in CONFIGS:
        return {"config": CONFIGS[name]}
    for pattern, model in MODELS:
        if re.search(pattern, name, re.I):
            return {"model": model}
    return None


def recompute(q, words, row):
    if words.startswith("full"):
        q["recompute"] = "full"
        if " x" in words:
            q["recompute_layers"] = int(words.split("x")[1])
    elif words.startswith("selective"):
        q["recompute_modules"] = ["core_attn"]
    elif words not in ("", "none", "recipe default"):
        names = {"core_attn": "core_attn", "mlp": r"\bmlp\b", "layernorm": "norm", "mla_up_proj": "mla_up", "moe": r"\bmoe\b", "moe_act": r"\bact\b|moe_act"}
        q["recompute_modules"] = [name for name, pattern in names.items() if re.search(pattern, words)]


def megatron(q, row):
    notes, settings = row.get("notes") or "", row.get("recipe_settings") or {}
    q.update(zero=1, gradient_bytes=2, optimizer_bytes=30, sp=row["tp"] > 1, tp_comm_overlap=row["tp"] > 1 and row["ep"] == 1, host_seconds_per_op=8e-6)
    q["deepep"] = bool(settings.get("moe_flex_dispatcher_backend") or re.search("DeepEP|HybridEP", notes))
    q["overlap_experts"] = bool(settings.get("moe_a2a_overlap") or re.search("1f1b overlap|overlap on", notes))
    q["cuda_graphs"] = settings.get("cuda_graph_impl") not in (None, "none", "")
    q["etp"] = row.get("etp") or (row["tp"] if "dgxc" in row["source"] and row["ep"] > 1 and "v25.05" not in row["source"] else 1)
    if row["framework"] == "Megatron-LM":  # of 2022: no distributed optimizer, no overlap, no flash attention
        q.update(zero=0, overlap_grad_reduce=False, overlap_param_gather=False, flash_attention=False, tp_comm_overlap=False,
                 sp="sequence" in (row.get("recompute") or ""))
    if (row.get("fsdp") or 0) > 1:
        q["zero"] = 3


def composer(q, row):
    """MPT's norms are single kernels (norm_type: low_precision_layernorm), its positions are learned, its loss is flash-attn's, and
    submit_benchmarks.py of the tables' commits (b2a43a1, 5e85bd6) asks for `--attn_impl triton`, the first FlashAttention's Triton form.
    DecoupledAdamW (composer/optim/decoupled_weight_decay.py) steps tensor by tensor: moments 40 bytes, root and quotient 24, decay 8 and
    update 16 a parameter, and clipping by the norm 12. The tables of amp_bf16 and amp_fp8 ran in torch 2.1 (sweep.sh), whose checkpoints
    stop early; those of bf16 in 1.13, whose do not."""
    q.update(flash_attention_1=True, optimizer_bytes=100, recompute_stops_early=row["precision"] != "bf16")


def sharded(q, row):
    notes, framework = row.get("notes") or "", row["framework"]
    is_jax = framework.startswith(("MaxText", "Paxml"))
    q.update(zero=3 if row.get("zero") is None else row["zero"], gradient_bytes=4 if "FSDP2" in framework else 2, optimizer_bytes=28,
             fused=True, flash_attention_2=not is_jax and "TE" not in notes, deepep="DeepEP" in notes)
    if "HSDP" in notes and row.get("fsdp"):
        q["shard_ranks"] = row["fsdp"]
    if is_jax:  # one compiled program, which recomputes layers unless told otherwise (MaxText's remat_policy: full) and drops what nothing reads
        q.update(cuda_graphs=True, recompute="full", recompute_stops_early=True, recompute_keeps=KEPT[row["source"].rsplit(":", 1)[1]])
    if "Composer" in framework:
        composer(q, row)


def training_question(row):
    """The question and None, or None and why there is none."""
    model = model_of(row["model"])
    if model is None:
        return None, "the model is not known"
    if row["hardware"] not in MACHINES:
        return None, "the machine's links or kernels are not known"
    if not row.get("layout_complete") or row.get("source_inconsistent") or not (row.get("gbs") and row.get("seq") and row.get("mbs")):
        return None, "the source lacks sizes"
    if not (row.get("tokens_per_s_per_gpu") or row.get("step_s")):
        return None, "no time was measured"
    if row["ep"] == 1 and re.search("DeepEP", row.get("notes") or ""):
        return None, "the source's sizes contradict its notes"
    gpu, per_node, network = MACHINES[row["hardware"]]
    q = dict(model, gpu=gpu, gpus_per_node=per_node, network_gb_s=network, gpus=row["gpus"], tp=row["tp"], pp=row["pp"], vpp=row.get("vp") or 1,
             cp=row["cp"], ep=row["ep"], micro_batch_size=row["mbs"], global_batch_size=row["gbs"], sequence_length=row["seq"],
             precision=PRECISIONS[row["precision"].lower()])
    if row.get("num_layers") and "model" in q:
        q["num_layers"] = row["num_layers"]
    framework = row["framework"]
    recompute(q, row.get("recompute") or "", row)
    if re.search("Megatron|NeMo/|NeMo 1.x", framework):
        megatron(q, row)
    elif "FSDP" in framework or framework.startswith(("MaxText", "Paxml")):
        sharded(q, row)
    elif framework.startswith("InternEvo"):
        q.update(zero=1, gradient_bytes=2, optimizer_bytes=30, overlap_param_gather=False)
    else:
        return None, "the framework is not modelled"
    if row["task"] == "lora":  # NeMo's adapters lie on the projection of queries, keys and values
        q.update(lora_rank=16, adapted=0.25)
    if q["gpus"] % (q["tp"] * q["pp"] * q["cp"]) or q["gpus"] % (q["ep"] * q.get("etp", 1) * q["pp"]):
        return None, "the source's sizes do not multiply to its GPUs"
    return q, None


def serving_question(row):
    model = model_of(row["model_path"])
    if model is None or row["system"] not in SERVERS:
        return None, "the model or the machine is not known"
    if row["mode"] != "agg":
        return None, "prompts and tokens on different servers"
    if row["tp_size"] > 8:
        return None, "attention's ranks are not said"
    types = {"fp8": "fp8", "nvfp4": "nvfp4", "fp8_block": "mxfp8", None: "bf16"}
    weights, experts, only = types[row.get("gemm_quant_mode")], types[row.get("moe_quant_mode")], False
    if "gpt-oss" in row["model_path"]:
        weights, experts, only = "bf16", "bf16", True
    elif row.get("gemm_quant_mode") is None and row.get("precision") == "fp8":
        weights = experts = "mxfp8" if re.search("DeepSeek|235", row["model_path"]) else "fp8"
    elif row.get("gemm_quant_mode") is None and row.get("precision") == "fp4":
        weights = experts = "nvfp4"
    dp = row.get("attention_dp_size") or 1
    return dict(model, question="serve", gpu=SERVERS[row["system"]], engine=row["backend"], tp=row["tp_size"], pp=row["pp_size"] or 1, dp=dp,
                ep=row.get("moe_ep_size") or 1, weights=weights, experts=experts, expert_weights_only=only, kv_bytes=1 if weights in ("fp8", "nvfp4") else 2,
                input_tokens=row["isl"], output_tokens=row["osl"], concurrency=row["batch_size"] * dp), None


def ask(program, questions):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write("".join(json.dumps(q) + "\n" for q in questions))
        file.flush()
        run = subprocess.run([program, "time", file.name, "--json"], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"time_rows.py: {run.stderr.strip()}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def seconds(row):
    return row.get("step_s") or row["gbs"] * row["seq"] / (row["tokens_per_s_per_gpu"] * row["gpus"])


def percent(x):
    return f"{100 * x:.1f} %"


def summary(name, errors):
    sizes = sorted(map(abs, errors))
    return (f"| {name} | {len(sizes)} | {percent(statistics.median(sizes))} | {percent(statistics.median(errors)).replace('-', '−')} | "
            f"{percent(sum(e <= 0.25 for e in sizes) / len(sizes))} | {percent(sizes[-1])} |\n")


HEAD = "| {} | rows | median error | median, signed | within 25 % | largest |\n|---|---|---|---|---|---|\n"


def is_calibration(row):
    return any(re.search(m, row["model"], re.I) and re.search(h, row["hardware"]) for m, h in CALIBRATION)


def source_name(row):
    return re.sub(r"@[^:]*", "", row["source"].split(" (")[0])


def order_of_sweeps(rows, answers):
    """Sweeps of one model, machine, precision and batch by layout: rank correlation, and how often the fastest is among our first three."""
    sweeps = collections.defaultdict(dict)
    for row, answer in zip(rows, answers):
        tokens = row["gbs"] * row["seq"]
        key = (row["source"], row["model"], row["hardware"], row["precision"], row["seq"], row["framework"], row["gpus"], row.get("container"),
               row.get("num_layers"), row["task"])
        layout = tuple(row.get(k) for k in ("tp", "pp", "cp", "ep", "vp", "mbs", "recompute", "zero", "gbs", "fsdp"))
        sweeps[key][layout] = (seconds(row) / tokens, answer["step_seconds"]["mid"] / tokens)
    found, correlations = 0, []
    sweeps = [list(s.values()) for s in sweeps.values() if len(s) >= 4]
    for sweep in sweeps:
        ours = sorted(range(len(sweep)), key=lambda i: sweep[i][1])
        best = min(range(len(sweep)), key=lambda i: sweep[i][0])
        found += best in ours[:3]
        rank = lambda column: {i: r for r, i in enumerate(sorted(range(len(sweep)), key=lambda i: sweep[i][column]))}
        a, b, n = rank(0), rank(1), len(sweep)
        correlations.append(1 - 6 * sum((a[i] - b[i]) ** 2 for i in range(n)) / (n * (n * n - 1)))
    return len(sweeps), found, statistics.median(correlations) if correlations else 0


def asked(program, file, question_of):
    """The rows of a file that say enough to be asked, their answers, and a line that counts the others by reason."""
    rows, questions, why = [], [], collections.Counter()
    for row in truth_rows.read_rows(truth_rows.TRUTH / file):
        question, reason = question_of(row)
        if question is None:
            why[reason] += 1
            continue
        rows.append(row)
        questions.append(question)
    line = "\nNot asked: " + ", ".join(f"{n} rows ({reason})" for reason, n in sorted(why.items())) + ".\n"
    return rows, ask(program, questions), line


def training_tables(program):
    rows, answers, not_asked = asked(program, "training_throughput.jsonl.gz", training_question)
    errors = [answer["step_seconds"]["mid"] / seconds(row) - 1 for row, answer in zip(rows, answers)]
    inside = [answer["step_seconds"]["low"] <= seconds(row) <= answer["step_seconds"]["high"] for row, answer in zip(rows, answers)]
    judged = [not is_calibration(row) for row in rows]
    text = HEAD.format("training steps")
    text += summary("all that are judged", [e for e, j in zip(errors, judged) if j])
    text += summary("those that constants come from", [e for e, j in zip(errors, judged) if not j])
    for title, key in (("source", source_name), ("machine", lambda r: r["hardware"].split(",")[0]), ("precision", lambda r: PRECISIONS[r["precision"].lower()]),
                       ("framework", lambda r: r["framework"].split(" v")[0])):
        by = collections.defaultdict(list)
        for row, error, j in zip(rows, errors, judged):
            if j:
                by[key(row)].append(error)
        text += f"\n{HEAD.format('by ' + title)}" + "".join(summary(name, by[name]) for name in sorted(by))
    count, found, correlation = order_of_sweeps(rows, answers)
    text += (f"\n{percent(sum(inside) / len(inside))} of the measured steps lie in the range that is answered. Of {count} sweeps of four or more layouts "
             f"the measured best is among the first three in {found}, and the median rank correlation is {correlation:.2f}.\n")
    text += not_asked
    worst = sorted(zip(errors, rows), key=lambda x: -abs(x[0]))[:10]
    text += "\n| furthest off | error | measured |\n|---|---|---|\n"
    for error, r in worst:
        text += f"| {r['model']}, {r['hardware']}, {r['gpus']} GPUs, {r['precision']}, {source_name(r).split(':')[0]} | {percent(error).replace('-', '−')} | {seconds(r):.3g} s |\n"
    return text


def serving_tables(program):
    rows, answers, not_asked = asked(program, "serving_throughput.jsonl.gz", serving_question)
    text = ""
    for key, measured, what in (("ttft_seconds", "silicon_ttft_ms", "time to first token"), ("tpot_seconds", "silicon_tpot_ms", "time of each further token")):
        errors = [a[key]["mid"] * 1e3 / r[measured] - 1 for r, a in zip(rows, answers)]
        held = [not any(name in r["model_path"] for name in SERVE_CALIBRATION) for r in rows]
        text += f"\n{HEAD.format(what)}" + summary("all that are judged", [e for e, h in zip(errors, held) if h])
        text += summary("those that constants come from", [e for e, h in zip(errors, held) if not h])
        by = collections.defaultdict(list)
        for row, error in zip(rows, errors):
            by[f"{row['model_path'].split('/')[-1]}, {row['backend']}"].append(error)
        text += "".join(summary(name, by[name]) for name in sorted(by) if len(by[name]) >= 5)
    return text + not_asked


def main():
    program, mode = sys.argv[1], (sys.argv[2:] or [""])[0]
    tables = BEGIN + training_tables(program) + serving_tables(program) + END
    if mode not in ("--update", "--check"):
        print(tables)
        return
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    renewed = before + tables + rest.split(END)[1]
    if mode == "--update":
        PAGE.write_text(renewed, encoding="utf-8")
    elif renewed != page:
        sys.exit("docs/time.md: the tables are not what memtape answers: scripts/time_rows.py MEMTAPE --update, and read the difference")


main()
