// SPDX-License-Identifier: Apache-2.0
// The serving answer as text: the verdict, the GPU as one stacked bar (weights, caches,
// activations, graphs, outside the allocator, free), what each rank and buffer holds, and how many
// requests the caches can serve.
#pragma once

#include <string>

#include "outcome/serve_answer.h"
#include "report/style.h"

namespace memtape::report {

struct ServeTextOptions {
  int width = 80;
  Style style = {};
};

std::string text(const ServeAnswer& answer, const ServeTextOptions& options);

/// Only the verdict, on one line.
std::string quiet_text(const ServeAnswer& answer);

}  // namespace memtape::report
