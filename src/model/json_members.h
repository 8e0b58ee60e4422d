// SPDX-License-Identifier: Apache-2.0
// Members of a JSON object that is kept as text, such as a LoraConfig that somebody typed.
#pragma once

#include <span>
#include <string>

#include "option/given.h"

namespace memtape {

/// The object with these members, whose values are JSON. They replace those that it has. Text that
/// is no object comes back as it is: what reads it says what is wrong.
std::string with_members(const std::string& object, std::span<const NamedValue> members);

}  // namespace memtape
