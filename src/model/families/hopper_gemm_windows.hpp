// SPDX-License-Identifier: Apache-2.0
// Tiles without maps (kernel_templates/hopper_gemm_windows.cuh): threads sum the boxes of pairs of positions from pixels.
#pragma once

#include <cstdint>

#include "model/families/hopper_gemm_tile.hpp"

namespace kiln {

/// What a consumer thread reads and sums where there are no maps: for two neighbouring positions, in one channel.
struct GemmWindows {
    std::int64_t lines;    ///< of pixels
    std::int64_t columns;  ///< of them, in each line
    std::int64_t boxes;    ///< columns of boxes
    explicit GemmWindows(const ModelSpec& spec);
    /// That a consumer needs, about.
    [[nodiscard]] std::int64_t registers(const ModelSpec& spec, const GemmTile& tile) const;
};

/// The next distance of channels from `stride` on for which a warp's lanes meet the fewest banks twice: those of eight pairs of
/// positions, `step` floats apart, in four channels, which are aligned as in memory.
[[nodiscard]] std::int64_t apart_in_banks(std::int64_t stride, std::int64_t step, const Shape& shape, bool twos_in_turn);

}  // namespace kiln
