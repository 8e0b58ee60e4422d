// SPDX-License-Identifier: Apache-2.0
// EAGLE heads: drafters with their own checkpoints, made of Llama's layers
// (vllm/model_executor/models/llama_eagle.py, llama_eagle3.py). EAGLE joins the embeddings of the
// tokens and the target's last hidden states. EAGLE-3 projects hidden states of several layers of
// the target to one, joins it with the embeddings inside of its first layer, and has its own head
// over the tokens that are most often proposed.
//
// Only its checkpoint says which tables a head brings. Here EAGLE brings none and EAGLE-3 brings
// its head, as those of their authors do (load_eagle_model of spec_decode/eagle/utils.py).
#pragma once

#include <vector>

#include "framework/vllm/models/drafter.h"

namespace memtape::vllm {

/// The layers of the target whose inputs EAGLE-3 reads. The head may list them
/// (get_eagle3_aux_layers_from_config); otherwise they are the third, the middle one and the third
/// from the end.
std::vector<std::int64_t> eagle3_target_layers(const Config& head, std::int64_t target_layers);

/// `place` has the configuration of the head.
std::unique_ptr<Drafter> make_eagle(const Place& place);
std::unique_ptr<Drafter> make_eagle3(const Place& place);

/// Refuses heads whose layers are not Llama's.
Result<DrafterFactory> eagle_factory(const Config& head, bool third);

}  // namespace memtape::vllm
