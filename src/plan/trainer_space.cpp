// SPDX-License-Identifier: Apache-2.0
// Trainer's space, in TrainingArguments' own words: all weights or adapters, over weights rounded
// or not; DDP or FSDP; the optimizer's state in 32 or 8 bits. Where the asker says --fsdp or
// --deepspeed, that is how every plan shares.
#include <array>

#include <fmt/format.h>

#include "framework/train_arguments.h"
#include "framework/transformers/deepspeed_model.h"
#include "plan/spaces.h"
#include "workload/framework.h"

namespace memtape::plan {
namespace {

constexpr auto kTrainerOrder =
    std::to_array<Axis>({Axis::dp, Axis::zero, Axis::offload, Axis::method, Axis::optim,
                         Axis::sharding, Axis::micro_batch, Axis::checkpointing});
constexpr std::int64_t kTrainerMostMicroBatch = 32;

/// How a said --fsdp shares (accelerate's names).
Sharding sharding_of(const FsdpRecipe& fsdp) {
  if (fsdp.version == 2) return fsdp.reshard_after_forward ? Sharding::fsdp : Sharding::grads_kept;
  if (fsdp.sharding_strategy == "NO_SHARD") return Sharding::ddp;
  return fsdp.sharding_strategy == "SHARD_GRAD_OP" ? Sharding::grads_kept : Sharding::fsdp;
}

class TrainerSpace : public Space {
 public:
  explicit TrainerSpace(const Job& job)
      : Space(job),
        has_engine_(transformers::runs_deepspeed(job.recipe)),
        zero_(transformers::said_zero(job.recipe)) {
    if (job.recipe.trainer.fsdp) said_ = sharding_of(*job.recipe.trainer.fsdp);
  }

  std::span<const Axis> axes() const override { return kTrainerOrder; }

  std::vector<std::int64_t> values(Axis axis, const Candidate& c) const override {
    switch (axis) {
      case Axis::dp: return {job_.gpus};
      case Axis::zero: return {zero_.stage};
      case Axis::offload: return {number(offload())};
      case Axis::method: return methods();
      case Axis::optim:
        if (c.method != Method::full || has_engine_ || job_.says("optim") || job_.says("optimizer"))
          return {number(Optim::adamw)};
        return {number(Optim::adamw), number(Optim::adamw_8bit)};
      case Axis::sharding:
        if (job_.gpus == 1 || has_engine_) return {number(Sharding::none)};
        if (said_) return {number(*said_)};
        return {number(Sharding::ddp), number(Sharding::fsdp)};
      case Axis::micro_batch: return micro_batches(job_, c, kTrainerMostMicroBatch);
      case Axis::checkpointing: return {number(Checkpointing::none), number(Checkpointing::full)};
      default: return {1};
    }
  }

  std::string refuses(Axis axis, const Candidate& c) const override {
    switch (axis) {
      case Axis::dp:
        if (c.sizes.dp == job_.gpus) return {};
        return fmt::format("Trainer has data ranks alone: --dp {} are not --gpus {}", c.sizes.dp,
                           job_.gpus);
      case Axis::zero:
        if (c.sizes.zero == zero_.stage) return {};
        return "Trainer's stage of ZeRO is that of its ds_config: --deepspeed FILE";
      case Axis::offload:
        if (c.offload == offload()) return {};
        return "Trainer offloads what --fsdp or its ds_config say";
      case Axis::method:
        if (c.method != Method::qlora || zero_.stage < 3) return {};
        return "QLoRA over ZeRO 3 is not modelled: ZeRO 2, or --fsdp full_shard";
      case Axis::optim:
        if (c.optim == Optim::adamw || !has_engine_) return {};
        return "8-bit states of bitsandbytes over DeepSpeed are not modelled";
      case Axis::sharding: return refuses_sharding(c);
      case Axis::micro_batch: return refuses_batch(job_, c);
      case Axis::checkpointing:
        if (c.checkpointing == Checkpointing::none || c.checkpointing == Checkpointing::full)
          return {};
        return "--gradient-checkpointing is none or full here";
      default: return {};
    }
  }

