// SPDX-License-Identifier: Apache-2.0
// An error as it goes back to a client of a service: it quotes what was asked, which may be megabytes
// of a name, so what it quotes is cut.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace memtape::answer {

/// The text with words of at most 200 characters, and of at most 1,000 in all.
std::string echoed(std::string_view text);
Error echoed(const Error& error);

}  // namespace memtape::answer
