// SPDX-License-Identifier: Apache-2.0
// Settings: llama-server's flags with their defaults (common/common.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/llamacpp/build.h"
#include "framework/llamacpp/file_type.h"
#include "framework/llamacpp/hyperparameters.h"
#include "serving/serve_engine.h"

namespace memtape::llamacpp {

enum class FlashAttention : std::uint8_t { off, on, automatic };
/// What is done with the embeddings of a sequence, with the numbers that files use (pooling_type).
enum class Pooling : std::int8_t { as_the_model = -1, none, mean, cls, last, rank };

/// The backends of ggml that are modelled, beside the CPU's.
enum class DeviceKind : std::uint8_t { cuda, rocm, sycl, vulkan, metal, opencl, rpc };
/// The beginning of the names of devices: "Vulkan".
std::string_view prefix_of(DeviceKind kind);

struct Settings {
  std::int64_t n_ctx = 0, n_batch = 2048, n_ubatch = 512;
  std::int64_t n_seq_max = 1;
  bool kv_unified = false;
  FlashAttention flash = FlashAttention::automatic;
  ggml::Type type_k = ggml::Type::f16, type_v = ggml::Type::f16;
  std::int64_t n_gpu_layers = -1;  ///< -1: all
  std::vector<double> tensor_split;
  bool splits_rows = false;
  bool kv_offload = true, op_offload = true, swa_full = false, mmap = false;
  bool cpu_moe = false;
  std::int64_t n_cpu_moe = 0;
  /// A pattern, and the type of buffer.
  std::vector<std::pair<std::string, std::string>> overrides;
  std::int64_t n_outputs_max = 0;
  bool embeddings = false;  ///< they are asked for
  Pooling pooling = Pooling::as_the_model;
  bool drafts = false;  ///< with the draft block of the model itself
  /// Snapshots of recurrent states before tokens that may be taken back.
  std::int64_t n_snapshots = 0;
  ggml::Type draft_type_k = ggml::Type::f16, draft_type_v = ggml::Type::f16;
  std::int64_t draft_gpu_layers = -1;  ///< those of a model that drafts
  std::optional<FileType> quantize, draft_quantize;
  Build build;
  DeviceKind device_kind = DeviceKind::cuda;
  std::vector<int> device_numbers{0};
  std::optional<Bytes> host_memory;  ///< the memory in which it must fit without a GPU
  int capability = 890;              ///< that of the GPUs, as ggml counts it
  std::vector<std::string> warnings;

  int gpus() const { return static_cast<int>(device_numbers.size()); }
  bool has_overrides() const { return cpu_moe || n_cpu_moe > 0 || !overrides.empty(); }
};

Result<Settings> read_settings(const ServeRequest& request);

}  // namespace memtape::llamacpp
