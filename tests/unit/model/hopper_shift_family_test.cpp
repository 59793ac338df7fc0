// SPDX-License-Identifier: Apache-2.0
#include "model/families/hopper_shift_family.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/families/hopper_gemm_tile.hpp"
#include "model/families/hopper_shift_tile.hpp"
#include "model/geometry.hpp"
#include "model/planner.hpp"
#include "support/catch.hpp"
#include "support/random_case.hpp"
#include "support/rounding.hpp"

namespace kiln {

namespace {

/// Small images of many channels, each time as many.
ModelSpec very_deep() {
    ModelSpec spec{.in_channels = 512, .out_channels = 512, .kernel_size = 3, .pool_kernel_size = 2};
    spec.expected = Shape{.batch = 32, .height = 14, .width = 14};
    return spec;
}

/// The best of the tiles in which so many images are beside each other.
ShiftTile best_tile(const ModelSpec& spec, std::int64_t beside) {
    std::vector<Candidate> candidates = HopperShiftFamily().candidates(spec, Arch::sm_90a);
    std::erase_if(candidates, [&](const Candidate& candidate) { return ShiftTile::from(candidate.tile).beside != beside; });
    const auto best = std::min_element(candidates.begin(), candidates.end(),
                                       [](const Candidate& a, const Candidate& b) { return a.predicted_us < b.predicted_us; });
    REQUIRE(best != candidates.end());
    return ShiftTile::from(best->tile);
}

ModelSpec middle() {
    ModelSpec spec{.in_channels = 64, .out_channels = 128, .kernel_size = 3, .pool_kernel_size = 2};
    spec.expected = Shape{.batch = 32, .height = 56, .width = 56};
    return spec;
}

double packed_value(const std::vector<std::byte>& bytes, std::int64_t offset) {
    float value = 0;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return static_cast<double>(value);
}

}  // namespace

TEST_CASE("The Hopper shift family serves its arch, and specs that fill its tiles of 128 filters") {
    const auto has_candidates = [](const ModelSpec& spec, const Arch& arch = Arch::sm_90a) {
        return !HopperShiftFamily().candidates(spec, arch).empty();
    };
    CHECK(has_candidates(middle()));
    CHECK_FALSE(has_candidates(middle(), Arch::sm_80));
    CHECK_FALSE(has_candidates({.in_channels = 64, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 2}));
    CHECK_FALSE(has_candidates({.in_channels = 3, .out_channels = 128, .kernel_size = 7, .pool_kernel_size = 2}));  // many taps
    CHECK_FALSE(has_candidates({.in_channels = 3, .out_channels = 128, .kernel_size = 3, .pool_kernel_size = 2}));  // short sums
    CHECK(has_candidates({.in_channels = 64, .out_channels = 128, .kernel_size = 1, .pool_kernel_size = 2}));
}

TEST_CASE("All candidates of the Hopper shift family differ and are within the limits, for any spec") {
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
        ModelSpec spec = test::random_wide_case(seed).spec;
        spec.out_channels = 65 + seed % 100;
        std::set<std::string> seen;
        for (const Candidate& candidate : HopperShiftFamily().candidates(spec, Arch::sm_90a)) {
            const ShiftTile tile = ShiftTile::from(candidate.tile);
            INFO(test::describe(spec) << ": " << to_string(candidate.tile));
            CHECK(seen.insert(to_string(candidate.tile)).second);
            CHECK(tile.shared_bytes(spec) <= 227 * 1024);
            CHECK(tile.stages >= std::min(tile.steps, tile.chunk_steps(spec)));  // a batch's weights are there at once
            CHECK(candidate.predicted_us > 0);
        }
    }
}

