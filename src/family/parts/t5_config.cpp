// SPDX-License-Identifier: Apache-2.0
#include "family/parts/t5_config.h"

#include <string>

#include "base/text.h"
#include "model/type_of.h"
#include "release/head_changes.h"

namespace memtape::family {
namespace {

constexpr std::string_view kGated = "gated-";

bool is_umt5(const Config& c) { return type_of(c) == "umt5"; }

/// MT5Config and UMT5Config, whose defaults are the same.
bool is_mt5_like(const Config& c) { return is_umt5(c) || type_of(c) == "mt5"; }

std::string feed_forward_proj(const Config& c) {
  return c.text("feed_forward_proj", is_mt5_like(c) ? "gated-gelu" : "relu");
}

bool is_gated(const Config& c) { return feed_forward_proj(c).starts_with(kGated); }

/// The name after "gated-"; "gated-gelu" itself means gelu_new.
nn::Activation dense_activation(const Config& c) {
  std::string name = feed_forward_proj(c);
  if (is_gated(c)) name = name == "gated-gelu" ? "gelu_new" : name.substr(kGated.size());
  if (const std::optional<nn::Activation> known = nn::Activation::from_name(name)) return *known;
  c.fail("feed_forward_proj",
         "unknown activation \"" + name + "\", " + suggestion(name, nn::Activation::names()));
  return *nn::Activation::from_name("relu");
}

}  // namespace

T5Config::T5Config(const Config& c, const ModelOptions& options)
    : vocab_size(c.dimension("vocab_size", is_mt5_like(c) ? 250112 : 32128)),
      d_model(c.dimension({"d_model", "hidden_size"}, 512)),
      d_kv(c.dimension({"d_kv", "head_dim"}, 64)),
      d_ff(c.dimension("d_ff", is_mt5_like(c) ? 1024 : 2048)),
      num_layers(c.layers({"num_layers", "num_hidden_layers"}, is_mt5_like(c) ? 8 : 6)),
      num_decoder_layers(c.is_null("num_decoder_layers") ? num_layers
                                                         : c.layers("num_decoder_layers")),
      num_heads(c.dimension({"num_heads", "num_attention_heads"}, is_mt5_like(c) ? 6 : 8)),
      relative_attention_num_buckets(c.dimension("relative_attention_num_buckets", 32)),
      dropout_rate(c.number("dropout_rate", 0.1)),
      dense_act_fn(dense_activation(c)),
      is_gated_act(is_gated(c)),
      scale_decoder_outputs(is_umt5(c) || (!is_mt5_like(c) && (c.is_null("tie_word_embeddings") ||
                                                               c.boolean("tie_word_embeddings")))),
      ties_head(ghost::has(changes::kT5TiesItsHead) ||
                c.boolean("tie_word_embeddings", type_of(c) != "mt5")),
      shares_position_bias(!is_umt5(c)),
      attention(options.attention) {
  if (c.boolean("is_decoder", false)) c.fail("is_decoder", "only T5 with an encoder is modelled");
  if (c.has("pad_token_id") && c.is_null("pad_token_id"))
    c.fail("pad_token_id", "must be an integer: labels are shifted with it");
}

}  // namespace memtape::family
