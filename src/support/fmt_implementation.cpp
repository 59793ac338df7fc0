// SPDX-License-Identifier: Apache-2.0
// fmt's functions, compiled here and once. Header-only fmt costs each of our files four seconds; Debian's libfmt is shared, and a
// consumer of the static library needs none of our dependencies. The build gives fmt a namespace of our own (FMT_BEGIN_NAMESPACE
// in cmake/KilnDependencies.cmake), so that a program that links fmt too has no symbol twice.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

// What fmt/format.h declares `extern template`.
template auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);

}  // namespace detail
FMT_END_NAMESPACE
