// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "answer/device_options.h"
#include "answer/fits.h"
#include "base/comma_list.h"
#include "base/text.h"
#include "base/typed_number.h"
#include "mesh/unified_memory.h"
#include "option/value.h"

namespace memtape::answer {
namespace {

using option::unusable;

constexpr std::string_view kMachine = "The machine";
constexpr std::string_view kModels = "Which models";

constexpr auto kOptions = std::to_array<option::Option>({
    {"--gpu", "NAME", "the GPU (memtape gpus lists them)", kMachine},
    {"--gpus", "N", "how many of them, for chat", kMachine, {}, "1"},
    {"--gpu-memory-bytes", "SIZE", "total memory of the GPU, like 24GiB, instead of the catalog's",
     kMachine},
    {"--context-bytes", "SIZE", "memory of the CUDA context, instead of the catalog's", kMachine},
    {"--host-memory",
     "SIZE",
     "memory of the machine for what the GPU has no room for",
     kMachine,
     {},
     "none"},
    {"--reserve", "SIZE", "of the GPU's memory for the desktop and others", kMachine, {}, "0"},
    {"--task", "{chat,train}", "chat: llama.cpp serves one; train: it learns", kModels, {}, "chat"},
    option::Option{
        "--context", "N", "tokens of a chat's context at the least, like 8k", kModels, {}, "8192"}
        .people_say("--ctx --context-length"),
    {"--quantize",
     "TYPE,...",
     "kinds of weights, the best first",
     kModels,
     {},
     "Q8_0,Q6_K,Q5_K_M,Q4_K_M,Q3_K_M,Q2_K"},
    option::Option{"--sequence-length",
                   "N",
                   "tokens of a training's sequences at the least",
                   kModels,
                   {},
                   "2048"}
        .people_say("--seq --seq-len --seq-length --seqlen --max-length --max-seq-length"),
    {"--method",
     "{full,lora,qlora},...",
     "ways to train, the most thorough first",
     kModels,
     {},
     "all three"},
    Option{"--name", "TEXT", "only models with that in their names", kModels}.people_say(
        "--model --model-name -m"),
    {"--size", "A..B", "only models of so many parameters, like 7B..14B, ..8B or 30B..", kModels},
    {"--on", "{gpu,partly,any}", "only those all on the GPU, or only partly", kModels, {}, "any"},
    {"--top", "N", "only the first N", kModels, {}, "all"},
});

constexpr auto kWeights =
    std::to_array<std::string_view>({"Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q3_K_M", "Q2_K"});
constexpr auto kMethods = std::to_array<std::string_view>({"full", "lora", "qlora"});

class QuestionReader {
 public:
  explicit QuestionReader(const RawOptions& options) : options_(options) {}

  Result<FitsQuestion> read(const Outside& outside) && {
    q_.strict = options_.output.strict;
    for (const auto& step : {&QuestionReader::choices, &QuestionReader::sizes,
                             &QuestionReader::counts, &QuestionReader::filters})
      if (const Result<void> done = (this->*step)(); !done) return tl::unexpected(done.error());
    if (const Result<void> done = device(outside); !done) return tl::unexpected(done.error());
    return std::move(q_);
  }

 private:
  const std::string* find(std::string_view name) const { return last_value(options_.values, name); }

  template <std::size_t n>
  Result<std::size_t> choice(std::string_view option, const std::array<std::string_view, n>& all) {
    const std::string* said = find(option);
    if (!said) return n;
    const auto at = std::ranges::find(all, *said);
    if (at == all.end()) return unusable(option, *said, fmt::format("{}", fmt::join(all, ", ")));
    return static_cast<std::size_t>(at - all.begin());
  }

