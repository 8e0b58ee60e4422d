# SPDX-License-Identifier: Apache-2.0
# One training step of a transformers model with plain PyTorch, the third of a fresh process, and everything its allocator did.
# SETTINGS (options of `memtape train` under their names in its JSON), CONFIG (config.json) and FOLDER stand above.
#
# Leaves in FOLDER: result.json (bytes), step.tape (the third step's allocations and frees with their places), trace.jsonl.gz
# (all events from an empty allocator).
import contextlib
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
AUTOCAST = {"amp-bf16": torch.bfloat16, "amp-fp16": torch.float16}.get(SETTINGS["precision"])
HEADS = {"causal-lm": modeling_auto.AutoModelForCausalLM, "masked-lm": modeling_auto.AutoModelForMaskedLM,
         "seq2seq-lm": modeling_auto.AutoModelForSeq2SeqLM}


def build_model():
    config = dict(CONFIG)
    config.pop("quantization_config", None)
    config = AutoConfig.for_model(config.pop("model_type"), **config)
    config.use_cache = False
    if SETTINGS["task"] == "seq2seq-lm" and getattr(config, "decoder_start_token_id", None) is None:
        config.decoder_start_token_id = 0
    with torch.device("cuda"):
        return HEADS[SETTINGS["task"]].from_config(config, dtype=DTYPES[SETTINGS["weights"]],
                                                   attn_implementation=SETTINGS["attention"])


def prepare_model():
    model = build_model()
    model.train()
    if SETTINGS.get("lora_rank"):
        from peft import LoraConfig, get_peft_model
        targets = SETTINGS["lora_targets"]
        targets = targets if targets == "all-linear" or isinstance(targets, list) else targets.split(",")
        rank = SETTINGS["lora_rank"]
        model = get_peft_model(model, LoraConfig(r=rank, lora_alpha=2 * rank, lora_dropout=SETTINGS["lora_dropout"],
                                                 target_modules=targets, task_type="CAUSAL_LM"))
    frozen = SETTINGS.get("freeze") or []
    for pattern in [frozen] if isinstance(frozen, str) else frozen:
        for name, parameter in model.named_parameters():
            if fnmatch.fnmatch(name, pattern):
                parameter.requires_grad_(False)
    if SETTINGS["gradient_checkpointing"] == "full":
        model.gradient_checkpointing_enable()
        if SETTINGS.get("lora_rank"):
            model.enable_input_require_grads()
    return model


def build_optimizer(model):
    parameters = [p for p in model.parameters() if p.requires_grad]
    name, implementation = SETTINGS["optimizer"], SETTINGS["optimizer_impl"]
    how = {"fused": True} if implementation == "fused" else {"foreach": implementation == "foreach"}
    if name == "adafactor-hf":
        return transformers.Adafactor(parameters, lr=1e-4, relative_step=False, scale_parameter=False)
    if name == "sgd-momentum":
        return torch.optim.SGD(parameters, lr=1e-4, momentum=0.9, **how)
    classes = {"adamw": "AdamW", "adam": "Adam", "sgd": "SGD", "adagrad": "Adagrad", "rmsprop": "RMSprop",
               "adafactor": "Adafactor", "adamax": "Adamax", "nadam": "NAdam"}
    return getattr(torch.optim, classes[name])(parameters, lr=1e-4, **how)


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


def batch():
    ids = torch.zeros(SETTINGS["micro_batch_size"], SETTINGS["sequence_length"], dtype=torch.long, device="cuda")
    return {"input_ids": ids, "labels": ids.clone()}


def train(model, optimizer, watch):
    accumulation, clip = SETTINGS["gradient_accumulation"], SETTINGS.get("max_grad_norm")
    scaler = torch.amp.GradScaler("cuda") if SETTINGS["precision"] == "amp-fp16" else None
    gradients = {}
    for _ in range(STEPS):
        watch.begin_step()
        for _ in range(accumulation):
            data = batch()
            with torch.autocast("cuda", dtype=AUTOCAST) if AUTOCAST else contextlib.nullcontext():
                loss = model(**data).loss
            watch.close("forward")
            if accumulation > 1:
                loss = loss / accumulation
            (scaler.scale(loss) if scaler else loss).backward()
            del loss
            watch.close("backward")
        gradients = {p.grad.untyped_storage().data_ptr(): p.grad.numel() * p.grad.element_size()
                     for p in model.parameters() if p.grad is not None}
        if scaler:
            scaler.unscale_(optimizer)
        if clip:
            torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], clip, foreach=True)
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        watch.close("optimizer")
        del data
        watch.end_step()
    return sum(gradients.values())


def size(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def static_bytes(model, optimizer):
    parameters = list({p.untyped_storage().data_ptr(): p for p in model.parameters()}.values())
    states = [t for state in optimizer.state.values() for t in state.values() if isinstance(t, torch.Tensor) and t.is_cuda]
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
                                                          "train_step.py")):
            place = "%s:%s:%d" % (os.path.basename(file), name, frame["line"])
    if node != "-" and place.startswith("train_step.py"):
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


def main():
    transformers.logging.set_verbosity_error()
    torch.backends.cuda.enable_cudnn_sdp(False)  # cuDNN does not run on a phantom GPU
    torch.cuda.init()
    torch.cuda.memory._record_memory_history(context="alloc", stacks="all", max_entries=10**7)
    watch = Watch()
    model = prepare_model()
    optimizer = build_optimizer(model)
    gradient_bytes = train(model, optimizer, watch)
    events = torch.cuda.memory._snapshot()["device_traces"][0][: watch.last_event]
    expect = dict(static_bytes(model, optimizer), gradient_bytes=gradient_bytes)
    expect.update({"steady_%s_bytes" % m: watch.steady[m] for m in ("allocated", "requested", "reserved")})
    expect.update(named(watch.steps[-1]))
    expect["peak_phase"] = max(watch.phases, key=lambda p: watch.phases[p]["allocated"])
    expect["phases"] = {phase: named(peaks) for phase, peaks in watch.phases.items()}
    expect["first_steps"] = [named(step) for step in watch.steps[:-1]]
    major, minor = torch.cuda.get_device_capability()
    stack = "torch %s, transformers %s, sm%d%d" % (torch.__version__.split("+")[0], transformers.__version__, major, minor)
    write_tape(events, watch.first_event)
    write_trace(events, watch.first_event)
    with open(os.path.join(FOLDER, "result.json"), "w") as file:
        json.dump({"stack": stack, "expect": expect}, file)


main()
