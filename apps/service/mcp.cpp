// SPDX-License-Identifier: Apache-2.0
#include "mcp.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "answer/echo.h"
#include "base/text.h"

namespace memtape::service {
namespace {

/// The newest first, which is offered where a client asks for one that is not known.
constexpr std::array<std::string_view, 4> kRevisions{"2025-11-25", "2025-06-18", "2025-03-26",
                                                     "2024-11-05"};

/// Of JSON-RPC 2.0, section 5.1.
enum Code : int {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
};

Json response(const Json& id, std::string_view key, Json value) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {key, std::move(value)}};
}

Json failure(const Json& id, Code code, std::string message) {
  return response(id, "error", {{"code", code}, {"message", std::move(message)}});
}

bool is_id(const Json& id) { return id.is_string() || id.is_number_integer(); }

std::string text_of(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Json text_content(std::string text) {
  return Json::array({{{"type", "text"}, {"text", std::move(text)}}});
}

std::string line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

Json McpSession::initialized(const Json& parameters) const {
  const std::string asked = text_of(parameters, "protocolVersion");
  const bool known = std::ranges::find(kRevisions, asked) != kRevisions.end();
  return {
      {"protocolVersion", known ? asked : std::string(kRevisions.front())},
      {"capabilities", {{"tools", Json::object()}}},
      {"serverInfo",
       {{"name", "memtape"}, {"title", "memtape: GPU memory"}, {"version", MEMTAPE_VERSION}}},
      {"instructions",
       "Predicts to the byte how much GPU memory a model needs to train or to serve, whether it "
       "fits a GPU, and what would make it fit. Nothing is run, no GPU is needed. Options have "
       "the names of the command line with _ in place of -."}};
}

Json McpSession::listed() const {
  Json tools = Json::array();
  for (const Tool& tool : tools_)
    tools.push_back({{"name", tool.name},
                     {"title", tool.title},
                     {"description", tool.description},
                     {"inputSchema", tool.input},
                     {"outputSchema", tool.output},
                     {"annotations", {{"readOnlyHint", true}, {"openWorldHint", false}}}});
  return {{"tools", std::move(tools)}};
}

Json McpSession::called(const Json& parameters, const Json& id) {
  const std::string name = text_of(parameters, "name");
  const auto tool = std::ranges::find(tools_, name, &Tool::name);
  if (tool == tools_.end()) {
    std::vector<std::string_view> names;
    for (const Tool& known : tools_) names.push_back(known.name);
    return failure(
        id, invalid_params,
        answer::echoed(fmt::format("unknown tool {}; {}", name, suggestion(name, names))));
  }
  const auto arguments = parameters.find("arguments");
  const Json none = Json::object();
  const bool given = arguments != parameters.end() && !arguments->is_null();
  if (given && !arguments->is_object())
    return failure(id, invalid_params, "arguments: is not an object");
  Result<ToolAnswer> answer = call_(*tool, given ? *arguments : none);
  if (!answer)
    return response(
        id, "result",
        {{"content", text_content(answer::echoed(answer.error()).line())}, {"isError", true}});
  Json result{{"content", text_content(std::move(answer->text))}, {"isError", false}};
  if (answer->structured.is_object()) result["structuredContent"] = std::move(answer->structured);
  return response(id, "result", std::move(result));
}

Json McpSession::result_of(const std::string& method, const Json& parameters, const Json& id) {
  if (method == "initialize") return response(id, "result", initialized(parameters));
  if (method == "ping") return response(id, "result", Json::object());
  if (method == "tools/list") return response(id, "result", listed());
  if (method == "tools/call") return called(parameters, id);
  return failure(id, method_not_found, answer::echoed("unknown method " + method));
}

std::optional<Json> McpSession::respond(const Json& message) {
  if (!message.is_object() || text_of(message, "jsonrpc") != "2.0")
    return failure(nullptr, invalid_request, "is not a JSON-RPC 2.0 message");
  const auto id = message.find("id");
  const std::string method = text_of(message, "method");
  const bool responds = message.contains("result") || message.contains("error");
  if (method.empty() && responds) return std::nullopt;
  if (id == message.end()) return std::nullopt;  // a notification
  if (!is_id(*id) || method.empty())
    return failure(is_id(*id) ? *id : Json(nullptr), invalid_request,
                   "names no method, or an id that is none");
  const auto given = message.find("params");
  const Json none = Json::object();
  if (given != message.end() && !given->is_object())
    return failure(*id, invalid_params, "params: is not an object");
  return result_of(method, given == message.end() ? none : *given, *id);
}

std::string McpSession::too_long(std::size_t most) {
  return line(
      failure(nullptr, invalid_request, fmt::format("a message of more than {} bytes", most)));
}

std::optional<std::string> McpSession::answer(std::string_view message) {
  const Json read = Json::parse(message, nullptr, false);
  if (read.is_discarded()) return line(failure(nullptr, parse_error, "is not JSON"));
  if (!read.is_array()) {
    const std::optional<Json> one = respond(read);
    return one ? std::optional(line(*one)) : std::nullopt;
  }
  if (read.empty()) return line(failure(nullptr, invalid_request, "an empty batch"));
  Json many = Json::array();  // a batch, which revision 2025-03-26 has
  for (const Json& each : read)
    if (std::optional<Json> one = respond(each)) many.push_back(std::move(*one));
  return many.empty() ? std::nullopt : std::optional(line(many));
}

}  // namespace memtape::service
