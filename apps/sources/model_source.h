// SPDX-License-Identifier: Apache-2.0
// From what people type for MODEL to a configuration and, where there is one, the list of the
// checkpoint's tensors.
//
//   a path that exists     a folder with config.json and *.safetensors, a config.json, a
//   .safetensors file or index else the catalog       hub id, or its last part else the local cache
//   of the Hugging Face hub else the hub           config.json and the headers only, never the
//   weights
#pragma once

#include <string>

#include "base/result.h"
#include "model/model_source.h"
#include "sources/hub.h"

namespace memtape::sources {

using memtape::ModelSource;

/// `config` is present unless `model` is a checkpoint alone. The error names what was tried and the
/// nearest catalog entry.
Result<ModelSource> find_model_source(const std::string& model, const HubSettings& settings);

}  // namespace memtape::sources
