// SPDX-License-Identifier: Apache-2.0
// vLLM as an engine of `memtape serve`: the start-up of a worker runs on ghost tensors and is
// played through the allocator, and what is left of the budget becomes the KV cache. The version is
// 0.32.0 (V1 engine, V2 model runner).
#pragma once

#include <array>

#include "serving/serve_engine.h"

namespace memtape::vllm {

Result<ServeAnswer> serve(const ServeRequest& request);

/// vLLM's own spellings (vllm/engine/arg_utils.py), beside those that all engines share. Flags that
/// do not change memory are accepted without a line of help.
inline constexpr std::array kFlags{
    ServeFlag{"--max-model-len --max_model_len", "N", "tokens of prompt and answer; -1: what fits"},
    ServeFlag{"--max-num-seqs", "N", "requests at a time"},
    ServeFlag{"--max-num-batched-tokens", "N", "tokens of one step"},
    ServeFlag{"--gpu-memory-utilization", "X", "share of the GPU that vLLM may use"}.by_default(
        "0.92"),
    ServeFlag{"--kv-cache-memory-bytes --kv-cache-memory", "N", "the KV cache's size, as is"},
    ServeFlag{"--num-gpu-blocks-override", "N", "blocks of the KV cache, as they are"},
    ServeFlag{"--block-size", "N", "tokens of a block"},
    ServeFlag{"--kv-cache-dtype", "{auto,bfloat16,float16,fp8,...}", "of keys and values"}
        .by_default("auto"),
    ServeFlag{"--attention-backend", "{FLASH_ATTN,FLASHINFER,TRITON_ATTN,...}",
              "kernels of attention"},
    ServeFlag{"--dtype", "{auto,bfloat16,float16,float32,...}", "of weights and activations"}
        .by_default("auto"),
    ServeFlag{"--quantization --quantize -q", "{fp8,bitsandbytes,...}",
              "of an unquantized checkpoint"},
    ServeFlag{"--cpu-offload-gb", "X", "GiB of each rank's weights that lie in host memory"},
    ServeFlag{"--tensor-parallel-size --tp -tp", "N", "ranks of tensor parallelism"},
    ServeFlag{"--pipeline-parallel-size --pp -pp", "N", "pipeline stages"},
    ServeFlag{"--data-parallel-size --dp -dp", "N", "ranks of data parallelism"},
    ServeFlag{"--decode-context-parallel-size --dcp -dcp", "N",
              "tensor parallel ranks that share a context's cache"},
    ServeFlag{"--enable-expert-parallel --ep", "[on|off]", "whole experts per rank"},
    ServeFlag{"--enforce-eager", "", "no CUDA graphs, no compilation"},
    ServeFlag{"--compilation-config -cc", "JSON",
              "mode, cudagraph_mode and cudagraph_capture_sizes are read"},
    ServeFlag{"--optimization-level -O", "N", "0: no compilation and no graphs; 1: pieces"}
        .by_default("2"),
    ServeFlag{"--cudagraph-capture-sizes --cuda-graph-sizes", "N,...", "sizes of CUDA graphs"},
    ServeFlag{"--max-cudagraph-capture-size", "N", "the largest CUDA graph"},
    ServeFlag{"--enable-prefix-caching", "", ""},
    ServeFlag{"--no-enable-prefix-caching", "", "recurrent layers then need fewer blocks"},
    ServeFlag{"--disable-hybrid-kv-cache-manager", "", "sliding layers are held as full ones"},
    ServeFlag{"--enable-sleep-mode", "", "a note says what stays on the GPU while it sleeps"},
    ServeFlag{"--no-async-scheduling", "", "one batch at a time"},
    ServeFlag{"--async-scheduling", "", ""},
    ServeFlag{"--usage-context", "{llm,api-server}",
              "whose defaults for tokens and requests: LLM() or vllm serve"}
        .by_default("api-server"),
    ServeFlag{"--runner", "{auto,generate,pooling}", "pooling: embeddings, scores and rewards"},
    ServeFlag{"--convert", "{auto,none,embed,classify}",
              "a model that generates, to one that pools"},
    ServeFlag{"--task", "{embed,classify,score,reward,...}", "of older releases"},
    ServeFlag{"--enable-lora", "", "room for adapters beside every layer"},
    ServeFlag{"--max-loras", "N", "adapters that may run at a time"}.by_default("1"),
    ServeFlag{"--max-lora-rank", "N", "the largest rank of an adapter"}.by_default("16"),
    ServeFlag{"--max-cpu-loras", "N", ""},
    ServeFlag{"--lora-modules", "NAME", ""}.adds_up(),
    ServeFlag{"--speculative-config -sc", "JSON",
              "method ngram, mtp (the model's own predictor), eagle, eagle3 or "
              "draft_model, with model and num_speculative_tokens"},
    ServeFlag{"--language-model-only", "", "without the encoders of images and videos"},
    ServeFlag{"--limit-mm-per-prompt", "JSON",
              "images and videos of a prompt; 0 of all is without"},
    ServeFlag{"--mm-processor-kwargs", "JSON", "of the processor: max_pixels of an image"},
    ServeFlag{"--skip-mm-profiling", "", "images and videos have no part in the profile run"},
    ServeFlag{"--hf-overrides", "JSON", "members of config.json in the place of its own"},
    ServeFlag{"--rope-scaling", "JSON", "the same of rope_scaling alone, as Qwen's cards have it"},
    ServeFlag{"--rank", "N", ""},
    ServeFlag{"--disable-custom-all-reduce", "", ""},
    ServeFlag{"--distributed-executor-backend", "NAME", ""},
    ServeFlag{"--enable-chunked-prefill", "", ""},
    ServeFlag{"--no-enable-chunked-prefill", "", "whole prompts in one step"},
    ServeFlag{"--trust-remote-code", "", ""},
    ServeFlag{"--served-model-name", "NAME", ""},
    ServeFlag{"--tokenizer", "NAME", ""},
    ServeFlag{"--load-format", "NAME", "fastsafetensors and instanttensor read files on the GPU"},
    ServeFlag{"--revision", "NAME", ""},
    ServeFlag{"--seed", "N", ""},
    ServeFlag{"--host", "NAME", ""},
    ServeFlag{"--port", "N", ""},
    ServeFlag{"--api-key", "KEY", ""},
    ServeFlag{"--chat-template", "FILE", ""},
    ServeFlag{"--enable-auto-tool-choice", "", ""},
    ServeFlag{"--tool-call-parser", "NAME", ""},
    ServeFlag{"--reasoning-parser", "NAME", ""},
    ServeFlag{"--generation-config", "NAME", ""},
    ServeFlag{"--swap-space", "X", ""},
    ServeFlag{"--max-log-len", "N", ""},
    ServeFlag{"--disable-log-stats", "", ""},
    ServeFlag{"--disable-log-requests", "", ""},
};

inline constexpr std::array kRemedies{
    ServeRemedy{.flag = "gpu-memory-utilization",
                .how = ServeRemedy::How::smallest_share,
                .cost = "less room for other programs on the GPU"},
    ServeRemedy{.flag = "kv-cache-memory-bytes",
                .how = ServeRemedy::How::largest,
                .bound = 1 << 30,
                .cost = "fewer tokens in the cache",
                .of_given = true},
    ServeRemedy{.flag = "num-gpu-blocks-override",
                .how = ServeRemedy::How::largest,
                .bound = 512,
                .cost = "fewer tokens in the cache",
                .of_given = true},
    ServeRemedy{.flag = "max-model-len",
                .how = ServeRemedy::How::largest,
                .bound = 2048,
                .cost = "longer requests are refused"},
    ServeRemedy{.flag = "kv-cache-dtype",
                .text = "fp8",
                .cost = "keys and values in 8 bits: a little quality"},
    ServeRemedy{.flag = "quantization",
                .how = ServeRemedy::How::first_of,
                .text = "fp8,bitsandbytes",
                .cost = "weights in fewer bits: a little quality"},
    ServeRemedy{.flag = "max-num-seqs",
                .how = ServeRemedy::How::first_of,
                .text = "256,64,16",
                .cost = "fewer requests at a time"},
    ServeRemedy{.flag = "max-num-batched-tokens", .text = "2048", .cost = "slower prefill"},
    ServeRemedy{
        .flag = "enforce-eager", .cost = "slower decoding: no CUDA graphs", .drastic = true},
    ServeRemedy{.flag = "limit-mm-per-prompt",
                .text = R"({"image": 0, "video": 0})",
                .cost = "texts alone"},
    ServeRemedy{.flag = "tensor-parallel-size",
                .how = ServeRemedy::How::doubled,
                .bound = 8,
                .cost = "as many GPUs",
                .drastic = true},
};

inline constexpr std::array<FlagNeeds, 1> kNeeds{
    {{"max-loras max-lora-rank max-cpu-loras lora-modules", "enable-lora"}}};

/// The entry point of the image is that of its Dockerfile.
inline constexpr PlannedServer kPlanned{.tensor_parallel = "tensor-parallel-size",
                                        .length = "max-model-len",
                                        .sequences = "max-num-seqs",
                                        .data_parallel = "data-parallel-size",
                                        .expert_parallel = "enable-expert-parallel",
                                        .batched_tokens = "max-num-batched-tokens",
                                        .program = "vllm serve",
                                        .image = "vllm/vllm-openai:latest",
                                        .entry = "--model"};

inline constexpr ServeEngine kEngine{.name = "vllm",
                                     .summary = "vLLM 0.32.0: vllm serve",
                                     .source = "vllm/engine/arg_utils.py",
                                     .flags = kFlags,
                                     .serve = serve,
                                     .remedies = kRemedies,
                                     .users = {.length = "max-model-len", .count = "max-num-seqs"},
                                     .needs = kNeeds,
                                     .planned = &kPlanned,
                                     .real = RealServer::start};

}  // namespace memtape::vllm
