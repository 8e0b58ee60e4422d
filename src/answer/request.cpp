// SPDX-License-Identifier: Apache-2.0
#include "answer/request.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "answer/option_words.h"
#include "base/json_reader.h"
#include "base/text.h"

namespace memtape::answer {
namespace {

constexpr std::string_view kWhere = "request";
constexpr std::array<std::string_view, 8> kForms{"json",    "text",     "html",     "csv",
                                                 "explain", "snapshot", "timeline", "argv"};
constexpr std::array<std::string_view, 9> kKeys{
    "command", "model", "options", "argv", "config", "files", "environment", "installed", "as"};

/// What a request says, before its options are words.
struct Said {
  std::string command, model;
  std::vector<OptionValue> options;
  std::vector<std::string> argv;
  bool has_argv = false;
};

/// "plan train" is two words.
std::vector<std::string> words_of(const std::string& command) {
  const std::size_t space = command.find(' ');
  if (space == std::string::npos) return {command};
  return {command.substr(0, space), command.substr(space + 1)};
}

class RequestReader {
 public:
  explicit RequestReader(std::string_view json) : json_(json) {}

  Result<Request> read() && {
    if (!json_.enter_object()) return bad_input("is not a JSON object", std::string(kWhere));
    while (const auto key = json_.key()) member(*key);
    json_.finish();
    if (json_.failed()) return bad_input(json_.problem(), std::string(kWhere));
    if (!problem_.what.empty()) return tl::unexpected(problem_);
    Result<std::vector<std::string>> words = command_words();
    if (!words) return tl::unexpected(words.error());
    // Words end at a zero on the command line, and so they are read here.
    for (const std::string& word : *words)
      if (word.find('\0') != word.npos)
        return bad_input("holds a zero byte", std::string(kWhere), "text without zeros");
    request_.words = std::move(*words);
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
      said_.command = json_.text();
    else if (key == "model")
      said_.model = json_.text();
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
    said_.has_argv = true;
    if (json_.enter_array())
      while (json_.item()) said_.argv.push_back(json_.text());
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

  void named(Request::Named& into) {
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
    while (const auto name = json_.key()) said_.options.push_back({*name, value()});
  }

  /// One value: nothing for null and false, "" for true.
  OptionValue::Values value() {
    switch (json_.next()) {
      case JsonKind::null: json_.null(); return {.is_absent = true};
      case JsonKind::boolean: return {.truth = json_.boolean()};
      case JsonKind::text: return {.texts = {json_.text()}};
      case JsonKind::array: return list();
      default: return {.texts = {std::string(json_.raw())}};
    }
  }

  OptionValue::Values list() {
    OptionValue::Values values{.is_list = true};
    if (json_.enter_array())
      while (json_.item())
        values.texts.push_back(json_.next() == JsonKind::text ? json_.text()
                                                              : std::string(json_.raw()));
    return values;
  }

  Result<std::vector<std::string>> command_words() {
    if (said_.has_argv) {
      if (!said_.command.empty() || !said_.model.empty() || !said_.options.empty())
        return bad_input("says all of it by itself", "request.argv",
                         "leave out command, model and options");
      return std::move(said_.argv);
    }
    if (said_.command.empty())
      return bad_input("names no command", std::string(kWhere),
                       R"({"command": "train", "model": "Qwen/Qwen3-8B"})");
    std::vector<std::string> words = words_of(said_.command);
    if (said_.model.empty() && !request_.config.empty()) said_.model = "config.json";
    if (!said_.model.empty()) words.push_back(said_.model);
    append_option_words(said_.command, said_.options, words);
    return words;
  }

  JsonReader json_;
  Request request_;
  Said said_;
  Error problem_;
};

}  // namespace

Result<Request> read_request(std::string_view json) { return RequestReader(json).read(); }

}  // namespace memtape::answer
