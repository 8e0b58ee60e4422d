// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtune/finetune.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "framework/torch/clip_grad.h"
#include "framework/torch/model_setup.h"
#include "framework/torch/optimizer.h"
#include "framework/torchtune/decoder.h"
#include "framework/torchtune/lora.h"
#include "framework/torchtune/loss.h"
#include "ghost/autograd/engine.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/flex_attention.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/sum_of_bools.h"
#include "tape/repeat.h"

namespace memtape::torchtune {
namespace {

/// What a row of the data loader becomes on the GPU.
struct Batch {
  Tensor tokens, labels, input_pos;
  ghost::BlockMask mask;
};

class Recipe {
 public:
  Recipe(const TrainRecipe& recipe, TransformerDecoder& model)
      : recipe_(recipe),
        levers_(recipe.own.of<Levers>()),
        model_(model),
        how_{recipe.checkpointing != Checkpointing::none, nullptr} {
    if (levers_.offloads) {
      offload_ = ghost::Ptr<OffloadActivations>(new OffloadActivations);
      how_.offload = offload_.get();
    }
    optimizer_ = make_optimizer(recipe, torch::trainable_parameters(model));
    ignore_labels_cache_ = ghost::full({recipe.micro_batch_size, 1}, DType::int64);
  }

  torch::StaticBytes run() {
    ghost::Session& session = ghost::session();
    memtape::run_steps(session.tape, torch::kSteps, [&](int step) {
      run_step(step);
      return !session.error;
    });
    session.finished = true;
    torch::StaticBytes statics = torch::count_statics(model_);
    statics.gradient_bytes = gradient_bytes_;
    statics.optimizer_state_bytes = optimizer_->state_bytes();
    return statics;
  }

 private:
  Tensor row_of_batch() const {
    return ghost::zeros({recipe_.micro_batch_size, recipe_.sequence_length}, DType::int64,
                        Category::input);
  }

  Batch make_batch() const {
    Batch batch;
    if (levers_.is_packed) {
      batch.mask = ghost::block_mask_of_documents(row_of_batch());
      batch.mask.documents = row_of_batch();
    }
    batch.tokens = row_of_batch();
    batch.labels = row_of_batch();
    if (levers_.is_packed) batch.input_pos = row_of_batch();
    return batch;
  }

  /// _loss_step
  Tensor loss_step() {
    Tensor labels = std::exchange(batch_.labels, {});
    std::vector<Tensor> logits = model_.logits(batch_.tokens, batch_.input_pos, how_);
    labels = ghost::cat({labels.slice(-1, 1, labels.size(-1)), ignore_labels_cache_}, 1);
    return loss_of(std::move(logits), labels, levers_);
  }

  void run_step(int step) {
    ghost::Session& session = ghost::session();
    const auto micro_batches =
        static_cast<int>(std::min(recipe_.gradient_accumulation, torch::kMostMicroBatches));
    for (int micro = 0; micro < micro_batches; ++micro) {
      session.mark(Phase::forward, step, micro);
      if (micro == 0) forget_sums();
      batch_ = make_batch();
      current_num_tokens_ = ghost::sum_of_bools(ghost::ne(batch_.labels, -100.0));
      add_up(num_tokens_, current_num_tokens_);
      current_loss_ = loss_step().mul(current_num_tokens_);
      add_up(running_loss_, current_loss_);
      session.mark(Phase::backward, step, micro);
      ghost::backward(current_loss_);
    }
    session.mark(Phase::optimizer, step, 0);
    gradient_bytes_ = torch::gradient_bytes(optimizer_->parameters());
    if (!levers_.steps_in_bwd) update_parameters();
    loss_to_log_ = ghost::rdiv(1.0, num_tokens_);
    tokens_per_second_ = num_tokens_.div(1.0);
  }

  /// What is logged of a step is there until the next one begins.
  void forget_sums() {
    running_loss_.reset();
    num_tokens_.reset();
  }

  /// total += more, from the number 0 on.
  static void add_up(Tensor& total, const Tensor& more) {
    if (total.defined())
      ghost::add_(total, more);
    else
      total = more.add(0.0);
  }

  void update_parameters() {
    {
      const Tensor scaler = ghost::rdiv(1.0, num_tokens_);
    }  // scale_grads: p.grad *= scaler
    if (recipe_.max_grad_norm) grad_norm_ = torch::clip_grad_norm(optimizer_->parameters());
    optimizer_->step();
    optimizer_->zero_grad();
  }

