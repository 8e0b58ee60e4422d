// SPDX-License-Identifier: Apache-2.0
// fmt's functions, compiled here once: Debian has them as headers, which every file would compile anew (half of a build's time), and as a
// shared library, which would bring a second libstdc++ into a program that starts in a millisecond. The two templates are
// those that fmt/format.h declares extern (fmt 9 to 11).
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template thousands_sep_result<char> thousands_sep_impl<char>(locale_ref);
template char decimal_point_impl<char>(locale_ref);
}  // namespace detail
FMT_END_NAMESPACE
