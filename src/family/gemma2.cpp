// SPDX-License-Identifier: Apache-2.0
// Gemma 2: Gemma with four norms a layer, softcapped attention and logits, and layers that slide in
// turn; mirroring transformers 5.17 models/gemma2/modular_gemma2.py.
#include "family/families.h"
#include "family/gemma.h"

namespace memtape::family {

ModelPointer build_gemma2(const Config& c, const ModelOptions& options) {
  const Gemma2Config config = gemma2_config(c, options);
  refuse_bidirectional_attention(c);
  return build_checked<DecoderForCausalLM<Gemma2Parts>>(c, config, options);
}

}  // namespace memtape::family
