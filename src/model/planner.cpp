// SPDX-License-Identifier: Apache-2.0
#include "model/planner.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "model/geometry.hpp"

namespace kiln {

std::vector<Plan> enumerate_plans(const ModelSpec& spec, const Arch& arch) {
    std::vector<Plan> plans;
    for (const Family* family : all_families()) {
        for (Candidate& candidate : family->candidates(spec, arch)) plans.push_back({family, std::move(candidate)});
    }
    std::stable_sort(plans.begin(), plans.end(),
                     [](const Plan& a, const Plan& b) { return a.candidate.predicted_us < b.candidate.predicted_us; });
    return plans;
}

Result<Plan> choose_plan(const ModelSpec& spec, const Arch& arch) {
    std::vector<Plan> plans = enumerate_plans(spec, arch);
    if (plans.empty()) return fail(ErrorCode::internal, "no kernel family serves this spec on {}", arch.name());
    return std::move(plans.front());
}

std::string plan_note(const ModelSpec& spec, const Plan& plan) {
    if (spec.math == Math::fp32 || plan.family->uses_tf32()) return {};
    return fmt::format("math = tf32 means fp32 here: the {} family has no TF32", plan.family->name());
}

Shape tuning_shape(const ModelSpec& spec) {
    if (spec.expected && spec.expected->batch > 0) return *spec.expected;
    const Size2 window = window_size(spec);
    const auto extent = [](std::int64_t window, std::int64_t step, std::int64_t padding) {
        return std::max<std::int64_t>(224, window + 7 * step - 2 * padding);
    };
    return {.batch = 32,
            .height = extent(window.height, spec.stride.height * spec.pool_kernel_size.height, spec.padding.height),
            .width = extent(window.width, spec.stride.width * spec.pool_kernel_size.width, spec.padding.width)};
}

}  // namespace kiln
