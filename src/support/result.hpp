// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>
#include <kiln/error.hpp>
#include <tl/expected.hpp>

namespace kiln {

/// An error on its way up; becomes an `Error` at the public edge (`value_or_throw`).
struct Failure {
    ErrorCode code;
    std::string message;
    int native_code = 0;
    std::string log = {};
};

template <typename T>
using Result = tl::expected<T, Failure>;

/// `return fail(ErrorCode::bad_file, "{}: {}", path, why);`
template <typename... Args>
[[nodiscard]] tl::unexpected<Failure> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
    return tl::unexpected(Failure{code, fmt::format(format, std::forward<Args>(args)...)});
}

/// Passes on the failure of another result: `if (!plan) return pass_on(plan);`
template <typename T>
[[nodiscard]] tl::unexpected<Failure> pass_on(Result<T>& failed) {
    return tl::unexpected(std::move(failed.error()));
}

[[noreturn]] void throw_error(Failure failure);

/// The public edge: the value, or an `Error`.
template <typename T>
T value_or_throw(Result<T> result) {
    if (!result) throw_error(std::move(result.error()));
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace kiln
