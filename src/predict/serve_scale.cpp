// SPDX-License-Identifier: Apache-2.0
#include "predict/serve_scale.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"

namespace memtape {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 31;
constexpr std::int64_t kMostRanks = 128, kMostGpusOfLlamaCpp = 15;  ///< the latter of one llama.cpp

/// What the engines call the sequences that are served at a time.
constexpr std::array<std::string_view, 3> kBatches{"--batch-size", "--max-num-seqs",
                                                   "--max-running-requests"};
/// Flags that spread a model over GPUs.
constexpr std::array<std::string_view, 5> kRanks{"tensor-parallel-size", "pipeline-parallel-size",
                                                 "tp-size", "pp-size", "gpus"};

/// `batch` asks for as many sequences as fit, whatever the engine calls them.
std::string_view own_name(const ServeEngine& engine, std::string_view named) {
  if (named != "batch" || engine.batch_is_of_tokens) return named;
  for (const std::string_view batch : kBatches)
    if (find_flag(engine.flags, std::string(batch))) return batch;
  return named;
}

tl::unexpected<Error> no_such_flag(const ServeEngine& engine, std::string_view named,
                                   const std::string& spelling) {
  std::vector<std::string_view> names;
  for (const ServeFlag& f : engine.flags)
    if (f.form == "N") names.push_back(f.spellings.substr(2, f.spellings.find(' ') - 2));
  return bad_input(fmt::format("--engine {} has no {}", engine.name, spelling), "--solve",
                   suggestion(named, names));
}

}  // namespace

std::int64_t Scale::most() const {
  switch (kind) {
    case Kind::count: return kMost;
    case Kind::share: return 100;
    case Kind::ranks: return limit > 0 ? limit : flag == "gpus" ? kMostGpusOfLlamaCpp : kMostRanks;
  }
  return 0;
}

std::string Scale::text(std::int64_t at) const {
  if (kind != Kind::share) return std::to_string(at);
  return fmt::format("{:.2f}", static_cast<double>(101 - at) / 100.0);
}

std::string_view Scale::wanted() const { return kind == Kind::count ? "largest" : "smallest"; }

std::vector<std::int64_t> Scale::grid() const {
  constexpr std::int64_t kApart = 4, kEach = 16, kSomeRanks = 8, kSomeShares = 5, kGreatest = 10;
  std::vector<std::int64_t> all;
  for (std::int64_t at = 1; at <= most();) {
    all.push_back(at);
    switch (kind) {
      case Kind::count: at *= kApart; break;
      case Kind::share: at += at < kGreatest ? 1 : kSomeShares; break;
      case Kind::ranks: at += at < kEach ? 1 : kSomeRanks; break;
    }
  }
  return all;
}

ServeRequest Scale::with(const ServeRequest& request, std::int64_t at) const {
  ServeRequest asked = request;
  asked.options.add(flag, text(at));
  if (kind == Kind::ranks) asked.device.gpus = flag == "gpus" ? static_cast<int>(at) : 1;
  return asked;
}

Result<Scale> scale_of(const ServeEngine& engine, const ServeRequest& request,
                       std::string_view asked) {
  const std::string_view named = own_name(engine, asked);
  const std::string spelling =
      named.starts_with("-") ? std::string(named) : fmt::format("--{}", named);
  if (spelling == "--gpus" && engine.spreads_over_gpus) return Scale{"gpus", Scale::Kind::ranks};
  const ServeFlag* flag = find_flag(engine.flags, spelling);
  if (!flag) return no_such_flag(engine, named, spelling);
  if (flag->name() == "gpu-memory-utilization" || flag->name() == "mem-fraction-static")
    return Scale{flag->name(), Scale::Kind::share};
  if (flag->name() == "n-cpu-moe")
    return bad_input("the more layers' experts stay with the CPU, the more fits",
                     "--solve n-cpu-moe", "--fit finds the fewest");
  if (flag->form != "N")
    return bad_input(fmt::format("{} is no number", spelling), "--solve",
                     "a flag whose value is a number");
  const bool spreads = std::ranges::find(kRanks, flag->name()) != kRanks.end();
  if (!spreads) return Scale{flag->name(), Scale::Kind::count};
  return Scale{flag->name(), Scale::Kind::ranks,
               request.options.has("gpus") ? request.device.gpus : 0};
}

}  // namespace memtape
