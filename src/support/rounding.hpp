// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace kiln {

/// a / b, rounded up, of what is not negative.
constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

/// The next multiple of b, from a on.
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) {
    return ceil_divide(a, b) * b;
}

}  // namespace kiln
