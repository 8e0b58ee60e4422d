// SPDX-License-Identifier: Apache-2.0
// Makes a list of typed tensors from a model's metadata. The architecture lists the tensors, and
// the file type (or --quantize) says in which types they are stored.
#pragma once

#include "framework/llamacpp/server.h"

namespace memtape::llamacpp {

/// `stored` are the tensors of a file. Without it, they follow from the architecture and from the
/// choices, or else from the number of tensors that the metadata counts.
Result<Model> read_model(const Metadata& metadata, const StoredWeights* stored,
                         const std::optional<Choices>& choices, const Settings& settings);

}  // namespace memtape::llamacpp
