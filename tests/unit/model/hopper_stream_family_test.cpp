// SPDX-License-Identifier: Apache-2.0
#include "model/families/hopper_stream_family.hpp"

#include <cmath>
#include <cstring>
#include <map>

#include "driver/arch_table.hpp"
#include "model/families/hopper_stream_cost.hpp"
#include "model/families/hopper_stream_tile.hpp"
#include "model/geometry.hpp"
#include "model/planner.hpp"
#include "support/benchmark_shapes.hpp"
#include "support/catch.hpp"
#include "support/random_case.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

const HopperStreamFamily stream;

ModelSpec spec_of(std::int64_t in_channels, std::int64_t out_channels, Size2 kernel, Size2 pool) {
    return {.in_channels = in_channels, .out_channels = out_channels, .kernel_size = kernel, .pool_kernel_size = pool};
}

std::vector<ModelSpec> varied_specs() {
    std::vector<ModelSpec> specs{spec_of(8, 64, 3, 4),     spec_of(1, 8, 3, 8),           spec_of(32, 10, 1, 7),
                                 spec_of(3, 16, 3, 2),     spec_of(16, 32, 5, 3),         spec_of(32, 64, 3, 1),
                                 spec_of(4, 65, 3, 2),     spec_of(1, 1, 1, 1),           spec_of(513, 5, 7, 2),
                                 spec_of(1, 1, 64, 65536), spec_of(2, 3, 7, 384),         spec_of(2, 4, {1, 1024}, 1),
                                 spec_of(300, 300, 1, 1),  spec_of(8, 64, {3, 2}, {1, 9})};
    for (std::uint32_t seed = 0; seed < 60; ++seed) specs.push_back(random_case(seed).spec);
    return specs;
}

}  // namespace

TEST_CASE("the stream family serves Hopper alone") {
    for (const Arch* arch : ArchTable::all()) {
        CHECK(stream.candidates(spec_of(8, 64, 3, 4), *arch).empty() == (*arch != Arch::sm_90a));
    }
}

TEST_CASE("windows that do not fit a ring, and long K, are left to others") {
    for (const ModelSpec& spec : {spec_of(1, 1, 64, 65536), spec_of(2, 3, 7, 384), spec_of(2, 4, {1, 1024}, 1),
                                  spec_of(513, 5, 7, 2), spec_of(64, 128, 3, 2), spec_of(512, 512, 3, 2)}) {
        CHECK(stream.candidates(spec, Arch::sm_90a).empty());
    }
}

TEST_CASE("every stream tile has registers, and a ring at any width") {
    std::size_t served = 0;
    for (const ModelSpec& spec : varied_specs()) {
        const std::vector<Candidate> candidates = stream.candidates(spec, Arch::sm_90a);
        served += candidates.empty() ? 0 : 1;
        for (const Candidate& candidate : candidates) {
            CAPTURE(describe(spec), to_string(candidate.tile));
            const StreamTile tile = StreamTile::from(candidate.tile);
            CHECK(tile.render() == candidate.tile);
            CHECK((std::isfinite(candidate.predicted_us) && candidate.predicted_us > 0));
            CHECK((tile.warps % 4 == 0 && tile.channels % 4 == 0 && tile.filters % 8 == 0));
            CHECK(tile.filters <= 64);
            CHECK(tile.unit_rows(spec) % tile.stage_rows == 0);
            CHECK((tile.passes(spec) == 1 || (tile.filter_tiles(spec) == 1 && tile.kept_rows(spec) == 0)));
            CHECK(tile.registers(spec) <= tile.consumer_registers());
            CHECK(tile.warps * 32 * tile.consumer_registers() + std::int64_t{128} * 56 <= 65536);
            const auto [threads, shared_bytes] = stream.block(spec, candidate.tile);
            CHECK(threads == 32 * tile.warps + 128);
            CHECK(shared_bytes <= 227 * 1024);
            const std::int64_t step = spec.stride.width * spec.pool_kernel_size.width;
            for (std::int64_t width = window_size(spec).width; width < window_size(spec).width + 300 * step;
                 width += 1 + step / 3) {
                const Shape shape{.batch = 3, .height = window_size(spec).height, .width = width};
                const StreamLayout layout = stream_layout(spec, tile, shape, 132);
                // The last run, its slots and their rows lie in the block's shared memory.
                if (layout.slots < 1 || layout.slots > 16) FAIL("slots " << layout.slots << " at width " << width);
                if (layout.streams * layout.blocks > tile.warps) FAIL("more streams than warps at width " << width);
                if (layout.streams * layout.slots * layout.slot_bytes > tile.ring_bytes(spec)) FAIL("no room at width " << width);
                const std::int64_t columns = pooled_size(spec, shape).width;
                if (layout.strips * layout.blocks * 16 < columns) FAIL("columns left out at width " << width);
                if ((layout.strips - 1) * layout.blocks * 16 >= columns) FAIL("an empty strip at width " << width);
            }
        }
    }
    CHECK(served > 40);
}