  Result<void> choices() {
    constexpr auto kTasks = std::to_array<std::string_view>({"chat", "train"});
    constexpr auto kPlaces = std::to_array<std::string_view>({"any", "gpu", "partly"});
    const auto task = choice("task", kTasks);
    if (!task) return tl::unexpected(task.error());
    if (*task == 1) q_.task = FitsQuestion::Task::train;
    const auto place = choice("on", kPlaces);
    if (!place) return tl::unexpected(place.error());
    if (*place < kPlaces.size()) q_.where = static_cast<FitsQuestion::Where>(*place);
    const bool trains = q_.task == FitsQuestion::Task::train;
    constexpr auto kOfChat =
        std::to_array<std::string_view>({"gpus", "host-memory", "context", "quantize", "on"});
    constexpr auto kOfTraining = std::to_array<std::string_view>({"sequence-length", "method"});
    const std::span<const std::string_view> others =
        trains ? std::span<const std::string_view>(kOfChat)
               : std::span<const std::string_view>(kOfTraining);
    for (const std::string_view other : others)
      if (find(other))
        return bad_input(fmt::format("says nothing about --task {}", trains ? "train" : "chat"),
                         fmt::format("--{}", other),
                         trains ? "--task chat, or leave it out" : "--task train, or leave it out");
    return lists();
  }

  Result<void> lists() {
    q_.weights.assign(kWeights.begin(), kWeights.end());
    if (const std::string* said = find("quantize")) q_.weights = split_at_commas(*said);
    q_.methods.assign(kMethods.begin(), kMethods.end());
    const std::string* said = find("method");
    if (!said) return {};
    q_.methods = split_at_commas(*said);
    for (const std::string& method : q_.methods)
      if (std::ranges::find(kMethods, method) == kMethods.end())
        return unusable("method", method, "full, lora, qlora");
    return {};
  }

  Result<std::optional<Bytes>> size_of(std::string_view name) const {
    const std::string* said = find(name);
    if (!said) return std::nullopt;
    const std::optional<Bytes> bytes = typed_bytes(*said);
    if (!bytes) return unusable(name, *said, "a size like 24GiB, 80GB or 25769803776");
    if (is_without_unit(*bytes)) return no_unit(name, *bytes);
    return bytes;
  }

  Result<void> sizes() {
    const auto host = size_of("host-memory"), reserve = size_of("reserve");
    if (!host) return tl::unexpected(host.error());
    if (!reserve) return tl::unexpected(reserve.error());
    q_.host_memory = *host;
    q_.reserve = reserve->value_or(0);
    for (const std::string_view name : {"gpu", "gpu-memory-bytes", "context-bytes"})
      if (const std::string* said = find(name)) q_.device_values.emplace_back(name, *said);
    return {};
  }

  Result<std::int64_t> count_of(std::string_view name, std::int64_t otherwise,
                                std::int64_t most) const {
    const std::string* said = find(name);
    if (!said) return otherwise;
    const auto n = typed_tokens(*said);
    if (!n || *n < 1 || *n > most)
      return unusable(name, *said, fmt::format("a whole number from 1 to {}", most));
    return *n;
  }

  Result<void> counts() {
    const bool trains = q_.task == FitsQuestion::Task::train;
    const auto tokens =
        trains ? count_of("sequence-length", 2048, 1 << 24) : count_of("context", 8192, 1 << 24);
    const auto gpus = count_of("gpus", 1, 64), top = count_of("top", 0, 1 << 20);
    for (const auto* read : {&tokens, &gpus, &top})
      if (!*read) return tl::unexpected(read->error());
    q_.least_tokens = *tokens;
    if (*gpus > 1) q_.device_values.emplace_back("gpus", fmt::format("{}", *gpus));
    q_.top = static_cast<std::size_t>(*top);
    return {};
  }

