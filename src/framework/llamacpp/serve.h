// SPDX-License-Identifier: Apache-2.0
// llama.cpp as an engine of `memtape serve`: its weights, caches and compute buffers on each
// device, as llama-server allocates them. The version is v0.5.0 (September 2026).
#pragma once

#include <array>

#include "serving/serve_engine.h"

namespace memtape::llamacpp {

Result<ServeAnswer> serve(const ServeRequest& request);

/// llama.cpp's own spellings (common/arg.cpp), beside those that all engines share.
inline constexpr std::array kFlags{
    ServeFlag{"--ctx-size -c --max-model-len", "N",
              "tokens of context; 0: what the model was trained for"},
    ServeFlag{"--batch-size -b --max-num-batched-tokens", "N", "logical batch"}.by_default("2048"),
    ServeFlag{"--ubatch-size -ub", "N", "physical batch"}.by_default("512"),
    ServeFlag{"--parallel -np --max-num-seqs", "N", "sequences at a time"},
    ServeFlag{"--kv-unified -kvu", "", "one cache for all sequences"},
    ServeFlag{"--no-kv-unified -no-kvu", "", ""},
    ServeFlag{"--flash-attn -fa", "[on|off|auto]", "flash attention"}.by_default("auto"),
    ServeFlag{"--cache-type-k -ctk", "{f16,bf16,f32,q8_0,q5_1,q5_0,q4_1,q4_0,iq4_nl,...}",
              "type of the keys"}
        .by_default("f16"),
    ServeFlag{"--cache-type-v -ctv", "{f16,bf16,f32,q8_0,q5_1,q5_0,q4_1,q4_0,iq4_nl,...}",
              "type of the values"}
        .by_default("f16"),
    ServeFlag{"--kv-cache-dtype", "{f16,bf16,f32,q8_0,q5_1,q5_0,q4_1,q4_0,iq4_nl,...}",
              "type of keys and values"},
    ServeFlag{"--device -dev", "NAME,...",
              "none, or CUDA0, ROCm0, SYCL0, Vulkan0, MTL0, GPUOpenCL, RPC0 ..."},
    ServeFlag{"--host-memory-bytes", "N", "what --device none is to fit in"},
    ServeFlag{"--n-gpu-layers --gpu-layers -ngl", "N",
              "layers on the GPUs, the output counts as one"},
    ServeFlag{"--split-mode -sm", "{none,layer,row}", "how the model is spread over GPUs"},
    ServeFlag{"--tensor-split -ts", "N,N,...", "share of each GPU"},
    ServeFlag{"--main-gpu -mg", "N", "the GPU of --split-mode none"},
    ServeFlag{"--cpu-moe -cmoe", "", "all experts in host memory"},
    ServeFlag{"--n-cpu-moe -ncmoe", "N", "the experts of the first N layers in host memory"},
    ServeFlag{"--override-tensor -ot", "PATTERN=BUFFER,...", "tensors by regular expression"}
        .adds_up(),
    ServeFlag{"--no-kv-offload -nkvo", "", "keys and values in host memory"},
    ServeFlag{"--kv-offload -kvo", "", ""},
    ServeFlag{"--no-op-offload", "", "ops on host weights stay on the CPU"},
    ServeFlag{"--op-offload", "", ""},
    ServeFlag{"--swa-full", "", "the full cache also for sliding windows"},
    ServeFlag{"--no-mmap", "", "read the file instead of mapping it"},
    ServeFlag{"--mmap", "", ""},
    ServeFlag{"--n-outputs-max", "N", "rows of logits reserved; 0: a whole batch"},
    ServeFlag{"--embedding --embeddings", "", "embeddings are asked for, pooled as the model says"},
    ServeFlag{"--pooling", "{none,mean,cls,last,rank}", "how they are pooled instead"},
    ServeFlag{"--reranking --rerank", "", "embeddings, pooled to a rank"},
    ServeFlag{"--spec-type", "TYPE", "speculative decoding: draft-mtp, ngram-mod ..."},
    ServeFlag{"--spec-draft-n-max", "N", "tokens of a draft"}.by_default("3"),
    ServeFlag{"--spec-draft-type-k -ctkd --cache-type-k-draft", "TYPE",
              "type of the draft head's keys"},
    ServeFlag{"--spec-draft-type-v -ctvd --cache-type-v-draft", "TYPE", "of its values"},
    ServeFlag{"--spec-draft-model -md --model-draft", "MODEL", "a smaller model that drafts"},
    ServeFlag{"--spec-draft-ngl -ngld --gpu-layers-draft --n-gpu-layers-draft", "N",
              "its layers on the GPUs"},
    ServeFlag{"--spec-draft-quantize", "TYPE", "as llama-quantize would make it"},
    ServeFlag{"--lora --lora-scaled", "FILE.gguf[:SCALE],...", "adapters, applied"}.adds_up(),
    ServeFlag{"--mmproj -mm", "FILE.gguf", "the tower of a multimodal model; its weights alone"},
    ServeFlag{"--no-mmproj-offload", "", "that in host memory"},
    ServeFlag{"--mmproj-offload", "", ""},
    ServeFlag{"--quantize",
              "{Q8_0,Q6_K,Q5_K_M,Q5_K_S,Q4_K_M,Q4_K_S,IQ4_XS,Q3_K_M,IQ3_M,Q2_K,IQ2_M,...}",
              "as llama-quantize would make it"},
    ServeFlag{"--fit", "", "how many layers fit, with the flags to paste"},
    ServeFlag{"--fit-unsaid", "", "as llama-server: the context and layers that fit, if not said"},
};

inline constexpr std::array kRemedies{
    ServeRemedy{.flag = "ctx-size",
                .how = ServeRemedy::How::largest,
                .bound = 4096,
                .cost = "a shorter context"},
    ServeRemedy{.flag = "quantize",
                .how = ServeRemedy::How::first_of,
                .text = "Q8_0,Q6_K,Q5_K_M,Q4_K_M,Q3_K_M,Q2_K",
                .cost = "weights in fewer bits: a little quality"},
    ServeRemedy{.flag = "fit",
                .how = ServeRemedy::How::fitted,
                .cost = "speed: what is not on the GPU is computed by the CPU"},
};

inline constexpr std::array<FlagNeeds, 1> kNeeds{
    {{"spec-draft-n-max spec-draft-type-k spec-draft-type-v spec-draft-quantize spec-draft-ngl",
      "spec-draft-model spec-type"}}};

inline constexpr ServeEngine kEngine{.name = "llamacpp",
                                     .summary = "llama.cpp v0.5.0: llama-server",
                                     .source = "common/arg.cpp",
                                     .flags = kFlags,
                                     .serve = serve,
                                     .remedies = kRemedies,
                                     .users = {.holds = ServeUsers::Holds::places,
                                               .length = "ctx-size",
                                               .count = "parallel",
                                               .length_is_of_all = true,
                                               .with = "kv-unified"},
                                     .spreads_over_gpus = true,
                                     .batch_is_of_tokens = true,
                                     .takes_unified_memory = true,
                                     .needs = kNeeds,
                                     .chats_at_home = true};

}  // namespace memtape::llamacpp
