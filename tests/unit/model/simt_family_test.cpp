// SPDX-License-Identifier: Apache-2.0
#include "model/families/simt_family.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>

#include "driver/arch_table.hpp"
#include "model/definition.hpp"
#include "model/families/simt_tile.hpp"
#include "model/geometry.hpp"
#include "model/rates.hpp"
#include "support/catch.hpp"
#include "support/random_case.hpp"

// The kernel's own text, run on the CPU.
#define __device__
#define __forceinline__ inline
#include "../../../kernel_templates/common_boxes.cuh"

using namespace kiln;
using namespace kiln::test;

namespace {

const SimtFamily simt;

ModelSpec spec_of(std::int64_t in_channels, std::int64_t out_channels, Size2 kernel, Size2 pool) {
    return {.in_channels = in_channels, .out_channels = out_channels, .kernel_size = kernel, .pool_kernel_size = pool};
}

/// Sizes of every kind, among them those that a careless tile does not survive.
std::vector<ModelSpec> varied_specs() {
    std::vector<ModelSpec> specs{spec_of(1, 1, 1, 1),         spec_of(8, 64, 3, 4),        spec_of(513, 5, 7, 2),
                                 spec_of(3, 65, 3, 2),        spec_of(32, 10, 1, 7),       spec_of(512, 512, 3, 2),
                                 spec_of(2, 3, 7, 384),       spec_of(2, 3, 3, {1, 384}),  spec_of(1, 8, 3, 8),
                                 spec_of(3, 7, 23, 2),        spec_of(2, 4, {1, 1024}, 1), spec_of(4, 300, {4, 2}, {2, 5}),
                                 spec_of(3, 24, 11, {3, 16}), spec_of(1, 1, 64, 65536)};
    specs.push_back(spec_of(2, 8, 2, 2));
    specs.back().stride = {50, 65536};
    specs.push_back(spec_of(5, 12, 3, 3));
    specs.back().dilation = {65536, 7};
    for (std::uint32_t seed = 0; seed < 40; ++seed) specs.push_back(random_case(seed).spec);
    return specs;
}

std::vector<float> packed_floats(const ModelSpec& spec, const Tile& tile, const Weights& weights) {
    const std::vector<std::byte> bytes = simt.pack(spec, tile, weights);
    std::vector<float> floats(bytes.size() / sizeof(float));
    std::memcpy(floats.data(), bytes.data(), bytes.size());
    return floats;
}

}  // namespace

TEST_CASE("every spec has SIMT tiles on every arch, within its limits") {
    for (const Arch* arch : ArchTable::all()) {
        const Rates& rates = rates_of(*arch);
        for (const ModelSpec& spec : varied_specs()) {
            const std::vector<Candidate> candidates = simt.candidates(spec, *arch);
            REQUIRE_FALSE(candidates.empty());
            for (const Candidate& candidate : candidates) {
                CAPTURE(arch->name(), to_string(candidate.tile));
                const SimtTile tile = SimtTile::from(candidate.tile);
                const auto [threads, shared_bytes] = simt.block(spec, candidate.tile);
                CHECK((threads >= 32 && threads <= 256 && threads % 32 == 0));
                CHECK(shared_bytes == tile_value(candidate.tile, "shared_bytes"));
                CHECK(shared_bytes <= rates.shared_bytes_per_block);
                CHECK((shared_bytes + 1024) * tile.blocks <= rates.shared_bytes_per_multiprocessor);
                CHECK(spec.kernel_size.height % tile.taps_h == 0);
                CHECK(spec.kernel_size.width % tile.taps_w == 0);
                CHECK(tile.positions % 4 == 0);  // rows of boxes are read in vectors
                CHECK((std::isfinite(candidate.predicted_us) && candidate.predicted_us > 0));
            }
        }
    }
}

TEST_CASE("few filters do not pay for many") {
    for (const auto& [out_channels, most] : {std::pair{1, 2}, std::pair{3, 4}, std::pair{10, 15}, std::pair{65, 96}}) {
        const std::vector<Candidate> candidates = simt.candidates(spec_of(8, out_channels, 3, 4), Arch::sm_90a);
        CHECK(candidates.size() > 3);
        for (const Candidate& candidate : candidates) {
            const SimtTile tile = SimtTile::from(candidate.tile);
            CHECK(tile.filters * tile.filter_tiles(spec_of(8, out_channels, 3, 4)) <= most);
        }
    }
}

