// SPDX-License-Identifier: Apache-2.0
#include "plan/candidate.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/comma_list.h"
#include "framework/dialects.h"

namespace memtape::plan {
namespace {

/// Whether `a` keeps all that `b` keeps. Modules that are made again hold buffers of their own, so
/// that some of them may need more than none of them.
bool makes_no_more_again(const Candidate& a, const Candidate& b) {
  const bool b_makes_layers =
      b.checkpointing != Checkpointing::none && b.checkpointing != Checkpointing::selective;
  if (b_makes_layers && b.layers_again > 0)
    return a.checkpointing == Checkpointing::none ||
           (a.layers_again > 0 && a.layers_again <= b.layers_again);
  return (a.checkpointing == b.checkpointing && a.modules == b.modules) || b_makes_layers;
}

/// Micro-batches of which a rank holds something. With virtual stages it starts those of two
/// rounds before its first backward. Where there are several, gradients wait for the last one.
std::int64_t in_flight(const Sizes& s) {
  return std::min(s.micro_batches, std::max<std::int64_t>(2, s.vpp > 1 ? 2 * s.pp : s.pp));
}

constexpr std::int64_t kFewestRounds = 3, kFewestTelling = 8;

void add(std::string& out, std::string_view part) {
  if (!out.empty()) out += " · ";
  out += part;
}

void add_size(std::string& out, const char* name, std::int64_t size) {
  if (size > 1) add(out, fmt::format("{} {}", name, size));
}

}  // namespace

std::string_view option_of(Axis axis) {
  constexpr std::array<std::string_view, kAxes> kOptions{"tp",
                                                         "cp",
                                                         "pp",
                                                         "vpp",
                                                         "ep",
                                                         "etp",
                                                         "dp",
                                                         "zero",
                                                         "micro-batch-size",
                                                         "gradient-checkpointing",
                                                         "method",
                                                         "sharding",
                                                         "offload",
                                                         "optim",
                                                         "recompute-modules",
                                                         "recompute-num-layers"};
  return kOptions.at(static_cast<std::size_t>(axis));
}

std::string_view name(Method method) {
  constexpr std::array<std::string_view, 3> kNames{"full", "lora", "qlora"};
  return kNames.at(static_cast<std::size_t>(method));
}
std::string_view name(Sharding sharding) {
  constexpr std::array<std::string_view, 6> kNames{"none",   "ddp",     "full",
                                                   "hybrid", "grad-op", "full-sync"};
  return kNames.at(static_cast<std::size_t>(sharding));
}
std::string_view name(Offload offload) {
  constexpr std::array<std::string_view, 3> kNames{"none", "optimizer", "all"};
  return kNames.at(static_cast<std::size_t>(offload));
}
std::string_view name(Optim optim) { return optim == Optim::adamw ? "adamw" : "adamw-8bit"; }

std::optional<std::int64_t> telling_micro_batches(const Sizes& s) {
  const std::int64_t rounds = std::max(kFewestRounds, (kFewestTelling + s.pp - 1) / s.pp);
  const std::int64_t telling = rounds * s.pp;
  return 2 * telling <= s.micro_batches ? std::optional(telling) : std::nullopt;
}

bool needs_no_less(const Candidate& a, const Candidate& b) {
  const Sizes &x = a.sizes, &y = b.sizes;
  const bool same = a.framework == b.framework && a.method == b.method &&
                    a.sharding == b.sharding && a.offload == b.offload && a.optim == b.optim &&
                    x.gpus == y.gpus && x.tp == y.tp && x.cp == y.cp && x.pp == y.pp &&
                    x.vpp == y.vpp && x.ep == y.ep && x.etp == y.etp && x.zero == y.zero;
  return same && x.micro_batch >= y.micro_batch && in_flight(x) >= in_flight(y) &&
         makes_no_more_again(a, b);
}

std::string in_words(const Candidate& c) {
  std::string out;
  const Sizes& s = c.sizes;
  add_size(out, "tp", s.tp);
  add_size(out, "cp", s.cp);
  add_size(out, "pp", s.pp);
  add_size(out, "vpp", s.vpp);
  add_size(out, "ep", s.ep);
  if (c.framework->experts_follow_tensor_ranks && s.etp != s.tp)
    add(out, fmt::format("etp {}", s.etp));
  if (c.sharding == Sharding::fsdp) add(out, fmt::format("shard {}", s.dp));
  if (c.sharding == Sharding::grads_kept) add(out, fmt::format("shard {}, kept whole", s.dp));
  if (c.sharding == Sharding::reduced_each)
    add(out, fmt::format("shard {}, each micro-batch reduced", s.dp));
  if (c.sharding == Sharding::hybrid) add(out, "hybrid shard");
  if (c.sharding == Sharding::ddp || c.sharding == Sharding::none) add_size(out, "dp", s.dp);
  const DataParallelChoices& choices = dialect_of(c.framework).sharing;
  if (choices.has_zero_stages || (choices.takes_ds_config && s.zero > 0))
    add(out, fmt::format("zero {}", s.zero));
  if (c.method != Method::full) add(out, c.method == Method::lora ? "LoRA" : "QLoRA");
  if (c.optim != Optim::adamw) add(out, "8-bit AdamW");
  if (c.offload != Offload::none) add(out, fmt::format("offload {}", name(c.offload)));
  add(out, fmt::format("batch {} x {}", s.micro_batch, s.micro_batches));
  if (c.checkpointing != Checkpointing::none)
    add(out,
        c.checkpointing == Checkpointing::selective ? "selective recompute" : "full recompute");
  if (c.layers_again > 0)
    out += fmt::format(" of {} layers{}", c.layers_again,
                       s.vpp > 1  ? " a virtual stage"
                       : s.pp > 1 ? " a stage"
                                  : "");
  if (!c.modules.empty()) out += fmt::format(" of {}", fmt::join(split_at_commas(c.modules), ", "));
  return out;
}

}  // namespace memtape::plan
