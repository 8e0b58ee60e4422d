// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtune/decoder_args.h"

#include <algorithm>
#include <string>

#include "model/type_of.h"

namespace memtape::torchtune {

Result<DecoderArgs> read_decoder_args(const Config& config) {
  const std::string family = type_of(config);
  if (family != "llama" && family != "mistral")
    return unsupported("torchtune's model for \"" + family + "\" is not modelled",
                       "--framework torchtune", "llama or mistral; --framework torch");
  DecoderArgs args{.vocab_size = config.dimension("vocab_size", 32000),
                   .num_layers = config.layers("num_hidden_layers", 32),
                   .num_heads = config.dimension("num_attention_heads", 32),
                   .embed_dim = config.dimension("hidden_size", 4096),
                   .intermediate_dim = config.dimension("intermediate_size", 11008),
                   .max_seq_len = config.dimension("max_position_embeddings", 4096),
                   .is_tied = config.boolean("tie_word_embeddings", false)};
  args.num_kv_heads = config.optional_dimension("num_key_value_heads").value_or(args.num_heads);
  args.head_dim = std::max<std::int64_t>(1, args.embed_dim / args.num_heads);
  if (const Result<void> fine = config.check(); !fine) return tl::unexpected(fine.error());
  if (args.num_heads % args.num_kv_heads != 0)
    return bad_input(std::to_string(args.num_heads) + " heads do not divide by " +
                         std::to_string(args.num_kv_heads) + " of keys and values",
                     config.where() + ": num_key_value_heads", "a divisor of the heads");
  return args;
}

}  // namespace memtape::torchtune
