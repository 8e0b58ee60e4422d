// SPDX-License-Identifier: Apache-2.0
// Settings: llama-server's flags with their defaults (common/common.h), and what the context makes
// of them for a model (llama-context.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/llamacpp/file_type.h"
#include "framework/llamacpp/hyperparameters.h"
#include "workload/serve_engine.h"

namespace memtape::llamacpp {

enum class FlashAttention : std::uint8_t { off, on, automatic };
enum class SplitMode : std::uint8_t { none, layer };

struct Settings {
  std::int64_t n_ctx = 0, n_batch = 2048, n_ubatch = 512;
  std::int64_t n_seq_max = 1;
  bool kv_unified = false;
  FlashAttention flash = FlashAttention::automatic;
  ggml::Type type_k = ggml::Type::f16, type_v = ggml::Type::f16;
  std::int64_t n_gpu_layers = -1;  ///< -1: all
  SplitMode split = SplitMode::layer;
  std::vector<double> tensor_split;
  int main_gpu = 0;
  bool kv_offload = true, op_offload = true, swa_full = false, mmap = false;
  bool cpu_moe = false;
  std::int64_t n_cpu_moe = 0;
  std::vector<std::pair<std::string, std::string>> overrides;  ///< pattern, buffer type
  std::int64_t n_outputs_max = 0;
  std::optional<FileType> quantize;
  int gpus = 1;
  int capability = 890;  ///< of the GPUs, as ggml counts

  bool has_overrides() const { return cpu_moe || n_cpu_moe > 0 || !overrides.empty(); }
};

Result<Settings> read_settings(const ServeRequest& request);

/// The sizes of a context.
struct ContextSizes {
  std::int64_t n_ctx = 0, n_ctx_seq = 0, n_batch = 0, n_ubatch = 0, n_outputs_max = 0;
  std::int64_t streams = 1;  ///< caches that sequences do not share
  std::int64_t n_gpu_layers = 0;
};

ContextSizes context_sizes(const Settings& settings, const Hyperparameters& hp);

}  // namespace memtape::llamacpp
