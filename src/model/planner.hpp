// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include <kiln/arch.hpp>
#include <kiln/spec.hpp>

#include "model/family.hpp"
#include "support/result.hpp"

namespace kiln {

/// Which kernel serves a spec on an arch.
struct Plan {
    const Family* family = nullptr;
    Candidate candidate;
};

/// Every family that Kiln has, in the order in which ties are decided.
[[nodiscard]] std::span<const Family* const> all_families();

/// Every legal plan, the best first: by predicted time at `spec.expected`, or at the family's default shape without it.
[[nodiscard]] std::vector<Plan> enumerate_plans(const ModelSpec& spec, const Arch& arch);

/// The best plan. A pure function of its arguments: warming ahead chooses what is asked for later. The spec has been checked.
[[nodiscard]] Result<Plan> choose_plan(const ModelSpec& spec, const Arch& arch);

/// What a user should know about how the plan serves the spec: "math = tf32 means fp32 here: …". Empty if nothing.
[[nodiscard]] std::string plan_note(const ModelSpec& spec, const Plan& plan);

/// What a spec is tuned for where `expected` is not given: 32 images of 224×224, grown until eight windows fit each way.
[[nodiscard]] Shape tuning_shape(const ModelSpec& spec);

}  // namespace kiln
