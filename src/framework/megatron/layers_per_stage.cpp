// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/layers_per_stage.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace memtape::megatron {
namespace {

using Stages = std::vector<std::vector<std::int64_t>>;

tl::unexpected<Error> uneven(std::string_view what, std::int64_t n, std::int64_t by) {
  return bad_input(fmt::format("{} {} do not divide by {}", n, what, by), "the pipeline",
                   fmt::format("{} or {} would", n / by * by, (n / by + 1) * by));
}

/// Every stage the same, with embedding and loss counted as layers where asked.
Result<void> even(const StageSplit& split, Arguments& a) {
  const std::int64_t counted = a.num_layers + split.embedding_counts + split.loss_counts;
  if (counted % (a.pp * a.vpp) != 0) return uneven("layers", counted, a.pp * a.vpp);
  const std::int64_t each = counted / (a.pp * a.vpp);
  a.stage_layers.assign(static_cast<std::size_t>(a.pp),
                        std::vector<std::int64_t>(static_cast<std::size_t>(a.vpp), each));
  if (split.embedding_counts) --a.stage_layers.front().front();
  if (split.loss_counts) --a.stage_layers.back().back();
  return {};
}

/// --decoder-first-pipeline-num-layers and -last-: the rest is spread over the stages between.
Result<void> uneven_ends(const StageSplit& split, Arguments& a) {
  const std::int64_t between = a.pp - split.first.has_value() - split.last.has_value();
  const std::int64_t rest = a.num_layers - split.first.value_or(0) - split.last.value_or(0);
  if (rest < 0 || (between == 0 && rest != 0))
    return bad_input("leave a wrong number of layers for the stages between",
                     "--decoder-first-pipeline-num-layers, --decoder-last-pipeline-num-layers");
  if (between > 0 && rest % between != 0) return uneven("layers between the ends", rest, between);
  for (std::int64_t rank = 0; rank < a.pp; ++rank) {
    std::int64_t layers = between > 0 ? rest / between : 0;
    if (rank == 0 && split.first) layers = *split.first;
    if (rank == a.pp - 1 && split.last) layers = *split.last;
    if (layers % a.vpp != 0) return uneven("layers of a stage", layers, a.vpp);
    a.stage_layers.emplace_back(static_cast<std::size_t>(a.vpp), layers / a.vpp);
  }
  return {};
}

/// "Et*2|(tt|)*5" written out: `x*n` repeats a letter or a group in parentheses.
Result<std::string> written_out(std::string_view text, std::size_t& at, bool inside) {
  std::string out;
  while (at < text.size() && text[at] != ')') {
    std::string item;
    if (text[at] == '(') {
      Result<std::string> group = written_out(text, ++at, true);
      if (!group) return group;
      item = std::move(*group);
    } else {
      item = std::string(1, text[at++]);
    }
    std::int64_t times = 1;
    if (at < text.size() && text[at] == '*') {
      times = 0;
      while (++at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0)
        times = std::min<std::int64_t>(times * 10 + (text[at] - '0'), 1 << 16);
    }
    for (std::int64_t i = 0; i < times && out.size() < (1U << 16); ++i) out += item;
  }
  if (inside && at >= text.size())
    return bad_input("lacks a closing parenthesis", "--pipeline-model-parallel-layout");
  if (inside) ++at;
  return out;
}

/// Letters: E embedding, t layer, m MTP layer, L loss; bars between stages, in the order of virtual
/// stages (pipeline_parallel_layer_layout.py).
Result<void> by_letters(const StageSplit& split, Arguments& a) {
  std::size_t at = 0;
  const Result<std::string> letters = written_out(split.layout, at, false);
  if (!letters) return tl::unexpected(letters.error());
  std::vector<std::int64_t> layers(1, 0);
  for (const char c : *letters) {
    if (c == '|')
      layers.push_back(0);
    else if (c == 't')
      ++layers.back();
    else if (c == 'm')
      a.mtp_stage = static_cast<std::int64_t>(layers.size()) - 1;
  }
  const auto stages = static_cast<std::int64_t>(layers.size());
  if (stages % a.pp != 0) return uneven("stages of the layout", stages, a.pp);
  a.vpp = stages / a.pp;
  a.stage_layers.assign(static_cast<std::size_t>(a.pp), {});
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < stages; ++i) {
    a.stage_layers[static_cast<std::size_t>(i % a.pp)].push_back(
        layers[static_cast<std::size_t>(i)]);
    total += layers[static_cast<std::size_t>(i)];
  }
  if (total != a.num_layers)
    return bad_input(fmt::format("holds {} layers", total), "--pipeline-model-parallel-layout",
                     fmt::format("--num-layers is {}", a.num_layers));
  return {};
}

}  // namespace

std::string layout_of_ends(std::int64_t layers, std::int64_t stages) {
  const std::int64_t each = (layers + stages - 1) / stages, lacking = each * stages - layers;
  const std::int64_t on_last = lacking == 2 ? 1 : std::min(lacking, each);
  const std::int64_t on_first = lacking - on_last;
  if (stages < 2 || on_first > each || 2 * lacking > stages) return {};
  const auto some = [](std::int64_t n) { return n > 0 ? fmt::format("t*{}", n) : std::string(); };
  const std::string between =
      stages > 2 ? fmt::format("({}|)*{}", some(each), stages - 2) : std::string();
  return fmt::format("E{}|{}{}L", some(each - on_first), between, some(each - on_last));
}

Result<void> split_layers(const StageSplit& split, Arguments& arguments) {
  arguments.stage_layers.clear();
  if (!split.layout.empty()) return by_letters(split, arguments);
  if (split.first || split.last) return uneven_ends(split, arguments);
  return even(split, arguments);
}

}  // namespace memtape::megatron
