// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/ds_config.h"

#include <algorithm>
#include <cmath>

#include "base/letter_case.h"
#include "framework/torch/strategy.h"

namespace memtape::deepspeed {
namespace {

using fields::put;

constexpr const char* kOption = "--strategy";
constexpr const char* kInZero = "--strategy: zero_optimization";

bool is_auto(const Config& json, std::string_view name) { return json.json(name) == "\"auto\""; }

/// A switch; "auto" and null say nothing.
template <auto... path, class T>
Result<void> flag(const Config& json, std::string_view name, T& into) {
  if (json.is_null(name) || is_auto(json, name)) return {};
  return put<path...>(json, name, into);
}

Result<void> read_enabled(const Config& json, std::string_view name, HalfPrecision& half) {
  half.is_auto = is_auto(json, name);
  return flag<&HalfPrecision::enabled>(json, name, half);
}

Result<void> read_scale(const Config& json, std::string_view name, HalfPrecision& half) {
  half.scales_loss = json.is_null(name) || is_auto(json, name) || json.number(name) != 1.0;
  return {};
}

constexpr auto kHalf = std::to_array<ConfigField<HalfPrecision>>({
    {"enabled", read_enabled},
    {"immediate_grad_update", flag<&HalfPrecision::immediate_grad_update>},
    {"check_grad_overflow", flag<&HalfPrecision::check_grad_overflow>},
    {"auto_cast"},
    {"loss_scale", read_scale},
    {"initial_scale_power loss_scale_window hysteresis consecutive_hysteresis min_loss_scale"},
});

Result<void> read_data_types(const Config& json, std::string_view name, DsOptions& said) {
  const Config types = json.object(name);
  return types.has("grad_accum_dtype")
             ? put<&DsOptions::grad_accum_dtype>(types, "grad_accum_dtype", said)
             : Result<void>();
}

Result<void> read_clipping(const Config& json, std::string_view name, DsOptions& said) {
  said.gradient_clipping = is_auto(json, name) ? std::nullopt : std::optional(json.number(name));
  return {};
}

/// A number of the batch; "auto" or no number says nothing.
template <auto member>
Result<void> read_batch(const Config& json, std::string_view name, DsOptions& said) {
  const std::string text = json.json(name);
  const bool digits = !text.empty() && text.size() < 10 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  if (digits && text != "0") said.*member = std::stoll(text);
  return {};
}

Result<void> read_total_batch(const Config& json, std::string_view name, DsOptions& said) {
  if (!json.is_null(name) && !is_auto(json, name)) said.total = json.integer(name);
  return read_batch<&DsOptions::batch>(json, name, said);
}

Result<void> refuse_autocast(const Config& json, std::string_view name, DsOptions&) {
  if (!json.object(name).boolean("enabled", false)) return {};
  return unsupported("torch_autocast is not modelled", kOption, "bf16 or fp16");
}

/// An option whose other values are not modelled.
Result<void> refuse(const Config& json, std::string_view name, const char* place) {
  const std::string value = json.json(name);
  if (value == "null" || value == "false" || value == "0" || value == "\"auto\"") return {};
  return unsupported(std::string(name) + " " + value + " is not modelled", place,
                     value == "1" ? "0" : "false");
}
Result<void> refuse_at_root(const Config& json, std::string_view name, DsOptions&) {
  return refuse(json, name, kOption);
}
Result<void> refuse_in_zero(const Config& json, std::string_view name, DsOptions&) {
  return refuse(json, name, kInZero);
}

/// A number of elements. What stands for "auto" is what
/// HfTrainerDeepSpeedConfig.trainer_config_finalize fills in for a hidden size, or the default.
template <auto member, std::int64_t (*automatic)(std::int64_t hidden_size) = nullptr>
Result<void> elements(const Config& json, std::string_view name, DsOptions& said) {
  if (json.is_null(name)) return {};
  if (is_auto(json, name)) {
    if constexpr (automatic != nullptr) said.automatic.push_back({member, automatic});
    return {};
  }
  const double value = json.number(name);
  if (value >= 0.0 && value < 9e18 && std::floor(value) == value)
    said.zero.*member = static_cast<std::int64_t>(value);
  else if (value < 9e18 || !std::isfinite(value))
    json.fail(name, "must be a whole number of elements");
  return {};
}
std::int64_t square(std::int64_t hidden) { return hidden * hidden; }
std::int64_t most_of_square(std::int64_t hidden) {
  return static_cast<std::int64_t>(0.9 * static_cast<double>(hidden * hidden));
}
std::int64_t ten_rows(std::int64_t hidden) { return 10 * hidden; }

/// "offload_optimizer" and "offload_param" (deepspeed/runtime/zero/offload_config.py).
struct Offload {
  std::string device = "none";
  std::optional<double> ratio;
};
constexpr auto kOffload = std::to_array<ConfigField<Offload>>({
    {"device", put<&Offload::device>},
    {"pin_memory nvme_path buffer_count buffer_size max_in_cpu pipeline_read pipeline_write "
     "fast_init"},
    {"ratio", put<&Offload::ratio>},
});

/// Whether "device" is the host.
template <auto member, bool nvme_too>
Result<void> read_offload(const Config& json, std::string_view name, DsOptions& said) {
  Offload offload;
  const std::string place = std::string(kInZero) + "." + std::string(name);
  if (Result<void> read = read_fields(json.object(name), place, kOffload, offload); !read)
    return read;
  if (offload.ratio.value_or(1.0) != 1.0)
    return unsupported("a ratio below 1 is not modelled", place, "1.0");
  said.zero.*member = offload.device != "none";
  if (offload.device == "none" || offload.device == "cpu") return {};
  if (nvme_too && offload.device == "nvme") return {};
  return unsupported("device \"" + offload.device + "\" is not modelled", place,
                     "one of none, cpu");
}

Result<void> read_hierarchy(const Config& json, std::string_view name, DsOptions& said) {
  if (!json.is_null(name) && !is_auto(json, name)) said.hpz_partition_size = json.integer(name);
  return {};
}

Result<void> read_stage(const Config& json, std::string_view name, DsOptions& said) {
  said.stage = json.integer(name);
  if (Result<void> fine = json.check(); !fine || (*said.stage >= 0 && *said.stage <= 3))
    return fine;
  return bad_input("no such ZeRO stage", "--strategy: zero_optimization.stage", "0, 1, 2 or 3");
}

/// deepspeed/runtime/zero/config.py.
using Zero = ZeroConfig;
constexpr auto kZeroFields = std::to_array<ConfigField<DsOptions>>({
    {"stage", read_stage},
    {"contiguous_gradients", flag<&DsOptions::zero, &Zero::contiguous_gradients>},
    {"reduce_scatter", flag<&DsOptions::zero, &Zero::reduce_scatter>},
    {"reduce_bucket_size", elements<&Zero::reduce_bucket_size, square>},
    {"use_multi_rank_bucket_allreduce",
     flag<&DsOptions::zero, &Zero::use_multi_rank_bucket_allreduce>},
    {"allgather_partitions allgather_bucket_size"},
    {"overlap_comm", flag<&DsOptions::overlap_comm>},
    {"compute_grad_norm", flag<&DsOptions::zero, &Zero::compute_grad_norm>},
    {"load_from_fp32_weights elastic_checkpoint"},
    {"offload_param", read_offload<&Zero::offload_param, false>},
    {"offload_optimizer", read_offload<&Zero::offload_optimizer, true>},
    {"sub_group_size", elements<&Zero::sub_group_size>},
    {"cpu_offload_param", refuse_in_zero},
    {"cpu_offload", refuse_in_zero},
    {"cpu_offload_use_pin_memory"},
    {"stage3_prefetch_bucket_size prefetch_bucket_size",
     elements<&Zero::prefetch_bucket_size, most_of_square>},
    {"stage3_param_persistence_threshold param_persistence_threshold",
     elements<&Zero::param_persistence_threshold, ten_rows>},
    {"stage3_model_persistence_threshold model_persistence_threshold",
     elements<&Zero::model_persistence_threshold>},
    {"stage3_max_live_parameters max_live_parameters", elements<&Zero::max_live_parameters>},
    {"stage3_max_reuse_distance max_reuse_distance", elements<&Zero::max_reuse_distance>},
    {"stage3_gather_16bit_weights_on_model_save gather_16bit_weights_on_model_save "
     "stage3_gather_fp16_weights_on_model_save"},
    {"stage3_module_granularity_threshold", refuse_in_zero},
    {"module_granularity_threshold", refuse_in_zero},
    {"stage3_use_all_reduce_for_fetch_params use_all_reduce_for_fetch_params",
     flag<&DsOptions::zero, &Zero::use_all_reduce_for_fetch_params>},
    {"stage3_allgather_sequential allgather_sequential",
     flag<&DsOptions::zero, &Zero::allgather_sequential>},
    {"ignore_unused_parameters"},
    {"legacy_stage1", refuse_in_zero},
    {"round_robin_gradients", flag<&DsOptions::zero, &Zero::round_robin_gradients>},
    {"parameter_alignment", flag<&DsOptions::zero, &Zero::parameter_alignment>},
    {"zero_hpz_partition_size", read_hierarchy},
    {"zero_quantized_weights", refuse_in_zero},
    {"zero_quantized_nontrainable_weights", refuse_in_zero},
    {"zero_quantized_gradients", refuse_in_zero},
    {"memory_efficient_linear", flag<&DsOptions::zero, &Zero::memory_efficient_linear>},
    {"pipeline_loading_checkpoint override_module_apply log_trace_cache_warnings "
     "enable_sanity_checks"},
});

Result<void> read_zero(const Config& json, std::string_view name, DsOptions& said) {
  const Config zero = json.object(name);
  if (Result<void> read = read_fields(zero, kInZero, kZeroFields, said); !read) return read;
  if (said.zero.reduce_bucket_size < 1) zero.fail("reduce_bucket_size", "must be 1 or more");
  return {};
}

/// DeepSpeedEngine._configure_basic_optimizer.
Result<void> read_optimizer(const Config& json, std::string_view name, DsOptions& said) {
  if (json.is_null(name)) return {};
  const Config optimizer = json.object(name), params = optimizer.object("params");
  const std::string type = optimizer.text("type", "AdamW");
  const std::string lower = lower_case(type);
  ConfiguredOptimizer& made = said.optimizer.emplace();
  if (lower == "adam" || lower == "adamw") {
    made.kind = params.boolean("torch_adam", false) ? ConfiguredOptimizer::Kind::torch
                                                    : ConfiguredOptimizer::Kind::fused_adam;
    if (!params.is_null("foreach") && !params.boolean("foreach"))
      made.impl = OptimizerImpl::for_loop;
  } else if (lower == "adagrad") {
    made.name = OptimizerName::adagrad;
  } else if (type == "SGD") {
    const bool momentum = params.number("momentum", 0.0) != 0.0;
    made.name = momentum ? OptimizerName::sgd_momentum : OptimizerName::sgd;
  } else if (type == "RMSprop") {
    made.name = OptimizerName::rmsprop;
  } else {
    return no_choice("", type, "--strategy: optimizer.type",
                     {"Adam", "AdamW", "Adagrad", "SGD", "RMSprop"});
  }
  return {};
}

/// deepspeed/runtime/config.py; "packed_sequences" and "zero_init" are memtape's own: rows hold
/// several sequences, the program makes its model under zero.Init.
constexpr auto kFields = std::to_array<ConfigField<DsOptions>>({
    {"zero_optimization", read_zero},
    {"bf16 bfloat16", fields::put_object<&DsOptions::bf16, kHalf>},
    {"fp16", fields::put_object<&DsOptions::fp16, kHalf>},
    {"data_types", read_data_types},
    {"gradient_clipping", read_clipping},
    {"communication_data_type", put<&DsOptions::communication_data_type>},
    {"optimizer", read_optimizer},
    {"scheduler"},
    {"train_batch_size", read_total_batch},
    {"train_micro_batch_size_per_gpu", read_batch<&DsOptions::micro_batch>},
    {"gradient_accumulation_steps", read_batch<&DsOptions::accumulation>},
    {"packed_sequences", flag<&DsOptions::packed_sequences>},
    {"zero_init", flag<&DsOptions::makes_under_zero_init>},
    {"prescale_gradients gradient_predivide_factor"},
    {"sparse_gradients", refuse_at_root},
    {"torch_autocast", refuse_autocast},
    {"steps_per_print wall_clock_breakdown dump_state memory_breakdown "
     "zero_allow_untested_optimizer zero_force_ds_cpu_optimizer activation_checkpointing aio "
     "comms_logger tensorboard wandb csv_monitor comet flops_profiler checkpoint data_efficiency "
     "seq_parallel_communication_data_type disable_allgather compression_training autotuning"},
});

}  // namespace

Result<DsOptions> read_ds_config(std::string_view text, UnsaidPrecision unsaid) {
  const Result<Config> json = Config::parse(text, kOption);
  if (!json) return tl::unexpected(json.error());
  DsOptions said;
  const bool says_precision = json->has("bf16") || json->has("bfloat16") || json->has("fp16");
  said.bf16.is_auto = said.fp16.is_auto = !says_precision && unsaid == UnsaidPrecision::automatic;
  return read_fields(*json, kOption, kFields, said)
      .and_then([&] { return json->check(); })
      .map([&] { return said; });
}

Result<void> read_strategy(std::string_view json, TrainRecipe& recipe) {
  return read_ds_config(json, UnsaidPrecision::none).map([&](DsOptions said) {
    recipe.own.of<DsOptions>() = std::move(said);
  });
}

}  // namespace memtape::deepspeed
