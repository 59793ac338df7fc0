// SPDX-License-Identifier: Apache-2.0
#include "model/families/mma_tile.hpp"

#include <algorithm>

#include "model/geometry.hpp"
#include "support/rounding.hpp"

namespace kiln {

MmaTile MmaTile::from(const Tile& tile) {
    MmaTile mma;
    mma.positions = tile_value(tile, "positions");
    mma.filters = tile_value(tile, "filters");
    mma.position_tiles = tile_value(tile, "position_tiles");
    mma.filter_tiles_each = tile_value(tile, "filter_tiles_each");
    mma.k_warps = tile_value(tile, "k_warps");
    mma.builder_warps = tile_value(tile, "builder_warps");
    mma.chunk_channels = tile_value(tile, "chunk_channels");
    mma.taps_h = tile_value(tile, "taps_h");
    mma.taps_w = tile_value(tile, "taps_w");
    mma.window_lanes = tile_value(tile, "window_lanes");
    mma.windows_at_once = tile_value(tile, "windows_at_once");
    mma.chain_steps = tile_value(tile, "chain_steps");
    mma.box_stages = tile_value(tile, "box_stages");
    mma.blocks = tile_value(tile, "blocks");
    return mma;
}

Tile MmaTile::render(const ModelSpec& spec) const {
    return {{"positions", positions},
            {"filters", filters},
            {"position_tiles", position_tiles},
            {"filter_tiles_each", filter_tiles_each},
            {"k_warps", k_warps},
            {"builder_warps", builder_warps},
            {"chunk_channels", chunk_channels},
            {"taps_h", taps_h},
            {"taps_w", taps_w},
            {"window_lanes", window_lanes},
            {"windows_at_once", windows_at_once},
            {"chain_steps", chain_steps},
            {"box_stages", box_stages},
            {"blocks", blocks},
            {"shared_bytes", shared_bytes(spec)}};
}

std::int64_t MmaTile::windows_each() const {
    if (positions > building_threads()) return positions / building_threads() * chunk_channels;
    return ceil_divide(chunk_channels, building_threads() / positions);
}

std::int64_t MmaTile::tap_blocks(const ModelSpec& spec) const {
    return spec.kernel_size.height / taps_h * (spec.kernel_size.width / taps_w);
}

std::int64_t MmaTile::chunks(const ModelSpec& spec) const {
    return ceil_divide(spec.in_channels, chunk_channels) * tap_blocks(spec);
}

std::int64_t MmaTile::filter_tiles(const ModelSpec& spec) const {
    return ceil_divide(spec.out_channels, filters);
}

bool MmaTile::weights_stay(const ModelSpec& spec) const {
    return filter_tiles(spec) == 1 && chunks(spec) * parts_floats(spec) <= 12288;
}

std::int64_t MmaTile::shared_bytes(const ModelSpec& spec) const {
    const std::int64_t boxes = box_stages * 8 * chunk_steps() * (positions + 8), exchanged = k_warps / 2 * positions * filters;
    std::int64_t bytes = 4 * (builder_warps > 0 ? boxes + exchanged : std::max(boxes, exchanged));
    bytes += 4 * (weights_stay(spec) ? chunks(spec) : builder_warps > 0 ? box_stages : 2) * chunk_floats(spec);
    bytes += 4 * (weights_stay(spec) ? filters : 0);                    // their bias
    bytes += 8 * (warps_along_filters() * positions);                   // position_sums
    bytes += 8 * (multiplying_threads() / 32 + multiplying_threads());  // warp_sums, running
    bytes += 48 + 8;                                                    // share, current_image
    bytes += 16 * box_stages;                                           // barriers
    bytes += 16 * std::max(positions, building_threads());              // places
    return round_up(bytes, 16);
}

std::int64_t mma_chain_steps(const ModelSpec& spec, const MmaTile& tile) {
    for (std::int64_t steps = 1; steps <= std::min(longest_held_chain, tile.chunk_steps()); ++steps) {
        const std::int64_t promotions = tile.chunks(spec) * ceil_divide(ceil_divide(tile.chunk_steps(), steps), tile.k_warps);
        const bool are_few = promotions <= 36 + ceil_divide(reduction_length(spec), 32);
        if (are_few || tile.chunks(spec) * tile.chunk_k() >= 24 * promotions * tile.k_warps) return steps;
    }
    return 0;
}

}  // namespace kiln
