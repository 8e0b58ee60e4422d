// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/ds_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "framework/torch/strategy.h"

namespace memtape::deepspeed {
namespace {

constexpr const char* kOption = "--strategy";

constexpr auto kKnown = std::to_array<std::string_view>({"zero_optimization",
                                                         "bf16",
                                                         "bfloat16",
                                                         "fp16",
                                                         "data_types",
                                                         "gradient_clipping",
                                                         "communication_data_type",
                                                         "optimizer",
                                                         "scheduler",
                                                         "train_batch_size",
                                                         "train_micro_batch_size_per_gpu",
                                                         "gradient_accumulation_steps",
                                                         "packed_sequences",
                                                         "zero_init",
                                                         "prescale_gradients",
                                                         "gradient_predivide_factor",
                                                         "sparse_gradients",
                                                         "torch_autocast",
                                                         "steps_per_print",
                                                         "wall_clock_breakdown",
                                                         "dump_state",
                                                         "memory_breakdown",
                                                         "zero_allow_untested_optimizer",
                                                         "zero_force_ds_cpu_optimizer",
                                                         "activation_checkpointing",
                                                         "aio",
                                                         "comms_logger",
                                                         "tensorboard",
                                                         "wandb",
                                                         "csv_monitor",
                                                         "comet",
                                                         "flops_profiler",
                                                         "checkpoint",
                                                         "data_efficiency",
                                                         "seq_parallel_communication_data_type",
                                                         "disable_allgather",
                                                         "compression_training",
                                                         "autotuning"});

constexpr auto kZeroKeys =
    std::to_array<std::string_view>({"stage",
                                     "contiguous_gradients",
                                     "reduce_scatter",
                                     "reduce_bucket_size",
                                     "use_multi_rank_bucket_allreduce",
                                     "allgather_partitions",
                                     "allgather_bucket_size",
                                     "overlap_comm",
                                     "compute_grad_norm",
                                     "load_from_fp32_weights",
                                     "elastic_checkpoint",
                                     "offload_param",
                                     "offload_optimizer",
                                     "sub_group_size",
                                     "cpu_offload_param",
                                     "cpu_offload",
                                     "cpu_offload_use_pin_memory",
                                     "stage3_prefetch_bucket_size",
                                     "prefetch_bucket_size",
                                     "stage3_param_persistence_threshold",
                                     "param_persistence_threshold",
                                     "stage3_model_persistence_threshold",
                                     "model_persistence_threshold",
                                     "stage3_max_live_parameters",
                                     "max_live_parameters",
                                     "stage3_max_reuse_distance",
                                     "max_reuse_distance",
                                     "stage3_gather_16bit_weights_on_model_save",
                                     "gather_16bit_weights_on_model_save",
                                     "stage3_gather_fp16_weights_on_model_save",
                                     "stage3_module_granularity_threshold",
                                     "module_granularity_threshold",
                                     "stage3_use_all_reduce_for_fetch_params",
                                     "use_all_reduce_for_fetch_params",
                                     "stage3_allgather_sequential",
                                     "allgather_sequential",
                                     "ignore_unused_parameters",
                                     "legacy_stage1",
                                     "round_robin_gradients",
                                     "parameter_alignment",
                                     "zero_hpz_partition_size",
                                     "zero_quantized_weights",
                                     "zero_quantized_nontrainable_weights",
                                     "zero_quantized_gradients",
                                     "memory_efficient_linear",
                                     "pipeline_loading_checkpoint",
                                     "override_module_apply",
                                     "log_trace_cache_warnings",
                                     "enable_sanity_checks"});

constexpr auto kPrecisionKeys = std::to_array<std::string_view>(
    {"enabled", "immediate_grad_update", "check_grad_overflow", "auto_cast", "loss_scale",
     "initial_scale_power", "loss_scale_window", "hysteresis", "consecutive_hysteresis",
     "min_loss_scale"});

constexpr auto kOffloadKeys = std::to_array<std::string_view>(
    {"device", "pin_memory", "nvme_path", "buffer_count", "buffer_size", "max_in_cpu",
     "pipeline_read", "pipeline_write", "fast_init", "ratio"});

/// A nested object and where it stands, for messages; the first failure is kept.
class Section {
 public:
  Section(Config json, std::string name) : json_(std::move(json)), name_(std::move(name)) {}

