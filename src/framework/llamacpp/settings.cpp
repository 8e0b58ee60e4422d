// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/settings.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/comma_list.h"
#include "base/text.h"
#include "base/typed_number.h"

namespace memtape::llamacpp {
namespace {

constexpr std::int64_t kMostSequences = 256;  ///< LLAMA_MAX_SEQ
constexpr std::int64_t kMostTokens = std::int64_t{1} << 31;
constexpr int kMostGpus = 15;             ///< GGML_SCHED_MAX_BACKENDS, less the CPU
constexpr std::int64_t kServerSlots = 4;  ///< llama-server's own choice, with one cache for all
constexpr std::array kDeviceKinds{DeviceKind::cuda,   DeviceKind::rocm,  DeviceKind::sycl,
                                  DeviceKind::vulkan, DeviceKind::metal, DeviceKind::opencl,
                                  DeviceKind::rpc};

/// Calls that fill `Settings` one flag at a time; the first error is kept.
class Reader {
 public:
  Reader(const ServeRequest& request, Settings& settings)
      : options_(request.options), device_(request.device), s_(settings) {}

  Result<void> read() {
    take(Build::named(options_.text("engine-version", "0.5.0")), s_.build);
    if (problem_) return tl::unexpected(*problem_);
    sizes();
    caches();
    layout();
    if (problem_) return tl::unexpected(*problem_);
    return {};
  }

 private:
  template <class T, class V>
  void take(Result<T> value, V& into) {
    if (!value) {
      if (!problem_) problem_ = value.error();
      return;
    }
    into = static_cast<V>(*value);
  }

  void fail(std::string_view flag, std::string what, std::string hint) {
    if (!problem_)
      problem_ =
          Error{ErrorKind::bad_input, std::move(what), fmt::format("--{}", flag), std::move(hint)};
  }

  void sizes() {
    take(options_.integer("ctx-size", s_.build.default_context(), {0, kMostTokens}), s_.n_ctx);
    take(options_.integer("batch-size", 2048, {1, kMostTokens}), s_.n_batch);
    take(options_.integer("ubatch-size", 512, {0, kMostTokens}), s_.n_ubatch);
    const bool chosen = options_.has("parallel") && options_.text("parallel", "") != "-1";
    if (chosen)
      take(options_.integer("parallel", 1, {1, kMostSequences}), s_.n_seq_max);
    else
      s_.n_seq_max = s_.build.has_four_slots() ? kServerSlots : 1;
    s_.kv_unified = !chosen;
    if (options_.has("kv-unified")) s_.kv_unified = true;
    if (options_.has("no-kv-unified")) s_.kv_unified = false;
    if (!s_.build.writes_rows()) s_.kv_unified = true;
    drafts();
    embeddings();
    // the server asks for a row of logits per slot, and for those of its drafts
    const bool pooled = s_.embeddings || s_.pooling > Pooling::none;
    const bool limited = s_.build.limits_outputs() && !pooled;
    const std::int64_t outputs = limited ? s_.n_seq_max * (1 + proposed_) : 0;
    take(options_.integer("n-outputs-max", outputs, {0, kMostTokens}), s_.n_outputs_max);
  }

  void cache_type(std::initializer_list<std::string_view> flags, ggml::Type& into) {
    constexpr std::array<std::string_view, 9> kTypes{"f32",  "f16",    "bf16", "q8_0", "q4_0",
                                                     "q4_1", "iq4_nl", "q5_0", "q5_1"};
    for (const std::string_view from : flags) {
      const std::string* typed = options_.find(from);
      if (!typed) continue;
      const auto at = std::ranges::find(kTypes, *typed);
      if (at == kTypes.end())
        return fail(from, fmt::format("unusable value \"{}\"", *typed), suggestion(*typed, kTypes));
      into = *ggml::type_from_name(*typed);
    }
  }

  /// Embeddings need all tokens in one batch (tools/server/server.cpp).
  void embeddings() {
    constexpr std::array<std::string_view, 5> kPoolings{"none", "mean", "cls", "last", "rank"};
    std::size_t pooling = 0;
    take(options_.choice("pooling", kPoolings, "none"), pooling);
    if (options_.has("pooling")) s_.pooling = static_cast<Pooling>(pooling);
    if (options_.has("reranking")) s_.pooling = Pooling::rank;
    s_.embeddings = options_.has("embedding") || options_.has("reranking");
    if (s_.embeddings && s_.n_ubatch > 0) s_.n_batch = std::min(s_.n_batch, s_.n_ubatch);
  }

