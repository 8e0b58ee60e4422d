// SPDX-License-Identifier: Apache-2.0
#include "answer/request.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json_reader.h"
#include "base/text.h"

namespace memtape::answer {
namespace {

constexpr std::string_view kWhere = "request";
constexpr std::array<std::string_view, 8> kForms{"json",    "text",     "html",     "csv",
                                                 "explain", "snapshot", "timeline", "argv"};
constexpr std::array<std::string_view, 9> kKeys{
    "command", "model", "options", "argv", "config", "files", "environment", "installed", "as"};

class RequestReader {
 public:
  explicit RequestReader(std::string_view json) : json_(json) {}

  Result<Request> read() && {
    if (!json_.enter_object()) return bad_input("is not a JSON object", std::string(kWhere));
    while (const auto key = json_.key()) member(*key);
    json_.finish();
    if (json_.failed()) return bad_input(json_.problem(), std::string(kWhere));
    if (!problem_.what.empty()) return tl::unexpected(problem_);
    if (const Result<void> fine = check_command(); !fine) return tl::unexpected(fine.error());
    if (request_.model.empty() && !request_.config.empty()) request_.model = "config.json";
    return std::move(request_);
  }

 private:
  void fail(std::string what, std::string_view where, std::string hint) {
    if (problem_.what.empty())
      problem_ = {ErrorKind::bad_input, std::move(what), fmt::format("{}.{}", kWhere, where),
                  std::move(hint)};
  }

  void member(const std::string& key) {
    if (key == "command")
      request_.command = json_.text();
    else if (key == "model")
      request_.model = json_.text();
    else if (key == "argv")
      argv();
    else if (key == "options")
      options();
    else if (key == "config")
      config();
    else if (key == "files")
      named(request_.files);
    else if (key == "environment")
      named(request_.environment);
    else if (key == "installed")
      installed();
    else if (key == "as")
      form();
    else {
      json_.skip();
      problem_.what.empty() ? fail("unknown key", key, suggestion(key, kKeys)) : void();
    }
  }

  void argv() {
    has_argv_ = true;
    if (json_.enter_array())
      while (json_.item()) request_.argv.push_back(json_.text());
  }

  void form() {
    const std::string name = json_.text();
    const auto found = std::ranges::find(kForms, name);
    if (found == kForms.end())
      return fail(fmt::format("unusable value \"{}\"", name), "as",
                  fmt::format("{}", fmt::join(kForms, ", ")));
    request_.form = static_cast<Form>(found - kForms.begin());
  }

  void config() {
    if (json_.next() == JsonKind::text)
      request_.config = json_.text();
    else if (json_.next() == JsonKind::null)
      json_.null();
    else
      request_.config = json_.raw();
  }

  void named(NamedValues& into) {
    if (!json_.enter_object()) return;
    while (const auto name = json_.key()) {
      const bool is_text = json_.next() == JsonKind::text;
      into.emplace_back(*name, is_text ? json_.text() : std::string(json_.raw()));
    }
  }

  void installed() {
    if (!json_.enter_object()) return;
    while (const auto name = json_.key()) {
      if (*name == "place") {
        request_.place = json_.text();
      } else if (*name == "packages") {
        named(request_.installed);
      } else {
        json_.skip();
        fail("unknown key", "installed." + *name, "place and packages");
      }
    }
  }

  void options() {
    if (!json_.enter_object()) return;
    while (const auto name = json_.key()) request_.options.push_back(value(*name));
  }

  option::GivenValue value(const std::string& name) {
    switch (json_.next()) {
      case JsonKind::null: json_.null(); return {.name = name, .is_absent = true};
      case JsonKind::boolean: return {.name = name, .truth = json_.boolean()};
      case JsonKind::array: {
        option::GivenValue values{.name = name, .is_list = true};
        if (json_.enter_array())
          while (json_.item()) values.texts.push_back(text());
        return values;
      }
      default: return {.name = name, .texts = {text()}};
    }
  }

  /// A number or an object as it stands.
  std::string text() {
    return json_.next() == JsonKind::text ? json_.text() : std::string(json_.raw());
  }

  Result<void> check_command() const {
    if (!has_argv_ && request_.command.empty())
      return bad_input("names no command", std::string(kWhere),
                       R"({"command": "train", "model": "Qwen/Qwen3-8B"})");
    if (has_argv_ && request_.argv.empty())
      return bad_input("names no command", "request.argv", "train");
    if (has_argv_ &&
        (!request_.command.empty() || !request_.model.empty() || !request_.options.empty()))
      return bad_input("says all of it by itself", "request.argv",
                       "leave out command, model and options");
    // Words end at a zero on the command line, and so they are read here.
    std::vector<std::string_view> all(request_.argv.begin(), request_.argv.end());
    all.insert(all.end(), {request_.command, request_.model});
    for (const option::GivenValue& option : request_.options) {
      all.push_back(option.name);
      all.insert(all.end(), option.texts.begin(), option.texts.end());
    }
    for (const std::string_view word : all)
      if (word.find('\0') != word.npos)
        return bad_input("holds a zero byte", std::string(kWhere), "text without zeros");
    return {};
  }

  JsonReader json_;
  Request request_;
  bool has_argv_ = false;
  Error problem_;
};

}  // namespace

Result<Request> read_request(std::string_view json) { return RequestReader(json).read(); }

}  // namespace memtape::answer
