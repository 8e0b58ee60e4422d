// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/resolve.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "framework/vllm/attention_backend.h"
#include "framework/vllm/encoders.h"
#include "framework/vllm/graphs.h"
#include "framework/vllm/models/bert.h"
#include "framework/vllm/pooling.h"
#include "framework/vllm/refusals.h"
#include "framework/vllm/runner.h"
#include "framework/vllm/speculation.h"
#include "framework/vllm/v0_batch.h"
#include "ghost/device_traits.h"
#include "mesh/gpu_speeds.h"
#include "model/config_overrides.h"
#include "model/stored_dtype.h"
#include "model/type_of.h"
#include "release/early_engine_changes.h"
#include "release/pooling_changes.h"
#include "serving/engine_release.h"
#include "serving/serve_gpus.h"

namespace memtape::vllm {
namespace {

/// get_batch_defaults of arg_utils.py, by the device's memory and name.
struct BatchDefaults {
  std::int64_t tokens, requests;
};
BatchDefaults batch_defaults(const DeviceFacts& device, bool api_server) {
  constexpr Bytes kGiB = Bytes{1} << 30;
  if (device.total >= 160 * kGiB) return {16384, 1024};
  const bool is_a100 = device.name.find("A100") != std::string::npos;
  if (device.total >= 70 * kGiB && !is_a100) return {api_server ? 8192 : 16384, 1024};
  return {api_server ? 2048 : 8192, 256};
}

/// _resolve_auto_dtype: float32 checkpoints are served in the device's preferred type, bfloat16
/// ones on older devices in float16.
Result<DType> dtype_of(const ServeOptions& options, const Config& config,
                       const DeviceFacts& device) {
  constexpr std::array<std::string_view, 6> kNames{"auto",    "bfloat16", "float16",
                                                   "float32", "half",     "float"};
  const Result<std::size_t> given = options.choice("dtype", kNames, "auto");
  if (!given) return tl::unexpected(given.error());
  constexpr std::array kTypes{DType::bfloat16, DType::bfloat16, DType::float16,
                              DType::float32,  DType::float16,  DType::float32};
  if (*given > 0) return kTypes[*given];
  const Result<DType> held = stored_dtype(config);
  if (!held) return held;
  const DType preferred = device.traits.major >= 8 ? DType::bfloat16 : DType::float16;
  return *held == DType::float32 || *held == DType::bfloat16 ? preferred : *held;
}

/// derived_max_model_len_and_key, scaled by the ropes that are not already counted in it.
std::optional<std::int64_t> longest(const Config& config) {
  std::optional<std::int64_t> length;
  for (const char* key : {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length",
                          "model_max_length", "max_sequence_length", "max_seq_length", "seq_len"})
    if (const auto value = config.optional_integer(key))
      length = std::min(length.value_or(*value), *value);
  if (!length) return length;
  const bool scales = config.has("rope_scaling") && !config.is_null("rope_scaling");
  const Config rope = config.object(scales ? "rope_scaling" : "rope_parameters");
  const std::string type = rope.text({"rope_type", "type"}, "default");
  const bool counted = type == "su" || type == "longrope" || type == "llama3" ||
                       type == "default" || type == "mrope";
  if (type == "yarn")  // what it was trained with, times the factor
    length = rope.optional_integer("original_max_position_embeddings").value_or(*length);
  const bool gemma3 = type_of(config).find("gemma3") != std::string::npos;
  if (!counted && !gemma3)
    length = static_cast<std::int64_t>(static_cast<double>(*length) *
                                       rope.optional_number("factor").value_or(1.0));
  return length;
}

/// --max-model-len: -1 and auto are the same.
bool asks_for_what_fits(const ServeOptions& options) {
  const std::string length = options.text("max-model-len", "");
  return length == "-1" || length == "auto";
}

Result<std::int64_t> model_length(const ServeOptions& options, const Config& config) {
  const std::optional<std::int64_t> most =
      encodes_text(config) ? longest_text(config) : longest(config);
  const Result<std::int64_t> given =
      asks_for_what_fits(options)
          ? Result<std::int64_t>(-1)
          : options.integer("max-model-len", 0, {-1, std::int64_t{1} << 31});
  if (!given) return given;
  if (*given == 0 && options.has("max-model-len"))
    return bad_input("0 tokens are no length", "--max-model-len", "1 or more, or -1 for what fits");
  if (*given <= 0) {
    const Config rope = config.object({"rope_parameters", "rope_scaling"});
    if (rope.text({"rope_type", "type"}, "") == "longrope")
      if (const auto original = config.optional_integer("original_max_position_embeddings"))
        return *original;
    return most.value_or(2048);
  }
  // VLLM_ALLOW_LONG_MAX_MODEL_LEN
  const bool may_exceed = options.text("allow-long-max-model-len", "0") != "0";
  if (most && *given > *most && !may_exceed)
    return bad_input(fmt::format("{} is longer than the model's {} positions", *given, *most),
                     "--max-model-len", fmt::format("{} at most", *most));
  return given;
}

Result<void> read_parallel(const ServeOptions& options, Parallel& parallel) {
  const auto size = [&](const char* name, int& value) -> Result<void> {
    const Result<std::int64_t> given = options.integer(name, 1, {1, 4096});
    if (!given) return tl::unexpected(given.error());
    value = static_cast<int>(*given);
    return {};
  };
  if (auto read = size("tensor-parallel-size", parallel.tp); !read) return read;
  if (auto read = size("pipeline-parallel-size", parallel.pp); !read) return read;
  if (auto read = size("data-parallel-size", parallel.dp); !read) return read;
  if (auto read = size("decode-context-parallel-size", parallel.dcp); !read) return read;
  if (parallel.tp % parallel.dcp != 0)
    return bad_input(fmt::format("{} does not divide the {} ranks of tensor parallelism",
                                 parallel.dcp, parallel.tp),
                     "--decode-context-parallel-size", "a divisor of --tensor-parallel-size");
  const std::string* ep = options.find("enable-expert-parallel");
  parallel.expert_parallel = ep && *ep != "off" && *ep != "1";
  return {};
}

Result<KvDType> kv_dtype_of(const ServeOptions& options, const Config& config) {
  constexpr std::array<std::string_view, 7> kNames{"auto",     "bfloat16", "float16",   "fp8",
                                                   "fp8_e4m3", "fp8_e5m2", "fp8_ds_mla"};
  constexpr std::array kTypes{KvDType::model, KvDType::bfloat16, KvDType::float16, KvDType::fp8,
                              KvDType::fp8,   KvDType::fp8,      KvDType::fp8};
  const Result<std::size_t> given = options.choice("kv-cache-dtype", kNames, "auto");
  if (!given) return tl::unexpected(given.error());
  // compressed-tensors checkpoints may bring a scheme of their own.
  if (*given == 0 && !config.object("quantization_config").is_null("kv_cache_scheme"))
    return KvDType::fp8;
  const Config scheme = config.object("quantization_config");
  if (*given == 0 && scheme.text("quant_method", "").starts_with("modelopt") &&
      scheme.optional_text("kv_cache_quant_algo") == "FP8")
    return KvDType::fp8;
  return kTypes[*given];
}

Result<double> utilization_of(const ServeOptions& options, const Release& release) {
  const double usual = release.has(changes::kVllmTakesMoreOfTheDevice) ? 0.92 : 0.9;
  const Result<double> given = options.number("gpu-memory-utilization", usual);
  if (given && (*given <= 0 || *given > 1))
    return bad_input(fmt::format("{} is not a share of the GPU", *given),
                     "--gpu-memory-utilization", "more than 0, at most 1");
  return given;
}

Result<void> read_batch(const ServeOptions& options, const Config& config, Settings& s) {
  constexpr std::array<std::string_view, 2> kContexts{"llm", "api-server"};
  const Result<std::size_t> context = options.choice("usage-context", kContexts, kContexts[1]);
  if (!context) return tl::unexpected(context.error());
  s.is_api_server = *context == 1;
  constexpr std::int64_t kRequestsOfV0 = 256;
  const bool is_v0 = s.runner == Runner::v0;
  const V0Batch v0 = v0_batch(options, config, s);
  const BatchDefaults defaults =
      is_v0 ? BatchDefaults{v0.tokens, kRequestsOfV0} : batch_defaults(s.device, s.is_api_server);
  constexpr IntegerRange kRange{1, std::int64_t{1} << 24};
  const bool given_tokens = options.has("max-num-batched-tokens");
  const auto tokens = options.integer("max-num-batched-tokens", defaults.tokens, kRange);
  if (!tokens) return tl::unexpected(tokens.error());
  const auto requests = options.integer("max-num-seqs", defaults.requests, kRange);
  if (!requests) return tl::unexpected(requests.error());
  s.max_num_batched_tokens = *tokens;
  s.samples_in_profile = !is_v0 || s.pooling || !v0.chunks;
  if (!is_v0 && !s.pooling && !s.release.has(changes::kVllmV1Samples))
    s.last_logits_in_profile = s.release.has(changes::kVllmV1ProfilesRequests)
                                   ? Settings::LastLogits::of_requests
                                   : Settings::LastLogits::of_all_tokens;
  s.max_num_seqs = *requests;
  // A default for the requests gives way to the tokens that were asked for, and the reverse.
  if (!options.has("max-num-seqs")) s.max_num_seqs = std::min(s.max_num_seqs, *tokens);
  if (!given_tokens) {
    if (options.has("no-enable-chunked-prefill"))
      s.max_num_batched_tokens = std::max(s.max_num_batched_tokens, s.max_model_len);
    const std::int64_t product =
        s.max_model_len > 0 && s.max_num_seqs > (std::int64_t{1} << 40) / s.max_model_len
            ? std::int64_t{1} << 40
            : s.max_num_seqs * s.max_model_len;
    s.max_num_batched_tokens = std::min(s.max_num_batched_tokens, product);
  }
  if (s.max_num_batched_tokens < s.max_num_seqs)
    return bad_input(fmt::format("{} tokens are fewer than {} requests", s.max_num_batched_tokens,
                                 s.max_num_seqs),
                     "--max-num-batched-tokens", "at least --max-num-seqs");
  return {};
}

/// is_prefix_caching_supported, and the V0 engine, which caches prefixes only when it is asked to:
/// models without attention, and in older releases those with recurrent layers among others, too.
bool caches_prefixes(const Config& config, const Settings& s) {
  if (s.runner == Runner::v0 || has_no_attention(config)) return false;
  return s.release.has(changes::kVllmCachesPrefixesOfHybrids) || !is_hybrid(config);
}

Result<void> read_cache(const ServeOptions& options, const Config& config, Settings& s) {
  const Result<double> share = utilization_of(options, s.release);
  if (!share) return tl::unexpected(share.error());
  s.gpu_memory_utilization = *share;
  const Result<KvDType> kv = kv_dtype_of(options, config);
  if (!kv) return tl::unexpected(kv.error());
  s.kv_dtype = *kv;
  const auto whole = [&](const char* name, std::optional<std::int64_t>& value) -> Result<void> {
    if (!options.has(name)) return {};
    const Result<std::int64_t> given = options.integer(name, 0, {1, std::int64_t{1} << 50});
    if (!given) return tl::unexpected(given.error());
    value = *given;
    return {};
  };
  if (auto read = whole("block-size", s.block_size); !read) return read;
  if (auto read = whole("kv-cache-memory-bytes", s.kv_cache_memory_bytes); !read) return read;
  if (auto read = whole("num-gpu-blocks-override", s.num_gpu_blocks_override); !read) return read;
  s.prefix_caching = caches_prefixes(config, s) ? !options.has("no-enable-prefix-caching")
                                                : options.has("enable-prefix-caching");
  s.ssm_dtype = options.text("mamba-ssm-cache-dtype", "");
  s.hybrid_kv_cache = !options.has("disable-hybrid-kv-cache-manager");
  s.async_scheduling = !options.has("no-async-scheduling") && !s.pooling;
  return {};
}

/// LoRAConfig; ranks are those that the kernels are made for.
Result<void> read_lora(const ServeOptions& options, Settings& s) {
  if (!options.has("enable-lora")) return {};
  constexpr std::int64_t kRanks[] = {1, 8, 16, 32, 64, 128, 256, 320, 512};
  const auto adapters = options.integer("max-loras", 1, {1, 4096});
  if (!adapters) return tl::unexpected(adapters.error());
  const auto rank = options.integer("max-lora-rank", 16, {1, 512});
  if (!rank) return tl::unexpected(rank.error());
  if (std::ranges::find(kRanks, *rank) == std::end(kRanks))
    return bad_input(fmt::format("no kernel has rank {}", *rank), "--max-lora-rank",
                     "1, 8, 16, 32, 64, 128, 256, 320 or 512");
  s.lora = LoraSettings{*adapters, *rank};
  return {};
}

/// The model that serves the text of a multimodal architecture (vllm/model_executor/models).
struct TextPart {
  std::string_view architecture;  ///< of the whole, or the text part's model_type
  std::string_view text;
};
constexpr auto kTextParts = std::to_array<TextPart>({
    {"Gemma3ForConditionalGeneration", "Gemma3ForCausalLM"},
    {"Qwen2VLForConditionalGeneration", "Qwen2ForCausalLM"},
    {"Qwen2_5_VLForConditionalGeneration", "Qwen2ForCausalLM"},
    {"Qwen3VLForConditionalGeneration", "Qwen3ForCausalLM"},
    {"Qwen3VLMoeForConditionalGeneration", "Qwen3MoeForCausalLM"},
    {"Qwen3_5ForConditionalGeneration", "Qwen3_5ForCausalLM"},
    {"Qwen3_5MoeForConditionalGeneration", "Qwen3_5MoeForCausalLM"},
    {"Mistral3ForConditionalGeneration", "MistralForCausalLM"},
    {"Llama4ForConditionalGeneration", "Llama4ForCausalLM"},
    {"Gemma4ForConditionalGeneration", "Gemma4ForCausalLM"},
    {"llama", "LlamaForCausalLM"},
    {"mistral", "MistralForCausalLM"},
    {"qwen2", "Qwen2ForCausalLM"},
    {"qwen3", "Qwen3ForCausalLM"},
    {"qwen3_moe", "Qwen3MoeForCausalLM"},
    {"internlm2", "InternLM2ForCausalLM"},
    {"deepseek_v3", "DeepseekV3ForCausalLM"},
    {"gemma", "GemmaForCausalLM"},
    {"gemma2", "Gemma2ForCausalLM"},
    {"glm4v_text", "Glm4ForCausalLM"},
    {"glm4v_moe_text", "Glm4MoeForCausalLM"},
    {"granite", "GraniteForCausalLM"},
    {"cohere2", "Cohere2ForCausalLM"},
    {"phi3", "Phi3ForCausalLM"},
    {"gpt_oss", "GptOssForCausalLM"},
});

/// The key of the text model's configuration: llm_config in OpenGVLab's files. "" where there is none.
std::string_view text_part(const Config& config) {
  for (const std::string_view key : {"text_config", "llm_config"})
    if (config.has(key)) return key;
  return {};
}

/// "" where the configuration is of a text model, or of one that is not known.
std::string_view text_architecture(const Config& whole, const Config& text) {
  const std::vector<std::string> names = whole.texts("architectures");
  for (const TextPart& part : kTextParts)
    if (std::ranges::find(names, part.architecture) != names.end()) return part.text;
  if (text_part(whole).empty()) return {};
  const std::string type = type_of(text);
  const auto part = std::ranges::find(kTextParts, std::string_view(type), &TextPart::architecture);
  return part == kTextParts.end() ? std::string_view() : part->text;
}

Result<void> read_online_scheme(const ServeOptions& options, const Config& config, Settings& s) {
  const std::string scheme = options.text("quantization", "");
  if (scheme.empty() || !config.is_null("quantization_config")) return {};
  if (scheme == "bitsandbytes") {
    if (s.release.has(changes::kVllmHasNoBitsAndBytes))
      return unsupported(fmt::format("vLLM has no bitsandbytes since {}",
                                     changes::kVllmHasNoBitsAndBytes.since.text()),
                         "--quantization", "fp8, or --engine-version 0.27.1");
    if (has_experts(config))
      return unsupported("experts in bitsandbytes are not modelled for vLLM", "--quantization",
                         "fp8, or a checkpoint that is quantized already");
    s.online = OnlineScheme::bitsandbytes;
    return {};
  }
  if (scheme != "fp8")
    return unsupported("an unquantized checkpoint cannot be served so", "--quantization",
                       s.release.has(changes::kVllmHasNoBitsAndBytes)
                           ? "fp8, or a checkpoint that is quantized already, as MODEL-AWQ"
                           : "fp8, bitsandbytes, or a checkpoint that is quantized already");
  s.online = OnlineScheme::fp8;
  return {};
}

/// OffloadConfig. Weights on the meta device have no data that could be moved.
Result<void> read_offload(const ServeOptions& options, Settings& s) {
  const std::string kFlag = "--cpu-offload-gb";
  const Result<Bytes> given = cpu_offload_of(options);
  if (!given) return tl::unexpected(given.error());
  s.cpu_offload = *given;
  if (s.cpu_offload == 0) return {};
  if (s.runner == Runner::v0)
    return unsupported("host memory is modelled for the V1 engine alone", kFlag,
                       "--engine-version 0.8.0 or later");
  if (s.online == OnlineScheme::fp8 && s.release.has(changes::kVllmStreamsOnlineWeights))
    return unsupported(
        fmt::format("weights that are quantized while they load cannot lie there since {}",
                    changes::kVllmStreamsOnlineWeights.since.text()),
        kFlag, "a checkpoint that is quantized already");
  return {};
}

/// DefaultModelLoader: two loaders bring whole files to the GPU and copy tensors from there.
Result<void> read_load_format(const ServeOptions& options, Settings& s,
                              std::vector<std::string>& warnings) {
  // LoadFormats of all releases; a plugin may bring others.
  constexpr auto kFormats = std::to_array<std::string_view>(
      {"auto", "hf", "dummy", "safetensors", "pt", "npcache", "gguf", "mistral", "bitsandbytes",
       "fastsafetensors", "instanttensor", "ipc_cache", "modelexpress", "runai_streamer",
       "runai_streamer_sharded", "sharded_state", "tensorizer"});
  const std::string format = options.text("load-format", "auto");
  if (const auto known = options.choice("load-format", kFormats, "auto"); !known)
    return tl::unexpected(known.error());
  s.reads_on_gpu = format == "fastsafetensors" || format == "instanttensor";
  if (s.reads_on_gpu)
    warnings.push_back(
        fmt::format("--load-format {} brings files of the checkpoint to the GPU, "
                    "beside what is answered for loading",
                    format));
  return {};
}

void warn_of_missing_gpus(const DeviceSetup& device, const Parallel& p,
                          std::vector<std::string>& warnings) {
  const int ranks = p.tp * p.pp * p.dp;
  if (device.gpus > 1 && ranks > device.gpus)
    warnings.push_back(
        fmt::format("{} ranks need as many GPUs: those beyond the {} here are taken "
                    "to be on other machines",
                    ranks, device.gpus));
}

/// How many of a GPU its link joins in a server; 1: there is only PCIe. A bridge joins two.
int linked_gpus(std::string_view id) {
  constexpr int kOfBridge = 2;
  const GpuSpeeds speeds = speeds_of(id);
  if (speeds.link_gb_s <= 0) return 1;
  if (speeds.link_domain > 0) return speeds.link_domain;
  return speeds.gpus_per_node > 0 ? speeds.gpus_per_node : kOfBridge;
}

}  // namespace

Result<Bytes> cpu_offload_of(const ServeOptions& options) {
  const Result<double> given = options.number("cpu-offload-gb", 0);
  if (!given) return tl::unexpected(given.error());
  if (*given < 0)
    return bad_input(fmt::format("{} is no size", *given), "--cpu-offload-gb", "0 or more GiB");
  return static_cast<Bytes>(*given * static_cast<double>(Bytes{1} << 30));
}

Result<DeviceFacts> device_facts(const DeviceSetup& device, std::string_view engine,
                                 int least_capability) {
  DeviceFacts facts;
  if (device.gpu && device.gpu->vendor == "AMD")
    return unsupported(
        fmt::format("{} is modelled for CUDA devices only: what ROCm's libraries and "
                    "kernels hold beside the allocator has not been recorded",
                    engine),
        "--gpu", "--engine llamacpp or transformers, which are answered on it");
  if (device.gpu && !device.gpu->runs_cuda())
    return unsupported(fmt::format("{} is modelled for CUDA devices only", engine), "--gpu",
                       "an NVIDIA GPU (memtape gpus lists them)");
  if (device.gpu && device.gpu->capability() < least_capability)
    return unsupported(fmt::format("{} has no kernels for compute capability {}.{}", engine,
                                   device.gpu->capability_major, device.gpu->capability_minor),
                       "--gpu",
                       fmt::format("{}.{} or later; --engine llamacpp runs on it",
                                   least_capability / 10, least_capability % 10));
  if (device.gpu) {
    facts.traits = device_traits(device.gpu);
    facts.name = std::string(device.gpu->name);
    facts.linked_gpus = linked_gpus(device.gpu->id);
  }
  const std::optional<Bytes> total = device.total_bytes();
  if (!total)
    return bad_input(fmt::format("{} sizes its cache by the device's memory", engine), "--gpu",
                     "name a GPU, or --gpu-memory-bytes N");
  facts.total = *total;
  facts.context = device.context_bytes();
  facts.given_outside = device.context_override.has_value();
  facts.placement = device.placement;
  facts.allocator = device.allocator;
  return facts;
}

Result<Config> with_overrides(const ServeRequest& request, std::string_view flag) {
  Config config = *request.config;
  const auto take = [&config](const std::string& json, std::string_view of) -> Result<void> {
    const Result<Config> given = Config::parse(json, fmt::format("--{}", of));
    if (!given) return tl::unexpected(given.error());
    return overridden(config, *given).map([&config](Config read) { config = std::move(read); });
  };
  if (const std::string* text = request.options.find(flag))
    if (const Result<void> taken = take(*text, flag); !taken) return tl::unexpected(taken.error());
  if (const std::string* rope = request.options.find("rope-scaling"))
    if (const Result<void> taken =
            take(fmt::format("{{\"rope_scaling\": {}}}", *rope), "rope-scaling");
        !taken)
      return tl::unexpected(taken.error());
  return config;
}

Config text_config(const Config& config) {
  const std::string_view part = text_part(config);
  const bool nested = !part.empty() && !config.has("hidden_size");
  const Config text = nested ? config.object(part) : config;
  const std::string_view architecture = text_architecture(config, text);
  if (!nested && architecture.empty()) return config;
  std::string merged;
  const auto add = [&](std::string_view key, const std::string& json) {
    merged += fmt::format("{}\"{}\": {}", merged.empty() ? "{" : ", ", key, json);
  };
  if (!architecture.empty())
    add("architectures", fmt::format("[\"{}\"]", architecture));
  else if (config.has("architectures") && !text.has("architectures"))
    add("architectures", config.json("architectures"));  // that of the whole is what is not known
  for (const char* key :
       {"dtype", "torch_dtype", "quantization_config", "tie_word_embeddings", "vision_config",
        "vision_feature_layer", "spatial_merge_size", "downsample_ratio", "scale_factor"})
    if (nested && config.has(key) && !text.has(key)) add(key, config.json(key));
  for (const std::string& key : text.keys())
    if (key != "architectures" || architecture.empty()) add(key, text.json(key));
  const Result<Config> whole = Config::parse(merged + "}", config.where());
  return whole ? *whole : text;
}

Result<bool> serves_text_alone(const ServeRequest& request, const Config& config) {
  const ServeOptions& options = request.options;
  if (options.has("language-model-only")) return true;
  if (!options.has("limit-mm-per-prompt")) return false;
  const Result<Release> release = engine_release(options, Package::vllm, kVersion, request.release);
  if (!release) return tl::unexpected(release.error());
  const Result<Config> limits = item_limits(options, *release);
  if (!limits) return tl::unexpected(limits.error());
  const auto none = [&](const char* kind) { return limits->json(kind) == "0"; };
  return none("image") && (!reads_videos(config) || none("video"));
}

Config without_encoders(const Config& config) {
  std::string kept;
  for (const std::string& key : config.keys()) {
    const bool is_encoder = key == "vision_config" || key == "audio_config";
    kept += fmt::format("{}\"{}\": {}", kept.empty() ? "{" : ", ", key,
                        is_encoder ? std::string("{}") : config.json(key));
  }
  const Result<Config> left = Config::parse(kept + "}", config.where());
  return left ? *left : config;
}

/// Encoders read a text whole, in one batch, and keep nothing of it (ModelConfig's
/// is_chunked_prefill_supported and is_prefix_caching_supported); pooled models prefer float16.
Result<void> settle_encoder(const ServeOptions& options, const Config& config, Settings& s) {
  if (!encodes_text(config)) return {};
  if (s.runner == Runner::v0 || !s.release.has(changes::kVllmEncodesOnV1))
    return unsupported(
        "encoders of releases before their attention without a cache are not "
        "modelled",
        "--engine-version", "0.10.2 or later");
  if (s.parallel.pp > 1)
    return bad_input("encoders have no pipeline stages", "--pipeline-parallel-size", "1");
  if (!options.has("max-num-batched-tokens"))
    s.max_num_batched_tokens = std::max(s.max_num_batched_tokens, s.max_model_len);
  s.prefix_caching = false;
  if (options.text("dtype", "auto") == "auto" && stored_dtype(config) == DType::float32)
    s.dtype = DType::float16;
  return {};
}

Result<Settings> resolve(const ServeRequest& request, const Config& named, const Config& config,
                         std::vector<std::string>& warnings) {
  const ServeOptions& options = request.options;
  Settings s;
  const Result<Release> release = engine_release(options, Package::vllm, kVersion, request.release);
  if (!release) return tl::unexpected(release.error());
  s.release = *release;
  const Result<std::optional<Pooling>> pooling = pooling_of(options, named);
  if (!pooling) return tl::unexpected(pooling.error());
  s.pooling = *pooling;
  if (const std::string version = options.text("engine-version", kVersion); version != kVersion)
    warnings.push_back(
        fmt::format("vLLM {}'s layers are taken to be those of {}; its defaults, "
                    "sampler and budget are its own",
                    version, kVersion));
  const Result<DeviceFacts> device = device_facts(request.device, "vLLM", kLeastCapability);
  if (!device) return tl::unexpected(device.error());
  s.device = *device;
  s.runner = runner_of(options, config, s);
  const Result<DType> dtype = dtype_of(options, config, s.device);
  if (!dtype) return tl::unexpected(dtype.error());
  s.dtype = *dtype;
  const Result<std::int64_t> length =
      model_length(options, config).and_then([&](std::int64_t asked) {
        return within_window(asked, options.has("max-model-len"), config, s.release);
      });
  if (!length) return tl::unexpected(length.error());
  s.max_model_len = *length;
  s.fits_length = asks_for_what_fits(options);
  if (auto read = read_parallel(options, s.parallel); !read) return tl::unexpected(read.error());
  s.parallel.sums_with_own_kernel =
      s.release.has(changes::kVllmSumsWithOwnKernel) && !options.has("disable-custom-all-reduce");
  if (auto read = read_batch(options, named, s); !read) return tl::unexpected(read.error());
  if (auto read = read_cache(options, config, s); !read) return tl::unexpected(read.error());
  if (auto settled = settle_encoder(options, config, s); !settled)
    return tl::unexpected(settled.error());
  if (auto read = read_attention_backend(options, config, s, warnings); !read)
    return tl::unexpected(read.error());
  if (auto read = read_graphs(options, s); !read) return tl::unexpected(read.error());
  if (auto read = read_lora(options, s); !read) return tl::unexpected(read.error());
  if (auto read = read_speculation(request, config, s, warnings); !read)
    return tl::unexpected(read.error());
  if (auto read = choose_capture_sizes(options, s); !read) return tl::unexpected(read.error());
  if (auto read = read_online_scheme(options, config, s); !read)
    return tl::unexpected(read.error());
  if (auto read = read_offload(options, s); !read) return tl::unexpected(read.error());
  if (auto read = read_load_format(options, s, warnings); !read)
    return tl::unexpected(read.error());
  if (auto checked = check_settings(options, config, s); !checked)
    return tl::unexpected(checked.error());
  warn_of_missing_gpus(request.device, s.parallel, warnings);
  const Parallel& p = s.parallel;
  if (auto used = all_gpus_used(request, "vLLM", p.tp * p.pp * p.dp, "--tensor-parallel-size");
      !used)
    return tl::unexpected(used.error());
  warn_of_idle_gpus(request, "vLLM", p.tp * p.pp * p.dp, warnings);
  return s;
}

}  // namespace memtape::vllm
