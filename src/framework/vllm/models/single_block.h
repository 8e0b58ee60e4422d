// SPDX-License-Identifier: Apache-2.0
// Decoders whose layers are one norm and one block each: Mamba, Mamba 2 and Nemotron-H
// (vllm/model_executor/models/mamba.py, mamba2.py, nemotron_h.py).
#pragma once

#include "framework/vllm/layers/recurrent.h"
#include "framework/vllm/models/decoder.h"

namespace memtape::vllm {

/// The dtype of a mixer's state: what --mamba-ssm-cache-dtype says, else `otherwise`, else the
/// model's.
DType state_dtype(const Place& place, std::string_view otherwise);

/// The shape of Mamba 2's mixer as Mamba2Config and NemotronHConfig tell it.
MambaShape mamba2_shape(const Config& c, std::int64_t hidden);

struct SingleBlockNames {
  const char *body, *embedding;
};

/// What builds the block of a layer, by its index.
using MakeBlock = std::function<Block(const Place&, std::int64_t)>;

std::unique_ptr<ServedModel> make_single_block_decoder(const Place& place,
                                                       const SingleBlockNames& names,
                                                       std::int64_t layers, const MakeBlock& make);

}  // namespace memtape::vllm
