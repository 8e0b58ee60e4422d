// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trainer_checks.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "family/parts/routed_model.h"
#include "family/registry.h"
#include "framework/transformers/arguments/quantization_config.h"
#include "framework/transformers/batches.h"
#include "framework/transformers/create_optimizer.h"
#include "framework/transformers/deepspeed_model.h"
#include "framework/transformers/evaluation_loop.h"
#include "framework/transformers/liger/apply.h"
#include "framework/transformers/packed_checkpoint.h"
#include "framework/transformers/parallel_model.h"
#include "framework/transformers/trainer_recipe.h"
#include "model/type_of.h"

namespace memtape::transformers {
namespace {

/// SFTTrainer has the smoother work on logits that it asks for beside its fused outputs.
bool smooths_by_itself(const TrainerRecipe& trainer) {
  return trainer.sft && trainer.sft->loss_type == "nll";
}

Result<void> check_trl(const TrainRecipe& recipe) {
  const std::int64_t most =
      (trains_on_pairs(recipe) ? 2 : 1) * recipe.micro_batch_size * (recipe.sequence_length - 1);
  if (recipe.scored_tokens.value_or(0) > most)
    return bad_input("more labels than a micro-batch has", "--scored_tokens",
                     "at most " + std::to_string(most));
  if (trainer_of(recipe).kto && trainer_of(recipe).kto->has_kl_term && recipe.micro_batch_size < 2)
    return bad_input("KTOTrainer refuses batches of one sequence, whose KL term is none",
                     "--per_device_train_batch_size", "2 or more");
  if (trainer_of(recipe).cpo && recipe.quantization)
    return unsupported("CPO and ORPO over a quantized base are not modelled", "--quantization",
                       "leave it out");
  const bool smooths = trainer_of(recipe).label_smoothing_factor != 0.0;
  if (smooths && recipe.is_of_trl() && !smooths_by_itself(trainer_of(recipe)))
    return unsupported("label smoothing is modelled for SFT's plain loss alone",
                       "--label_smoothing_factor", "0");
  return {};
}

/// Several sequences in a row: layers that pass a state on read where each begins, in ways of their
/// own, and processors of images place their tokens themselves.
Result<void> check_flattening(const Config& config, const TrainRecipe& recipe) {
  if (!trainer_of(recipe).sft || !trainer_of(recipe).sft->flattens()) return {};
  const family::FamilyFacts* const facts = family::facts_of(config);
  const bool passes_none = facts && facts->modeling.states == family::States::none;
  if (recipe.task != Task::image_text_to_text && passes_none) return {};
  return unsupported("several sequences in a row are not modelled for " + type_of(config),
                     trainer_of(recipe).sft->packing ? "--packing" : "--padding_free", "false");
}

Result<void> check_seq2seq(const TrainRecipe& recipe) {
  if (trainer_of(recipe).label_smoothing_factor != 0.0)
    return unsupported("the label smoother needs decoder_input_ids, which batches have not here",
                       "--label_smoothing_factor", "0");
  return {};
}

/// The same of models that FSDP or DeepSpeed cut.
Result<void> check_cut_task(const TrainRecipe& recipe) {
  const bool over_zero3 = runs_deepspeed(recipe) && cuts_parameters(recipe);
  const bool over_fsdp2 = trainer_of(recipe).fsdp && trainer_of(recipe).fsdp->version == 2;
  if (recipe.task == Task::image_text_to_text) return {};
  const bool is_known = is_classification(recipe.task)
                            ? !recipe.lora || !over_zero3
                            : recipe.task == Task::masked_lm && !recipe.lora && !over_fsdp2;
  if (is_known) return {};
  return unsupported("FSDP and DeepSpeed are not modelled for this task, or adapters in it",
                     "--task", "causal-lm");
}

/// Of tasks other than the decoders', what has been laid beside real runs.
Result<void> check_task(const TrainRecipe& recipe) {
  if (recipe.task == Task::causal_lm) return {};
  const bool passes_images_over = recipe.task == Task::image_text_to_text;
  const bool is_classifier = is_classification(recipe.task);
  if (!passes_images_over && !is_classifier && recipe.task != Task::masked_lm &&
      recipe.task != Task::seq2seq_lm)
    return unsupported("images and speech are not modelled by --framework transformers", "--task",
                       "causal-lm, masked-lm or seq2seq-lm");
  if (is_classifier && trainer_of(recipe).label_smoothing_factor != 0.0)
    return unsupported("label smoothing is modelled for language models",
                       "--label_smoothing_factor", "0");
  if (recipe.is_of_trl() && !passes_images_over)
    return bad_input("trl's trainers train decoders", "--task", "causal-lm");
  const bool prefers = recipe.program.trains_preferences() && !recipe.program.trains_value_head();
  if (prefers && !passes_images_over)
    return bad_input("LLaMA-Factory trains decoders", "--task", "causal-lm");
  if (recipe.quantization && !passes_images_over)
    return unsupported("a quantized base is modelled for decoders alone", "--quantization",
                       "leave it out");
  if (trainer_of(recipe).fsdp || runs_deepspeed(recipe)) return check_cut_task(recipe);
  return recipe.task == Task::seq2seq_lm ? check_seq2seq(recipe) : Result<void>();
}

}  // namespace

Result<void> check_recipe(const TrainRecipe& recipe) {
  if (const Result<void> fine = check_task(recipe); !fine) return fine;
  if (recipe.quantization && !recipe.lora)
    return bad_input("Trainer refuses to train a quantized model without adapters",
                     "--quantization", "add --peft");
  if (const Result<void> fine = check_trl(recipe); !fine) return fine;
  if (const Result<void> fine = check_parallel(recipe); !fine) return fine;
  if (const Result<void> fine = check_evaluation(recipe); !fine) return fine;
  return check_optim(recipe);
}

Result<void> check_flash(const Config& config, const TrainRecipe& asked) {
  const bool is_float32 = asked.parameter_dtype() == DType::float32 && !asked.autocasts();
  const bool is_quantized = asked.quantization || !config.is_null("quantization_config");
  if (asked.attention != AttentionChoice::flash || !is_float32 || is_quantized) return {};
  return bad_input("FlashAttention takes float16 and bfloat16 alone", "--attention flash",
                   "--bf16 true, or --attention sdpa");
}

namespace {

/// The packings whose layers are transcribed, or which Trainer's models are made of 16 bits from.
/// Of others, transformers keeps what is packed, or knows nothing and finds the wrong shapes
/// (AutoHfQuantizer.supports_quant_method: modelopt).
Result<void> check_packing(const Config& stored) {
  constexpr std::array<std::string_view, 7> kKnown{
      "", "bitsandbytes", "gptq", "awq", "fp8", "mxfp4", "compressed-tensors"};
  const std::string method = stored.text("quant_method", "");
  if (std::ranges::find(kKnown, method) != kKnown.end()) return {};
  return unsupported("training over weights that " + method + " packed is not modelled",
                     stored.where() + ": quant_method", "the 16-bit checkpoint they are made from");
}

}  // namespace

Result<void> check_checkpoint(const Config& config, const TrainRecipe& recipe) {
  if (const Result<void> fine = check_flattening(config, recipe); !fine) return fine;
  const Config stored = config.object("quantization_config");
  if (const Result<void> fine = check_packing(stored); !fine) return fine;
  if (!recipe.quantization && stored.text("quant_method", "") == "bitsandbytes") {
    const auto read = read_quantization_config(stored.json());  // the recipe has none: it failed
    return read ? Result<void>() : tl::unexpected(read.error());
  }
  const auto packed = packed_checkpoint(config);
  if (!packed) return tl::unexpected(packed.error());
  if (!*packed) return {};
  if (recipe.quantization)
    return bad_input("the checkpoint is packed already", "--quantization", "leave it out");
  if (!recipe.lora)
    return bad_input("Trainer refuses to train a packed checkpoint without adapters",
                     config.where() + ": quantization_config", "add --peft");
  if (recipe.lora->use_dora)
    return bad_input("peft refuses DoRA over a packed checkpoint", "--peft",
                     R"("use_dora": false)");
  if (recipe.lora->targets.size() == 1 && recipe.lora->targets.front() == "all-linear" &&
      !recipe.lora->lists_linear)
    return bad_input("peft takes packed layers for no linear ones", "--peft",
                     "a list of module names as target_modules");
  return {};
}

namespace {

/// LLaMA-Factory's value head starts from what a language model's head is given.
Result<void> check_value_head(const Config& config, const TrainRecipe& recipe,
                              family::PretrainedModel& model) {
  if (recipe.use_liger_kernel)
    return unsupported("Liger's kernels beside a value head are not modelled", "--use_liger_kernel",
                       "leave it out");
  if (recipe.task == Task::causal_lm && model.head()) return {};
  return unsupported("a value head for " + type_of(config) + " is not modelled", "--trainer",
                     "decoders of texts");
}

}  // namespace

Result<void> check_head(const Config& config, const TrainRecipe& recipe,
                        family::PretrainedModel& model) {
  if (recipe.program.trains_value_head()) return check_value_head(config, recipe, model);
  const family::FamilyFacts* const facts = family::facts_of(config);
  const bool scores = facts && facts->classifiers.sequences;
  if (trainer_of(recipe).reward && (!scores || !model.head()))
    return unsupported(
        "a reward model of type " + type_of(config) + " is not modelled", "--trainer",
        "llama, qwen2, qwen3, mistral, gemma and others whose class is the generic one");
  const bool balances = trainer_of(recipe).balances_experts.value_or(true);
  if (trainer_of(recipe).grpo && balances && dynamic_cast<const family::RoutedModel*>(&model))
    return unsupported("GRPO's loss that balances experts is not modelled",
                       "--router_aux_loss_coef", "0");
  if (recipe.task == Task::image_text_to_text && recipe.use_liger_kernel &&
      !liger::has_kernels(type_of(config)))
    return unsupported("Liger's kernels in images-and-text models are not modelled",
                       "--use_liger_kernel", "leave it out");
  if (trainer_of(recipe).cpo && config.boolean("output_router_logits", false))
    return unsupported("the loss that balances experts is not modelled for CPO and ORPO",
                       config.where() + ": output_router_logits", "false");
  const bool fuses_head = recipe.is_of_trl() && !trainer_of(recipe).cpo;
  if (model.head() || (!fuses_head && !recipe.use_liger_kernel)) return {};
  return unsupported("a fused head for " + type_of(config) + " is not modelled",
                     recipe.is_of_trl() ? "--max_length" : "--use_liger_kernel",
                     "plain Trainer is");
}

}  // namespace memtape::transformers