  const Config& json() const { return json_; }
  bool has(std::string_view key) const { return !json_.is_null(key); }
  bool is_auto(std::string_view key) const { return json_.json(key) == "\"auto\""; }

  Result<void> check_keys(std::span<const std::string_view> known) const {
    for (const std::string& key : json_.keys())
      if (std::find(known.begin(), known.end(), key) == known.end())
        return unsupported("\"" + key + "\" is not modelled", place(), suggestion(key, known));
    return {};
  }

  bool flag(std::string_view key, bool otherwise) const {
    return is_auto(key) || !has(key) ? otherwise : json_.boolean(key);
  }

  /// A number of elements; `automatic` for "auto".
  std::int64_t elements(Keys keys, std::int64_t otherwise,
                        std::optional<std::int64_t> automatic = std::nullopt) const {
    for (const std::string_view key : keys) {
      if (!has(key)) continue;
      if (is_auto(key)) return automatic.value_or(otherwise);
      const double value = json_.number(key);
      if (value >= 0.0 && value < 9e18 && std::floor(value) == value)
        return static_cast<std::int64_t>(value);
      if (value < 9e18 || !std::isfinite(value))
        json_.fail(key, "must be a whole number of elements");
      return otherwise;
    }
    return otherwise;
  }

  /// Options whose other values are not modelled.
  Result<void> refuse_unless_off(std::initializer_list<std::string_view> keys) const {
    for (const std::string_view key : keys) {
      const std::string value = json_.json(key);
      if (value != "null" && value != "false" && value != "0" && value != "1" &&
          value != "\"auto\"")
        return unsupported(std::string(key) + " " + value + " is not modelled", place(), "false");
      if (value == "1") return unsupported(std::string(key) + " 1 is not modelled", place(), "0");
    }
    return {};
  }

 private:
  std::string place() const {
    return name_.empty() ? kOption : std::string(kOption) + ": " + name_;
  }
  Config json_;
  std::string name_;
};

/// "device" of offload_optimizer or offload_param: whether it is the host.
Result<bool> offloads(const Section& zero, const char* key, bool nvme_too) {
  if (!zero.has(key)) return false;
  const Section section(zero.json().object(key), std::string("zero_optimization.") + key);
  if (const Result<void> fine = section.check_keys(kOffloadKeys); !fine)
    return tl::unexpected(fine.error());
  const std::string device = section.json().text("device", "none");
  if (section.has("ratio") && section.json().number("ratio") != 1.0)
    return unsupported("a ratio below 1 is not modelled",
                       std::string("--strategy: zero_optimization.") + key, "1.0");
  if (device == "none") return false;
  if (device == "cpu" || (device == "nvme" && nvme_too)) return true;
  return unsupported("device \"" + device + "\" is not modelled",
                     std::string("--strategy: zero_optimization.") + key, "one of none, cpu");
}

/// Whether one of bf16 and fp16 is on; "auto" follows the weights, and so does no ds_config at all.
bool enabled(const Section& section, bool automatic, bool no_config) {
  return no_config || section.is_auto("enabled") ? automatic : section.flag("enabled", false);
}

struct Reader {
  const Config& model;
  const TrainRecipe& recipe;
  Section root;
  AutoSizes sizes;
  DsConfig config;

  Result<void> read() {
    for (const auto step : {&Reader::read_precision, &Reader::read_zero, &Reader::read_dtypes,
                            &Reader::read_optimizer, &Reader::read_rest})
      if (const Result<void> fine = (this->*step)(); !fine) return fine;
    return root.json().check();
  }

