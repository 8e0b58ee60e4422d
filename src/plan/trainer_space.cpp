// SPDX-License-Identifier: Apache-2.0
// Trainer's space, in TrainingArguments' own words: all weights or adapters, over weights rounded
// or not; DDP or FSDP; the optimizer's state in 32 or 8 bits. Where the asker says --fsdp or
// --deepspeed, that is how every plan shares.
#include <array>

#include <fmt/format.h>

#include "framework/dialects.h"
#include "framework/train_arguments.h"
#include "plan/spaces.h"

namespace memtape::plan {
namespace {

constexpr auto kTrainerOrder =
    std::to_array<Axis>({Axis::dp, Axis::zero, Axis::offload, Axis::method, Axis::optim,
                         Axis::sharding, Axis::micro_batch, Axis::checkpointing});
constexpr std::int64_t kTrainerMostMicroBatch = 32;

Sharding sharding_of(SaidSharing::Shards said) {
  if (said == SaidSharing::Shards::none) return Sharding::ddp;
  return said == SaidSharing::Shards::kept_whole ? Sharding::grads_kept : Sharding::fsdp;
}

class TrainerSpace : public Space {
 public:
  explicit TrainerSpace(const Job& job)
      : Space(job), said_(dialect_of(job.recipe).said_sharing(job.recipe)) {}

  std::span<const Axis> axes() const override { return kTrainerOrder; }

  std::vector<std::int64_t> values(Axis axis, const Candidate& c) const override {
    switch (axis) {
      case Axis::dp: return {job_.gpus};
      case Axis::zero: return {said_.zero};
      case Axis::offload: return {number(offload())};
      case Axis::method: return methods();
      case Axis::optim:
        if (c.method != Method::full || said_.has_engine || job_.says("optim") ||
            job_.says("optimizer"))
          return {number(Optim::adamw)};
        return {number(Optim::adamw), number(Optim::adamw_8bit)};
      case Axis::sharding:
        if (job_.gpus == 1 || said_.has_engine) return {number(Sharding::none)};
        if (says_shards()) return {number(sharding_of(said_.shards))};
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
        if (c.sizes.zero == said_.zero) return {};
        return "Trainer's stage of ZeRO is that of its ds_config: --deepspeed FILE";
      case Axis::offload:
        if (c.offload == offload()) return {};
        return "Trainer offloads what --fsdp or its ds_config say";
      case Axis::method:
        if (c.method != Method::qlora || said_.zero < 3) return {};
        return "QLoRA over ZeRO 3 is not modelled: ZeRO 2, or --fsdp full_shard";
      case Axis::optim:
        if (c.optim == Optim::adamw || !said_.has_engine) return {};
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

  NamedValues layout(const Candidate& c) const override {
    NamedValues options{{"framework", std::string(job_.recipe.framework->name)}};
    const auto add = [&](const char* option, std::string value) {
      if (!job_.says(option)) options.emplace_back(option, std::move(value));
    };
    if (job_.gpus > 1) add("gpus", fmt::format("{}", job_.gpus));
    const bool says_numbers = job_.says("bf16") || job_.says("fp16") || job_.says("precision");
    if (!says_numbers) add(job_.half().data(), "true");
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
    if (said_.has_engine) {
      // What its optimizer holds, the float32 copy too, is cut from stage 1 on.
      const double states = has_small_states ? 0.0 : 12.0;
      return (2.0 / parts + states / (c.sizes.zero > 0 ? ranks : 1.0)) * parameters;
    }
    return (has_small_states ? 4.0 : 8.0) * parameters / parts;
  }

 private:
  bool says_shards() const { return said_.shards != SaidSharing::Shards::unsaid; }

  Offload offload() const {
    if (said_.offloads_parameters) return Offload::all;
    return said_.offloads_optimizer ? Offload::optimizer : Offload::none;
  }

  std::vector<std::int64_t> methods() const {
    if (job_.says("peft") || job_.says("quantization")) return {number(Method::full)};
    if (said_.zero == 3) return {number(Method::full), number(Method::lora)};
    return {number(Method::full), number(Method::lora), number(Method::qlora)};
  }

  std::string refuses_sharding(const Candidate& c) const {
    if (says_shards() && job_.gpus > 1)
      return c.sharding == sharding_of(said_.shards)
                 ? ""
                 : "Trainer shards as --fsdp and --fsdp_config say";
    if (c.sharding == Sharding::grads_kept || c.sharding == Sharding::hybrid)
      return fmt::format("--sharding {} is not planned for Trainer: ddp or full", name(c.sharding));
    if (c.sharding == Sharding::fsdp && said_.has_engine)
      return "Trainer takes one of FSDP and DeepSpeed: leave --deepspeed out";
    if (c.sharding == Sharding::fsdp && c.optim == Optim::adamw_8bit)
      return "8-bit states of bitsandbytes do not go over FSDP";
    return {};
  }

  /// peft's guide to quantization; over FSDP the packed weights have a dtype that it can cut.
  std::string quantization(const Candidate& c) const {
    const bool is_cut = c.sharding == Sharding::fsdp || c.sharding == Sharding::grads_kept;
    const NamedValues storage{{"bnb_4bit_quant_storage", R"("bfloat16")"}};
    std::string text = qlora_quantization(is_cut ? storage : NamedValues{});
    constexpr std::string_view kBf16 = "bfloat16";
    if (job_.half() != "bf16")
      for (std::size_t at = text.find(kBf16); at != text.npos; at = text.find(kBf16, at))
        text.replace(at, kBf16.size(), "float16");
    return text;
  }

  const SaidSharing said_;
};

}  // namespace

std::unique_ptr<Space> trainer_space(const Job& job) { return std::make_unique<TrainerSpace>(job); }

}  // namespace memtape::plan
