// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <kiln/spec.hpp>

#include "model/family.hpp"

namespace kiln {

/// One dimension of the box map, as kernel_templates/hopper_gemm_sizes.cuh states it.
struct GemmAxis {
    std::int64_t taps = 1;
    std::int64_t step = 1;  ///< stride · pool
    std::int64_t dilation = 1;

    /// Whether `phases` says what it should: all taps are within one step, or they have all residues that the dilation can give.
    [[nodiscard]] bool is_regular() const { return phases() <= taps; }
    [[nodiscard]] std::int64_t phases() const;                                         ///< residues modulo `step` of the taps
    [[nodiscard]] std::int64_t reach() const { return dilation * (taps - 1) / step; }  ///< positions that the last tap is ahead
    [[nodiscard]] std::int64_t last_residue() const;                                   ///< of the last phase
};
[[nodiscard]] GemmAxis gemm_rows(const ModelSpec& spec);
[[nodiscard]] GemmAxis gemm_columns(const ModelSpec& spec);

/// What a builder thread reads of a spec's pixels.
struct GemmColumn {
    std::int64_t phases;       ///< that it makes at once
    std::int64_t loads;        ///< pixels of a line
    std::int64_t group_lines;  ///< behind one row group
    std::int64_t kept_lines;   ///< of these, that the next group uses too
    explicit GemmColumn(const ModelSpec& spec);
    /// Whether it makes a block's row groups in turn, and not all at once.
    [[nodiscard]] bool builds_in_turn() const { return group_loads() >= 9 && group_loads() <= 24; }
    [[nodiscard]] std::int64_t group_loads() const { return (group_lines - kept_lines) * loads; }
    /// Lines that it reads for so many groups of a block.
    [[nodiscard]] std::int64_t lines(std::int64_t groups) const { return kept_lines + groups * (group_lines - kept_lines); }
};

/// A tile of the Hopper gemm family by its names, and what follows from it as kernel_templates/hopper_gemm_sizes.cuh states it.
struct GemmTile {
    std::int64_t warpgroups = 0;  ///< of consumers, 64 positions each
    std::int64_t builders = 0;    ///< warpgroups that make the maps
    std::int64_t filters = 0;     ///< a multiple of 8, at most 128
    std::int64_t channels = 0;    ///< in a chunk
    std::int64_t splits = 0;      ///< blocks of a cluster that divide the channels; 0: as many as suit each launch's shape
    std::int64_t steps = 0;       ///< at most, in a batch
    std::int64_t stages = 0;      ///< batches of weights in shared memory
    std::int64_t bf16_corrections = 0;
    std::int64_t map_rows = 0;    ///< row groups of a block, one builder thread's in each column
    std::int64_t map_floats = 0;  ///< of one map
    std::int64_t pixel_stages = 0;
    std::int64_t pixel_floats = 0;  ///< of one stage

    [[nodiscard]] static GemmTile from(const Tile& tile);
    /// Rendered into the kernel, `shared_bytes` with it, which the kernel checks.
    [[nodiscard]] Tile render(const ModelSpec& spec) const;

    /// Sets `map_floats` and `pixel_floats` so that tiles at this shape are as large as `bytes` of shared memory allow, and
    /// returns how many places they have: 0 if not even the least that every shape needs fits.
    std::int64_t reserve(const ModelSpec& spec, const Shape& shape, std::int64_t bytes);

    /// Shares out what is left of `bytes` between maps and pixels, for shapes that have longer rows.
    void fill(const ModelSpec& spec, std::int64_t bytes);

    /// Whether it has a place where the sums of a cluster's blocks can meet.
    [[nodiscard]] bool can_split() const;

