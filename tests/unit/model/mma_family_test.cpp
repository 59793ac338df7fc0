// SPDX-License-Identifier: Apache-2.0
#include "model/families/mma_family.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "driver/arch_table.hpp"
#include "model/definition.hpp"
#include "model/families/mma_cost.hpp"
#include "model/families/mma_tile.hpp"
#include "model/families/tf32.hpp"
#include "model/families/tile_geometry.hpp"
#include "model/families/tile_windows.hpp"
#include "model/geometry.hpp"
#include "model/planner.hpp"
#include "model/rates.hpp"
#include "support/benchmark_shapes.hpp"
#include "support/catch.hpp"
#include "support/random_case.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

const MmaFamily mma;

ModelSpec mma_spec(std::int64_t in_channels, std::int64_t out_channels, Size2 kernel, Size2 pool) {
    return {.in_channels = in_channels, .out_channels = out_channels, .kernel_size = kernel, .pool_kernel_size = pool};
}

/// Sizes of every kind, among them those that a careless tile does not survive.
std::vector<ModelSpec> varied_mma_specs() {
    std::vector<ModelSpec> specs{mma_spec(1, 1, 1, 1),         mma_spec(8, 64, 3, 4),     mma_spec(513, 5, 7, 2),
                                 mma_spec(3, 65, 3, 2),        mma_spec(32, 10, 1, 7),    mma_spec(512, 512, 3, 2),
                                 mma_spec(2, 3, 7, 384),       mma_spec(1, 8, 3, 8),      mma_spec(2, 4, {1, 1024}, 1),
                                 mma_spec(3, 24, 11, {3, 16}), mma_spec(3, 17, 23, 2),    mma_spec(4, 300, {4, 2}, {2, 5}),
                                 mma_spec(1, 1, 64, 65536),    mma_spec(70, 9, {2, 5}, 3)};
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        specs.push_back(random_case(seed).spec);
        specs.push_back(random_wide_case(seed).spec);
    }
    for (std::size_t index = 0; index < specs.size(); index += 3) specs[index].math = Math::tf32;
    return specs;
}

std::vector<float> packed_for_mma(const ModelSpec& spec, const Tile& tile, const Weights& weights) {
    const std::vector<std::byte> bytes = mma.pack(spec, tile, weights);
    std::vector<float> floats(bytes.size() / sizeof(float));
    std::memcpy(floats.data(), bytes.data(), bytes.size());
    return floats;
}

/// Where in the packed weights the kernel finds what rounding made of the weight of `k`-th row of a chunk's boxes and `filter`;
/// what rounding left is two floats on. Written from kernel_templates/mma_sync_product.cuh: lane 4g + t holds filter g of eight,
/// for k = t and k = t + 4.
std::size_t mma_weight_at(const ModelSpec& spec, const MmaTile& tile, std::int64_t chunk, std::int64_t k, std::int64_t filter) {
    const std::int64_t step = k / 8, t = k % 4, upper = k % 8 / 4, g = filter % 8, group = filter % tile.filters / 8;
    const std::int64_t fragment =
        ((filter / tile.filters * tile.chunks(spec) + chunk) * tile.chunk_steps() + step) * (tile.filters / 8) + group;
    return static_cast<std::size_t>((fragment * 32 + 4 * g + t) * tile.lane_weights(spec) + upper);
}

}  // namespace

