// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/job_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "base/text.h"
#include "framework/torch/strategy.h"
#include "model/type_of.h"

namespace memtape::torchtitan {
namespace {

constexpr auto kKnownKeys = std::to_array<std::string_view>(
    {"version", "selective_ac_option", "compile", "components", "mixed_precision_param",
     "mixed_precision_reduce", "fsdp_reshard_after_forward", "disable_loss_parallel",
     "data_parallel_replicate_degree", "enable_cpu_offload", "context_parallel_rotate_method",
     "chunked_loss", "pipeline_parallel_schedule", "pipeline_parallel_microbatch_size",
     "pipeline_parallel_layers_per_stage", "pipeline_parallel_first_stage_less_layers",
     "pipeline_parallel_last_stage_less_layers", "early_stop", "early_step_in_backward"});

std::string text_of(std::int64_t number) { return std::to_string(number); }

/// "2025-06-04".
Result<Version> read_day(const Config& json) {
  const std::string text = json.text("version", "");
  if (text.empty()) return kDefaultDay;
  std::string digits = text;
  std::erase(digits, '-');
  std::int32_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, number);
  if (text.size() != 10 || digits.size() != 8 || error != std::errc() || at != end)
    return bad_input("\"" + text + "\" is no day", "--strategy: version",
                     "the day of the checkout, as 2025-06-04");
  const Version day{number / 10000, number / 100 % 100, number % 100};
  if (day < Version{2024, 3, 1})
    return bad_input("torchtitan began in March 2024", "--strategy: version",
                     "2024-03-01 or later");
  return day;
}

Result<void> read_activation_checkpoint(const Config& json, const TrainRecipe& recipe,
                                        JobConfig& job) {
  if (recipe.checkpointing == Checkpointing::none) return {};
  if (recipe.checkpointing == Checkpointing::full) {
    job.activation_checkpoint = ActivationCheckpoint::full;
    return {};
  }
  if (recipe.checkpointing != Checkpointing::selective)
    return bad_input("torchtitan's checkpointing is not reentrant", "--gradient-checkpointing",
                     "none, full or selective");
  const std::string option =
      json.has("selective_ac_option") ? json.json("selective_ac_option") : "";
  job.activation_checkpoint = ActivationCheckpoint::ops;
  if (option.empty() || option == "\"op\"") return {};
  std::string digits = option;
  std::erase(digits, '"');
  const char* const end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, job.checkpoint_every);
  if (error != std::errc() || at != end || job.checkpoint_every < 1)
    return bad_input("unusable value " + option, "--strategy: selective_ac_option",
                     "op, or every how many layers one is checkpointed");
  job.activation_checkpoint = ActivationCheckpoint::layers;
  return {};
}

void read_compile(const Config& json, JobConfig& job) {
  if (!json.boolean("compile", false)) return;
  const std::vector<std::string> components = json.texts("components");
  const auto compiles = [&](std::string_view component) {
    return components.empty() ||
           std::find(components.begin(), components.end(), component) != components.end();
  };
  job.compiles_blocks = compiles("model");
  job.compiles_loss = job.has(changes::kTitanCompilesLoss) && compiles("loss");
}

/// apply_fsdp.
Result<void> read_fsdp(const Config& json, JobConfig& job) {
  const auto dtype = [&](const char* key, DType otherwise) -> Result<DType> {
    const auto said = torch::optional_dtype(json, key);
    if (!said) return tl::unexpected(said.error());
    return said->value_or(otherwise);
  };
  const auto param = dtype("mixed_precision_param", DType::bfloat16);
  if (!param) return tl::unexpected(param.error());
  const auto reduce = dtype("mixed_precision_reduce", DType::float32);
  if (!reduce) return tl::unexpected(reduce.error());
  job.fsdp2.mixed_precision.param_dtype = *param;
  job.fsdp2.mixed_precision.reduce_dtype = *reduce;
  job.fsdp2.cpu_offload = json.boolean("enable_cpu_offload", false);
  const bool ends_are_units = job.has(changes::kTitanEndsAreUnits);
  if (ends_are_units) job.fsdp2.ends = fsdp2::WrappedEnds::apart;
  job.fsdp2.ties_shards = true;  // init_weights, after parallelize
  constexpr auto kPolicies = std::to_array<std::string_view>({"default", "always", "never"});
  if (job.has(changes::kTitanRootReshards) && !ends_are_units)
    job.fsdp2.reshard_after_forward = true;
  const std::string policy = json.text("fsdp_reshard_after_forward", "default");
  if (policy == "never")
    job.fsdp2.reshard_after_forward = false;
  else if (policy == "default")
    job.fsdp2.keeps_last_layer = !ends_are_units;
  else if (policy == "always" && ends_are_units)
    job.fsdp2.reshard_after_forward = true;
  else if (policy != "always")
    return bad_input("unusable value \"" + policy + "\"", "--strategy: fsdp_reshard_after_forward",
                     suggestion(policy, kPolicies));
  return {};
}