  const TrainRecipe& recipe_;
  const Levers& levers_;
  TransformerDecoder& model_;
  ghost::Ptr<OffloadActivations> offload_;
  LayerCalls how_;
  std::unique_ptr<torch::Optimizer> optimizer_;
  Tensor ignore_labels_cache_;
  // The locals of train() that live on from step to step.
  Batch batch_;
  Tensor num_tokens_, running_loss_, current_num_tokens_, current_loss_;
  Tensor loss_to_log_, tokens_per_second_, grad_norm_;
  Bytes gradient_bytes_ = 0;
};

/// What the recipes do not take, and what is not modelled.
Result<void> check(const TrainRecipe& recipe) {
  if (recipe.layout.gpus > 1)
    return unsupported("torchtune's distributed recipes are not modelled with its own modules",
                       "--gpus", "1, or --framework fsdp2");
  if (recipe.attention != AttentionChoice::sdpa)
    return bad_input("torchtune's attention is sdpa, or flex attention over packed rows",
                     "--attention", "sdpa");
  if (recipe.task != Task::causal_lm)
    return unsupported("torchtune's recipes train causal language models", "--task", "causal-lm");
  if (recipe.precision != Precision::bf16 && recipe.precision != Precision::fp32)
    return bad_input("torchtune's recipes take bf16 and fp32", "--precision", "bf16 or fp32");
  if (recipe.checkpointing == Checkpointing::full_reentrant)
    return bad_input("torchtune's checkpointing is not reentrant", "--gradient-checkpointing",
                     "full");
  if (recipe.quantization)
    return unsupported("torchao's NF4 weights are not modelled", "--quantize", "leave it out");
  if (const Result<void> fine = check_levers(recipe); !fine) return fine;
  return torch::check_optimizer(recipe.optimizer, recipe.optimizer_impl);
}

/// set_trainable_params
void freeze_base(TransformerDecoder& model) {
  for (const nn::ModuleNode::Named& p : nn::named_parameters(model.tree.root()))
    if (p.name.find("lora_") == std::string::npos) p.tensor.impl().requires_grad = false;
}

Result<torch::TrainRun> run_recipe(const DecoderArgs& args, const std::optional<Lora>& lora,
                                   const TrainRecipe& recipe, const ghost::DeviceTraits& device,
                                   torch::EqualLayerRuns runs) {
  ghost::Session session(device, recipe.release);
  session.repeats_layers = runs == torch::EqualLayerRuns::written_down;
  session.mark(Phase::init, -1, 0);
  TransformerDecoder model(args, recipe.own.of<Levers>(), lora ? &*lora : nullptr,
                           recipe.parameter_dtype());
  if (lora) freeze_base(model);
  Recipe program(recipe, model);
  const torch::StaticBytes statics = program.run();
  if (session.error) return tl::unexpected(*session.error);
  return torch::TrainRun{std::move(session.tape), statics, session.layers_differ};
}

}  // namespace

void start(std::span<const NamedValue>, TrainRecipe& recipe) { recipe.max_grad_norm.reset(); }

std::vector<Package> packages_of_recipes(const TrainRecipe& recipe) {
  const OptimizerClass optimizer = recipe.own.of<Levers>().optimizer;
  if (optimizer == OptimizerClass::adamw_8bit || optimizer == OptimizerClass::paged_adamw ||
      optimizer == OptimizerClass::paged_adamw_8bit)
    return {Package::torch, Package::bitsandbytes};
  return {Package::torch};
}

Result<torch::TrainRun> run_training(const TrainPlan& plan, const Config& config,
                                     const ghost::DeviceTraits& device, int) {
  const TrainRecipe& recipe = plan.common;
  if (const Result<void> fine = check(recipe); !fine) return tl::unexpected(fine.error());
  const Result<DecoderArgs> args = read_decoder_args(config);
  if (!args) return tl::unexpected(args.error());
  std::optional<Lora> lora;
  if (recipe.lora) {
    const Result<Lora> read = read_lora(*recipe.lora);
    if (!read) return tl::unexpected(read.error());
    lora = *read;
  }
  if (recipe.sequence_length > args->max_seq_len)
    return bad_input("more tokens than the model's max_seq_len", "--sequence-length",
                     "at most " + std::to_string(args->max_seq_len));
  return torch::run_equal_layers(
      [&](torch::EqualLayerRuns runs) { return run_recipe(*args, lora, recipe, device, runs); });
}

}  // namespace memtape::torchtune
