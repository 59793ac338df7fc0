// SPDX-License-Identifier: Apache-2.0
#include "kiln/sum_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kiln::tools {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double relative_error(double sum, double expected) {
    if (sum == expected || (std::isnan(sum) && std::isnan(expected))) return 0;
    const double error = std::abs(sum - expected);
    if (std::isnan(error)) return infinity;
    return expected == 0 ? error : error / std::abs(expected);
}

/// The error in units of what is allowed.
double share_of_tolerance(double sum, const BoundedSum& expected) {
    if (std::isnan(expected.value)) return std::isnan(sum) ? 0 : infinity;
    if (std::isfinite(expected.value) && std::isfinite(expected.tolerance)) {
        const double error = std::abs(sum - expected.value);
        if (std::isnan(error)) return infinity;
        return error == 0 ? 0 : error / expected.tolerance;
    }
    constexpr double rounding = 1e-5;
    const bool equal = std::isfinite(expected.value) ? std::abs(sum - expected.value) <= rounding * std::abs(expected.value)
                                                     : sum == expected.value;
    return std::isnan(sum) || equal ? 0 : infinity;
}

}  // namespace

SumCheck check_sums(std::span<const double> sums, std::span<const BoundedSum> expected) {
    SumCheck check;
    check.passed = sums.size() == expected.size();
    for (std::size_t n = 0; n < std::min(sums.size(), expected.size()); ++n) {
        const double share = share_of_tolerance(sums[n], expected[n]);
        const bool allowed_nan = std::isnan(sums[n]) && share == 0;
        if (!allowed_nan)
            check.max_relative_error = std::max(check.max_relative_error, relative_error(sums[n], expected[n].value));
        check.max_share_of_tolerance = std::max(check.max_share_of_tolerance, share);
        if (share > 1) {
            check.passed = false;
            if (!check.first_failed) check.first_failed = n;
        }
    }
    return check;
}

}  // namespace kiln::tools