/// ParallelDims' _validate of the ranks that share experts: those of cp, with an expert tensor
/// parallel degree of one those of tp, too, and as many shards as it takes. How many shards.
Result<std::int64_t> read_expert_parallel(const LayoutRecipe& layout, std::int64_t shards,
                                          JobConfig& job) {
  const std::int64_t ep = layout.ep.value_or(1), cp = layout.cp.value_or(1),
                     tp = layout.tp.value_or(1), etp = layout.etp.value_or(1);
  if (ep == 1) return 1;
  if (etp != 1 && etp != tp)
    return bad_input("an expert tensor parallel degree of " + text_of(etp), "--etp",
                     tp == 1 ? "1" : "1, or the tensor parallel degree " + text_of(tp));
  const std::int64_t taken = cp * (etp == tp ? 1 : tp);
  if (ep % taken != 0 || shards * taken % ep != 0)
    return bad_input(text_of(shards) + " data parallel shards" +
                         (taken > 1 ? " times " + text_of(taken) + " (cp, tp)" : "") +
                         " do not divide by " + text_of(ep),
                     "--ep",
                     "a divisor of the data parallel shards, times cp, times tp unless --etp");
  job.expert_parallel = ep;
  job.cuts_experts = etp > 1;
  return ep / taken;
}

/// ParallelDims and its mesh: pp, dp_replicate, dp_shard, cp, tp, the last fastest; fully_shard
/// sees dp_shard and cp as one axis.
Result<void> read_layout(const Config& model, const Config& json, const TrainRecipe& recipe,
                         JobConfig& job) {
  const LayoutRecipe& layout = recipe.layout;
  if (const auto fine = torch::check_axes(layout, {"dp", "tp", "cp", "pp", "ep", "etp"}); !fine)
    return fine;
  const std::int64_t replicas =
      json.optional_dimension("data_parallel_replicate_degree").value_or(1);
  const std::int64_t cp = layout.cp.value_or(1), tp = layout.tp.value_or(1),
                     pp = layout.pp.value_or(1);
  const auto given =
      layout.dp ? std::optional(*layout.dp / std::max<std::int64_t>(1, replicas)) : std::nullopt;
  const auto shards = torch::remaining_axis(layout, "dp", given, replicas * cp * tp * pp);
  if (!shards) return tl::unexpected(shards.error());
  const auto in_ep = read_expert_parallel(layout, *shards, job);
  if (!in_ep) return tl::unexpected(in_ep.error());
  job.layout = Layout({{"pp", pp},
                       {"replicate", replicas},
                       {"dp_shard", *shards / *in_ep},
                       {"ep", *in_ep},
                       {"cp", cp},
                       {"tp", tp}});
  job.fsdp2.mesh =
      Layout({{"pp", pp}, {"replicate", replicas}, {"shard", *shards * cp}, {"tp", tp}});
  // deepseek_v3's models are sharded among one rank, too, where ranks share experts.
  const bool is_qwen3 = type_of(model).starts_with("qwen3");
  job.shards = *shards * cp > 1 || (job.expert_parallel > 1 && !is_qwen3);
  if (job.replicates() && tp * pp > 1)
    return bad_input("torchtitan's DDP goes with no other parallelism",
                     "--strategy: data_parallel_replicate_degree",
                     "a shard degree of more than 1 beside --tp and --pp");
  if (cp > 1 && is_qwen3)
    return bad_input("torchtitan's qwen3 has no freqs_cis to cut", "--cp", "1");
  if (cp > 1 && job.has(changes::kTitanGroupsHeads))
    return unsupported("context parallelism by looked up positions is not modelled", "--cp",
                       "a version before 2026-02-20");
  job.loss_parallel = tp > 1 && !json.boolean("disable_loss_parallel", false);
  const std::string rotate = json.text("context_parallel_rotate_method", "allgather");
  constexpr auto kRotations = std::to_array<std::string_view>({"allgather", "alltoall"});
  if (rotate != "allgather" && rotate != "alltoall")
    return bad_input("unknown rotation \"" + rotate + "\"",
                     "--strategy: context_parallel_rotate_method", suggestion(rotate, kRotations));
  job.rotation =
      rotate == "allgather" ? torch_cp::Rotation::all_gather : torch_cp::Rotation::all_to_all;
  return {};
}

