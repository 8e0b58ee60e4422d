// SPDX-License-Identifier: Apache-2.0
#include "family/named_head.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "family/parts/classifiers.h"
#include "family/registry.h"

namespace memtape::family {
namespace {

constexpr std::array<std::pair<std::string_view, Task>, 4> kHeads{{
    {"ForSequenceClassification", Task::sequence_classification},
    {"ForTokenClassification", Task::token_classification},
    {"ForQuestionAnswering", Task::question_answering},
    {"ForMultipleChoice", Task::multiple_choice},
}};

/// Code on the hub calls its language models ...Model, too.
bool is_bare_text_model(const FamilyFacts& facts, std::string_view architecture) {
  const bool reads_text = facts.task == Task::causal_lm || facts.task == Task::masked_lm;
  return architecture.ends_with("Model") && !architecture.ends_with("HeadModel") &&
         facts.nearest.empty() && reads_text;
}

}  // namespace

std::optional<NamedHead> named_head(const Config& config) {
  const FamilyFacts* const facts = facts_of(config);
  const std::vector<std::string> architectures = config.texts("architectures");
  if (!facts || architectures.empty()) return std::nullopt;
  const std::string& architecture = architectures.front();
  for (const auto& [suffix, task] : kHeads)
    if (architecture.ends_with(suffix) && has_classifier(*facts, task))
      return NamedHead{.task = task, .architecture = architecture};
  if (is_bare_text_model(*facts, architecture) &&
      has_classifier(*facts, Task::sequence_classification))
    return NamedHead{
        .task = Task::sequence_classification, .architecture = architecture, .has_none = true};
  return std::nullopt;
}

}  // namespace memtape::family
