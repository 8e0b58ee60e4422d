// SPDX-License-Identifier: Apache-2.0
// What transformers' examples (5.17, examples/pytorch) decide themselves, with Trainer and without:
// the head, how long sequences are, and the number of classes.
#pragma once

#include "formats/settings.h"
#include "launch/translation.h"

namespace memtape::launch {

/// A setting in tokens, and the script's default, 0 for as many as the model takes.
struct ExampleLength {
  std::string_view name;
  std::int64_t otherwise = 0;
};

struct Example {
  std::string_view program, task;
  ExampleLength length, target = {};
  bool pads_to_length = true;  ///< --pad_to_max_length's default; else to the batch's longest
};

/// The task, its lengths and its classes.
Result<void> add_example(const Example& example, Settings& settings, Translation& translation);

}  // namespace memtape::launch
