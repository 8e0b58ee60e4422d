// SPDX-License-Identifier: Apache-2.0
// Projector: the tower that sees or hears for a multimodal model, in a file of its own
// (tools/mtmd/clip.cpp): its weights lie on the first GPU, whichever the model is on.
#pragma once

#include <optional>
#include <string>

#include "framework/llamacpp/server.h"

namespace memtape::llamacpp {

struct Projector {
  std::string buffer;
  Bytes weights = 0;
  bool on_gpu = true;
};

/// What a file's metadata say.
bool is_projector(const SideModel& file);
/// Of --mmproj; nothing without one.
Result<std::optional<Projector>> projector_of(const ServeRequest& request,
                                              const Settings& settings);
void add_projector_memory(ServerMemory& memory, const Projector& projector);

}  // namespace memtape::llamacpp
