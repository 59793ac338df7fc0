// SPDX-License-Identifier: Apache-2.0
#include "model/families/mma_family.hpp"

#include <algorithm>
#include <cstring>
#include <numbers>
#include <utility>

#include "model/families/mma_cost.hpp"
#include "model/families/mma_tile.hpp"
#include "model/families/ranked_tiles.hpp"
#include "model/families/tf32.hpp"
#include "model/families/tile_geometry.hpp"
#include "model/geometry.hpp"
#include "model/planner.hpp"
#include "model/rates.hpp"
#include "support/rounding.hpp"

namespace kiln {

namespace {

constexpr std::int64_t longest_mma_chunk = 80;  // of k, for each warp that divides it; half as much again where others build
constexpr std::int64_t most_k_warps = 8;
constexpr std::int64_t most_mma_pixels_at_once = 100;  // of a lane: more loads in flight than memory's latency asks for
constexpr std::size_t most_mma_candidates = 32;        // worth showing

/// Channels at a time: powers of two, all of them, and those that fill their k-steps.
std::vector<std::int64_t> mma_chunk_choices(const ModelSpec& spec, const TileWindows& windows) {
    const std::int64_t taps = windows.taps_h * windows.taps_w;
    std::vector<std::int64_t> choices;
    for (std::int64_t channels = 1; channels <= spec.in_channels; ++channels) {
        if (channels > 1 && channels * taps > most_k_warps * longest_mma_chunk) break;
        const bool is_power = (channels & (channels - 1)) == 0;
        if (is_power || channels == spec.in_channels || (channels < 8 && channels * taps % 8 == 0)) choices.push_back(channels);
    }
    return choices;
}

/// Whether k is long and such tiles are few, so that warps which divide k keep busy what would idle.
bool divides_k(const ModelSpec& spec, const MmaTile& tile, const Rates& rates) {
    const Shape shape = tuning_shape(spec);
    const Size2 pooled = pooled_size_unchecked(spec, shape);
    const std::int64_t tiles = ceil_divide(shape.batch * std::max<std::int64_t>(1, pooled.height * pooled.width), tile.positions);
    return reduction_length(spec) >= 256 && tiles * tile.filter_tiles(spec) <= 4 * std::int64_t{rates.multiprocessors};
}

/// Adds such a tile with warps that build apart, as many as leave a block's other warps their registers.
void add_with_builders(MmaTile tile, std::vector<MmaTile>& tiles) {
    const std::int64_t multiplying_warps = tile.multiplying_threads() / 32;
    if (multiplying_warps < 4 || multiplying_warps > 12) return;
    for (tile.builder_warps = 3; tile.builder_warps <= 8; ++tile.builder_warps) {
        const std::int64_t threads = tile.building_threads();
        if (tile.positions % threads != 0 && threads % tile.positions != 0) continue;
        if (multiplying_warps + tile.builder_warps <= 16) tiles.push_back(tile);
    }
}

/// The products that a block's warps can share out without many idle filters.
std::vector<MmaTile> mma_product_tiles(const ModelSpec& spec, MmaTile tile, const Rates& rates) {
    const std::int64_t least_padded = round_up(spec.out_channels, 8);
    std::vector<MmaTile> tiles;
    for (const std::int64_t filter_tiles_each : {8, 4, 2, 1}) {
        for (const std::int64_t warps_along_filters : {1, 2, 4}) {
            tile.filter_tiles_each = filter_tiles_each;
            tile.filters = 8 * filter_tiles_each * warps_along_filters;
            const std::int64_t padded = ceil_divide(spec.out_channels, tile.filters) * tile.filters;
            if (padded > std::max(least_padded, spec.out_channels + spec.out_channels / 2)) continue;
            for (const std::int64_t position_tiles : {2, 1, 4}) {
                if (position_tiles * filter_tiles_each > 16) continue;
                for (const std::int64_t warps_along_positions : {1, 2, 3, 4, 5, 8}) {
                    tile.position_tiles = position_tiles;
                    tile.positions = 16 * position_tiles * warps_along_positions;
                    if (tile.positions > 256) continue;
                    for (const std::int64_t k_warps : {1, 2, 4, 8}) {
                        tile.k_warps = k_warps;
                        tile.builder_warps = 0;
                        if (k_warps > 1 && !divides_k(spec, tile, rates)) break;
                        const std::int64_t least = k_warps == 1 ? 64 : 128, most = k_warps == 1 ? 256 : 512;
                        const bool is_power = warps_along_positions != 3 && warps_along_positions != 5;
                        if (is_power && tile.threads() >= least && tile.threads() <= most) tiles.push_back(tile);
                        // Few products for what they load were slower: 1 × 8 took 298 µs at the headline shape, 2 × 4 269.
                        if (filter_tiles_each == 4 || position_tiles * filter_tiles_each == 16) add_with_builders(tile, tiles);
                    }
                }
            }
        }
    }
    return tiles;
}

/// Adds such a tile with every way to build its boxes that fits.
void add_builds(const ModelSpec& spec, MmaTile tile, const TileWindows& windows, const Rates& rates,
                std::vector<MmaTile>& tiles) {
    for (const std::int64_t box_stages : {1, 2}) {
        if (tile.builder_warps > 0 && box_stages == 1) continue;
        tile.box_stages = box_stages;
        for (tile.windows_at_once = 1; tile.windows_at_once <= 4; tile.windows_at_once *= 2) {
            const bool is_possible = tile.window_lanes == 1 && tile.windows_at_once <= tile.windows_each() &&
                                     tile.windows_at_once * windows.pixels <= most_mma_pixels_at_once;
            if (tile.windows_at_once > 1 && !is_possible) break;
            tile.blocks = resident_blocks(tile.threads(), mma_registers(spec, tile, windows), tile.shared_bytes(spec), rates);
            if (tile.blocks > 0) tiles.push_back(tile);
        }
    }
}

/// The channel and tap of a chunk's k-th row of boxes; channel -1 where rows are padding.
struct BoxRow {
    std::int64_t channel = -1, ky = 0, kx = 0;
};

BoxRow box_row(const ModelSpec& spec, const MmaTile& tile, std::int64_t chunk, std::int64_t k) {
    if (k >= tile.chunk_k()) return {};
    const std::int64_t tap_blocks_w = spec.kernel_size.width / tile.taps_w, tap_blocks = tile.tap_blocks(spec);
    const std::int64_t channel = chunk / tap_blocks * tile.chunk_channels + k / tile.taps(), tap = k % tile.taps();
    if (channel >= spec.in_channels) return {};
    return {channel, chunk % tap_blocks / tap_blocks_w * tile.taps_h + tap / tile.taps_w,
            chunk % tap_blocks % tap_blocks_w * tile.taps_w + tap % tile.taps_w};
}

}  // namespace

std::vector<Candidate> MmaFamily::candidates(const ModelSpec& spec, const Arch& arch) const {
    const Rates& rates = rates_of(arch);
    // Three products must not take longer than the multiply-adds that they stand for.
    const int least_rate = spec.math == Math::tf32 ? 1 : 3 * rates.fma_per_cycle;
    if (rates.tf32_per_cycle < least_rate) return {};
    const TileWindows windows = tile_windows(spec);
    MmaTile tile;
    tile.taps_h = windows.taps_h;
    tile.taps_w = windows.taps_w;
    tile.window_lanes = windows.window_lanes;

    std::vector<MmaTile> tiles;
    for (MmaTile& each : mma_product_tiles(spec, tile, rates)) {
        for (const std::int64_t chunk_channels : mma_chunk_choices(spec, windows)) {
            each.chunk_channels = chunk_channels;
            const bool builds_apart = each.builder_warps > 0;
            const std::int64_t longest = longest_mma_chunk * each.k_warps * (builds_apart ? 3 : 2) / 2;
            if (each.chunk_k() > longest && chunk_channels > 1) continue;
            if (each.k_warps > 1 && each.chunk_k() % 8 != 0) continue;
            if (builds_apart && each.chunks(spec) == 1 && each.filter_tiles(spec) > 1) continue;
            const std::int64_t least_steps = mma_chain_steps(spec, each);
            if (least_steps == 0) continue;
            // Longer chains have fewer sums to add, where blocks are few and registers are left.
            const std::int64_t most_steps = builds_apart ? std::min<std::int64_t>(3, each.chunk_steps()) : least_steps;
            for (each.chain_steps = least_steps; each.chain_steps <= std::max(least_steps, most_steps); ++each.chain_steps) {
                add_builds(spec, each, windows, rates, tiles);
            }
            each.chain_steps = each.chunk_steps();
            const bool is_one_chain = each.chain_steps > longest_held_chain && each.chain_steps <= longest_mma_chain;
            if (builds_apart && is_one_chain && each.chunks(spec) == 1 && each.k_warps == 1) {
                add_builds(spec, each, windows, rates, tiles);
            }
        }
    }
    // Where the shape is not known, the best of the two that differ most.
    std::vector<Shape> shapes = tuning_shapes(spec);
    shapes.resize(std::min<std::size_t>(shapes.size(), 2));
    return best_at_shapes(spec, tiles, shapes, most_mma_candidates,
                          [&](const MmaTile& tile, const Shape& shape) { return mma_cost(spec, tile, windows, shape, rates); });
}

double MmaFamily::predicted_us(const ModelSpec& spec, const Tile& tile, const Shape& shape, const Arch& arch) const {
    return mma_cost(spec, MmaTile::from(tile), tile_windows(spec), shape, rates_of(arch)).predicted_us;
}

std::vector<std::byte> MmaFamily::pack(const ModelSpec& spec, const Tile& tile, const Weights& weights) const {
    const MmaTile mma = MmaTile::from(tile);
    const double scale = spec.activation == Activation::sigmoid ? -std::numbers::log2e : 1.0;
    const double weight_scale = scale / static_cast<double>(spec.pool_kernel_size.height * spec.pool_kernel_size.width);
    const std::int64_t filter_tiles = mma.filter_tiles(spec), chunks = mma.chunks(spec), lane_weights = mma.lane_weights(spec);

    // [filter tile][chunk][k-step][8 filters][lane][large at t, t + 4, small at t, t + 4], then the bias.
    std::vector<float> packed(static_cast<std::size_t>(filter_tiles * (chunks * mma.chunk_floats(spec) + mma.filters)), 0.0F);
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        for (std::int64_t k = 0; k < mma.chunk_k(); ++k) {
            const BoxRow at = box_row(spec, mma, chunk, k);
            if (at.channel < 0) break;
            for (std::int64_t filter = 0; filter < spec.out_channels; ++filter) {
                const std::int64_t from =
                    ((filter * spec.in_channels + at.channel) * spec.kernel_size.height + at.ky) * spec.kernel_size.width + at.kx;
                const double weight = static_cast<double>(weights.weight[static_cast<std::size_t>(from)]) * weight_scale;
                const std::int64_t in_tile = filter % mma.filters, lane = in_tile % 8 * 4 + k % 4;
                const std::int64_t to = (filter / mma.filters * chunks + chunk) * mma.chunk_floats(spec) +
                                        k / 8 * mma.step_floats(spec) + (in_tile / 8 * 32 + lane) * lane_weights + k % 8 / 4;
                const float large = mma.splits_weights(spec) ? static_cast<float>(weight) : round_to_tf32(weight);
                packed[static_cast<std::size_t>(to)] = large;
                if (lane_weights == 4) {
                    packed[static_cast<std::size_t>(to + 2)] = round_to_tf32(weight - static_cast<double>(large));
                }
            }
        }
    }
    if (spec.bias) {
        const auto first = static_cast<std::size_t>(filter_tiles * chunks * mma.chunk_floats(spec));
        for (std::size_t filter = 0; filter < weights.bias.size(); ++filter) {
            packed[first + filter] = static_cast<float>(static_cast<double>(weights.bias[filter]) * scale);
        }
    }
    std::vector<std::byte> bytes(packed.size() * sizeof(float));
    std::memcpy(bytes.data(), packed.data(), bytes.size());
    return bytes;
}

Family::BlockShape MmaFamily::block(const ModelSpec& spec, const Tile& tile) const {
    const MmaTile mma = MmaTile::from(tile);
    return {.threads = static_cast<int>(mma.threads()), .shared_bytes = static_cast<int>(mma.shared_bytes(spec))};
}

LaunchGeometry MmaFamily::geometry(const ModelSpec& spec, const Tile& tile, const Shape& shape,
                                   const DeviceLimits& limits) const {
    const MmaTile mma = MmaTile::from(tile);
    LaunchGeometry geometry = tile_geometry(spec, mma.positions, mma.filter_tiles(spec), shape, limits);
    geometry.block = static_cast<int>(mma.threads());
    geometry.shared_bytes = static_cast<int>(mma.shared_bytes(spec));
    return geometry;
}

}  // namespace kiln