  /// --spec-type: proposals of the model's own head, or of tables without weights.
  void drafts() {
    struct Kind {
      std::string_view name;
      std::int64_t proposed;  ///< -1: as many as --spec-draft-n-max says
      bool snapshots = false, has_weights = false;
    };
    constexpr std::array<Kind, 11> kKinds{{{"none", 0},
                                           {"draft-mtp", -1, true},
                                           {"draft-simple", -1, false, true},
                                           {"draft-eagle3", -1, true, true},
                                           {"draft-dflash", -1, true, true},
                                           {"draft-dspark", -1, true, true},
                                           {"ngram-simple", 48},
                                           {"ngram-map-k", 48},
                                           {"ngram-map-k4v", 48},
                                           {"ngram-mod", 64},
                                           {"ngram-cache", 8}}};
    const std::string all = options_.text("spec-type", "none");
    std::int64_t most = 3;
    take(options_.integer("spec-draft-n-max", most, {0, 1 << 10}), most);
    for (const std::string_view typed : split_at_commas(all)) {
      const auto kind = std::ranges::find(kKinds, typed, &Kind::name);
      if (kind == kKinds.end())
        return fail("spec-type", fmt::format("unusable value \"{}\"", typed), "draft-mtp");
      proposed_ = std::max(proposed_, kind->proposed < 0 ? most : kind->proposed);
      if (kind->snapshots) s_.n_snapshots = most;
      if (typed == "draft-mtp") s_.drafts = true;
      if (kind->has_weights && !options_.has("spec-draft-model"))
        s_.warnings.push_back(fmt::format(
            "--spec-type {} without --spec-draft-model: no draft model is counted", typed));
    }
  }

  void caches() {
    constexpr std::array<std::string_view, 9> kFlash{"off",   "on",   "auto", "0",       "1",
                                                     "false", "true", "",     "disabled"};
    constexpr std::array kMeans{FlashAttention::off, FlashAttention::on, FlashAttention::automatic,
                                FlashAttention::off, FlashAttention::on, FlashAttention::off,
                                FlashAttention::on,  FlashAttention::on, FlashAttention::off};
    std::size_t flash = 2;
    const bool automatic = s_.build.offloads_by_default();
    take(options_.choice("flash-attn", kFlash, automatic ? "auto" : "off"), flash);
    s_.flash = kMeans[flash];
    cache_type({"kv-cache-dtype", "cache-type-k"}, s_.type_k);
    cache_type({"kv-cache-dtype", "cache-type-v"}, s_.type_v);
    cache_type({"spec-draft-type-k"}, s_.draft_type_k);
    cache_type({"spec-draft-type-v"}, s_.draft_type_v);
    s_.kv_offload = !options_.has("no-kv-offload");
    s_.op_offload = !options_.has("no-op-offload");
    s_.swa_full = options_.has("swa-full");
    if (s_.flash == FlashAttention::off && ggml::is_quantized(s_.type_v))
      fail("cache-type-v", "a quantized V cache needs flash attention", "leave --flash-attn auto");
  }

  void layout() {
    devices();
    const std::string layers = options_.text("n-gpu-layers", "-1");
    const std::int64_t otherwise = s_.build.offloads_by_default() ? -1 : 0;
    if (layers != "auto" && layers != "all")
      take(options_.integer("n-gpu-layers", otherwise, {-2, 1 << 20}), s_.n_gpu_layers);
    tensor_split();
    split_mode();
    s_.cpu_moe = options_.has("cpu-moe");
    take(options_.integer("n-cpu-moe", 0, {0, 1 << 20}), s_.n_cpu_moe);
    overrides();
    s_.mmap = options_.has("mmap") && !options_.has("no-mmap");
    if (const std::string* type = options_.find("quantize"))
      take(file_type_from_name(*type), s_.quantize);
    if (const std::string* type = options_.find("spec-draft-quantize"))
      take(file_type_from_name(*type), s_.draft_quantize);
    const std::string of_draft = options_.text("spec-draft-ngl", "auto");
    if (of_draft != "auto" && of_draft != "all")
      take(options_.integer("spec-draft-ngl", -1, {-2, 1 << 20}), s_.draft_gpu_layers);
  }

  /// --device names them and with them the backend; else there are as many as --gpus says.
  void devices() {
    s_.device_numbers.resize(static_cast<std::size_t>(device_.gpus));
    for (int i = 0; i < device_.gpus; ++i) s_.device_numbers[static_cast<std::size_t>(i)] = i;
    if (device_.gpu) kind_of(*device_.gpu);
    const std::string named = options_.text("device", "");
    if (!named.empty()) named_devices(named);
    if (s_.device_kind == DeviceKind::metal)
      s_.warnings.emplace_back(
          "Metal's compute buffer follows ggml's sources; no server's log was laid beside it");
    if (std::int64_t host = 0; options_.has("host-memory-bytes")) {
      take(options_.integer("host-memory-bytes", 0, {1, std::int64_t{1} << 60}), host);
      s_.host_memory = host;
      if (s_.gpus() > 0 && s_.device_kind != DeviceKind::metal)
        fail("host-memory-bytes", "only what runs without a GPU is judged by it", "--device none");
    }
    if (s_.gpus() > kMostGpus)
      fail("gpus", fmt::format("llama.cpp takes {} at most", kMostGpus), "");
  }

