// SPDX-License-Identifier: Apache-2.0
#include "model/planner.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "model/geometry.hpp"

namespace kiln {

namespace {

/// What each plan takes at each of these shapes.
std::vector<std::vector<double>> times_at(const ModelSpec& spec, const std::vector<Plan>& plans, const std::vector<Shape>& shapes,
                                          const Arch& arch) {
    std::vector<std::vector<double>> times;
    times.reserve(plans.size());
    for (const Plan& plan : plans) {
        std::vector<double>& row = times.emplace_back();
        for (const Shape& shape : shapes) row.push_back(plan.family->predicted_us(spec, plan.candidate.tile, shape, arch));
    }
    return times;
}

/// Where the shape is not known: how much longer than the best plan of each shape a plan takes, as a root mean square, in which
/// the worst shapes count most; times what the best plans take, for a figure in µs.
void rank_by_regret(const ModelSpec& spec, std::vector<Plan>& plans, const std::vector<Shape>& shapes, const Arch& arch) {
    const std::vector<std::vector<double>> times = times_at(spec, plans, shapes, arch);
    const auto count = static_cast<double>(shapes.size());
    std::vector<double> least = times.front();
    for (const std::vector<double>& row : times) {
        for (std::size_t i = 0; i < row.size(); ++i) least[i] = std::min(least[i], row[i]);
    }
    double logarithms = 0;
    for (const double us : least) logarithms += std::log(us);
    const double typical_us = std::exp(logarithms / count);
    for (std::size_t plan = 0; plan < plans.size(); ++plan) {
        double squares = 0;
        for (std::size_t i = 0; i < least.size(); ++i) squares += times[plan][i] / least[i] * (times[plan][i] / least[i]);
        plans[plan].candidate.predicted_us = typical_us * std::sqrt(squares / count);
    }
}

}  // namespace

std::vector<Plan> enumerate_plans(const ModelSpec& spec, const Arch& arch) {
    std::vector<Plan> plans;
    for (const Family* family : all_families()) {
        for (Candidate& candidate : family->candidates(spec, arch)) plans.push_back({family, std::move(candidate)});
    }
    const std::vector<Shape> shapes = tuning_shapes(spec);
    if (shapes.size() > 1 && !plans.empty()) rank_by_regret(spec, plans, shapes, arch);
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

std::vector<Shape> tuning_shapes(const ModelSpec& spec) {
    if (spec.expected && spec.expected->batch > 0) return {*spec.expected};
    // Networks trade pixels for channels: 3 of 258×258, 64 of 56×56, 256 of 28×28, 512 of 20×20.
    constexpr double values_of_image = 200'000;
    const double usual = std::sqrt(values_of_image / static_cast<double>(spec.in_channels));
    const Size2 window = window_size(spec);
    const auto extent = [&](double wished, std::int64_t window, std::int64_t step, std::int64_t padding) {
        return std::max({std::int64_t{1}, static_cast<std::int64_t>(wished), window + 3 * step - 2 * padding});  // four windows
    };
    const auto shape = [&](std::int64_t batch, double side, double columns_more = 0) -> Shape {
        const std::int64_t step_h = spec.stride.height * spec.pool_kernel_size.height;
        const std::int64_t step_w = spec.stride.width * spec.pool_kernel_size.width;
        return {.batch = batch,
                .height = extent(side * usual, window.height, step_h, spec.padding.height),
                .width = extent(std::round(side * usual / 4) * 4 + columns_more, window.width, step_w, spec.padding.width)};
    };
    // Few images and many, small ones (an eighth: 3 of 32×32, 64 of 7×7) as often as large ones, and rows that are no multiple of
    // 16 bytes; those that differ most first.
    return {shape(32, 1), shape(128, 0.125), shape(128, 2.4), shape(1, 2.4),
            shape(8, 1),  shape(16, 0.25),   shape(256, 0.4), shape(64, 1.2, 3)};
}

Shape tuning_shape(const ModelSpec& spec) {
    return tuning_shapes(spec).front();
}

}  // namespace kiln
