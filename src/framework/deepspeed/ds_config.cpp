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

/// "bf16" or "fp16" (deepspeed/runtime/precision_config.py).
struct Half {
  bool is_auto = false, enabled = false, immediate_grad_update = false, scales_loss = true;
  bool check_grad_overflow = true;

  bool is_on(bool automatic) const { return is_auto ? automatic : enabled; }
};

Result<void> read_enabled(const Config& json, std::string_view name, Half& half) {
  half.is_auto = is_auto(json, name);
  return flag<&Half::enabled>(json, name, half);
}

Result<void> read_scale(const Config& json, std::string_view name, Half& half) {
  half.scales_loss = json.is_null(name) || is_auto(json, name) || json.number(name) != 1.0;
  return {};
}

constexpr auto kHalf = std::to_array<ConfigField<Half>>({
    {"enabled", read_enabled},
    {"immediate_grad_update", flag<&Half::immediate_grad_update>},
    {"check_grad_overflow", flag<&Half::check_grad_overflow>},
    {"auto_cast"},
    {"loss_scale", read_scale},
    {"initial_scale_power loss_scale_window hysteresis consecutive_hysteresis min_loss_scale"},
});

/// A ds_config on its way to a DsConfig.
struct Said : DsConfig {
  explicit Said(const TrainRecipe& recipe) : recipe(recipe) {
    bf16.is_auto = fp16.is_auto = recipe.layout.strategy.empty();
  }

  const TrainRecipe& recipe;
  std::optional<std::int64_t> hidden_size;  ///< what sizes that are "auto" are filled in by
  Half bf16, fp16;
  std::optional<Config> zero_json, optimizer_json;
  std::optional<DType> grad_accum, communication;
  std::optional<std::int64_t> total, batch, micro_batch, accumulation;
  std::optional<bool> overlap_comm;
};

/// An object that is read once more is known of the model and the precision.
template <auto member>
Result<void> keep(const Config& json, std::string_view name, Said& said) {
  if (!json.is_null(name)) said.*member = json.object(name);
  return {};
}

Result<void> read_data_types(const Config& json, std::string_view name, Said& said) {
  const Config types = json.object(name);
  return types.has("grad_accum_dtype") ? put<&Said::grad_accum>(types, "grad_accum_dtype", said)
                                       : Result<void>();
}

Result<void> read_clipping(const Config& json, std::string_view name, Said& said) {
  said.gradient_clipping =
      is_auto(json, name) ? said.recipe.max_grad_norm.value_or(1.0) : json.number(name);
  return {};
}

/// A number of the batch; "auto" or no number says nothing.
template <auto member>
Result<void> read_batch(const Config& json, std::string_view name, Said& said) {
  const std::string text = json.json(name);
  const bool digits = !text.empty() && text.size() < 10 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  if (digits && text != "0") said.*member = std::stoll(text);
  return {};
}

Result<void> read_total_batch(const Config& json, std::string_view name, Said& said) {
  if (!json.is_null(name) && !is_auto(json, name)) said.total = json.integer(name);
  return read_batch<&Said::batch>(json, name, said);
}

