// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <kiln/spec.hpp>

#include "model/families/tile_windows.hpp"
#include "model/rates.hpp"

namespace kiln {

// What it costs to build box sums as kernel_templates/tile_boxes.cuh does.

/// How images of that width are loaded: so many floats in one load, so many windows before the first is summed. Rows whose length
/// is no multiple of the vector are loaded value by value, by code that is kept short.
[[nodiscard]] std::int64_t loaded_vector(const TileWindows& windows, std::int64_t width);
[[nodiscard]] std::int64_t loaded_at_once(const TileWindows& windows, std::int64_t width, std::int64_t windows_at_once);

/// What a warp spends on the sums of 32/window_lanes windows, in images of that width.
struct WindowCost {
    double instructions = 0;
    double shared = 0;  ///< cycles of shared memory and L1
};
[[nodiscard]] WindowCost window_cost(const ModelSpec& spec, const TileWindows& windows, std::int64_t width);

/// The registers that a thread needs to sum so many windows at once, without spilling, beside what it keeps.
[[nodiscard]] std::int64_t building_registers(const ModelSpec& spec, const TileWindows& windows, std::int64_t windows_at_once);

/// How much slower all goes where blocks leave little of the shared memory to L1, which then forgets rows before all windows have
/// read them. Measured on an H200: nothing with half of it left, 5 % with a third, 50 % with an eighth.
[[nodiscard]] double l1_slowdown(std::int64_t blocks, std::int64_t shared_bytes, const Rates& rates);

}  // namespace kiln
