// SPDX-License-Identifier: Apache-2.0
#include "formats/yaml.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <yaml.h>

#include "base/comma_list.h"
#include "base/json_reader.h"

namespace memtape {
namespace {

constexpr int kDeepest = 64;
constexpr std::size_t kMostNodes = 100'000;

using YamlKind = YamlNode::Kind;

std::string text_of_scalar(const yaml_char_t* bytes, std::size_t length) {
  return {reinterpret_cast<const char*>(bytes), length};
}

std::string name_of(const yaml_char_t* bytes) {
  return bytes ? std::string(reinterpret_cast<const char*>(bytes)) : std::string();
}

/// libyaml's parser over a text, one event at a time.
class Events {
 public:
  explicit Events(std::string_view text) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~Events() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  /// Goes on to the next event; false when the text is malformed.
  bool next() {
    yaml_event_delete(&event_);
    return yaml_parser_parse(&parser_, &event_) != 0;
  }
  const yaml_event_t& event() const { return event_; }
  int line() const { return static_cast<int>(event_.start_mark.line) + 1; }
  int problem_line() const { return static_cast<int>(parser_.problem_mark.line) + 1; }
  std::string problem() const { return parser_.problem ? parser_.problem : "malformed YAML"; }

 private:
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

bool is_null(std::string_view text) {
  constexpr std::array<std::string_view, 5> kNulls{"", "~", "null", "Null", "NULL"};
  return std::ranges::find(kNulls, text) != kNulls.end();
}

std::size_t count_nodes(const YamlNode& node) {
  std::size_t count = 1;
  for (const YamlNode& child : node.children) count += count_nodes(child);
  return count;
}

class YamlReader {
 public:
  YamlReader(std::string_view text, std::string_view file) : events_(text), file_(file) {}

  Result<std::vector<YamlNode>> documents() {
    std::vector<YamlNode> documents;
    while (next()) {
      const yaml_event_type_t type = events_.event().type;
      if (type == YAML_STREAM_END_EVENT) return documents;
      if (type == YAML_STREAM_START_EVENT || type == YAML_DOCUMENT_END_EVENT) continue;
      anchors_.clear();
      if (type == YAML_DOCUMENT_START_EVENT && next()) documents.push_back(node(0));
      if (failure_) break;
    }
    return tl::unexpected(*failure_);
  }

 private:
  void fail(std::string what, int line) {
    if (!failure_)
      failure_ = Error{ErrorKind::bad_input, std::move(what), place_in(file_, line), {}};
  }

  bool next() {
    if (failure_) return false;
    if (events_.next()) return true;
    fail(events_.problem(), events_.problem_line());
    return false;
  }

  bool counts(std::size_t nodes, int line) {
    nodes_ += nodes;
    if (nodes_ > kMostNodes) fail("too much for a configuration", line);
    return nodes_ <= kMostNodes;
  }

  /// The value that the present event begins.
  YamlNode node(int depth) {
    const yaml_event_t& event = events_.event();
    YamlNode read;
    read.line = events_.line();
    if (depth > kDeepest) fail("nested too deeply", read.line);
    if (failure_ || !counts(1, read.line)) return read;
    if (event.type == YAML_ALIAS_EVENT) return alias(name_of(event.data.alias.anchor), read.line);
    std::string anchor;
    if (event.type == YAML_SCALAR_EVENT) {
      anchor = name_of(event.data.scalar.anchor);
      read.text = text_of_scalar(event.data.scalar.value, event.data.scalar.length);
      read.quoted = event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
      read.kind = !read.quoted && is_null(read.text) ? YamlKind::null : YamlKind::scalar;
    } else if (event.type == YAML_SEQUENCE_START_EVENT) {
      anchor = name_of(event.data.sequence_start.anchor);
      sequence(read, depth);
    } else if (event.type == YAML_MAPPING_START_EVENT) {
      anchor = name_of(event.data.mapping_start.anchor);
      mapping(read, depth);
    }
    if (!anchor.empty()) anchors_[anchor] = read;
    return read;
  }

  YamlNode alias(const std::string& anchor, int line) {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      fail(fmt::format("unknown alias *{}", anchor), line);
      return {};
    }
    if (!counts(count_nodes(found->second), line)) return {};
    YamlNode copy = found->second;
    copy.line = line;
    return copy;
  }

  void sequence(YamlNode& into, int depth) {
    into.kind = YamlKind::sequence;
    while (next() && events_.event().type != YAML_SEQUENCE_END_EVENT)
      into.children.push_back(node(depth + 1));
  }

