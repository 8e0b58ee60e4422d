// SPDX-License-Identifier: Apache-2.0
#include "framework/litgpt/finetune.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "base/text.h"
#include "framework/fsdp1/fully_sharded_data_parallel.h"
#include "framework/litgpt/gpt.h"
#include "framework/torch/dialect.h"
#include "framework/torch/lora_targets.h"
#include "framework/torch/optimizer.h"
#include "framework/torch/strategy.h"
#include "framework/transformers/bitsandbytes_optimizer.h"
#include "ghost/ops/creation.h"
#include "nn/module.h"
#include "release/litgpt_changes.h"

namespace memtape::litgpt {
namespace {

bool asks_for_recent_bitsandbytes(const TrainRecipe& recipe) {
  return recipe.release.has(changes::kLitgptAsksForRecentBitsandbytes);
}

/// --lora_query ... --lora_head
Result<std::optional<Lora>> read_lora(const TrainRecipe& recipe) {
  if (!recipe.lora) return std::optional<Lora>();
  Lora lora{
      .r = recipe.lora->rank, .dropout = recipe.lora->dropout, .query = false, .value = false};
  struct Target {
    std::string_view name;
    bool Lora::* adapted;
  };
  constexpr auto kTargets = std::to_array<Target>({{"query", &Lora::query},
                                                   {"key", &Lora::key},
                                                   {"value", &Lora::value},
                                                   {"projection", &Lora::projection},
                                                   {"mlp", &Lora::mlp},
                                                   {"head", &Lora::head}});
  std::vector<std::string_view> known;
  for (const Target& target : kTargets) known.push_back(target.name);
  for (const std::string& name : recipe.lora->targets) {
    const auto found = std::ranges::find(kTargets, name, &Target::name);
    if (found == kTargets.end())
      return bad_input("\"" + name + "\" is no part that litgpt adapts", "--lora-targets",
                       suggestion(name, known));
    lora.*(found->adapted) = true;
  }
  return lora;
}

LlamaAdapter llama_adapter(const TrainRecipe& recipe) { return recipe.own.of<Options>().adapter; }

bool trains_adapters(const TrainRecipe& recipe) {
  return recipe.lora || llama_adapter(recipe) != LlamaAdapter::none;
}

std::optional<Quantize> quantize_of(const TrainRecipe& recipe) {
  if (!recipe.quantization) return {};
  return Quantize{.double_quant = recipe.quantization->double_quant,
                  .compute_dtype = recipe.parameter_dtype(),
                  .before_0_5 = !asks_for_recent_bitsandbytes(recipe)};
}

Result<void> check_adapter(const TrainRecipe& recipe) {
  if (llama_adapter(recipe) == LlamaAdapter::none) return {};
  if (recipe.lora)
    return bad_input("litgpt trains adapters of one kind", "--strategy: finetune",
                     "leave it out, or --lora-rank");
  if (recipe.layout.gpus > 1)
    return unsupported("LLaMA-Adapter over several GPUs is not modelled", "--gpus", "1");
  return {};
}

Result<void> check(const TrainRecipe& recipe) {
  if (const auto fine = check_adapter(recipe); !fine) return fine;
  if (recipe.lora && !recipe.lora->target_pattern.empty())
    return bad_input("litgpt takes names of its own parts", "--peft: target_modules",
                     "a list of query, key, value, projection, mlp and head");
  if (recipe.task != Task::causal_lm)
    return unsupported("litgpt trains causal language models", "--task", "causal-lm");
  if (recipe.precision == Precision::fp16 || recipe.precision == Precision::amp_fp16)
    return unsupported("litgpt's programs take bf16-true, bf16-mixed and 32-true", "--precision",
                       "bf16, amp-bf16 or fp32");
  if (recipe.checkpointing != Checkpointing::none)
    return unsupported("litgpt checkpoints activations where it shards a model, and only there",
                       "--gradient-checkpointing", "leave it out");
  if (recipe.quantization && !trains_adapters(recipe))
    return unsupported("litgpt quantizes under adapters", "--quantize",
                       "add --lora-rank, or --strategy '{\"finetune\": \"adapter\"}'");
  if (recipe.quantization && recipe.autocasts())
    return bad_input("Quantization and mixed precision is not supported", "--quantize",
                     "--precision bf16 or fp32");
  if (const auto fine = torch::check_data_parallel(recipe.layout); !fine) return fine;
  if (recipe.quantization && recipe.layout.gpus > 1)
    return bad_input("Quantization is currently not supported for multi-GPU training", "--gpus",
                     "1, or no --quantize");
  if (recipe.quantization && recipe.optimizer != OptimizerName::adamw)
    return bad_input("The chosen quantization format only supports the AdamW optimizer",
                     "--optimizer", "adamw");
  return torch::check_optimizer(recipe.optimizer, recipe.optimizer_impl);
}

/// FSDPStrategy and FSDPPrecision of lightning.fabric: bf16-true holds and shares all in bf16, and
/// bf16-mixed holds float32.
fsdp1::Options fsdp_options(const TrainRecipe& recipe) {
  const DType held = recipe.parameter_dtype();
  fsdp1::Options options;
  options.param_dtype = held;
  options.reduce_dtype = options.buffer_dtype = recipe.autocasts() ? DType::bfloat16 : held;
  options.use_orig_params = true;
  options.mesh = Layout({{"replicate", 1}, {"shard", recipe.layout.gpus}});
  return options;
}

/// What fabric.setup makes of the module.
std::unique_ptr<torch::DrivenModel> wrapped(Gpt& model, const TrainRecipe& recipe, int rank) {
  if (recipe.layout.gpus == 1) return std::make_unique<torch::DrivenModel>(model);
  model.tree.gradient_checkpointing = nn::GradientCheckpointing::non_reentrant;
  auto sharded = fsdp1::shard_model(model, fsdp_options(recipe), rank);
  model.run_within(*sharded);
  return sharded;
}

/// The model as fit() drives it.
class Finetuned final : public torch::DrivenModel {
 public:
  Finetuned(Gpt& model, torch::DrivenModel& module, const TrainRecipe& recipe)
      : DrivenModel(model), recipe_(recipe), gpt_(model), module_(module) {}

