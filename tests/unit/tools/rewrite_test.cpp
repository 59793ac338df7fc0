// SPDX-License-Identifier: Apache-2.0
#include "kiln/rewrite.hpp"

#include <cmath>
#include <limits>

#include <kiln/reference.hpp>

#include "kiln/kernel_json.hpp"
#include "kiln/sum_check.hpp"
#include "support/catch.hpp"
#include "support/random_case.hpp"

using namespace kiln;
using namespace kiln::tools;

TEST_CASE("the rewrite gives the definition's sums, within its own bound") {
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
        const auto drawn = test::random_case(seed);
        const auto sums = reference(drawn.spec, drawn.weights(), drawn.input, drawn.shape);
        const auto check = check_sums(sums, rewritten_sums(drawn.spec, drawn.weights(), drawn.input, drawn.shape));
        INFO(seed << ": " << spec_sentence(drawn.spec));
        CHECK(check.passed);
        CHECK(check.max_relative_error < 1e-9);
    }
}

// The bound has to be tight, or the check of the CPU's reference would let everything pass.
TEST_CASE("the rewrite's bound is exceeded when one weight is a little off") {
    for (std::uint32_t seed = 0; seed < 50; ++seed) {
        auto drawn = test::random_case(seed);
        const auto expected = rewritten_sums(drawn.spec, drawn.weights(), drawn.input, drawn.shape);
        for (float& weight : drawn.weight) weight *= 1.00001F;
        const auto check = check_sums(reference(drawn.spec, drawn.weights(), drawn.input, drawn.shape), expected);
        INFO(seed << ": " << spec_sentence(drawn.spec));
        CHECK_FALSE(check.passed);
    }
}

TEST_CASE("the rewrite of an image with a NaN that a window uses is NaN, and the others' are not") {
    auto drawn = test::drawn_case({.in_channels = 2, .out_channels = 3, .kernel_size = 3, .pool_kernel_size = 2},
                                  {.batch = 3, .height = 9, .width = 9}, 7);
    drawn.input[2 * 81 + 40] = std::numeric_limits<float>::quiet_NaN();
    const auto sums = rewritten_sums(drawn.spec, drawn.weights(), drawn.input, drawn.shape);
    CHECK(std::isfinite(sums[0].value));
    CHECK(std::isnan(sums[1].value));
    CHECK(std::isfinite(sums[2].value));
    CHECK(check_sums(reference(drawn.spec, drawn.weights(), drawn.input, drawn.shape), sums).passed);
}

TEST_CASE("no images, no sums") {
    const auto drawn = test::drawn_case({.in_channels = 1, .out_channels = 1, .kernel_size = 1, .pool_kernel_size = 1},
                                        {.batch = 0, .height = 4, .width = 4}, 1);
    CHECK(rewritten_sums(drawn.spec, drawn.weights(), drawn.input, drawn.shape).empty());
}
