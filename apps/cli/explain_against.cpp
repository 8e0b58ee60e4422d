// SPDX-License-Identifier: Apache-2.0
#include "explain_against.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "answer/train_request.h"
#include "asked.h"
#include "outside_process.h"
#include "predict/program.h"
#include "predict/step_play.h"

namespace memtape::cli {
namespace {

using answer::RawOptions;

/// Words as a shell would split them, quotes removed.
Result<std::vector<std::string>> split(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool open = false;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      open = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (open || !word.empty()) words.push_back(std::move(word));
      word.clear();
      open = false;
    } else {
      word += c;
    }
  }
  if (quote != 0) return bad_input("a quote that does not end", "--against");
  if (open || !word.empty()) words.push_back(std::move(word));
  return words;
}

/// The words with other values of options: those that were there go, and what a command says is
/// overridden from before its "--".
std::vector<std::string> with_values(const std::vector<std::string>& words,
                                     const NamedValues& values) {
  std::vector<std::string> changed;
  const bool is_command = words.front() == "--";
  if (is_command)
    for (const auto& [name, value] : values) changed.insert(changed.end(), {"--" + name, value});
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto names = [&](const auto& pair) {
      return words[i] == "--" + pair.first || words[i].starts_with("--" + pair.first + "=");
    };
    if (is_command || std::ranges::none_of(values, names))
      changed.push_back(words[i]);
    else if (words[i].find('=') == std::string::npos)
      ++i;
  }
  if (!is_command)
    for (const auto& [name, value] : values) changed.insert(changed.end(), {"--" + name, value});
  return changed;
}

Result<answer::RawOptions> options_of(const std::vector<std::string>& words) {
  if (words.front() != "train" && std::ranges::find(words, "--") == words.end())
    return bad_input(fmt::format("cannot be laid beside '{}'", words.front()), "--against",
                     "'train MODEL ...', or --against -- COMMAND");
  Result<answer::Launched> asked = asked_by(words);
  if (!asked) return tl::unexpected(asked.error());
  if (auto* train = std::get_if<answer::RawOptions>(&*asked)) return std::move(*train);
  return unsupported("starts a server: only a training can be laid beside a recording",
                     "--against");
}

/// "model.layers.*.mlp, mm": layers of a kind under one name.
std::string label_of(const Tape& tape, const Why& why) {
  std::string path = tape.scopes.path(why.scope), label;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool digit = path[i] >= '0' && path[i] <= '9';
    const bool starts = i > 0 && path[i - 1] == '.';
    if (digit && (starts || label.ends_with('*'))) {
      if (starts) label += '*';
    } else {
      label += path[i];
    }
  }
  return fmt::format("{}{}{}", label, label.empty() ? "" : ", ", why.op);
}

/// The requests of the measured step, with what is allocated after each.
void add_step(const Tape& tape, const StepPlay& play, Predicted& predicted) {
  Bytes allocated = 0;
  for (std::size_t i = 0; i < tape.events.size(); ++i) {
    const Event& event = tape.events[i];
    if (event.kind != EventKind::alloc && event.kind != EventKind::free) continue;
    const bool is_born = event.kind == EventKind::alloc;
    allocated += is_born ? play.played.sizes[event.block] : -play.played.sizes[event.block];
    if (!is_born || i < play.first_event || tape.requested[event.block] == 0) continue;
    predicted.step.push_back(tape.requested[event.block]);
    predicted.step_allocated.push_back(allocated);
  }
}

Predicted taken_apart(const Tape& tape, const StepPlay& play, bool from_start) {
  Predicted predicted;
  std::vector<const Window*> windows;
  for (const Window& w : play.step.windows) windows.push_back(&w);
  if (from_start)
    for (const Window& w : play.before.windows) windows.push_back(&w);
  const Window* highest = nullptr;
  for (const Window* w : windows) {
    predicted.peak.raise_to(w->peak);
    if (!highest || w->peak.allocated > highest->peak.allocated) highest = w;
  }
  if (!highest) return predicted;
  for (const BlockId id : Lifetimes(tape).alive(highest->peak_event))
    if (play.played.sizes[id] > 0)
      predicted.alive.push_back({.requested = tape.requested[id],
                                 .size = play.played.sizes[id],
                                 .category = tape.why.category(id),
                                 .label = label_of(tape, tape.why[id])});
  add_step(tape, play, predicted);
  return predicted;
}

}  // namespace

Result<std::vector<std::string>> words_against(const std::vector<std::string>& given) {
  std::vector<std::string> words = given;
  if (words.size() == 1) {
    const auto parts = split(words.front());
    if (!parts) return tl::unexpected(parts.error());
    words = *parts;
  }
  if (words.empty()) return bad_input("is empty", "--against", "'train MODEL ...'");
  return words;
}

Result<Predicted> predicted_for(const std::vector<std::string>& given, bool from_start,
                                const NamedValues& values) {
  const std::vector<std::string> words = with_values(given, values);
  const Result<answer::RawOptions> options = options_of(words);
  if (!options) return tl::unexpected(options.error());
  const auto request = answer::train_request(*options, outside_process());
  if (!request) return tl::unexpected(request.error());
  const auto source = outside_process().model(options->model);
  if (!source) return tl::unexpected(source.error());
  if (!source->config) return unsupported("no config.json", source->where);
  const Result<TrainRecipe> recipe = resolved(request->recipe, *source->config);
  if (!recipe) return tl::unexpected(recipe.error());
  const auto run = run_program(*source->config, *recipe, device_traits(request->device),
                               static_cast<int>(recipe->layout.rank.value_or(0)));
  if (!run) return tl::unexpected(run.error());
  const StepPlay play = play_program(run->tape, request->device, {}, torch::kSteps - 1, false);
  Predicted predicted = taken_apart(run->tape, play, from_start);
  predicted.words = fmt::format("{}", fmt::join(words, " "));
  predicted.micro_batch = recipe->micro_batch_size;
  predicted.sequence_length = recipe->sequence_length;
  return predicted;
}

}  // namespace memtape::cli
