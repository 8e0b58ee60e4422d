# SPDX-License-Identifier: Apache-2.0
# model.generate() of transformers, greedy or by beam search, on a freshly loaded model: prefill and a pass per new token.
import functools

import transformers.generation.utils


def prepare_model():
    with torch.device("cuda"):
        model = modeling_auto.AutoModelForCausalLM.from_config(model_config(), dtype=getattr(torch, SETTINGS["dtype"]),
                                                               attn_implementation=SETTINGS["attention"])
    model.eval()
    model.generation_config.eos_token_id = None
    return model


def end_by_length(total, watch):
    """A phantom GPU has no values: whether all prompts are finished is read off the device all the same, and told by the length."""
    def stop(self, unfinished, tokens, length):
        bool(unfinished.max() == 0)
        if length >= total:
            watch.close("between passes")
            watch.end_step()
        return length >= total
    transformers.generation.utils.StopCheck.__call__ = stop


def end_beams_by_length(tokens, watch):
    """The same for beams, which ask after each pass whether any goes on."""
    mixin, passes = transformers.generation.utils.GenerationMixin, []
    ask = mixin._beam_search_has_unfinished_sequences

    def goes_on(*args):
        bool(ask(*args))
        passes.append(1)
        if len(passes) == tokens:
            watch.close("between passes")
            watch.end_step()
        return len(passes) < tokens
    mixin._beam_search_has_unfinished_sequences = staticmethod(goes_on)


def watch_passes(model, watch):
    forward, passes = model.forward, []

    @functools.wraps(forward)
    def recorded(*args, **kwargs):
        watch.close("between passes")
        output = forward(*args, **kwargs)
        watch.close("prefill" if not passes else "chunks" if kwargs["input_ids"].shape[1] > 1 else "decode")
        passes.append(1)
        return output
    model.forward = recorded


def options():
    chosen = {"max_new_tokens": SETTINGS["max_new_tokens"], "do_sample": False, "pad_token_id": 0, "disable_compile": True}
    if SETTINGS["cache_implementation"] != "dynamic":
        chosen["cache_implementation"] = SETTINGS["cache_implementation"]
    for name in ("prefill_chunk_size", "num_beams", "cache_config"):
        if SETTINGS.get(name):
            chosen[name] = SETTINGS[name]
    return chosen


def main():
    begin()
    model = prepare_model()
    gc.collect()
    torch.cuda.empty_cache()
    watch = Watch()
    end_by_length(SETTINGS["prompt_length"] + SETTINGS["max_new_tokens"], watch)
    end_beams_by_length(SETTINGS["max_new_tokens"], watch)
    watch_passes(model, watch)
    watch.begin_step()
    ids = torch.zeros(SETTINGS["batch_size"], SETTINGS["prompt_length"], dtype=torch.long, device="cuda")
    mask = torch.ones_like(ids)
    with torch.no_grad():
        model.generate(input_ids=ids, attention_mask=mask, **options())
    phases = {phase: named(watch.phases[phase]) for phase in ("prefill", "chunks", "decode") if phase in watch.phases}
    finish(watch, dict(weights_bytes=watch.steady["allocated"], phases=phases, **named(watch.steps[-1])))


main()
