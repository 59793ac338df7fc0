// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/contract.hpp"
#include "support/gpu.hpp"
#include "support/random_case.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

/// Images so small that a tile of positions spans several, and images larger than a tile.
const std::vector<RandomCase>& images_of_all_sizes() {
    static const std::vector<RandomCase> all{
        drawn_case({.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4}, {5, 39, 45}, 41),
        drawn_case({.in_channels = 3, .out_channels = 5, .kernel_size = 2, .pool_kernel_size = 2}, {40, 4, 6}, 43),
        drawn_case({.in_channels = 16, .out_channels = 20, .kernel_size = 5, .pool_kernel_size = 3}, {6, 20, 23}, 47),
        drawn_case({.in_channels = 9, .out_channels = 16, .kernel_size = 3, .pool_kernel_size = 2}, {70, 4, 5}, 48),
        drawn_case({.in_channels = 64, .out_channels = 40, .kernel_size = 3, .pool_kernel_size = 1, .stride = 4}, {3, 10, 11},
                   49),
        drawn_case(
            {.in_channels = 20, .out_channels = 24, .kernel_size = 3, .pool_kernel_size = 1, .stride = 4, .math = Math::tf32},
            {3, 9, 11}, 50),
        drawn_case({.in_channels = 2, .out_channels = 3, .kernel_size = 1, .pool_kernel_size = 2, .stride = 2}, {4, 20, 24}, 53),
        drawn_case({.in_channels = 10, .out_channels = 72, .kernel_size = 3, .pool_kernel_size = 2}, {5, 9, 12}, 54),
        drawn_case({.in_channels = 9, .out_channels = 80, .kernel_size = 3, .pool_kernel_size = 2, .math = Math::tf32},
                   {4, 9, 11}, 55),
    };
    return all;
}

std::size_t pixel_index(const RandomCase& random, std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) {
    return static_cast<std::size_t>(((n * random.spec.in_channels + c) * random.shape.height + y) * random.shape.width + x);
}

}  // namespace

TEST_CASE("a NaN pixel makes its image's sum NaN and changes no other bit") {
    for (const RandomCase& clean : images_of_all_sizes()) {
        for (const Plan& plan : best_plan_of_each_family(clean.spec)) {
            const std::vector<float> before = forward_once(clean, plan);
            for (const std::int64_t hit : {std::int64_t{0}, clean.shape.batch / 2, clean.shape.batch - 1}) {
                RandomCase random = clean;
                random.input[pixel_index(random, hit, random.spec.in_channels - 1, 2, 2)] = not_a_number;
                const std::vector<float> after = forward_once(random, plan);
                INFO(plan.family->name() << " " << to_string(plan.candidate.tile) << ", image " << hit);
                for (std::size_t n = 0; n < after.size(); ++n) {
                    if (static_cast<std::int64_t>(n) == hit) {
                        CHECK(std::isnan(after[n]));
                    } else {
                        CHECK(after[n] == before[n]);
                    }
                }
            }
        }
    }
}

TEST_CASE("NaN in every pixel that no window uses changes no bit") {
    for (const RandomCase& clean : images_of_all_sizes()) {
        // A pixel is used if the definition's sum is NaN with that pixel NaN in an image of its own.
        const Shape one{1, clean.shape.height, clean.shape.width};
        const std::int64_t pixels = one.height * one.width;
        RandomCase probe = drawn_case(clean.spec, {pixels, one.height, one.width}, 3);
        for (std::int64_t each = 0; each < pixels; ++each) {
            probe.input[pixel_index(probe, each, 0, each / one.width, each % one.width)] = not_a_number;
        }
        const std::vector<double> used = reference(probe.spec, probe.weights(), probe.input, probe.shape);

        RandomCase random = clean;
        std::size_t unused = 0;
        for (std::size_t index = 0; index < random.input.size(); ++index) {
            if (!std::isnan(used[index % static_cast<std::size_t>(pixels)])) random.input[index] = not_a_number, ++unused;
        }
        REQUIRE(unused > 0);
        for (const Plan& plan : best_plan_of_each_family(clean.spec)) {
            INFO(plan.family->name() << " " << to_string(plan.candidate.tile));
            CHECK(forward_once(random, plan) == forward_once(clean, plan));
        }
    }
}

TEST_CASE("an infinite pixel gives NaN or the reference's value, never another finite number") {
    for (const RandomCase& clean : images_of_all_sizes()) {
        for (const float value : {infinity, -infinity}) {
            RandomCase random = clean;
            random.input[pixel_index(random, 1, 0, 1, 1)] = value;
            const std::vector<double> expected = reference(random.spec, random.weights(), random.input, random.shape);
            for (const Plan& plan : best_plan_of_each_family(clean.spec)) {
                const std::vector<float> before = forward_once(clean, plan), after = forward_once(random, plan);
                INFO(plan.family->name() << ": " << after[1] << ", reference " << expected[1]);
                CHECK((std::isnan(after[1]) || std::abs(after[1] - expected[1]) <= 1e-3 * std::abs(expected[1])));
                for (std::size_t n = 0; n < after.size(); ++n) {
                    if (n != 1) CHECK(after[n] == before[n]);
                }
            }
        }
    }
}

TEST_CASE("logits past the range of the exponential saturate to 0 and 1") {
    for (const float scale : {1e30F, -1e30F}) {
        RandomCase random = images_of_all_sizes()[0];
        for (float& value : random.input) value = std::abs(value) + 0.1F;
        for (float& value : random.weight) value = scale;
        check_contract(random, best_plan_of_each_family(random.spec));
    }
}