    /// Without maps (`map_rows` is 0) consumers sum boxes from pixels, for pairs of neighbouring positions.
    [[nodiscard]] bool has_maps() const { return map_rows > 0; }
    [[nodiscard]] std::int64_t place_positions() const { return has_maps() ? 1 : 2; }
    [[nodiscard]] std::int64_t places() const { return 64 * warpgroups / place_positions(); }
    /// Places in a row of so many positions: the last pair may overlap the one before.
    [[nodiscard]] std::int64_t row_places(std::int64_t positions) const {
        return (positions + place_positions() - 1) / place_positions();
    }
    /// Which channel of the input a chunk has where, which may be past the last.
    [[nodiscard]] std::int64_t input_channel(const ModelSpec& spec, std::int64_t chunk, std::int64_t channel) const;
    [[nodiscard]] bool twos_in_turn(const ModelSpec& spec) const { return !has_maps() && spec.in_channels % 8 == 0; }
    [[nodiscard]] std::int64_t all_places(const ModelSpec& spec, const Shape& shape) const;
    [[nodiscard]] std::int64_t threads() const { return 128 * (warpgroups + builders); }
    [[nodiscard]] std::int64_t filter_tiles(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t chunks(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t chunk_items(const ModelSpec& spec) const;  ///< what four lanes read of a chunk at a time
    [[nodiscard]] std::int64_t chunk_steps(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t batches(const ModelSpec& spec) const;     ///< of a chunk
    [[nodiscard]] std::int64_t long_steps(const ModelSpec& spec) const;  ///< k-steps of the longest batch
    [[nodiscard]] std::int64_t operand_bytes() const { return 8 * filters * 4; }
    [[nodiscard]] std::int64_t step_bytes(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t bias_bytes(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t shared_bytes(const ModelSpec& spec) const;
    [[nodiscard]] bool weights_stay(const ModelSpec& spec) const;                      ///< they are fetched once
    [[nodiscard]] std::int64_t builder_warps(const ModelSpec& spec) const;             ///< without those that do something else
    [[nodiscard]] std::int64_t wished_registers(const ModelSpec& spec) const;          ///< of a consumer thread
    [[nodiscard]] std::int64_t consumer_registers(const ModelSpec& spec) const;        ///< that it gets
    [[nodiscard]] std::int64_t builder_registers(const ModelSpec& spec) const;         ///< that a builder thread gets
    [[nodiscard]] std::int64_t needed_builder_registers(const ModelSpec& spec) const;  ///< with all its lines' sums, about
};

/// The tiles of positions and the box map for a run-time shape: kernel_templates/hopper_gemm_units.cuh
/// says what each is.
struct GemmLayout {
    std::int64_t places = 0;                                       ///< of a tile
    bool by_rows = false;                                          ///< a segment is what a tile has of one row, not of one image
    std::int64_t groups = 0;                                       ///< of rows in the map, at most
    std::int64_t blocks = 0;                                       ///< of groups, at most
    std::int64_t usual_blocks = 0;                                 ///< where a tile has no more segments than it must
    std::int64_t runs = 0;                                         ///< of pixels in a channel, at most
    std::int64_t lines = 0;                                        ///< of pixels, at most
    std::int64_t pitch = 0, phase_stride = 0, channel_stride = 0;  ///< of the map, in floats
    std::int64_t pixel_pitch = 0, pixel_channel_stride = 0;
    std::int64_t map_floats = 0, pixel_floats = 0;

    /// For tiles of just so many places.
    GemmLayout(const ModelSpec& spec, const GemmTile& tile, const Shape& shape, std::int64_t places);
    /// For the largest tiles that fit.
    [[nodiscard]] static GemmLayout largest(const ModelSpec& spec, const GemmTile& tile, const Shape& shape);
    /// For smaller ones, if no more rounds of `units_at_once` are needed for them.
    [[nodiscard]] GemmLayout shrunk(const ModelSpec& spec, const GemmTile& tile, const Shape& shape,
                                    std::int64_t units_at_once) const;
    [[nodiscard]] bool fits(const GemmTile& tile) const;
    /// No more runs and blocks than the kernel has room for.
    [[nodiscard]] bool is_listable(const GemmTile& tile) const;
    /// What must fit so that tiles of 8 positions do, whatever the shape: the largest of each.
    [[nodiscard]] static GemmLayout least(const ModelSpec& spec, const GemmTile& tile);
};

}  // namespace kiln
