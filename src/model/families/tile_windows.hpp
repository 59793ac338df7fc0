// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <kiln/spec.hpp>

namespace kiln {

/// How kernel_templates/tile_boxes.cuh sums windows: what a spec fixes before any tile is chosen.
struct TileWindows {
    std::int64_t taps_h = 1, taps_w = 1;
    std::int64_t window_lanes = 1;
    std::int64_t vector = 1;     ///< floats of the widest load that every row can be read by, if its length is a multiple
    double loads = 0;            ///< values that a lane loads for the box sums of one channel and block of taps
    double additions = 0;        ///< that it makes
    std::int64_t pixels = 0;     ///< that a lane holds for one small window
    std::int64_t registers = 0;  ///< that the sums of rows take
};
[[nodiscard]] TileWindows tile_windows(const ModelSpec& spec);

}  // namespace kiln
