// SPDX-License-Identifier: Apache-2.0
#include "api.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "answer/answer.h"
#include "answer/request.h"
#include "base/text.h"
#include "handed_or_hub.h"
#include "option_schema.h"

namespace memtape::service {
namespace {

/// A question that is posted: its path, and the command that it is.
struct Question {
  std::string_view path, command, summary;
};

constexpr std::array kQuestions{
    Question{"/v1/train", "train", "One training step, per GPU"},
    Question{"/v1/serve", "serve", "An inference server, per GPU"},
    Question{"/v1/plan/train", "plan train", "The layouts that fit, ranked by time or cost"},
    Question{"/v1/plan/serve", "plan serve", "The servers that hold so many users, by cost"},
    Question{"/v1/answer", "", "Any of them: command, model, options; or argv"},
};

/// What can be looked up by name, or as a whole.
struct Listing {
  std::string_view path, command, summary;
};

constexpr std::array kListings{
    Listing{"/v1/models", "models", "The models that are known by name"},
    Listing{"/v1/gpus", "gpus", "The GPUs that are known by name"},
};

answer::Answered answered(const Result<answer::Request>& request, const answer::Outside& hub) {
  if (!request) return answer::answer_of(request.error());
  const answer::Handed handed = answer::handed_with(*request);
  const HandedOrHub outside(handed, hub);
  const Result<answer::Answered> found = answer::answer_request(*request, outside);
  return found ? *found : answer::answer_of(found.error(), handed.wanted());
}

/// The body with the path's command.
Result<std::string> with_command(const std::string& body, std::string_view command) {
  Json request = Json::parse(body.empty() ? "{}" : body, nullptr, false);
  if (!request.is_object()) return bad_input("is not a JSON object", "request");
  if (command.empty()) return body;
  for (const char* given : {"command", "argv"})
    if (request.contains(given))
      return bad_input("is said by the path", fmt::format("request.{}", given),
                       "POST /v1/answer takes it");
  request["command"] = command;
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

AnswerProcess::Work work_of(std::string body, std::string_view command,
                            const answer::Outside& hub) {
  return [body = std::move(body), command, &hub] {
    const Result<std::string> request = with_command(body, command);
    if (!request) return answer::answer_of(request.error());
    return answered(answer::read_request(*request), hub);
  };
}

AnswerProcess::Work lookup(std::string_view command, std::string_view name,
                           const answer::Outside& hub) {
  answer::Request request;
  request.argv.emplace_back(command);
  if (!name.empty()) request.argv.emplace_back(name);
  return [request = std::move(request), &hub] { return answered(request, hub); };
}

HttpResponse not_found(const std::string& path) {
  std::vector<std::string_view> paths{"/openapi.json", "/healthz", "/v1/options"};
  for (const Question& question : kQuestions) paths.push_back(question.path);
  for (const Listing& listing : kListings) paths.push_back(listing.path);
  return response_of({ErrorKind::bad_input, "is not there", path, suggestion(path, paths)}, 404);
}

HttpResponse wrong_method(const HttpRequest& request, std::string_view right) {
  return response_of({ErrorKind::bad_input, fmt::format("takes no {}", request.method),
                      request.path, fmt::format("{} {}", right, request.path)},
                     405);
}

using Handled = std::variant<HttpResponse, AnswerProcess::Work>;

Handled handle_get(const HttpRequest& request, const answer::Outside& hub) {
  const std::string_view path = request.path;
  if (path == "/healthz") return HttpResponse{.body = "{\"status\": \"ok\"}\n"};
  if (path == "/openapi.json" || path == "/") return HttpResponse{.body = openapi_document()};
  if (path == "/v1/options") return lookup("options", "", hub);
  for (const Listing& listing : kListings) {
    if (path == listing.path) return lookup(listing.command, "", hub);
    if (path.starts_with(listing.path) && path[listing.path.size()] == '/')
      return lookup(listing.command, path.substr(listing.path.size() + 1), hub);
  }
  return not_found(request.path);
}

Json operation(std::string_view summary, Json responses) {
  return {{"summary", summary}, {"responses", std::move(responses)}};
}

Json answers() {
  const Json json{{"application/json", {{"schema", {{"type", "object"}}}}}};
  const auto said = [&](const char* what) {
    return Json{{"description", what}, {"content", json}};
  };
  return {{"200", said("the answer: it fits, or it does not (exit code in Memtape-Exit-Code)")},
          {"400", said("bad input: {error: {what, where, hint}}, and what files are wanted")},
          {"413", {{"description", "the request is too large"}}},
          {"503", said("too many requests are waiting")},
          {"504", said("it takes longer than a request may")}};
}

Json body_of(const Question& question) {
  Json options{{"type", "object"}, {"additionalProperties", true}};
  if (!question.command.empty()) options["properties"] = option_properties(question.command);
  Json properties{
      {"model", {{"type", "string"}, {"description", "catalog name or hub id"}}},
      {"options", std::move(options)},
      {"config", {{"type", {"object", "string"}}, {"description", "its config.json"}}},
      {"files", {{"type", "object"}, {"description", "texts by name"}}},
      {"environment", {{"type", "object"}, {"description", "variables that count"}}},
      {"as", {{"type", "string"}, {"enum", {"json", "text", "html", "csv", "explain"}}}}};
  if (question.command.empty()) {
    properties["command"] = {{"type", "string"}};
    properties["argv"] = {{"type", "array"}, {"items", {{"type", "string"}}}};
  }
  return {{"required", true},
          {"content",
           {{"application/json",
             {{"schema", {{"type", "object"}, {"properties", std::move(properties)}}}}}}}};
}

}  // namespace

std::string openapi_document() {
  Json paths;
  for (const Question& question : kQuestions) {
    Json post = operation(question.summary, answers());
    post["requestBody"] = body_of(question);
    paths[std::string(question.path)]["post"] = std::move(post);
  }
  const Json name{
      {"name", "name"}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}};
  for (const Listing& listing : kListings) {
    paths[std::string(listing.path)]["get"] = operation(listing.summary, answers());
    Json one = operation(listing.summary, answers());
    one["parameters"] = Json::array({name});
    paths[fmt::format("{}/{{name}}", listing.path)]["get"] = std::move(one);
  }
  paths["/v1/options"]["get"] = operation("Every option, as data", answers());
  paths["/healthz"]["get"] = operation("Whether the server is there", answers());
  const Json document{
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "memtape"},
        {"version", MEMTAPE_VERSION},
        {"description", "How much GPU memory a model needs, predicted to the byte."},
        {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}},
      {"paths", std::move(paths)}};
  return document.dump(2) + "\n";
}

HttpServer::Handler api(const answer::Outside& hub) {
  return [&hub](const HttpRequest& request) -> Handled {
    const auto question = std::ranges::find(kQuestions, request.path, &Question::path);
    if (question != kQuestions.end()) {
      if (request.method != "POST") return wrong_method(request, "POST");
      return work_of(request.body, question->command, hub);
    }
    if (request.method == "POST") return wrong_method(request, "GET");
    return handle_get(request, hub);
  };
}

}  // namespace memtape::service
