// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtune/decoder.h"

#include "ghost/autograd/checkpoint.h"
#include "ghost/ops/matmul.h"

namespace memtape::torchtune {

/// The builders make the layers first, then the table, the head and the norm; the decoder registers
/// table, layers, norm and head.
TransformerDecoder::TransformerDecoder(const DecoderArgs& args, const Levers& levers,
                                       const Lora* lora, DType dtype)
    : PretrainedModel({.dtype = dtype}),
      args_(args),
      levers_(levers),
      parts_{args_, levers_, lora},
      tok_scope_(root() / "tok_embeddings"),
      layers_scope_(root() / "layers"),
      norm_scope_(root() / "norm"),
      rope_(layers_scope_, args_),
      layers_(layers_scope_, args_.num_layers, parts_, rope_),
      tok_embeddings_(tok_scope_, args_.vocab_size, args_.embed_dim),
      output_(args_.is_tied
                  ? nullptr
                  : std::make_unique<Linear>(root() / "output",
                                             Linear::Sizes{args_.embed_dim, args_.vocab_size},
                                             lora && lora->output ? lora : nullptr)),
      norm_(norm_scope_, args_.embed_dim, levers_) {}

Tensor TransformerDecoder::hidden_states(const Tensor& tokens, const Tensor& input_pos,
                                         const LayerCalls& calls) {
  Tensor h = tok_embeddings_(tokens);
  const auto run = [&](TransformerSelfAttentionLayer& layer, std::size_t, const Tensor& x) {
    if (!calls.checkpoints) return layer(x, input_pos);
    const auto again = [&layer, input_pos](const Tensor& input) { return layer(input, input_pos); };
    return calls.offload ? calls.offload->checkpoint(again, x) : ghost::checkpoint(again, x);
  };
  const std::size_t period = calls.offload ? 0 : 1;
  h = nn::run_layers(layers_, std::move(h), period, run);
  return norm_(h);
}

Tensor TransformerDecoder::output_of(const Tensor& h) {
  return output_ ? (*output_)(h) : ghost::linear(h, tok_embeddings_.weight, {});
}

std::vector<Tensor> TransformerDecoder::logits(const Tensor& tokens, const Tensor& input_pos,
                                               const LayerCalls& calls) {
  const ghost::SavedTensorHooksGuard offloading(calls.offload);
  const Tensor h = hidden_states(tokens, input_pos, calls);
  const ghost::SavedTensorHooksGuard noop(nullptr);  // get_act_offloading_ctx_manager: not the head
  if (levers_.loss == Loss::cross_entropy) return {output_of(h).to_float()};
  std::vector<Tensor> chunks;
  for (const Tensor& chunk : h.chunk(kOutputChunks, 1)) chunks.push_back(output_of(chunk));
  return chunks;
}

family::ModelOutput TransformerDecoder::forward(const family::Batch&) {
  ghost::session().fail({ErrorKind::internal, "the recipe calls logits()", "", ""});
  return {};
}

}  // namespace memtape::torchtune
