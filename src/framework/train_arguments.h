// SPDX-License-Identifier: Apache-2.0
// Everything that a training can be told: the options that frameworks share
// (workload/train_options.h) and the arguments of frameworks that have their own, as one table, and
// how a request is read by that table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "option/given.h"
#include "option/option.h"

namespace memtape {

/// In the order of the help, with the common options first.
const option::Table& all_train_options();

/// Whether it is the name of a framework's own argument ("per_device_train_batch_size").
bool is_training_argument(std::string_view name);

/// `given` with `changes` at its end. These replace everything that decides the same.
NamedValues with_changes(NamedValues given, std::span<const NamedValue> changes);

/// Common options in the words of the framework that has words of its own for them, and in place of
/// --qlora what it stands for.
Result<NamedValues> in_dialect_words(NamedValues given);

/// The quantization of QLoRA's recipe as JSON, with additional members.
std::string qlora_quantization(std::span<const NamedValue> more = {});

}  // namespace memtape
