// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/serve_head.h"

#include <utility>

#include <fmt/format.h>

#include "framework/transformers/inference_model.h"
#include "ghost/ops/creation.h"

namespace memtape::transformers {
namespace {

Result<GenerateRun> run_pass(const Config& config, const GenerateRecipe& recipe,
                             const family::NamedHead& head, const ghost::DeviceTraits& device,
                             torch::EqualLayerRuns runs) {
  ghost::Session session(device, recipe.release);
  session.training = false;
  session.repeats_layers = runs == torch::EqualLayerRuns::written_down;
  session.mark(Phase::init, -1, 0);
  const ghost::GradMode no_grad(false);
  const auto loaded = load_for_inference(config, recipe, head.task);
  if (!loaded) return tl::unexpected(loaded.error());
  session.tape.empty_cache();
  GenerateRun run;
  count_weights(run, *loaded);
  const ghost::Dims tokens{recipe.batch_size, recipe.prompt_length};
  {
    session.mark(Phase::prepare, 0, 0);
    family::Batch batch;
    batch.input_ids = ghost::zeros(tokens, DType::int64, Category::input);
    batch.attention_mask = ghost::ones(tokens, DType::int64, Category::input);
    session.mark(Phase::forward, 0, 0);
    const family::ModelOutput output = loaded->model->forward(batch);
  }
  if (session.error) return tl::unexpected(*session.error);
  session.finished = true;
  run.layers_differ = session.layers_differ;
  run.tape = std::move(session.tape);
  return run;
}

}  // namespace

Result<GenerateRun> run_head(const Config& config, const GenerateRecipe& recipe,
                             const family::NamedHead& head, const ghost::DeviceTraits& device) {
  return torch::run_equal_layers(
      [&](torch::EqualLayerRuns runs) { return run_pass(config, recipe, head, device, runs); });
}

std::string head_note(const family::NamedHead& head) {
  if (head.has_none)
    return fmt::format(
        "config.json names {}, which has no head: the pass of an embedder over one batch, with a "
        "classifier's row or two beside it",
        head.architecture);
  return fmt::format("config.json names {}: one pass over a batch, nothing is generated",
                     head.architecture);
}

}  // namespace memtape::transformers
