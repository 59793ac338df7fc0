// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <kiln/spec.hpp>

#include "model/family.hpp"

namespace kiln {

/// A tile of the Hopper shift family by its names, and what follows from it as kernel_templates/hopper_shift_sizes.cuh states it.
struct ShiftTile {
    static constexpr std::int64_t filters = 128, builder_warps = 6, threads = 512, most_beside = 8;

    std::int64_t beside = 0;            ///< images whose positions are neighbours: 1 or 8; 0: either, as each launch asks
    std::int64_t bf16_corrections = 0;  ///< 1: the two small products of three come as one of pairs of bf16
    std::int64_t places = 0;            ///< a multiple of 32, at most 192
    std::int64_t fours = 0;             ///< groups of four channels in a chunk: 1 or 2
    std::int64_t steps = 0;             ///< at most, in a batch
    std::int64_t stages = 0;            ///< k-steps of weights in shared memory
    std::int64_t map_rows = 0;          ///< that a builder's thread makes at a time
    std::int64_t map_places = 0;        ///< of each phase of a map
    std::int64_t short_places = 0;      ///< of those whose taps reach fewer rows
    std::int64_t columns = 0;           ///< of a map, that threads make
    std::int64_t runs = 0;              ///< of pixels in a channel
    std::int64_t pixel_stages = 0;      ///< of four channels each
    std::int64_t pixel_floats = 0;      ///< of one stage

    [[nodiscard]] static ShiftTile from(const Tile& tile);
    [[nodiscard]] Tile render() const;

    /// Sets what depends on the map's size so that tiles at this shape are as large as they can be, and every other shape gets
    /// some; false if it cannot have tiles at this shape. Where launches choose how many images are beside each other, tiles of
    /// rows of up to 8 positions are as large as they can be, too, and `together` is the side of the largest squares of positions
    /// whose images' pixels of four channels come in one copy.
    bool reserve(const ModelSpec& spec, const Shape& shape, std::int64_t strips, std::int64_t together = 0);

    [[nodiscard]] static std::int64_t filter_tiles(const ModelSpec& spec);
    [[nodiscard]] std::int64_t chunks(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t chunk_steps(const ModelSpec& spec) const;
    [[nodiscard]] static std::int64_t weight_parts(const ModelSpec& spec);
    [[nodiscard]] std::int64_t products(const ModelSpec& spec) const;  ///< of the tensor cores, for a k-step
    [[nodiscard]] std::int64_t batches(const ModelSpec& spec) const;   ///< of k-steps, in a chunk: each one chain of products
    [[nodiscard]] static std::int64_t step_bytes(const ModelSpec& spec);
    [[nodiscard]] static std::int64_t bias_bytes(const ModelSpec& spec);
    [[nodiscard]] std::int64_t map_bytes(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t shared_bytes(const ModelSpec& spec) const;
    [[nodiscard]] std::int64_t builder_registers() const;                              ///< that a builder's thread gets
    [[nodiscard]] std::int64_t needed_builder_registers(const ModelSpec& spec) const;  ///< about
};

/// The tap that a k-step's first or second four channels are of; the first tap once more where taps are odd, with weights of
/// zero.
struct ShiftTap {
    std::int64_t ky = 0, kx = 0;
};
/// Taps in the order of their boxes in the map: by phase, then by how far they are ahead.
[[nodiscard]] std::vector<ShiftTap> shift_taps(const ModelSpec& spec);

/// How a run-time shape is divided: kernel_templates/hopper_shift_units.cuh says what each is.
struct ShiftLayout {
    std::int64_t tile_spots = 0;
    std::int64_t tile_rows = 0;  ///< where images are beside each other
    std::int64_t strips = 0, strip_width = 0, pitch = 0, rows = 0;
    std::int64_t pixel_pitch = 0, pixel_channel_stride = 0;
    bool copies_fours = false;                      ///< each image's pixels of four channels come at once, with what lies between
    std::int64_t pixel_image_stride = 0;            ///< where images are beside each other
    std::int64_t tiles = 0;                         ///< of the whole batch
    std::int64_t map_places = 0, short_places = 0;  ///< that a tile needs at most
    std::int64_t columns = 0, runs = 0, pixel_floats = 0;
    std::int64_t copies = 0;  ///< of a stage of pixels

    ShiftLayout(const ModelSpec& spec, const ShiftTile& tile, const Shape& shape, std::int64_t strips, std::int64_t tile_spots);
    /// Where images are beside each other: tiles of whole rows, of nearly equal height. `together`: four channels of an image
    /// come in one copy, with what lies between.
    [[nodiscard]] static ShiftLayout beside(const ModelSpec& spec, const ShiftTile& tile, const Shape& shape, std::int64_t strips,
                                            std::int64_t most_rows, bool together);
    /// The fewest strips and the largest tile that fit, `beside` (1 or 8) images being so.
    [[nodiscard]] static ShiftLayout fitting(const ModelSpec& spec, const ShiftTile& tile, const Shape& shape,
                                             std::int64_t beside);
    [[nodiscard]] bool fits(const ShiftTile& tile) const;

private:
    ShiftLayout() = default;
    [[nodiscard]] static ShiftLayout fitting_beside(const ModelSpec& spec, const ShiftTile& tile, const Shape& shape,
                                                    std::int64_t most_strips);
    void divide(const ModelSpec& spec, const Shape& shape, std::int64_t wished_strips);
};

}  // namespace kiln
