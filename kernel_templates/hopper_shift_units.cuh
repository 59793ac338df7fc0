// SPDX-License-Identifier: Apache-2.0
#pragma once

// Places, tiles of them and their segments, and how their pixels lie in shared memory.
namespace kiln {

/// An image is divided into `strips` strips of `strip_width` columns of positions. A strip's spots are its positions and what
/// the taps reach beyond them: reach_w spots after each row, reach_h rows after the last. Spots follow each other row by row,
/// strip by strip, image by image, so that a tap of the kernel reads a fixed number of spots after its position's own. A tile is
/// a run of `tile_spots` spots; those that are no positions are multiplied too, and not counted.
///
/// Where images are beside each other, `beside` of them are one of these, each spot has a place for each of them, and a tile is
/// `tile_rows` whole rows of a strip. Else a spot is a place.
///
/// Computed by the host for the shape (ShiftLayout in src/model/families/hopper_shift_tile.cpp).
struct Layout {
    int units;  // pairs of a tile and a filter tile
    int tile_spots, tile_rows;
    int strips, strip_width;
    int pitch, rows;  // of a strip, in spots
    int pixel_pitch, pixel_channel_stride, pixel_image_stride;
    int beside_bits;  // 2 to their power images are beside each other

    __device__ __forceinline__ explicit Layout(const ForwardArguments& arguments)
        : units(static_cast<int>(arguments.layout[0])),
          tile_spots(static_cast<int>(arguments.layout[1])),
          tile_rows(static_cast<int>(arguments.layout[1] >> 32)),
          strips(static_cast<int>(arguments.layout[2])),
          strip_width(static_cast<int>(arguments.layout[3])),
          pitch(strip_width + reach_w),
          rows(arguments.pooled_height + reach_h),
          pixel_pitch(static_cast<int>(arguments.layout[4])),
          pixel_channel_stride(static_cast<int>(arguments.layout[5])),
          pixel_image_stride(static_cast<int>(arguments.layout[5] >> 32)),
          beside_bits(beside == 0   ? static_cast<int>(arguments.layout[3] >> 32)
                      : beside == 8 ? 3
                                    : 0) {}

    __device__ __forceinline__ bool are_beside() const { return beside_bits != 0; }

    /// Spots of the map behind `spots` spots of a tile.
    __device__ __forceinline__ int with_reach(int spots) const { return spots + reach_h * pitch + reach_w; }
    /// Tiles of a strip, where these are whole rows.
    __device__ __forceinline__ int strip_tiles(int pooled_height) const {
        return static_cast<int>(static_cast<unsigned>(pooled_height + tile_rows - 1) / tile_rows);
    }
    /// Of four channels, all that lies between the first's first pixel and the last's last one comes in one copy.
    __device__ __forceinline__ bool copies_fours(const ForwardArguments& arguments) const {
        return may_be_beside && arguments.layout[4] >> 32 != 0;
    }
};

/// A unit's tile: `count` spots, the first of which is (strip, row, column), strips of all images counted together. Written by
/// the feeding warp, read by all others.
struct __align__(16) Unit {
    int tile;
    int strip, row, column;
    int count;

    __device__ __forceinline__ Unit(const ForwardArguments& arguments, const Layout& layout, int unit) {
        tile = static_cast<unsigned>(unit) / filter_tiles;
        if (layout.are_beside()) {
            const int tiles = layout.strip_tiles(arguments.pooled_height);
            strip = static_cast<int>(static_cast<unsigned>(tile) / tiles);
            row = (tile - strip * tiles) * layout.tile_rows;
            column = 0;
            count = min(layout.tile_rows, arguments.pooled_height - row) * layout.pitch - reach_w;
            return;
        }
        const unsigned area = layout.rows * layout.pitch;  // a tile's are fewer than 2^31, so a strip's are
        const Index first = static_cast<Index>(tile) * layout.tile_spots;
        const Index left = arguments.batch * layout.strips * area - first;
        count = left < layout.tile_spots ? static_cast<int>(left) : layout.tile_spots;
        strip = static_cast<int>(divide_in_few_registers(first, area));
        const unsigned rest = static_cast<unsigned>(first - static_cast<Index>(strip) * area);
        row = rest / layout.pitch;
        column = rest - row * layout.pitch;
    }
};

/// What a tile's map has of one strip.
struct Segment {
    int image;          // the first of those that are beside each other
    int row, rows;      // the first, and how many
    int column;         // of positions, the strip's first
    int rows_before;    // in the map
    int lines;          // of pixels
    int pixels_before;  // floats of each channel's pixels before its own

