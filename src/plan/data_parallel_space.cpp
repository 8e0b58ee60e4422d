// SPDX-License-Identifier: Apache-2.0
// The plain loop on one GPU, and on several under DDP, FSDP and DeepSpeed: whose ranks hold what,
// how large a micro-batch is, what is made again, what lies in host memory.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "framework/dialects.h"
#include "plan/spaces.h"
#include "workload/train_options.h"

namespace memtape::plan {
namespace {

constexpr auto kParallelOrder =
    std::to_array<Axis>({Axis::dp, Axis::zero, Axis::sharding, Axis::offload, Axis::method,
                         Axis::micro_batch, Axis::checkpointing});
constexpr std::int64_t kParallelMostMicroBatch = 64;

class DataParallelSpace : public Space {
 public:
  explicit DataParallelSpace(const Job& job)
      : Space(job), dialect_(dialect_of(job.recipe)), name_(dialect_.framework.name) {}

  std::span<const Axis> axes() const override { return kParallelOrder; }

  std::vector<std::int64_t> values(Axis axis, const Candidate& c) const override {
    switch (axis) {
      case Axis::dp: return {job_.gpus};
      case Axis::zero:
        if (has_stages()) return {1, 2, 3};
        return {0};
      case Axis::sharding: return shardings(c);
      case Axis::offload: return offloads(c);
      case Axis::method: return {number(Method::full)};
      case Axis::micro_batch: return micro_batches(job_, c, kParallelMostMicroBatch);
      case Axis::checkpointing: return {number(Checkpointing::none), number(Checkpointing::full)};
      default: return {1};
    }
  }

  std::string refuses(Axis axis, const Candidate& c) const override {
    switch (axis) {
      case Axis::dp:
        if (c.sizes.dp == job_.gpus) return {};
        return fmt::format("--framework {} has data ranks alone: --dp {} are not --gpus {}", name_,
                           c.sizes.dp, job_.gpus);
      case Axis::sharding:
        if (allows(c.sharding)) return {};
        return fmt::format("--framework {} has no --sharding {}", name_, name(c.sharding));
      case Axis::offload: return refuses_offload(c);
      case Axis::method:
        if (c.method != Method::qlora) return {};
        return fmt::format("--framework {} has no QLoRA that is modelled: --framework transformers",
                           name_);
      case Axis::micro_batch:
        if (c.sharding == Sharding::reduced_each && c.sizes.micro_batches == 1)
          return "a step of one micro-batch reduces each as it is: --sharding full";
        return refuses_batch(job_, c);
      case Axis::checkpointing:
        if (c.checkpointing == Checkpointing::none || c.checkpointing == Checkpointing::full ||
            c.checkpointing == Checkpointing::full_reentrant)
          return {};
        return "--gradient-checkpointing is none or full here";
      default: return {};
    }
  }

  NamedValues layout(const Candidate& c) const override {
    NamedValues options{{"framework", std::string(name_)}};
    const auto add = [&](const char* option, std::string value) {
      if (!job_.says(option)) options.emplace_back(option, std::move(value));
    };
    if (job_.gpus > 1) add("gpus", fmt::format("{}", job_.gpus));
    if (has_stages()) add("zero", fmt::format("{}", c.sizes.zero));
    if (c.offload != Offload::none) add("offload", std::string(name(c.offload)));
    if (c.method == Method::lora) add("lora-rank", "16"), add("lora-targets", "all-linear");
    add_numbers(c, options);
    if (!has_stages()) add("optimizer-impl", "fused");
    options.emplace_back("micro-batch-size", fmt::format("{}", c.sizes.micro_batch));
    options.emplace_back("global-batch-size", fmt::format("{}", job_.global_batch));
    options.emplace_back("sequence-length", fmt::format("{}", job_.sequence));
    options.emplace_back("gradient-checkpointing", name(c.checkpointing));
    return options;
  }

  /// Parameters, gradients and Adam's two states, where each of them lies.
  double floor(const Candidate& c) const override {
    const auto parameters = static_cast<double>(job_.facts.parameters);
    const auto ranks = static_cast<double>(c.sizes.dp);
    const double each = says_numbers() ? 2.0 : 4.0;
    if (c.method != Method::full || job_.says("optimizer") || job_.says("optim")) return 0.0;
    if (has_stages()) {
      const double state = c.offload == Offload::none ? 12.0 / ranks : 0.0;
      const double held = c.sizes.zero == 3 ? 2.0 / ranks : 2.0;
      return (c.offload == Offload::all ? 0.0 : held) * parameters + state * parameters;
    }
    if (c.offload == Offload::all) return 0.0;
    const bool cuts = c.sharding == Sharding::fsdp || c.sharding == Sharding::grads_kept ||
                      c.sharding == Sharding::reduced_each;
    const double parts = cuts                             ? ranks
                         : c.sharding == Sharding::hybrid ? static_cast<double>(job_.per_node)
                                                          : 1.0;
    return 4.0 * each * parameters / parts;
  }