  std::vector<Tensor> parameters() override { return module_.parameters(); }
  void set_gradient_sync(bool sync) override { module_.set_gradient_sync(sync); }
  torch::StaticBytes statics() override { return module_.statics(); }
  /// fabric.backward(loss / gradient_accumulation_iters); the loop divides where there are several.
  Tensor loss_of(const family::Batch& batch) override {
    if (!recipe_.release.has(changes::kLitgptTakesSamplesAsTheyCome)) {
      loss_.reset();
      gpt_.forget_logits();
    }
    loss_ = gpt_.forward(batch).loss;
    return recipe_.gradient_accumulation > 1 ? loss_ : loss_.div(1.0);
  }
  /// instantiate_bnb_optimizer: PagedAdamW.
  std::unique_ptr<torch::Optimizer> make_optimizer(const TrainRecipe& recipe) override {
    if (!recipe.quantization) return DrivenModel::make_optimizer(recipe);
    std::vector<Tensor> adapters;
    for (const nn::ModuleNode::Named& p : nn::named_parameters(gpt_.tree.root()))
      if (is_trained(p.name, llama_adapter(recipe))) adapters.push_back(p.tensor);
    return std::make_unique<transformers::BitsAndBytesOptimizer>(
        std::move(adapters), BitsAndBytesOptim{.paged = true},
        std::unordered_set<const ghost::TensorImpl*>());
  }
  Tensor clip_grad_norm(const std::vector<Tensor>&) override { return {}; }  // neither clips

 private:
  const TrainRecipe& recipe_;
  Gpt& gpt_;
  torch::DrivenModel& module_;
  Tensor loss_;  ///< fit()'s local
};

/// mark_only_lora_as_trainable and those of the adapters
void freeze_base(Gpt& model, LlamaAdapter adapter) {
  for (const nn::ModuleNode::Named& p : nn::named_parameters(model.tree.root()))
    if (!is_trained(p.name, adapter)) p.tensor.impl().requires_grad = false;
}

struct Program {
  const TrainRecipe& recipe;
  GptConfig config;
  std::optional<Lora> lora;
  int rank = 0;

