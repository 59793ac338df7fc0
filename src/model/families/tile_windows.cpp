// SPDX-License-Identifier: Apache-2.0
#include "model/families/tile_windows.hpp"

#include <algorithm>

namespace kiln {

namespace {

// What one lane may hold and unroll for a small window.
constexpr std::int64_t most_taps = 49;
constexpr std::int64_t most_row_sums = 64;
constexpr std::int64_t most_pixels = 160, most_padded_pixels = 128;
constexpr std::int64_t widest_window = 24;
constexpr std::int64_t most_taps_of_large_windows = 32;

/// One dimension of a window.
struct Extent {
    std::int64_t span;  ///< from the first pixel to the last
    std::int64_t used;  ///< pixels that some tap sees, at most
};

Extent extent(std::int64_t taps, std::int64_t pool, std::int64_t stride, std::int64_t dilation) {
    const std::int64_t span = (pool - 1) * stride + (taps - 1) * dilation + 1;
    return {span, std::min(span, pool * taps)};
}

/// Additions for all taps of one line (`window_sums` in common_boxes.cuh).
std::int64_t line_additions(std::int64_t taps, std::int64_t pool, std::int64_t stride, std::int64_t dilation) {
    const std::int64_t apart = taps * (pool - 1);
    return stride == dilation ? std::min(apart, pool - 1 + 3 * (taps - 1)) : apart;
}

/// As in kernel_templates/tile_boxes.cuh.
std::int64_t widest_vector(const ModelSpec& spec, std::int64_t taps_w) {
    std::int64_t step = spec.stride.width * spec.pool_kernel_size.width;
    if (taps_w < spec.kernel_size.width) step |= taps_w * spec.dilation.width;
    return step % 4 == 0 ? 4 : step % 2 == 0 ? 2 : 1;
}

/// The windows of one block of taps if a lane can sum them in registers.
bool fits_one_lane(const ModelSpec& spec, std::int64_t taps_h, std::int64_t taps_w, TileWindows& windows) {
    const Extent h = extent(taps_h, spec.pool_kernel_size.height, spec.stride.height, spec.dilation.height);
    const Extent w = extent(taps_w, spec.pool_kernel_size.width, spec.stride.width, spec.dilation.width);
    if (taps_h * taps_w > most_taps || h.span > widest_window || w.span > widest_window) return false;
    // Whole vectors are held, but rows that no tap uses are not loaded.
    const std::int64_t pixels = h.used * (spec.stride.width * spec.pool_kernel_size.width % 2 == 0 ? w.span : w.used);
    const bool is_padded = spec.padding.height > 0 || spec.padding.width > 0;
    if (pixels > (is_padded ? most_padded_pixels : most_pixels) || h.used * taps_w > most_row_sums) return false;
    windows.taps_h = taps_h;
    windows.taps_w = taps_w;
    windows.window_lanes = 1;
    windows.vector = widest_vector(spec, taps_w);
    windows.loads = static_cast<double>(pixels);
    windows.additions = static_cast<double>(
        h.used * line_additions(taps_w, spec.pool_kernel_size.width, spec.stride.width, spec.dilation.width) +
        taps_w * line_additions(taps_h, spec.pool_kernel_size.height, spec.stride.height, spec.dilation.height));
    windows.pixels = pixels;
    windows.registers = h.used * taps_w;
    return true;
}

std::int64_t largest_divisor(std::int64_t of, std::int64_t at_most) {
    for (std::int64_t divisor = std::min(of, at_most); divisor > 1; --divisor) {
        if (of % divisor == 0) return divisor;
    }
    return 1;
}

/// Windows too large for one lane: taps that share rows together, if few rows between them are unused.
TileWindows large_windows(const ModelSpec& spec) {
    TileWindows windows;
    windows.taps_w = largest_divisor(spec.kernel_size.width, most_taps_of_large_windows);
    windows.taps_h = largest_divisor(spec.kernel_size.height, most_taps_of_large_windows / windows.taps_w);
    Extent h = extent(windows.taps_h, spec.pool_kernel_size.height, spec.stride.height, spec.dilation.height);
    if (h.used < h.span) windows.taps_h = 1;
    h = extent(windows.taps_h, spec.pool_kernel_size.height, spec.stride.height, spec.dilation.height);
    const std::int64_t pixels = spec.pool_kernel_size.height * spec.pool_kernel_size.width;
    windows.window_lanes = 4;
    while (windows.window_lanes < 32 && windows.window_lanes * 16 < pixels) windows.window_lanes *= 2;
    const auto lanes = static_cast<double>(windows.window_lanes);
    windows.loads = static_cast<double>(h.used * spec.pool_kernel_size.width * windows.taps_w) / lanes + 1;
    windows.additions = windows.loads + static_cast<double>(h.used * windows.taps_h * windows.taps_w) / lanes;
    windows.registers = (windows.taps_h + 1) * windows.taps_w;
    return windows;
}

}  // namespace

TileWindows tile_windows(const ModelSpec& spec) {
    TileWindows best;
    double best_work = 0;
    for (std::int64_t taps_h = spec.kernel_size.height; taps_h > 0; --taps_h) {
        if (spec.kernel_size.height % taps_h != 0) continue;
        for (std::int64_t taps_w = std::min(spec.kernel_size.width, most_taps); taps_w > 0; --taps_w) {
            TileWindows windows;
            if (spec.kernel_size.width % taps_w != 0 || !fits_one_lane(spec, taps_h, taps_w, windows)) continue;
            const double work = (windows.loads + windows.additions + 10) / static_cast<double>(taps_h * taps_w);
            if (best_work == 0 || work < best_work) {
                best = windows;
                best_work = work;
            }
        }
    }
    return best_work > 0 ? best : large_windows(spec);
}

}  // namespace kiln
