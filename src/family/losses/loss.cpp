// SPDX-License-Identifier: Apache-2.0
#include "family/losses/loss.h"

#include <algorithm>
#include <array>
#include <utility>

#include "family/losses/shifted_logits_loss.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/loss.h"
#include "ghost/ops/views.h"
#include "ghost/trace.h"
#include "release/head_changes.h"
#include "release/multimodal_changes.h"
#include "release/trainer_changes.h"
#include "release/transformers_4_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

/// torch.nn.functional.pad(x, (0, 1)) of integers: a new tensor one longer.
Tensor pad_right(const Tensor& x) {
  const ghost::Op op("constant_pad_nd", {});
  ghost::traced_reads({&x});
  Dims sizes = x.sizes();
  ++sizes[-1];
  return ghost::empty(sizes, x.dtype());
}

/// fixed_cross_entropy: the mean, or the sum over what Trainer has counted.
Tensor fixed_cross_entropy(const Tensor& source, const Tensor& target, const Tensor& num_items) {
  Tensor loss = ghost::cross_entropy(source, target);
  if (num_items.defined()) loss = loss.div(num_items);
  return loss;
}

Tensor shifted_labels_loss(const Tensor& model_logits, const Batch& batch,
                           std::int64_t vocab_size) {
  Tensor logits = model_logits.to_float();
  const Tensor labels = pad_right(batch.labels);
  Tensor shift_labels = labels.slice(-1, 1, labels.size(-1)).contiguous();
  logits = std::move(logits).view({-1, vocab_size});
  shift_labels = std::move(shift_labels).view({-1});
  return fixed_cross_entropy(logits, shift_labels, batch.num_items_in_batch);
}

/// Models whose forward computed its loss in the logits' own dtype until all shared one.
bool loss_was_in_own_dtype(std::string_view model_type) {
  if (ghost::has(changes::kAllModelsCallTheLoss)) return model_type == "gpt_neox";
  constexpr auto kModels =
      std::to_array<std::string_view>({"bloom", "dbrx", "falcon", "gpt2", "gpt_bigcode", "gpt_neox",
                                       "mpt", "opt", "persimmon", "stablelm", "xglm"});
  return std::ranges::find(kModels, model_type) != kModels.end();
}

/// Whether the model's own forward, not its loss, makes float32 of the logits.
bool forward_upcasts(std::string_view model_type) {
  if (!ghost::has(changes::kLossUpcastsLogits)) return true;
  if (model_type == "gptj" || model_type == "codegen" || model_type == "jetmoe") return true;
  const bool later = model_type == "mistral" || model_type == "granite";
  return later && !ghost::has(changes::kAllLossesUpcastLogits);
}

/// Models of images and text whose forward computed its loss until all shared one: in float32, or
/// in the logits' own dtype.
enum class ImageTextLoss { shared, own_in_float32, own };
ImageTextLoss image_text_loss(std::string_view model_type) {
  if (!ghost::has(changes::kGemma3LossIsShared) && model_type == "gemma3")
    return ImageTextLoss::own_in_float32;
  if (ghost::has(changes::kImageTextLossesAreShared)) return ImageTextLoss::shared;
  constexpr auto kUpcasting = std::to_array<std::string_view>(
      {"idefics3", "paligemma", "qwen2_vl", "qwen2_5_vl", "smolvlm"});
  if (std::ranges::find(kUpcasting, model_type) != kUpcasting.end())
    return ImageTextLoss::own_in_float32;
  constexpr auto kOwn = std::to_array<std::string_view>(
      {"llava", "llava_next", "llava_next_video", "llava_onevision", "mistral3", "vipllava"});
  return std::ranges::find(kOwn, model_type) != kOwn.end() ? ImageTextLoss::own
                                                           : ImageTextLoss::shared;
}

/// Those of Qwen count every position, the others those that the attention mask has.
bool picks_by_mask(std::string_view model_type) { return !model_type.starts_with("qwen"); }

