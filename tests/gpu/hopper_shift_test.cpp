// SPDX-License-Identifier: Apache-2.0
// What only the shift family does: tiles of places that are no positions, strips of wide images, tiles of many images, images
// beside each other whose channels blocks share, and rings that wrap. Shapes with more units than a GPU has multiprocessors are
// among them.
#include <algorithm>
#include <cmath>
#include <vector>

#include "model/geometry.hpp"
#include "support/catch.hpp"
#include "support/contract.hpp"
#include "support/gpu.hpp"
#include "support/random_case.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

std::vector<Plan> shift_plans(const ModelSpec& spec) {
    return plans_of_family(spec, "hopper_shift");
}

/// Tiles made for no shape. Where the family serves the GPU there must be some: no test here would fail without.
std::vector<Plan> untold_plans(const ModelSpec& spec) {
    std::vector<Plan> plans = shift_plans(spec);
    const bool is_served = !plans.empty();
    std::erase_if(plans, [](const Plan& plan) { return tile_value(plan.candidate.tile, "beside") != 0; });
    REQUIRE(plans.empty() != is_served);
    return plans;
}

std::vector<RandomCase> shift_cases() {
    std::vector<RandomCase> all;
    const auto add = [&](ModelSpec spec, const Shape& shape) {
        spec.expected = shape;
        all.push_back(drawn_case(spec, shape, static_cast<std::uint32_t>(701 + all.size())));
    };
    add(identity_spec(16, 128, 3, 2), {30, 56, 57});      // rows of 27 and one more place
    add(identity_spec(9, 70, 3, 1), {2, 24, 700});        // strips; channels and filters that run out
    add(identity_spec(12, 200, {2, 3}, 2), {300, 6, 7});  // tiles of many images, two of filters
    add(identity_spec(8, 96, 5, 3), {3, 40, 61});         // two taps a k-step, and one alone
    ModelSpec padded = identity_spec(20, 130, 3, 2);
    padded.padding = {1, 2};
    add(padded, {7, 30, 33});
    ModelSpec framed = identity_spec(8, 82, {3, 4}, {1, 2});  // whole boxes lie in the padding
    framed.padding = {3, 3};
    framed.dilation = 2;
    add(framed, {6, 5, 4});
    ModelSpec outside = identity_spec(24, 130, 3, 1);  // taps of the last rows see nothing but padding
    outside.padding = 1;
    outside.dilation = 2;
    add(outside, {40, 20, 23});
    ModelSpec sparse = identity_spec(8, 72, 3, {2, 3});
    sparse.stride = {2, 1};
    sparse.dilation = {1, 2};
    sparse.padding = {0, 3};
    sparse.bias = false;
    add(sparse, {5, 41, 90});
    ModelSpec point = identity_spec(72, 80, 1, 2);
    point.activation = Activation::sigmoid;
    add(point, {9, 31, 30});
    add(identity_spec(70, 136, 3, 2), {13, 14, 14});  // images beside each other: not eights, and channels in parts
    add(identity_spec(24, 80, 5, 3), {8, 19, 21});
    ModelSpec one_product = identity_spec(32, 128, 3, 2);
    one_product.math = Math::tf32;
    add(one_product, {4, 28, 29});
    return all;
}

}  // namespace

TEST_CASE("the shift family: every tile, wherever the input is aligned") {
    for (const RandomCase& random : shift_cases()) {
        const std::vector<Plan> plans = shift_plans(random.spec);
        if (plans.empty()) continue;
        compile_ahead(random.spec, plans);
        for (const std::size_t offset : {0U, 1U, 2U}) check_contract(random, plans, Tolerance::sum, offset);
    }
}

TEST_CASE("the shift family: a tile made for one shape serves any other") {
    for (const Shape& expected : {Shape{1, 6, 6}, Shape{2, 30, 400}, Shape{64, 20, 20}}) {
        ModelSpec spec = identity_spec(8, 72, 3, 2);
        spec.expected = expected;
        const std::vector<Plan> plans = shift_plans(spec);
        if (plans.empty()) continue;
        for (const Shape& shape : {Shape{70, 6, 6}, Shape{2, 7, 700}, Shape{1, 500, 6}, Shape{3, 41, 45}, Shape{1, 20, 262}}) {
            check_contract(drawn_case(spec, shape, 721), {plans.front(), plans.back()});
        }
    }
}

