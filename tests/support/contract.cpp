// SPDX-License-Identifier: Apache-2.0
#include "support/contract.hpp"

#include <algorithm>
#include <cmath>

#include "model/definition.hpp"
#include "model/geometry.hpp"
#include "support/catch.hpp"
#include "support/gpu.hpp"

namespace kiln::test {

void check_contract(const RandomCase& random, const std::vector<Plan>& plans, Tolerance tolerance, std::size_t offset) {
    REQUIRE_FALSE(plans.empty());
    const std::vector<BoundedSum> expected = bounded_reference(random.spec, random.weights(), random.input, random.shape);
    const Shape& shape = random.shape;
    for (const Plan& plan : plans) {
        const std::vector<float> sums = forward_once(random, plan, offset);
        INFO(plan.family->name() << " " << to_string(plan.candidate.tile) << ", spec " << describe(random.spec) << ", batch "
                                 << shape.batch << ", " << shape.height << "x" << shape.width << ", offset " << offset);
        REQUIRE(sums.size() == expected.size());
        for (std::size_t n = 0; n < sums.size(); ++n) {
            const double outer = tolerance == Tolerance::logit_alone ? 1e-6 * std::abs(expected[n].value) : 0.0;
            // One rounding, of y itself to fp32, is in no kernel's hands.
            const double allowed = expected[n].tolerance - outer + 0x1p-24 * std::abs(expected[n].value);
            if (std::abs(sums[n] - expected[n].value) <= allowed) continue;
            INFO("image " << n << ": " << sums[n] << ", definition " << expected[n].value << ", allowed " << allowed);
            CHECK(std::abs(sums[n] - expected[n].value) <= allowed);
        }
    }
}

void check_contract_in_every_family(const std::vector<RandomCase>& cases, Tolerance tolerance, std::size_t offset) {
    std::vector<ModelSpec> specs;
    for (const RandomCase& each : cases) specs.push_back(each.spec);
    compile_ahead(specs);
    for (const RandomCase& each : cases) check_contract(each, best_plan_of_each_family(each.spec), tolerance, offset);
}

std::vector<float> sequential_fp32_sums(const RandomCase& random) {
    const ModelSpec& spec = random.spec;
    const auto [window_height, window_width] = window_size(spec);
    const auto scale = 1.0 / static_cast<double>(spec.pool_kernel_size.height * spec.pool_kernel_size.width);
    std::vector<float> sums;
    for (std::int64_t n = 0; n < random.shape.batch; ++n) {
        float sum = 0;
        const float* weight = random.weight.data();
        for (std::int64_t c = 0; c < spec.in_channels; ++c) {
            const float* plane = random.input.data() + (n * spec.in_channels + c) * window_height * window_width;
            for (std::int64_t ky = 0; ky < spec.kernel_size.height; ++ky) {
                for (std::int64_t kx = 0; kx < spec.kernel_size.width; ++kx, ++weight) {
                    float box = 0;
                    for (std::int64_t dy = 0; dy < spec.pool_kernel_size.height; ++dy) {
                        float row = 0;
                        for (std::int64_t dx = 0; dx < spec.pool_kernel_size.width; ++dx)
                            row += plane[(ky + dy) * window_width + kx + dx];
                        box += row;
                    }
                    sum = std::fma(static_cast<float>(*weight * scale), box, sum);
                }
            }
        }
        sums.push_back(sum + (spec.bias ? random.bias[0] : 0.0F));
    }
    return sums;
}

double largest_error_in_units(const RandomCase& random, const std::vector<float>& sums) {
    RandomCase absolute = random;
    for (float& value : absolute.input) value = std::abs(value);
    for (float& value : absolute.weight) value = std::abs(value);
    std::fill(absolute.bias.begin(), absolute.bias.end(), 0.0F);
    const std::vector<double> expected = reference(random.spec, random.weights(), random.input, random.shape);
    const std::vector<double> magnitude = reference(absolute.spec, absolute.weights(), absolute.input, absolute.shape);
    double largest = 0;
    for (std::size_t n = 0; n < sums.size(); ++n) {
        const double error = std::abs(sums[n] - expected[n]) / (0x1p-24 * magnitude[n]);
        largest = std::isnan(error) ? error : std::max(largest, error);
    }
    return largest;
}

}  // namespace kiln::test