  DType dtype() const {
    return recipe.precision == Precision::bf16 ? DType::bfloat16 : DType::float32;
  }
  /// fabric.init_module(): where several GPUs share it, it is made elsewhere.
  std::unique_ptr<Gpt> make_model() const {
    const ghost::HostGuard elsewhere(recipe.layout.gpus > 1);
    const Adapters adapters{lora ? &*lora : nullptr, llama_adapter(recipe), quantize_of(recipe)};
    auto model = std::make_unique<Gpt>(config, adapters, dtype(), recipe.autocasts());
    if (trains_adapters(recipe)) freeze_base(*model, adapters.llama);
    model->set_up(dtype());
    return model;
  }
};

Result<Program> read_program(const Config& config, const TrainRecipe& recipe) {
  if (const Result<void> fine = check(recipe); !fine) return tl::unexpected(fine.error());
  const Result<GptConfig> read = read_gpt_config(config);
  if (!read) return tl::unexpected(read.error());
  const Result<std::optional<Lora>> lora = read_lora(recipe);
  if (!lora) return tl::unexpected(lora.error());
  if (recipe.sequence_length > read->block_size)
    return bad_input("more tokens than the model's block_size", "--sequence-length",
                     "at most " + std::to_string(read->block_size));
  return Program{recipe, *read, *lora};
}

Result<torch::TrainRun> run_program(const Program& program, const ghost::DeviceTraits& device,
                                    torch::EqualLayerRuns runs) {
  const TrainRecipe& recipe = program.recipe;
  ghost::Session session(device, recipe.release);
  session.repeats_layers = runs == torch::EqualLayerRuns::written_down;
  session.mark(Phase::init, -1, 0);
  const std::unique_ptr<Gpt> made = program.make_model();
  Gpt& model = *made;
  const std::unique_ptr<torch::DrivenModel> module = wrapped(model, recipe, program.rank);
  if (recipe.quantization && asks_for_recent_bitsandbytes(recipe)) model.stabilize_embedding();
  model.set_max_seq_length(recipe.sequence_length);
  // fit()'s sanity check, of batches as long as those it trains on.
  model.validate({recipe.micro_batch_size, recipe.sequence_length});
  Finetuned finetuned(model, *module, recipe);
  TrainRecipe loop = recipe;
  loop.precision = Precision::fp32;  // the model's forward alone is under autocast
  const torch::StaticBytes statics = torch::run_steps(loop, finetuned, {.keeps_batch = true});
  if (session.error) return tl::unexpected(*session.error);
  return torch::TrainRun{std::move(session.tape), statics, session.layers_differ};
}

}  // namespace

Result<torch::TrainRun> run_training(const TrainPlan& plan, const Config& config,
                                     const ghost::DeviceTraits& device, int rank) {
  Result<Program> program = read_program(config, plan.common);
  if (!program) return tl::unexpected(program.error());
  program->rank = rank;
  if (plan.common.layout.gpus > 1)
    return run_program(*program, device, torch::EqualLayerRuns::all_run);
  return torch::run_equal_layers(
      [&](torch::EqualLayerRuns runs) { return run_program(*program, device, runs); });
}

Result<std::vector<torch::RankClass>> rank_classes(const TrainPlan& plan, const Config& config) {
  const TrainRecipe& recipe = plan.common;
  if (recipe.layout.gpus == 1) return torch::alike_ranks(plan, config);
  const Result<Program> program = read_program(config, recipe);
  if (!program) return tl::unexpected(program.error());
  ghost::Session session({}, recipe.release);
  const std::unique_ptr<Gpt> model = program->make_model();
  session.finished = true;
  return fsdp1::rank_classes(model->tree.root(), recipe.layout.gpus, fsdp_options(recipe));
}

TrainRecipe resolved(TrainRecipe recipe) {
  recipe.max_grad_norm.reset();
  if (recipe.lora && (recipe.lora->targets.empty() ||
                      recipe.lora->targets == std::vector{std::string(torch::kDefaultLoraTargets)}))
    recipe.lora->targets = {"query", "value"};
  const auto in_qkv = [](const std::string& t) {
    return t == "query" || t == "key" || t == "value";
  };
  if (recipe.lora && std::ranges::any_of(recipe.lora->targets, in_qkv))
    recipe.not_modelled.emplace_back(
        "litgpt's adapters of queries, keys and values are a convolution of cuDNN's, whose "
        "workspace "
        "is not modelled");
  return recipe;
}

}  // namespace memtape::litgpt