 private:
  const DataParallelChoices& choices() const { return dialect_.sharing; }
  bool has_stages() const { return choices().has_zero_stages; }
  bool shards() const { return choices().shards; }
  bool says_numbers() const {
    return job_.says("precision") || job_.says("weights") || job_.says("strategy");
  }
  /// Several whole nodes, each of which can hold the model once.
  bool has_nodes() const { return job_.gpus > job_.per_node && job_.gpus % job_.per_node == 0; }

  std::vector<std::int64_t> shardings(const Candidate&) const {
    if (!shards()) return {number(choices().replicates ? Sharding::ddp : Sharding::none)};
    if (job_.says("strategy")) return {number(Sharding::fsdp)};
    std::vector<std::int64_t> found{number(Sharding::fsdp), number(Sharding::grads_kept)};
    if (has_nodes() && choices().has_mesh) found.push_back(number(Sharding::hybrid));
    if (!choices().reduced_each.empty()) found.push_back(number(Sharding::reduced_each));
    return found;
  }

  bool allows(Sharding sharding) const {
    if (!shards()) return sharding == Sharding::ddp || sharding == Sharding::none;
    return sharding == Sharding::fsdp || sharding == Sharding::grads_kept ||
           (sharding == Sharding::hybrid && has_nodes() && choices().has_mesh) ||
           (sharding == Sharding::reduced_each && !choices().reduced_each.empty());
  }

  std::vector<std::int64_t> offloads(const Candidate& c) const {
    if (has_stages() && c.sizes.zero == 3)
      return {number(Offload::none), number(Offload::optimizer), number(Offload::all)};
    if (has_stages() && c.sizes.zero > 0)
      return {number(Offload::none), number(Offload::optimizer)};
    if (shards()) return {number(Offload::none), number(Offload::all)};
    return {number(Offload::none)};
  }

  /// What is offloaded lies in the nodes' host memory: float32 copies and Adam's states, with all
  /// of it the parameters, too (FSDP: float32 parameters and gradients).
  std::string exceeds_host(const Candidate& c) const {
    if (!job_.host_bytes) return {};
    const double each = shards() ? 16.0 : c.offload == Offload::all ? 14.0 : 12.0;
    const double nodes =
        std::max(1.0, static_cast<double>(job_.gpus) / static_cast<double>(job_.per_node));
    const double needed = each * static_cast<double>(job_.facts.parameters) / nodes;
    if (needed <= static_cast<double>(*job_.host_bytes)) return {};
    return fmt::format("--offload {} puts {:.0f} GiB into a node's host memory of {:.0f} GiB",
                       name(c.offload), needed / static_cast<double>(1_GiB),
                       static_cast<double>(*job_.host_bytes) / static_cast<double>(1_GiB));
  }

  std::string refuses_offload(const Candidate& c) const {
    if (c.offload == Offload::none) return {};
    if (std::string full = exceeds_host(c); !full.empty()) return full;
    if (shards() && c.offload == Offload::all) return {};
    if (has_stages() && c.sizes.zero == 3) return {};
    if (has_stages() && c.sizes.zero > 0 && c.offload == Offload::optimizer) return {};
    return fmt::format("--offload {} does not go with --framework {}{}", name(c.offload), name_,
                       has_stages() ? fmt::format(" --zero {}", c.sizes.zero) : "");
  }

  /// float32 parameters whose products run in 16 bits, unless the asker has said otherwise: what a
  /// run from scratch and a full fine-tune are done in. DeepSpeed's 16 bits have float32 copies.
  void add_numbers(const Candidate& c, NamedValues& options) const {
    if (has_stages()) {
      if (!job_.says("precision")) options.emplace_back("precision", job_.half());
      return;
    }
    if (!shards()) {
      if (!says_numbers()) options.emplace_back("precision", fmt::format("amp-{}", job_.half()));
      return;
    }
    if (!job_.says("init-device")) options.emplace_back("init-device", "meta");
    if (job_.says("strategy")) return;
    if (!says_numbers()) options.emplace_back("weights", "fp32");
    options.emplace_back("strategy", strategy(c));
  }

  std::string strategy(const Candidate& c) const {
    std::string text;
    const auto add = [&text](std::string_view member) {
      text += text.empty() ? "{" : ", ";
      text += member;
    };
    if (!says_numbers())
      add(fmt::format(R"("mixed_precision": {{"param_dtype": "{}", "reduce_dtype": "fp32"}})",
                      job_.half()));
    add(c.sharding == Sharding::grads_kept ? choices().kept_whole : choices().cut_again);
    if (c.sharding == Sharding::reduced_each) add(choices().reduced_each);
    if (c.sharding == Sharding::hybrid)
      add(fmt::format(R"("mesh": [{}, {}])", job_.gpus / job_.per_node, job_.per_node));
    return text + "}";
  }

  const Dialect& dialect_;
  const std::string_view name_;
};

}  // namespace

std::unique_ptr<Space> data_parallel_space(const Job& job) {
  return std::make_unique<DataParallelSpace>(job);
}

}  // namespace memtape::plan
