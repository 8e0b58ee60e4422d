// SPDX-License-Identifier: Apache-2.0
// Settings: vLLM's configuration after every default has been resolved (vllm/config, EngineArgs),
// as far as it affects memory. One Settings describes one rank, which `parallel` names.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allocator/allocator_config.h"
#include "allocator/driver.h"
#include "base/bytes.h"
#include "base/dtype.h"
#include "ghost/session.h"
#include "model/config.h"
#include "release/engine_changes.h"

namespace memtape::vllm {

/// Sizes and places in the grids of tensor, pipeline, data and expert parallelism.
struct Parallel {
  int tp = 1, tp_rank = 0;
  int pp = 1, pp_rank = 0;
  int dp = 1, dp_rank = 0;
  int dcp = 1;  ///< the ranks of a tensor parallel group that each hold a part of a context
  bool expert_parallel = false;
  /// SGLang's --enable-dp-attention: groups of the tensor ranks, with whole embeddings.
  int attention_dp = 1;
  bool sums_with_own_kernel = true;  ///< unless --disable-custom-all-reduce; where links allow it

  int attention_tp() const { return tp / attention_dp; }
  bool first_stage() const { return pp_rank == 0; }
  bool last_stage() const { return pp_rank == pp - 1; }
};

/// The allocator that is simulated, and what is outside of it.
struct DeviceFacts {
  ghost::DeviceTraits traits;
  std::string name = "NVIDIA A100-SXM4-80GB";
  Bytes total = 0;
  int linked_gpus = 8;         ///< how many NVLink joins; 1: there is only PCIe
  Bytes context = 0;           ///< what CUDA takes before vLLM's first snapshot
  bool given_outside = false;  ///< `context` is all that is outside the allocator, as it was said
  DriverPlacement placement = DriverPlacement::linux_regions;
  AllocatorConfig allocator{};  ///< PYTORCH_ALLOC_CONF

  int capability() const { return traits.major * 10 + traits.minor; }
  bool is(int major, int minor) const { return traits.major == major && traits.minor == minor; }
};

enum class KvDType : std::uint8_t { model, bfloat16, float16, fp8 };

/// The engine and its model runner: the V0 engine, and the V1 engine with its first or its second
/// runner.
enum class Runner : std::uint8_t { v0, v1, v2 };

/// SpeculativeConfig: who proposes tokens (n-grams of the text, the model's own predictor, an EAGLE
/// head, or a smaller model), and how many in each step.
enum class Proposer : std::uint8_t { none, ngram, mtp, eagle, eagle3, draft_model };
struct Speculation {
  Proposer proposer = Proposer::none;
  std::int64_t tokens = 0;
  std::shared_ptr<const Config> drafter{};    ///< that of a separate checkpoint
  std::vector<std::int64_t> target_layers{};  ///< the layers whose inputs EAGLE-3 reads

  /// Whether the drafter reads the target's hidden states.
  bool reads_target() const {
    return proposer == Proposer::mtp || proposer == Proposer::eagle || proposer == Proposer::eagle3;
  }
};

/// --quantization of a checkpoint that is not quantized.
enum class OnlineScheme : std::uint8_t { none, fp8, bitsandbytes };

/// LoRAConfig: room for adapters at every linear layer.
struct LoraSettings {
  std::int64_t adapters = 1, rank = 16;
};

/// A model that pools its hidden states: the labels of its classifier, 0 where it has none.
struct Pooling {
  std::int64_t labels = 0;
};

struct Settings {
  Release release;
  Runner runner = Runner::v2;
  DType dtype = DType::bfloat16;
  KvDType kv_dtype = KvDType::model;
  std::int64_t max_model_len = 0;
  bool fits_length = false;  ///< --max-model-len -1: as much as the cache can hold
  std::int64_t max_num_seqs = 0;
  bool is_api_server = true;  ///< `vllm serve`; false: LLM() of a program
  std::int64_t max_num_batched_tokens = 0;
  double gpu_memory_utilization = 0.92;  ///< vllm/config/cache.py
  std::optional<Bytes> kv_cache_memory_bytes;
  std::optional<std::int64_t> num_gpu_blocks_override;
  std::optional<std::int64_t> block_size;  ///< as given; backends and hybrids choose their own
  bool enforce_eager = false;
  bool compiles = false;  ///< with Inductor (compilation mode 3)
  /// Whether whole decode steps are captured, and the pieces between attention layers.
  bool full_graphs = false, piecewise_graphs = false;
  std::vector<std::int64_t> capture_sizes{};
  std::string ssm_dtype{};  ///< --mamba-ssm-cache-dtype; empty means auto
  bool prefix_caching = true, hybrid_kv_cache = true, async_scheduling = true;
  bool estimate_cuda_graphs = true;  ///< VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS
  bool flashinfer = false;           ///< its kernels are installed or can be built
  Bytes attention_workspace = 0;     ///< of the attention backend, made with the first batch
  /// The logits with which the early V1 engine's profile run ends in place of a sampler.
  enum class LastLogits { none, of_requests, of_all_tokens };
  LastLogits last_logits_in_profile = LastLogits::none;
  bool samples_in_profile = true;  ///< the V0 engine's profile of chunked prefill does not (logs)
  bool sglang_layers = false;  ///< SGLang's layers replace vLLM's where they hold something else
  OnlineScheme online = OnlineScheme::none;
  Bytes cpu_offload = 0;      ///< --cpu-offload-gb: weights that may lie in host memory
  bool reads_on_gpu = false;  ///< --load-format: files of the checkpoint come to the GPU
  std::optional<LoraSettings> lora;
  std::optional<Pooling> pooling;                     ///< of a model that generates nothing
  std::shared_ptr<const struct Encoders> encoders{};  ///< encoders.h; null: of text alone
  Speculation speculation;
  Parallel parallel;
  DeviceFacts device;

  /// Whether the worker around the runner is a recent one.
  bool counts_device() const { return release.has(changes::kVllmWorkerCountsTheDevice); }

  DType kv_torch_dtype() const {
    switch (kv_dtype) {
      case KvDType::model: return dtype;
      case KvDType::bfloat16: return DType::bfloat16;
      case KvDType::float16: return DType::float16;
      case KvDType::fp8: return DType::uint8;
    }
    return dtype;
  }
};

}  // namespace memtape::vllm