TEST_CASE("specs have mma.sync tiles on every arch whose TF32 is worth it, within its limits") {
    CHECK(mma.candidates(mma_spec(8, 64, 3, 4), Arch::sm_75).empty());
    int served = 0, left = 0;
    for (const Arch* arch : ArchTable::all()) {
        if (*arch == Arch::sm_75) continue;
        const Rates& rates = rates_of(*arch);
        for (const ModelSpec& spec : varied_mma_specs()) {
            const std::vector<Candidate> candidates = mma.candidates(spec, *arch);
            CAPTURE(arch->name(), describe(spec));
            const bool is_slower = spec.math == Math::fp32 && rates.tf32_per_cycle < 3 * rates.fma_per_cycle;
            if (is_slower) CHECK(candidates.empty());
            served += candidates.empty() ? 0 : 1;
            left += candidates.empty() && !is_slower ? 1 : 0;
            std::set<std::string> seen;
            for (const Candidate& candidate : candidates) {
                CAPTURE(to_string(candidate.tile));
                const MmaTile tile = MmaTile::from(candidate.tile);
                CHECK(seen.insert(to_string(candidate.tile)).second);
                CHECK(tile.render(spec) == candidate.tile);
                CHECK((std::isfinite(candidate.predicted_us) && candidate.predicted_us > 0));
                const auto [threads, shared_bytes] = mma.block(spec, candidate.tile);
                const bool builds_apart = tile.builder_warps > 0;
                CHECK((threads >= 64 && threads <= (tile.k_warps > 1 || builds_apart ? 512 : 256) && threads % 32 == 0));
                CHECK(threads == tile.multiplying_threads() + 32 * tile.builder_warps);
                const bool is_one_chain = tile.chunks(spec) == 1 && tile.chain_steps == tile.chunk_steps() && builds_apart;
                CHECK(tile.chain_steps <= (is_one_chain ? longest_mma_chain : longest_held_chain));
                if (builds_apart) CHECK((tile.box_stages == 2 && (tile.chunks(spec) > 1 || tile.filter_tiles(spec) == 1)));
                CHECK((tile.k_warps == 1 || tile.chunk_k() % 8 == 0));
                const std::int64_t building = tile.building_threads();
                CHECK((tile.positions % building == 0 || building % tile.positions == 0));
                CHECK(shared_bytes == tile_value(candidate.tile, "shared_bytes"));
                CHECK(shared_bytes <= rates.shared_bytes_per_block);
                CHECK((shared_bytes + 1024) * tile.blocks <= rates.shared_bytes_per_multiprocessor);
                CHECK(spec.kernel_size.height % tile.taps_h == 0);
                CHECK(spec.kernel_size.width % tile.taps_w == 0);
                const std::int64_t registers = mma_registers(spec, tile, tile_windows(spec));
                CHECK(tile.blocks <= resident_blocks(threads, registers, shared_bytes, rates));
            }
        }
    }
    CHECK(served > 200);
    CHECK(left <= 6);  // on each arch, a long reduction whose taps come one by one: chains would be too short
}

TEST_CASE("mma.sync tiles pad filters as little as products of eight allow, or by half at most") {
    for (const auto& [out_channels, most] :
         {std::pair{1, 8}, std::pair{9, 16}, std::pair{10, 16}, std::pair{17, 24}, std::pair{65, 96}, std::pair{300, 448}}) {
        const ModelSpec spec = mma_spec(8, out_channels, 3, 4);
        const std::vector<Candidate> candidates = mma.candidates(spec, Arch::sm_80);
        CHECK_FALSE(candidates.empty());
        for (const Candidate& candidate : candidates) {
            const MmaTile tile = MmaTile::from(candidate.tile);
            INFO(out_channels << ": " << to_string(candidate.tile));
            CHECK(tile.filters * tile.filter_tiles(spec) <= most);
        }
    }
}

