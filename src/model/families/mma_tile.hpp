// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <kiln/spec.hpp>

#include "model/family.hpp"

namespace kiln {

/// Chains of so many k-steps at most have their operands in registers; a longer one is all of k, where k is short enough for
/// that.
constexpr std::int64_t longest_held_chain = 4, longest_mma_chain = 9;

/// A tile of the mma_sync family by its names, and the sizes that follow from it as kernel_templates/mma_sync_sizes.cuh states
/// them.
struct MmaTile {
    std::int64_t positions = 0;          ///< pooled positions, 16·position_tiles for each of a power of two of warps
    std::int64_t filters = 0;            ///< 8·filter_tiles_each for each of a power of two of warps
    std::int64_t position_tiles = 0;     ///< products of 16 positions side by side in a warp: 1, 2 or 4
    std::int64_t filter_tiles_each = 0;  ///< products of 8 filters
    std::int64_t k_warps = 1;            ///< warps that divide k for the same part of the tile: 1, 2, 4 or 8
    std::int64_t builder_warps = 0;      ///< warps that only build box sums and bring weights; 0: all warps build and multiply
    std::int64_t chunk_channels = 0;     ///< channels whose box sums are in shared memory at a time
    std::int64_t taps_h = 0;             ///< rows of the kernel whose box sums are, a divisor of kernel_h
    std::int64_t taps_w = 0;             ///< columns
    std::int64_t window_lanes = 0;       ///< lanes that share the sums of one window: 1 for small ones, in registers
    std::int64_t windows_at_once = 0;    ///< windows that a thread loads before it sums the first, where they are small
    std::int64_t chain_steps = 0;        ///< k-steps whose products the tensor cores add up before they are promoted
    std::int64_t box_stages = 0;         ///< chunks whose box sums are in shared memory: one is built while another is multiplied
    std::int64_t blocks = 0;             ///< per multiprocessor, which bounds the registers

    [[nodiscard]] static MmaTile from(const Tile& tile);
    /// Rendered into the kernel, `shared_bytes` with it, which the kernel checks.
    [[nodiscard]] Tile render(const ModelSpec& spec) const;

    [[nodiscard]] std::int64_t warps_along_positions() const { return positions / (16 * position_tiles); }
    [[nodiscard]] std::int64_t warps_along_filters() const { return filters / (8 * filter_tiles_each); }
    [[nodiscard]] std::int64_t multiplying_threads() const {
        return 32 * warps_along_positions() * warps_along_filters() * k_warps;
    }
    [[nodiscard]] std::int64_t building_threads() const { return builder_warps > 0 ? 32 * builder_warps : multiplying_threads(); }
    [[nodiscard]] std::int64_t threads() const { return multiplying_threads() + 32 * builder_warps; }
    [[nodiscard]] std::int64_t windows_each() const;  ///< of a thread, in a chunk
    [[nodiscard]] std::int64_t taps() const { return taps_h * taps_w; }
    [[nodiscard]] std::int64_t chunk_k() const { return chunk_channels * taps(); }
    [[nodiscard]] std::int64_t chunk_steps() const { return (chunk_k() + 7) / 8; }
    [[nodiscard]] std::int64_t tap_blocks(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t chunks(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t filter_tiles(const ModelSpec& spec) const;
    /// Whether warps split weights: for fp32, where builders bring many. Splitting 147,456 floats (with both parts) paid, 36,864
    /// not.
    [[nodiscard]] bool splits_weights(const ModelSpec& spec) const {
        return builder_warps > 0 && spec.math != Math::tf32 && filter_tiles(spec) * chunks(spec) * parts_floats(spec) > 65536;
    }
    /// Floats of a chunk's weights, with all parts.
    [[nodiscard]] std::int64_t parts_floats(const ModelSpec& spec) const {
        return chunk_steps() * filters * (spec.math == Math::tf32 ? 8 : 16);
    }
    /// Floats of 8 × 8 weights in one lane: whole ones, or large parts and, for fp32, small ones.
    [[nodiscard]] std::int64_t lane_weights(const ModelSpec& spec) const {
        return spec.math == Math::tf32 || splits_weights(spec) ? 2 : 4;
    }
    [[nodiscard]] std::int64_t step_floats(const ModelSpec& spec) const { return filters / 8 * 32 * lane_weights(spec); }
    [[nodiscard]] std::int64_t chunk_floats(const ModelSpec& spec) const { return chunk_steps() * step_floats(spec); }
    [[nodiscard]] bool weights_stay(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t shared_bytes(const ModelSpec& spec) const;
};

/// The k-steps of a chain in such a tile, whose own are ignored: as few as keep the bound of docs/numerics.md, because a
/// promotion is one rounding to nearest, and that bound allows one for every 32 of k beside a constant. 0 if the tile's chunks
/// are too short.
[[nodiscard]] std::int64_t mma_chain_steps(const ModelSpec& spec, const MmaTile& tile);

}  // namespace kiln
