// SPDX-License-Identifier: Apache-2.0
#include "budget_file.h"

#include <fmt/format.h>

#include "evidence/quantity.h"
#include "explain_against.h"
#include "formats/toml.h"
#include "sources/files.h"

namespace memtape::cli {
namespace {

constexpr std::size_t kLargestBudgetFile = std::size_t{4} << 20;

Error error_at(const std::string& file, const YamlNode& node, std::string what, std::string hint) {
  return {ErrorKind::bad_input, std::move(what), place_in(file, node.line), std::move(hint)};
}

Result<Bytes> size_written(const std::string& file, const YamlNode& node) {
  std::size_t used = 0;
  const auto quantity = quantity_at(node.text, &used);
  if (quantity && used == node.text.size()) return quantity->bytes;
  return tl::unexpected(
      error_at(file, node, fmt::format("'{}' is no size", node.text), "\"78 GiB\""));
}

Result<Budget> budget_of(const std::string& file, const YamlNode& table) {
  Budget budget;
  budget.name = table.key;
  for (const YamlNode& node : table.children) {
    if (node.key == "command") {
      budget.command = node.text;
    } else if (node.key == "limit" || node.key == "allow") {
      const Result<Bytes> size = size_written(file, node);
      if (!size) return tl::unexpected(size.error());
      if (node.key == "limit")
        budget.limit = *size;
      else
        budget.allowed_growth = *size;
    } else {
      return tl::unexpected(
          error_at(file, node, fmt::format("unknown key {}", node.key), "command, limit, allow"));
    }
  }
  const auto words = words_against({budget.command});
  if (!words || words->empty())
    return tl::unexpected(error_at(file, table, fmt::format("run {} has no command", budget.name),
                                   "command = \"train MODEL ...\""));
  budget.words = *words;
  const std::string& first = budget.words.front();
  if (first != "train" && first != "serve" && !first.starts_with("--"))
    return tl::unexpected(error_at(file, table, fmt::format("cannot check '{}'", first),
                                   "train, serve, or [options] -- COMMAND"));
  return budget;
}

}  // namespace

Result<std::vector<Budget>> read_budgets(const std::string& file) {
  const Result<std::string> text = sources::read_text_file(file, kLargestBudgetFile);
  if (!text) return tl::unexpected(text.error());
  const Result<YamlNode> document = read_toml(*text, file);
  if (!document) return tl::unexpected(document.error());
  const YamlNode* runs = document->find("runs");
  if (runs == nullptr || runs->children.empty())
    return memtape::bad_input("names no runs", file,
                              "[runs.NAME] with command = \"train MODEL ...\"");
  std::vector<Budget> budgets;
  for (const YamlNode& table : runs->children) {
    Result<Budget> budget = budget_of(file, table);
    if (!budget) return tl::unexpected(budget.error());
    budgets.push_back(std::move(*budget));
  }
  return budgets;
}

}  // namespace memtape::cli