/// pipeline_llm. Stages keep their parameters whole over a step's micro-batches.
Result<void> read_pipeline_parallel(const Config& model, const Config& json,
                                    const TrainRecipe& recipe, JobConfig& job) {
  if (job.size("pp") == 1) return {};
  if (type_of(model).starts_with("qwen3"))
    return bad_input("torchtitan's qwen3 has no pipelining_fn", "--pp", "1");
  if (!job.has(changes::kTitanEndsAreUnits))
    return unsupported("pipelines of so early a checkout are not modelled", "--strategy: version",
                       "2025-07-28 or later");
  auto pipeline = read_pipeline(json, recipe, model.layers("num_hidden_layers", 32));
  if (!pipeline) return tl::unexpected(pipeline.error());
  pipeline->schedule.return_outputs = !job.has(changes::kTitanReturnsNoOutputs);
  job.pipeline = std::move(*pipeline);
  job.fsdp2.reshard_after_backward = false;
  job.fsdp2.is_stage = true;
  if (json.text("fsdp_reshard_after_forward", "default") == "default")
    job.fsdp2.reshard_after_forward = false;
  return {};
}

/// OptimizersInBackwardContainer.
Result<void> read_optimizer(const Config& json, JobConfig& job) {
  constexpr const char* kOption = "--strategy: early_step_in_backward";
  job.steps_early = json.boolean("early_step_in_backward", false);
  if (!job.steps_early) return {};
  if (job.expert_parallel > 1 || job.size("pp") > 1)
    return bad_input("torchtitan has no optimizers in backward with expert or pipeline parallelism",
                     kOption, "false, or --ep 1 and --pp 1");
  if (job.replicates() || job.fsdp2.cpu_offload)
    return unsupported("optimizers in backward with DDP or parameters on the host are not modelled",
                       kOption, "false");
  return {};
}

/// Sizes that must divide.
Result<void> check_sizes(const Config& model, const TrainRecipe& recipe, const JobConfig& job) {
  const std::int64_t tp = job.size("tp"), cp = job.size("cp");
  const std::int64_t heads = model.dimension("num_attention_heads", 32);
  struct Divided {
    const char* what;
    std::int64_t number;
  };
  const std::array<Divided, 3> by_tp{
      {{"num_attention_heads", heads},
       {"num_key_value_heads", model.optional_dimension("num_key_value_heads").value_or(heads)},
       {"intermediate_size", model.dimension("intermediate_size", 11008)}}};
  for (const Divided& one : by_tp)
    if (one.number % tp != 0)
      return bad_input(text_of(one.number) + " do not divide by " + text_of(tp) + " GPUs", one.what,
                       "a multiple of the tensor parallel degree");
  const std::int64_t pieces = tp * (cp > 1 ? 2 * cp : 1);
  if (recipe.sequence_length % pieces != 0)
    return bad_input(text_of(recipe.sequence_length) + " tokens do not divide by " +
                         text_of(pieces) + " (tp" + (cp > 1 ? " x 2 cp)" : ")"),
                     "--sequence-length", "seq_len % (tp * 2 * cp) must be 0");
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

Result<JobConfig> read_job_config(const Config& model, const TrainRecipe& recipe) {
  const Result<Config> json = torch::read_strategy(recipe, kKnownKeys);
  if (!json) return tl::unexpected(json.error());
  JobConfig job;
  const Result<Version> day = read_day(*json);
  if (const Result<void> fine = json->check(); !fine) return tl::unexpected(fine.error());
  if (!day) return tl::unexpected(day.error());
  job.day = *day;
  if (const auto fine = read_activation_checkpoint(*json, recipe, job); !fine)
    return tl::unexpected(fine.error());
  job.accumulates = recipe.gradient_accumulation > 1;
  read_compile(*json, job);
  if (json->boolean("chunked_loss", false)) job.loss = LossKind::chunked;
  if (const auto fine = read_fsdp(*json, job); !fine) return tl::unexpected(fine.error());
  if (const auto fine = read_layout(model, *json, recipe, job); !fine)
    return tl::unexpected(fine.error());
  job.early_stop = json->boolean("early_stop", !job.has(changes::kTitanRecomputesAll));
  if (const auto fine = read_optimizer(*json, job); !fine) return tl::unexpected(fine.error());
  if (job.compiles_blocks && job.autocasts())
    return unsupported("compiled blocks under autocast, without shards, are not modelled",
                       "--strategy: compile", "false, or GPUs that shard");
  if (const auto fine = read_pipeline_parallel(model, *json, recipe, job); !fine)
    return tl::unexpected(fine.error());
  if (const auto fine = json->check(); !fine) return tl::unexpected(fine.error());
  if (const auto fine = check_sizes(model, recipe, job); !fine) return tl::unexpected(fine.error());
  if (const auto fine = check_recipe(recipe); !fine) return tl::unexpected(fine.error());
  return job;
}

TrainRecipe resolved(TrainRecipe recipe) {
  if (!recipe.weights) {
    recipe.weights = DType::float32;
    recipe.precision = Precision::fp32;
  }
  if (recipe.names_optimizer_impl) return recipe;
  const Result<Config> json = torch::read_strategy(recipe, kKnownKeys);
  if (!json) return recipe;
  const Result<Version> day = read_day(*json);
  if (day && *day >= changes::kTitanFusesOptimizer.since)
    recipe.optimizer_impl = OptimizerImpl::fused;
  return recipe;
}

}  // namespace memtape::torchtitan
