# SPDX-License-Identifier: Apache-2.0
# One update of transformers' examples without Trainer (run_clm_no_trainer.py and its kin): a loop around accelerate, the third update
# of a fresh process, with the evaluation behind it where SETTINGS["training_arguments"] asks for one.
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import default_data_collator
from transformers.trainer_pt_utils import get_parameter_names

MIXED = {"amp-bf16": "bf16", "amp-fp16": "fp16"}
FORBIDDEN = [r"bias", r"layernorm", r"rmsnorm", r"(?:^|\.)norm(?:$|\.)", r"_norm(?:$|\.)"]
NO_DECAY = ["bias", "LayerNorm.weight"]
EVALUATION_BATCHES = 3


def prepare_model():
    model = build_model()
    model.config.use_cache = getattr(model_config(), "use_cache", None)
    return model


def build_optimizer(model):
    names = dict(model.named_parameters())
    if SETTINGS["task"] in ("causal-lm", "masked-lm"):
        decayed = get_parameter_names(model, [torch.nn.LayerNorm], forbidden_layer_names=FORBIDDEN)
    else:
        parts = NO_DECAY + (["layer_norm.weight"] if SETTINGS["task"] == "seq2seq-lm" else [])
        decayed = [n for n in names if not any(part in n for part in parts)]
    groups = [{"params": [p for n, p in names.items() if n in decayed], "weight_decay": 0.01},
              {"params": [p for n, p in names.items() if n not in decayed], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=5e-5)


def argument(name, otherwise):
    words = SETTINGS["training_arguments"]
    return words[words.index("--" + name) + 1] if "--" + name in words else otherwise


def train(accelerator, model, optimizer, loader, evaluation, watch):
    gradients, done = 0, 0
    watch.begin_step()
    for step, batch in enumerate(loader):
        with accelerator.accumulate(model):
            outputs = model(**batch)
            loss = outputs.loss
            watch.close("forward")
            accelerator.backward(loss)
            watch.close("backward")
            if accelerator.sync_gradients:
                gradients = size(p.grad for p in model.parameters() if p.grad is not None)
            optimizer.step()
            optimizer.zero_grad()
        if not accelerator.sync_gradients:
            continue
        watch.close("optimizer")
        done += 1
        if done < STEPS:
            watch.end_step()
            watch.begin_step()
    if evaluation:
        model.eval()
        losses = []
        for step, batch in enumerate(evaluation):
            with torch.no_grad():
                outputs = model(**batch)
            loss = outputs.loss
            losses.append(accelerator.gather_for_metrics(loss.repeat(batch["input_ids"].shape[0])))
        watch.close("evaluation")
    watch.end_step()
    return gradients


def main():
    begin()
    watch = Watch()
    accumulation, rows = SETTINGS["gradient_accumulation"], SETTINGS["micro_batch_size"]
    accelerator = Accelerator(gradient_accumulation_steps=accumulation, mixed_precision=MIXED.get(SETTINGS["precision"], "no"))
    model = prepare_model()
    freeze(model)
    model.train()
    loader = DataLoader(Rows(STEPS * rows * accumulation), shuffle=True, collate_fn=default_data_collator, batch_size=rows)
    optimizer = build_optimizer(model)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    evaluation = None
    if argument("eval_strategy", "no") != "no":
        rows = int(argument("per_device_eval_batch_size", "8"))
        evaluation = accelerator.prepare(DataLoader(Rows(EVALUATION_BATCHES * rows), collate_fn=default_data_collator, batch_size=rows))
    gradients = train(accelerator, model, optimizer, loader, evaluation, watch)
    finish(watch, dict(static_bytes(model, optimizer), gradient_bytes=gradients, **of_training(watch)))


main()
