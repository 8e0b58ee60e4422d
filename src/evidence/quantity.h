// SPDX-License-Identifier: Apache-2.0
// Quantity: a size as a message states it, "22.12 GiB", with what its digits leave open. Programs
// round to two decimals, so 22.12 GiB stands for anything within 0.005 GiB of it.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace memtape {

struct Quantity {
  Bytes bytes = 0;
  Bytes within = 0;  ///< half a unit of the last digit; 0 if bytes are written out
};

/// A number and a unit at the start of `text` ("20.00 MiB", "512 bytes", "9.07GB"). `used` receives
/// how much of the text they take. With `decimal_units`, "GB" means 10^9; otherwise it means 2^30,
/// as it does in the programs that print it.
std::optional<Quantity> quantity_at(std::string_view text, std::size_t* used = nullptr,
                                    bool decimal_units = false);

/// A number at the start of `text`, after any blanks: "0.9", "-12", or "1,024", which is 1.024 in
/// places where a comma is the decimal point.
std::optional<double> number_at(std::string_view text, std::size_t* used = nullptr);

/// A whole number at the start of `text`, after any blanks.
std::optional<std::int64_t> whole_at(std::string_view text, std::size_t* used = nullptr);

}  // namespace memtape
