// SPDX-License-Identifier: Apache-2.0
#include "framework/sglang/server_args.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "framework/vllm/ops.h"
#include "framework/vllm/resolve.h"
#include "mesh/reported_memory.h"
#include "model/stored_dtype.h"
#include "model/type_of.h"
#include "serving/engine_release.h"
#include "serving/serve_gpus.h"

namespace memtape::sglang {
namespace {

/// _get_and_verify_dtype: float32 checkpoints are served in float16, Gemma's in bfloat16.
Result<DType> dtype_of(const ServeOptions& options, const Config& config) {
  constexpr std::array<std::string_view, 6> kNames{"auto",    "bfloat16", "float16",
                                                   "float32", "half",     "float"};
  constexpr std::array kTypes{DType::bfloat16, DType::bfloat16, DType::float16,
                              DType::float32,  DType::float16,  DType::float32};
  const Result<std::size_t> given = options.choice("dtype", kNames, "auto");
  if (!given) return tl::unexpected(given.error());
  if (*given > 0) return kTypes[*given];
  // Its kernels for MXFP4 take bfloat16 alone.
  if (config.object("quantization_config").text("quant_method", "") == "mxfp4")
    return DType::bfloat16;
  const Result<DType> held = stored_dtype(config);
  if (!held || *held != DType::float32) return held;
  return type_of(config).starts_with("gemma") ? DType::bfloat16 : DType::float16;
}

/// get_context_length (utils/hf_transformers_utils.py): what ropes multiply counts, unless they say
/// what it was before.
std::int64_t longest(const Config& config) {
  std::int64_t length = 2048;
  for (const char* key : {"max_sequence_length", "seq_length", "max_seq_len", "model_max_length",
                          "max_position_embeddings"})
    if (const auto value = config.optional_integer(key)) {
      length = *value;
      break;
    }
  const Config rope = config.object({"rope_parameters", "rope_scaling"});
  const bool counted = rope.has("original_max_position_embeddings") ||
                       rope.text({"rope_type", "type"}, "") == "llama3";
  const double factor = counted ? 1.0 : rope.optional_number("factor").value_or(1.0);
  return static_cast<std::int64_t>(static_cast<double>(length) * factor);
}

Result<vllm::KvDType> kv_dtype_of(const ServeOptions& options) {
  using vllm::KvDType;
  constexpr std::array<std::string_view, 6> kNames{"auto", "bfloat16", "bf16",
                                                   "fp8",  "fp8_e4m3", "fp8_e5m2"};
  constexpr std::array kTypes{KvDType::model, KvDType::bfloat16, KvDType::bfloat16,
                              KvDType::fp8,   KvDType::fp8,      KvDType::fp8};
  const Result<std::size_t> given = options.choice("kv-cache-dtype", kNames, "auto");
  if (!given) return tl::unexpected(given.error());
  return kTypes[*given];
}

/// is_hybrid_swa_model: architectures whose sliding layers get a pool of their own.
bool has_swa_pool(const Config& config) {
  constexpr std::array<std::string_view, 11> kArchitectures{"Llama4ForConditionalGeneration",
                                                            "GptOssForCausalLM",
                                                            "GraniteSWAForCausalLM",
                                                            "GraniteMoeSWAForCausalLM",
                                                            "MiMoV2FlashForCausalLM",
                                                            "Step3p5ForCausalLM",
                                                            "Gemma4ForCausalLM",
                                                            "Gemma4ForConditionalGeneration",
                                                            "LagunaForCausalLM",
                                                            "MellumForCausalLM",
                                                            "MuseGlimmerForCausalLM"};
  const std::vector<std::string> names = config.texts("architectures");
  return std::ranges::any_of(names, [&](const std::string& name) {
    return std::ranges::find(kArchitectures, name) != kArchitectures.end();
  });
}

/// _MAMBA_EXTRA_BUFFER_ARCHS of srt/arg_groups/overrides.py, of the architectures known here.
bool has_extra_buffer(const Config& whole) {
  constexpr std::array<std::string_view, 6> kTypes{"qwen3_next", "qwen3_5",          "qwen3_5_moe",
                                                   "falcon_h1",  "granitemoehybrid", "nemotron_h"};
  return std::ranges::find(kTypes, type_of(whole)) != kTypes.end();
}

/// multimodal_breakable_cuda_graph_supported_model_archs of srt/configs/model_config.py, of the
/// architectures known here.
bool captures_images(const Config& whole) {
  constexpr std::array<std::string_view, 3> kArchitectures{"Qwen3_5ForConditionalGeneration",
                                                           "Qwen3_5MoeForConditionalGeneration",
                                                           "KimiK25ForConditionalGeneration"};
  const std::vector<std::string> names = whole.texts("architectures");
  return std::ranges::any_of(names, [&](const std::string& name) {
    return std::ranges::find(kArchitectures, name) != kArchitectures.end();
  });
}

class Reader {
 public:
  Reader(const ServeRequest& request, const Config& whole, std::vector<std::string>& warnings)
      : request_(request),
        options_(request.options),
        device_(request.device),
        whole_(whole),
        config_(vllm::text_config(whole)),
        warnings_(warnings) {}

