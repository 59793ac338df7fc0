// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "model/definition.hpp"

namespace kiln::tools {

/// How sums compare with what they should be, each within a bound of its own.
struct SumCheck {
    bool passed = true;
    double max_relative_error = 0;      ///< |y − y64| / |y64|; where y64 is 0, |y − y64|
    double max_share_of_tolerance = 0;  ///< 1 is the bound
    std::optional<std::size_t> first_failed;
};

/// An image whose sum should be NaN must give NaN. Where the bound is no finite number, because a pixel is infinite, NaN is as
/// good as the expected sum, and another finite number is not.
[[nodiscard]] SumCheck check_sums(std::span<const double> sums, std::span<const BoundedSum> expected);

}  // namespace kiln::tools
