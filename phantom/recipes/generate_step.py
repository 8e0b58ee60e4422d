# SPDX-License-Identifier: Apache-2.0
# model.generate() of transformers on a freshly loaded model: prefill, and a pass per new token or round of candidates.
import functools
import inspect
import textwrap

import transformers.generation.candidate_generator
import transformers.generation.utils


def prepare_model(config):
    text_alone = type(config) in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING and not hasattr(config, "vision_config")
    head = modeling_auto.AutoModelForCausalLM if text_alone else modeling_auto.AutoModelForImageTextToText
    with torch.device("cuda"):
        model = head.from_config(config, **{DTYPE_NAME: getattr(torch, SETTINGS["dtype"])}, attn_implementation=SETTINGS["attention"])
    model.eval()
    model.generation_config.eos_token_id = None
    return model


def prepare_assistant():
    if "assistant_config" not in SETTINGS:
        return None
    given = dict(SETTINGS["assistant_config"])
    assistant = prepare_model(AutoConfig.for_model(given.pop("model_type"), **given))
    for name in ("num_assistant_tokens", "num_assistant_tokens_schedule", "assistant_confidence_threshold"):
        if SETTINGS.get(name) is not None:
            setattr(assistant.generation_config, name, SETTINGS[name])
    return assistant


def end_by_length(total, watch):
    """A phantom GPU has no values: whether all prompts are finished is read off the device all the same, and told by the length. An
    assistant's own generate() ends where the criteria that it was given say so."""
    def told(self, unfinished, tokens, length):
        bool(unfinished.max() == 0)
        return length >= self.max_length
    class OfAssistant(transformers.generation.utils.StopCheck):
        __call__ = told
    sample = transformers.generation.utils.GenerationMixin._sample
    transformers.generation.utils.GenerationMixin._sample = retold(
        sample, dict(OfAssistant=OfAssistant),
        ("stop_check = StopCheck(streamer)",
         "stop_check = (OfAssistant if generation_config.is_assistant else StopCheck)(streamer)\n"
         "        stop_check.max_length = stopping_criteria.max_length"))

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


def draw_without_values():
    """torch.multinomial as its host code allocates; it would refuse probabilities that are all zero."""
    def multinomial(probs, num_samples):
        result = torch.ones(probs.shape[0], 1, dtype=torch.long, device=probs.device)
        is_valid = (probs.max() < float("inf")) & (probs.min() >= 0)
        has_empty_row = (probs.sum(1) == 0).any()
        bool(is_valid), bool(has_empty_row)
        drawn = torch.empty_like(probs).exponential_(1)
        drawn.div_(probs).argmax(1, keepdim=True)
        return result
    torch.multinomial = multinomial


class Told:
    """A value that stands in the program for what `tensor` would hold, and keeps it alive."""

    def __init__(self, tensor, value):
        self.tensor, self.value = tensor, value

    def __bool__(self):
        return bool(self.value)


def retold(function, names, *changes):
    """The function with lines that read values off the device changed to what they would read."""
    source = textwrap.dedent(inspect.getsource(function))
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    scope = dict(vars(inspect.getmodule(function)), **names)
    exec(compile(source, "retold.py", "exec"), scope)
    return scope[function.__name__]