  Result<void> read_precision() {
    const Section bf16(root.json().object({"bf16", "bfloat16"}), "bf16");
    const Section fp16(root.json().object("fp16"), "fp16");
    for (const Section* section : {&bf16, &fp16})
      if (const Result<void> fine = section->check_keys(kPrecisionKeys); !fine) return fine;
    const DType weights = recipe.parameter_dtype();
    const bool no_config = recipe.layout.strategy.empty();
    const bool is_bf16 = enabled(bf16, weights == DType::bfloat16, no_config);
    const bool is_fp16 = enabled(fp16, weights == DType::float16, no_config);
    if (is_bf16 && is_fp16)
      return bad_input("bf16 and fp16 are both enabled", kOption, "one of them");
    config.model_dtype = is_bf16 ? DType::bfloat16 : is_fp16 ? DType::float16 : DType::float32;
    if (!is_bf16 && !is_fp16 && weights != DType::float32)
      return bad_input("DeepSpeed wants float32 weights where neither bf16 nor fp16 is enabled",
                       kOption, R"("bf16": {"enabled": true}, or --weights fp32)");
    config.check_grad_overflow = is_fp16 || (is_bf16 && bf16.flag("check_grad_overflow", true));
    config.immediate_grad_update = bf16.flag("immediate_grad_update", false);
    config.scales_loss = is_fp16 && (!fp16.has("loss_scale") || fp16.is_auto("loss_scale") ||
                                     fp16.json().number("loss_scale") != 1.0);
    return {};
  }

  Result<void> read_zero() {
    const Section zero(root.json().object("zero_optimization"), "zero_optimization");
    if (const Result<void> fine = zero.check_keys(kZeroKeys); !fine) return fine;
    if (const Result<void> off = zero.refuse_unless_off(
            {"zero_quantized_weights", "zero_quantized_nontrainable_weights",
             "zero_quantized_gradients", "stage3_module_granularity_threshold",
             "module_granularity_threshold", "legacy_stage1", "cpu_offload", "cpu_offload_param"});
        !off)
      return off;
    ZeroConfig& z = config.zero;
    if (const Result<void> fine = read_stage(zero); !fine) return fine;
    z.contiguous_gradients = zero.flag("contiguous_gradients", true);
    z.reduce_scatter = zero.flag("reduce_scatter", true);
    z.overlap_comm = zero.flag("overlap_comm", z.stage == 3);
    z.use_multi_rank_bucket_allreduce = zero.flag("use_multi_rank_bucket_allreduce", true);
    z.round_robin_gradients = zero.flag("round_robin_gradients", false);
    z.parameter_alignment = zero.flag("parameter_alignment", false);
    z.compute_grad_norm = zero.flag("compute_grad_norm", true);
    z.memory_efficient_linear = zero.flag("memory_efficient_linear", true);
    read_sizes(zero);
    if (const Result<void> fine = read_hierarchy(zero); !fine) return fine;
    return read_offload(zero);
  }

  /// Of ZeRO 3 alone; _create_zero_param_parallel_group of deepspeed/utils/groups.py.
  Result<void> read_hierarchy(const Section& zero) {
    if (config.zero.stage != 3 || zero.is_auto("zero_hpz_partition_size")) return {};
    const std::int64_t ranks = recipe.layout.gpus;
    const std::int64_t size = std::min(zero.json().integer("zero_hpz_partition_size", 1), ranks);
    if (size < 0 || (size > 1 && ranks % size != 0))
      return bad_input(std::to_string(ranks) + " GPUs are no groups of " + std::to_string(size),
                       "--strategy: zero_optimization.zero_hpz_partition_size",
                       "a divisor of the GPUs");
    config.zero.hpz_partition_size = size;
    return {};
  }

  Result<void> read_stage(const Section& zero) {
    const auto& flag = recipe.layout.zero;
    const std::int64_t given = zero.json().integer("stage", flag.value_or(0));
    if (given < 0 || given > 3)
      return bad_input("no such ZeRO stage", "--strategy: zero_optimization.stage", "0, 1, 2 or 3");
    if (flag && *flag != given)
      return bad_input("the ds_config says stage " + std::to_string(given), "--zero",
                       std::to_string(given));
    config.zero.stage = static_cast<int>(given);
    return {};
  }

