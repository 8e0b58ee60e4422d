// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/generate.h"

#include <algorithm>
#include <array>
#include <utility>

#include "family/forward_arguments.h"
#include "framework/torch/model_setup.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reduce_kernel.h"
#include "ghost/ops/reductions.h"

namespace memtape::transformers {
namespace {

using family::Batch;
using family::KeyValueCache;
using ghost::Tensor;
using Stage = family::ForwardArguments::Stage;

/// Families whose configuration class names no bos_token_id.
constexpr std::array<std::string_view, 11> kWithoutBos{"mpt",       "olmo",      "olmo2",  "olmo3",
                                                       "olmoe",     "glm4_moe",  "qwen2",  "qwen3",
                                                       "qwen2_moe", "qwen3_moe", "gpt_oss"};

bool has_bos_token(const Config& config) {
  if (config.has("bos_token_id")) return !config.is_null("bos_token_id");
  return std::ranges::find(kWithoutBos, config.text("model_type", "")) == kWithoutBos.end();
}

Tensor int64s(const ghost::Dims& sizes) {
  return ghost::ones(sizes, DType::int64, Category::input);
}

class Generation {
 public:
  Generation(family::PretrainedModel& model, const Config& config, const GenerateRecipe& recipe)
      : model_(model),
        recipe_(recipe),
        session_(ghost::session()),
        cache_({.kind = recipe.static_cache ? family::CacheKind::fixed : family::CacheKind::dynamic,
                .max_length = recipe.prompt_length + recipe.max_new_tokens - 1,
                .sliding_windows = model.sliding_windows()}),
        has_bos_(has_bos_token(config)) {}

  void run() {
    session_.mark(Phase::prepare, 0, 0);
    prepare();
    logits_ = prefill();
    for (std::int64_t made = 0; !session_.error; logits_ = decode(made)) {
      take_next_token(logits_);
      if (++made >= recipe_.max_new_tokens) break;
      logits_.reset();
    }
  }
  bool takes_cache() const { return cache_.layers() > 0; }

 private:
  /// What prepare_inputs_for_generation hands to the model.
  struct Inputs {
    Tensor input_ids, attention_mask, position_ids;
  };

  /// What generate() makes before the first pass: _prepare_special_tokens, position ids, the list
  /// of unfinished sequences. Its own arguments live until it returns.
  void prepare() {
    const ghost::Dims sizes{recipe_.batch_size, recipe_.prompt_length};
    first_ = {ghost::zeros(sizes, DType::int64, Category::input), int64s(sizes), {}};
    if (has_bos_) bos_token_ = int64s({});
    pad_token_ = int64s({});
    if (recipe_.batch_size > 1) {  // is a prompt padded on the right?
      const Tensor last = ghost::comparison("eq", first_.input_ids.select(1));
      const Tensor padded = ghost::any(last);
    }
    {
      const Tensor counted = ghost::cumsum(first_.attention_mask).add(-1);
      first_.position_ids =
          ghost::masked_fill(counted, ghost::comparison("eq", first_.attention_mask));
    }
    so_far_ = first_;
    unfinished_sequences_ = int64s({recipe_.batch_size});
  }

  /// _prefill
  Tensor prefill() {
    const std::int64_t length = recipe_.prompt_length;
    const std::int64_t chunk = recipe_.prefill_chunk_size.value_or(length);
    Inputs model_inputs;
    Tensor logits;
    for (std::int64_t past = 0; past < length; past += chunk) {
      const std::int64_t end = std::min(past + chunk, length);
      model_inputs = {so_far_.input_ids.slice(1, past, end).clone(),
                      so_far_.attention_mask.slice(1, 0, end),
                      so_far_.position_ids.slice(1, past, end)};
      logits = forward(model_inputs, Stage::prefill);
    }
    return logits;
  }

  /// A pass of one token a sequence.
  Tensor decode(std::int64_t made) {
    pass_ = static_cast<int>(made);
    const std::int64_t length = so_far_.input_ids.size(1);
    const auto last = [length](const Tensor& x) { return x.slice(1, length - 1, length).clone(); };
    Inputs next;
    next.input_ids = last(so_far_.input_ids);
    next.position_ids = last(so_far_.position_ids);
    next.attention_mask = so_far_.attention_mask;
    model_inputs_ = std::move(next);
    return forward(model_inputs_, Stage::decode);
  }

