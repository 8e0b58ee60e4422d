// SPDX-License-Identifier: Apache-2.0
#include "family/masks/sequence_lengths.h"

namespace memtape::family {

const ghost::SequenceBounds* SequenceLengths::passed() {
  const auto* const given = ghost::given_here<SequenceLengths>();
  return given ? &given->cu_seq_lens_ : nullptr;
}

}  // namespace memtape::family
