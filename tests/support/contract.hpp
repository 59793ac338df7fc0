// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "model/planner.hpp"
#include "support/logit_error.hpp"
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

/// The same forward with the same bits again and again, whatever was in the output and the workspace before.
void check_same_bits(const RandomCase& random, const Plan& plan);

}  // namespace kiln::test
