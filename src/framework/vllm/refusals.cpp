// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/refusals.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "model/type_of.h"

namespace memtape::vllm {
namespace {

/// SchedulerConfig.verify_max_model_len.
Result<void> check_batch(const ServeOptions& options, const Settings& s) {
  if (!options.has("no-enable-chunked-prefill") || s.max_num_batched_tokens >= s.max_model_len)
    return {};
  return bad_input(fmt::format("{} tokens are fewer than a prompt of {}, which "
                               "--no-enable-chunked-prefill wants in one step",
                               s.max_num_batched_tokens, s.max_model_len),
                   "--max-num-batched-tokens", fmt::format("at least {}", s.max_model_len));
}

/// Every backend's kernels take pages of a multiple of 16 tokens; recurrent models without
/// attention have pages of another kind.
Result<void> check_block(const Settings& s) {
  constexpr std::int64_t kUnit = 16;
  if (!s.block_size || *s.block_size % kUnit == 0) return {};
  return bad_input(fmt::format("no attention kernel takes pages of {} tokens", *s.block_size),
                   "--block-size", "a multiple of 16");
}

/// platforms/cuda.py, supported_dtypes.
Result<void> check_type(const Settings& s) {
  if (s.dtype != DType::bfloat16 || s.device.traits.major >= 8) return {};
  return bad_input(fmt::format("{} has no bfloat16", s.device.name), "--dtype", "float16");
}

/// Before Ada FlashInfer's kernels alone read an fp8 cache, and they take no sinks: what is left
/// for gpt-oss, Triton's, refuses (triton_attn.py).
Result<void> check_cache(const Config& config, const Settings& s) {
  constexpr int kAda = 89;
  const bool has_sinks = type_of(config) == "gpt_oss";
  if (s.kv_dtype != KvDType::fp8 || !has_sinks || s.device.capability() >= kAda) return {};
  return bad_input(fmt::format("no kernel for {} reads an fp8 cache and sinks", s.device.name),
                   "--kv-cache-dtype", "bfloat16");
}

/// Attention.__init__ (layers/attention/attention.py): the scales that fp8 checkpoints bring are
/// those of the other type.
Result<void> check_cache_of_fp8(const ServeOptions& options, const Config& config) {
  if (options.text("kv-cache-dtype", "") != "fp8_e5m2") return {};
  const Config scheme = config.object("quantization_config");
  const std::string method = scheme.text("quant_method", "");
  const bool brings_scales =
      method == "fp8" || method.starts_with("modelopt") || !scheme.is_null("kv_cache_scheme");
  if (!brings_scales) return {};
  return bad_input("a checkpoint in fp8 is not served with it", "--kv-cache-dtype fp8_e5m2",
                   "fp8 or auto");
}

/// normalize_and_validate_gptq_desc_act (quantization/utils/gptq_utils.py).
Result<void> check_order(const Config& config, const Settings& s) {
  if (!s.release.has(changes::kVllmServesNoOrderOfActivations)) return {};
  const Config scheme = config.object("quantization_config");
  if (scheme.text("quant_method", "") != "gptq" || !scheme.boolean("desc_act", false) ||
      scheme.integer("group_size", -1) == -1)
    return {};
  return unsupported("vLLM 0.32 serves no GPTQ groups in the order of their activations",
                     config.where() + ": quantization_config.desc_act",
                     "a checkpoint without, or --engine-version of an older vLLM");
}

/// Classes of vllm/model_executor/models without SupportsLoRA, of the architectures known here.
Result<void> check_adapters(const Config& config, const Settings& s) {
  if (!s.lora) return {};
  constexpr std::array<std::string_view, 8> kWithout{
      "GPT2LMHeadModel",     "FalconForCausalLM", "DbrxForCausalLM",        "BloomForCausalLM",
      "StableLmForCausalLM", "MambaForCausalLM",  "FalconMambaForCausalLM", "Mamba2ForCausalLM"};
  for (const std::string& name : config.texts("architectures"))
    if (std::ranges::find(kWithout, name) != kWithout.end())
      return bad_input("vLLM serves no adapters of " + name, "--enable-lora", "without it");
  return {};
}

std::string with_underscores(std::string text) {
  std::ranges::replace(text, '-', '_');
  return text;
}

/// ModelConfig._verify_quantization: the flag has to name the checkpoint's own method, or a kernel
/// for it (gptq_marlin, gpt_oss_mxfp4).
Result<void> check_quantization(const ServeOptions& options, const Config& config) {
  const std::string given = with_underscores(options.text("quantization", ""));
  if (given.empty() || config.is_null("quantization_config")) return {};
  const std::string called = config.object("quantization_config").text("quant_method", "");
  const std::string held = with_underscores(called);
  if (given.starts_with(held) || given.ends_with(held) || held.starts_with(given)) return {};
  constexpr std::array<std::string_view, 4> kKernelsOfMany{"inc", "humming", "moe_wna16", "marlin"};
  if (std::ranges::find(kKernelsOfMany, given) != kKernelsOfMany.end()) return {};
  return bad_input("the checkpoint is quantized by " + called + ", not by " + given,
                   "--quantization", called);
}

}  // namespace

bool has_experts(const Config& config) {
  for (const char* key :
       {"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"})
    if (config.optional_integer(key).value_or(0) > 1) return true;
  return config.has("ffn_config") && config.object("ffn_config").integer("moe_num_experts", 0) > 1;
}

Result<void> check_settings(const ServeOptions& options, const Config& config, const Settings& s) {
  if (auto checked = check_batch(options, s); !checked) return checked;
  if (auto checked = check_block(s); !checked) return checked;
  if (auto checked = check_type(s); !checked) return checked;
  if (auto checked = check_cache(config, s); !checked) return checked;
  if (auto checked = check_cache_of_fp8(options, config); !checked) return checked;
  if (auto checked = check_order(config, s); !checked) return checked;
  if (auto checked = check_adapters(config, s); !checked) return checked;
  if (auto checked = check_quantization(options, config); !checked) return checked;
  if (s.parallel.expert_parallel && !has_experts(config))
    return bad_input("the model has no experts", "--enable-expert-parallel", "without it");
  return {};
}

}  // namespace memtape::vllm
