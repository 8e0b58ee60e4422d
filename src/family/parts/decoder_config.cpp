// SPDX-License-Identifier: Apache-2.0
#include "family/parts/decoder_config.h"

#include <algorithm>

#include "base/text.h"
#include "family/parts/activations.h"
#include "family/parts/config_checks.h"
#include "family/parts/forward_arguments.h"
#include "ghost/session.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {
namespace {

std::int64_t head_dim_of(const Config& c, const DecoderDefaults& defaults, std::int64_t hidden,
                         std::int64_t heads) {
  if (const auto given = c.optional_dimension("head_dim")) return *given;
  if (defaults.head_dim > 0) return defaults.head_dim;
  if (hidden < heads)
    c.fail("num_attention_heads", "must be at most hidden_size " + std::to_string(hidden));
  return std::max<std::int64_t>(hidden / heads, 1);
}

/// config.layer_types, or `otherwise(layer)` if the key is absent; layers called `other` have none.
template <class Otherwise>
MixedLayerTypes types_by_name(const Config& c, std::int64_t layers, std::string_view other,
                              const Otherwise& otherwise) {
  std::vector<std::string_view> known{"full_attention", "sliding_attention"};
  if (!other.empty()) known.push_back(other);
  MixedLayerTypes types;
  const std::vector<std::string> named = c.texts("layer_types");
  if (!named.empty() && named.size() != static_cast<std::size_t>(layers))
    c.fail("layer_types", "must name " + std::to_string(layers) + " layers, names " +
                              std::to_string(named.size()));
  for (std::int64_t i = 0; i < layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (at >= named.size()) {
      types.push_back(otherwise(i));
      continue;
    }
    if (std::find(known.begin(), known.end(), named[at]) == known.end())
      c.fail("layer_types", "unknown type \"" + named[at] + "\", " + suggestion(named[at], known));
    if (named[at] == other)
      types.emplace_back();
    else
      types.push_back(named[at] == known[1] ? LayerType::sliding_attention
                                            : LayerType::full_attention);
  }
  return types;
}

}  // namespace

DecoderConfig::DecoderConfig(const Config& c, const ModelOptions& options, const DecoderDefaults& d)
    : vocab_size(c.dimension("vocab_size", d.vocab_size)),
      hidden_size(c.dimension("hidden_size", d.hidden_size)),
      intermediate_size(c.dimension("intermediate_size", d.intermediate_size)),
      num_hidden_layers(c.layers("num_hidden_layers", d.num_hidden_layers)),
      num_attention_heads(c.dimension("num_attention_heads", d.num_attention_heads)),
      num_key_value_heads(
          c.optional_dimension("num_key_value_heads")
              .value_or(d.num_key_value_heads > 0 ? d.num_key_value_heads : num_attention_heads)),
      head_dim(head_dim_of(c, d, hidden_size, num_attention_heads)),
      hidden_act(activation(c, "hidden_act", d.hidden_act)),
      tie_word_embeddings(c.boolean("tie_word_embeddings", d.tie_word_embeddings)),
      attention_dropout(c.number("attention_dropout", 0.0)),
      rope(rope_parameters(c, head_dim)),
      attention(options.attention),
      layer_types(static_cast<std::size_t>(num_hidden_layers), LayerType::full_attention),
      positions_added_since(&family::positions_added_since(c.text("model_type", ""))) {
  check_divides(c, "num_key_value_heads", num_key_value_heads, num_attention_heads);
}

bool DecoderConfig::has_sliding_layers() const {
  return std::find(layer_types.begin(), layer_types.end(), LayerType::sliding_attention) !=
         layer_types.end();
}

void DecoderConfig::have_own_ropes(OwnRopes ropes) {
  own_ropes = ghost::has(changes::kModelsHaveTheRopes) ? OwnRopes::none : ropes;
}

std::vector<std::int64_t> sliding_windows(const DecoderConfig& config) {
  std::vector<std::int64_t> windows;
  for (const LayerType type : config.layer_types)
    windows.push_back(type == LayerType::full_attention ? 0 : config.sliding_window.value_or(0));
  return windows;
}

std::vector<LayerType> attending_types(const MixedLayerTypes& types) {
  std::vector<LayerType> attending;
  for (const std::optional<LayerType>& type : types)
    attending.push_back(type.value_or(LayerType::full_attention));
  return attending;
}

MixedLayerTypes read_mixed_layer_types(const Config& c, std::int64_t layers, std::string_view other,
                                       std::optional<LayerType> (*otherwise)(std::int64_t layer)) {
  return types_by_name(c, layers, other, otherwise);
}

std::vector<LayerType> read_layer_types(const Config& c, std::int64_t layers,
                                        LayerType (*otherwise)(std::int64_t layer)) {
  return attending_types(types_by_name(c, layers, {}, otherwise));
}

void read_sliding_pattern(const Config& c, DecoderConfig& config, std::int64_t every,
                          std::int64_t window) {
  config.sliding_window = c.has("sliding_window") ? c.optional_dimension("sliding_window") : window;
  config.layer_types = read_layer_types(c, config.num_hidden_layers,
                                        [](std::int64_t) { return LayerType::full_attention; });
  if (c.is_null("layer_types"))
    for (std::int64_t i = 0; i < config.num_hidden_layers; ++i)
      if ((i + 1) % every != 0)
        config.layer_types[static_cast<std::size_t>(i)] = LayerType::sliding_attention;
  if (!config.sliding_window)
    c.fail("sliding_window", "is null, but the model makes a sliding mask");
  config.masks_by_layer_type = config.masks_both_types = true;
}

void check_sliding_window(const Config& c, const DecoderConfig& config) {
  if (config.has_sliding_layers() && !config.sliding_window)
    c.fail("sliding_window", "is null, but some layers slide");
}

void read_max_window_layers(const Config& c, DecoderConfig& config,
                            std::int64_t default_max_window_layers) {
  const std::int64_t window = c.optional_dimension("sliding_window").value_or(4096);
  const std::int64_t first = c.count("max_window_layers", default_max_window_layers);
  if (c.boolean("use_sliding_window", false)) config.sliding_window = window;
  config.layer_types = read_layer_types(c, config.num_hidden_layers,
                                        [](std::int64_t) { return LayerType::full_attention; });
  if (config.sliding_window && !c.has("layer_types"))
    for (std::int64_t i = first; i < config.num_hidden_layers; ++i)
      config.layer_types[static_cast<std::size_t>(i)] = LayerType::sliding_attention;
  config.masks_by_layer_type = true;
}

}  // namespace memtape::family
