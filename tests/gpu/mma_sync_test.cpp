// SPDX-License-Identifier: Apache-2.0
// What only the mma.sync family does: tiles whose warps divide k, which the planner takes where it expects few positions; here
// they serve many, in runs that come back to their shared memory, with whole and padded filters, in fp32 and tf32. And blocks of
// which some warps only build box sums, with every kind of tile.
#include <cmath>
#include <limits>
#include <vector>

#include "model/definition.hpp"
#include "model/families/mma_tile.hpp"
#include "model/rates.hpp"
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

/// A few of the spec's tiles, with warps that only build: fewer than there are positions, as many, more; two stages and three.
std::vector<Plan> building_plans(const ModelSpec& spec) {
    std::vector<Plan> plans;
    for (const Plan& plan : some_of(plans_of_family(spec, "mma_sync"), 6)) {
        MmaTile tile = MmaTile::from(plan.candidate.tile);
        if (tile.chunks(spec) == 1 && tile.filter_tiles(spec) > 1) tile.chunk_channels = 1;
        const bool is_short = tile.chunks(spec) == 1 && tile.chunk_steps() <= longest_mma_chain && tile.k_warps == 1;
        tile.chain_steps = is_short ? tile.chunk_steps() : mma_chain_steps(spec, tile);  // one chain, where that is allowed
        if (tile.chain_steps == 0 || (tile.k_warps > 1 && tile.chunk_k() % 8 != 0)) continue;
        const std::int64_t multiplying_threads = tile.multiplying_threads();
        tile.windows_at_once = 1;
        tile.blocks = 1;
        for (const std::int64_t builder_warps : {1, 2, 4, 8}) {
            tile.builder_warps = builder_warps;
            tile.box_stages = 2 + builder_warps / 2 % 2;
            if (multiplying_threads + 32 * builder_warps > 512) break;
            const std::int64_t threads = tile.building_threads();
            if (tile.positions % threads != 0 && threads % tile.positions != 0) continue;
            if (tile.shared_bytes(spec) > rates_of(device_arch()).shared_bytes_per_block) continue;
            plans.push_back(plan);
            plans.back().candidate.tile = tile.render(spec);
        }
    }
    return some_of(std::move(plans), 8);
}

std::vector<RandomCase> building_cases() {
    std::vector<RandomCase> all;
    const auto add = [&](std::int64_t in_channels, std::int64_t out_channels, Size2 kernel, Size2 pool, Size2 padding,
                         Math math) {
        const ModelSpec spec{.in_channels = in_channels,
                             .out_channels = out_channels,
                             .kernel_size = kernel,
                             .pool_kernel_size = pool,
                             .padding = padding,
                             .activation = Activation::identity,
                             .math = math,
                             .expected = Shape{8, 40, 40}};
        all.push_back(drawn_case(spec, {37, 29, 32}, static_cast<std::uint32_t>(751 + all.size())));
    };
    add(8, 64, 3, 4, 0, Math::fp32);  // one chunk, whose weights stay
    add(5, 65, 3, 2, 1, Math::fp32);  // padded filters, k and images
    add(130, 40, 3, 2, 0, Math::fp32);
    add(3, 72, 7, 3, 0, Math::fp32);   // many taps
    add(2, 20, 3, 13, 0, Math::fp32);  // windows that lanes share
    add(40, 33, {2, 3}, 1, 0, Math::tf32);
    return all;
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

TEST_CASE("the mma.sync family: warps that only build meet the contract, with the same bits again and again") {
    for (const RandomCase& random : building_cases()) {
        const std::vector<Plan> plans = building_plans(random.spec);
        if (plans_of_family(random.spec, "mma_sync").empty()) continue;
        INFO(describe(random.spec));
        CHECK(plans.size() >= 4);
        compile_ahead(random.spec, plans);
        check_contract(random, plans);
        for (const Plan& plan : plans) check_same_bits(random, plan);
    }
}

TEST_CASE("the mma.sync family: warps that only build touch no memory that is not theirs, nor before they may", "[sanitizer]") {
    struct Tiny {
        std::int64_t in_channels, out_channels;
        Size2 kernel, pool;
        Shape shape;
    };
    const Tiny all[]{{3, 24, 3, 2, {300, 11, 13}},  // more tiles than multiprocessors: stages are used again from tile to tile
                     {40, 24, 3, 2, {3, 11, 13}},   // many chunks
                     {20, 72, 3, 2, {20, 11, 13}},
                     {3, 40, 7, 2, {20, 15, 16}}};  // more taps than a chain
    for (const Tiny& tiny : all) {
        const ModelSpec spec{.in_channels = tiny.in_channels,
                             .out_channels = tiny.out_channels,
                             .kernel_size = tiny.kernel,
                             .pool_kernel_size = tiny.pool,
                             .activation = Activation::identity,
                             .expected = Shape{2, 40, 40}};
        const RandomCase random = drawn_case(spec, tiny.shape, 763);
        INFO(describe(random.spec));
        const std::vector<Plan> plans = some_of(building_plans(spec), 4);
        CHECK(plans.size() >= 2);
        compile_ahead(random.spec, plans);
        check_contract(random, plans);
    }
}