  OptionChanges layout(const Candidate& c) const override {
    OptionChanges options{{"framework", std::string(job_.recipe.framework->name)}};
    const auto add = [&](const char* option, std::string value) {
      if (!job_.says(option)) options.emplace_back(option, std::move(value));
    };
    if (job_.gpus > 1) add("gpus", fmt::format("{}", job_.gpus));
    const bool says_numbers = job_.says("bf16") || job_.says("fp16") || job_.says("precision");
    if (!says_numbers) add("bf16", "true");
    if (c.method != Method::full) add("peft", R"({"r": 16, "target_modules": "all-linear"})");
    if (c.method == Method::qlora) add("quantization", quantization(c));
    if (c.optim == Optim::adamw_8bit) add("optim", "adamw_8bit");
    if (c.sharding == Sharding::fsdp) add("fsdp", "full_shard auto_wrap");
    options.emplace_back("per_device_train_batch_size", fmt::format("{}", c.sizes.micro_batch));
    options.emplace_back("global-batch-size", fmt::format("{}", job_.global_batch));
    options.emplace_back("sequence-length", fmt::format("{}", job_.sequence));
    options.emplace_back("gradient_checkpointing",
                         c.checkpointing == Checkpointing::full ? "true" : "false");
    return options;
  }

  /// Weights of 16 bits, cut or whole; beside them what is trained of them.
  double floor(const Candidate& c) const override {
    const auto parameters = static_cast<double>(job_.facts.parameters);
    if (c.offload != Offload::none) return 0.0;
    const auto ranks = static_cast<double>(c.sizes.dp);
    const bool cuts =
        c.sharding == Sharding::fsdp || c.sharding == Sharding::grads_kept || c.sizes.zero == 3;
    const double parts = cuts ? ranks : 1.0;
    if (c.method == Method::qlora || job_.says("quantization")) return parameters / 2.0 / parts;
    if (c.method == Method::lora || job_.says("peft")) return 2.0 * parameters / parts;
    const bool has_small_states =
        c.optim != Optim::adamw || job_.says("optim") || job_.says("optimizer");
    if (has_engine_) {  // what its optimizer holds, the float32 copy too, is cut from stage 1 on
      const double states = has_small_states ? 0.0 : 12.0;
      return (2.0 / parts + states / (c.sizes.zero > 0 ? ranks : 1.0)) * parameters;
    }
    return (has_small_states ? 4.0 : 8.0) * parameters / parts;
  }

 private:
  Offload offload() const {
    if (zero_.offloads_parameters) return Offload::all;
    if (zero_.offloads_optimizer) return Offload::optimizer;
    const bool moves = job_.recipe.trainer.fsdp && job_.recipe.trainer.fsdp->cpu_offload;
    return moves ? Offload::all : Offload::none;
  }

  std::vector<std::int64_t> methods() const {
    if (job_.says("peft") || job_.says("quantization")) return {number(Method::full)};
    if (zero_.stage == 3) return {number(Method::full), number(Method::lora)};
    return {number(Method::full), number(Method::lora), number(Method::qlora)};
  }

  std::string refuses_sharding(const Candidate& c) const {
    if (said_ && job_.gpus > 1)
      return c.sharding == *said_ ? "" : "Trainer shards as --fsdp and --fsdp_config say";
    if (c.sharding == Sharding::grads_kept || c.sharding == Sharding::hybrid)
      return fmt::format("--sharding {} is not planned for Trainer: ddp or full", name(c.sharding));
    if (c.sharding == Sharding::fsdp && has_engine_)
      return "Trainer takes one of FSDP and DeepSpeed: leave --deepspeed out";
    if (c.sharding == Sharding::fsdp && c.optim == Optim::adamw_8bit)
      return "8-bit states of bitsandbytes do not go over FSDP";
    return {};
  }

  /// peft's guide to quantization; over FSDP the packed weights have a dtype that it can cut.
  static std::string quantization(const Candidate& c) {
    const bool is_cut = c.sharding == Sharding::fsdp || c.sharding == Sharding::grads_kept;
    const NamedValues storage{{"bnb_4bit_quant_storage", R"("bfloat16")"}};
    return qlora_quantization(is_cut ? storage : NamedValues{});
  }

  const bool has_engine_;
  const transformers::SaidZero zero_;
  std::optional<Sharding> said_;  ///< by --fsdp
};

}  // namespace

std::unique_ptr<Space> trainer_space(const Job& job) { return std::make_unique<TrainerSpace>(job); }

}  // namespace memtape::plan