/// The same of the positions that the attention mask counts, which are all of them here.
Tensor loss_of_masked(const Tensor& logits, const Batch& batch, std::int64_t vocab_size) {
  Tensor shift_logits = ghost::indexed_by_colons(logits.slice(-2, 0, -1), 1);
  Tensor shift_labels = batch.labels.slice(-1, 1, batch.labels.size(-1));
  const Tensor mask = batch.attention_mask.slice(-1, 1, batch.attention_mask.size(-1));
  shift_logits = ghost::index_by_mask(shift_logits, ghost::ne(mask, 0), mask.numel());
  shift_labels = ghost::index_by_mask(shift_labels, ghost::ne(mask, 0), mask.numel());
  shift_logits = std::move(shift_logits).view({-1, vocab_size});
  shift_labels = std::move(shift_labels).view({-1});
  return fixed_cross_entropy(shift_logits, shift_labels, Tensor());
}

/// Cross entropy of the logits without the last position; the copy lives until the loss is there.
Tensor loss_of_shifted(const Tensor& logits, const Batch& batch, std::int64_t vocab_size) {
  Tensor shift_logits = ghost::indexed_by_colons(logits.slice(-2, 0, -1), 1).contiguous();
  Tensor shift_labels = batch.labels.slice(-1, 1, batch.labels.size(-1)).contiguous();
  shift_logits = std::move(shift_logits).view({-1, vocab_size});
  shift_labels = std::move(shift_labels).view({-1});
  return fixed_cross_entropy(shift_logits, shift_labels, batch.num_items_in_batch);
}

}  // namespace

bool head_is_of_text(std::string_view model_type) {
  constexpr auto kWithHeads = std::to_array<std::string_view>(
      {"gemma3", "paligemma", "llava", "llava_next", "llava_next_video", "llava_onevision",
       "vipllava", "mistral3"});
  return !ghost::has(changes::kImageTextLossesAreShared) &&
         std::ranges::find(kWithHeads, model_type) != kWithHeads.end();
}

bool counts_before_text(std::string_view model_type) {
  return !ghost::has(changes::kImageTextLossesAreShared) && model_type.starts_with("qwen2") &&
         model_type.ends_with("_vl");
}

bool embeds_before_text(std::string_view model_type) {
  return head_is_of_text(model_type) || counts_before_text(model_type);
}

/// ForCausalLMLoss before transformers 4.49. Its locals live until the loss is there.
Tensor shifted_logits_loss(const Tensor& model_logits, const Batch& batch,
                           std::int64_t vocab_size) {
  if (!batch.labels.defined()) return {};
  const Tensor logits = model_logits.to_float();
  return loss_of_shifted(logits, batch, vocab_size);
}

Tensor causal_lm_loss(Tensor& logits, const Batch& batch, std::int64_t vocab_size,
                      std::string_view model_type) {
  if (!batch.labels.defined()) return {};
  if (const ImageTextLoss own = image_text_loss(model_type); own != ImageTextLoss::shared) {
    const Tensor held = head_is_of_text(model_type) ? logits : Tensor();
    if (own == ImageTextLoss::own_in_float32) logits = logits.to_float();
    if (batch.attention_mask.defined() && picks_by_mask(model_type))
      return loss_of_masked(logits, batch, vocab_size);
    return loss_of_shifted(logits, batch, vocab_size);
  }
  const bool casts = model_type == "gpt_neo" || model_type == "gptj" || model_type == "codegen";
  if (casts && !ghost::has(changes::kGptNeoLeavesItsLogits)) logits = logits.to_float();
  if (ghost::has(changes::kLossShiftsLabels)) return shifted_labels_loss(logits, batch, vocab_size);
  if (loss_was_in_own_dtype(model_type)) return loss_of_shifted(logits, batch, vocab_size);
  if (forward_upcasts(model_type)) logits = logits.to_float();
  return shifted_logits_loss(logits, batch, vocab_size);
}

Tensor masked_lm_loss(const Tensor& logits, const Batch& batch, std::int64_t vocab_size) {
  if (!batch.labels.defined()) return {};
  Tensor scores = logits.view({-1, vocab_size});
  return ghost::cross_entropy(std::move(scores), batch.labels.view({-1}));
}

}  // namespace memtape::family
