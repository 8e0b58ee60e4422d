// SPDX-License-Identifier: Apache-2.0
#include "workload/liger_config.h"

#include <array>

#include "base/json_reader.h"
#include "base/text.h"
#include "workload/typed_values.h"

namespace memtape {
namespace {

constexpr auto kLigerFields =
    std::to_array<std::string_view>({"rope", "rms_norm", "swiglu", "geglu", "cross_entropy",
                                     "fused_linear_cross_entropy", "layer_norm"});

void read_field(const std::string& field, JsonReader& json, LigerRecipe& liger) {
  if (field == "rope")
    liger.rope = json.boolean();
  else if (field == "rms_norm")
    liger.rms_norm = json.boolean();
  else if (field == "swiglu" || field == "geglu")
    liger.gated = json.boolean();
  else if (field == "cross_entropy")
    liger.cross_entropy = json.boolean();
  else if (field == "fused_linear_cross_entropy")
    liger.fused_linear_cross_entropy = json.boolean();
  else if (field == "layer_norm")
    json.skip();  // of vision towers
  else
    json.fail("Liger has no " + field + " (" + suggestion(field, kLigerFields) + ")");
}

}  // namespace

Result<void> set_use_liger_kernel(const NamedValue& option, TrainRecipe& recipe) {
  return put(boolean(option), recipe.trainer.use_liger_kernel);
}

Result<void> set_liger_kernel_config(const NamedValue& option, TrainRecipe& recipe) {
  LigerRecipe liger;
  JsonReader json(option.second);
  if (json.enter_object())
    while (const auto field = json.key()) read_field(*field, json, liger);
  json.finish();
  if (json.failed())
    return bad_input(json.problem(), "--" + option.first, R"({"rope": true, "swiglu": true})");
  recipe.trainer.liger_kernel_config = liger;
  return {};
}

}  // namespace memtape