  /// Only the last token's logits are made (logits_to_keep=1). What follows prepares the next pass.
  Tensor forward(const Inputs& inputs, Stage stage) {
    const family::ForwardArguments arguments(&cache_, inputs.position_ids, 1, stage);
    Batch batch;
    batch.input_ids = inputs.input_ids;
    batch.attention_mask = inputs.attention_mask;
    session_.mark(Phase::forward, pass_, 0);
    Tensor logits = model_.forward(batch).logits;
    session_.mark(Phase::prepare, pass_, 0);
    return logits;
  }

  /// _update_model_kwargs_for_generation, the greedy choice, and the stopping criteria.
  void take_next_token(const Tensor& logits) {
    lengthen_arguments();
    next_token_logits_ = copied_to_float(logits);
    next_tokens_ = argmax(next_token_logits_);
    so_far_.input_ids = ghost::cat({so_far_.input_ids, next_tokens_.unsqueeze(-1)}, -1);
    look_for_the_end();
  }

  void lengthen_arguments() {
    const Tensor positions = so_far_.position_ids, mask = so_far_.attention_mask;  // locals of it
    {
      const Tensor next = ghost::arange(1, DType::int64)
                              .view({1, -1})
                              .add(positions.slice(1, positions.size(1) - 1, positions.size(1)))
                              .add(1);
      so_far_.position_ids = ghost::cat({positions, next}, -1);
    }
    so_far_.attention_mask = ghost::cat({mask, int64s({recipe_.batch_size, 1})}, -1);
  }

  /// outputs.logits[:, -1].to(copy=True, dtype=torch.float32)
  static Tensor copied_to_float(const Tensor& logits) {
    const ghost::Op op("_to_copy", {});
    return ghost::empty({logits.size(0), logits.size(-1)}, DType::float32);
  }

  /// A partial result is a value and where it was found (ReduceArgMaxKernel.cu).
  static Tensor argmax(const Tensor& scores) {
    constexpr Bytes kValueAndPlace = 16;
    const ghost::Op op("argmax", {});
    Tensor found = ghost::empty({scores.size(0)}, DType::int64);
    ghost::reduce_scratch(scores, ghost::dim_set(1), DType::int64, kValueAndPlace);
    return found;
  }

  /// stopping_criteria(input_ids, scores), of which there is the one about the length, and
  /// unfinished_sequences.max() == 0.
  void look_for_the_end() {
    const ghost::Dims sizes{recipe_.batch_size};
    {
      Tensor is_done = ghost::full(sizes, DType::boolean);
      {
        const Tensor is_long = ghost::full(sizes, DType::boolean);
        is_done = ghost::logical("bitwise_or", is_done, is_long);
      }
      const Tensor goes_on = ghost::plain_unary("bitwise_not", std::move(is_done));
      const ghost::Op op("bitwise_and", {});
      unfinished_sequences_ = ghost::empty(sizes, DType::int64);
    }
    const Tensor none_left = ghost::comparison("eq", ghost::max_all(unfinished_sequences_));
  }

  family::PretrainedModel& model_;
  const GenerateRecipe& recipe_;
  ghost::Session& session_;
  KeyValueCache cache_;
  bool has_bos_;
  int pass_ = 0;
  Inputs first_;         ///< generate()'s own
  Inputs so_far_;        ///< with the tokens made since
  Inputs model_inputs_;  ///< of the last pass
  Tensor bos_token_, pad_token_, unfinished_sequences_, next_token_logits_, next_tokens_;
  Tensor logits_;  ///< of the last pass
};

TrainRecipe loading(const GenerateRecipe& recipe) {
  TrainRecipe load;
  load.weights = recipe.dtype;
  load.attention = recipe.attention;
  return load;
}

}  // namespace

Result<GenerateRun> run_generate(const Config& config, const GenerateRecipe& recipe,
                                 const ghost::DeviceTraits& device) {
  ghost::Session session(device);
  session.training = false;
  session.mark(Phase::init, -1, 0);
  const ghost::GradMode no_grad(false);
  const auto model = torch::new_model(config, loading(recipe));
  if (!model) return tl::unexpected(model.error());
  session.tape.empty_cache();
  GenerateRun run;
  const torch::StaticBytes statics = torch::count_statics(**model);
  run.parameters = statics.parameters;
  run.parameter_bytes = statics.parameter_bytes;
  run.sliding_windows = (*model)->sliding_windows();
  Generation generation(**model, config, recipe);
  generation.run();
  if (session.error) return tl::unexpected(*session.error);
  session.finished = true;
  if (!generation.takes_cache())
    return unsupported("generation is not modelled for this family",
                       config.where() + ": model_type");
  run.tape = std::move(session.tape);
  return run;
}

}  // namespace memtape::transformers
