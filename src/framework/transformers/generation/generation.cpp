// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/generation/generation.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "family/registry.h"
#include "framework/torch/model_defaults.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::transformers {
namespace {

using family::Batch;

using family::Known;

/// Whether positions are made: the forward's signature has position_ids.
bool takes_position_ids(const Config& config) {
  const family::FamilyFacts* const facts = family::facts_of(config);
  return facts && facts->modeling.takes_position_ids == Known::yes;
}

/// MambaForCausalLM and those named after it take no mask after the first pass.
bool is_mamba(const Config& config) {
  const family::FamilyFacts* const facts = family::facts_of(config);
  return facts && facts->modeling.states == family::States::of_scan && !takes_position_ids(config);
}

family::AttentionImplementation attention_of(const Config& config, const GenerateRecipe& recipe) {
  if (recipe.attention == AttentionChoice::flash) return family::AttentionImplementation::flash;
  const bool is_eager =
      recipe.attention == AttentionChoice::eager || !torch::has_sdpa(config, recipe.release);
  return is_eager ? family::AttentionImplementation::eager : family::AttentionImplementation::sdpa;
}

/// The layers that have keys and values of their own.
std::int64_t layers_of(const Config& config) {
  const Config text = config.has("text_config") ? config.object("text_config") : config;
  return text.layers({"num_hidden_layers", "n_layer", "n_layers"}, 1) -
         text.count("num_kv_shared_layers", 0);
}

/// _get_static_cache_init_shape; latent attention's keys and values differ, so that it has none.
std::optional<Generation::HeadShape> static_heads(const Config& config) {
  const Config text = config.has("text_config") ? config.object("text_config") : config;
  if (text.has("qk_nope_head_dim")) return std::nullopt;
  const std::int64_t heads = text.dimension({"num_attention_heads", "n_head", "n_heads"}, 1);
  const std::int64_t width = text.dimension({"hidden_size", "n_embd", "d_model"}, heads) /
                             std::max<std::int64_t>(heads, 1);
  return Generation::HeadShape{
      .heads = text.optional_dimension("num_key_value_heads").value_or(heads),
      .head_dim = text.optional_dimension("head_dim").value_or(width)};
}

KeyValueCache::Settings cache_settings(const family::PretrainedModel& model, const Config& config,
                                       const GenerateRecipe& recipe) {
  return {.kind = recipe.cache,
          .max_length = recipe.prompt_length + recipe.max_new_tokens - 1,
          .sliding_windows = model.sliding_windows(),
          .offloads = recipe.offloads_cache,
          .layers = layers_of(config),
          .quantized = recipe.quantized,
          .records_past = recipe.prompt_lookup_num_tokens || recipe.assistant};
}

}  // namespace

/// GenerationConfig.from_model_config: the outer configuration's, else the text model's.
bool Generation::has_bos_token(const Config& config) {
  if (!config.is_null("bos_token_id")) return true;
  const Config text = config.has("text_config") ? config.object("text_config") : config;
  if (text.has("bos_token_id")) return !text.is_null("bos_token_id");
  const family::FamilyFacts* const facts = family::text_facts_of(config);
  return facts && facts->has_bos == Known::yes;
}

Generation::Generation(family::PretrainedModel& model, const Config& config,
                       const GenerateRecipe& recipe)
    : recipe_(recipe),
      own_cache_(std::make_unique<KeyValueCache>(cache_settings(model, config, recipe))),
      cache_(*own_cache_),
      model_(model),
      forward_([&model](const Batch& batch) { return model.forward(batch).logits; }),
      session_(ghost::session()),
      attention_(attention_of(config, recipe)),
      static_heads_(static_heads(config)),
      has_bos_(has_bos_token(config)),
      is_mamba_(is_mamba(config)),
      takes_position_ids_(takes_position_ids(config)) {}

Generation::Generation(family::PretrainedModel& model, const GenerateRecipe& recipe,
                       LogitsOf forward)
    : recipe_(recipe),
      own_cache_(std::make_unique<KeyValueCache>(
          KeyValueCache::Settings{.kind = recipe.cache,
                                  .max_length = recipe.prompt_length + recipe.max_new_tokens - 1,
                                  .sliding_windows = model.sliding_windows()})),
      cache_(*own_cache_),
      model_(model),
      forward_(std::move(forward)),
      marks_passes_(false),
      session_(ghost::session()) {}