TEST_CASE("the shift family: a tile made for no shape puts images beside each other or not, and divides channels or not") {
    ModelSpec padded = identity_spec(40, 136, 3, 2);
    padded.padding = 1;
    for (const ModelSpec& spec : {identity_spec(40, 136, 3, 2), padded, identity_spec(520, 70, 3, 2)}) {
        const std::vector<Plan> plans = untold_plans(spec);
        if (plans.empty()) continue;
        const std::vector<Plan> some{plans.front(), plans[plans.size() / 2], plans.back()};
        compile_ahead(spec, some);
        for (const Shape& shape : {Shape{70, 6, 6}, Shape{9, 14, 15}, Shape{1, 14, 14}, Shape{1, 90, 47}, Shape{3, 23, 150}}) {
            const RandomCase random = drawn_case(spec, shape, 741);
            check_contract(random, some);
            check_same_bits(random, plans.front());
        }
    }
}

TEST_CASE("the shift family: images beside each other or not, over memory that ends with the input", "[sanitizer]") {
    const ModelSpec spec = identity_spec(20, 136, 3, 2);
    const std::vector<Plan> plans = untold_plans(spec);
    if (plans.empty()) return;
    for (const Shape& shape : {Shape{11, 10, 11}, Shape{2, 19, 22}}) {
        check_contract(drawn_case(spec, shape, 751), {plans.front(), plans.back()}, Tolerance::sum, 1);
    }
}

TEST_CASE("the shift family: the same bits again and again, whatever was in memory before") {
    for (const RandomCase& random : shift_cases()) {
        const std::vector<Plan> plans = shift_plans(random.spec);
        if (!plans.empty()) check_same_bits(random, plans.front());
    }
}

TEST_CASE("the shift family: the largest error is within 4 units of S, or twice that of a plain fp32 loop") {
    for (const std::int64_t in_channels : {64, 512}) {
        const ModelSpec spec = identity_spec(in_channels, 72, 3, 2);
        const Size2 window = window_size(spec);
        const std::vector<Plan> plans = shift_plans(spec);
        if (plans.empty()) continue;
        for (const bool non_negative : {false, true}) {
            RandomCase random = drawn_case(spec, {256, window.height, window.width}, 22);
            // One logit an image: the other filters add nothing.
            std::fill(random.weight.begin() + static_cast<std::ptrdiff_t>(random.weight.size() / 72), random.weight.end(), 0.0F);
            std::fill(random.bias.begin() + 1, random.bias.end(), 0.0F);
            if (non_negative) {
                for (float& value : random.input) value = std::abs(value);
                for (float& value : random.weight) value = std::abs(value);
            }
            const double allowed = std::max(4.0, 2 * largest_error_in_units(random, sequential_fp32_sums(random)));
            for (const Plan& plan : {plans.front(), plans.back()}) {
                INFO(to_string(plan.candidate.tile)
                     << ", " << in_channels << " channels" << (non_negative ? ", non-negative" : ""));
                CHECK(largest_error_in_units(random, forward_once(random, plan)) <= allowed);
            }
        }
    }
}

TEST_CASE("the shift family: images beside each other, over memory that ends with the input", "[sanitizer]") {
    ModelSpec padded = identity_spec(13, 70, 3, 1);
    padded.padding = 1;
    const std::vector<std::pair<ModelSpec, Shape>> cases{
        {identity_spec(20, 136, 3, 2), {11, 10, 11}}, {padded, {9, 7, 8}}, {identity_spec(9, 70, 3, 2), {9, 8, 110}}};
    for (auto [spec, shape] : cases) {
        spec.expected = shape;
        std::vector<Plan> plans = shift_plans(spec);
        std::erase_if(plans, [](const Plan& plan) { return tile_value(plan.candidate.tile, "beside") == 1; });
        if (plans.empty()) continue;
        for (const std::size_t offset : {0U, 1U}) {
            check_contract(drawn_case(spec, shape, 731), {plans.front(), plans.back()}, Tolerance::sum, offset);
        }
    }
}
