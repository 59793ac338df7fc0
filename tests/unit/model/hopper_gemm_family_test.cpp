// SPDX-License-Identifier: Apache-2.0
#include "model/families/hopper_gemm_family.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "model/families/hopper_gemm_cost.hpp"
#include "model/families/hopper_gemm_tile.hpp"
#include "model/families/tf32.hpp"
#include "model/planner.hpp"
#include "support/benchmark_shapes.hpp"
#include "support/catch.hpp"
#include "support/random_case.hpp"

namespace kiln {

namespace {

ModelSpec mid() {
    ModelSpec spec{.in_channels = 64, .out_channels = 128, .kernel_size = 3, .pool_kernel_size = 2};
    spec.expected = Shape{.batch = 32, .height = 56, .width = 56};
    return spec;
}

float float_at(const std::vector<std::byte>& bytes, std::int64_t offset) {
    float value = 0;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

}  // namespace

TEST_CASE("The Hopper gemm family serves only its arch and what fits") {
    const HopperGemmFamily family;
    CHECK(family.candidates(mid(), Arch::sm_80).empty());
    const auto candidates = family.candidates(mid(), Arch::sm_90a);
    REQUIRE_FALSE(candidates.empty());
    for (const Candidate& candidate : candidates) {
        INFO(to_string(candidate.tile));
        const auto block = family.block(mid(), candidate.tile);
        CHECK(block.shared_bytes <= 227 * 1024);
        CHECK(block.threads % 128 == 0);
        CHECK(candidate.predicted_us > 0);
    }
}

TEST_CASE("Specs that the Hopper gemm family leaves to others have no candidates") {
    const auto has_candidates = [](const ModelSpec& spec) { return !HopperGemmFamily().candidates(spec, Arch::sm_90a).empty(); };
    CHECK(has_candidates({.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4}));
    CHECK_FALSE(
        has_candidates({.in_channels = 3, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4}));  // short reductions
    CHECK_FALSE(has_candidates({.in_channels = 8, .out_channels = 64, .kernel_size = 13, .pool_kernel_size = 4}));  // many taps
    CHECK_FALSE(has_candidates({.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 13}));  // large pools
    CHECK(has_candidates({.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 12}));
    CHECK(has_candidates({.in_channels = 16, .out_channels = 64, .kernel_size = 11, .pool_kernel_size = 2}));
    CHECK_FALSE(has_candidates(
        {.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4, .dilation = 20}));  // large windows
}

TEST_CASE("The planner takes for each benchmark shape the family that was measured to be fastest") {
    const std::map<std::string, std::string> expected{
        {"headline", "hopper_stream"},
        {"kb_small", "hopper_stream"},
        {"gray", "hopper_stream"},
        {"pw", "hopper_stream"},
        {"b1", "hopper_stream"},
        {"big", "hopper_stream"},
        {"mid", "hopper_shift"},
        {"stem", "positions 192, filters 64, splits 1, channels 1"},
        {"deep", "positions 64, filters 128, splits 8, channels 8"},
        {"odd", "positions 192, filters 32, splits 1, channels 4"},
        {"vdeep", "hopper_shift"},
        {"pool1", "hopper_stream"},
    };
    for (const test::BenchmarkShape& benchmark : test::benchmark_shapes()) {
        ModelSpec spec = benchmark.spec;
        spec.expected = benchmark.shape;
        const Plan plan = choose_plan(spec, Arch::sm_90a).value();
        INFO(benchmark.name << ": " << plan.family->name() << " " << to_string(plan.candidate.tile));
        if (plan.family->name() != "hopper_gemm") {
            CHECK(expected.at(benchmark.name) == plan.family->name());
            continue;
        }
        const GemmTile tile = GemmTile::from(plan.candidate.tile);
        CHECK(expected.at(benchmark.name) == fmt::format("positions {}, filters {}, splits {}, channels {}", 64 * tile.warpgroups,
                                                         tile.filters, tile.splits, tile.channels));
    }
}

TEST_CASE("No two candidates of the Hopper gemm family are the same, and all are within the limits, for any spec") {
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
        const ModelSpec spec = test::random_wide_case(seed).spec;
        std::set<std::string> seen;
        for (const Candidate& candidate : HopperGemmFamily().candidates(spec, Arch::sm_90a)) {
            const GemmTile tile = GemmTile::from(candidate.tile);
            INFO(test::describe(spec) << ": " << to_string(candidate.tile));
            CHECK(seen.insert(to_string(candidate.tile)).second);
            CHECK(tile.shared_bytes(spec) <= 227 * 1024);
            CHECK(tile.shared_bytes(spec) == tile_value(candidate.tile, "shared_bytes"));
            CHECK(tile.splits <= tile.chunks(spec));
            CHECK(tile.filters % 8 == 0);
            CHECK(tile.filters * tile.filter_tiles(spec) < spec.out_channels + 8 * tile.filter_tiles(spec));  // little padding
            // The consumers' registers and the builders' are those of the block.
            const std::int64_t all = 65536 / tile.threads() / 8 * 8 * tile.threads();
            CHECK((tile.threads() <= 256 ||
                   tile.consumer_registers(spec) * 128 * tile.warpgroups + 64 * 128 * tile.builders <= all));
        }
    }
}

TEST_CASE("Rows of the box map: phases and reach follow from kernel and step") {
    CHECK(GemmAxis{3, 2, 1}.phases() == 2);  // every box row is used
    CHECK(GemmAxis{3, 2, 1}.reach() == 1);
    CHECK(GemmAxis{3, 4, 1}.phases() == 3);  // three of four
    CHECK(GemmAxis{3, 4, 1}.reach() == 0);
    CHECK(GemmAxis{3, 2, 2}.phases() == 1);  // dilation lands on one residue
    CHECK(GemmAxis{7, 1, 1}.reach() == 6);
    CHECK(GemmAxis{6, 9, 3}.phases() == 3);       // every third
    CHECK_FALSE(GemmAxis{4, 7, 3}.is_regular());  // residues 0, 3, 6, 2
    for (std::int64_t taps = 1; taps <= 7; ++taps) {
        for (std::int64_t step = 1; step <= 12; ++step) {
            for (std::int64_t dilation = 1; dilation <= 5; ++dilation) {
                const GemmAxis axis{taps, step, dilation};
                std::set<std::int64_t> residues;
                for (std::int64_t tap = 0; tap < taps; ++tap) residues.insert(dilation * tap % step);
                if (axis.is_regular()) CHECK(axis.phases() == static_cast<std::int64_t>(residues.size()));
            }
        }
    }
}

TEST_CASE("A Hopper gemm tile that fits its shape is not cut short, and any other shape still gets one") {
    const HopperGemmFamily family;
    for (const Candidate& candidate : family.candidates(mid(), Arch::sm_90a)) {
        const GemmTile tile = GemmTile::from(candidate.tile);
        INFO(to_string(candidate.tile));
        for (const Shape& shape : {Shape{1, 4, 4}, Shape{3, 5, 2000}, Shape{2, 300, 4}, Shape{9, 9, 9}, Shape{1, 64, 131}}) {
            const GemmLayout layout = gemm_launch(mid(), tile, shape, 132).layout;
            CHECK(layout.map_floats <= tile.map_floats);
            CHECK(layout.pixel_floats <= tile.pixel_floats);
            CHECK(layout.is_listable(tile));
        }
    }
}

TEST_CASE("A kernel that was not told its shape divides the channels where tiles are few, and only there") {
    const ModelSpec deep{.in_channels = 256, .out_channels = 256, .kernel_size = 3, .pool_kernel_size = 4};
    const HopperGemmFamily family;
    const DeviceLimits limits{.multiprocessors = 132, .shared_bytes_per_block = 227 * 1024, .blocks_per_multiprocessor = 1};
    for (const Candidate& candidate : family.candidates(deep, Arch::sm_90a)) {
        const GemmTile tile = GemmTile::from(candidate.tile);
        INFO(to_string(candidate.tile));
        if (!tile.has_maps()) continue;
        CHECK(tile.splits == 0);
        std::int64_t last = 0;
        for (const std::int64_t batch : {1, 8, 30, 100, 400, 3000}) {
            const Shape shape{batch, 28, 28};
            const GemmLaunch launch = gemm_launch(deep, tile, shape, 132);
            CHECK(launch.layout.fits(tile));
            last = launch.splits;
            const LaunchGeometry geometry = family.geometry(deep, candidate.tile, shape, limits);
            CHECK(geometry.cluster == launch.splits);
            CHECK(geometry.grid % geometry.cluster == 0);
            CHECK(geometry.layout[2] >> 1 == launch.splits);
        }
        CHECK(gemm_launch(deep, tile, {1, 28, 28}, 132).splits > 1);
        CHECK(last == 1);
    }
}

TEST_CASE("Tiles of a launch are no larger than the rounds need, and whole rows or images where that is free") {
    const auto tiles_of = [](const ModelSpec& spec, const Shape& shape, std::int64_t warpgroups, bool with_maps = true) {
        ModelSpec expecting = spec;
        expecting.expected = shape;
        auto candidates = HopperGemmFamily().candidates(expecting, Arch::sm_90a);
        std::erase_if(candidates, [&](const Candidate& each) {
            return tile_value(each.tile, "warpgroups") != warpgroups || GemmTile::from(each.tile).has_maps() != with_maps;
        });
        const auto best = std::min_element(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
            return a.predicted_us < b.predicted_us;
        });
        return gemm_launch(spec, GemmTile::from(best->tile), shape, 132).layout;
    };
    CHECK(tiles_of(mid(), {32, 56, 56}, 2).places == 108);  // 183 tiles of 128 would take two rounds as well; rows have 27
    const ModelSpec odd{.in_channels = 16, .out_channels = 32, .kernel_size = 5, .pool_kernel_size = 3};
    CHECK(tiles_of(odd, {64, 127, 131}, 2).places == 126);        // three rows of 42
    CHECK(tiles_of(odd, {64, 127, 131}, 2).groups == 5);          // and one more for each image
    CHECK(tiles_of(odd, {64, 127, 131}, 3, false).places == 84);  // four rows of 21 pairs
    CHECK(tiles_of(odd, {64, 127, 134}, 3, false).places == 88);  // the last pair of 43 positions overlaps the one before
    const ModelSpec deep{.in_channels = 256, .out_channels = 256, .kernel_size = 3, .pool_kernel_size = 4};
    CHECK(tiles_of(deep, {8, 28, 28}, 1).places <= 48);
}

