// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "support/random_case.hpp"

/// Errors of single logits: cases of one filter, identity, and images that are one window each, so that y is z. No Catch2 in it:
/// benchmarks use it too.
namespace kiln::test {

/// The sums of a plain loop of fp32 multiply-adds in the order of the definition's taps over box sums: what the contract compares
/// with. Stride and dilation 1, no padding.
[[nodiscard]] std::vector<float> sequential_fp32_sums(const RandomCase& random);

/// What the definition says about a case: each image's logit, the size of what it sums, and the contract's bound.
struct ExactLogits {
    std::vector<double> values;
    std::vector<double> magnitudes;  ///< S
    std::vector<double> bounds;      ///< τ, and one rounding of y itself
    explicit ExactLogits(const RandomCase& random);
};

/// How far sums are from it; NaN where one of them is.
struct LogitError {
    double largest_units = 0;  ///< of u·S
    double rms_units = 0;
    double largest_share = 0;  ///< of the contract's bound
};
[[nodiscard]] LogitError logit_error(const ExactLogits& exact, const std::vector<float>& sums);

/// The largest |y − y64| in units of u·S.
[[nodiscard]] double largest_error_in_units(const RandomCase& random, const std::vector<float>& sums);

}  // namespace kiln::test
