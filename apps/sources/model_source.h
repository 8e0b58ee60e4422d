// SPDX-License-Identifier: Apache-2.0
// Turns what people type for MODEL into a configuration and, if there is one, the list of the
// checkpoint's tensors. It tries, in this order:
//
//   a path that exists   a folder with config.json and *.safetensors, a config.json, a
//                        .safetensors file or an index
//   the catalog          a hub id, or its last part
//   the local cache      that of the Hugging Face hub
//   the hub              only config.json and the headers, never the weights
#pragma once

#include <string>

#include "base/result.h"
#include "model/model_source.h"
#include "sources/hub.h"

namespace memtape::sources {

using memtape::ModelSource;

/// `config` is present unless `model` is a checkpoint alone. The error names what was tried and the
/// nearest entry of the catalog.
Result<ModelSource> find_model_source(const std::string& model, const HubSettings& settings);

}  // namespace memtape::sources
