// SPDX-License-Identifier: Apache-2.0
#include "model/families/simt_family.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/families/ranked_tiles.hpp"
#include "model/families/simt_cost.hpp"
#include "model/families/simt_tile.hpp"
#include "model/families/tile_geometry.hpp"
#include "model/planner.hpp"
#include "model/rates.hpp"
#include "support/rounding.hpp"

namespace kiln {

namespace {

constexpr std::int64_t longest_simt_chunk = 40;
constexpr std::int64_t most_pixels_at_once = 100;  // of a lane: more loads in flight than memory's latency asks for

/// Channels at a time: as many as keep a chunk short with few that pad the last one; half as many, for chips with less shared
/// memory; and twice as many, which leaves more windows to load at once.
std::vector<std::int64_t> chunk_channel_choices(const ModelSpec& spec, const TileWindows& windows) {
    const std::int64_t taps = windows.taps_h * windows.taps_w;
    std::int64_t best = 1, best_work = 0;
    for (std::int64_t channels = 1; channels <= spec.in_channels && (channels == 1 || channels * taps <= longest_simt_chunk);
         ++channels) {
        const std::int64_t work = ceil_divide(spec.in_channels, channels) * (channels * taps + 4);
        if (best_work == 0 || work <= best_work) {
            best = channels;
            best_work = work;
        }
    }
    std::vector<std::int64_t> choices{best};
    if (best > 1) choices.push_back(best / 2);
    if (2 * best <= spec.in_channels && 2 * best * taps <= 2 * longest_simt_chunk) choices.push_back(2 * best);
    return choices;
}

/// What a thread may hold: up to 8 filters, or all of them where they are few.
std::vector<std::int64_t> thread_filter_choices(std::int64_t out_channels, std::int64_t filter_lanes) {
    if (filter_lanes > 1) return {4, 8};
    std::vector<std::int64_t> choices{2, 4, 8};
    if (out_channels < 16) choices.push_back(out_channels <= 8 || out_channels % 2 == 0 ? out_channels : out_channels + 1);
    std::sort(choices.begin(), choices.end());
    choices.erase(std::unique(choices.begin(), choices.end()), choices.end());
    return choices;
}

/// The products that a block's threads can share out without many idle filters.
std::vector<SimtTile> product_tiles(const ModelSpec& spec, SimtTile tile) {
    std::vector<SimtTile> tiles;
    for (const std::int64_t filter_lanes : {4, 8, 2, 1}) {  // between equals the squarest warp
        tile.filter_lanes = filter_lanes;
        for (const std::int64_t thread_filters : thread_filter_choices(spec.out_channels, tile.filter_lanes)) {
            for (const std::int64_t warps_along_filters : {1, 2, 4}) {
                tile.thread_filters = thread_filters;
                tile.filters = tile.filter_lanes * thread_filters * warps_along_filters;
                const std::int64_t padded = ceil_divide(spec.out_channels, tile.filters) * tile.filters;
                if (padded > spec.out_channels + std::max<std::int64_t>(spec.out_channels / 2, 1)) continue;
                for (tile.thread_positions = 1; tile.thread_positions <= 8; tile.thread_positions *= 2) {
                    if (tile.thread_positions * thread_filters > 64) continue;
                    for (const std::int64_t warps_along_positions : {1, 2, 4}) {
                        tile.positions = 32 / tile.filter_lanes * tile.thread_positions * warps_along_positions;
                        if (tile.threads() <= 256 && tile.positions <= 512) tiles.push_back(tile);
                    }
                }
            }
        }
    }
    return tiles;
}

/// The tiles worth showing: ordering them all is cheap, rendering them is not.
constexpr std::size_t most_candidates = 32;

/// What fits a multiprocessor.
std::vector<SimtTile> legal_tiles(const ModelSpec& spec, const TileWindows& windows, const Rates& rates) {
    SimtTile tile;
    tile.taps_h = windows.taps_h;
    tile.taps_w = windows.taps_w;
    tile.window_lanes = windows.window_lanes;
    std::vector<SimtTile> tiles;
    for (SimtTile& each : product_tiles(spec, tile)) {
        for (const std::int64_t chunk_channels : chunk_channel_choices(spec, windows)) {
            each.chunk_channels = chunk_channels;
            const std::int64_t tasks = each.positions * chunk_channels * each.window_lanes;
            if (each.threads() > 32 && tasks < each.threads()) continue;
            for (each.windows_at_once = 1; each.windows_at_once <= 8; each.windows_at_once *= 2) {
                const bool is_possible = each.window_lanes == 1 && each.windows_at_once <= each.windows_each() &&
                                         each.windows_at_once * windows.pixels <= most_pixels_at_once;
                if (each.windows_at_once > 1 && !is_possible) break;
                each.blocks =
                    resident_blocks(each.threads(), simt_registers(spec, each, windows), each.shared_bytes(spec), rates);
                if (each.blocks > 0) tiles.push_back(each);
            }
        }
    }
    return tiles;
}

}  // namespace

std::vector<Candidate> SimtFamily::candidates(const ModelSpec& spec, const Arch& arch) const {
    const Rates& rates = rates_of(arch);
    const TileWindows windows = tile_windows(spec);
    const std::vector<SimtTile> tiles = legal_tiles(spec, windows, rates);
    return best_at_shapes(spec, tiles, tuning_shapes(spec), most_candidates,
                          [&](const SimtTile& tile, const Shape& shape) { return simt_cost(spec, tile, windows, shape, rates); });
}

double SimtFamily::predicted_us(const ModelSpec& spec, const Tile& tile, const Shape& shape, const Arch& arch) const {
    return simt_cost(spec, SimtTile::from(tile), tile_windows(spec), shape, rates_of(arch)).predicted_us;
}

std::vector<std::byte> SimtFamily::pack(const ModelSpec& spec, const Tile& tile, const Weights& weights) const {
    const SimtTile simt = SimtTile::from(tile);
    const double log2_e = 1.4426950408889634;
    const double scale = (spec.activation == Activation::sigmoid ? -log2_e : 1.0);
    const double weight_scale = scale / static_cast<double>(spec.pool_kernel_size.height * spec.pool_kernel_size.width);
    const std::int64_t kernel_h = spec.kernel_size.height, kernel_w = spec.kernel_size.width;
    const std::int64_t tap_blocks_w = kernel_w / simt.taps_w, tap_blocks = simt.tap_blocks(spec);
    const std::int64_t filter_tiles = simt.filter_tiles(spec), chunks = simt.chunks(spec), chunk_k = simt.chunk_k();

    // [filter tile][chunk][k][filter], then the bias; k runs over the chunk's channels, and within each over its taps.
    std::vector<float> packed(static_cast<std::size_t>(filter_tiles * (chunks * chunk_k + 1) * simt.filters), 0.0F);
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        const std::int64_t first_channel = chunk / tap_blocks * simt.chunk_channels;
        const std::int64_t first_ky = chunk % tap_blocks / tap_blocks_w * simt.taps_h;
        const std::int64_t first_kx = chunk % tap_blocks % tap_blocks_w * simt.taps_w;
        for (std::int64_t k = 0; k < chunk_k; ++k) {
            const std::int64_t channel = first_channel + k / simt.taps(), tap = k % simt.taps();
            if (channel >= spec.in_channels) break;
            const std::int64_t ky = first_ky + tap / simt.taps_w, kx = first_kx + tap % simt.taps_w;
            for (std::int64_t filter = 0; filter < spec.out_channels; ++filter) {
                const std::int64_t from = ((filter * spec.in_channels + channel) * kernel_h + ky) * kernel_w + kx;
                const std::int64_t filter_tile = filter / simt.filters;
                const std::int64_t to = ((filter_tile * chunks + chunk) * chunk_k + k) * simt.filters + filter % simt.filters;
                packed[static_cast<std::size_t>(to)] =
                    static_cast<float>(static_cast<double>(weights.weight[static_cast<std::size_t>(from)]) * weight_scale);
            }
        }
    }
    if (spec.bias) {
        const auto first = static_cast<std::size_t>(filter_tiles * chunks * chunk_k * simt.filters);
        for (std::size_t filter = 0; filter < weights.bias.size(); ++filter) {
            packed[first + filter] = static_cast<float>(static_cast<double>(weights.bias[filter]) * scale);
        }
    }
    std::vector<std::byte> bytes(packed.size() * sizeof(float));
    std::memcpy(bytes.data(), packed.data(), bytes.size());
    return bytes;
}

Family::BlockShape SimtFamily::block(const ModelSpec& spec, const Tile& tile) const {
    const SimtTile simt = SimtTile::from(tile);
    return {.threads = static_cast<int>(simt.threads()), .shared_bytes = static_cast<int>(simt.shared_bytes(spec))};
}

LaunchGeometry SimtFamily::geometry(const ModelSpec& spec, const Tile& tile, const Shape& shape,
                                    const DeviceLimits& limits) const {
    const SimtTile simt = SimtTile::from(tile);
    LaunchGeometry geometry = tile_geometry(spec, simt.positions, simt.filter_tiles(spec), shape, limits);
    geometry.block = static_cast<int>(simt.threads());
    geometry.shared_bytes = static_cast<int>(simt.shared_bytes(spec));
    return geometry;
}

}  // namespace kiln
