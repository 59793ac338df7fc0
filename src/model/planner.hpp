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

/// Every legal plan, the best first: by predicted time at `spec.expected`; without it, by how little is lost at any of
/// `tuning_shapes` against the plan that is best there, and `predicted_us` is a mean over them that weighs the losses.
[[nodiscard]] std::vector<Plan> enumerate_plans(const ModelSpec& spec, const Arch& arch);

/// The best plan. A pure function of its arguments: warming ahead chooses what is asked for later. The spec has been checked.
[[nodiscard]] Result<Plan> choose_plan(const ModelSpec& spec, const Arch& arch);

/// What a user should know about how the plan serves the spec: "math = tf32 means fp32 here: …". Empty if nothing.
[[nodiscard]] std::string plan_note(const ModelSpec& spec, const Plan& plan);

/// What a spec is tuned for: `expected`, or, without it, few and many images of several sizes about those that networks have at
/// so many channels.
[[nodiscard]] std::vector<Shape> tuning_shapes(const ModelSpec& spec);

/// The one of them by which families list their tiles: `expected`, or 32 images of the usual size.
[[nodiscard]] Shape tuning_shape(const ModelSpec& spec);

}  // namespace kiln