def accept_all_candidates(watch):
    """Prompts are zeros, so that every lookup finds its tokens, and the model would choose zeros, too."""
    def found(matches):
        matches.nonzero(as_tuple=True)
        return torch.empty((2, matches.shape[1]), dtype=torch.long, device=matches.device)[1]

    def ended(length, total):
        if length >= total:
            watch.close("between passes")
            watch.end_step()
        return length >= total
    generator = transformers.generation.candidate_generator.PromptLookupCandidateGenerator
    generator.get_candidates = retold(
        generator.get_candidates, dict(found=found), ("matches.nonzero(as_tuple=True)[1]", "found(matches)"),
        ("for idx in match_indices:", "for idx in [0]:"),
        ("if fake_candidate_logits in (-float(\"Inf\"), torch.finfo(fake_candidate_logits.dtype).min):", "if False:"))
    mixin = transformers.generation.utils.GenerationMixin

    def is_sure(self, input_ids, scores, **kwargs):
        probs = scores[-1].softmax(-1)
        return probs[0, input_ids[0, -1]].item() < 0
    transformers.generation.stopping_criteria.ConfidenceCriteria.__call__ = is_sure
    transformers.generation.utils._speculative_sampling = retold(
        transformers.generation.utils._speculative_sampling, {},
        ("n_matches = ((~is_accepted).cumsum(dim=-1) < 1).sum()",
         "counted = ((~is_accepted).cumsum(dim=-1) < 1).sum(); n_matches = candidate_length"))
    mixin._assisted_decoding = retold(
        mixin._assisted_decoding, dict(Told=Told, ended=ended),
        ("is_done_candidate = stopping_criteria(candidate_input_ids, None)",
         "is_done_candidate = Told(stopping_criteria(candidate_input_ids, None), "
         "candidate_input_ids.shape[1] >= generation_config.max_length)"),
        ("n_matches = ((~(candidate_new_tokens == selected_tokens[:, :-1])).cumsum(dim=-1) < 1).sum()",
         "counted = ((~(candidate_new_tokens == selected_tokens[:, :-1])).cumsum(dim=-1) < 1).sum(); "
         "n_matches = candidate_length"),
        ("this_peer_finished = unfinished_sequences.max() == 0",
         "this_peer_finished = unfinished_sequences.max() == 0; "
         "this_peer_finished = ended(input_ids.shape[1], generation_config.max_length)"))


def watch_passes(model, watch):
    forward, passes = model.forward, []

    @functools.wraps(forward)
    def recorded(*args, **kwargs):
        watch.close("between passes")
        output = forward(*args, **kwargs)
        chunk = kwargs["input_ids"].shape[1] > 1 and not SETTINGS.get("prompt_lookup_num_tokens") and "assistant_config" not in SETTINGS
        watch.close("prefill" if not passes else "chunks" if chunk else "decode")
        passes.append(1)
        return output
    model.forward = recorded


def options():
    chosen = {"max_new_tokens": SETTINGS["max_new_tokens"], "do_sample": False, "pad_token_id": 0, "disable_compile": True}
    if SETTINGS["cache_implementation"] != "dynamic":
        chosen["cache_implementation"] = SETTINGS["cache_implementation"]
    for name in ("prefill_chunk_size", "num_beams", "cache_config", "do_sample", "temperature", "top_k", "top_p", "min_p",
                 "typical_p", "repetition_penalty", "output_scores", "output_logits", "prompt_lookup_num_tokens"):
        if SETTINGS.get(name) is not None:
            chosen[name] = SETTINGS[name]
    chosen["return_dict_in_generate"] = bool(SETTINGS.get("output_scores") or SETTINGS.get("output_logits"))
    return chosen


def main():
    begin()
    model, assistant = prepare_model(model_config()), prepare_assistant()
    gc.collect()
    torch.cuda.empty_cache()
    watch = Watch()
    end_by_length(SETTINGS["prompt_length"] + SETTINGS["max_new_tokens"], watch)
    end_beams_by_length(SETTINGS["max_new_tokens"], watch)
    draw_without_values()
    accept_all_candidates(watch)
    watch_passes(model, watch)
    watch.begin_step()
    ids = torch.zeros(SETTINGS["batch_size"], SETTINGS["prompt_length"], dtype=torch.long, device="cuda")
    mask = torch.ones_like(ids)
    with torch.no_grad():
        model.generate(input_ids=ids, attention_mask=mask, assistant_model=assistant, **options())
    phases = {phase: named(watch.phases[phase]) for phase in ("prefill", "chunks", "decode") if phase in watch.phases}
    finish(watch, dict(weights_bytes=watch.steady["allocated"], phases=phases, **named(watch.steps[-1])))


main()