Generation::Generation(family::PretrainedModel& model, const GenerateRecipe& recipe, bool has_bos,
                       GenerationInputs given, KeyValueCache& cache)
    : recipe_(recipe),
      cache_(cache),
      model_(model),
      forward_([&model](const Batch& batch) { return model.forward(batch).logits; }),
      marks_passes_(false),
      session_(ghost::session()),
      has_bos_(has_bos),
      takes_position_ids_(given.position_ids.defined()),
      given_(std::move(given)) {}

void Generation::mark(Phase phase) {
  if (marks_passes_) session_.mark(phase, pass_, 0);
}

void Generation::run() {
  mark(Phase::prepare);
  prepare();
  decode();
}

/// What generate() makes before the first pass: _prepare_special_tokens, position ids, and all of
/// it once for each sequence. Its own arguments live until it returns.
void Generation::prepare() {
  if (given_.input_ids.defined())
    prepare_special_tokens();
  else
    prepare_inputs();
  expand();
  so_far_ = expanded_;
  place_cache();
}

/// Those of the configuration that came from the other model, copied with it, make way for its own.
void Generation::prepare_special_tokens() {
  const Tensor copied_bos = has_bos_ ? int64s({}) : Tensor(), copied_pad = int64s({});
  if (has_bos_) bos_token_ = int64s({});
  pad_token_ = int64s({});
}

void Generation::prepare_inputs() {
  const ghost::Dims sizes{recipe_.batch_size, recipe_.prompt_length};
  given_.input_ids = ghost::zeros(sizes, DType::int64, Category::input);
  given_.attention_mask = int64s(sizes);
  if (has_bos_) bos_token_ = int64s({});
  if (recipe_.looks_for_eos) eos_tokens_ = int64s({1});
  pad_token_ = int64s({});
  if (recipe_.batch_size > 1) {  // is a prompt padded on the right?
    const Tensor last = ghost::eq(given_.input_ids.select(1, -1), ghost::kTokenId);
    const Tensor padded = ghost::any(last);
  }
  if (takes_position_ids_) {
    const Tensor counted = ghost::cumsum(given_.attention_mask).add(-1);
    given_.position_ids = ghost::masked_fill(counted, ghost::eq(given_.attention_mask, 0), 1);
  }
}

/// _expand_inputs_for_generation
void Generation::expand() {
  expanded_ = given_;
  if (recipe_.num_beams == 1) return;
  const auto expand = [this](Tensor& x) { x = ghost::repeat_interleave(x, recipe_.num_beams, 0); };
  expand(expanded_.input_ids);
  expand(expanded_.attention_mask);
  if (takes_position_ids_) expand(expanded_.position_ids);
  given_.position_ids.reset();
}

/// _prepare_static_cache: chunks of a prompt would be compiled, so that a static cache is there
/// before the first of them.
void Generation::place_cache() {
  if (!cache_.is_fixed() || !recipe_.prefill_chunk_size || !static_heads_) return;
  cache_.initialize_early(sequences(), static_heads_->heads, static_heads_->head_dim,
                          recipe_.dtype);
}

/// _prefill of what a cache that was handed in does not hold yet.
Tensor Generation::resume() {
  const auto rest = [this](const Tensor& x) { return x.slice(1, cache_.seen(), length()).clone(); };
  Inputs next = so_far_;
  next.input_ids = rest(so_far_.input_ids);
  if (takes_position_ids_) next.position_ids = rest(so_far_.position_ids);
  model_inputs_ = std::move(next);
  return forward(model_inputs_, model_inputs_.attention_mask, Stage::prefill);
}

Tensor Generation::prefill() {
  if (cache_.seen() > 0) return resume();
  const std::int64_t length = so_far_.input_ids.size(1);
  const std::int64_t chunk = recipe_.prefill_chunk_size.value_or(length);
  Inputs model_inputs;
  Tensor logits, next_sequence_length;
  const std::vector<std::int64_t> windows = model_.sliding_windows();
  const bool first_slides = !windows.empty() && windows.front() > 0;  // and counts on the host
  if (cache_.counts_on_device() && !first_slides)
    next_sequence_length = ghost::full({}, DType::int64);
  for (std::int64_t past = 0; past < length; past += chunk) {
    const std::int64_t end = std::min(past + chunk, length);
    Inputs next;
    next.input_ids = so_far_.input_ids.slice(1, past, end).clone();
    next.attention_mask = so_far_.attention_mask.slice(1, 0, end);
    if (takes_position_ids_) next.position_ids = so_far_.position_ids.slice(1, past, end);
    const Tensor mask = next.attention_mask;
    const std::unique_ptr<family::MasksForGenerate> masks = prepare_masks(next);
    model_inputs = std::move(next);
    logits = forward(model_inputs, mask, Stage::prefill);
  }
  return logits;
}