  /// "auto" as HfTrainerDeepSpeedConfig.trainer_config_finalize fills it in.
  void read_sizes(const Section& zero) {
    ZeroConfig& z = config.zero;
    const std::int64_t hidden = hidden_size();
    const auto automatic = [this](std::int64_t size) {
      return sizes == AutoSizes::filled_in ? std::optional(size) : std::nullopt;
    };
    z.reduce_bucket_size =
        zero.elements("reduce_bucket_size", z.reduce_bucket_size, automatic(hidden * hidden));
    z.prefetch_bucket_size = zero.elements(
        {"stage3_prefetch_bucket_size", "prefetch_bucket_size"}, z.prefetch_bucket_size,
        automatic(static_cast<std::int64_t>(0.9 * static_cast<double>(hidden * hidden))));
    z.param_persistence_threshold =
        zero.elements({"stage3_param_persistence_threshold", "param_persistence_threshold"},
                      z.param_persistence_threshold, automatic(10 * hidden));
    z.model_persistence_threshold =
        zero.elements({"stage3_model_persistence_threshold", "model_persistence_threshold"},
                      std::int64_t{1} << 62);
    z.max_live_parameters =
        zero.elements({"stage3_max_live_parameters", "max_live_parameters"}, z.max_live_parameters);
    z.max_reuse_distance =
        zero.elements({"stage3_max_reuse_distance", "max_reuse_distance"}, z.max_reuse_distance);
    z.sub_group_size = zero.elements("sub_group_size", z.sub_group_size);
    z.allgather_sequential =
        zero.flag("stage3_allgather_sequential", zero.flag("allgather_sequential", false));
    z.use_all_reduce_for_fetch_params =
        zero.flag("stage3_use_all_reduce_for_fetch_params",
                  zero.flag("use_all_reduce_for_fetch_params", false));
    if (z.reduce_bucket_size < 1) zero.json().fail("reduce_bucket_size", "must be 1 or more");
  }

  std::int64_t hidden_size() const {
    const Config text = model.has("text_config") ? model.object("text_config") : model;
    return text.optional_dimension({"hidden_size", "n_embd", "d_model"}).value_or(1024);
  }

  Result<void> read_offload(const Section& zero) {
    ZeroConfig& z = config.zero;
    const auto optimizer = offloads(zero, "offload_optimizer", true);
    if (!optimizer) return tl::unexpected(optimizer.error());
    const auto param = offloads(zero, "offload_param", false);
    if (!param) return tl::unexpected(param.error());
    const std::string& all = recipe.layout.offload;
    z.offload_optimizer = *optimizer || all == "optimizer" || all == "all";
    z.offload_param = *param || (all == "all" && z.stage == 3);
    if (z.offload_optimizer && z.stage == 0)
      return bad_input("an optimizer is offloaded by ZeRO 1, 2 and 3",
                       "--strategy: zero_optimization.offload_optimizer", "stage 1, 2 or 3");
    if (z.offload_param && z.stage != 3)
      return bad_input("parameters are offloaded by ZeRO 3",
                       "--strategy: zero_optimization.offload_param", "stage 3");
    return {};
  }

  Result<void> read_dtypes() {
    const Config types = root.json().object("data_types");
    const auto accum = torch::optional_dtype(types, "grad_accum_dtype");
    if (!accum) return tl::unexpected(accum.error());
    config.grad_accum_dtype = accum->value_or(config.model_dtype);
    const auto communication = torch::optional_dtype(root.json(), "communication_data_type");
    if (!communication) return tl::unexpected(communication.error());
    config.communication_data_type = communication->value_or(config.model_dtype);
    if (config.zero.stage == 0 && config.grad_accum_dtype != config.model_dtype)
      return bad_input("DeepSpeed without ZeRO accumulates gradients in the model's dtype",
                       "--strategy: data_types.grad_accum_dtype", "stage 1, 2 or 3");
    return {};
  }

  Result<void> read_optimizer() {
    if (!root.has("optimizer")) return {};
    const Config json = root.json().object("optimizer");
    const Config params = json.object("params");
    const std::string type = json.text("type", "AdamW");
    ConfiguredOptimizer made;
    std::string lower = type;
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    if (lower == "adam" || lower == "adamw") {
      const bool torch_adam = params.boolean("torch_adam", false);
      made.kind = torch_adam                      ? ConfiguredOptimizer::Kind::torch
                  : config.zero.offload_optimizer ? ConfiguredOptimizer::Kind::cpu_adam
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
      constexpr auto kTypes =
          std::to_array<std::string_view>({"Adam", "AdamW", "Adagrad", "SGD", "RMSprop"});
      return unsupported("\"" + type + "\" is not modelled", "--strategy: optimizer.type",
                         suggestion(type, kTypes));
    }
    config.optimizer = made;
    return {};
  }

