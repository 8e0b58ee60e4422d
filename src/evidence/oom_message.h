// SPDX-License-Identifier: Apache-2.0
// OomMessage: what an out-of-memory error says, in any of its wordings: those of torch since 1.13
// (CUDA, HIP, XPU, MPS, the cudaMallocAsync backend, also cut short), of vLLM when it refuses to
// start, of llama.cpp when a buffer fails, of SGLang, of libraries (cuBLAS, NCCL), of compilers (XLA,
// Triton), and of a system that ended the process. The text may be a log with any lines around the message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evidence/quantity.h"

namespace memtape {

struct OomMessage {
  enum class Wording : std::uint8_t {
    torch_parentheses,  ///< until torch 2.0: "(GPU 0; 23.69 GiB total capacity; ...)"
    torch_sentences,    ///< since torch 2.1: "GPU 0 has a total capacity of ..."
    torch_async,        ///< backend:cudaMallocAsync: "Allocation on device 0 would exceed ..."
    torch_mps,
    torch_short,    ///< "Tried to allocate 136.00 MiB." alone
    cuda_plain,     ///< "CUDA error: out of memory": no figures
    cublas,         ///< CUBLAS_STATUS_ALLOC_FAILED, and cuDNN's and cuSOLVER's
    nccl,           ///< NCCL could not allocate
    host_killed,    ///< exit code -9: the machine's own memory ran out
    host_refused,   ///< "DefaultCPUAllocator: can't allocate memory"
    host_shared,    ///< a worker of the DataLoader ended by a bus error: /dev/shm ran out
    vllm_kv_bytes,  ///< "To serve at least one request ... 5.62 GiB KV cache is needed"
    vllm_kv_tokens,
    vllm_no_blocks,
    vllm_start_up,  ///< "Free memory on device ... is less than desired"
    vllm_sampler,
    sglang_static,
    sglang_slots,
    llamacpp,
    dispatched,  ///< transformers put quantized layers on the CPU or the disk
    xla,         ///< JAX: "RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
    tensorflow,  ///< "OOM when allocating tensor with shape[...]"
    triton,      ///< "out of resource: shared memory, Required: ..., Hardware limit: ..."
  };

  Wording wording = Wording::cuda_plain;
  std::size_t line = 0;  ///< counted from 1
  std::size_t times = 1;
  std::string backend;  ///< "CUDA", "HIP", "XPU", "MPS", "Vulkan"; "" if the text does not say it
  std::optional<int> gpu;
  std::optional<Quantity> requested, device, free, process, allocated, unallocated, allowed,
      private_pools;
  std::vector<std::pair<std::int64_t, Quantity>> other_processes;
  /// What servers say: the memory that one request needs, the memory that the cache has, and how
  /// long a request may be.
  std::optional<Quantity> cache_needed, cache_available, desired;
  std::optional<std::int64_t> model_length, cache_tokens, estimated_length;
  std::optional<double> fraction, least_fraction;
  std::string buffer;  ///< what llama.cpp says: "CUDA0"
  std::string part;    ///< what llama.cpp says: "model", "compute" or "KV cache"
  std::string server;  ///< whose log the message stands in: "vllm", "sglang" or "llama.cpp"
  std::string during;  ///< what it was doing: "capturing CUDA graphs (FULL), 45 of 70 done"
  /// The variable that torch's own advice names, which the release that wrote it reads.
  std::string settings_variable = "PYTORCH_CUDA_ALLOC_CONF";
  /// The innermost line of the program's own code in the traceback above the message: "train.py:42
  /// step".
  std::string place;

  /// All that the allocator held, if it follows from what the message says.
  std::optional<Bytes> reserved() const;
};

/// The name of the wording: "torch_sentences" and so on.
std::string_view name(OomMessage::Wording wording);

/// The messages in the order of the text. A message that occurs again word for word is counted.
std::vector<OomMessage> oom_messages(std::string_view text);

}  // namespace memtape
