// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include <kiln/spec.hpp>

#include "model/family.hpp"

namespace kiln {

/// A tile of the Hopper stream family by its names, and what follows from it as kernel_templates/hopper_stream_sizes.cuh states
/// it.
struct StreamTile {
    static constexpr std::int64_t panel_columns = 32;

    std::int64_t warps = 0;       ///< that consume: 4, 8 or 12
    std::int64_t channels = 0;    ///< in a pass, a multiple of 4
    std::int64_t keeps_rows = 0;  ///< whether rows that the next window shares stay in registers
    std::int64_t stage_rows = 0;  ///< of a slot of the ring
    std::int64_t filters = 0;     ///< in a tile, a multiple of 8

    [[nodiscard]] static StreamTile from(const Tile& tile);
    [[nodiscard]] Tile render() const;

    [[nodiscard]] std::int64_t threads() const { return 32 * warps + 128; }
    [[nodiscard]] std::int64_t passes(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t stage_channels(const ModelSpec& spec) const;  ///< of a pass, without padding
    [[nodiscard]] std::int64_t first_channel(const ModelSpec& spec, std::int64_t pass) const;
    [[nodiscard]] std::int64_t lane_values(const ModelSpec& spec) const;  ///< of one position, in a pass
    [[nodiscard]] std::int64_t k_steps(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t chains(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t filter_tiles(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t kept_rows(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t unit_rows(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t pass_stages(const ModelSpec& spec) const;  ///< of a unit
    /// Rows, and pieces of each, that threads copy together where the copy engine cannot.
    [[nodiscard]] std::int64_t rows_at_once(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t pieces_at_once(const ModelSpec& spec) const;

    [[nodiscard]] std::int64_t operand_bytes() const { return 8 * filters * 4; }
    [[nodiscard]] std::int64_t step_bytes(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t bias_bytes(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t weights_bytes(const ModelSpec& spec) const;

    [[nodiscard]] bool stages_are_equal(const ModelSpec& spec) const;
    /// Slots are made of panels of 32 columns, which tensor copies bring, instead of rows.
    [[nodiscard]] bool has_panels(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t pitch(const ModelSpec& spec, std::int64_t columns) const;  ///< floats of a slot's row
    [[nodiscard]] std::int64_t max_pitch(const ModelSpec& spec, std::int64_t strip_blocks) const;
    [[nodiscard]] std::int64_t slot_head_bytes(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t channel_bytes(std::int64_t pitch) const;  ///< of a slot
    [[nodiscard]] std::int64_t slot_bytes(const ModelSpec& spec, std::int64_t pitch) const;
    [[nodiscard]] std::int64_t ring_bytes(const ModelSpec& spec) const;
    /// Streams of a block for which there are rings of two slots, with rows of `pitch` floats; one may have one slot.
    [[nodiscard]] std::int64_t most_streams(const ModelSpec& spec, std::int64_t strip_blocks, std::int64_t pitch) const;
    /// Whether there is room for one, of the narrowest strips.
    [[nodiscard]] bool fits(const ModelSpec& spec) const;

    [[nodiscard]] std::int64_t consumer_registers() const;              ///< there are
    [[nodiscard]] std::int64_t registers(const ModelSpec& spec) const;  ///< a consumer needs
};

/// Shared memory that a block of this family takes: all there is, for the ring.
inline constexpr std::int64_t stream_shared_bytes = std::int64_t{227} * 1024;

/// How a shape is laid over the blocks, and how each lays its streams' rings out: what kernel_templates/hopper_stream_layout.cuh
/// reads.
struct StreamLayout {
    static constexpr std::int64_t most_own_images = 4;  ///< `most_pending` in the kernel

    std::int64_t strips = 0;
    std::int64_t blocks = 0;         ///< warps side by side
    std::int64_t units = 0;          ///< pooled rows of strips, in all images
    bool may_bulk = false;           ///< the copy engine can bring rows, if x is aligned to 16 bytes
    bool rows_together = false;      ///< a channel's rows lie together, in memory and in the slot
    std::int64_t pitch = 0;          ///< of a slot's rows, in floats
    std::int64_t channel_bytes = 0;  ///< of a slot
    std::int64_t slot_bytes = 0;
    std::int64_t grid = 0;
    std::int64_t streams = 0;       ///< of a block, at most
    std::int64_t slots = 0;         ///< of each stream
    std::int64_t own_images = 0;    ///< of a block, where blocks share none; otherwise 0
    std::int64_t shared_units = 0;  ///< that runs divide among them: all, or those of a block's own images
    std::int64_t shared_runs = 0;   ///< one for each stream: of all blocks, or of one

    /// In so many strips or, where their warps or rings would not fit a block, the least number that do. Where blocks may have a
    /// few whole images each, sums need not meet those of other blocks.
    StreamLayout(const ModelSpec& spec, const StreamTile& tile, const Shape& shape, std::int64_t multiprocessors,
                 std::int64_t least_strips = 1, bool wants_own_images = false);

    [[nodiscard]] std::int64_t longest_run() const;  ///< in units

    /// For the kernel, in pairs of 32 bits.
    [[nodiscard]] std::array<std::int64_t, 8> words() const;
};

}  // namespace kiln
