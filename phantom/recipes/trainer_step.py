# SPDX-License-Identifier: Apache-2.0
# One step of transformers' Trainer, the third of a fresh process. SETTINGS["training_arguments"] holds TrainingArguments as a command
# line, SETTINGS["peft"] a LoraConfig.
from transformers import HfArgumentParser, Trainer, TrainerCallback, TrainingArguments

TASK_TYPES = {"causal-lm": "CAUSAL_LM", "seq2seq-lm": "SEQ_2_SEQ_LM"}  # of peft, which knows none for masked-lm


def prepare_model():
    model = build_model()
    if SETTINGS.get("peft"):
        from peft import LoraConfig, get_peft_model
        config = {"task_type": TASK_TYPES.get(SETTINGS["task"]), **SETTINGS["peft"]}
        model = get_peft_model(model, LoraConfig(**config))
    else:
        model = adapted(model)
    freeze(model)
    return model


def training_arguments():
    own = ["--output_dir", os.path.join(FOLDER, "output"), "--max_steps", str(STEPS), "--save_strategy", "no", "--report_to", "none",
           "--disable_tqdm", "true", "--per_device_train_batch_size", str(SETTINGS["micro_batch_size"]),
           "--gradient_accumulation_steps", str(SETTINGS["gradient_accumulation"])]
    return HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(own + SETTINGS["training_arguments"])[0]


class RecordedTrainer(Trainer):
    """Phases end where the next begins: prepare | forward | backward (| prepare ...) | clip | optimizer | zero_grad."""

    def record(self, watch):
        self.watch, self.gradients = watch, 0

    def get_batch_samples(self, *args, **kwargs):
        self.watch.begin_step()
        self.watch_optimizer()
        return super().get_batch_samples(*args, **kwargs)

    def compute_loss(self, *args, **kwargs):
        self.watch.close("prepare")
        return super().compute_loss(*args, **kwargs)

    def training_step(self, *args, **kwargs):
        backward = self.accelerator.backward

        def recorded(*a, **k):
            self.watch.close("forward")
            backward(*a, **k)
            self.watch.close("backward")
        self.accelerator.backward = recorded
        try:
            return super().training_step(*args, **kwargs)
        finally:
            self.accelerator.backward = backward

    def watch_optimizer(self):
        if hasattr(self.optimizer, "recorded_step"):
            return
        step = self.optimizer.recorded_step = self.optimizer.step

        def recorded(*args, **kwargs):
            self.watch.close("clip")
            self.gradients = size(p.grad for p in self.model.parameters() if p.grad is not None)
            step(*args, **kwargs)
            self.watch.close("optimizer")
        self.optimizer.step = recorded


class EndOfStep(TrainerCallback):
    def __init__(self, watch):
        self.watch = watch

    def on_step_end(self, *_, **__):
        self.watch.close("zero_grad")
        self.watch.end_step()


def main():
    begin()
    watch = Watch()
    model = prepare_model()
    arguments = training_arguments()
    rows = Rows(STEPS * arguments.per_device_train_batch_size * arguments.gradient_accumulation_steps)
    trainer = RecordedTrainer(model=model, args=arguments, train_dataset=rows, callbacks=[EndOfStep(watch)])
    trainer.record(watch)
    trainer.train()
    finish(watch, dict(static_bytes(model, trainer.optimizer), gradient_bytes=trainer.gradients, **of_training(watch)))


main()