  void mapping(YamlNode& into, int depth) {
    into.kind = YamlKind::mapping;
    std::vector<YamlNode> merged;
    while (next() && events_.event().type != YAML_MAPPING_END_EVENT) {
      YamlNode key = node(depth + 1);
      if (key.kind == YamlKind::sequence || key.kind == YamlKind::mapping)
        fail("a key must be a word", key.line);
      if (!next()) return;
      YamlNode value = node(depth + 1);
      if (key.text == "<<" && !key.quoted) {
        add_merged(value, merged);
        continue;
      }
      value.key = std::move(key.text);
      value.line = key.line;
      into.children.push_back(std::move(value));
    }
    for (YamlNode& member : merged)
      if (!into.find(member.key)) into.children.push_back(std::move(member));
  }

  /// `<<: *base` or `<<: [*first, *second]`
  void add_merged(const YamlNode& value, std::vector<YamlNode>& merged) {
    if (value.kind == YamlKind::sequence)
      for (const YamlNode& item : value.children) add_merged(item, merged);
    else if (value.kind == YamlKind::mapping)
      merged.insert(merged.end(), value.children.begin(), value.children.end());
    else
      fail("<< merges mappings", value.line);
  }

  Events events_;
  std::string_view file_;
  std::map<std::string, YamlNode> anchors_;
  std::size_t nodes_ = 0;
  std::optional<Error> failure_;
};

/// What a plain scalar stands for, as JSON; nothing for a text.
std::optional<std::string> plain_value(const std::string& text) {
  constexpr std::array<std::string_view, 9> kTrue{"true", "True", "TRUE", "yes", "Yes",
                                                  "YES",  "on",   "On",   "ON"};
  constexpr std::array<std::string_view, 9> kFalse{"false", "False", "FALSE", "no", "No",
                                                   "NO",    "off",   "Off",   "OFF"};
  if (std::ranges::find(kTrue, text) != kTrue.end()) return "true";
  if (std::ranges::find(kFalse, text) != kFalse.end()) return "false";
  const char* end = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto [at, error] = std::from_chars(text.data(), end, whole);
      error == std::errc() && at == end)
    return fmt::format("{}", whole);
  double real = 0;
  if (const auto [at, error] = std::from_chars(text.data(), end, real);
      error == std::errc() && at == end && std::isfinite(real))
    return fmt::format("{}", real);
  return std::nullopt;
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view name) const {
  const auto last = std::find_if(children.rbegin(), children.rend(),
                                 [&](const YamlNode& child) { return child.key == name; });
  return kind == YamlKind::mapping && last != children.rend() ? &*last : nullptr;
}

YamlNode yaml_scalar(std::string text) {
  return {.kind = YamlKind::scalar, .key = {}, .text = std::move(text), .children = {}};
}

void YamlNode::set_at(std::string_view path, YamlNode value) {
  YamlNode* node = this;
  for (const std::string_view part : parts_between(path, '.')) {
    if (node->kind != YamlKind::mapping) {
      node->kind = YamlKind::mapping;
      node->text.clear();
      node->children.clear();
    }
    const auto found = std::ranges::find(node->children, part, &YamlNode::key);
    node = found != node->children.end()
               ? &*found
               : &node->children.emplace_back(
                     YamlNode{.key = std::string(part), .text = {}, .children = {}});
  }
  value.key = std::move(node->key);
  *node = std::move(value);
}

Result<std::vector<YamlNode>> read_yaml_documents(std::string_view text, std::string_view file) {
  return YamlReader(text, file).documents();
}

Result<YamlNode> read_yaml_mapping(std::string_view text, std::string_view file) {
  Result<std::vector<YamlNode>> documents = read_yaml_documents(text, file);
  if (!documents) return tl::unexpected(documents.error());
  if (documents->empty() || documents->front().kind != YamlKind::mapping)
    return bad_input("holds no settings",
                     place_in(file, documents->empty() ? 1 : documents->front().line),
                     "name: value, line by line");
  return std::move(documents->front());
}

std::string to_json(const YamlNode& node) {
  std::vector<std::string> parts;
  switch (node.kind) {
    case YamlKind::null: return "null";
    case YamlKind::scalar: {
      if (node.quoted) return json_quoted(node.text);
      const std::optional<std::string> value = plain_value(node.text);
      return value ? *value : json_quoted(node.text);
    }
    case YamlKind::sequence:
      for (const YamlNode& child : node.children) parts.push_back(to_json(child));
      return fmt::format("[{}]", fmt::join(parts, ", "));
    case YamlKind::mapping: break;
  }
  for (const YamlNode& child : node.children)
    parts.push_back(fmt::format("{}: {}", json_quoted(child.key), to_json(child)));
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

std::string place_in(std::string_view file, int line) { return fmt::format("{}:{}", file, line); }

}  // namespace memtape
