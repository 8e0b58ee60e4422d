// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/graphs.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/text.h"
#include "model/config_fields.h"

namespace memtape::vllm {
namespace {

using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t kFineStep = 8;

/// 1, 2, 4, every 8 below 256, then every 16, in older releases every 8.
Sizes grid(const Settings& s, std::int64_t most) {
  constexpr std::int64_t kCoarseStep = 16;
  const std::int64_t fine = s.release.has(changes::kVllmCapturesCoarserSizes) ? 256 : most;
  Sizes sizes;
  for (const std::int64_t size : {1, 2, 4})
    if (size <= most) sizes.push_back(size);
  for (std::int64_t size = kFineStep; size <= most; size += size < fine ? kFineStep : kCoarseStep)
    sizes.push_back(size);
  return sizes;
}

void sort_once(Sizes& sizes) {
  std::ranges::sort(sizes);
  sizes.erase(std::ranges::unique(sizes).begin(), sizes.end());
}

/// A decoding step asks for the new token and for those that were proposed.
std::int64_t decode_length(const Settings& s) { return 1 + s.speculation.tokens; }

/// The batches of decoding steps that the grid may lack.
Sizes decode_sizes(const Settings& s, std::int64_t platform_most, std::int64_t most) {
  const std::int64_t length = decode_length(s);
  if (length == 1) return s.max_num_seqs <= most ? Sizes{s.max_num_seqs} : Sizes{};
  const std::int64_t requests = std::min(s.max_num_seqs, platform_most);
  Sizes counts = grid(s, requests), sizes;
  counts.push_back(requests);
  for (const std::int64_t count : counts)
    if (count * length <= most) sizes.push_back(count * length);
  return sizes;
}

/// The default of datacentre Blackwell is another (is_device_capability_family(100)).
std::int64_t platform_limit(const Settings& s) {
  constexpr std::int64_t kMost = 512, kMostOfBlackwell = 1024;
  return s.device.traits.major == 10 ? kMostOfBlackwell : kMost;
}

/// The V0 engine captures batches until one holds all requests; the first V1 engines captured all
/// sizes.
Sizes sizes_of_old(const Settings& s) {
  if (s.runner == Runner::v0)
    return grid(s, (s.max_num_seqs + kFineStep - 1) / kFineStep * kFineStep);
  const bool by_batch = s.release.has(changes::kVllmSizesGraphsByBatch);
  const std::int64_t most =
      by_batch ? std::min(s.max_num_seqs * 2, platform_limit(s)) : platform_limit(s);
  return grid(s, std::min(most, s.max_num_batched_tokens));
}

Sizes default_sizes(const Settings& s, std::optional<std::int64_t> asked) {
  if (!s.release.has(changes::kVllmCapturesCoarserSizes)) return sizes_of_old(s);
  const std::int64_t platform = platform_limit(s), tokens = s.max_num_batched_tokens;
  std::int64_t most = asked.value_or(std::min(s.max_num_seqs * decode_length(s) * 2, platform));
  const Sizes decoding = asked ? Sizes{} : decode_sizes(s, platform, most);
  most = std::min(most, tokens);
  Sizes sizes = grid(s, most);
  if (tokens <= most) sizes.push_back(tokens);
  for (const std::int64_t size : decoding)
    if (size <= tokens) sizes.push_back(size);
  sort_once(sizes);
  return sizes;
}

/// "1,2,4", "1 2 4" or "[1, 2, 4]".
Result<Sizes> sizes_of(std::string text) {
  constexpr const char* kFlag = "--cudagraph-capture-sizes";
  std::ranges::replace(text, ' ', ',');
  if (!text.starts_with('[')) text = fmt::format("[{}]", text);
  std::string list;
  for (const char c : text)
    if (c != ',' || !list.ends_with(',')) list += c;
  const Result<Config> read = Config::parse(fmt::format("{{\"sizes\": {}}}", list), kFlag);
  if (!read) return bad_input("is no list of sizes", kFlag, "1,2,4,8");
  Sizes sizes = read->integers("sizes");
  if (!read->check() || std::ranges::any_of(sizes, [](auto size) { return size < 1; }))
    return bad_input("is no list of sizes", kFlag, "1,2,4,8");
  return sizes;
}

/// OPTIMIZATION_LEVEL_00 to _03 of vllm/config/vllm.py.
struct Level {
  bool compiles;
  const char* mode;
};
constexpr std::array kLevels{Level{false, "NONE"}, Level{true, "PIECEWISE"},
                             Level{true, "FULL_AND_PIECEWISE"}, Level{true, "FULL_AND_PIECEWISE"}};

/// CompilationConfig of vllm/config/compilation.py, 0.6 to 0.33: what is read, and what is not.
constexpr std::string_view
    kRead = "mode level cudagraph_mode cudagraph_capture_sizes",
    kOthers =
        "backend bs_to_padded_graph_size cache_dir candidate_compile_sizes "
        "capture_sizes compile_cache_save_format compile_mm_encoder "
        "compile_ranges_endpoints compile_ranges_split_points compile_sizes "
        "cudagraph_copy_inputs cudagraph_decoder_replay cudagraph_mm_encoder "
        "cudagraph_num_of_warmups cudagraph_specialize_lora custom_ops "
        "debug_dump_path decoder_replay_cudagraph_capture_sizes "
        "decoder_replay_trim_threshold dynamic_shapes_config "
        "encoder_cudagraph_max_frames_per_batch "
        "encoder_cudagraph_max_images_per_batch "
        "encoder_cudagraph_max_vision_items_per_batch "
        "encoder_cudagraph_token_budgets fast_moe_cold_start full_cuda_graph "
        "inductor_compile_config inductor_hash_cache inductor_passes "
        "ir_enable_torch_wrap max_capture_size max_cudagraph_capture_size "
        "pass_config splitting_ops static_all_moe_layers use_cudagraph "
        "use_inductor use_inductor_graph_partition";

Result<void> read_config(const std::string& text, Settings& s, std::string& mode) {
  constexpr const char* kFlag = "--compilation-config";
  const Result<Config> given = Config::parse(text, kFlag);
  if (!given) return tl::unexpected(given.error());
  if (const auto known = check_keys(*given, kFlag, {kRead, kOthers}); !known) return known;
  s.compiles = given->integer({"mode", "level"}, s.compiles ? 3 : 0) != 0;
  // Without compilation there are no pieces.
  const std::string otherwise = s.compiles || mode == "NONE" ? mode : "FULL_DECODE_ONLY";
  mode = given->text("cudagraph_mode", otherwise);
  std::ranges::transform(mode, mode.begin(), [](unsigned char c) { return std::toupper(c); });
  constexpr auto kModes = std::to_array<std::string_view>(
      {"NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"});
  if (std::ranges::find(kModes, mode) == kModes.end())
    return bad_input("unknown mode \"" + mode + "\"", std::string(kFlag) + ": cudagraph_mode",
                     suggestion(mode, kModes));
  s.capture_sizes = given->integers("cudagraph_capture_sizes");
  return given->check();
}

}  // namespace

Result<void> read_graphs(const ServeOptions& options, Settings& s) {
  s.enforce_eager = options.has("enforce-eager");
  s.estimate_cuda_graphs = false;
  // The V0 engine compiles nothing (CompilationLevel.NO_COMPILATION) and captures whole steps.
  s.full_graphs = s.runner == Runner::v0 && !s.enforce_eager;
  if (s.enforce_eager || s.runner == Runner::v0) return {};
  const Result<std::int64_t> level = options.integer("optimization-level", 2, {0, 3});
  if (!level) return tl::unexpected(level.error());
  s.compiles = kLevels[static_cast<std::size_t>(*level)].compiles;
  std::string mode = kLevels[static_cast<std::size_t>(*level)].mode;
  if (const std::string* text = options.find("compilation-config"))
    if (const Result<void> read = read_config(*text, s, mode); !read) return read;
  if (mode == "FULL_AND_PIECEWISE" && !s.release.has(changes::kVllmCapturesWholeDecodes))
    mode = "PIECEWISE";
  const bool estimates = s.runner == Runner::v2 ? s.release.has(changes::kVllmEstimatesGraphsOfV2)
                                                : s.release.has(changes::kVllmTakesMoreOfTheDevice);
  s.estimate_cuda_graphs = estimates && options.text("estimate-cuda-graphs", "1") != "0";
  // "Pooling models do not support full cudagraphs" (vllm/config/vllm.py).
  if (s.pooling && mode != "NONE") mode = s.compiles ? "PIECEWISE" : "NONE";
  s.full_graphs = mode.starts_with("FULL");
  s.piecewise_graphs = mode.ends_with("PIECEWISE");
  return {};
}

Result<void> choose_capture_sizes(const ServeOptions& options, Settings& s) {
  if (!s.full_graphs && !s.piecewise_graphs) return {};
  if (const std::string* text = options.find("cudagraph-capture-sizes")) {
    Result<Sizes> sizes = sizes_of(*text);
    if (!sizes) return tl::unexpected(sizes.error());
    s.capture_sizes = *std::move(sizes);
    const bool is_limit = !s.release.has(changes::kVllmCapturesCoarserSizes);
    if (is_limit && s.capture_sizes.size() == 1) s.capture_sizes = grid(s, s.capture_sizes[0]);
  }
  std::optional<std::int64_t> most;
  if (options.has("max-cudagraph-capture-size")) {
    const auto given = options.integer("max-cudagraph-capture-size", 0, {1, 1 << 20});
    if (!given) return tl::unexpected(given.error());
    most = *given;
  }
  if (s.capture_sizes.empty()) {
    s.capture_sizes = default_sizes(s, most);
    return {};
  }
  std::erase_if(s.capture_sizes, [&](auto size) { return size > s.max_num_batched_tokens; });
  sort_once(s.capture_sizes);
  return {};
}

std::vector<std::int64_t> full_graph_sizes(const Settings& s) {
  Sizes sizes;
  if (!s.full_graphs || s.capture_sizes.empty()) return sizes;
  if (s.runner == Runner::v0) return s.capture_sizes;
  const std::int64_t length = decode_length(s), most = s.capture_sizes.back();
  for (const std::int64_t size : s.capture_sizes) {
    const std::int64_t rounded = (size + length - 1) / length * length;
    if (rounded <= s.max_num_seqs * length && rounded <= most) sizes.push_back(rounded);
  }
  sort_once(sizes);
  return sizes;
}

std::int64_t captures_of_a_size(const Settings& s) {
  return s.lora && s.release.has(changes::kVllmCapturesAdaptersApart) ? 2 : 1;
}

}  // namespace memtape::vllm
