// SPDX-License-Identifier: Apache-2.0
// The Model Context Protocol (modelcontextprotocol.io, revisions 2024-11-05 to 2025-11-25):
// JSON-RPC 2.0 with one message on each line. A session knows its tools. Whoever carries the lines
// and computes the answer of a tool is outside of it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace memtape::service {

using Json = nlohmann::ordered_json;

struct Tool {
  std::string name, title, description;
  Json input;   ///< the JSON Schema of its arguments
  Json output;  ///< that of its structured answer
};

/// The answer as text for people and as JSON for programs. `structured` is an object or null.
struct ToolAnswer {
  std::string text;
  Json structured;
};

class McpSession {
 public:
  using Call = std::function<Result<ToolAnswer>(const Tool&, const Json& arguments)>;

  McpSession(std::vector<Tool> tools, Call call)
      : tools_(std::move(tools)), call_(std::move(call)) {}

  /// The line that answers `message`, or nothing if that is a notification or a response.
  std::optional<std::string> answer(std::string_view message);
  /// The line for a message of more than `most` bytes, which is not read.
  static std::string too_long(std::size_t most);

 private:
  std::optional<Json> respond(const Json& message);
  Json result_of(const std::string& method, const Json& parameters, const Json& id);
  Json initialized(const Json& parameters) const;
  Json listed() const;
  Json called(const Json& parameters, const Json& id);

  std::vector<Tool> tools_;
  Call call_;
};

}  // namespace memtape::service