Tensor Generation::next_pass(std::int64_t made, Stage stage) {
  pass_ = static_cast<int>(made);
  const auto last = [at = length()](const Tensor& x) { return x.slice(1, at - 1, at).clone(); };
  Inputs next;
  next.input_ids = last(so_far_.input_ids);
  if (takes_position_ids_) next.position_ids = last(so_far_.position_ids);
  if (!is_mamba_) next.attention_mask = so_far_.attention_mask;
  const Tensor mask = next.attention_mask;
  const std::unique_ptr<family::MasksForGenerate> masks = prepare_masks(next);
  model_inputs_ = std::move(next);
  return forward(model_inputs_, mask, stage);
}

Tensor Generation::candidate_pass(const Tensor& candidate_input_ids, int round) {
  pass_ = round;
  const std::int64_t end = candidate_input_ids.size(1), proposed = end - length();
  const std::int64_t from = round == 0 ? 0 : end - proposed - 1;
  candidate_inputs_ = so_far_;
  if (proposed > 0) candidate_inputs_.append(proposed);
  Inputs next = candidate_inputs_;
  next.input_ids = candidate_input_ids.slice(1, from, end).clone();
  if (from > 0 && takes_position_ids_)
    next.position_ids = next.position_ids.slice(1, from, end).clone();
  model_inputs_ = std::move(next);
  return forward(model_inputs_, model_inputs_.attention_mask, Stage::prefill, proposed + 1);
}

/// Only the last tokens' logits are made. What follows prepares the next pass.
Tensor Generation::forward(const Inputs& inputs, const Tensor& mask, Stage stage,
                           std::int64_t logits_to_keep) {
  const family::ForwardArguments arguments(&cache_, inputs.position_ids, logits_to_keep, stage);
  Batch batch;
  batch.input_ids = inputs.input_ids;
  batch.attention_mask = mask;
  mark(Phase::forward);
  Tensor logits = forward_(batch);
  mark(Phase::prepare);
  return logits;
}

/// prepare_inputs_for_generation makes the masks where the cache can be compiled; they are in force
/// while the result lives.
std::unique_ptr<family::MasksForGenerate> Generation::prepare_masks(Inputs& inputs) {
  if (!cache_.is_fixed()) return nullptr;
  const family::KeyValueCache::Passed passed(&cache_);
  const Tensor embeds =
      ghost::empty({inputs.input_ids.size(0), inputs.input_ids.size(1), 0}, recipe_.dtype);
  const std::vector<std::int64_t> windows = model_.sliding_windows();
  auto masks = std::make_unique<family::MasksForGenerate>(
      family::MaskRequest{.attention = attention_, .attention_mask = inputs.attention_mask},
      windows, embeds, inputs.position_ids);
  inputs.attention_mask.reset();  // they take its place
  inputs.full_mask = masks->full_attention;
  inputs.sliding_mask = masks->sliding_attention;
  return masks;
}

void Generation::lengthen_arguments(std::int64_t tokens) {
  const Tensor positions = so_far_.position_ids, mask = so_far_.attention_mask;  // locals of it
  so_far_.append(tokens);
}

Tensor copied_to_float(const Tensor& logits) {
  const ghost::Op op("_to_copy", {});
  return ghost::empty({logits.size(0), logits.size(-1)}, DType::float32);
}

Tensor stopping_criteria(std::int64_t sequences, bool looks_for_eos, const Tensor& scores) {
  Tensor is_done = ghost::full({sequences}, DType::boolean);
  const auto ask = [&] {
    const Tensor is_met = ghost::full({sequences}, DType::boolean);
    is_done = ghost::bitwise_or(is_done, is_met);
  };
  ask();  // MaxLengthCriteria
  if (looks_for_eos) ask();
  if (scores.defined()) {  // ConfidenceCriteria, whose answer is a bool of the host
    ghost::softmax(scores, DType::float32);
    is_done = ghost::bitwise_or(is_done, false);
  }
  return is_done;
}

}  // namespace memtape::transformers
