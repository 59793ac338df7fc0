// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <nlohmann/json.hpp>

#include "candidate_jobs.hpp"
#include "driver/context.hpp"

namespace kiln::bench {

/// Times one spec's candidates, each for `rounds` of its graph, then those that matter once more, side by side. The result says
/// which was best, what the planner chose and what that loses, and lists every candidate; "agrees" where it computes the same.
[[nodiscard]] nlohmann::ordered_json measure_job(const driver::Context& context, const Job& job, std::size_t rounds);

}  // namespace kiln::bench