TEST_CASE("Few positions are divided into small tiles, so that more blocks share the work") {
    ModelSpec spec{.in_channels = 256, .out_channels = 32, .kernel_size = 3, .pool_kernel_size = 8, .stride = 2};
    spec.expected = Shape{32, 28, 28};  // one position an image
    for (const Candidate& candidate : HopperGemmFamily().candidates(spec, Arch::sm_90a)) {
        INFO(to_string(candidate.tile));
        CHECK(gemm_launch(spec, GemmTile::from(candidate.tile), *spec.expected, 132).layout.places == 8);
    }
}

TEST_CASE("Builders make all phases of a column at once where columns are an odd number of pixels apart and registers allow") {
    const auto phases = [](ModelSpec spec, std::int64_t padding) {
        spec.padding = padding;
        return GemmColumn(spec).phases;
    };
    CHECK(phases({.in_channels = 16, .out_channels = 32, .kernel_size = 5, .pool_kernel_size = 3}, 0) == 3);
    CHECK(phases({.in_channels = 64, .out_channels = 128, .kernel_size = 3, .pool_kernel_size = 2}, 0) == 1);
    // Five phases of eleven lines are 55 registers, but padding takes as many predicates besides; seven of thirteen are 91.
    const ModelSpec large{.in_channels = 64, .out_channels = 64, .kernel_size = 5, .pool_kernel_size = 7};
    CHECK(phases(large, 0) == 5);
    CHECK(phases(large, 2) == 1);
    CHECK(phases({.in_channels = 64, .out_channels = 64, .kernel_size = 7, .pool_kernel_size = 7}, 0) == 1);
    // So there are tiles for all of them.
    for (ModelSpec spec : {large, ModelSpec{.in_channels = 64, .out_channels = 64, .kernel_size = 7, .pool_kernel_size = 7}}) {
        spec.padding = 3;
        CHECK_FALSE(HopperGemmFamily().candidates(spec, Arch::sm_90a).empty());
    }
}

