// SPDX-License-Identifier: Apache-2.0
// What only the Hopper gemm family does: clusters whose size the launch chooses, large kernels and pools, tiles that are cut
// short.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "model/families/hopper_gemm_cost.hpp"
#include "model/geometry.hpp"
#include "support/catch.hpp"
#include "support/contract.hpp"
#include "support/gpu.hpp"
#include "support/random_case.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

std::vector<Plan> gemm_plans(const ModelSpec& spec, std::size_t count) {
    return some_of(plans_of_family(spec, "hopper_gemm"), count);
}

/// Tiles whose consumers sum pairs of positions' boxes themselves. Where the family serves the GPU there must be some: no test
/// here would fail without.
std::vector<Plan> plans_without_maps(const ModelSpec& spec) {
    std::vector<Plan> plans = plans_of_family(spec, "hopper_gemm");
    const bool is_served = !plans.empty();
    std::erase_if(plans, [](const Plan& plan) { return GemmTile::from(plan.candidate.tile).has_maps(); });
    REQUIRE(plans.empty() != is_served);
    return some_of(plans, 4);
}

/// Rows of an odd and an even number of positions, of one, and longer than a tile; tiles of many images.
std::vector<RandomCase> cases_without_maps() {
    ModelSpec strided = identity_spec(12, 24, {2, 3}, {1, 4});
    strided.stride = {2, 1};
    ModelSpec dilated = identity_spec(12, 8, 3, 2);
    dilated.dilation = {1, 2};
    ModelSpec rounded = identity_spec(16, 32, 5, 3);
    rounded.math = Math::tf32;
    std::vector<RandomCase> cases;
    for (const ModelSpec& spec :
         {identity_spec(16, 32, 5, 3), identity_spec(8, 32, 3, 1), identity_spec(20, 24, 3, 2), strided, dilated, rounded}) {
        for (const Shape& shape : {Shape{3, 31, 37}, Shape{2, 20, 34}, Shape{1, 14, 811}, Shape{37, 11, 7}, Shape{20, 12, 10}}) {
            cases.push_back(drawn_case(spec, shape, 801));
        }
    }
    return cases;
}

}  // namespace

TEST_CASE("the gemm family: one kernel divides the channels by as many blocks as each shape asks for") {
    const ModelSpec spec = identity_spec(96, 136, 3, 2);
    const std::vector<Plan> plans = gemm_plans(spec, 4);
    if (plans.empty()) return;
    compile_ahead(spec, plans);
    std::set<std::int64_t> chosen;
    for (const Shape& shape : {Shape{1, 4, 4}, Shape{2, 14, 15}, Shape{9, 16, 16}, Shape{20, 21, 20}, Shape{24, 30, 41},
                               Shape{40, 33, 30}, Shape{3, 9, 700}}) {
        const RandomCase random = drawn_case(spec, shape, static_cast<std::uint32_t>(shape.batch));
        check_contract(random, plans);
        for (const Plan& plan : plans) {
            chosen.insert(gemm_launch(spec, GemmTile::from(plan.candidate.tile), shape, 132).splits);
        }
        check_same_bits(random, plans.front());
    }
    CHECK(chosen.size() >= 4);
}

