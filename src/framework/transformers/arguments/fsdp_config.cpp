// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/arguments/fsdp_config.h"

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "base/comma_list.h"
#include "base/letter_case.h"
#include "base/text.h"
#include "model/config.h"
#include "release/trainer_changes.h"

namespace memtape::transformers {
namespace {

constexpr const char* kConfig = "--fsdp_config";

constexpr auto kStrategies = std::to_array<std::string_view>(
    {"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2"});
constexpr auto kPrefetches =
    std::to_array<std::string_view>({"BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH"});
constexpr auto kPolicies =
    std::to_array<std::string_view>({"TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP"});
/// Without their prefix "fsdp_", which may be there. xla* are for TPUs.
constexpr std::string_view kKeys =
    "version reshard_after_forward sharding_strategy backward_prefetch forward_prefetch "
    "use_orig_params sync_module_states cpu_ram_efficient_loading cpu_offload offload_params "
    "activation_checkpointing auto_wrap_policy min_num_params transformer_layer_cls_to_wrap "
    "limit_all_gathers state_dict_type xla xla_fsdp_v2 xla_fsdp_settings xla_fsdp_grad_ckpt";

/// fsdp_config, whose keys may begin with "fsdp_" and whose switches may be texts.
class FsdpConfig {
 public:
  explicit FsdpConfig(Config json) : json_(std::move(json)) {}

  Result<void> check_keys() const {
    std::vector<std::string_view> known;
    option::each_word(kKeys, [&known](std::string_view word) { known.push_back(word); });
    for (const std::string& key : json_.keys()) {
      const std::string bare = key.starts_with("fsdp_") ? key.substr(5) : key;
      if (std::ranges::find(known, bare) == known.end())
        return bad_input("no such key: \"" + key + "\"", kConfig, suggestion(bare, known));
    }
    return {};
  }

  bool has(const char* key) const { return !json_.is_null(present(key)); }

  bool on(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    const std::string text = word(key);
    const Result<bool> is_on = option::read_on_off(key, text);
    if (!is_on || text.empty()) json_.fail(key, "must be true or false, found " + text);
    return is_on.value_or(otherwise);
  }

  std::int64_t whole(const char* key, std::int64_t otherwise) const {
    if (!has(key)) return otherwise;
    const std::string text = word(key);
    constexpr option::Whole kAny{.least = 0, .most = std::numeric_limits<std::int64_t>::max()};
    const Result<std::int64_t> n = option::read_whole(key, text, kAny);
    if (!n) json_.fail(key, "must be a whole number, found " + text);
    return n.value_or(0);
  }

  /// One of `choices`, in whatever case; a number counts from 1.
  template <std::size_t N>
  std::string choice(const char* key, const std::array<std::string_view, N>& choices,
                     std::string_view otherwise) const {
    if (!has(key)) return std::string(otherwise);
    const std::string text = upper_case(word(key));
    for (std::size_t i = 0; i < N; ++i)
      if (choices[i] == text || std::to_string(i + 1) == text) return std::string(choices[i]);
    json_.fail(key, "must be " + suggestion(text, choices) + ", found " + word(key));
    return std::string(otherwise);
  }

  /// A list of names, or one text with commas between.
  std::vector<std::string> names(const char* key) const {
    if (!has(key)) return {};
    if (json_.json(present(key)).front() == '[') return json_.texts(present(key));
    return split_at_commas(word(key));
  }

  Result<void> check() const { return json_.check(); }

 private:
  /// The key as it is written there.
  std::string present(const char* key) const {
    std::string prefixed = std::string("fsdp_") + key;
    return json_.has(prefixed) ? prefixed : key;
  }

  std::string word(const char* key) const {
    std::string text = json_.json(present(key));
    if (text.size() > 1 && text.front() == '"') text = text.substr(1, text.size() - 2);
    return text;
  }