  Result<void> read_rest() {
    if (const Result<void> off = root.refuse_unless_off({"sparse_gradients"}); !off) return off;
    const Config autocast = root.json().object("torch_autocast");
    if (autocast.boolean("enabled", false))
      return unsupported("torch_autocast is not modelled", kOption, "bf16 or fp16");
    config.packed_sequences = root.flag("packed_sequences", true);
    config.makes_under_zero_init = root.flag("zero_init", false);
    if (config.makes_under_zero_init && config.zero.stage != 3)
      return bad_input("zero.Init cuts parameters, as ZeRO 3 alone does", "--strategy: zero_init",
                       "false, or stage 3");
    const double clip = recipe.max_grad_norm.value_or(1.0);
    config.gradient_clipping =
        root.is_auto("gradient_clipping") ? clip : root.json().number("gradient_clipping", 1.0);
    if (!config.zero.compute_grad_norm && config.gradient_clipping > 0.0)
      return bad_input("clipping needs the norm", "--strategy: zero_optimization.compute_grad_norm",
                       "true, or gradient_clipping 0");
    return check_batch();
  }

  /// train_batch_size is the product of the other two and the ranks.
  Result<void> check_batch() const {
    const std::int64_t product =
        recipe.micro_batch_size * recipe.gradient_accumulation * recipe.layout.gpus;
    if (!root.has("train_batch_size") || root.is_auto("train_batch_size")) return {};
    if (root.json().integer("train_batch_size") == product) return {};
    return bad_input("train_batch_size is not micro-batch x accumulation x GPUs",
                     "--strategy: train_batch_size", std::to_string(product));
  }
};

/// transformers asks the device whether positions step by one everywhere. The runs DeepSpeed was
/// recorded from answered every such question with no.
constexpr const char* kPacked =
    "rows are taken to be packed with several sequences, so that a mask is made; "
    "\"packed_sequences\": false in --strategy if they are not";

/// A number of the ds_config's batch; nothing where it is absent, "auto" or no number.
std::optional<std::int64_t> batch_number(const Config& json, const char* key) {
  const std::string text = json.json(key);
  const bool digits =
      !text.empty() && text.size() < 10 &&
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || text == "0") return std::nullopt;
  return std::stoll(text);
}

}  // namespace

Result<DsConfig> read_ds_config(const Config& model, const TrainRecipe& recipe, AutoSizes sizes) {
  if (const Result<void> fine = torch::check_axes(recipe.layout, {"dp", "zero"}); !fine)
    return tl::unexpected(fine.error());
  const auto dp = torch::remaining_axis(recipe.layout, "dp", recipe.layout.dp, 1);
  if (!dp) return tl::unexpected(dp.error());
  Result<Config> json = torch::read_strategy(recipe, kKnown);
  if (!json) return tl::unexpected(json.error());
  Reader reader{model, recipe, Section(std::move(*json), ""), sizes, {}};
  if (const Result<void> fine = reader.read(); !fine) return tl::unexpected(fine.error());
  return reader.config;
}

TrainRecipe resolved(TrainRecipe recipe) {
  const Result<Config> json =
      Config::parse(recipe.layout.strategy.empty() ? "{}" : recipe.layout.strategy, kOption);
  if (!json) return recipe;
  if (json->json("packed_sequences") != "false") recipe.assumed.push_back(kPacked);
  const auto micro = batch_number(*json, "train_micro_batch_size_per_gpu");
  const auto accumulation = batch_number(*json, "gradient_accumulation_steps");
  const auto batch = batch_number(*json, "train_batch_size");
  if (micro) recipe.micro_batch_size = *micro;
  if (accumulation) recipe.gradient_accumulation = *accumulation;
  if (accumulation || batch) recipe.names_gradient_accumulation = true;
  const std::int64_t others =
      recipe.layout.gpus * (micro ? recipe.micro_batch_size : recipe.gradient_accumulation);
  if (batch && micro && !accumulation && *batch % others == 0)
    recipe.gradient_accumulation = *batch / others;
  if (batch && !micro && *batch % others == 0) recipe.micro_batch_size = *batch / others;
  return recipe;
}

}  // namespace memtape::deepspeed
