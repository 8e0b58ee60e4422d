// SPDX-License-Identifier: Apache-2.0
// A request as JSON (docs/library.md):
//
//   {"command": "train", "model": "Qwen/Qwen3-8B", "options": {"gpu": "rtx-4090", "lora-rank": 16}}
//   {"argv": ["serve", "Qwen/Qwen3-8B", "--gpu", "l4"]}
//
// Options have the names of the command line, with _ as well as -; true is a switch, false and null
// are none, a list is the option repeated where it adds up and else its values with commas, an
// object is JSON. Beside them: "config" (the model's config.json), "files" ({name: text}),
// "environment" ({name: value}), "installed" ({"place": folder of a Python environment, "packages":
// {name: version}}) and "as": json, text, html, csv, explain, snapshot, timeline (what a page draws
// of a step, as JSON), or argv: the words of the command line that ask the same.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "option/words.h"

namespace memtape::answer {

enum class Form { json, text, html, csv, explain, snapshot, timeline, argv };

struct Request {
  std::vector<std::string> argv;  ///< the command line without the program's name
  /// These replace argv: the command, such as "plan train", and its operand.
  std::string command, model;
  std::vector<option::GivenValue> options;
  std::string config;  ///< JSON text, or ""
  NamedValues files, environment, installed;
  std::string place;  ///< the folder in which these are installed
  Form form = Form::json;
};

Result<Request> read_request(std::string_view json);

}  // namespace memtape::answer
