// SPDX-License-Identifier: Apache-2.0
// What only the Hopper gemm family does: clusters whose size the launch chooses, large kernels and pools, tiles that are cut
// short.
#include <set>
#include <vector>

#include "model/families/hopper_gemm_cost.hpp"
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
