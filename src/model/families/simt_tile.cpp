// SPDX-License-Identifier: Apache-2.0
#include "model/families/simt_tile.hpp"

#include <algorithm>

#include "support/rounding.hpp"

namespace kiln {

SimtTile SimtTile::from(const Tile& tile) {
    SimtTile simt;
    simt.positions = tile_value(tile, "positions");
    simt.filters = tile_value(tile, "filters");
    simt.thread_positions = tile_value(tile, "thread_positions");
    simt.thread_filters = tile_value(tile, "thread_filters");
    simt.filter_lanes = tile_value(tile, "filter_lanes");
    simt.chunk_channels = tile_value(tile, "chunk_channels");
    simt.taps_h = tile_value(tile, "taps_h");
    simt.taps_w = tile_value(tile, "taps_w");
    simt.window_lanes = tile_value(tile, "window_lanes");
    simt.windows_at_once = tile_value(tile, "windows_at_once");
    simt.blocks = tile_value(tile, "blocks");
    return simt;
}

Tile SimtTile::render(const ModelSpec& spec) const {
    return {{"positions", positions},
            {"filters", filters},
            {"thread_positions", thread_positions},
            {"thread_filters", thread_filters},
            {"filter_lanes", filter_lanes},
            {"chunk_channels", chunk_channels},
            {"taps_h", taps_h},
            {"taps_w", taps_w},
            {"window_lanes", window_lanes},
            {"windows_at_once", windows_at_once},
            {"blocks", blocks},
            {"shared_bytes", shared_bytes(spec)}};
}

std::int64_t SimtTile::tap_blocks(const ModelSpec& spec) const {
    return spec.kernel_size.height / taps_h * (spec.kernel_size.width / taps_w);
}

std::int64_t SimtTile::chunks(const ModelSpec& spec) const {
    return ceil_divide(spec.in_channels, chunk_channels) * tap_blocks(spec);
}

std::int64_t SimtTile::filter_tiles(const ModelSpec& spec) const {
    return ceil_divide(spec.out_channels, filters);
}

bool SimtTile::weights_stay(const ModelSpec& spec) const {
    return filter_tiles(spec) == 1 && chunks(spec) * chunk_k() * filters <= 8192;
}

std::int64_t SimtTile::windows_each() const {
    if (positions > threads()) return positions / threads() * chunk_channels;
    return ceil_divide(chunk_channels, threads() / positions);
}

std::int64_t SimtTile::shared_bytes(const ModelSpec& spec) const {
    const std::int64_t weight_floats = (weights_stay(spec) ? chunks(spec) : 1) * chunk_k() * filters;
    std::int64_t bytes = 4 * chunk_k() * positions + 16 * ceil_divide(weight_floats, 4);
    bytes += 8 * (warps_along_filters() * positions + threads() / 32 + threads());  // position_sums, warp_sums, running
    bytes += 48 + 8 + 8;                                                            // share, current_image, zero
    bytes += 16 * std::max(positions, threads());                                   // places
    return 16 * ceil_divide(bytes, 16);
}

}  // namespace kiln