  Result<void> filters() {
    if (const std::string* said = find("name")) q_.name = *said;
    const std::string* said = find("size");
    if (!said) return {};
    const std::size_t dots = said->find("..");
    const std::string low = dots == std::string::npos ? "" : said->substr(0, dots);
    const std::string high = dots == std::string::npos ? *said : said->substr(dots + 2);
    const auto least = low.empty() ? std::optional<std::int64_t>(0) : typed_parameters(low);
    const auto most = high.empty() ? std::optional<std::int64_t>(0) : typed_parameters(high);
    if (!least || !most || (low.empty() && high.empty()) || (*most > 0 && *most < *least))
      return unusable("size", *said, "parameters from and to, like 7B..14B, ..8B or 30B..");
    constexpr std::int64_t kFewest = 10'000;  // than this no model has fewer
    if (const std::int64_t last = std::max(*least, *most); last > 0 && last < kFewest)
      return bad_input(fmt::format("\"{}\" counts parameters one by one", *said), "--size",
                       fmt::format("did you mean {}..{}?", low.empty() ? "" : low + "B",
                                   high.empty() ? "" : high + "B"));
    q_.least_parameters = *least;
    q_.most_parameters = *most;
    return {};
  }

  Result<void> device(const Outside& outside) {
    Result<DeviceSetup> device = device_of(q_.device_values, {}, outside);
    if (!device) return tl::unexpected(device.error());
    q_.device = *std::move(device);
    if (!q_.device.total_bytes() && q_.task == FitsQuestion::Task::train)
      return bad_input("a training needs a GPU", "fits", "--gpu NAME (memtape gpus lists them)");
    if (!q_.device.total_bytes() && !q_.host_memory)
      return bad_input("needs a machine", "fits", "--gpu NAME, --host-memory SIZE or both");
    if (const auto known = shared_memory(); !known) return known;
    const Bytes all = q_.device.total_bytes().value_or(q_.host_memory.value_or(0));
    if (q_.reserve >= all)
      return bad_input(fmt::format("leaves nothing of {}", gib(all)), "--reserve", "less");
    return {};
  }

  /// Apple's GPUs have what Metal lets them have of the machine's memory.
  Result<void> shared_memory() {
    std::optional<Gpu>& gpu = q_.device.gpu;
    if (!gpu || gpu->vendor != "Apple" || q_.device.total_override) return {};
    if (!q_.host_memory)
      return bad_input(
          fmt::format("how much memory the machine with an {} has is not said", gpu->name), "--gpu",
          "--host-memory SIZE");
    gpu->total_bytes = working_set(*q_.host_memory);
    q_.device_values.emplace_back("host-memory-bytes", fmt::format("{}", *q_.host_memory));
    return {};
  }

  const RawOptions& options_;
  FitsQuestion q_;
};

}  // namespace

std::span<const option::Option> fits_options() { return kOptions; }

Result<FitsQuestion> fits_question(const RawOptions& options, const Outside& outside) {
  return QuestionReader(options).read(outside);
}

std::optional<Bytes> FitsQuestion::room() const {
  const std::optional<Bytes> total = device.total_bytes();
  return total ? std::optional(*total - reserve) : std::nullopt;
}

bool FitsQuestion::accepts(std::optional<VerdictWord> verdict, std::optional<bool> fits) const {
  const VerdictWord word = verdict.value_or(VerdictWord::does_not_fit);
  const bool may = word == VerdictWord::may_not_fit && fits.value_or(false) && !strict;
  return word == VerdictWord::fits || may;
}

void Fitting::ask_by(std::string_view asked, const NamedValues& options,
                     const FitsQuestion& question) {
  command = {"memtape", std::string(asked), id};
  for (const auto& [name, value] : options) {
    command.push_back(fmt::format("--{}", name));
    if (!value.empty()) command.push_back(value);
  }
  if (const auto room = question.room(); room && question.reserve > 0)
    command.insert(command.end(), {"--gpu-memory-bytes", fmt::format("{}", *room)});
}

std::string_view name(Fitting::Place place) {
  switch (place) {
    case Fitting::Place::gpu: return "gpu";
    case Fitting::Place::partly: return "partly";
    case Fitting::Place::host: return "host";
    case Fitting::Place::none: break;
  }
  return "none";
}

}  // namespace memtape::answer
