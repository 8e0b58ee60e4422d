// SPDX-License-Identifier: Apache-2.0
#include "family/parts/deberta_embeddings.h"

#include <string>

namespace memtape::family {

DebertaConfig::DebertaConfig(const Config& c, const ModelOptions& options,
                             const BertDefaults& defaults)
    : BertConfig(c, options, defaults),
      relative_attention(c.boolean("relative_attention", false)),
      position_biased_input(c.boolean("position_biased_input", true)),
      checks_padding(!(c.has("pad_token_id") && c.is_null("pad_token_id"))) {
  read_pos_att_type(c);
  max_relative_positions = c.integer("max_relative_positions", -1);
  if (max_relative_positions < 1) max_relative_positions = max_position_embeddings;
  if (!c.boolean("legacy", true)) c.fail("legacy", "only the legacy head is modelled");
  if (c.dimension("embedding_size", hidden_size) != hidden_size)
    c.fail("embedding_size", "other than hidden_size is not modelled");
}

void DebertaConfig::read_pos_att_type(const Config& c) {
  if (c.is_null("pos_att_type")) return;
  const std::string types = c.json("pos_att_type");
  c2p = types.find("c2p") != std::string::npos;
  p2c = types.find("p2c") != std::string::npos;
}

}  // namespace memtape::family
