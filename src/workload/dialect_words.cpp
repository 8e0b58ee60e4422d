// SPDX-License-Identifier: Apache-2.0
#include "workload/dialect_words.h"

#include <algorithm>
#include <array>

#include "base/comma_list.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "model/config.h"
#include "workload/optim_arguments.h"

namespace memtape {
namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

const std::string* value_of(const std::vector<NamedValue>& options, std::string_view name) {
  const auto found = std::ranges::find(options, name, &NamedValue::first);
  return found == options.end() ? nullptr : &found->second;
}

/// "all-linear" and patterns stay text; names become a list.
std::string targets_json(const std::string& text) {
  if (text == "all-linear") return json_quoted(text);
  std::string list;
  for (const std::string& name : split_at_commas(text))
    list += (list.empty() ? "" : ", ") + json_quoted(name);
  return "[" + list + "]";
}

/// Moves adapters' options into the LoraConfig, which is made where there is none.
void take_adapters(std::vector<NamedValue>& options) {
  Members members;
  if (const std::string* rank = value_of(options, "lora-rank")) members.emplace_back("r", *rank);
  if (const std::string* targets = value_of(options, "lora-targets"))
    members.emplace_back("target_modules", targets_json(*targets));
  if (const std::string* dropout = value_of(options, "lora-dropout"))
    members.emplace_back("lora_dropout", *dropout);
  if (members.empty()) return;
  std::erase_if(options, [](const NamedValue& o) { return o.first.starts_with("lora-"); });
  const auto given = std::ranges::find(options, "peft", &NamedValue::first);
  if (given != options.end())
    given->second = with_members(given->second, members);
  else
    options.emplace_back("peft", with_members("{}", members));
}

struct Packing {
  std::string_view name, config;
};
constexpr auto kPackings = std::to_array<Packing>(
    {{"nf4",
      R"({"load_in_4bit": true, "bnb_4bit_quant_type": "nf4", "bnb_4bit_compute_dtype": "bfloat16"})"},
     {"nf4-dq",
      R"({"load_in_4bit": true, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": true, "bnb_4bit_compute_dtype": "bfloat16"})"},
     {"fp4",
      R"({"load_in_4bit": true, "bnb_4bit_quant_type": "fp4", "bnb_4bit_compute_dtype": "bfloat16"})"},
     {"fp4-dq",
      R"({"load_in_4bit": true, "bnb_4bit_quant_type": "fp4", "bnb_4bit_use_double_quant": true, "bnb_4bit_compute_dtype": "bfloat16"})"},
     {"int8", R"({"load_in_8bit": true})"}});

Result<void> take_packing(std::vector<NamedValue>& options) {
  const auto asked = std::ranges::find(options, "quantize", &NamedValue::first);
  if (asked == options.end()) return {};
  std::string_view name = asked->second;
  if (name.starts_with("bnb.")) name.remove_prefix(4);
  if (name == "none") {
    options.erase(asked);
    return {};
  }
  std::vector<std::string_view> known;
  for (const Packing& packing : kPackings) {
    known.push_back(packing.name);
    if (packing.name != name) continue;
    *asked = {"quantization", std::string(packing.config)};
    return {};
  }
  return unsupported("\"" + asked->second + "\" is not modelled", "--quantize",
                     suggestion(name, known));
}

/// An optimizer that only Trainer has, with - for its _.
void take_optimizer(std::vector<NamedValue>& options) {
  const auto asked = std::ranges::find(options, "optimizer", &NamedValue::first);
  if (asked == options.end()) return;
  std::string name = asked->second;
  std::ranges::replace(name, '-', '_');
  if (is_other_optim(name)) *asked = {"optim", name};
}

}  // namespace

std::string with_members(const std::string& object,
                         std::span<const std::pair<std::string, std::string>> members) {
  std::string fields;
  const auto add = [&fields](const std::string& key, const std::string& json) {
    fields += (fields.empty() ? "" : ", ") + json_quoted(key) + ": " + json;
  };
  if (const Result<Config> given = Config::parse(object, "--peft")) {
    JsonReader json(object);
    if (json.enter_object())
      while (const auto key = json.key()) {
        if (std::ranges::find(members, *key, [](const auto& m) { return m.first; }) ==
            members.end())
          add(*key, given->json(*key));
        json.skip();
      }
  } else {
    return object;  // what reads it says what is wrong
  }
  for (const auto& [key, json] : members) add(key, json);
  return "{" + fields + "}";
}

Result<std::vector<NamedValue>> in_dialect_words(std::vector<NamedValue> options) {
  const std::string* framework = value_of(options, "framework");
  if (!framework || *framework != "transformers") return options;
  take_adapters(options);
  if (const auto taken = take_packing(options); !taken) return tl::unexpected(taken.error());
  take_optimizer(options);
  return options;
}

}  // namespace memtape
