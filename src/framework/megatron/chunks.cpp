// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/chunks.h"

#include "framework/megatron/bert_model.h"
#include "framework/megatron/gpt_model.h"
#include "framework/megatron/lora_adapter.h"
#include "framework/megatron/place.h"
#include "framework/megatron/t5_model.h"

namespace memtape::megatron {
namespace {

/// model_provider of the program.
std::unique_ptr<StageModel> make_model(Rank& rank, const ChunkPlace& place) {
  if (rank.a.program == "pretrain_bert.py") return std::make_unique<BertModel>(rank, place);
  if (rank.a.program == "pretrain_t5.py") return std::make_unique<T5Model>(rank, place);
  return std::make_unique<GptModel>(rank, place);
}

/// Whether a weight is one of Transformer Engine's products, which can be held in 8 or 4 bits.
bool is_product(std::string_view name) {
  return name.ends_with("_proj.weight") ||
         (name.ends_with(".weight") && name.find("linear_") != std::string_view::npos);
}

/// Whether every tensor parallel rank holds the whole of it (no tensor_model_parallel attribute):
/// norms, biases added behind the sum over the ranks, and what is no product of the layers.
bool is_whole(std::string_view name) {
  const auto holds = [name](std::string_view part) { return name.find(part) != name.npos; };
  return holds("position_embeddings") || holds("tokentype_embeddings") || holds("norm") ||
         holds("lm_head.dense") || holds("pooler") || holds("binary_head") || holds("router") ||
         holds("gate_weight") || name.ends_with("linear_proj.bias") ||
         name.ends_with("linear_fc2.bias");
}

/// The parameters of a chunk as DDP and the optimizer tell them apart.
std::vector<Parameter> parameters_of(const Rank& rank, StageModel& chunk) {
  const Arguments& a = rank.a;
  std::vector<Parameter> parameters;
  for (const nn::ModuleNode::Named& named : nn::named_parameters(chunk.root())) {
    const std::string& name = named.name;
    if (!named.tensor.requires_grad()) continue;
    // Word embeddings have copies where the output layer is tied to them and where MTP looks up
    // further tokens (setup_embeddings_and_output_layer).
    const bool words = name.ends_with("word_embeddings.weight");
    const bool shared = a.pp > 1 && ((words && (a.tied() || a.mtp_num_layers > 0)) ||
                                     (name == "output_layer.weight" && a.tied()));
    parameters.push_back({.tensor = named.tensor,
                          .expert = a.ep > 1 && name.find(".experts.") != std::string::npos,
                          .shared_embedding = shared,
                          .copy = shared && !chunk.place().first,
                          .whole = is_whole(name),
                          .replica = rank.tp_rank > 0 && is_whole(name),
                          .decays = named.tensor.dim() > 1 && !name.ends_with("bias"),
                          .matrix = named.tensor.dim() == 2 && !words &&
                                    name != "output_layer.weight" &&
                                    !name.ends_with("mixer.in_proj.weight"),
                          .quantized = a.quantized_param_gather && is_product(name)});
  }
  return parameters;
}

}  // namespace

Chunks make_chunks(Rank& rank, std::int64_t pp) {
  Chunks chunks;
  for (const ChunkPlace& place : chunks_of(rank.a, pp)) {
    chunks.push_back(make_model(rank, place));
    if (rank.a.lora) freeze_all_but_adapters(chunks.back()->root());
  }
  return chunks;
}

std::vector<ParamAndGradBuffer> buffers_of(const Rank& rank, const Chunks& chunks) {
  std::vector<ParamAndGradBuffer> buffers;
  for (std::size_t i = 0; i < chunks.size(); ++i)
    for (ParamAndGradBuffer& buffer :
         make_buffers(rank.a, parameters_of(rank, *chunks[i]), i == 0 && chunks[i]->place().first))
      buffers.push_back(std::move(buffer));
  return buffers;
}

}  // namespace memtape::megatron
