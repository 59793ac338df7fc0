// SPDX-License-Identifier: Apache-2.0
#include "model/families/tile_geometry.hpp"

#include <algorithm>

#include "model/geometry.hpp"
#include "support/rounding.hpp"

namespace kiln {

TileWork::TileWork(std::int64_t all_positions, std::int64_t positions, std::int64_t filter_tiles, std::int64_t slots)
    : tiles(ceil_divide(all_positions, positions)),
      runs(std::min(tiles, slots)),
      splits(std::clamp<std::int64_t>(slots / runs, 1, filter_tiles)) {}

LaunchGeometry tile_geometry(const ModelSpec& spec, std::int64_t positions, std::int64_t filter_tiles, const Shape& shape,
                             const DeviceLimits& limits) {
    const Size2 pooled = pooled_size(spec, shape);
    const std::int64_t slots = std::int64_t{limits.multiprocessors} * std::max(1, limits.blocks_per_multiprocessor);
    const TileWork work(shape.batch * pooled.height * pooled.width, positions, filter_tiles, slots);
    LaunchGeometry geometry;
    geometry.layout = {work.tiles, work.runs, work.splits};
    geometry.grid = work.runs * work.splits;
    geometry.counter_bytes = static_cast<std::size_t>(shape.batch) * sizeof(std::uint32_t);
    geometry.partial_bytes = static_cast<std::size_t>((shape.batch + work.runs) * work.splits) * sizeof(double);
    return geometry;
}

std::int64_t resident_blocks(std::int64_t threads, std::int64_t registers, std::int64_t shared_bytes, const Rates& rates) {
    if (registers > 255 || shared_bytes > rates.shared_bytes_per_block) return 0;
    // Registers are handed out by warps, eight a thread at a time, from four equal parts.
    const std::int64_t warps = threads / 32;
    const std::int64_t by_registers =
        rates.registers_per_multiprocessor / 4 / (std::int64_t{32} * 8 * ceil_divide(registers, 8)) * 4 / warps;
    const std::int64_t by_shared = rates.shared_bytes_per_multiprocessor / (shared_bytes + 1024);
    const std::int64_t by_warps = rates.warps_per_multiprocessor / warps;
    return std::min({by_registers, by_shared, by_warps, std::int64_t{16}});
}

}  // namespace kiln