  Config json_;
};

Result<FsdpConfig> read_config(const std::string& text) {
  Result<Config> json = Config::parse(text.empty() ? "{}" : text, kConfig);
  if (!json) return tl::unexpected(json.error());
  FsdpConfig config(std::move(*json));
  if (const Result<void> fine = config.check_keys(); !fine) return tl::unexpected(fine.error());
  return config;
}

/// What fsdp_config says comes before the older words of fsdp.
Result<void> read_sharding(const FsdpConfig& config, const Release& release, FsdpRecipe& fsdp) {
  fsdp.version =
      static_cast<int>(config.whole("version", release.has(changes::kFsdpIsVersion2) ? 2 : 1));
  if (fsdp.version != 1 && fsdp.version != 2)
    return bad_input("no such version of FSDP", "--fsdp_config: version", "1 or 2");
  if (fsdp.version == 2) {
    const bool grad_op = fsdp.sharding_strategy == "SHARD_GRAD_OP";
    if (!grad_op && fsdp.sharding_strategy != "FULL_SHARD")
      return bad_input(fsdp.sharding_strategy + " is FSDP1's alone", "--fsdp",
                       R"(--fsdp_config '{"version": 1}')");
    fsdp.reshard_after_forward = config.on("reshard_after_forward", !grad_op);
    return {};
  }
  // The plugin's sharding_strategy comes from accelerate launch alone and hides the
  // reshard_after_forward that Trainer hands over (accelerator.py, prepare_model).
  config.choice("reshard_after_forward", kStrategies, "FULL_SHARD");
  const std::string otherwise =
      release.has(changes::kFsdpWordsAreHidden) ? "FULL_SHARD" : fsdp.sharding_strategy;
  fsdp.sharding_strategy = config.choice("sharding_strategy", kStrategies, otherwise);
  if (fsdp.sharding_strategy.starts_with("HYBRID"))
    return unsupported("hybrid sharding under Trainer is not modelled",
                       "--fsdp_config: sharding_strategy", "FULL_SHARD");
  return {};
}

Result<void> read_wrapping(const FsdpConfig& config, const Release& release, FsdpRecipe& fsdp) {
  const bool wraps =
      release.has(changes::kFsdpIsVersion2) || fsdp.wrap != FsdpRecipe::Wrap::nothing;
  const std::string policy =
      config.choice("auto_wrap_policy", kPolicies, wraps ? kPolicies.front() : "NO_WRAP");
  fsdp.wrap = policy == "NO_WRAP"           ? FsdpRecipe::Wrap::nothing
              : policy == "SIZE_BASED_WRAP" ? FsdpRecipe::Wrap::by_size
                                            : FsdpRecipe::Wrap::layers;
  fsdp.min_num_params = config.whole("min_num_params", 0);
  fsdp.layer_classes = config.names("transformer_layer_cls_to_wrap");
  if (fsdp.wrap != FsdpRecipe::Wrap::by_size) return {};
  if (fsdp.version == 2)
    return bad_input("fully_shard does not take the lists of layers that this policy finds",
                     "--fsdp_config: auto_wrap_policy", "TRANSFORMER_BASED_WRAP");
  if (fsdp.min_num_params == 0) fsdp.wrap = FsdpRecipe::Wrap::nothing;
  return {};
}

}  // namespace

Result<void> set_fsdp(const option::Said& said, TrainRecipe& recipe) {
  if (const Result<bool> on = option::read_on_off(said.name(), said.text)) {
    if (*on && !trainer_of(recipe).fsdp) trainer_of(recipe).fsdp.emplace();
    if (!*on) trainer_of(recipe).fsdp.reset();
    return {};
  }
  constexpr auto kWords =
      std::to_array<std::string_view>({"full_shard", "shard_grad_op", "no_shard", "hybrid_shard",
                                       "hybrid_shard_zero2", "offload", "auto_wrap"});
  FsdpRecipe fsdp;
  fsdp.wrap = FsdpRecipe::Wrap::nothing;
  std::istringstream words{std::string(said.text)};
  for (std::string word; words >> word;) {
    if (std::ranges::find(kWords, word) == kWords.end())
      return option::unusable(said.name(), said.text, suggestion(word, kWords));
    if (word == "offload")
      fsdp.cpu_offload = true;
    else if (word == "auto_wrap")
      fsdp.wrap = FsdpRecipe::Wrap::layers;
    else
      fsdp.sharding_strategy = upper_case(word);
  }
  trainer_of(recipe).fsdp = fsdp;
  return {};
}

Result<void> set_fsdp_config(const option::Said& said, TrainRecipe& recipe) {
  trainer_of(recipe).fsdp_config = said.text;
  const Result<FsdpConfig> config = read_config(trainer_of(recipe).fsdp_config);
  return config ? Result<void>() : tl::unexpected(config.error());
}

Result<void> finish_fsdp(TrainRecipe& recipe) {
  if (!trainer_of(recipe).fsdp) return {};
  recipe.loads_on_host = true;
  FsdpRecipe& fsdp = *trainer_of(recipe).fsdp;
  const Result<FsdpConfig> config = read_config(trainer_of(recipe).fsdp_config);
  if (!config) return tl::unexpected(config.error());
  if (config->on("xla", false))
    return unsupported("FSDP on TPUs is not modelled", "--fsdp_config: xla", "false");
  for (const auto step : {read_sharding, read_wrapping})
    if (const Result<void> fine = step(*config, recipe.release, fsdp); !fine) return fine;
  fsdp.backward_prefetch = config->choice("backward_prefetch", kPrefetches, "NO_PREFETCH");
  fsdp.forward_prefetch = config->on("forward_prefetch", false);
  fsdp.use_orig_params = config->on("use_orig_params", true);
  fsdp.sync_module_states =
      config->on("sync_module_states", true) || config->on("cpu_ram_efficient_loading", false);
  fsdp.cpu_offload =
      config->on("cpu_offload", fsdp.cpu_offload) || config->on("offload_params", false);
  fsdp.activation_checkpointing = config->on("activation_checkpointing", false);
  if (const Result<void> fine = config->check(); !fine) return fine;
  if (fsdp.activation_checkpointing && recipe.checkpointing != Checkpointing::none)
    return bad_input("Trainer refuses both", "--gradient_checkpointing",
                     "activation_checkpointing of --fsdp_config alone");
  if (recipe.layout.gpus == 1)
    return bad_input("Trainer uses FSDP in distributed training only", "--fsdp",
                     "--gpus 2 or more");
  return {};
}

}  // namespace memtape::transformers