TEST_CASE("packed weights and what rounding left of them stand where a lane of mma.sync looks for them") {
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
        RandomCase random = seed % 2 == 0 ? random_case(seed) : random_wide_case(seed);
        random.spec.math = seed % 4 < 2 ? Math::fp32 : Math::tf32;
        const ModelSpec& spec = random.spec;
        const std::vector<Candidate> candidates = mma.candidates(spec, Arch::sm_80);
        const Tile& rendered = candidates[seed % candidates.size()].tile;
        const MmaTile tile = MmaTile::from(rendered);
        CAPTURE(describe(spec), to_string(rendered));
        std::vector<float> packed = packed_for_mma(spec, rendered, random.weights());
        const double scale = spec.activation == Activation::sigmoid ? -1 / std::log(2.0) : 1.0;
        const auto pixels = static_cast<double>(spec.pool_kernel_size.height * spec.pool_kernel_size.width);

        const std::int64_t blocks_w = spec.kernel_size.width / tile.taps_w;
        for (std::int64_t o = 0; o < spec.out_channels; ++o)
            for (std::int64_t c = 0; c < spec.in_channels; ++c)
                for (std::int64_t ky = 0; ky < spec.kernel_size.height; ++ky)
                    for (std::int64_t kx = 0; kx < spec.kernel_size.width; ++kx) {
                        const std::int64_t chunk =
                            c / tile.chunk_channels * tile.tap_blocks(spec) + ky / tile.taps_h * blocks_w + kx / tile.taps_w;
                        const std::int64_t k =
                            c % tile.chunk_channels * tile.taps() + ky % tile.taps_h * tile.taps_w + kx % tile.taps_w;
                        const auto from = static_cast<std::size_t>(
                            ((o * spec.in_channels + c) * spec.kernel_size.height + ky) * spec.kernel_size.width + kx);
                        const std::size_t at = mma_weight_at(spec, tile, chunk, k, o);
                        const double expected = random.weight[from] * scale / pixels;
                        double found = packed.at(at);
                        const bool is_whole = tile.splits_weights(spec);
                        if (!is_whole && round_to_tf32(found) != packed[at]) FAIL("not a tf32 at " << at);
                        packed[at] = 0;
                        if (spec.math == Math::fp32 && !is_whole) {
                            found += static_cast<double>(packed.at(at + 2));
                            packed[at + 2] = 0;
                        }
                        const double allowed = spec.math == Math::fp32 ? 0x1p-22 : 0x1p-11;
                        if (std::fabs(found - expected) > allowed * std::fabs(expected)) FAIL("at " << at);
                    }
        const auto bias = static_cast<std::size_t>(tile.filter_tiles(spec) * tile.chunks(spec) * tile.chunk_floats(spec));
        for (std::size_t o = 0; o < random.bias.size(); ++o) {
            CHECK(packed.at(bias + o) == Approx(random.bias[o] * scale).epsilon(1e-7));
            packed[bias + o] = 0;
        }
        CHECK(packed.size() == bias + static_cast<std::size_t>(tile.filter_tiles(spec) * tile.filters));
        CHECK(std::all_of(packed.begin(), packed.end(), [](float value) { return value == 0; }));  // the rest is padding
    }
}

