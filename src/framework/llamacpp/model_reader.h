// SPDX-License-Identifier: Apache-2.0
// From a model's metadata to its tensors with their types: the architecture lists them, the file
// type (or --quantize) says what they are stored as.
#pragma once

#include "framework/llamacpp/server.h"

namespace memtape::llamacpp {

/// `stored`: the tensors of a file; without it they follow from the architecture and the choices,
/// else from the number of tensors that the metadata counts.
Result<Model> read_model(const Metadata& metadata, const StoredWeights* stored,
                         const std::optional<Choices>& choices, const Settings& settings);

}  // namespace memtape::llamacpp