TEST_CASE("rows lie in one strip where a block's warps and rings have room for them, whatever the width") {
    const ModelSpec spec = spec_of(8, 64, 3, 4);
    for (const Candidate& candidate : stream.candidates(spec, Arch::sm_90a)) {
        const StreamTile tile = StreamTile::from(candidate.tile);
        if (tile.warps != 12 || tile.channels != 8 || tile.stage_rows > 2) continue;
        for (const auto& [width, blocks] : {std::pair{64, 1}, {128, 2}, {320, 5}, {384, 6}}) {
            const StreamLayout layout = stream_layout(spec, tile, {64, 256, width}, 132);
            CAPTURE(to_string(candidate.tile), width);
            CHECK(layout.strips == 1);
            CHECK(layout.blocks == blocks);
        }
        CHECK(stream_layout(spec, tile, {64, 256, 4096}, 132).strips > 1);
    }
}

TEST_CASE("a stream launch: every unit in one run, a slot for each pair of an image and a run") {
    const ModelSpec spec = spec_of(8, 64, 3, 4);
    const DeviceLimits limits{.multiprocessors = 132, .shared_bytes_per_block = 232448, .blocks_per_multiprocessor = 1};
    for (const Candidate& candidate : stream.candidates(spec, Arch::sm_90a)) {
        for (const Shape& shape : {Shape{600, 384, 384}, Shape{1, 384, 384}, Shape{100000, 6, 6}}) {
            CAPTURE(to_string(candidate.tile), shape.batch, shape.width);
            const LaunchGeometry geometry = stream.geometry(spec, candidate.tile, shape, limits);
            const auto low = [&](std::size_t word) { return geometry.layout[word] & 0xffffffff; };
            const auto high = [&](std::size_t word) { return geometry.layout[word] >> 32; };
            const std::int64_t blocks = low(2), strips = high(2), runs = low(3), longer = high(3), length = geometry.layout[4];
            const std::int64_t streams = low(5), own_images = low(6);
            CHECK((geometry.grid >= 1 && geometry.grid <= 132));
            REQUIRE(own_images == 0);
            CHECK(runs * length + longer == shape.batch * strips * pooled_size(spec, shape).height);
            CHECK((length >= 1 && longer < runs));
            CHECK((runs <= geometry.grid * streams && runs > geometry.grid * (streams - 1)));
            CHECK(geometry.counter_bytes == 4 * static_cast<std::size_t>(shape.batch));
            CHECK(blocks * strips * 16 >= pooled_size(spec, shape).width);
            CHECK(geometry.partial_bytes == 8 * static_cast<std::size_t>(shape.batch + runs));
            CHECK((high(5) & 1) == (shape.width % 4 == 0 ? 1 : 0));  // the copy engine takes multiples of 16 bytes
            CHECK(low(0) % (shape.width % 4 == 0 ? 4 : 1) == 0);
        }
    }
}

TEST_CASE("a stream launch whose blocks have images to themselves: no scratch, every image in one block, no longer a run") {
    const DeviceLimits limits{.multiprocessors = 132, .shared_bytes_per_block = 232448, .blocks_per_multiprocessor = 1};
    std::size_t own = 0, shared = 0;
    for (const auto& [spec, size] :
         {std::pair{spec_of(3, 16, 3, 2), 32}, {spec_of(32, 10, 1, 7), 28}, {spec_of(8, 64, 3, 4), 96}}) {
        for (const Candidate& candidate : stream.candidates(spec, Arch::sm_90a)) {
            for (const std::int64_t batch : {1, 64, 128, 132, 133, 255, 256, 263, 264, 500, 528, 529, 100000}) {
                CAPTURE(to_string(candidate.tile), batch, size);
                const Shape shape{batch, size, size};
                const LaunchGeometry geometry = stream.geometry(spec, candidate.tile, shape, limits);
                const auto low = [&](std::size_t word) { return geometry.layout[word] & 0xffffffff; };
                const auto high = [&](std::size_t word) { return geometry.layout[word] >> 32; };
                const std::int64_t images = low(6), strips = high(2), runs = low(3),
                                   longest = geometry.layout[4] + (high(3) > 0 ? 1 : 0);
                CHECK((geometry.grid >= 1 && geometry.grid <= 132));
                if (images == 0) {
                    ++shared;
                    CHECK(geometry.counter_bytes > 0);
                    continue;
                }
                ++own;
                CHECK(images <= 4);
                CHECK((geometry.grid * images >= batch && (geometry.grid - 1) * images < batch));
                CHECK(runs == low(5));
                CHECK(high(6) == images * strips * pooled_size(spec, shape).height);
                CHECK(runs * geometry.layout[4] + high(3) == high(6));
                CHECK(longest >= 1);
                CHECK((geometry.counter_bytes == 0 && geometry.partial_bytes == 0));
            }
        }
    }
    CHECK((own > 50 && shared > 50));
}