namespace {

/// A product of the tensor core, as bad as is known of any: terms are cut to 24 bits below the largest before they are added.
/// (docs/numerics.md)
float truncating_sum(float accumulator, const double* products) {
    double largest = std::fabs(static_cast<double>(accumulator));
    for (int k = 0; k < 8; ++k) largest = std::max(largest, std::fabs(products[k]));
    if (largest == 0) return 0;
    const double unit = std::ldexp(1.0, std::ilogb(largest) - 23);
    double sum = std::trunc(static_cast<double>(accumulator) / unit);
    for (int k = 0; k < 8; ++k) sum += std::trunc(products[k] / unit);
    const double exact = sum * unit;
    if (exact == 0) return 0;
    const double last = std::ldexp(1.0, std::ilogb(exact) - 23);
    return static_cast<float>(std::trunc(exact / last) * last);
}

/// What the tensor core reads of a value's rest: its upper 11 bits.
double cut_to_tf32(float rest) {
    return static_cast<double>(std::bit_cast<float>(std::bit_cast<std::uint32_t>(rest) & 0xffffe000U));
}

/// The kernel's arithmetic for one logit of a pool of one pixel, in its order: `multiply_chain`, `multiply_in_one_chain` and
/// `multiply_chunk` of kernel_templates/mma_sync_product.cuh.
float emulated_mma_logit(const ModelSpec& spec, const MmaTile& tile, const std::vector<float>& packed, const float* image) {
    float total = 0;
    for (std::int64_t chunk = 0; chunk < tile.chunks(spec); ++chunk) {
        for (std::int64_t first = 0; first < tile.chunk_steps(); first += tile.chain_steps) {
            float chain = 0, small_chain = 0;
            const std::int64_t end = std::min(first + tile.chain_steps, tile.chunk_steps());
            for (const int product : {0, 1, 2}) {  // large·small, small·large, large·large
                for (std::int64_t step = first; step < end; ++step) {
                    double products[8];
                    for (std::int64_t k = 8 * step; k < 8 * step + 8; ++k) {
                        const std::int64_t channel = chunk * tile.chunk_channels + k / tile.taps();
                        const bool is_real = k < tile.chunk_k() && channel < spec.in_channels;
                        const float box = is_real ? image[channel * tile.taps() + k % tile.taps()] : 0.0F;
                        const float large_box = round_to_tf32(static_cast<double>(box));
                        const std::size_t at = mma_weight_at(spec, tile, chunk, k, 0);
                        const float rounded_weight = round_to_tf32(static_cast<double>(packed[at]));
                        const auto large_weight = static_cast<double>(rounded_weight);
                        const double small_weight = tile.splits_weights(spec) ? cut_to_tf32(packed[at] - rounded_weight)
                                                                              : static_cast<double>(packed[at + 2]);
                        const double small_box = cut_to_tf32(box - large_box);
                        products[k % 8] = product == 0   ? static_cast<double>(large_box) * small_weight
                                          : product == 1 ? small_box * large_weight
                                                         : static_cast<double>(large_box) * large_weight;
                    }
                    float& sum = product < 2 && tile.chain_steps > longest_held_chain ? small_chain : chain;
                    sum = truncating_sum(sum, products);
                }
            }
            total += small_chain + chain;
        }
    }
    return total + packed[static_cast<std::size_t>(tile.chunks(spec) * tile.chunk_floats(spec))];
}

}  // namespace

TEST_CASE("the arithmetic of every mma.sync tile meets the numerics contract at the logit, whatever the length") {
    std::set<std::int64_t> chains;
    for (const std::int64_t channels : {1, 3, 8, 40, 64, 130, 300, 513}) {
        ModelSpec spec = mma_spec(channels, 1, 3, 1);
        spec.activation = Activation::identity;
        const Shape shape{.batch = 1, .height = 3, .width = 3};
        std::set<std::vector<std::int64_t>> seen;  // what arithmetic depends on
        std::vector<MmaTile> tiles;
        for (const Candidate& candidate : mma.candidates(spec, Arch::sm_90a)) tiles.push_back(MmaTile::from(candidate.tile));
        const std::size_t candidates = tiles.size();
        for (std::size_t index = 0; index < candidates; ++index) {  // one filter has no such tiles of its own
            MmaTile tile = tiles[index];
            tile.builder_warps = 4;
            if (tile.chunks(spec) > 1) tiles.push_back(tile);  // warps split weights
            if (tile.chunks(spec) > 1 || tile.chunk_steps() <= longest_held_chain || tile.chunk_steps() > longest_mma_chain)
                continue;
            tile.k_warps = 1;
            tile.chain_steps = tile.chunk_steps();
            tiles.push_back(tile);
        }
        for (const MmaTile& tile : tiles) {
            if (!seen.insert({tile.chunk_channels, tile.chain_steps, tile.filters, tile.splits_weights(spec) ? 1 : 0}).second)
                continue;
            chains.insert(tile.chain_steps);
            REQUIRE((tile.taps_h == 3 && tile.taps_w == 3 && tile.window_lanes == 1));
            for (std::uint32_t seed = 0; seed < 6; ++seed) {
                CAPTURE(channels, seed, to_string(tile.render(spec)));
                RandomCase random = drawn_case(spec, shape, seed);
                std::mt19937 generator(seed);
                for (float& value : random.input) {
                    if (seed % 2 == 1) value = std::fabs(value);
                    if (seed % 3 == 2) value = std::ldexp(value, static_cast<int>(generator() % 60) - 30);
                }
                if (seed % 2 == 1) {
                    for (float& value : random.weight) value = std::fabs(value);
                }
                const std::vector<float> packed = packed_for_mma(spec, tile.render(spec), random.weights());
                const auto z = static_cast<double>(emulated_mma_logit(spec, tile, packed, random.input.data()));
                const BoundedSum expected = bounded_reference(spec, random.weights(), random.input, shape).front();
                // For one logit and identity, y is z: the tolerance is the logit's, and 1e-6·|z| that is taken off again.
                CHECK(std::fabs(z - expected.value) <= expected.tolerance - 1e-6 * std::fabs(expected.value));
            }
        }
    }
    CHECK(chains.size() > 1);
    CHECK(chains.contains(longest_mma_chain));  // one that is all of k: 8 channels
}