  /// The backend that llama.cpp is built with for a GPU, where --device names no other.
  void kind_of(const Gpu& gpu) {
    const bool is_gaudi = gpu.architecture.starts_with("Gaudi");
    if (gpu.runs_cuda())
      s_.capability = gpu.capability() * 10;
    else if (gpu.vendor == "AMD")
      s_.device_kind = DeviceKind::rocm;
    else if (gpu.vendor == "Apple")
      s_.device_kind = DeviceKind::metal;
    else if (gpu.vendor == "Intel" && !is_gaudi)
      s_.device_kind = DeviceKind::sycl;
    else
      fail("gpu", fmt::format("llama.cpp has no backend for {}", gpu.name),
           "a GPU of NVIDIA's, AMD's, Intel's or Apple's");
    if (!gpu.runs_cuda() && s_.device_kind != DeviceKind::metal)
      s_.warnings.emplace_back(
          "what the driver and the backend's libraries hold on this GPU is not "
          "counted: no context was measured");
  }

  void named_devices(const std::string& named) {
    s_.device_numbers.clear();
    if (named == "none") return;
    for (std::string_view name : split_at_commas(named)) {
      if (name == "Metal") name = "MTL0";  // before pull request 18919
      if (name == "GPUOpenCL") name = "OpenCL0";
      const std::size_t digits = std::min(name.find_first_of("0123456789"), name.size());
      const std::string_view prefix = name.substr(0, digits);
      const auto kind = std::ranges::find(kDeviceKinds, prefix, prefix_of);
      const auto number = whole_number(name.substr(digits));
      if (kind == kDeviceKinds.end() || !number || *number > std::numeric_limits<int>::max())
        return fail("device", fmt::format("no device \"{}\" is modelled", name),
                    "CUDA0, ROCm0, SYCL0, Vulkan0, MTL0, GPUOpenCL, RPC0 or none");
      if (!s_.device_numbers.empty() && *kind != s_.device_kind)
        return fail("device", "devices of two kinds together are not modelled", "one kind");
      s_.device_kind = *kind;
      s_.device_numbers.push_back(static_cast<int>(*number));
    }
  }

  /// Without a split, the main GPU is the only device (llama.cpp, llama_model_load_from_file_impl).
  void split_mode() {
    constexpr std::array<std::string_view, 3> kSplits{"none", "layer", "row"};
    std::size_t split = 1;
    take(options_.choice("split-mode", kSplits, "layer"), split);
    std::int64_t main = 0;
    take(options_.integer("main-gpu", 0, {0, std::max(s_.gpus() - 1, 0)}), main);
    if (split == 2) row_split();
    if (split != 0 || s_.gpus() == 0) return;
    s_.device_numbers = {s_.device_numbers[static_cast<std::size_t>(main)]};
    s_.tensor_split.clear();
  }

  void row_split() {
    const bool cuda = s_.device_kind == DeviceKind::cuda || s_.device_kind == DeviceKind::rocm;
    s_.splits_rows = true;
    if (s_.build.drops_row_splits())
      fail("split-mode", "this version's CUDA backend has no buffers split by rows", "layer");
    else if (!s_.build.splits_rows_of_layers() || !cuda)
      fail("split-mode",
           fmt::format("how {} splits rows is not modelled",
                       cuda ? "a build before b4014" : prefix_of(s_.device_kind)),
           "layer");
    else if (options_.has("fit") && s_.gpus() > 1)
      fail("fit", "llama.cpp does not fit what --split-mode row splits", "--split-mode layer");
  }

  void tensor_split() {
    std::string shares = options_.text("tensor-split", "");
    std::ranges::replace(shares, '/', ',');
    for (const std::string_view part : split_at_commas(shares)) {
      const std::optional<double> share = real_number(part);
      if (!share || *share < 0)
        return fail("tensor-split", fmt::format("unusable share \"{}\"", part), "numbers like 3,1");
      s_.tensor_split.push_back(*share);
    }
    if (s_.tensor_split.size() > s_.device_numbers.size())
      fail("tensor-split", "more shares than GPUs", fmt::format("--gpus {}", s_.gpus()));
  }

  void overrides() {
    for (const std::string& all : options_.all("override-tensor"))
      for (const std::string_view part : split_at_commas(all)) {
        const std::size_t equals = part.rfind('=');
        if (equals == std::string_view::npos)
          return fail("override-tensor", fmt::format("no buffer type in \"{}\"", part),
                      "PATTERN=CPU or PATTERN=CUDA0");
        s_.overrides.emplace_back(part.substr(0, equals), part.substr(equals + 1));
      }
  }

  const ServeOptions& options_;
  const DeviceSetup& device_;
  Settings& s_;
  std::int64_t proposed_ = 0;  ///< tokens of the longest draft
  std::optional<Error> problem_;
};

}  // namespace

Result<Settings> read_settings(const ServeRequest& request) {
  Settings settings;
  if (const Result<void> read = Reader(request, settings).read(); !read)
    return tl::unexpected(read.error());
  return settings;
}

}  // namespace memtape::llamacpp
