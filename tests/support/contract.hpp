// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "model/planner.hpp"
#include "support/random_case.hpp"

/// The numerics contract (docs/numerics.md) as checks.
namespace kiln::test {

enum class Tolerance {
    sum,          ///< the contract of y
    logit_alone,  ///< the contract of z: for one window, one filter, identity; no allowance for the outer sum
};

/// One forward of each plan, each image's sum against the definition within the contract's bound.
void check_contract(const RandomCase& random, const std::vector<Plan>& plans, Tolerance tolerance = Tolerance::sum,
                    std::size_t offset = 0);

/// The same for many cases with the best plan of each family, compiled ahead together.
void check_contract_in_every_family(const std::vector<RandomCase>& cases, Tolerance tolerance = Tolerance::sum,
                                    std::size_t offset = 0);

/// The sums of a plain loop of fp32 multiply-adds in the order of the definition's taps over box sums: what the contract compares
/// with.
[[nodiscard]] std::vector<float> sequential_fp32_sums(const RandomCase& random);

/// The largest |y − y64| in units of u·S, for one window, one filter and identity.
[[nodiscard]] double largest_error_in_units(const RandomCase& random, const std::vector<float>& sums);

}  // namespace kiln::test
