// SPDX-License-Identifier: Apache-2.0
#include "model/families/tile_cost.hpp"

#include <algorithm>
#include <cmath>

namespace kiln {

std::int64_t loaded_vector(const TileWindows& windows, std::int64_t width) {
    return width % windows.vector == 0 ? windows.vector : 1;
}

std::int64_t loaded_at_once(const TileWindows& windows, std::int64_t width, std::int64_t windows_at_once) {
    return loaded_vector(windows, width) == windows.vector ? windows_at_once : std::min<std::int64_t>(windows_at_once, 2);
}

WindowCost window_cost(const ModelSpec& spec, const TileWindows& windows, std::int64_t width) {
    const std::int64_t pitch = spec.stride.width * spec.pool_kernel_size.width;
    const auto taps = static_cast<double>(windows.taps_h * windows.taps_w);
    if (windows.window_lanes > 1) {
        const double shuffles = 2 * taps * std::log2(static_cast<double>(windows.window_lanes));
        return {3 * windows.loads + windows.additions + 2 * taps + shuffles + 100, 2 * windows.loads + taps + shuffles / 2};
    }
    const std::int64_t vector = loaded_vector(windows, width);
    const auto floats = static_cast<double>(vector);
    const double loads = windows.loads / floats * (vector > 1 ? 1.3 : 1);  // vectors that are used in part
    // Each pixel is set to zero, and each load has a condition.
    const double predicates = spec.padding.height > 0 || spec.padding.width > 0 ? (2 + floats) * loads : 0;
    const double lines = std::clamp(static_cast<double>(pitch), 1.0, 32.0);  // of 128 bytes that a warp's load touches
    const double cycles = std::max(floats, lines / 2);                       // two of them in a cycle, 128 bytes in all
    return {1.5 * loads + predicates + windows.additions + taps + 25, loads * cycles + taps};
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
