# SPDX-License-Identifier: Apache-2.0
# What every recipe shares: the model on the phantom GPU, levels and peaks of the real allocator, and the tape of the measured
# step. A recipe follows. SETTINGS (options of `memtape` under their names in its JSON), CONFIG (config.json) and FOLDER stand above.
#
# Leaves in FOLDER: result.json (bytes), step.tape (the measured step's allocations and frees with their places), trace.jsonl.gz
# (all events from an empty allocator).
import fnmatch
import gc
import gzip
import os
import re

import torch
import transformers
from transformers import AutoConfig
from transformers.models.auto import modeling_auto

STEPS = 3
MEASURES = ("allocated", "requested", "reserved")
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
HEADS = {"causal-lm": modeling_auto.AutoModelForCausalLM, "masked-lm": modeling_auto.AutoModelForMaskedLM,
         "seq2seq-lm": modeling_auto.AutoModelForSeq2SeqLM,
         "image-text-to-text": getattr(modeling_auto, "AutoModelForImageTextToText", None),  # since 4.46
         "sequence-classification": modeling_auto.AutoModelForSequenceClassification,
         "token-classification": modeling_auto.AutoModelForTokenClassification,
         "question-answering": modeling_auto.AutoModelForQuestionAnswering,
         "multiple-choice": modeling_auto.AutoModelForMultipleChoice}
CHOICES = 4  # of multiple-choice
# What from_config takes the dtype as: the new name came with 4.56, the old one went with 5.0.
DTYPE_NAME = "dtype" if int(transformers.__version__.split(".")[0]) >= 5 else "torch_dtype"


def model_config():
    config = dict(CONFIG)
    config.pop("quantization_config", None)
    for part in [config, *filter(lambda value: isinstance(value, dict), config.values())]:
        part.pop("torch_dtype", None)  # else parts of a model are made in a type of their own
        part.pop("dtype", None)
    return AutoConfig.for_model(config.pop("model_type"), **config)


def build_model():
    config = model_config()
    config.use_cache = False
    if SETTINGS.get("num_labels"):
        config.num_labels = SETTINGS["num_labels"]
    if SETTINGS["task"] == "seq2seq-lm" and getattr(config, "decoder_start_token_id", None) is None:
        config.decoder_start_token_id = 0
    head = HEADS[SETTINGS["task"]] or modeling_auto.AutoModelForVision2Seq
    with torch.device(SETTINGS.get("init_device", "cuda")):
        return head.from_config(config, attn_implementation=SETTINGS["attention"],
                                **{DTYPE_NAME: DTYPES[SETTINGS["weights"]]})


def sample_sizes():
    """What the model takes of each sample, by its name there."""
    text = [SETTINGS["sequence_length"]]
    targets = {"seq2seq-lm": [SETTINGS.get("target_length") or text[0]], "sequence-classification": [], "multiple-choice": []}
    if SETTINGS["task"] == "question-answering":
        return {"input_ids": text, "start_positions": [], "end_positions": []}
    choices = [CHOICES] if SETTINGS["task"] == "multiple-choice" else []
    return {"input_ids": choices + text, "labels": targets.get(SETTINGS["task"], text)}


class Rows(torch.utils.data.Dataset):
    """Samples as a tokenizer leaves them."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        sizes = sample_sizes()
        row = {name: torch.zeros(size, dtype=torch.long).tolist() for name, size in sizes.items()}
        mask = {"attention_mask": torch.ones(sizes["input_ids"], dtype=torch.long).tolist()}
        if sizes.get("labels") == []:  # the collator puts a label before the texts
            mask["label"] = row.pop("labels")
        return {"input_ids": row.pop("input_ids"), **mask, **row}


def adapted(model):
    if not SETTINGS.get("lora_rank"):
        return model
    from peft import LoraConfig, get_peft_model
    if SETTINGS.get("peft"):
        return get_peft_model(model, LoraConfig(**{"task_type": "CAUSAL_LM", **SETTINGS["peft"]}))
    targets = SETTINGS["lora_targets"]
    targets = targets if targets == "all-linear" or isinstance(targets, list) else targets.split(",")
    rank = SETTINGS["lora_rank"]
    return get_peft_model(model, LoraConfig(r=rank, lora_alpha=2 * rank, lora_dropout=SETTINGS["lora_dropout"],
                                            target_modules=targets, task_type="CAUSAL_LM"))


def freeze(model):
    frozen = SETTINGS.get("freeze") or []
    for pattern in [frozen] if isinstance(frozen, str) else frozen:
        for name, parameter in model.named_parameters():
            if fnmatch.fnmatch(name, pattern):
                parameter.requires_grad_(False)


def levels(which):
    stats = torch.cuda.memory_stats()
    return {m: stats["%s_bytes.all.%s" % (m, which)] for m in MEASURES}


def events_so_far():
    return len(torch.cuda.memory._snapshot()["device_traces"][0])


class Watch:
    """Peaks per phase and step; a phase's peak starts at the level of the moment it begins."""

    def __init__(self):
        self.steps, self.phases, self.steady, self.first_event, self.last_event = [], {}, None, 0, 0

    def begin_step(self):
        gc.collect()
        self.phases, self.steady = {}, levels("current")
        self.first_event = events_so_far()
        torch.cuda.reset_peak_memory_stats()

    def close(self, phase):
        peaks = levels("peak")
        seen = self.phases.get(phase, {})
        self.phases[phase] = {m: max(v, seen.get(m, 0)) for m, v in peaks.items()}
        torch.cuda.reset_peak_memory_stats()

    def end_step(self):
        self.steps.append({m: max(p[m] for p in self.phases.values()) for m in MEASURES})
        self.last_event = events_so_far()


