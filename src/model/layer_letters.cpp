// SPDX-License-Identifier: Apache-2.0
#include "model/layer_letters.h"

#include <algorithm>
#include <array>

namespace memtape {
namespace {

struct Letter {
  std::string_view name, legacy;
  char letter;
};
constexpr std::array<Letter, 4> kLetters{Letter{"linear_attention", "mamba", 'M'},
                                         Letter{"full_attention", "attention", '*'},
                                         Letter{"mlp", "mlp", '-'}, Letter{"moe", "moe", 'E'}};

std::string letters_of_names(const Config& c, const char* key) {
  std::string letters;
  for (const std::string& name : c.texts(key)) {
    const auto* at = std::ranges::find_if(
        kLetters, [&](const Letter& row) { return row.name == name || row.legacy == name; });
    if (at == kLetters.end())
      c.fail(key, "unknown: \"" + name + "\", use linear_attention, full_attention, mlp or moe");
    else
      letters += at->letter;
  }
  return letters;
}

}  // namespace

std::string layer_letters(const Config& config) {
  constexpr const char* kPattern = "hybrid_override_pattern";
  for (const char* key : {"layers_block_type", "layer_types"})
    if (!config.is_null(key)) return letters_of_names(config, key);
  std::string letters = config.text(kPattern);
  for (const char letter : letters)
    if (std::ranges::find(kLetters, letter, &Letter::letter) == kLetters.end()) {
      config.fail(kPattern, std::string("unknown letter: '") + letter + "', use M, *, - or E");
      return {};
    }
  return letters;
}

}  // namespace memtape