TEST_CASE("One channel makes a chunk of its own where tiles have no room for four, and only there") {
    const auto channels = [](const ModelSpec& spec) {
        std::set<std::int64_t> all;
        for (const Candidate& candidate : HopperGemmFamily().candidates(spec, Arch::sm_90a)) {
            all.insert(tile_value(candidate.tile, "channels"));
        }
        return all;
    };
    ModelSpec wide{.in_channels = 32, .out_channels = 1000, .kernel_size = 4, .pool_kernel_size = 8, .stride = 2, .padding = 2};
    wide.expected = Shape{16, 112, 112};
    CHECK(channels(wide).contains(1));
    CHECK(channels({.in_channels = 64, .out_channels = 128, .kernel_size = 3, .pool_kernel_size = 2}) ==
          std::set<std::int64_t>{4, 8});
}

TEST_CASE("Packed weights and their corrections add up to the scaled weights") {
    ModelSpec spec{.in_channels = 5, .out_channels = 3, .kernel_size = 3, .pool_kernel_size = 2};
    spec.activation = Activation::identity;
    GemmTile tile{
        .warpgroups = 1, .builders = 2, .filters = 8, .channels = 5, .splits = 1, .steps = 5, .stages = 2, .map_rows = 1};
    std::vector<float> weight(3 * 5 * 9), bias{1, 2, 3};
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = std::sin(static_cast<float>(i + 1));
    const auto packed = HopperGemmFamily().pack(spec, tile.render(spec), {weight, bias});
    CHECK(float_at(packed, 8) == 3.0f);

    // Every weight appears once: the sums over all places agree, filter by filter.
    const std::int64_t steps = tile.chunk_steps(spec);
    for (std::int64_t filter = 0; filter < 8; ++filter) {
        double sum = 0, expected = 0;
        for (std::int64_t step = 0; step < steps; ++step) {
            for (std::int64_t k = 0; k < 8; ++k) {
                const std::int64_t at =
                    tile.bias_bytes(spec) + step * tile.step_bytes(spec) + k / 4 * 128 + filter * 16 + k % 4 * 4;
                sum +=
                    static_cast<double>(float_at(packed, at)) + static_cast<double>(float_at(packed, at + tile.operand_bytes()));
            }
        }
        for (std::int64_t i = 0; filter < 3 && i < 45; ++i) {
            expected += static_cast<double>(weight[static_cast<std::size_t>(filter * 45 + i)]) / 4;
        }
        CHECK(std::abs(sum - expected) < 1e-6);
    }
}

