# SPDX-License-Identifier: Apache-2.0
# One training step of a transformers model with plain PyTorch, the third of a fresh process.
import contextlib

AUTOCAST = {"amp-bf16": torch.bfloat16, "amp-fp16": torch.float16}.get(SETTINGS["precision"])


def prepare_model():
    model = build_model()
    model.train()
    model = adapted(model)
    freeze(model)
    if SETTINGS["gradient_checkpointing"] == "full":
        model.gradient_checkpointing_enable()
        if SETTINGS.get("lora_rank"):
            model.enable_input_require_grads()
    return moved(model)


def moved(model):
    """The model on the GPU, from where it was made."""
    if SETTINGS.get("init_device") != "meta":
        return model.to("cuda")
    model.to_empty(device="cuda")
    model.tie_weights()  # to_empty makes a shared parameter once for each name
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


def batch():
    sizes = sample_sizes()
    inputs = {name: torch.zeros(SETTINGS["micro_batch_size"], *size, dtype=torch.long, device="cuda")
              for name, size in sizes.items() if size != sizes["input_ids"] or name == "input_ids"}
    return {name: inputs[name] if name in inputs else inputs["input_ids"].clone() for name in sizes}


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


def main():
    begin()
    watch = Watch()
    model = prepare_model()
    optimizer = build_optimizer(model)
    compiled = torch.compile(model) if SETTINGS.get("compile") else model
    gradient_bytes = train(compiled, optimizer, watch)
    finish(watch, dict(static_bytes(model, optimizer), gradient_bytes=gradient_bytes, **of_training(watch)))


main()
