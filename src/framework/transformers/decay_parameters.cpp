// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/decay_parameters.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/letter_case.h"

namespace memtape::transformers {
namespace {

using ghost::Tensor;
using nn::ModuleNode;

/// `word` in `name`, ending at a dot or at the end; beginning anywhere, or at a dot or the start.
bool has_part(std::string_view name, std::string_view word, bool from_dot) {
  for (std::size_t at = name.find(word); at != std::string_view::npos;
       at = name.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool starts = !from_dot || at == 0 || name[at - 1] == '.';
    if (starts && (end == name.size() || name[end] == '.')) return true;
  }
  return false;
}

/// forbidden_name_patterns: bias, layernorm, rmsnorm, (?:^|\.)norm(?:$|\.), _norm(?:$|\.)
bool forbidden(std::string name) {
  name = lower_case(std::move(name));
  for (const std::string_view part : {"bias", "layernorm", "rmsnorm"})
    if (name.find(part) != std::string::npos) return true;
  return has_part(name, "norm", true) || has_part(name, "_norm", false);
}

/// Each trainable parameter once, under its first name, as named_parameters() gives it.
class Collector {
 public:
  /// Whether weight decay passes over a parameter of that name in that module.
  using Spares = std::function<bool(const ModuleNode& node, const std::string& name)>;
  explicit Collector(Spares spares) : spares_(std::move(spares)) {}

  void walk(const ModuleNode& node, const std::string& prefix) {
    for (const ModuleNode::Named& p : node.parameters) {
      if (!seen_.insert(p.tensor.ptr().get()).second || !p.tensor.requires_grad()) continue;
      (spares_(node, prefix + p.name) ? others : decayed).push_back(p.tensor);
    }
    for (const ModuleNode* child : node.children) walk(*child, prefix + child->name + ".");
  }

  std::vector<Tensor> decayed, others;

 private:
  Spares spares_;
  std::unordered_set<const ghost::TensorImpl*> seen_;
};

GroupedParameters grouped(family::PretrainedModel& model, Collector::Spares spares) {
  Collector found(std::move(spares));
  found.walk(model.tree.root(), "");
  GroupedParameters groups{std::move(found.decayed), 0};
  groups.decayed = groups.parameters.size();
  groups.parameters.insert(groups.parameters.end(), found.others.begin(), found.others.end());
  return groups;
}

}  // namespace

GroupedParameters grouped_parameters(family::PretrainedModel& model) {
  return grouped(model, [](const ModuleNode& node, const std::string& name) {
    return node.layer_norm || forbidden(name);
  });
}

GroupedParameters grouped_by_parts(family::PretrainedModel& model,
                                   std::span<const std::string_view> parts) {
  return grouped(model, [&](const ModuleNode&, const std::string& name) {
    return std::ranges::any_of(
        parts, [&](std::string_view part) { return name.find(part) != std::string::npos; });
  });
}

}  // namespace memtape::transformers