Result<void> refuse_autocast(const Config& json, std::string_view name, Said&) {
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
Result<void> refuse_at_root(const Config& json, std::string_view name, Said&) {
  return refuse(json, name, kOption);
}
Result<void> refuse_in_zero(const Config& json, std::string_view name, Said&) {
  return refuse(json, name, kInZero);
}

/// deepspeed/runtime/config.py; "packed_sequences" and "zero_init" are memtape's own: rows hold
/// several sequences, the program makes its model under zero.Init.
constexpr auto kFields = std::to_array<ConfigField<Said>>({
    {"zero_optimization", keep<&Said::zero_json>},
    {"bf16 bfloat16", fields::put_object<&Said::bf16, kHalf>},
    {"fp16", fields::put_object<&Said::fp16, kHalf>},
    {"data_types", read_data_types},
    {"gradient_clipping", read_clipping},
    {"communication_data_type", put<&Said::communication>},
    {"optimizer", keep<&Said::optimizer_json>},
    {"scheduler"},
    {"train_batch_size", read_total_batch},
    {"train_micro_batch_size_per_gpu", read_batch<&Said::micro_batch>},
    {"gradient_accumulation_steps", read_batch<&Said::accumulation>},
    {"packed_sequences", flag<&Said::packed_sequences>},
    {"zero_init", flag<&Said::makes_under_zero_init>},
    {"prescale_gradients gradient_predivide_factor"},
    {"sparse_gradients", refuse_at_root},
    {"torch_autocast", refuse_autocast},
    {"steps_per_print wall_clock_breakdown dump_state memory_breakdown "
     "zero_allow_untested_optimizer zero_force_ds_cpu_optimizer activation_checkpointing aio "
     "comms_logger tensorboard wandb csv_monitor comet flops_profiler checkpoint data_efficiency "
     "seq_parallel_communication_data_type disable_allgather compression_training autotuning"},
});

/// A number of elements. What stands for "auto" is what
/// HfTrainerDeepSpeedConfig.trainer_config_finalize fills in for a hidden size, or the default.
template <auto member, std::int64_t (*automatic)(std::int64_t hidden_size) = nullptr>
Result<void> elements(const Config& json, std::string_view name, Said& said) {
  if (json.is_null(name)) return {};
  if (is_auto(json, name)) {
    if constexpr (automatic != nullptr)
      if (said.hidden_size) said.zero.*member = automatic(*said.hidden_size);
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
Result<void> read_offload(const Config& json, std::string_view name, Said& said) {
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

/// Of ZeRO 3 alone; _create_zero_param_parallel_group of deepspeed/utils/groups.py.
Result<void> read_hierarchy(const Config& json, std::string_view name, Said& said) {
  if (said.zero.stage != 3 || is_auto(json, name)) return {};
  const std::int64_t ranks = said.recipe.layout.gpus;
  const std::int64_t size = std::min(json.integer(name), ranks);
  said.zero.hpz_partition_size = size;
  if (size >= 0 && (size <= 1 || ranks % size == 0)) return {};
  return bad_input(std::to_string(ranks) + " GPUs are no groups of " + std::to_string(size),
                   "--strategy: zero_optimization.zero_hpz_partition_size",
                   "a divisor of the GPUs");
}

Result<void> read_stage(const Config& json, std::string_view name, Said& said) {
  const std::int64_t given = json.integer(name);
  if (Result<void> fine = json.check(); !fine) return fine;
  if (given < 0 || given > 3)
    return bad_input("no such ZeRO stage", "--strategy: zero_optimization.stage", "0, 1, 2 or 3");
  if (said.recipe.layout.zero.value_or(given) != given)
    return bad_input("the ds_config says stage " + std::to_string(given), "--zero",
                     std::to_string(given));
  said.zero.stage = static_cast<int>(given);
  return {};
}

/// deepspeed/runtime/zero/config.py.
using Zero = ZeroConfig;
constexpr auto kZeroFields = std::to_array<ConfigField<Said>>({
    {"stage", read_stage},
    {"contiguous_gradients", flag<&Said::zero, &Zero::contiguous_gradients>},
    {"reduce_scatter", flag<&Said::zero, &Zero::reduce_scatter>},
    {"reduce_bucket_size", elements<&Zero::reduce_bucket_size, square>},
    {"use_multi_rank_bucket_allreduce", flag<&Said::zero, &Zero::use_multi_rank_bucket_allreduce>},
    {"allgather_partitions allgather_bucket_size"},
    {"overlap_comm", flag<&Said::overlap_comm>},
    {"compute_grad_norm", flag<&Said::zero, &Zero::compute_grad_norm>},
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
     flag<&Said::zero, &Zero::use_all_reduce_for_fetch_params>},
    {"stage3_allgather_sequential allgather_sequential",
     flag<&Said::zero, &Zero::allgather_sequential>},
    {"ignore_unused_parameters"},
    {"legacy_stage1", refuse_in_zero},
    {"round_robin_gradients", flag<&Said::zero, &Zero::round_robin_gradients>},
    {"parameter_alignment", flag<&Said::zero, &Zero::parameter_alignment>},
    {"zero_hpz_partition_size", read_hierarchy},
    {"zero_quantized_weights", refuse_in_zero},
    {"zero_quantized_nontrainable_weights", refuse_in_zero},
    {"zero_quantized_gradients", refuse_in_zero},
    {"memory_efficient_linear", flag<&Said::zero, &Zero::memory_efficient_linear>},
    {"pipeline_loading_checkpoint override_module_apply log_trace_cache_warnings "
     "enable_sanity_checks"},
});

Result<void> settle_precision(Said& said) {
  const DType weights = said.recipe.parameter_dtype();
  const bool is_bf16 = said.bf16.is_on(weights == DType::bfloat16);
  const bool is_fp16 = said.fp16.is_on(weights == DType::float16);
  if (is_bf16 && is_fp16)
    return bad_input("bf16 and fp16 are both enabled", kOption, "one of them");
  said.model_dtype = is_bf16 ? DType::bfloat16 : is_fp16 ? DType::float16 : DType::float32;
  if (!is_bf16 && !is_fp16 && weights != DType::float32)
    return bad_input("DeepSpeed wants float32 weights where neither bf16 nor fp16 is enabled",
                     kOption, R"("bf16": {"enabled": true}, or --weights fp32)");
  said.check_grad_overflow = is_fp16 || (is_bf16 && said.bf16.check_grad_overflow);
  said.immediate_grad_update = said.bf16.immediate_grad_update;
  said.scales_loss = is_fp16 && said.fp16.scales_loss;
  return {};
}

Result<void> read_zero(Said& said) {
  ZeroConfig& z = said.zero;
  z.stage = static_cast<int>(said.recipe.layout.zero.value_or(0));
  z.model_persistence_threshold = std::int64_t{1} << 62;
  if (said.zero_json)
    if (Result<void> read = read_fields(*said.zero_json, kInZero, kZeroFields, said); !read)
      return read;
  z.overlap_comm = said.overlap_comm.value_or(z.stage == 3);
  if (z.reduce_bucket_size < 1) said.zero_json->fail("reduce_bucket_size", "must be 1 or more");
  const std::string& all = said.recipe.layout.offload;
  z.offload_optimizer |= all == "optimizer" || all == "all";
  z.offload_param |= all == "all" && z.stage == 3;
  if (z.offload_optimizer && z.stage == 0)
    return bad_input("an optimizer is offloaded by ZeRO 1, 2 and 3",
                     "--strategy: zero_optimization.offload_optimizer", "stage 1, 2 or 3");
  if (z.offload_param && z.stage != 3)
    return bad_input("parameters are offloaded by ZeRO 3",
                     "--strategy: zero_optimization.offload_param", "stage 3");
  return {};
}

Result<void> settle_dtypes(Said& said) {
  said.grad_accum_dtype = said.grad_accum.value_or(said.model_dtype);
  said.communication_data_type = said.communication.value_or(said.model_dtype);
  if (said.zero.stage != 0 || said.grad_accum_dtype == said.model_dtype) return {};
  return bad_input("DeepSpeed without ZeRO accumulates gradients in the model's dtype",
                   "--strategy: data_types.grad_accum_dtype", "stage 1, 2 or 3");
}

/// DeepSpeedEngine._configure_basic_optimizer.
Result<void> settle_optimizer(Said& said) {
  if (!said.optimizer_json) return {};
  const Config params = said.optimizer_json->object("params");
  const std::string type = said.optimizer_json->text("type", "AdamW");
  const std::string lower = lower_case(type);
  ConfiguredOptimizer& made = said.optimizer.emplace();
  if (lower == "adam" || lower == "adamw") {
    made.kind = params.boolean("torch_adam", false) ? ConfiguredOptimizer::Kind::torch
                : said.zero.offload_optimizer       ? ConfiguredOptimizer::Kind::cpu_adam
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

Result<void> check_rest(const Said& said) {
  if (said.makes_under_zero_init && said.zero.stage != 3)
    return bad_input("zero.Init cuts parameters, as ZeRO 3 alone does", "--strategy: zero_init",
                     "false, or stage 3");
  if (!said.zero.compute_grad_norm && said.gradient_clipping > 0.0)
    return bad_input("clipping needs the norm", "--strategy: zero_optimization.compute_grad_norm",
                     "true, or gradient_clipping 0");
  const TrainRecipe& recipe = said.recipe;
  const std::int64_t product =
      recipe.micro_batch_size * recipe.gradient_accumulation * recipe.layout.gpus;
  if (said.total.value_or(product) == product) return {};
  return bad_input("train_batch_size is not micro-batch x accumulation x GPUs",
                   "--strategy: train_batch_size", std::to_string(product));
}

std::int64_t hidden_size(const Config& model) {
  const Config text = model.has("text_config") ? model.object("text_config") : model;
  return text.optional_dimension({"hidden_size", "n_embd", "d_model"}).value_or(1024);
}

/// transformers asks the device whether positions step by one everywhere. The runs DeepSpeed was
/// recorded from answered every such question with no.
constexpr const char* kPacked =
    "rows are taken to be packed with several sequences, so that a mask is made; "
    "\"packed_sequences\": false in --strategy if they are not";

}  // namespace

Result<DsConfig> read_ds_config(const Config& model, const TrainRecipe& recipe, AutoSizes sizes) {
  Said said(recipe);
  if (sizes == AutoSizes::filled_in) said.hidden_size = hidden_size(model);
  return torch::check_data_parallel(recipe.layout, {"dp", "zero"})
      .and_then([&] { return torch::read_strategy(recipe, kFields, said); })
      .and_then([&] { return settle_precision(said); })
      .and_then([&] { return read_zero(said); })
      .and_then([&] { return settle_dtypes(said); })
      .and_then([&] { return settle_optimizer(said); })
      .and_then([&] { return check_rest(said); })
      .and_then([&] { return said.zero_json ? said.zero_json->check() : Result<void>(); })
      .map([&]() -> DsConfig { return said; });
}

TrainRecipe resolved(TrainRecipe recipe) {
  const TrainRecipe asked = recipe;
  Said said(asked);
  if (!torch::read_strategy(asked, kFields, said)) return recipe;
  if (said.packed_sequences) recipe.assumed.push_back(kPacked);
  if (said.micro_batch) recipe.micro_batch_size = *said.micro_batch;
  if (said.accumulation) recipe.gradient_accumulation = *said.accumulation;
  recipe.names_gradient_accumulation |= said.accumulation || said.batch;
  const std::int64_t others =
      recipe.layout.gpus *
      (said.micro_batch ? recipe.micro_batch_size : recipe.gradient_accumulation);
  if (!said.batch || *said.batch % others != 0) return recipe;
  if (said.micro_batch && !said.accumulation) recipe.gradient_accumulation = *said.batch / others;
  if (!said.micro_batch) recipe.micro_batch_size = *said.batch / others;
  return recipe;
}

}  // namespace memtape::deepspeed
