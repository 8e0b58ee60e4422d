// SPDX-License-Identifier: Apache-2.0
// EAGLE heads: drafters that are checkpoints of their own, made of Llama's layers
// (vllm/model_executor/models/llama_eagle.py, llama_eagle3.py). EAGLE joins the tokens' embeddings
// and the target's last hidden states; EAGLE-3 projects hidden states of several of the target's
// layers to one, joins it with the embeddings inside its first layer, and has a head of its own
// over the tokens that are most often proposed.
//
// Which tables a head brings is in its checkpoint alone. Here EAGLE brings none, EAGLE-3 its head,
// as those of their authors do (load_eagle_model of spec_decode/eagle/utils.py).
#pragma once

#include <vector>

#include "framework/vllm/models/drafter.h"

namespace memtape::vllm {

/// The target's layers whose inputs EAGLE-3 reads: the head's own list
/// (get_eagle3_aux_layers_from_config), else the third, the middle one and the third from the end.
std::vector<std::int64_t> eagle3_target_layers(const Config& head, std::int64_t target_layers);

/// `place` has the head's configuration.
std::unique_ptr<Drafter> make_eagle(const Place& place);
std::unique_ptr<Drafter> make_eagle3(const Place& place);

/// Heads of other layers than Llama's are refused.
Result<DrafterFactory> eagle_factory(const Config& head, bool third);

}  // namespace memtape::vllm
