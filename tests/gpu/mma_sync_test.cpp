// SPDX-License-Identifier: Apache-2.0
// What only the mma.sync family does: tiles whose warps divide k, which the planner takes where it expects few positions; here
// they serve many, in runs that come back to their shared memory, with whole and padded filters, in fp32 and tf32.
#include <cmath>
#include <limits>
#include <vector>

#include "model/families/mma_tile.hpp"
#include "support/catch.hpp"
#include "support/contract.hpp"
#include "support/gpu.hpp"
#include "support/random_case.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

/// Every few of the tiles whose warps divide k, the best among them; empty on archs without the family.
std::vector<Plan> dividing_plans(const ModelSpec& spec) {
    std::vector<Plan> plans = plans_of_family(spec, "mma_sync");
    std::erase_if(plans, [](const Plan& plan) { return MmaTile::from(plan.candidate.tile).k_warps == 1; });
    return some_of(std::move(plans), 6);
}

std::vector<RandomCase> dividing_cases() {
    std::vector<RandomCase> all;
    const auto add = [&](std::int64_t in_channels, std::int64_t out_channels, Size2 kernel, Math math) {
        const ModelSpec spec{.in_channels = in_channels,
                             .out_channels = out_channels,
                             .kernel_size = kernel,
                             .pool_kernel_size = 2,
                             .activation = Activation::identity,
                             .math = math,
                             .expected = Shape{1, 8, 9}};
        all.push_back(drawn_case(spec, {70, 12, 11}, static_cast<std::uint32_t>(701 + all.size())));
    };
    add(32, 130, 3, Math::fp32);  // one chunk may be all, for several tiles of filters in the same block
    add(256, 40, 3, Math::fp32);  // many chunks
    add(300, 24, 1, Math::fp32);  // channels that run out in the last chunk
    add(32, 130, 3, Math::tf32);
    add(72, 33, {2, 3}, Math::tf32);
    return all;
}

}  // namespace

TEST_CASE("the mma.sync family: warps that divide k meet the contract, with the same bits again and again") {
    for (const RandomCase& random : dividing_cases()) {
        const std::vector<Plan> plans = dividing_plans(random.spec);
        if (plans.empty()) continue;
        compile_ahead(random.spec, plans);
        check_contract(random, plans);
        for (const Plan& plan : plans) check_same_bits(random, plan);
    }
}

TEST_CASE("the mma.sync family: a NaN reaches its own image alone where warps divide k") {
    for (const RandomCase& clean : dividing_cases()) {
        for (const Plan& plan : dividing_plans(clean.spec)) {
            INFO(to_string(plan.candidate.tile) << ", spec " << describe(clean.spec));
            RandomCase random = clean;
            // In the last channel of image 33, beside the corner.
            const std::size_t image = random.input.size() / static_cast<std::size_t>(random.shape.batch), plane = 132;
            random.input[34 * image - plane + 14] = std::numeric_limits<float>::quiet_NaN();
            const std::vector<float> before = forward_once(clean, plan), after = forward_once(random, plan);
            for (std::size_t n = 0; n < after.size(); ++n) {
                if (n == 33) {
                    CHECK(std::isnan(after[n]));
                } else {
                    CHECK(after[n] == before[n]);
                }
            }
        }
    }
}