TEST_CASE("the gemm family: kernels and pools larger than those of most networks") {
    ModelSpec padded = identity_spec(5, 20, 9, 2);
    padded.padding = 4;
    ModelSpec dilated = identity_spec(12, 8, {3, 9}, {6, 2});
    dilated.dilation = {2, 1};
    ModelSpec strided = identity_spec(16, 24, 5, 4);
    strided.stride = 2;
    ModelSpec as_large = identity_spec(64, 72, 7, 7);  // windows of 13 pixels: one phase of a column at a time
    as_large.padding = 3;
    for (const ModelSpec& spec :
         {identity_spec(16, 64, 9, 2), identity_spec(6, 40, 11, 2), padded, identity_spec(16, 32, 3, 5), as_large,
          identity_spec(1, 200, 7, 2), identity_spec(48, 32, 7, 8), identity_spec(24, 72, 3, 7), identity_spec(64, 128, 3, 8),
          identity_spec(8, 64, 3, 16), identity_spec(40, 10, 1, 14), identity_spec(16, 16, {2, 3}, {12, 10}), dilated, strided}) {
        const std::vector<Plan> plans = gemm_plans(spec, 3);
        if (plans.empty()) continue;
        compile_ahead(spec, plans);
        for (const Shape& shape : {Shape{5, 47, 52}, Shape{2, 40, 333}}) {
            const RandomCase random = drawn_case(spec, shape, 77);
            check_contract(random, plans);
            check_contract(random, {plans.front()}, Tolerance::sum, 1);
        }
    }
}

TEST_CASE("the gemm family: pairs of positions without maps, wherever the input is aligned") {
    for (const RandomCase& random : cases_without_maps()) {
        const std::vector<Plan> plans = plans_without_maps(random.spec);
        if (plans.empty()) continue;
        compile_ahead(random.spec, plans);
        check_contract(random, plans);
        for (const std::size_t offset : {1U, 2U, 3U}) check_contract(random, {plans.front()}, Tolerance::sum, offset);
        check_same_bits(random, plans.front());
    }
}

TEST_CASE("the gemm family: pairs of positions, with the tiles of one shape for others") {
    for (const Shape& expected : {Shape{1, 9, 9}, Shape{2, 30, 400}, Shape{64, 40, 43}}) {
        ModelSpec spec = identity_spec(16, 32, 5, 3);
        spec.expected = expected;
        const std::vector<Plan> plans = plans_without_maps(spec);
        if (plans.empty()) continue;
        for (const Shape& shape : {Shape{70, 7, 8}, Shape{2, 9, 701}, Shape{1, 500, 10}, Shape{3, 41, 45}}) {
            check_contract(drawn_case(spec, shape, 811), {plans.front(), plans.back()});
        }
    }
}

TEST_CASE("the gemm family: pairs of positions, over memory that ends with the input", "[sanitizer]") {
    for (const auto& [spec, shape] :
         {std::pair{identity_spec(16, 32, 5, 3), Shape{3, 16, 22}}, std::pair{identity_spec(9, 24, 3, 2), Shape{5, 8, 13}},
          std::pair{identity_spec(8, 16, 3, 1), Shape{1, 5, 230}}}) {
        const std::vector<Plan> plans = plans_without_maps(spec);
        if (plans.empty()) continue;
        for (const std::size_t offset : {0U, 1U}) {
            check_contract(drawn_case(spec, shape, 821), {plans.front()}, Tolerance::sum, offset);
        }
    }
}

TEST_CASE("the gemm family: pairs of positions err by no more than 4 units of S, or twice a plain fp32 loop") {
    const ModelSpec spec = identity_spec(16, 32, 5, 3);
    const Size2 window = window_size(spec);
    const std::vector<Plan> plans = plans_without_maps(spec);
    for (const bool non_negative : {false, true}) {
        RandomCase random = drawn_case(spec, {256, window.height, window.width}, 22);
        // One logit an image: the other filters add nothing.
        std::fill(random.weight.begin() + static_cast<std::ptrdiff_t>(random.weight.size() / 32), random.weight.end(), 0.0F);
        std::fill(random.bias.begin() + 1, random.bias.end(), 0.0F);
        if (non_negative) {
            for (float& value : random.input) value = std::abs(value);
            for (float& value : random.weight) value = std::abs(value);
        }
        const double allowed = std::max(4.0, 2 * largest_error_in_units(random, sequential_fp32_sums(random)));
        for (const Plan& plan : plans) {
            INFO(to_string(plan.candidate.tile) << (non_negative ? ", non-negative" : ""));
            CHECK(largest_error_in_units(random, forward_once(random, plan)) <= allowed);
        }
    }
}
