// SPDX-License-Identifier: Apache-2.0
// transformers' generate() as an engine of `memtape serve`: the peaks of prefill and decode, and
// what the cache holds.
#pragma once

#include <array>

#include "framework/transformers/generate.h"
#include "serving/serve_engine.h"

namespace memtape::transformers {

Result<ServeAnswer> serve(const ServeRequest& request);

/// The run from which that answer is made.
Result<GenerateRun> run_generate(const ServeRequest& request);

/// The names of GenerationConfig, beside those that all engines share.
inline constexpr std::array kServeFlags{
    ServeFlag{"--dtype", "{bfloat16,float16,float32}", "of weights and activations"}.by_default(
        "bfloat16"),
    ServeFlag{"--attention --attn-implementation --attn_implementation",
              "{eager,sdpa,kernels-community/vllm-flash-attn3}",
              "attention implementation; for GPT-OSS the kernel of the hub"}
        .by_default("sdpa"),
    ServeFlag{"--batch-size --batch --max-num-seqs", "N", "prompts at a time"}.by_default("1"),
    ServeFlag{"--prompt-length", "N", "tokens of each prompt"}.by_default("512"),
    ServeFlag{"--max_new_tokens --max-new-tokens", "N", "tokens made for each"}.by_default("20"),
    ServeFlag{"--cache_implementation --cache-implementation",
              "{dynamic,static,offloaded,offloaded_static,quantized}",
              "how keys and values are kept"}
        .by_default("dynamic"),
    ServeFlag{"--cache_config --cache-config", "JSON",
              "of a quantized cache: nbits, axis_key, axis_value, q_group_size, residual_length"},
    ServeFlag{"--prefill_chunk_size --prefill-chunk-size", "N", "prompt tokens a pass"},
    ServeFlag{"--num_beams --num-beams", "N", "beams of beam search"}.by_default("1"),
    ServeFlag{"--do_sample --do-sample", "", "draw tokens in place of the likeliest"},
    ServeFlag{"--temperature", "X", "scores are divided by it"}.by_default("1"),
    ServeFlag{"--top_k --top-k", "N", "draw from so many tokens"}.by_default("50; 0: all"),
    ServeFlag{"--top_p --top-p", "X", "draw from the likeliest, of that probability together"}
        .by_default("1"),
    ServeFlag{"--min_p --min-p", "X", "draw from what is at least so likely beside the likeliest"},
    ServeFlag{"--typical_p --typical-p", "X", "draw from the most typical tokens"}.by_default("1"),
    ServeFlag{"--repetition_penalty --repetition-penalty", "X", "of tokens that were there"}
        .by_default("1"),
    ServeFlag{"--output_scores --output-scores", "", "return every token's scores"},
    ServeFlag{"--output_logits --output-logits", "", "return every token's logits"},
    ServeFlag{"--prompt_lookup_num_tokens --prompt-lookup-num-tokens", "N",
              "candidates that are looked up in the prompt and checked in one pass"},
    ServeFlag{"--assistant_model --assistant-model", "MODEL",
              "a smaller model of the same vocabulary that proposes tokens"},
    ServeFlag{"--num_assistant_tokens --num-assistant-tokens", "N",
              "that it proposes for a pass, at most"}
        .by_default("20"),
    ServeFlag{"--num_assistant_tokens_schedule --num-assistant-tokens-schedule",
              "{constant,heuristic,heuristic_transient}",
              "how that number changes from round to round"}
        .by_default("constant"),
    ServeFlag{"--assistant_confidence_threshold --assistant-confidence-threshold", "X",
              "probability below which it stops proposing"}
        .by_default("0.4; 0: never"),
};

inline constexpr std::array<FlagNeeds, 2> kNeeds{
    {{"num_assistant_tokens num_assistant_tokens_schedule assistant_confidence_threshold",
      "assistant_model"},
     {"cache_config", "cache_implementation"}}};

inline constexpr std::array kServeRemedies{ServeRemedy{.flag = "batch-size",
                                                       .how = ServeRemedy::How::largest,
                                                       .bound = 1,
                                                       .cost = "fewer prompts at a time"}};

inline constexpr ServeEngine kServeEngine{
    .name = "transformers",
    .summary = "transformers 5.17: model.generate()",
    .source = "transformers/generation/configuration_utils.py",
    .flags = kServeFlags,
    .serve = serve,
    .remedies = kServeRemedies,
    .users = {.holds = ServeUsers::Holds::places,
              .length = "prompt-length",
              .output = "max_new_tokens",
              .count = "batch-size"},
    .truths_follow = true,
    .needs = kNeeds,
    .real = RealServer::generate};

}  // namespace memtape::transformers
