// SPDX-License-Identifier: Apache-2.0
// All that a training may be told: the options that frameworks share (workload/train_options.h) and
// the arguments of those that have their own, as one table; and how a request is read by it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "option/given.h"
#include "option/option.h"

namespace memtape {

/// Those that frameworks share, with the choices that there are.
const option::Table& common_train_options();

/// In the order of the help: the common ones first.
const option::Table& all_train_options();

/// Whether it is an argument of one framework by its name there ("per_device_train_batch_size").
bool is_training_argument(std::string_view name);

/// An error for two options that decide the same and say different things.
Result<void> check_said_once(std::span<const NamedValue> given);

/// `given` with `changes` at the end, in the place of all that decides the same.
NamedValues with_changes(NamedValues given, std::span<const NamedValue> changes);

/// Common options in the words of the framework that has words of its own for them, and in place of
/// --qlora what it stands for.
Result<NamedValues> in_dialect_words(NamedValues given);

/// The quantization of QLoRA's recipe as JSON, with more members.
std::string qlora_quantization(std::span<const NamedValue> more = {});

/// A JSON object with these members, which take the place of those that it has.
std::string with_members(const std::string& object, std::span<const NamedValue> members);

}  // namespace memtape
