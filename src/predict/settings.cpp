// SPDX-License-Identifier: Apache-2.0
#include "predict/settings.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/json_reader.h"
#include "framework/dialects.h"
#include "predict/releases_meant.h"
#include "workload/train_options.h"

namespace memtape {
namespace {

std::string joined(const std::vector<std::string>& parts) {
  return json_quoted(fmt::format("{}", fmt::join(parts, ",")));
}

std::string_view weights_name(DType dtype) {
  if (dtype == DType::bfloat16) return "bf16";
  return dtype == DType::float16 ? "fp16" : "fp32";
}

}  // namespace

std::vector<Setting> resolved_settings(const TrainRecipe& r) {
  const Framework& framework = dialect_of(r).framework;
  std::vector<Setting> settings{
      {"framework", json_quoted(framework.name)},
      {"task", json_quoted(name(r.task))},
      {"precision", json_quoted(name(r.precision))},
      {"weights", json_quoted(weights_name(r.parameter_dtype()))},
      {"attention", json_quoted(name(r.attention))},
      {"micro_batch_size", fmt::format("{}", r.micro_batch_size)},
      {"sequence_length", fmt::format("{}", r.sequence_length)},
      {"gradient_accumulation", fmt::format("{}", r.gradient_accumulation)},
      {"gradient_checkpointing", json_quoted(name(r.checkpointing))},
      {"optimizer", json_quoted(r.optimizer_name.empty() ? name(r.optimizer) : r.optimizer_name)},
      {"optimizer_impl", r.bitsandbytes_optim ? "null" : json_quoted(name(r.optimizer_impl))},
      {"max_grad_norm", r.max_grad_norm ? fmt::format("{}", *r.max_grad_norm) : "null"},
      {"lora_rank", r.lora ? fmt::format("{}", r.lora->rank) : "null"},
  };
  if (r.target_length) settings.push_back({"target_length", fmt::format("{}", *r.target_length)});
  if (r.num_labels) settings.push_back({"num_labels", fmt::format("{}", *r.num_labels)});
  if (r.lora) {
    settings.push_back({"lora_targets", r.lora->target_pattern.empty()
                                            ? joined(r.lora->targets)
                                            : json_quoted(r.lora->target_pattern)});
    settings.push_back({"lora_dropout", fmt::format("{}", r.lora->dropout)});
  }
  if (r.quantization) {
    settings.push_back({r.quantization->int8 ? "load_in_8bit" : "load_in_4bit", "true"});
    settings.push_back(
        {"bnb_4bit_use_double_quant", r.quantization->double_quant ? "true" : "false"});
    settings.push_back(
        {"bnb_4bit_compute_dtype", json_quoted(weights_name(r.quantization->compute_dtype))});
    settings.push_back(
        {"prepare_model_for_kbit_training",
         r.prepare_for_kbit_training.value_or(r.trl == TrlTrainer::none) ? "true" : "false"});
  }
  if (!r.expert_load.is_balanced())
    settings.push_back({"imbalance", r.expert_load.worst
                                         ? json_quoted("worst")
                                         : fmt::format("{}", r.expert_load.imbalance)});
  if (r.compile) settings.push_back({"compile", "true"});
  if (r.init_device) settings.push_back({"init_device", json_quoted(name(*r.init_device))});
  settings.push_back({"freeze", r.freeze.empty() ? "null" : joined(r.freeze)});
  return settings;
}

std::vector<Setting> workload_settings(const TrainRecipe& recipe) {
  std::vector<Setting> workload = resolved_settings(recipe);
  std::ranges::move(release_settings(recipe), std::back_inserter(workload));
  return workload;
}

}  // namespace memtape
