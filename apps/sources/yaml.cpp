// SPDX-License-Identifier: Apache-2.0
#include "sources/yaml.h"

#include <yaml.h>

#include <algorithm>

#include <fmt/format.h>

namespace memtape::sources {
namespace {

constexpr int kDeepestMerge = 16;
constexpr std::size_t kMostDocuments = 1000;

std::string scalar(const yaml_node_t* node) {
  return {reinterpret_cast<const char*>(node->data.scalar.value), node->data.scalar.length};
}

bool is_scalar(const yaml_node_t* node) { return node && node->type == YAML_SCALAR_NODE; }

class Parser {
 public:
  explicit Parser(const std::string& text) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  ~Parser() { yaml_parser_delete(&parser_); }

  bool load(yaml_document_t& into) { return yaml_parser_load(&parser_, &into) != 0; }
  Error problem(const std::string& where) const {
    const std::size_t line =
        (parser_.problem_mark.line > 0 ? parser_.problem_mark.line : parser_.context_mark.line) + 1;
    return {ErrorKind::bad_input,
            fmt::format("is no YAML: {}", parser_.problem ? parser_.problem : "unreadable"),
            fmt::format("{}: line {}", where, line),
            {}};
  }

 private:
  yaml_parser_t parser_;
};

}  // namespace

bool YamlNode::is_map() const { return node_ && node_->type == YAML_MAPPING_NODE; }
bool YamlNode::is_list() const { return node_ && node_->type == YAML_SEQUENCE_NODE; }

std::optional<std::string> YamlNode::text() const {
  if (!is_scalar(node_)) return std::nullopt;
  std::string value = scalar(node_);
  const bool is_plain = node_->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  if (is_plain && (value.empty() || value == "~" || value == "null")) return std::nullopt;
  return value;
}

std::size_t YamlNode::line() const { return node_ ? node_->start_mark.line + 1 : 0; }

YamlNode YamlNode::get(std::string_view key) const { return merged(0, key); }

YamlNode YamlNode::merged(int depth, std::string_view key) const {
  if (!is_map() || depth > kDeepestMerge) return {};
  YamlNode base;
  for (const auto& [name, value] : members()) {
    if (name == key) return value;
    if (name == "<<") base = value;
  }
  if (base.is_map()) return base.merged(depth + 1, key);
  for (const YamlNode& one : base.items())
    if (const YamlNode found = one.merged(depth + 1, key)) return found;
  return {};
}

std::vector<YamlNode> YamlNode::items() const {
  std::vector<YamlNode> nodes;
  if (!is_list()) return nodes;
  for (const int* item = node_->data.sequence.items.start; item < node_->data.sequence.items.top;
       ++item)
    nodes.emplace_back(document_, yaml_document_get_node(document_, *item));
  return nodes;
}

std::vector<std::pair<std::string, YamlNode>> YamlNode::members() const {
  std::vector<std::pair<std::string, YamlNode>> found;
  if (!is_map()) return found;
  for (const yaml_node_pair_t* pair = node_->data.mapping.pairs.start;
       pair < node_->data.mapping.pairs.top; ++pair) {
    const yaml_node_t* key = yaml_document_get_node(document_, pair->key);
    if (is_scalar(key))
      found.emplace_back(scalar(key),
                         YamlNode(document_, yaml_document_get_node(document_, pair->value)));
  }
  return found;
}

std::vector<std::pair<std::string, YamlNode>> YamlNode::all_members() const {
  std::vector<std::pair<std::string, YamlNode>> found;
  add_members(found, 0);
  return found;
}

void YamlNode::add_members(std::vector<std::pair<std::string, YamlNode>>& into, int depth) const {
  if (depth > kDeepestMerge) return;
  YamlNode base;
  for (auto& [name, value] : members()) {
    if (name == "<<")
      base = value;
    else if (std::ranges::none_of(into, [&](const auto& member) { return member.first == name; }))
      into.emplace_back(std::move(name), value);
  }
  base.add_members(into, depth + 1);
  for (const YamlNode& one : base.items()) one.add_members(into, depth + 1);
}

void YamlFile::Free::operator()(yaml_document_s* document) const {
  yaml_document_delete(document);
  delete document;
}

Result<YamlFile> YamlFile::parse(const std::string& text, const std::string& where) {
  YamlFile file;
  Parser parser(text);
  while (file.documents_.size() < kMostDocuments) {
    auto document = std::make_unique<yaml_document_t>();
    if (!parser.load(*document)) return tl::unexpected(parser.problem(where));
    file.documents_.emplace_back(document.release());
    yaml_document_t* loaded = file.documents_.back().get();
    yaml_node_t* root = yaml_document_get_root_node(loaded);
    if (!root) break;
    file.roots_.emplace_back(loaded, root);
  }
  return file;
}

}  // namespace memtape::sources