TEST_CASE("where TF32 is no faster than fp32, and where families of their own serve an arch, mma.sync is not the choice") {
    for (const BenchmarkShape& benchmark : benchmark_shapes()) {
        ModelSpec spec = benchmark.spec;
        spec.expected = benchmark.shape;
        INFO(benchmark.name);
        for (const Arch& arch : {Arch::sm_75, Arch::sm_86, Arch::sm_89, Arch::sm_120}) {
            CHECK(choose_plan(spec, arch)->family->name() == "simt");
        }
        CHECK(choose_plan(spec, Arch::sm_90a)->family->name() != "mma_sync");
        CHECK_FALSE(mma.candidates(spec, Arch::sm_90a).empty());  // but tests may force it
    }
}

TEST_CASE("the plans of the benchmark shapes on chips whose tensor cores mma.sync alone reaches") {
    struct Planned {
        std::string on_80, on_100;
    };
    const std::map<std::string, Planned> expected{
        {"headline", {"128×64, 8 + 8 warps, 8 channels", "64×64, 4 + 4 warps, 8 channels"}},
        {"kb_small", {"simt", "simt"}},
        {"mid", {"32×128, 4 + 4 warps, 8 channels", "64×128, 4 + 4 warps, 8 channels"}},
        {"stem", {"128×64, 8 + 4 warps, 1 channels", "128×64, 8 + 4 warps, 1 channels"}},
        {"deep", {"16×64, 4 + 8 warps, 16 channels", "16×32, 8 + 8 warps, 32 channels"}},
        {"odd", {"128×32, 4 + 0 warps, 2 channels", "128×32, 4 + 8 warps, 4 channels"}},
        {"gray", {"simt", "simt"}},
        {"pw", {"16×16, 2 + 0 warps, 8 channels", "32×16, 4 + 0 warps, 32 channels"}},
        {"vdeep", {"48×128, 12 + 3 warps, 8 channels", "32×128, 4 + 4 warps, 16 channels"}},
        {"b1", {"32×64, 4 + 0 warps, 8 channels", "32×64, 4 + 4 warps, 8 channels"}},
        {"big", {"128×64, 8 + 8 warps, 8 channels", "64×64, 4 + 4 warps, 8 channels"}},
        {"pool1", {"128×64, 8 + 8 warps, 4 channels", "128×64, 8 + 8 warps, 8 channels"}},
    };
    for (const BenchmarkShape& benchmark : benchmark_shapes()) {
        ModelSpec spec = benchmark.spec;
        spec.expected = benchmark.shape;
        for (const Arch& arch : {Arch::sm_80, Arch::sm_100}) {
            const Plan plan = choose_plan(spec, arch).value();
            std::string found(plan.family->name());
            if (found == "mma_sync") {
                const MmaTile tile = MmaTile::from(plan.candidate.tile);
                found = fmt::format("{}×{}, {} + {} warps, {} channels", tile.positions, tile.filters,
                                    tile.multiplying_threads() / 32, tile.builder_warps, tile.chunk_channels);
            }
            const Planned& row = expected.at(benchmark.name);
            INFO(benchmark.name << " on " << arch.name());
            CHECK(found == (arch == Arch::sm_80 ? row.on_80 : row.on_100));
        }
    }
}
