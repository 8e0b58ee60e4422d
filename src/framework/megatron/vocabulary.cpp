// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/vocabulary.h"

#include <array>
#include <string>

namespace memtape::megatron {
namespace {

/// The sizes of the vocabularies that the tokenizers of Megatron's recipes have.
struct KnownVocabulary {
  std::string_view file;  ///< the end of a file's name, or a tokenizer's type
  std::int64_t size;
};
constexpr auto kVocabularies = std::to_array<KnownVocabulary>({
    {"bert-large-cased-vocab.txt", 28996},
    {"vocab.txt", 30522},
    {"bpe/vocab.json", 50257},
    {"nemotron_2_256k.model", 256000},
    {"multiMixV8.gpt4o_nc_sd.500000.128k.vocab.json", 131072},
    {"Llama2Tokenizer", 32000},
    {"GPT2BPETokenizer", 50257},
    {"BertWordPieceLowerCase", 30522},
    {"BertWordPieceCase", 28996},
});

std::optional<std::int64_t> vocabulary_size(const Config& c) {
  if (const auto given = c.optional_dimension("vocab_size")) return given;
  for (const char* key : {"vocab_file", "tokenizer_model", "tokenizer_type"}) {
    const std::string name = c.text(key, "");
    for (const KnownVocabulary& known : kVocabularies)
      if (name.ends_with(known.file)) return known.size;
  }
  return std::nullopt;
}

}  // namespace

Result<void> set_vocabulary(const Config& c, Arguments& a) {
  if (const auto padded = c.optional_dimension("padded_vocab_size")) {
    a.padded_vocab_size = *padded;
    return {};
  }
  const std::optional<std::int64_t> size = vocabulary_size(c);
  if (!size)
    return bad_input("the size of the vocabulary is not known", "--vocab-size",
                     "give --vocab-size or --padded-vocab-size");
  const std::int64_t total = *size + c.count("vocab_extra_ids", 0);
  const std::int64_t multiple = c.dimension("make_vocab_size_divisible_by", 128) * a.tp;
  a.padded_vocab_size = (total + multiple - 1) / multiple * multiple;
  return {};
}

}  // namespace memtape::megatron