    /// The line and column of pixels where the first position's window begins; negative in the padding.
    __device__ __forceinline__ int y() const { return Rows::step * row - padding_h; }
    __device__ __forceinline__ int x() const { return Columns::step * column - padding_w; }
};

/// The segments of a tile's map: the first, equal ones between, and the last.
struct Segments {
    const ForwardArguments& arguments;
    const Layout& layout;
    const Unit& unit;
    int count;
    int first_rows, last_rows;

    __device__ __forceinline__ Segments(const ForwardArguments& arguments_, const Layout& layout_, const Unit& unit_)
        : arguments(arguments_), layout(layout_), unit(unit_) {
        int rows = static_cast<int>(static_cast<unsigned>(unit.column + layout.with_reach(unit.count) - 1) / layout.pitch) + 1;
        const Index left = (arguments.batch * layout.strips - unit.strip) * layout.rows - unit.row;
        if (!layout.are_beside() && left < rows) rows = static_cast<int>(left);
        first_rows = min(rows, layout.rows - unit.row);
        const int others =
            rows == first_rows ? 0 : static_cast<int>(static_cast<unsigned>(rows - first_rows - 1) / layout.rows) + 1;
        count = 1 + others;
        last_rows = others == 0 ? first_rows : rows - first_rows - (others - 1) * layout.rows;
    }

    /// Lines of pixels that `rows` rows of the map from `row` on are made of, but none past the last position's window.
    __device__ __forceinline__ int lines(int row, int rows) const {
        if (layout.are_beside()) return Rows::step * (rows - reach_h - 1) + window_h;
        return max(0, min(Rows::step * (rows - 1) + group_lines, Rows::step * (arguments.pooled_height - 1 - row) + window_h));
    }

    __device__ __forceinline__ Segment operator[](int index) const {
        const int strip = unit.strip + index;
        Segment segment;
        segment.image = layout.strips == 1 ? strip : static_cast<unsigned>(strip) / layout.strips;
        segment.column = (strip - segment.image * layout.strips) * layout.strip_width;
        segment.image <<= layout.beside_bits;
        segment.row = index == 0 ? unit.row : 0;
        segment.rows = index == 0 ? first_rows : index == count - 1 ? last_rows : layout.rows;
        segment.lines = lines(segment.row, segment.rows);
        segment.rows_before = segment.pixels_before = 0;
        if (index > 0) {
            segment.rows_before = first_rows + (index - 1) * layout.rows;
            const int lines_before = lines(unit.row, first_rows) + (index - 1) * lines(0, layout.rows);
            segment.pixels_before = (lines_before * layout.pixel_pitch + index * pixel_slack + 3) / 4 * 4;
        }
        return segment;
    }
};

/// Which units a block has, and which of their chunks of channels. Units are dealt out in turn; where `splits` blocks share a
/// unit's chunks, each has one unit.
struct Share {
    int first, step, units;
    int first_chunk, own_chunks;

    __device__ __forceinline__ Share(const ForwardArguments& arguments, const Layout& layout) : units(layout.units) {
        const int splits = splits_of(arguments);
        const int part = part_of(arguments);
        first = splits == 1 ? blockIdx.x : blockIdx.x / splits;
        step = splits == 1 ? gridDim.x : units;
        first_chunk = chunks * part / splits;
        own_chunks = chunks * (part + 1) / splits - first_chunk;
    }

    __device__ __forceinline__ static int splits_of(const ForwardArguments& arguments) {
        return may_be_beside ? static_cast<int>(arguments.layout[2] >> 32) : 1;
    }
    __device__ __forceinline__ static int part_of(const ForwardArguments& arguments) {
        return may_be_beside ? blockIdx.x % static_cast<unsigned>(splits_of(arguments)) : 0;
    }
    /// Blocks that share channels are pairs: the block's place in its own, and by how many blocks filters are divided then.
    __device__ __forceinline__ static unsigned rank_of(const ForwardArguments& arguments) { return part_of(arguments) % 2u; }
    __device__ __forceinline__ static int halves_of(const ForwardArguments& arguments) {
        return splits_of(arguments) > 1 ? 2 : 1;
    }
    __device__ __forceinline__ static int filter_tile(int unit) { return static_cast<unsigned>(unit) % filter_tiles; }
};

}  // namespace kiln
