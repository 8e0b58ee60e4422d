// SPDX-License-Identifier: Apache-2.0
// memtape for C++: a request as typed values, its answer as JSON and as figures. Header only, over
// the C interface (memtape.h), so that it works with any compiler's standard library.
//
//   const memtape::Answer answer = memtape::Request("train", "Qwen/Qwen3-8B")
//                                      .set("gpu", "rtx-4090")
//                                      .set("lora-rank", 16)
//                                      .set("lora-targets", "all-linear")
//                                      .answer();
//   if (!answer) std::cerr << answer.error() << '\n';
//   else std::cout << answer.integer("ranks.0.peak_device_bytes").value() << '\n';
//
// Nothing throws but the standard library's own. What a request may say: docs/library.md.
#ifndef MEMTAPE_HPP
#define MEMTAPE_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtape.h"

namespace memtape {

/// An answer: its JSON, and the values that are asked for most often.
class Answer {
 public:
  Answer(std::string json, int exit_code) : json_(std::move(json)), exit_code_(exit_code) {}

  /// Whether there is an answer. If not, `error` says why.
  explicit operator bool() const { return exit_code_ < MEMTAPE_BAD_INPUT; }

  /// The whole answer, byte for byte what the command line prints with --json.
  const std::string& json() const { return json_; }
  int exit_code() const { return exit_code_; }
  bool fits() const { return exit_code_ == MEMTAPE_FITS; }

  /// A number of the answer, by its path: "ranks.0.peak_device_bytes".
  std::optional<std::int64_t> integer(const std::string& path) const {
    std::int64_t value = 0;
    if (!memtape_integer(json_.c_str(), path.c_str(), &value)) return std::nullopt;
    return value;
  }

  std::optional<std::string> text(const std::string& path) const {
    char* found = memtape_text(json_.c_str(), path.c_str());
    if (!found) return std::nullopt;
    std::string copy(found);
    memtape_free(found);
    return copy;
  }

  /// "where: what (hint)" on one line; it is "" if there is an answer.
  std::string error() const {
    if (*this) return {};
    const std::string where = text("error.where").value_or("");
    const std::string hint = text("error.hint").value_or("");
    return (where.empty() ? "" : where + ": ") + text("error.what").value_or("no answer") +
           (hint.empty() ? "" : " (" + hint + ")");
  }

 private:
  std::string json_;
  int exit_code_;
};

/// Answers a request that is JSON text already.
inline Answer answer(const std::string& request, const std::vector<memtape_file>& files = {}) {
  int exit_code = MEMTAPE_INTERNAL_ERROR;
  char* text = memtape_answer_with(request.c_str(), files.data(), files.size(), &exit_code);
  std::string json = text ? text : "";
  memtape_free(text);
  return {std::move(json), exit_code};
}

/// A command, its model and its options, under the names of the command line.
class Request {
 public:
  explicit Request(std::string_view command, std::string_view model = {}) {
    member("command", quoted(command));
    if (!model.empty()) member("model", quoted(model));
  }

  Request& set(std::string_view option, std::string_view value) {
    return option_json(option, quoted(value));
  }
  Request& set(std::string_view option, const char* value) {
    return set(option, std::string_view(value));
  }
  Request& set(std::string_view option, bool value) {
    return option_json(option, value ? "true" : "false");
  }
  Request& set(std::string_view option, std::int64_t value) {
    return option_json(option, std::to_string(value));
  }
  Request& set(std::string_view option, int value) { return set(option, std::int64_t{value}); }

  /// Sets the model's config.json, which replaces a model that is known by name.
  Request& config(std::string_view json) {
    member("config", std::string(json));
    return *this;
  }

  std::string json() const { return "{" + members_ + ", \"options\": {" + options_ + "}}"; }
  Answer answer(const std::vector<memtape_file>& files = {}) const {
    return memtape::answer(json(), files);
  }

 private:
  static std::string quoted(std::string_view text) {
    static constexpr char kHex[] = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        out += {'\\', c};
      } else if (byte < 0x20) {
        out += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
      } else {
        out += c;
      }
    }
    return out + "\"";
  }

  void member(std::string_view name, const std::string& json) {
    members_ += (members_.empty() ? "" : ", ") + quoted(name) + ": " + json;
  }

  Request& option_json(std::string_view option, const std::string& json) {
    options_ += (options_.empty() ? "" : ", ") + quoted(option) + ": " + json;
    return *this;
  }

  std::string members_, options_;
};

}  // namespace memtape

#endif