TEST_CASE("A Hopper shift tile has a layout for every shape that fits what was set aside") {
    const std::vector<Shape> shapes{{1, 4, 4},    {3, 5, 2000}, {2, 300, 4},  {9, 9, 9},
                                    {1, 64, 131}, {70, 6, 6},   {1, 4, 4000}, {1, 3000, 3000}};
    std::vector<ModelSpec> specs{middle(), very_deep()};
    const std::vector<std::optional<Shape>> expected{std::nullopt, Shape{1, 16, 16}, Shape{8, 64, 64}, Shape{128, 28, 300}};
    for (std::uint32_t seed = 1; seed <= 30; ++seed) {
        for (const auto& shape : expected) {
            specs.push_back(test::random_wide_case(seed).spec);
            specs.back().out_channels = 128;
            specs.back().expected = shape;
        }
    }
    for (const ModelSpec& spec : specs) {
        for (const Candidate& candidate : HopperShiftFamily().candidates(spec, Arch::sm_90a)) {
            const ShiftTile tile = ShiftTile::from(candidate.tile);
            for (const Shape& shape : shapes) {
                const Size2 pooled = pooled_size_unchecked(spec, shape);
                if (pooled.height < 1 || pooled.width < 1) continue;
                INFO(test::describe(spec) << " on " << shape.batch << ", " << shape.height << ", " << shape.width << ": "
                                          << to_string(candidate.tile));
                for (const std::int64_t beside : {std::int64_t{1}, ShiftTile::most_beside}) {
                    if (tile.beside != 0 && beside != tile.beside) continue;
                    const ShiftLayout layout = ShiftLayout::fitting(spec, tile, shape, beside);
                    CHECK(layout.fits(tile));
                    CHECK(layout.tile_spots * beside <= tile.places);
                    CHECK(layout.strips * layout.strip_width >= pooled.width);
                    CHECK((layout.strips - 1) * layout.strip_width < pooled.width);
                }
            }
        }
    }
}

TEST_CASE("Places of a Hopper shift layout: positions, and what the taps reach beyond them") {
    const ShiftTile tile = best_tile(middle(), 1);
    const ShiftLayout layout = ShiftLayout::fitting(middle(), tile, *middle().expected, 1);
    CHECK(layout.pitch == 28);  // 27 positions and one more
    CHECK(layout.rows == 28);
    CHECK(layout.tile_spots == 192);
    CHECK(layout.map_places == 192 + 28 + 1);
    CHECK(layout.tiles == 131);  // of 32 x 28 x 28 spots: one round of 132 multiprocessors
}

TEST_CASE("Images beside each other: a Hopper shift tile is whole rows of eight images") {
    const ShiftTile tile = best_tile(very_deep(), 8);
    const ShiftLayout layout = ShiftLayout::fitting(very_deep(), tile, *very_deep().expected, 8);
    CHECK(tile.places == 160);
    CHECK(layout.pitch == 7);  // 6 positions and one more
    CHECK(layout.tile_rows == 3);
    CHECK(layout.tile_spots == 3 * 7 - 1);
    CHECK(layout.map_places == 8 * (4 * 7));
    CHECK(layout.short_places == 8 * (3 * 7));
    CHECK(layout.tiles == 4 * 2);
    CHECK(layout.pixel_channel_stride == 14 * 14);  // four channels in one copy
    CHECK(layout.copies == 8);
    for (std::int64_t batch : {1, 7, 8, 9, 33}) {
        CHECK(ShiftLayout::fitting(very_deep(), tile, {.batch = batch, .height = 14, .width = 14}, 8).tiles ==
              2 * ceil_divide(batch, 8));
    }
}

TEST_CASE("Geometry of the Hopper shift family: blocks share the channels of few tiles, and have room for their parts") {
    const DeviceLimits limits{.multiprocessors = 132, .shared_bytes_per_block = 227 * 1024, .blocks_per_multiprocessor = 1};
    const ShiftTile tile = best_tile(very_deep(), 8);
    const auto geometry = HopperShiftFamily().geometry(very_deep(), tile.render(), *very_deep().expected, limits);
    CHECK(geometry.layout[0] == 32);  // units: 8 tiles and 4 of filters
    CHECK(geometry.layout[2] >> 32 == 4);
    CHECK(geometry.grid == 128);
    CHECK(geometry.cluster == 2);  // pairs of blocks, each with half of the filters
    CHECK(geometry.counter_bytes == (32 + 2 * 32) * sizeof(unsigned));
    CHECK(geometry.partial_bytes == 32 * 2 * 4 * 2 * sizeof(double) + std::size_t{64} * 128 * 160 * sizeof(float));
}

