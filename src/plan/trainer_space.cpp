// SPDX-License-Identifier: Apache-2.0
// Trainer's space, in TrainingArguments' own words: all weights or adapters, over weights rounded
// or not; DDP or FSDP; the optimizer's state in 32 or 8 bits.
#include <array>

#include <fmt/format.h>

#include "plan/spaces.h"
#include "workload/train_options.h"

namespace memtape::plan {
namespace {

constexpr auto kTrainerOrder = std::to_array<Axis>(
    {Axis::dp, Axis::method, Axis::optim, Axis::sharding, Axis::micro_batch, Axis::checkpointing});
constexpr std::int64_t kTrainerMostMicroBatch = 32;

class TrainerSpace : public Space {
 public:
  using Space::Space;

  std::span<const Axis> axes() const override { return kTrainerOrder; }

  std::vector<std::int64_t> values(Axis axis, const Candidate& c) const override {
    switch (axis) {
      case Axis::dp: return {job_.gpus};
      case Axis::method:
        if (job_.says("peft") || job_.says("quantization")) return {number(Method::full)};
        return {number(Method::full), number(Method::lora), number(Method::qlora)};
      case Axis::optim:
        if (c.method != Method::full || job_.says("optim") || job_.says("optimizer"))
          return {number(Optim::adamw)};
        return {number(Optim::adamw), number(Optim::adamw_8bit)};
      case Axis::sharding:
        if (job_.gpus == 1) return {number(Sharding::none)};
        if (job_.says("fsdp") || job_.says("deepspeed")) return {number(Sharding::ddp)};
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
      case Axis::sharding:
        if (c.sharding == Sharding::grads_kept || c.sharding == Sharding::hybrid)
          return fmt::format("--sharding {} is not planned for Trainer: ddp or full",
                             name(c.sharding));
        if (c.sharding == Sharding::fsdp && c.optim == Optim::adamw_8bit)
          return "8-bit states of bitsandbytes do not go over FSDP";
        return {};
      case Axis::micro_batch: return refuses_batch(job_, c);
      case Axis::checkpointing:
        if (c.checkpointing == Checkpointing::none || c.checkpointing == Checkpointing::full)
          return {};
        return "--gradient-checkpointing is none or full here";
      default: return {};
    }
  }

  OptionChanges layout(const Candidate& c) const override {
    OptionChanges options{{"framework", "transformers"}};
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
    const double parts = c.sharding == Sharding::fsdp ? static_cast<double>(c.sizes.dp) : 1.0;
    if (c.method == Method::qlora || job_.says("quantization")) return parameters / 2.0 / parts;
    if (c.method == Method::lora || job_.says("peft")) return 2.0 * parameters / parts;
    if (c.optim != Optim::adamw || job_.says("optim") || job_.says("optimizer"))
      return 4.0 * parameters / parts;
    return 8.0 * parameters / parts;
  }

 private:
  /// peft's guide to quantization; over FSDP the packed weights have a dtype that it can cut.
  static std::string quantization(const Candidate& c) {
    return fmt::format(
        R"({{"load_in_4bit": true, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": )"
        R"(true, "bnb_4bit_compute_dtype": "bfloat16"{}}})",
        c.sharding == Sharding::fsdp ? R"(, "bnb_4bit_quant_storage": "bfloat16")" : "");
  }
};

}  // namespace

std::unique_ptr<Space> trainer_space(const Job& job) { return std::make_unique<TrainerSpace>(job); }

}  // namespace memtape::plan
