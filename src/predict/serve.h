// SPDX-License-Identifier: Apache-2.0
// The engines of `memtape serve` and the one function that asks them. An engine gives its own
// answer; what follows from it is the same for all engines: the device, the verdict, the headroom
// and the rank that needs most.
#pragma once

#include <span>
#include <string_view>

#include "serving/serve_engine.h"

namespace memtape {

std::span<const ServeEngine> serve_engines();

/// The engine of that name; the error lists all names.
Result<const ServeEngine*> find_serve_engine(std::string_view name);

Result<ServeAnswer> predict_serve(const ServeEngine& engine, const ServeRequest& request);

/// Parameters of the model as transformers makes it; 0 where it is none of the families here.
std::int64_t counted_parameters(const ServeRequest& request);

/// The part of a configuration that describes the text model, as vLLM reads it: nested in
/// multimodal ones.
Config text_part(const Config& config);

}  // namespace memtape
