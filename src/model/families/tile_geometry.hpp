// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <kiln/spec.hpp>

#include "model/family.hpp"
#include "model/rates.hpp"

namespace kiln {

/// How families whose blocks have tiles of positions lay out their work (kernel_templates/tile_images.cuh): a block for each
/// place on the GPU, with a run of tiles each; where tiles are few, the filters of each are divided too.
struct TileWork {
    std::int64_t tiles;   ///< of positions
    std::int64_t runs;    ///< of tiles, nearly equal
    std::int64_t splits;  ///< blocks that divide the tiles of filters of each run

    /// `slots`: how many blocks the GPU holds at once.
    TileWork(std::int64_t all_positions, std::int64_t positions, std::int64_t filter_tiles, std::int64_t slots);
};

/// The launch for a shape, but for what the block has.
[[nodiscard]] LaunchGeometry tile_geometry(const ModelSpec& spec, std::int64_t positions, std::int64_t filter_tiles,
                                           const Shape& shape, const DeviceLimits& limits);

/// Blocks per multiprocessor that registers and shared memory allow; 0 if not one.
[[nodiscard]] std::int64_t resident_blocks(std::int64_t threads, std::int64_t registers, std::int64_t shared_bytes,
                                           const Rates& rates);

}  // namespace kiln