TEST_CASE(
    "The Hopper shift family corrects products in bf16 where sums are long, and then as many blocks share them as it takes") {
    const auto corrects = [](ModelSpec spec, std::int64_t channels) {
        spec.in_channels = channels;
        return best_tile(spec, 8).bf16_corrections == 1;
    };
    CHECK(corrects(very_deep(), 512));
    CHECK(corrects(very_deep(), 384));
    CHECK_FALSE(corrects(very_deep(), 256));  // K = 2,304: 44 + 72 u·S are too few
    ModelSpec one_product = very_deep();
    one_product.math = Math::tf32;
    CHECK_FALSE(corrects(one_product, 512));

    const DeviceLimits limits{.multiprocessors = 132, .shared_bytes_per_block = 227 * 1024, .blocks_per_multiprocessor = 1};
    const ShiftTile tile = best_tile(very_deep(), 8);
    ShiftTile exact = tile;
    exact.bf16_corrections = 0;
    const Shape many{.batch = 1024, .height = 14, .width = 14};
    CHECK(HopperShiftFamily().geometry(very_deep(), exact.render(), many, limits).layout[2] >> 32 == 1);
    CHECK(HopperShiftFamily().geometry(very_deep(), tile.render(), many, limits).layout[2] >> 32 == 4);
}

