// SPDX-License-Identifier: Apache-2.0
// SGLang as an engine of `memtape serve`: the weights as its layers hold them, and the pools that
// it makes of the rest of its share. versions.h has the defaults of its releases; the rules are
// those of 0.5.23.
#pragma once

#include <array>

#include "serving/serve_engine.h"

namespace memtape::sglang {

Result<ServeAnswer> serve(const ServeRequest& request);

/// SGLang's own spellings (srt/arg_groups/fields), beside those that all engines share.
inline constexpr std::array kFlags{
    ServeFlag{"--mem-fraction-static --gpu-memory-utilization", "X",
              "share of the free memory for weights and caches"}
        .by_default("by the device"),
    ServeFlag{"--context-length --max-model-len", "N", "tokens of prompt and answer"},
    ServeFlag{"--cpu-offload-gb", "X", "GiB of each rank's weights that lie in host memory"},
    ServeFlag{"--max-running-requests --max-num-seqs", "N", "requests at a time"},
    ServeFlag{"--max-total-tokens", "N", "tokens of the cache, at most"},
    ServeFlag{"--chunked-prefill-size --max-num-batched-tokens", "N",
              "tokens of one prefill step; -1: whole prompts"},
    ServeFlag{"--max-prefill-tokens", "N", "tokens of a batch of whole prompts"},
    ServeFlag{"--page-size --block-size", "N", "tokens of a page"}.by_default("1"),
    ServeFlag{"--kv-cache-dtype", "{auto,bfloat16,fp8_e4m3,fp8_e5m2,...}", "of keys and values"}
        .by_default("auto"),
    ServeFlag{"--dtype", "{auto,bfloat16,float16,float32,...}", "of weights and activations"}
        .by_default("auto"),
    ServeFlag{"--quantization --quantize", "{fp8,...}", "of an unquantized checkpoint"},
    ServeFlag{"--tp-size --tensor-parallel-size --tp", "N", "ranks of tensor parallelism"},
    ServeFlag{"--pp-size --pipeline-parallel-size --pp", "N", "pipeline stages"},
    ServeFlag{"--dp-size --data-parallel-size --dp", "N", "whole servers beside each other"},
    ServeFlag{"--ep-size --expert-parallel-size --ep", "N", "ranks that whole experts lie on"},
    ServeFlag{"--attn-dp-size", "N", ""},
    ServeFlag{"--enable-dp-attention", "", ""},
    ServeFlag{"--cuda-graph-max-bs --cuda-graph-max-bs-decode", "N", "largest captured batch"},
    ServeFlag{"--disable-cuda-graph --enforce-eager", "", "no CUDA graphs"},
    ServeFlag{"--disable-decode-cuda-graph", "", "none of decoding"},
    ServeFlag{"--disable-prefill-cuda-graph --disable-piecewise-cuda-graph", "",
              "none of prefill: no room is kept for them"},
    ServeFlag{"--cuda-graph-max-bs-prefill", "N", "tokens of the largest graph of prefill"},
    ServeFlag{"--cuda-graph-backend-decode", "NAME", "disabled: none"},
    ServeFlag{"--cuda-graph-backend-prefill", "NAME", "disabled: none"},
    ServeFlag{"--disable-radix-cache", "", "no cache of prefixes"},
    ServeFlag{"--swa-full-tokens-ratio", "X", "tokens of sliding layers per token of others"}
        .by_default("0.8"),
    ServeFlag{"--disable-hybrid-swa-memory", "", "sliding layers are held as full ones"},
    ServeFlag{"--mamba-full-memory-ratio", "X", "states per byte of keys and values"}.by_default(
        "0.9"),
    ServeFlag{"--max-mamba-cache-size", "N", "slots of recurrent states"},
    ServeFlag{"--mamba-ssm-dtype", "TYPE", "of recurrent states"},
    ServeFlag{"--json-model-override-args", "JSON",
              "members of config.json in the place of its own"},
    ServeFlag{"--attention-backend", "NAME", ""},
    ServeFlag{"--enable-lora", "", "room for adapters beside layers"},
    ServeFlag{"--max-loras-per-batch", "N", "adapters that may run at a time"}.by_default("8"),
    ServeFlag{"--max-lora-rank", "N", "the largest rank of an adapter"},
    ServeFlag{"--lora-target-modules", "NAMES", "the layers that adapters change, or all"},
    ServeFlag{"--lora-paths", "NAME", ""}.adds_up(),
    ServeFlag{"--trust-remote-code", "", ""},
    ServeFlag{"--host", "NAME", ""},
    ServeFlag{"--port", "N", ""},
};

inline constexpr std::array kRemedies{
    ServeRemedy{.flag = "mem-fraction-static",
                .how = ServeRemedy::How::smallest_share,
                .cost = "another balance of caches and activations"},
    ServeRemedy{.flag = "context-length",
                .how = ServeRemedy::How::largest,
                .bound = 2048,
                .cost = "longer requests are refused"},
    ServeRemedy{.flag = "max-running-requests",
                .how = ServeRemedy::How::first_of,
                .text = "256,64,16",
                .cost = "fewer requests at a time"},
    ServeRemedy{.flag = "kv-cache-dtype",
                .text = "fp8_e4m3",
                .cost = "keys and values in 8 bits: a little quality"},
    ServeRemedy{
        .flag = "quantization", .text = "fp8", .cost = "weights in 8 bits: a little quality"},
    ServeRemedy{.flag = "chunked-prefill-size", .text = "2048", .cost = "slower prefill"},
    ServeRemedy{
        .flag = "disable-cuda-graph", .cost = "slower decoding: no CUDA graphs", .drastic = true},
    ServeRemedy{
        .flag = "tp-size", .how = ServeRemedy::How::doubled, .bound = 8, .cost = "as many GPUs"},
};

inline constexpr std::array<FlagNeeds, 1> kNeeds{
    {{"max-loras-per-batch max-lora-rank lora-target-modules", "enable-lora lora-paths"}}};

/// The image has no entry point that starts a server.
inline constexpr PlannedServer kPlanned{.tensor_parallel = "tp-size",
                                        .length = "context-length",
                                        .sequences = "max-running-requests",
                                        .data_parallel = "dp-size",
                                        .expert_parallel = "enable-dp-attention",
                                        .groups_ranks = true,
                                        .expert_ranks = "ep-size",
                                        .program = "python3 -m sglang.launch_server",
                                        .model_flag = "--model-path",
                                        .image = "lmsysorg/sglang:latest",
                                        .entry = "python3 -m sglang.launch_server --model-path",
                                        .listens = " --host 0.0.0.0",
                                        .port = 30000};

inline constexpr ServeEngine kEngine{.name = "sglang",
                                     .summary = "SGLang 0.5.23: sglang serve",
                                     .source = "sglang/srt/server_args.py",
                                     .flags = kFlags,
                                     .serve = serve,
                                     .remedies = kRemedies,
                                     .users = {.length = "context-length"},
                                     .needs = kNeeds,
                                     .planned = &kPlanned};

}  // namespace memtape::sglang
