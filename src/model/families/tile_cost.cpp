// SPDX-License-Identifier: Apache-2.0
#include "model/families/tile_cost.hpp"

#include <algorithm>
#include <cmath>

namespace kiln {

WindowCost window_cost(const ModelSpec& spec, const TileWindows& windows) {
    const std::int64_t pitch = spec.stride.width * spec.pool_kernel_size.width;
    const auto taps = static_cast<double>(windows.taps_h * windows.taps_w);
    if (windows.window_lanes > 1) {
        const double shuffles = 2 * taps * std::log2(static_cast<double>(windows.window_lanes));
        return {3 * windows.loads + windows.additions + 2 * taps + shuffles + 100, 2 * windows.loads + taps + shuffles / 2};
    }
    const double width = pitch % 4 == 0 ? 4 : pitch % 2 == 0 ? 2 : 1;
    const double loads = windows.loads / width * (width > 1 ? 1.3 : 1);  // vectors that are used in part
    const double predicates = spec.padding.height > 0 || spec.padding.width > 0 ? 2 * loads : 0;
    const double lines = std::clamp(static_cast<double>(pitch), 1.0, 32.0);  // of 128 bytes that a warp's load touches
    return {1.5 * loads + predicates + windows.additions + taps + 25, loads * lines + taps};
}

std::int64_t building_registers(const ModelSpec& spec, const TileWindows& windows, std::int64_t windows_at_once) {
    // In padding, whether each row and column is inside; for large windows, divisions, which are calls and clobber much.
    const bool is_padded = spec.padding.height > 0 || spec.padding.width > 0;
    const std::int64_t predicates = is_padded ? 30 + std::max<std::int64_t>(0, windows.pixels - 100) : 0;
    const std::int64_t at_once = windows_at_once * windows.pixels + 8 * std::max<std::int64_t>(0, windows_at_once - 2);
    return windows.window_lanes > 1 ? windows.registers + 96 : at_once + windows.registers / 4 + 20 + predicates;
}

double l1_slowdown(std::int64_t blocks, std::int64_t shared_bytes, const Rates& rates) {
    const double left = 1 - static_cast<double>(blocks * (shared_bytes + 1024)) / rates.l1_bytes;
    const double missing = std::max(0.0, 0.4 - left) / 0.4;
    return 1 + missing * missing;
}

}  // namespace kiln