TEST_CASE("packed weights: two parts that add up, where the tensor cores look for them, zero where padded") {
    std::size_t checked = 0;
    for (std::uint32_t seed = 0; seed < 60; ++seed) {
        RandomCase random = random_case(seed);
        if (seed % 5 == 0) random.spec.math = Math::tf32;
        const ModelSpec& spec = random.spec;
        const std::vector<Candidate> candidates = stream.candidates(spec, Arch::sm_90a);
        if (candidates.empty()) continue;
        const Tile& rendered = candidates[seed % candidates.size()].tile;
        const StreamTile tile = StreamTile::from(rendered);
        CAPTURE(seed, describe(spec), to_string(rendered));
        const std::vector<std::byte> bytes = stream.pack(spec, rendered, random.weights());
        REQUIRE(static_cast<std::int64_t>(bytes.size()) == tile.weights_bytes(spec));
        std::vector<float> packed(bytes.size() / sizeof(float));
        std::memcpy(packed.data(), bytes.data(), bytes.size());

        const std::int64_t parts = spec.math == Math::tf32 ? 1 : 2, taps = spec.kernel_size.height * spec.kernel_size.width;
        const double scale = spec.activation == Activation::sigmoid ? -1 / std::log(2.0) : 1.0;
        const auto pixels = static_cast<double>(spec.pool_kernel_size.height * spec.pool_kernel_size.width);
        // What each (filter, channel, tap) is multiplied with, summed over all places: a tap that is counted twice shows.
        std::map<std::int64_t, double> found;
        std::size_t at = 0;
        for (std::int64_t pass = 0; pass < tile.passes(spec); ++pass)
            for (std::int64_t filter_tile = 0; filter_tile < tile.filter_tiles(spec); ++filter_tile)
                for (std::int64_t step = 0; step < tile.k_steps(spec); ++step)
                    for (std::int64_t part = 0; part < parts; ++part)
                        for (std::int64_t half = 0; half < 2; ++half)  // core matrices: along K, then along the filters
                            for (std::int64_t filter = 0; filter < tile.filters; ++filter)
                                for (std::int64_t lane = 0; lane < 4; ++lane, ++at) {
                                    const float weight = packed[at];
                                    if (weight == 0) continue;
                                    std::uint32_t bits = 0;
                                    std::memcpy(&bits, &weight, sizeof bits);
                                    CHECK((bits & 0x1fff) == 0);
                                    const std::int64_t value = 2 * step + half;  // of the lane's channels' taps
                                    const std::int64_t index = std::min(4 * (value / taps) + lane, tile.stage_channels(spec) - 1);
                                    const std::int64_t channel = tile.first_channel(spec, pass) + index;
                                    const std::int64_t o = filter_tile * tile.filters + filter;
                                    REQUIRE((o < spec.out_channels && channel < spec.in_channels));
                                    found[(o * spec.in_channels + channel) * taps + value % taps] += static_cast<double>(weight);
                                }
        const double precision = parts == 2 ? 0x1p-22 : 0x1p-11;
        for (std::size_t index = 0; index < random.weight.size(); ++index) {
            const double expected = static_cast<double>(random.weight[index]) * scale / pixels;
            if (std::abs(found[static_cast<std::int64_t>(index)] - expected) > std::abs(expected) * precision)
                FAIL("weight " << index);
        }
        for (std::int64_t o = 0; o < tile.filter_tiles(spec) * tile.filters; ++o, ++at) {
            const bool real = spec.bias && o < spec.out_channels;
            CHECK(packed[at] == Approx(real ? random.bias[static_cast<std::size_t>(o)] * scale : 0).epsilon(1e-6));
        }
        CHECK(at <= packed.size());
        ++checked;
    }
    CHECK(checked > 20);
}

TEST_CASE("tf32 is never slower than fp32") {
    for (ModelSpec spec : varied_specs()) {
        const std::vector<Candidate> exact = stream.candidates(spec, Arch::sm_90a);
        if (exact.empty()) continue;
        spec.math = Math::tf32;
        const auto best = [](const std::vector<Candidate>& all) {
            double least = all.front().predicted_us;
            for (const Candidate& each : all) least = std::min(least, each.predicted_us);
            return least;
        };
        const std::vector<Candidate> rounded = stream.candidates(spec, Arch::sm_90a);
        CAPTURE(describe(spec));
        REQUIRE_FALSE(rounded.empty());
        CHECK(best(rounded) <= best(exact));
    }
}