TEST_CASE("packed weights stand where the kernel looks for them, scaled in double, zero where padded") {
    for (std::uint32_t seed = 0; seed < 30; ++seed) {
        const RandomCase random = random_case(seed);
        const ModelSpec& spec = random.spec;
        const std::vector<Candidate> candidates = simt.candidates(spec, Arch::sm_80);
        const Tile& rendered = candidates[seed % candidates.size()].tile;
        const SimtTile tile = SimtTile::from(rendered);
        CAPTURE(seed, to_string(rendered));
        const std::vector<float> packed = packed_floats(spec, rendered, random.weights());
        const double scale = (spec.activation == Activation::sigmoid ? -1 / std::log(2.0) : 1.0);
        const double pixels = static_cast<double>(spec.pool_kernel_size.height * spec.pool_kernel_size.width);

        std::size_t at = 0;
        for (std::int64_t filter_tile = 0; filter_tile < tile.filter_tiles(spec); ++filter_tile)
            for (std::int64_t chunk = 0; chunk < tile.chunks(spec); ++chunk)
                for (std::int64_t k = 0; k < tile.chunk_k(); ++k)
                    for (std::int64_t f = 0; f < tile.filters; ++f, ++at) {
                        const std::int64_t blocks_w = spec.kernel_size.width / tile.taps_w,
                                           tap_block = chunk % tile.tap_blocks(spec);
                        const std::int64_t c = chunk / tile.tap_blocks(spec) * tile.chunk_channels + k / tile.taps();
                        const std::int64_t ky = tap_block / blocks_w * tile.taps_h + k % tile.taps() / tile.taps_w;
                        const std::int64_t kx = tap_block % blocks_w * tile.taps_w + k % tile.taps_w;
                        const std::int64_t o = filter_tile * tile.filters + f;
                        const bool real = c < spec.in_channels && o < spec.out_channels;
                        const auto from = static_cast<std::size_t>(
                            ((o * spec.in_channels + c) * spec.kernel_size.height + ky) * spec.kernel_size.width + kx);
                        const float expected = real ? static_cast<float>(random.weight[from] * scale / pixels) : 0.0F;
                        if (std::fabs(packed[at] - expected) > std::fabs(expected) * 1e-7F) FAIL("at " << at);
                    }
        for (std::int64_t o = 0; o < tile.filter_tiles(spec) * tile.filters; ++o, ++at) {
            const bool real = spec.bias && o < spec.out_channels;
            CHECK(packed[at] == Approx(real ? random.bias[static_cast<std::size_t>(o)] * scale : 0).epsilon(1e-7));
        }
        CHECK(at == packed.size());
    }
}

TEST_CASE("a launch has a block for each run of tiles, and a slot for each pair of an image and a run") {
    const ModelSpec spec = spec_of(8, 64, 3, 4);
    for (const Candidate& candidate : simt.candidates(spec, Arch::sm_90a)) {
        const SimtTile tile = SimtTile::from(candidate.tile);
        for (const Shape& shape : {Shape{128, 384, 384}, Shape{1, 6, 6}, Shape{3, 40, 50}, Shape{100000, 6, 6}}) {
            const DeviceLimits limits{.multiprocessors = 132, .shared_bytes_per_block = 232448, .blocks_per_multiprocessor = 3};
            const LaunchGeometry geometry = simt.geometry(spec, candidate.tile, shape, limits);
            const Size2 pooled = pooled_size(spec, shape);
            const std::int64_t tiles = (shape.batch * pooled.height * pooled.width + tile.positions - 1) / tile.positions;
            const auto [laid_out, runs, splits, a, b, c, d, e] = geometry.layout;
            CHECK(laid_out == tiles);
            CHECK(runs <= tiles);
            CHECK((geometry.grid >= 1 && geometry.grid <= 132 * 3));
            CHECK(geometry.grid == runs * splits);
            CHECK((splits >= 1 && splits <= tile.filter_tiles(spec)));
            CHECK(geometry.counter_bytes == 4 * static_cast<std::size_t>(shape.batch));
            CHECK(geometry.partial_bytes == 8 * static_cast<std::size_t>((shape.batch + runs) * splits));
        }
    }
}

namespace {

template <int length, int taps, int stride, int dilation>
void check_window_sums() {
    constexpr int pixels = (length - 1) * stride + (taps - 1) * dilation + 1, pitch = 3;
    float values[pixels * pitch], sums[taps * pitch];
    std::fill(std::begin(values), std::end(values), std::numeric_limits<float>::quiet_NaN());  // for those that no window uses
    for (int tap = 0; tap < taps; ++tap)
        for (int d = 0; d < length; ++d)
            values[(tap * dilation + d * stride) * pitch] = static_cast<float>(17 * tap * tap + 5 * d + 1);
    window_sums<length, taps, stride, dilation, pitch>(values, sums);
    for (int tap = 0; tap < taps; ++tap) {
        float expected = 0;  // whole numbers: exact in any order
        for (int d = 0; d < length; ++d) expected += values[(tap * dilation + d * stride) * pitch];
        CAPTURE(length, taps, stride, dilation, tap);
        CHECK(sums[tap * pitch] == expected);
    }
}

template <int length>
void check_window_sums_of_length() {
    check_window_sums<length, 1, 1, 1>();
    check_window_sums<length, 2, 1, 1>();
    check_window_sums<length, 3, 1, 1>();
    check_window_sums<length, 7, 1, 1>();
    check_window_sums<length, 4, 2, 2>();
    check_window_sums<length, 3, 2, 1>();
    check_window_sums<length, 3, 3, 2>();
    check_window_sums<length, 5, 1, 4>();
}

}  // namespace

