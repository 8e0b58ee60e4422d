// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/generate.h"

#include <algorithm>
#include <array>
#include <utility>

#include "family/registry.h"
#include "framework/transformers/generation/assistant_model.h"
#include "framework/transformers/generation/assisted_decoding.h"
#include "framework/transformers/generation/beam_search.h"
#include "framework/transformers/generation/prompt_lookup.h"
#include "framework/transformers/generation/sampling.h"
#include "framework/transformers/inference_model.h"
#include "ghost/session.h"

namespace memtape::transformers {
namespace {

/// The head that the family has: models of images and text generate from text alone, too.
Result<QuantizedModel> loaded(const Config& config, const GenerateRecipe& recipe) {
  const family::FamilyFacts* const facts = family::facts_of(config);
  const Task task = facts ? facts->task : Task::causal_lm;
  if (task != Task::causal_lm && task != Task::image_text_to_text)
    return unsupported("generate() is modelled for decoders alone", config.where() + ": model_type",
                       "a causal language model");
  if (!facts || facts->modeling.multimodal_rope != family::Known::no)
    return unsupported("generate()'s positions in three dimensions are not modelled",
                       config.where() + ": model_type", "training steps are predicted");
  return load_for_inference(config, recipe, task);
}

std::int64_t logits_vocabulary(const Config& config) {
  const Config text = config.has("text_config") ? config.object("text_config") : config;
  return text.dimension("vocab_size", 1);
}

/// generation_config.get_generation_mode(assistant_model)
std::unique_ptr<Generation> generation_mode(family::PretrainedModel& model,
                                            family::PretrainedModel* assistant,
                                            const Config& config, const GenerateRecipe& recipe) {
  if (assistant)
    return std::make_unique<AssistedDecoding>(
        model, config, recipe,
        std::make_unique<AssistantModel>(*assistant, *recipe.assistant->config, recipe));
  if (recipe.prompt_lookup_num_tokens)
    return std::make_unique<AssistedDecoding>(
        model, config, recipe, std::make_unique<PromptLookup>(recipe, logits_vocabulary(config)));
  if (recipe.num_beams > 1) return std::make_unique<BeamSearch>(model, config, recipe);
  return std::make_unique<Sampling>(model, config, recipe);
}

}  // namespace

Tensor generate(family::PretrainedModel& model, const GenerateRecipe& recipe,
                const LogitsOf& forward) {
  Sampling generation(model, recipe, forward);
  generation.run();
  if (!generation.takes_cache())
    ghost::session().fail({ErrorKind::unsupported, "generation is not modelled for this family",
                           "--trainer", "sft, dpo or reward"});
  return generation.token_ids();
}

Result<GenerateRun> run_generate(const Config& config, const GenerateRecipe& recipe,
                                 const ghost::DeviceTraits& device) {
  return torch::run_equal_layers(
      [&](torch::EqualLayerRuns runs) { return run_generate(config, recipe, device, runs); });
}

Result<GenerateRun> run_generate(const Config& config, const GenerateRecipe& recipe,
                                 const ghost::DeviceTraits& device, torch::EqualLayerRuns runs) {
  const Config text = config.has("text_config") ? config.object("text_config") : config;
  if (recipe.offloads_cache && text.is_null({"num_hidden_layers", "n_layer", "n_layers"}))
    return bad_input("is needed to know which layer comes back first",
                     config.where() + ": num_hidden_layers");
  ghost::Session session(device, recipe.release);
  session.training = false;
  session.repeats_layers = runs == torch::EqualLayerRuns::written_down;
  session.mark(Phase::init, -1, 0);
  const ghost::GradMode no_grad(false);
  const auto model = loaded(config, recipe);
  if (!model) return tl::unexpected(model.error());
  QuantizedModel assistant;
  if (recipe.assistant) {
    auto built = loaded(*recipe.assistant->config, recipe);
    if (!built) return tl::unexpected(built.error());
    assistant = *std::move(built);
  }
  session.tape.empty_cache();
  GenerateRun run;
  count_weights(run, *model);
  run.sliding_windows = model->model->sliding_windows();
  const std::unique_ptr<Generation> generation =
      generation_mode(*model->model, assistant.model.get(), config, recipe);
  generation->run();
  if (session.error) return tl::unexpected(*session.error);
  session.finished = true;
  if (!generation->takes_cache())
    return unsupported("generation is not modelled for this family",
                       config.where() + ": model_type");
  run.layers_differ = session.layers_differ;
  run.tape = std::move(session.tape);
  return run;
}

}  // namespace memtape::transformers
