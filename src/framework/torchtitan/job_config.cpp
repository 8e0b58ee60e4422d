// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/job_config.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/typed_number.h"
#include "framework/torch/strategy.h"
#include "framework/torch_cp/options.h"
#include "framework/torchtitan/parallel_dims.h"
#include "model/type_of.h"
#include "release/torchtitan_days.h"

namespace memtape::torchtitan {
namespace {

using fields::pick;
using fields::put;
using fields::put_size;

enum class Reshards : std::uint8_t { by_default, always, never };

struct Said : JobConfig {
  Said() {
    fsdp2.mixed_precision.param_dtype = DType::bfloat16;
    fsdp2.mixed_precision.reduce_dtype = DType::float32;
  }

  std::string selective_ac_option;  ///< as JSON
  bool compiles = false, chunks_loss = false, disables_loss_parallel = false;
  std::vector<std::string> components;
  Reshards reshards = Reshards::by_default;
  std::int64_t replicas = 1;
  PipelineWords words;
  std::optional<bool> stops_early;
  bool names_day = false;
};

/// What --strategy says, of the day that it names, else of that of the release.
Said said_by(const TrainRecipe& recipe) {
  Said said = recipe.own.of<Said>();
  if (!said.names_day) said.day = torchtitan_day(recipe.release.of(Package::torchtitan));
  return said;
}

/// "2025-06-04".
Result<void> read_day(const Config& json, std::string_view name, Said& said) {
  const std::string text = json.text(name);
  if (const Result<void> fine = json.check(); !fine || text.empty()) return fine;
  std::string digits = text;
  std::erase(digits, '-');
  const auto number = static_cast<std::int32_t>(whole_number(digits).value_or(0));
  if (text.size() != 10 || digits.size() != 8 || number < 1)
    return bad_input("\"" + text + "\" is no day", "--strategy: version",
                     "the day of the checkout, as 2025-06-04");
  const Version day{number / 10000, number / 100 % 100, number % 100};
  if (day < Version{2024, 3, 1})
    return bad_input("torchtitan began in March 2024", "--strategy: version",
                     "2024-03-01 or later");
  said.day = day;
  said.names_day = true;
  return {};
}

Result<void> read_selective(const Config& json, std::string_view name, Said& said) {
  said.selective_ac_option = json.json(name);
  return {};
}

constexpr auto kPolicies = choices<Reshards>(
    "unusable value",
    {{"default", Reshards::by_default}, {"always", Reshards::always}, {"never", Reshards::never}});

/// The toml's names (torchtitan/config_manager.py), without their sections; "version" is the day of
/// the checkout, "chunked_loss" and "use_flex_attn" are choices of its models' configuration.
constexpr auto kFields = std::to_array<ConfigField<Said>>({
    {"version", read_day},
    {"selective_ac_option", read_selective},
    {"compile", put<&Said::compiles>},
    {"components", put<&Said::components>},
    {"mixed_precision_param",
     put<&Said::fsdp2, &fsdp2::Options::mixed_precision, &fsdp2::MixedPrecision::param_dtype>},
    {"mixed_precision_reduce",
     put<&Said::fsdp2, &fsdp2::Options::mixed_precision, &fsdp2::MixedPrecision::reduce_dtype>},
    {"fsdp_reshard_after_forward", pick<&Said::reshards, kPolicies>},
    {"disable_loss_parallel", put<&Said::disables_loss_parallel>},
    {"data_parallel_replicate_degree", put_size<&Said::replicas>},
    {"enable_cpu_offload", put<&Said::fsdp2, &fsdp2::Options::cpu_offload>},
    {"context_parallel_rotate_method", pick<&Said::rotation, torch_cp::kRotations>},
    {"chunked_loss", put<&Said::chunks_loss>},
    {"use_flex_attn", put<&Said::uses_flex>},
    {"pipeline_parallel_schedule", put<&Said::words, &PipelineWords::schedule>},
    {"pipeline_parallel_microbatch_size", put_size<&Said::words, &PipelineWords::microbatch_size>},
    {"pipeline_parallel_layers_per_stage",
     put_size<&Said::words, &PipelineWords::layers_per_stage>},
    {"pipeline_parallel_first_stage_less_layers", put<&Said::words, &PipelineWords::first_less>},
    {"pipeline_parallel_last_stage_less_layers", put<&Said::words, &PipelineWords::last_less>},
    {"converters", put<&Said::converters, &Converters::names>},
    {"float8_recipe_name", put<&Said::converters, &Converters::float8_recipe>},
    {"enable_fsdp_float8_all_gather", put<&Said::converters, &Converters::gathers_float8>},
    {"early_stop", put<&Said::stops_early>},
    {"early_step_in_backward", put<&Said::steps_early>},
});

Result<void> settle_activation_checkpoint(const TrainRecipe& recipe, Said& job) {
  if (recipe.checkpointing == Checkpointing::none) return {};
  if (recipe.checkpointing == Checkpointing::full) {
    job.activation_checkpoint = ActivationCheckpoint::full;
    return {};
  }
  if (recipe.checkpointing != Checkpointing::selective)
    return bad_input("torchtitan's checkpointing is not reentrant", "--gradient-checkpointing",
                     "none, full or selective");
  const std::string& option = job.selective_ac_option;
  job.activation_checkpoint = ActivationCheckpoint::ops;
  if (option.empty() || option == "\"op\"") return {};
  std::string digits = option;
  std::erase(digits, '"');
  job.checkpoint_every = whole_number(digits).value_or(0);
  if (job.checkpoint_every < 1)
    return bad_input("unusable value " + option, "--strategy: selective_ac_option",
                     "op, or every how many layers one is checkpointed");
  job.activation_checkpoint = ActivationCheckpoint::layers;
  return {};
}

void settle_compile(Said& job) {
  if (!job.compiles) return;
  const auto compiles = [&](std::string_view component) {
    return job.components.empty() ||
           std::ranges::find(job.components, component) != job.components.end();
  };
  job.compiles_blocks = compiles("model");
  job.compiles_loss = job.has(changes::kTitanCompilesLoss) && compiles("loss");
}

/// apply_fsdp.
void settle_fsdp(Said& job) {
  fsdp2::Options& o = job.fsdp2;
  o.ties_shards = true;  // init_weights, after parallelize
  const bool ends_are_units = job.has(changes::kTitanEndsAreUnits);
  if (ends_are_units) o.ends = fsdp2::WrappedEnds::apart;
  if (job.has(changes::kTitanRootReshards) && !ends_are_units) o.reshard_after_forward = true;
  switch (job.reshards) {
    case Reshards::never: o.reshard_after_forward = false; break;
    case Reshards::by_default: o.keeps_last_layer = !ends_are_units; break;
    case Reshards::always:
      if (ends_are_units) o.reshard_after_forward = true;
  }
}

/// pipeline_llm. Stages keep their parameters whole over a step's micro-batches.
Result<void> settle_pipeline(const Config& model, const TrainRecipe& recipe, Said& job) {
  if (job.size("pp") == 1) return {};
  if (type_of(model).starts_with("qwen3"))
    return bad_input("torchtitan's qwen3 has no pipelining_fn", "--pp", "1");
  if (!job.has(changes::kTitanEndsAreUnits))
    return unsupported("pipelines of so early a checkout are not modelled", "--strategy: version",
                       "2025-07-28 or later");
  auto pipeline = read_pipeline(job.words, recipe, model.layers("num_hidden_layers", 32));
  if (!pipeline) return tl::unexpected(pipeline.error());
  pipeline->schedule.return_outputs = !job.has(changes::kTitanReturnsNoOutputs);
  job.pipeline = std::move(*pipeline);
  job.fsdp2.reshard_after_backward = false;
  job.fsdp2.is_stage = true;
  if (job.reshards == Reshards::by_default) job.fsdp2.reshard_after_forward = false;
  return {};
}

/// OptimizersInBackwardContainer.
Result<void> check_optimizer(const JobConfig& job) {
  constexpr const char* kOption = "--strategy: early_step_in_backward";
  if (!job.steps_early) return {};
  if (job.expert_parallel > 1 || job.size("pp") > 1)
    return bad_input("torchtitan has no optimizers in backward with expert or pipeline parallelism",
                     kOption, "false, or --ep 1 and --pp 1");
  if (job.replicates() || job.fsdp2.cpu_offload)
    return unsupported("optimizers in backward with DDP or parameters on the host are not modelled",
                       kOption, "false");
  return {};
}

Result<void> check_recipe(const TrainRecipe& recipe) {
  if (recipe.lora || recipe.quantization)
    return unsupported("adapters and quantized layers are not modelled", "--framework torchtitan",
                       "a training of all parameters");
  if (recipe.autocasts() || recipe.parameter_dtype() != DType::float32)
    return bad_input("torchtitan holds its parameters in float32", "--weights",
                     "fp32; --strategy: mixed_precision_param says what they are cast to");
  if (recipe.optimizer != OptimizerName::adamw && recipe.optimizer != OptimizerName::adam)
    return bad_input("torchtitan has Adam and AdamW", "--optimizer", "adamw or adam");
  if (recipe.attention != AttentionChoice::sdpa)
    return bad_input("torchtitan's attention is sdpa", "--attention", "sdpa");
  return {};
}

}  // namespace

Result<void> read_strategy(std::string_view json, TrainRecipe& recipe) {
  return torch::read_strategy(json, kFields, recipe);
}

Result<void> read_common_words(std::span<const NamedValue> options, TrainRecipe& recipe) {
  Said& said = recipe.own.of<Said>();
  if (const auto* const loss = last_value(options, "loss"); loss && *loss == "chunked")
    said.chunks_loss = true;
  if (!last_value(options, "precision")) return {};
  if (!recipe.low_bits)
    return bad_input("torchtitan has no precision of that name", "--precision",
                     "fp8 or mxfp8; training.dtype is --weights here");
  const bool is_mx = recipe.low_bits == LowBits::mxfp8;
  said.converters.names = {is_mx ? "quantize.linear.mx" : "quantize.linear.float8",
                           is_mx ? "quantize.grouped_mm.mx" : "quantize.grouped_mm.float8"};
  return {};
}

void read_time(const TrainRecipe& recipe, time::TrainSetup& setup) {
  read_converters(recipe.own.of<Said>().converters, setup);
}

Result<JobConfig> job_config_of(const Config& model, const TrainRecipe& recipe) {
  Said job = said_by(recipe);
  return settle_activation_checkpoint(recipe, job)
      .and_then([&]() -> Result<void> {
        job.accumulates = recipe.gradient_accumulation > 1;
        if (job.chunks_loss) job.loss = LossKind::chunked;
        job.early_stop = job.stops_early.value_or(!job.has(changes::kTitanRecomputesAll));
        settle_compile(job);
        settle_fsdp(job);
        return lay_out(model, recipe, job.replicas, job);
      })
      .and_then([&] {
        job.loss_parallel = job.size("tp") > 1 && !job.disables_loss_parallel;
        return check_optimizer(job);
      })
      .and_then([&]() -> Result<void> {
        if (!job.compiles_blocks || !job.autocasts()) return {};
        return unsupported("compiled blocks under autocast, without shards, are not modelled",
                           "--strategy: compile", "false, or GPUs that shard");
      })
      .and_then([&] { return settle_pipeline(model, recipe, job); })
      .and_then([&] { return check_divides(model, recipe, job); })
      .and_then([&] { return check_recipe(recipe); })
      .and_then([&] { return check(job.converters, job.compiles_blocks, job.size("tp")); })
      .map([&]() -> JobConfig { return job; });
}

TrainRecipe resolved(TrainRecipe recipe) {
  if (!recipe.weights) {
    recipe.weights = DType::float32;
    recipe.precision = Precision::fp32;
  }
  const Said said = said_by(recipe);
  if (!said.compiles && (said.converters.linears() || said.converters.experts()))
    recipe.not_modelled.emplace_back(
        "converters: products in 8 bits are counted as bf16; without compile each keeps casts and "
        "scales of its own, which take a great deal more");
  const bool fuses = said.has(changes::kTitanFusesOptimizer);
  if (!recipe.names_optimizer_impl && fuses) recipe.optimizer_impl = OptimizerImpl::fused;
  return recipe;
}

}  // namespace memtape::torchtitan