def size(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def static_bytes(model, optimizer):
    parameters = list({p.untyped_storage().data_ptr(): p for p in model.parameters()}.values())
    states = [t for state in optimizer.state.values() for t in state.values() if isinstance(t, torch.Tensor) and t.is_cuda]
    states = {t.data_ptr(): t for t in states}.values()  # bitsandbytes shares its quantization maps
    return {"parameters": sum(p.numel() for p in parameters),
            "trainable_parameters": sum(p.numel() for p in parameters if p.requires_grad),
            "parameter_bytes": size(parameters), "buffer_bytes": size(b for b in model.buffers() if b.is_cuda),
            "optimizer_state_bytes": size(states)}


def place_of(event):
    """Python place, aten op and autograd node of an allocation, '-' where there is none."""
    place = op = node = "-"
    for frame in event.get("frames", []):
        file, name = frame["filename"], frame["name"]
        found = re.match(r"at::_ops::(\w+)::", name)
        op = found[1] if op == "-" and found else op
        found = re.search(r"(\w*Backward\d*|AccumulateGrad|InputBuffer)::", name)
        node = found[1] if node == "-" and found else node
        if place == "-" and any(part in file for part in ("transformers/", "/peft/", "/optim/", "checkpoint.py", "/nn/utils/",
                                                          "step.py")):
            place = "%s:%s:%d" % (os.path.basename(file), name, frame["line"])
    if node != "-" and place.startswith("step.py"):
        place = "-"
    return "%s %s %s" % (place, op, node)


def write_tape(events, first):
    alive, made = {}, 0
    with open(os.path.join(FOLDER, "step.tape"), "w") as file:
        for i, event in enumerate(events):
            if event["action"] == "alloc":
                alive[event["addr"]] = made
                if i >= first:
                    file.write("+ %d %d %s\n" % (made, event["size"], place_of(event)))
                made += 1
            elif event["action"] == "free_completed":
                number = alive.pop(event["addr"], -1)
                if i >= first:
                    file.write("- %d\n" % number)


def write_trace(events, first):
    kept = [(i, e) for i, e in enumerate(events) if e["action"] not in ("snapshot", "free_requested")]
    base = min(e["addr"] for _, e in kept)
    header = {"format": 1, "name": SETTINGS.get("name", "step"), "torch": torch.__version__, "settings": {}, "device": 0, "base": 0,
              "streams": [0], "events": len(kept), "starts_empty": True,
              "last_step_at_event": sum(i < first for i, _ in kept)}
    with gzip.open(os.path.join(FOLDER, "trace.jsonl.gz"), "wt") as file:
        file.write(json.dumps(header) + "\n")
        for _, e in kept:
            row = [e["action"], e["addr"] - base, e["size"], 1 if e["stream"] else 0]
            file.write(json.dumps(row, separators=(",", ":")) + "\n")


def named(peaks):
    return {"peak_%s_bytes" % m: peaks[m] for m in MEASURES}


def begin():
    transformers.logging.set_verbosity_error()
    if hasattr(torch.backends.cuda, "enable_cudnn_sdp"):  # since torch 2.5
        torch.backends.cuda.enable_cudnn_sdp(False)  # cuDNN does not run on a phantom GPU
    torch.cuda.init()
    torch.cuda.memory._record_memory_history(context="alloc", stacks="all", max_entries=10**7)


def stack():
    major, minor = torch.cuda.get_device_capability()
    return "torch %s, transformers %s, sm%d%d" % (torch.__version__.split("+")[0], transformers.__version__, major, minor)


def of_training(watch):
    """What a training step's watch has seen, under the names of `memtape train`'s JSON."""
    figures = {"steady_%s_bytes" % m: watch.steady[m] for m in MEASURES}
    figures.update(named(watch.steps[-1]))
    figures["peak_phase"] = max(watch.phases, key=lambda p: watch.phases[p]["allocated"])
    figures["phases"] = {phase: named(peaks) for phase, peaks in watch.phases.items()}
    figures["first_steps"] = [named(step) for step in watch.steps[:-1]]
    return figures


def finish(watch, expect):
    events = torch.cuda.memory._snapshot()["device_traces"][0][: watch.last_event]
    write_tape(events, watch.first_event)
    write_trace(events, watch.first_event)
    with open(os.path.join(FOLDER, "result.json"), "w") as file:
        json.dump({"stack": stack(), "expect": expect}, file)