TEST_CASE("A Hopper shift tile that was told no shape divides channels and puts images beside each other as each launch asks") {
    const DeviceLimits limits{.multiprocessors = 132, .shared_bytes_per_block = 227 * 1024, .blocks_per_multiprocessor = 1};
    ModelSpec spec = very_deep();
    spec.expected.reset();
    const auto plan = choose_plan(spec, Arch::sm_90a);
    REQUIRE(plan);
    REQUIRE(plan->family->name() == "hopper_shift");
    const ShiftTile tile = ShiftTile::from(plan->candidate.tile);
    REQUIRE(tile.beside == 0);
    const auto launch = [&](const Shape& shape) { return HopperShiftFamily().geometry(spec, tile.render(), shape, limits); };
    const auto small = launch({.batch = 32, .height = 14, .width = 14});  // as where it is told
    CHECK(small.layout[3] >> 32 == 3);                                    // 2^3 images
    CHECK((small.layout[1] & 0xffff'ffff) == 3 * 7 - 1);
    CHECK(small.layout[2] >> 32 == 4);
    CHECK(small.layout[4] >> 32 == 1);  // four channels in one copy
    CHECK(small.cluster == 2);
    const auto single = launch({.batch = 1, .height = 47, .width = 48});
    CHECK(single.layout[3] >> 32 == 0);
    const std::int64_t splits = single.layout[2] >> 32, units = single.layout[0];
    CHECK(splits > 2);
    CHECK(single.grid == units * splits);
    CHECK(single.partial_bytes == static_cast<std::size_t>((1 + units / 4) * 4 * 2) * sizeof(double) +
                                      static_cast<std::size_t>(units * splits / 2 * 128 * tile.places) * sizeof(float));
    spec.expected = Shape{.batch = 32, .height = 14, .width = 14};
    for (const Candidate& candidate : HopperShiftFamily().candidates(spec, Arch::sm_90a)) {
        CHECK(ShiftTile::from(candidate.tile).beside != 0);
    }
}

TEST_CASE("Taps of the Hopper shift family come in the order of their boxes") {
    const std::vector<ShiftTap> taps = shift_taps(middle());  // phases of rows and columns: 0, 1, 0
    REQUIRE(taps.size() == 9);
    const std::vector<std::pair<std::int64_t, std::int64_t>> expected{{0, 0}, {0, 2}, {2, 0}, {2, 2}, {0, 1},
                                                                      {2, 1}, {1, 0}, {1, 2}, {1, 1}};
    for (std::size_t i = 0; i < taps.size(); ++i) CHECK(std::pair(taps[i].ky, taps[i].kx) == expected[i]);
}

TEST_CASE("Weights packed for the Hopper shift family, and what rounding leaves of them, add up to the scaled weights") {
    for (const std::int64_t fours : {1, 2}) {
        ModelSpec spec{.in_channels = 13, .out_channels = 130, .kernel_size = 3, .pool_kernel_size = 2};
        spec.activation = Activation::identity;
        ShiftTile tile{.places = 64, .fours = fours, .steps = 3, .stages = 8, .map_rows = 1};
        std::vector<float> weight(130 * 13 * 9), bias(130);
        for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = std::sin(static_cast<float>(i + 1));
        for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i);
        const auto packed = HopperShiftFamily().pack(spec, tile.render(), {weight, bias});
        CHECK(packed_value(packed, 4 * 129) == 129.0);

        const std::vector<ShiftTap> taps = shift_taps(spec);
        const std::int64_t steps = tile.chunk_steps(spec), chunks = tile.chunks(spec);
        CHECK(static_cast<std::int64_t>(packed.size()) ==
              ShiftTile::bias_bytes(spec) + 2 * chunks * steps * ShiftTile::step_bytes(spec));
        for (const std::int64_t filter : {0, 63, 64, 127, 128, 129}) {
            double sum = 0, expected = 0;
            for (std::int64_t step = 0; step < chunks * steps; ++step) {
                const std::int64_t stage =
                    ShiftTile::bias_bytes(spec) + (filter / 128 * chunks * steps + step) * ShiftTile::step_bytes(spec);
                for (std::int64_t k = 0; k < 8; ++k) {
                    const std::int64_t at =
                        stage + filter % 128 / 64 * 4096 + k / 4 * 1024 + filter % 64 / 8 * 128 + filter % 8 * 16 + k % 4 * 4;
                    const double value = packed_value(packed, at) + packed_value(packed, at + 2048);
                    sum += value;
                    // A tap of a channel is where the kernel looks for it.
                    const bool is_alone = fours == 1 && 2 * (step % steps) + 1 == 9;
                    const std::int64_t four = fours == 2 ? step / steps * 2 + k / 4 : step / steps;
                    const std::int64_t tap = fours == 2 ? step % steps : is_alone ? 8 : 2 * (step % steps) + k / 4;
                    const std::int64_t channel = 4 * four + k % 4;
                    if (channel >= 13 || (is_alone && k < 4)) {
                        CHECK(value == 0.0);
                        continue;
                    }
                    const ShiftTap of = taps[static_cast<std::size_t>(tap)];
                    const auto index = static_cast<std::size_t>(((filter * 13 + channel) * 3 + of.ky) * 3 + of.kx);
                    CHECK(std::abs(value - static_cast<double>(weight[index]) / 4) < 1e-7);
                }
            }
            for (std::size_t i = 0; i < 13 * 9; ++i) {
                expected += static_cast<double>(weight[static_cast<std::size_t>(filter) * 13 * 9 + i]) / 4;
            }
            CHECK(std::abs(sum - expected) < 1e-5);
        }
    }
}

TEST_CASE("Weights packed for the Hopper shift family with corrections in bf16: each, and what rounding left of it") {
    ModelSpec spec{.in_channels = 8, .out_channels = 128, .kernel_size = 1, .pool_kernel_size = 1};
    spec.activation = Activation::identity;
    const ShiftTile tile{.bf16_corrections = 1, .places = 64, .fours = 2, .steps = 3, .stages = 8, .map_rows = 1};
    std::vector<float> weight(128 * 8), bias(128);
    weight[64 * 8 + 5] = 3 + 0x1p-8F + 0x1p-11F;  // 11 bits keep 3 + 2^-8 of it, and 8 bits 3
    const auto packed = HopperShiftFamily().pack(spec, tile.render(), {weight, bias});
    const std::int64_t at = ShiftTile::bias_bytes(spec) + 4096 + 1024 + 4;  // the second 64 rows, four channels further
    CHECK(packed_value(packed, at) == 3 + 0x1p-8);
    std::uint32_t pair = 0;
    std::memcpy(&pair, packed.data() + at + 2048, sizeof pair);
    CHECK(pair == (0x3a00'0000U | 0x4040U));
}

TEST_CASE("Geometry of the Hopper shift family: a wave of blocks at most, and room for every partial sum") {
    const HopperShiftFamily family;
    const DeviceLimits limits{.multiprocessors = 132, .shared_bytes_per_block = 227 * 1024, .blocks_per_multiprocessor = 1};
    for (const Candidate& candidate : family.candidates(middle(), Arch::sm_90a)) {
        if (ShiftTile::from(candidate.tile).beside > 1) continue;
        const auto geometry = family.geometry(middle(), candidate.tile, *middle().expected, limits);
        INFO(to_string(candidate.tile));
        CHECK(geometry.grid <= 132);
        CHECK(geometry.block == 512);
        CHECK(geometry.counter_bytes == 32 * sizeof(unsigned));
        CHECK(geometry.layout[0] * geometry.layout[1] >= 32 * 28 * 28);
        CHECK(geometry.partial_bytes == static_cast<std::size_t>(32 + geometry.layout[0]) * sizeof(double));
        CHECK(geometry.layout[6] == 56 * 56);
        CHECK(geometry.layout[7] == 32 * 64 * 56 * 56);
    }
}

}  // namespace kiln
