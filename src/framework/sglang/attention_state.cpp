// SPDX-License-Identifier: Apache-2.0
#include "framework/sglang/attention_state.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "release/engine_changes.h"

namespace memtape::sglang {
namespace {

constexpr Bytes kIndex = 4, kOffset = 8;  // int32, int64

bool is_one_of(const ServerArgs& args, std::span<const std::string_view> architectures) {
  return std::ranges::find(architectures, args.architecture) != architectures.end();
}

/// is_fa3_default_architecture (srt/utils/common.py, 0.5.18).
bool prefers_flash_attention(const ServerArgs& args) {
  constexpr auto kArchitectures = std::to_array<std::string_view>(
      {"Llama4ForConditionalGeneration", "LlamaForCausalLM", "Olmo2ForCausalLM",
       "Gemma2ForCausalLM", "Gemma3ForConditionalGeneration", "MixtralForCausalLM",
       "Qwen2ForCausalLM", "Qwen3ForCausalLM", "Qwen3MoeForCausalLM",
       "Qwen3VLForConditionalGeneration", "Qwen3VLMoeForConditionalGeneration",
       "Glm4MoeForCausalLM", "Glm4vForConditionalGeneration", "Glm4vMoeForConditionalGeneration"});
  return is_one_of(args, kArchitectures);
}

bool is(const vllm::KvLayer& layer, vllm::KvKind kind) { return layer.kind == kind; }

/// The default of _get_default_attn_backend (srt/server_args.py, before in model_runner.py) where it
/// is one of the two; "" otherwise.
std::string_view backend_of(const ServerArgs& args, const std::vector<vllm::KvLayer>& layers) {
  if (!args.attention_backend.empty()) return args.attention_backend;
  constexpr int kHopper = 9, kBlackwell = 10;
  const int major = args.model.device.traits.major;
  const bool flash = major == kHopper && args.release.has(changes::kSglangPrefersFlashAttention);
  const bool latent = std::ranges::any_of(
      layers, [](const vllm::KvLayer& layer) { return is(layer, vllm::KvKind::mla); });
  if (latent) return flash ? "fa3" : "";
  if (flash && prefers_flash_attention(args)) return "fa3";
  return major == kBlackwell ? "" : "flashinfer";
}

/// FlashAttentionBackend.init_cuda_graph_state (srt/layers/attention/flashattention_backend.py).
Bytes flash_attention_tables(const ServerArgs& args, const std::vector<vllm::KvLayer>& layers) {
  const std::int64_t batch = args.graph_max_batch, length = args.context_length;
  const std::int64_t pages = ceil_div(length, args.page_size);
  const Bytes table = batch * pages * kIndex;
  Bytes bytes = table + pages * kOffset;
  if (!args.release.has(changes::kSglangViewsPageTables))
    bytes += table + args.decode_rows * pages * kIndex;
  if (!args.release.has(changes::kSglangMakesTablesInUse)) bytes += batch * length * kIndex;
  for (const vllm::KvLayer& layer : layers) {
    if (!is(layer, vllm::KvKind::chunked_local)) continue;
    const std::int64_t parts = batch * ceil_div(length, layer.window);
    bytes += parts * (ceil_div(layer.window, args.page_size) + 2) * kIndex;
    break;
  }
  if (args.hybrid_swa && args.release.has(changes::kSglangMakesTablesInUse)) bytes += table;
  return bytes;
}

/// The rows of local attention's table that are as long as all chunks together.
Bytes untrimmed_local_tables(const ServerArgs& args, const std::vector<vllm::KvLayer>& layers) {
  if (args.release.has(changes::kSglangTrimsLocalTables)) return 0;
  for (const vllm::KvLayer& layer : layers) {
    if (!is(layer, vllm::KvKind::chunked_local)) continue;
    const std::int64_t chunks = ceil_div(args.context_length, layer.window);
    const std::int64_t pages = ceil_div(layer.window, args.page_size);
    return args.graph_max_batch * chunks * (chunks - 1) * pages * kIndex;
  }
  return 0;
}

/// FlashInferAttnBackend (srt/layers/attention/flashinfer_backend.py). Each of FlashInfer's wrappers
/// has a buffer of integers of its own, and each captured batch a wrapper (flashinfer/decode.py).
AttentionState flashinfer_state(const ServerArgs& args, const std::vector<vllm::KvLayer>& layers) {
  constexpr Bytes kIntegers = 8_MiB, kUsual = 384_MiB, kLarge = 512_MiB;
  constexpr auto kLargeFor = std::to_array<std::string_view>(
      {"Qwen2ForCausalLM", "Qwen3ForCausalLM", "MiMoForCausalLM", "Qwen3VLForConditionalGeneration",
       "Qwen3VLMoeForConditionalGeneration"});
  const bool slides = std::ranges::any_of(
      layers, [](const vllm::KvLayer& layer) { return is(layer, vllm::KvKind::sliding_window); });
  const std::int64_t wrappers = slides ? 2 : 1;
  const bool large =
      args.release.has(changes::kSglangPrefersFlashAttention) && is_one_of(args, kLargeFor);
  AttentionState state;
  state.workspace = (large ? kLarge : kUsual) + (1 + 3 * wrappers) * kIntegers;
  state.captured = args.graph_max_batch * args.context_length * (kIndex * wrappers + 1) +
                   args.decode_graphs * wrappers * kIntegers;
  return state;
}

}  // namespace

AttentionState attention_state(const ServerArgs& args, const std::vector<vllm::KvLayer>& layers) {
  const std::string_view backend = backend_of(args, layers);
  AttentionState state;
  if (backend == "flashinfer") state = flashinfer_state(args, layers);
  // 0.4.5 has other tables; a start-up with a million tokens (SGLang's issue 5212)
  // contradicts their copies.
  if (backend == "fa3" && args.release.has(changes::kSglangPrefersFlashAttention))
    state = {.captured = flash_attention_tables(args, layers),
             .captured_of_posts = untrimmed_local_tables(args, layers)};
  if (!args.cuda_graphs) state.captured = state.captured_of_posts = 0;
  return state;
}

}  // namespace memtape::sglang
