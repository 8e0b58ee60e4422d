// SPDX-License-Identifier: Apache-2.0
// Projector: the tower with which a multimodal model sees or hears. It is in a file of its own
// (tools/mtmd/clip.cpp), and its weights lie on the first GPU, wherever the model is.
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

/// Whether the metadata of a file say that it is a projector.
bool is_projector(const SideModel& file);
/// The projector that --mmproj names, or nothing without the flag.
Result<std::optional<Projector>> projector_of(const ServeRequest& request,
                                              const Settings& settings);
void add_projector_memory(ServerMemory& memory, const Projector& projector);

}  // namespace memtape::llamacpp
