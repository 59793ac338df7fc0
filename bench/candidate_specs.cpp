// SPDX-License-Identifier: Apache-2.0
#include "candidate_specs.hpp"

#include <array>
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "model/geometry.hpp"
#include "model/validation.hpp"
#include "support/benchmark_shapes.hpp"

namespace kiln::bench {

namespace {

class Draw {
public:
    explicit Draw(std::uint32_t seed) : generator_(seed) {}

    bool chance(double share) { return std::uniform_real_distribution<>(0, 1)(generator_) < share; }
    /// Each magnitude as often as another.
    std::int64_t log_uniform(double least, double most) {
        std::uniform_real_distribution<> exponent(std::log(least), std::log(most + 1));
        return std::min(static_cast<std::int64_t>(std::exp(exponent(generator_))), static_cast<std::int64_t>(most));
    }
    template <std::size_t count>
    std::int64_t of(const std::array<std::int64_t, count>& choices) {
        return choices[std::uniform_int_distribution<std::size_t>(0, count - 1)(generator_)];
    }

private:
    std::mt19937 generator_;
};

ModelSpec draw_spec(Draw& draw) {
    constexpr std::array<std::int64_t, 10> kernels{1, 1, 2, 3, 3, 3, 3, 4, 5, 7};
    constexpr std::array<std::int64_t, 10> pools{1, 2, 2, 2, 3, 4, 4, 5, 7, 8};
    ModelSpec spec{.in_channels = draw.log_uniform(1, 512),
                   .out_channels = draw.log_uniform(1, 512),
                   .kernel_size = draw.of(kernels),
                   .pool_kernel_size = draw.of(pools)};
    if (draw.chance(0.1)) spec.kernel_size.width = draw.of(kernels);
    if (draw.chance(0.1)) spec.pool_kernel_size.height = draw.of(pools);
    if (draw.chance(0.4)) spec.padding = {spec.kernel_size.height / 2, spec.kernel_size.width / 2};
    if (draw.chance(0.1)) spec.stride = 2;
    if (draw.chance(0.1)) spec.dilation = 2;
    if (draw.chance(0.1)) spec.activation = Activation::identity;
    Shape shape{.batch = draw.log_uniform(1, 256), .height = draw.log_uniform(14, 1024), .width = 0};
    shape.width = draw.chance(0.6) ? shape.height : draw.log_uniform(14, 1024);
    spec.expected = shape;
    return spec;
}

/// Neither so small that only launching is measured, nor so large that it is a matter of seconds.
bool is_worth_measuring(const ModelSpec& spec) {
    if (!check_spec(spec) || !check_shape(spec, *spec.expected)) return false;
    const Shape& shape = *spec.expected;
    const Size2 pooled = pooled_size_unchecked(spec, shape);
    const double input = 4.0 * static_cast<double>(shape.batch * spec.in_channels * shape.height * shape.width);
    const double products = static_cast<double>(shape.batch * pooled.height * pooled.width) *
                            static_cast<double>(reduction_length(spec) * spec.out_channels);
    return pooled.height > 0 && pooled.width > 0 && input >= 1e5 && input <= 4e8 && products >= 1e6 && products <= 1e10;
}

}  // namespace

std::vector<CandidateSpec> benchmark_candidates() {
    std::vector<CandidateSpec> specs;
    for (const Math math : {Math::fp32, Math::tf32}) {
        for (const test::BenchmarkShape& each : test::benchmark_shapes()) {
            CandidateSpec& added =
                specs.emplace_back(CandidateSpec{.name = each.name, .spec = each.spec, .is_benchmark_shape = true});
            added.spec.expected = each.shape;
            added.spec.math = math;
            if (math == Math::tf32) added.name += "_tf32";
        }
    }
    return specs;
}

std::vector<CandidateSpec> random_candidates(int count, std::uint32_t seed) {
    std::vector<CandidateSpec> specs;
    Draw draw(seed);
    for (int index = 0; index < count;) {
        ModelSpec spec = draw_spec(draw);
        if (!is_worth_measuring(spec)) continue;
        if (index % 5 == 4) spec.math = Math::tf32;
        specs.push_back({.name = fmt::format("random_{}_{}", seed, index++), .spec = spec});
    }
    return specs;
}

}  // namespace kiln::bench
