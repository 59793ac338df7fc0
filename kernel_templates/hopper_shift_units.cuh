// SPDX-License-Identifier: Apache-2.0
#pragma once

// Places, tiles of them and their segments, and how their pixels lie in shared memory.
namespace kiln {

/// An image is divided into `strips` strips of `strip_width` columns of positions. A strip's places are its positions and what
/// the taps reach beyond them: reach_w places after each row, reach_h rows after the last. Places follow each other row by row,
/// strip by strip, image by image, so that a tap of the kernel reads a fixed number of places after its position's own. A tile is
/// a run of `tile_places` places; those that are no positions are multiplied too, and not counted.
///
/// Computed by the host for the shape (ShiftLayout in src/model/families/hopper_shift_tile.cpp).
struct Layout {
    int units;  // pairs of a tile and a filter tile
    int tile_places;
    int strips, strip_width;
    int pitch, rows;  // of a strip, in places
    int pixel_pitch, pixel_channel_stride;

    __device__ __forceinline__ explicit Layout(const ForwardArguments& arguments)
        : units(static_cast<int>(arguments.layout[0])),
          tile_places(static_cast<int>(arguments.layout[1])),
          strips(static_cast<int>(arguments.layout[2])),
          strip_width(static_cast<int>(arguments.layout[3])),
          pitch(strip_width + reach_w),
          rows(arguments.pooled_height + reach_h),
          pixel_pitch(static_cast<int>(arguments.layout[4])),
          pixel_channel_stride(static_cast<int>(arguments.layout[5])) {}

    /// Places of the map behind `places` places of a tile.
    __device__ __forceinline__ int with_reach(int places) const { return places + reach_h * pitch + reach_w; }
};

/// A unit's tile: `count` places, the first of which is (strip, row, column), strips of all images counted together. Written by
/// the feeding warp, read by all others.
struct __align__(16) Unit {
    int tile;
    int strip, row, column;
    int count;

    __device__ __forceinline__ Unit(const ForwardArguments& arguments, const Layout& layout, int unit) {
        tile = static_cast<unsigned>(unit) / filter_tiles;
        const unsigned area = layout.rows * layout.pitch;  // a tile's are fewer than 2^31, so a strip's are
        const Index first = static_cast<Index>(tile) * layout.tile_places;
        const Index left = arguments.batch * layout.strips * area - first;
        count = left < layout.tile_places ? static_cast<int>(left) : layout.tile_places;
        strip = static_cast<int>(divide_in_few_registers(first, area));
        const unsigned rest = static_cast<unsigned>(first - static_cast<Index>(strip) * area);
        row = rest / layout.pitch;
        column = rest - row * layout.pitch;
    }
};

/// What a tile's map has of one strip.
struct Segment {
    int image;
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
        if (left < rows) rows = static_cast<int>(left);
        first_rows = min(rows, layout.rows - unit.row);
        const int others =
            rows == first_rows ? 0 : static_cast<int>(static_cast<unsigned>(rows - first_rows - 1) / layout.rows) + 1;
        count = 1 + others;
        last_rows = others == 0 ? first_rows : rows - first_rows - (others - 1) * layout.rows;
    }

    /// Lines of pixels that `rows` rows of the map from `row` on are made of, but none past the last position's window.
    __device__ __forceinline__ int lines(int row, int rows) const {
        return max(0, min(Rows::step * (rows - 1) + group_lines, Rows::step * (arguments.pooled_height - 1 - row) + window_h));
    }

    __device__ __forceinline__ Segment operator[](int index) const {
        const int strip = unit.strip + index;
        Segment segment;
        segment.image = layout.strips == 1 ? strip : static_cast<unsigned>(strip) / layout.strips;
        segment.column = (strip - segment.image * layout.strips) * layout.strip_width;
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

/// Which units a block has: they are dealt out in turn.
struct Share {
    int first, step, units;

    __device__ __forceinline__ explicit Share(const Layout& layout) : first(blockIdx.x), step(gridDim.x), units(layout.units) {}

    __device__ __forceinline__ static int filter_tile(int unit) { return static_cast<unsigned>(unit) % filter_tiles; }
};

}  // namespace kiln