TEST_CASE("the kernel's window sums are those of the definition, and leave unused pixels alone") {
    check_window_sums_of_length<1>();
    check_window_sums_of_length<2>();
    check_window_sums_of_length<3>();
    check_window_sums_of_length<4>();
    check_window_sums_of_length<8>();
    check_window_sums_of_length<13>();
}

namespace {

/// The kernel's arithmetic for one logit, in its order: boxes by windows, weights packed, chains of at most 40, bias last.
template <int pool, int taps>
float emulated_logit(const ModelSpec& spec, const SimtTile& tile, const std::vector<float>& packed,
                     const std::vector<float>& image, std::int64_t width, std::int64_t filter) {
    constexpr int window = pool + taps - 1;
    const std::int64_t chain = (tile.chunk_k() + (tile.chunk_k() + 39) / 40 - 1) / ((tile.chunk_k() + 39) / 40);
    float total = 0;
    for (std::int64_t chunk = 0; chunk < tile.chunks(spec); ++chunk) {
        std::vector<float> boxes;
        for (std::int64_t c = chunk * tile.chunk_channels; c < (chunk + 1) * tile.chunk_channels; ++c) {
            float row_sums[window * taps] = {}, sums[taps * taps] = {};
            if (c < spec.in_channels) {
                for (int row = 0; row < window; ++row) {
                    const float* const from =
                        image.data() + (c * (static_cast<std::int64_t>(image.size()) / spec.in_channels) + row * width);
                    window_sums<pool, taps, 1, 1>(from, row_sums + row * taps);
                }
                for (int kx = 0; kx < taps; ++kx) window_sums<pool, taps, 1, 1, taps>(row_sums + kx, sums + kx);
            }
            boxes.insert(boxes.end(), std::begin(sums), std::end(sums));
        }
        float part = 0;
        for (std::int64_t k = 0; k < tile.chunk_k(); ++k) {
            if (k % chain == 0) {
                total += part;
                part = 0;
            }
            part = std::fmaf(boxes[static_cast<std::size_t>(k)],
                             packed[static_cast<std::size_t>((chunk * tile.chunk_k() + k) * tile.filters + filter)], part);
        }
        total += part;
    }
    return total + packed[static_cast<std::size_t>(tile.chunks(spec) * tile.chunk_k() * tile.filters + filter)];
}

template <int pool, int taps>
void check_contract(std::int64_t in_channels, bool same_sign, bool wide) {
    ModelSpec spec = spec_of(in_channels, 1, taps, pool);
    spec.activation = Activation::identity;
    const Shape shape{.batch = 1, .height = pool + taps - 1, .width = pool + taps - 1};
    const Tile rendered = simt.candidates(spec, Arch::sm_90a).front().tile;
    const SimtTile tile = SimtTile::from(rendered);
    REQUIRE((tile.taps_h == taps && tile.taps_w == taps && tile.window_lanes == 1));
    for (std::uint32_t seed = 0; seed < 50; ++seed) {
        RandomCase random = drawn_case(spec, shape, seed);
        std::mt19937 generator(seed);
        for (float& value : random.input) {
            if (same_sign) value = std::fabs(value);
            if (wide) value = std::ldexp(value, static_cast<int>(generator() % 60) - 30);
        }
        if (same_sign)
            for (float& value : random.weight) value = std::fabs(value);
        const std::vector<float> packed = packed_floats(spec, rendered, random.weights());
        const float z = emulated_logit<pool, taps>(spec, tile, packed, random.input, shape.width, 0);
        const BoundedSum expected = bounded_reference(spec, random.weights(), random.input, shape).front();
        // For one logit and identity, y is z: the tolerance is the logit's, and 1e-6·|z| that is taken off again.
        CHECK(std::fabs(z - expected.value) <= expected.tolerance - 1e-6 * std::fabs(expected.value));
    }
}

}  // namespace

TEST_CASE("the kernel's arithmetic meets the numerics contract at the logit") {
    for (const bool same_sign : {false, true}) {
        for (const bool wide : {false, true}) {
            CAPTURE(same_sign, wide);
            check_contract<4, 3>(8, same_sign, wide);
            check_contract<2, 3>(513, same_sign, wide);
            check_contract<2, 7>(33, same_sign, wide);
            check_contract<7, 1>(100, same_sign, wide);
        }
    }
}