TEST_CASE("Geometry: a wave of blocks at most, whole clusters, and room for every partial sum") {
    const HopperGemmFamily family;
    const DeviceLimits limits{.multiprocessors = 132, .shared_bytes_per_block = 227 * 1024, .blocks_per_multiprocessor = 1};
    for (const Candidate& candidate : family.candidates(mid(), Arch::sm_90a)) {
        const GemmTile tile = GemmTile::from(candidate.tile);
        const auto geometry = family.geometry(mid(), candidate.tile, *mid().expected, limits);
        INFO(to_string(candidate.tile));
        CHECK(geometry.grid % tile.splits == 0);
        CHECK((tile.splits > 1 || geometry.grid <= 132));
        CHECK(geometry.counter_bytes == 32 * sizeof(unsigned));
        CHECK(geometry.layout[1] <= tile.places());
        const std::int64_t tiles = geometry.layout[0] / tile.filter_tiles(mid());
        CHECK(tiles * geometry.layout[1] >= 32 * 27 * (tile.has_maps() ? 27 : 14));
    }
}

TEST_CASE("Rounding to TF32 and bf16 keeps 11 and 8 bits") {
    CHECK(round_to_tf32(1.0 + 0x1p-10) == 1.0f + 0x1p-10f);
    CHECK(round_to_tf32(1.0 + 0x1p-12) == 1.0f);
    CHECK(round_to_tf32(-3.0) == -3.0f);
    CHECK(round_to_bf16(1.0) == 0x3f80);
    CHECK(round_to_bf16(1.0 + 0x1p-9) == 0x3f80);
    CHECK(round_to_bf16(-0x1.ffp127) == 0xff7f);  // not infinite
}

TEST_CASE("There are tiles without maps where nothing is padded") {
    ModelSpec spec{.in_channels = 16, .out_channels = 32, .kernel_size = 5, .pool_kernel_size = 3};
    const auto without_maps = [&] {
        const auto candidates = HopperGemmFamily().candidates(spec, Arch::sm_90a);
        return std::any_of(candidates.begin(), candidates.end(),
                           [](const Candidate& each) { return !GemmTile::from(each.tile).has_maps(); });
    };
    CHECK(without_maps());
    spec.padding = 1;
    CHECK_FALSE(without_maps());
}

TEST_CASE("Without maps chunks take channels by twos in turn, each of them once") {
    const ModelSpec even{.in_channels = 16, .out_channels = 32, .kernel_size = 3, .pool_kernel_size = 2};
    const ModelSpec rest{.in_channels = 12, .out_channels = 32, .kernel_size = 3, .pool_kernel_size = 2};
    for (const std::int64_t channels : {4, 8}) {
        const GemmTile tile{.filters = 32, .channels = channels, .map_rows = 0};
        std::set<std::int64_t> seen;
        for (std::int64_t place = 0; place < 16; ++place) {
            seen.insert(tile.input_channel(even, place / channels, place % channels));
            CHECK(tile.input_channel(rest, place / channels, place % channels) == place);
        }
        CHECK(seen.size() == 16);
        CHECK(*seen.rbegin() == 15);
        CHECK(tile.input_channel(even, 0, 1) == 1);
        CHECK(tile.input_channel(even, 0, 2) == 4);
        CHECK(tile.input_channel(even, 4 / channels, 4 % channels) == 2);
    }
}

}  // namespace kiln
