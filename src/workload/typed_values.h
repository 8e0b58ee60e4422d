// SPDX-License-Identifier: Apache-2.0
// Values of options as HfArgumentParser reads them: switches that are on without a value, whole
// and real numbers within bounds. A value that will not do is an Error that says what would.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "workload/train_options.h"

namespace memtape {

/// "unusable value", with what would be right.
tl::unexpected<Error> wrong_value(const NamedValue& option, std::string hint);

/// true, yes, 1 or nothing; false, no or 0.
Result<bool> boolean(const NamedValue& option);
/// A whole number of 1 or more.
Result<std::int64_t> positive(const NamedValue& option);
/// A whole number of 0 or more.
Result<std::int64_t> whole(const NamedValue& option);
/// A real number of 0 or more.
Result<double> not_negative(const NamedValue& option);

template <class T, class U>
Result<void> put(const Result<T>& value, U& into) {
  if (!value) return tl::unexpected(value.error());
  into = *value;
  return {};
}

}  // namespace memtape
