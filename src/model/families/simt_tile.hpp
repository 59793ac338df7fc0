// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <kiln/spec.hpp>

#include "model/family.hpp"

namespace kiln {

/// A tile of the SIMT family by its names, and the sizes that follow from it as kernel_templates/simt_sizes.cuh states them.
struct SimtTile {
    std::int64_t positions = 0;         ///< pooled positions, a multiple of position lanes · thread_positions
    std::int64_t filters = 0;           ///< a multiple of filter_lanes · thread_filters
    std::int64_t thread_positions = 0;  ///< 4 or 8
    std::int64_t thread_filters = 0;
    std::int64_t filter_lanes = 0;     ///< of a warp's 32, a power of two up to 16; the others lie along positions
    std::int64_t chunk_channels = 0;   ///< channels whose box sums are in shared memory at a time
    std::int64_t taps_h = 0;           ///< rows of the kernel whose box sums are, a divisor of kernel_h
    std::int64_t taps_w = 0;           ///< columns
    std::int64_t window_lanes = 0;     ///< lanes that share the sums of one window: 1 for small ones, in registers
    std::int64_t windows_at_once = 0;  ///< windows that a thread loads before it sums the first, where they are small
    std::int64_t blocks = 0;           ///< per multiprocessor, which bounds the registers

    [[nodiscard]] static SimtTile from(const Tile& tile);
    /// Rendered into the kernel, `shared_bytes` with it, which the kernel checks.
    [[nodiscard]] Tile render(const ModelSpec& spec) const;

    [[nodiscard]] std::int64_t threads() const { return positions / thread_positions * (filters / thread_filters); }
    [[nodiscard]] std::int64_t windows_each() const;  ///< of a thread, in a chunk
    [[nodiscard]] std::int64_t warps_along_filters() const { return filters / (filter_lanes * thread_filters); }
    [[nodiscard]] std::int64_t taps() const { return taps_h * taps_w; }
    [[nodiscard]] std::int64_t chunk_k() const { return chunk_channels * taps(); }
    [[nodiscard]] std::int64_t tap_blocks(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t chunks(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t filter_tiles(const ModelSpec& spec) const;
    [[nodiscard]] bool weights_stay(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t shared_bytes(const ModelSpec& spec) const;
};

}  // namespace kiln