  Result<ServerArgs> read() {
    version();
    model();
    parallel();
    sizes();
    shares();
    caches();
    if (problem_) return tl::unexpected(*problem_);
    return std::move(a_);
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

  void fail(tl::unexpected<Error> error) {
    if (!problem_) problem_ = std::move(error).value();
  }

  std::optional<std::int64_t> optional_integer(const char* name, std::int64_t least = 1) {
    if (!options_.has(name)) return std::nullopt;
    std::int64_t value = 0;
    take(options_.integer(name, 0, {least, std::int64_t{1} << 40}), value);
    return value;
  }

  void version() {
    a_.version = options_.text("engine-version", kVersion);
    take(engine_release(options_, Package::sglang, kVersion, request_.release), a_.release);
  }

  /// ATTENTION_BACKEND_CHOICES of all releases.
  void backend() {
    constexpr auto kBackends = std::to_array<std::string_view>({"triton",
                                                                "torch_native",
                                                                "flex_attention",
                                                                "flashinfer",
                                                                "fa3",
                                                                "fa4",
                                                                "flashmla",
                                                                "cutlass_mla",
                                                                "cutedsl_mla",
                                                                "tokenspeed_mla",
                                                                "trtllm_mla",
                                                                "trtllm_mha",
                                                                "nsa",
                                                                "dsa",
                                                                "dsv4",
                                                                "compressed",
                                                                "dual_chunk_flash_attn",
                                                                "hybrid_linear_attn",
                                                                "aiter",
                                                                "wave",
                                                                "ascend",
                                                                "intel_amx",
                                                                "intel_xpu"});
    const auto known = options_.choice("attention-backend", kBackends, kBackends.front());
    if (!known) problem_ = known.error();
    if (const auto names = whole_.texts("architectures"); !names.empty())
      a_.architecture = names.front();
    a_.attention_backend = options_.text("attention-backend", "");
  }

  void model() {
    backend();
    vllm::Settings& s = a_.model;
    constexpr int kTuring = 75;  // "SGLang only supports sm75 and above" (model_runner.py)
    take(vllm::device_facts(device_, "SGLang", kTuring), s.device);
    take(dtype_of(options_, config_), s.dtype);
    take(kv_dtype_of(options_), s.kv_dtype);
    s.enforce_eager = true;
    s.parallel.sums_with_own_kernel = !options_.has("disable-custom-all-reduce");
    s.prefix_caching = false;
    s.sglang_layers = true;
    take(vllm::cpu_offload_of(options_), s.cpu_offload);
    take(lora_pool_of(options_, warnings_), a_.lora);
    if (a_.lora) s.lora = vllm::LoraSettings{a_.lora->adapters, a_.lora->rank};
    const std::string state = config_.text("mamba_ssm_dtype", "float32");
    s.ssm_dtype = options_.text("mamba-ssm-dtype", state);
    const std::string scheme = options_.text("quantization", "");
    if (scheme == "fp8" && config_.is_null("quantization_config"))
      s.online = vllm::OnlineScheme::fp8;
    else if (!scheme.empty() && config_.is_null("quantization_config"))
      fail(unsupported("an unquantized checkpoint cannot be served so", "--quantization",
                       "fp8, or a checkpoint that is quantized already"));
  }

  void parallel() {
    vllm::Parallel& p = a_.model.parallel;
    constexpr IntegerRange kRanks{1, 4096};
    std::int64_t experts = 1, attention = 1;
    take(options_.integer("tp-size", 1, kRanks), p.tp);
    take(options_.integer("pp-size", 1, kRanks), p.pp);
    take(options_.integer("dp-size", 1, kRanks), a_.replicas);
    take(options_.integer("ep-size", 1, kRanks), experts);
    take(options_.integer("attn-dp-size", 1, kRanks), attention);
    if (experts != 1 && experts != p.tp)
      fail(unsupported("experts are modelled over one or all tensor ranks", "--ep-size",
                       fmt::format("1 or {}", p.tp)));
    if (options_.has("enable-dp-attention") && attention == 1)
      attention = std::exchange(a_.replicas, 1);
    if (p.tp % attention != 0)
      fail(bad_input(fmt::format("{} tensor ranks are no {} groups of one size", p.tp, attention),
                     options_.has("attn-dp-size") ? "--attn-dp-size" : "--dp-size",
                     "a divisor of --tp-size"));
    p.attention_dp = static_cast<int>(attention);
    if (attention > 1)
      warnings_.push_back(
          fmt::format("{} groups of ranks attend to requests of their own: the tokens and requests "
                      "are those of one of them",
                      attention));
    p.expert_parallel = experts > 1;
    if (problem_) return;
    if (const auto used = all_gpus_used(request_, "SGLang", p.tp * p.pp * a_.replicas, "--tp-size");
        !used)
      problem_ = used.error();
    warn_of_idle_gpus(request_, "SGLang", p.tp * p.pp * a_.replicas, warnings_);
  }

  /// handle_data_parallelism (srt/arg_groups/parallel_hook.py), and init_memory_pool, which counts
  /// the requests of one group.
  void divide_among_groups() {
    const std::int64_t groups = a_.model.parallel.attention_dp;
    a_.chunked_prefill_size /= groups;
    if (a_.max_running_requests) *a_.max_running_requests /= groups;
  }

  void sizes() {
    const std::int64_t most = longest(config_);
    const auto length = optional_integer("context-length");
    a_.context_length = length.value_or(most);
    if (a_.context_length > most)
      warnings_.push_back(
          fmt::format("--context-length {} is more than the model's {}: SGLang "
                      "refuses it unless SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
                      "=1",
                      a_.context_length, most));
    a_.page_size = optional_integer("page-size").value_or(1);
    a_.max_running_requests = optional_integer("max-running-requests");
    a_.max_total_tokens = optional_integer("max-total-tokens");
    a_.max_mamba_cache_size = optional_integer("max-mamba-cache-size");
    a_.model.max_model_len = a_.context_length;
    const std::string backend = options_.text("cuda-graph-backend-decode", "");
    const bool is_off =
        options_.has("disable-cuda-graph") || options_.has("disable-decode-cuda-graph");
    a_.cuda_graphs = backend.empty() ? !is_off : backend != "disabled";
  }

  /// get_device_memory_capacity: nvidia-smi's figure.
  double gpu_mib() {
    constexpr double kMiB = 1 << 20;
    Bytes bytes = device_.gpu && !device_.total_override ? reported_bytes(*device_.gpu) : 0;
    if (bytes == 0) bytes = a_.model.device.total;
    return static_cast<double>(bytes) / kMiB;
  }

  /// apply_cuda_graph_compatibility (srt/arg_groups/cuda_graph_hook.py): pipelines and images are
  /// prefilled without graphs unless a backend is asked for.
  bool has_prefill_graphs() const {
    const std::string backend = options_.text("cuda-graph-backend-prefill", "");
    if (!backend.empty()) return backend != "disabled";
    if (options_.has("disable-cuda-graph") || options_.has("disable-prefill-cuda-graph"))
      return false;
    if (a_.model.parallel.pp > 1) return false;
    return !whole_.has("vision_config") || captures_images(whole_);
  }

  /// adjust_mem_fraction_for_vlm (srt/arg_groups/memory_hook.py): multimodal models leave room for
  /// the encoder, the more the larger it is beside a ViT-L; up to 0.4.7 as much for all.
  double share_beside_vision() const {
    constexpr double kShare = 0.95, kSensitivity = 0.1, kLeast = 0.8, kMost = 1.05;
    constexpr double kLayers = 24, kWidth = 1024;
    if (!whole_.has("vision_config")) return 1;
    if (!a_.release.has(changes::kSglangReservesByDevice)) return kShare;
    const Config vision = whole_.object("vision_config");
    const double layers = vision.number("num_hidden_layers", kLayers);
    const double width = vision.number("hidden_size", kWidth);
    const double size = layers * width * width / (kLayers * kWidth * kWidth);
    return kShare * std::clamp(1 - kSensitivity * (size - 1), kLeast, kMost);
  }

  void shares() {
    DefaultsInput input{.gpu_mib = gpu_mib(),
                        .tp = a_.model.parallel.tp,
                        .pp = a_.model.parallel.pp,
                        .attention_dp = a_.model.parallel.attention_dp,
                        .mla = config_.has("kv_lora_rank"),
                        .graphs = a_.cuda_graphs,
                        .prefill_graphs = has_prefill_graphs(),
                        .prefill_graph_max = optional_integer("cuda-graph-max-bs-prefill"),
                        .chunked_prefill_size = optional_integer("chunked-prefill-size", -1),
                        .graph_max_batch = optional_integer("cuda-graph-max-bs"),
                        .max_running_requests = a_.max_running_requests};
    if (a_.max_total_tokens && !input.prefill_graph_max)
      input.prefill_graph_max = a_.max_total_tokens;
    take(options_.integer("max-prefill-tokens", 16384, {1, 1 << 24}), input.max_prefill_tokens);
    if (problem_) return;
    const Defaults defaults = defaults_of(a_.release, input);
    a_.chunked_prefill_size = defaults.chunked_prefill_size > 0 ? defaults.chunked_prefill_size
                                                                : input.max_prefill_tokens;
    divide_among_groups();
    a_.graph_max_batch = defaults.graph_max_batch;
    a_.decode_graphs = defaults.decode_graphs;
    a_.decode_rows = defaults.decode_rows;
    a_.prefill_graph_bytes = static_cast<Bytes>(defaults.prefill_graph_mib) << 20;
    a_.model.max_num_batched_tokens = a_.chunked_prefill_size;
    a_.model.max_num_seqs = a_.graph_max_batch;
    const double share = defaults.mem_fraction_static * share_beside_vision();
    take(options_.number("mem-fraction-static", share), a_.mem_fraction_static);
    if (!problem_ && (a_.mem_fraction_static <= 0 || a_.mem_fraction_static >= 1))
      fail(bad_input(fmt::format("{:.3f} is not a share of the GPU", a_.mem_fraction_static),
                     "--mem-fraction-static", "more than 0, less than 1"));
  }

  void caches() {
    take(options_.number("swa-full-tokens-ratio", 0.8), a_.swa_full_tokens_ratio);
    take(options_.number("mamba-full-memory-ratio", 0.9), a_.mamba_full_memory_ratio);
    if (a_.swa_full_tokens_ratio <= 0 || a_.swa_full_tokens_ratio > 1)
      fail(bad_input("is no ratio", "--swa-full-tokens-ratio", "more than 0, at most 1"));
    if (a_.mamba_full_memory_ratio <= 0)
      fail(bad_input("is no ratio", "--mamba-full-memory-ratio", "more than 0"));
    a_.radix_cache = !options_.has("disable-radix-cache");
    a_.tracks_states = a_.release.has(changes::kSglangTracksStates) && has_extra_buffer(whole_);
    a_.hybrid_swa = has_swa_pool(whole_) && !options_.has("disable-hybrid-swa-memory") &&
                    a_.release.has(type_of(whole_) == "llama4" ? changes::kSglangSlidesChunks
                                                               : changes::kSglangSlidesApart);
    if (type_of(whole_) == "deepseek_v4") compressed_caches();
  }

  /// apply_deepseek_v4_defaults (srt/arg_groups/deepseek_v4_hook.py), and the pool of windows by
  /// requests, which may run or of which the tree keeps the last tokens (DSV4PoolConfigurator,
  /// compute_swa_request_cap).
  void compressed_caches() {
    constexpr std::int64_t kPage = 256, kRequests = 256, kEvictionInterval = 128, kKept = 4;
    a_.hybrid_swa = a_.states_by_request = true;
    if (!options_.has("page-size")) a_.page_size = kPage;
    const std::int64_t requests = a_.max_running_requests.value_or(kRequests);
    a_.max_running_requests = a_.max_mamba_cache_size = requests;
    if (options_.has("swa-full-tokens-ratio")) return;
    const std::int64_t window = config_.integer("sliding_window", 0), page = a_.page_size;
    const std::int64_t kept = a_.radix_cache ? kKept * requests : 0;
    const std::int64_t each = window + kEvictionInterval + 2 * page;
    const std::int64_t tokens =
        requests * each + 2 * a_.chunked_prefill_size + page + kept * (window + page);
    a_.swa_tokens = vllm::round_up(tokens, page);
  }

  const ServeRequest& request_;
  const ServeOptions& options_;
  const DeviceSetup& device_;
  const Config& whole_;
  const Config config_;
  std::vector<std::string>& warnings_;
  ServerArgs a_;
  std::optional<Error> problem_;
};

}  // namespace

Result<ServerArgs> resolve(const ServeRequest& request, const Config& whole,
                           std::vector<std::string>& warnings) {
  return Reader(request, whole, warnings).read();
}

}  // namespace memtape::sglang
