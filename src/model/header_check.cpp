// SPDX-License-Identifier: Apache-2.0
#include "model/header_check.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

namespace memtape {
namespace {

constexpr std::size_t kNamed = 3;

/// The names of one kind of difference: how many, and the first few.
class Names {
 public:
  void add(std::string text) {
    if (count_++ < kNamed) first_.push_back(std::move(text));
  }
  void tell(std::vector<std::string>& lines, std::string_view what) const {
    if (count_ == 0) return;
    const std::string_view more = count_ > kNamed ? ", ..." : "";
    lines.push_back(fmt::format("{} {} {}: {}{}", count_, count_ == 1 ? "tensor" : "tensors", what,
                                fmt::join(first_, ", "), more));
  }

 private:
  std::size_t count_ = 0;
  std::vector<std::string> first_;
};

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// The checkpoint's tensors by name, found with or without the prefix of the base model.
class Header {
 public:
  Header(const TensorList& list, std::string_view prefix)
      : prefix_(prefix.empty() ? "" : std::string(prefix) + ".") {
    for (const StoredTensor& tensor : list.tensors) by_name_.emplace(tensor.name, &tensor);
  }

  const StoredTensor* find(std::string_view name) const {
    if (const auto at = by_name_.find(name); at != by_name_.end()) return at->second;
    if (prefix_.empty() || !name.starts_with(prefix_)) return nullptr;
    const auto at = by_name_.find(name.substr(prefix_.size()));
    return at == by_name_.end() ? nullptr : at->second;
  }

 private:
  std::string prefix_;
  std::unordered_map<std::string_view, const StoredTensor*> by_name_;
};

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_buffer(std::span<const std::string_view> endings, std::string_view name) {
  return std::ranges::any_of(endings,
                             [&](std::string_view ending) { return name.ends_with(ending); });
}

}  // namespace

std::vector<std::string> check_header(const HeaderCheck& check, const TensorList& list) {
  const Header header(list, check.base_model_prefix);
  std::unordered_set<const StoredTensor*> seen;
  Names missing, unexpected, shapes, dtypes;
  for (const ExpectedParameter& expected : check.parameters) {
    const StoredTensor* stored = header.find(expected.name);
    if (stored == nullptr) {
      if (!contains(check.tied, expected.name)) missing.add(std::string(expected.name));
      continue;
    }
    seen.insert(stored);
    if (!std::ranges::equal(expected.shape, stored->shape))
      shapes.add(fmt::format("{} is {}, not {}", expected.name, shape_text(stored->shape),
                             shape_text(expected.shape)));
    if (expected.dtype && stored->torch_dtype() != expected.dtype)
      dtypes.add(
          fmt::format("{} is {}, not {}", expected.name, stored->dtype, name(*expected.dtype)));
  }
  for (const StoredTensor& stored : list.tensors)
    if (!seen.contains(&stored) && !contains(check.tied, stored.name) &&
        !is_buffer(check.buffers, stored.name))
      unexpected.add(stored.name);

  std::vector<std::string> lines;
  missing.tell(lines, "of the model missing from the checkpoint");
  unexpected.tell(lines, "of the checkpoint unknown to the model");
  shapes.tell(lines, "of another shape in the checkpoint");
  dtypes.tell(lines, "of another dtype in the checkpoint");
  return lines;
}

}  // namespace memtape
