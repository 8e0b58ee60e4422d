// SPDX-License-Identifier: Apache-2.0
#include "family/registry.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "family/parts/classifiers.h"
#include "model/type_of.h"

namespace memtape::family {
namespace {

const FamilyFacts* family_named(std::string_view type) {
  const auto all = families();
  const auto found = std::ranges::find(all, type, &FamilyFacts::model_type);
  return found == all.end() ? nullptr : *found;
}

const FamilyFacts* family_whose_text_is(std::string_view type) {
  const auto all = families();
  const auto found = std::ranges::find(all, type, &FamilyFacts::text_type);
  return found == all.end() || type.empty() ? nullptr : *found;
}

bool has_head(const FamilyFacts& facts, Task task) {
  return is_classification(task) ? has_classifier(facts, task) : facts.task == task;
}

}  // namespace

const FamilyFacts* facts_of(const Config& config) { return family_named(type_of(config)); }

const FamilyFacts* text_facts_of(const Config& config) {
  const std::string type = text_type_of(config);
  const FamilyFacts* const facts = family_named(type);
  return facts ? facts : family_whose_text_is(type);
}

Result<const FamilyFacts*> find_family(const Config& config, Task task) {
  const FamilyFacts* const facts = facts_of(config);
  if (facts && has_head(*facts, task)) return facts;
  const std::string type = type_of(config);
  if (facts)
    return unsupported("no such head on a model of family \"" + type + "\"", "--task",
                       "leave it out for the one the family has");
  std::vector<std::string_view> names;
  for (const FamilyFacts* family : families()) names.push_back(family->model_type);
  return unsupported("unknown model family \"" + type + "\"", config.where() + ": model_type",
                     suggestion(type, names));
}

bool lies_on_the_hub(const FamilyFacts& facts, const Release& release) {
  if (facts.nearest.empty()) return false;
  return facts.first == Version{} || release.of(Package::transformers) < facts.first;
}

Result<void> check_is_there(const FamilyFacts& facts, const Release& release) {
  const Version meant = release.of(Package::transformers);
  if (meant >= facts.first || lies_on_the_hub(facts, release)) return {};
  return unsupported(fmt::format("transformers {} has no \"{}\"", meant.text(), facts.model_type),
                     "--with", fmt::format("transformers=={} or later", facts.first.text()));
}

}  // namespace memtape::family
