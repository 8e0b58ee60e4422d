// SPDX-License-Identifier: Apache-2.0
#include "answer/options_json.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "answer/plan_options.h"
#include "answer/serve_words.h"
#include "answer/train_options.h"
#include "predict/serve.h"
#include "release/package.h"
#include "report/json_writer.h"
#include "workload/training_arguments.h"

namespace memtape::answer {
namespace {

using report::JsonWriter;

void write(JsonWriter& out, std::string_view key, std::span<const NamedOption> options) {
  out.key(key);
  out.begin_array();
  for (const NamedOption& option : options) {
    out.begin_object();
    out.member("name", option.name);
    out.member("value", option.value);
    out.member("help", option.help);
    out.member("group", option.group);
    out.member("repeatable", option.repeatable);
    out.end_object();
  }
  out.end_array();
}

/// `flags`: "--ctx-size -c --max-model-len" each as it may be spelled, the name first.
void write(JsonWriter& out, std::string_view key, std::span<const ServeFlag> flags) {
  out.key(key);
  out.begin_array();
  for (const ServeFlag& flag : flags) {
    out.begin_object();
    out.member("name", flag.name());
    out.member("spellings", flag.spellings);
    out.member("value", flag.value);
    out.member("help", flag.help);
    out.end_object();
  }
  out.end_array();
}

void write_serve(JsonWriter& out) {
  const auto shared = serve_flags("");
  out.begin_object();
  write(out, "options", shared[0]);
  write(out, "answer", shared[1]);
  out.key("engines");
  out.begin_array();
  for (const ServeEngine& engine : serve_engines()) {
    out.begin_object();
    out.member("name", engine.name);
    out.member("summary", engine.summary);
    write(out, "options", engine.flags);
    out.end_object();
  }
  out.end_array();
  out.end_object();
}

/// `plan train` takes its own options and most of those of `train`.
void write_plan(JsonWriter& out) {
  std::vector<NamedOption> train(plan_options().begin(), plan_options().end());
  std::ranges::copy_if(train_options(), std::back_inserter(train), is_shared_with_plan);
  out.begin_object();
  write(out, "train", std::span<const NamedOption>(train));
  write(out, "serve", plan_serve_options());
  out.end_object();
}

}  // namespace

std::string options_json() {
  JsonWriter out(JsonWriter::Layout::pretty);
  out.begin_object();
  out.member("schema", "memtape/1");
  out.member("command", "options");
  out.key("train");
  out.begin_object();
  write(out, "options", train_options());
  write(out, "answer", answer_options());
  out.key("training_arguments");
  out.begin_array();
  for (const std::string_view name : training_argument_names()) out.value(name);
  out.end_array();
  out.end_object();
  out.key("serve");
  write_serve(out);
  out.key("plan");
  write_plan(out);
  out.key("packages");
  out.begin_array();
  for (const PackageFacts& facts : packages()) out.value(facts.name);
  out.end_array();
  out.end_object();
  return std::move(out).take() + "\n";
}

}  // namespace memtape::answer
