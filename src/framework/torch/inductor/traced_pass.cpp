// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/inductor/traced_pass.h"

#include <utility>

#include "family/masks/masking.h"
#include "framework/torch/model_setup.h"
#include "ghost/autocast.h"
#include "ghost/autograd/engine.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "model/type_of.h"

namespace memtape::torch::inductor {
namespace {

using ghost::Tensor;

/// Writes down what is kept, and lets the nodes keep it.
class KeptBlocks final : public ghost::SavedTensorHooks {
 public:
  explicit KeptBlocks(TracedPass& pass) : pass_(pass) {}
  std::int64_t pack(const Tensor& tensor) override {
    if (tensor.impl().storage)
      pass_.kept[ghost::session().next_sequence - 1].push_back(tensor.impl().storage->block);
    return -1;
  }
  Tensor unpack(std::int64_t) override { return {}; }
  void drop(std::int64_t) override {}

 private:
  TracedPass& pass_;
};

family::Batch make_batch(const TrainRecipe& recipe) {
  family::Batch batch;
  batch.input_ids = ghost::zeros({recipe.micro_batch_size, recipe.sequence_length}, DType::int64);
  batch.labels = batch.input_ids.clone();
  return batch;
}

family::ModelOutput forward(family::PretrainedModel& model, const TrainRecipe& recipe,
                            const family::Batch& batch) {
  // masking_utils.py skips no mask while it is traced, and takes rows to be packed.
  const family::PackedSequences traced;
  if (!recipe.autocasts()) return model.forward(batch);
  const ghost::AutocastContext autocast(true, recipe.autocast_dtype());
  return model.forward(batch);
}

/// PreTrainedModel.loss_function finds no loss by the name of GPT2LMHeadModel and says so: at its
/// warning torch.compile ends one graph and begins another (modeling_utils.py).
bool breaks_at_loss(const Config& config, const TrainRecipe& recipe) {
  return recipe.task == Task::causal_lm && type_of(config) == "gpt2";
}

/// A checkpointed call stays in the graph, its nodes tagged with its number
/// (TagActivationCheckpoint, torch/_higher_order_ops/wrap.py): it is traced as any other.
void tag_checkpointed_calls(family::PretrainedModel& model, TracedPass& pass) {
  if (model.tree.gradient_checkpointing == nn::GradientCheckpointing::off) return;
  model.tree.gradient_checkpointing = nn::GradientCheckpointing::off;
  for (const nn::NamedModule& module : nn::named_modules(model.tree.root()))
    if (module.node->is_layer)
      pass.checkpointed.emplace(module.node->scope, static_cast<int>(pass.checkpointed.size()) + 1);
}

}  // namespace

Result<void> trace_forward(const Config& config, const TrainRecipe& recipe,
                           std::unique_ptr<family::PretrainedModel>& model, TracedPass& pass) {
  Result<std::unique_ptr<family::PretrainedModel>> built = build_model(config, recipe);
  if (!built) return tl::unexpected(built.error());
  model = std::move(*built);
  tag_checkpointed_calls(*model, pass);
  pass.parameters = trainable_parameters(*model);
  pass.breaks_at_loss = breaks_at_loss(config, recipe);
  ghost::Session& session = ghost::session();
  pass.built_blocks = session.tape.requested.size();
  session.mark(Phase::forward, 0, 0);
  const family::Batch batch = make_batch(recipe);
  KeptBlocks kept(pass);
  ghost::SavedTensorHooks* const outer = std::exchange(session.hooks, &kept);
  ghost::Trace trace;
  family::ModelOutput output = forward(*model, recipe, batch);
  session.hooks = outer;
  pass.loss = std::move(output.loss);
  pass.logits = std::move(output.logits);
  pass.forward = std::move(trace.ops);
  if (session.error) return tl::unexpected(*session.error);
  return {};
}

void trace_backward(TracedPass& pass) {
  ghost::session().mark(Phase::backward, 0, 0);
  ghost::Trace trace;
  ghost::backward(pass.loss);
  pass.backward = std::move(trace.ops);
}

}  // namespace memtape::torch::inductor
