// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tiles of positions and their segments, and how these lie in shared memory.
namespace kiln {

/// With it `__umulhi` divides small numbers, exactly while dividend · divisor < 2^32; zero for 1.
__device__ __forceinline__ unsigned reciprocal_of(unsigned divisor) {
    return 0xffffffffu / divisor + 1;
}

/// Divides small numbers.
struct Divider {
    unsigned divisor, reciprocal;

    __device__ __forceinline__ explicit Divider(unsigned by) : divisor(by), reciprocal(reciprocal_of(by)) {}
    __device__ __forceinline__ unsigned divide(unsigned dividend) const {
        return divisor == 1 ? dividend : __umulhi(dividend, reciprocal);
    }
};

/// How often `divisor` is in `dividend`, which is less than `divisor` + tile_places.
__device__ __forceinline__ unsigned times_in(unsigned dividend, unsigned divisor, unsigned reciprocal) {
    if (divisor > tile_places) return dividend >= divisor ? 1 : 0;
    return __umulhi(dividend, reciprocal) + (divisor == 1 ? dividend : 0);
}

/// Places in a row of positions.
__device__ __forceinline__ int row_places(const ForwardArguments& arguments) {
    return (arguments.pooled_width + place_positions - 1) / place_positions;
}
/// The first position of a row's place.
__device__ __forceinline__ int first_position(const ForwardArguments& arguments, int place) {
    return has_maps ? place : max(min(2 * place, arguments.pooled_width - 2), 0);
}

/// How tiles' pixels and box maps lie in shared memory, as the host computed it for the shape (GemmLayout in
/// src/model/families/hopper_gemm_tile.cpp). A segment is what a tile has of one image, in the image's full width; where a row of
/// positions is longer than a tile (`by_rows`), a segment is what the tile has of one row.
///
/// The map of one chunk of channels, in floats: segments of r rows of positions take r + reach_h row groups and follow each
/// other.
///
///     channel · channel_stride + phase_w · phase_stride + (row_group · phases_h + phase_h) · pitch + q
///
/// Its pixels: lines `pixel_pitch` apart, with the same alignment to 16 bytes as in memory.
struct Layout {
    Index units;  // pairs of a tile and a filter tile
    int places;   // of a tile: fewer than tile_places where a full tile would not fit
    bool by_rows;
    int pitch, phase_stride, channel_stride;
    int pixel_pitch, pixel_channel_stride;

    __device__ __forceinline__ explicit Layout(const ForwardArguments& arguments)
        : units(arguments.layout[0]),
          places(static_cast<int>(arguments.layout[1])),
          by_rows((arguments.layout[2] & 1) != 0),
          pitch(static_cast<int>(arguments.layout[3])),
          phase_stride(static_cast<int>(arguments.layout[4])),
          channel_stride(static_cast<int>(arguments.layout[5])),
          pixel_pitch(static_cast<int>(arguments.layout[6])),
          pixel_channel_stride(static_cast<int>(arguments.layout[7])) {}

    /// From a position's place in the map to its first box for a line of taps, and on along that line.
    __device__ __forceinline__ int line_offset(int ky) const { return (Rows::shift(ky) * phases_h + Rows::phase_of(ky)) * pitch; }
    __device__ __forceinline__ int column_offset(int kx) const {
        return Columns::phase_of(kx) * phase_stride + Columns::shift(kx);
    }
};

/// Which units and channels a block has: units are dealt out in turn; of a cluster, which has one unit, each block has a part of
/// the channels. Worked out once, and read from shared memory where it is used: consumers have no registers for it.
struct __align__(16) Share {
    Index first, step, units;
    int first_chunk, last_chunk;  // the last is past it
    int splits, rank;
    unsigned by_width, by_height;  // reciprocals, for what is not far beyond a row or an image of positions

    __device__ __forceinline__ Share(const ForwardArguments& arguments) : units(arguments.layout[0]) {
        splits = splits_of(arguments);
        rank = static_cast<int>(blockIdx.x) % splits;
        first = static_cast<int>(blockIdx.x) / splits;
        step = splits == 1 ? gridDim.x : units;
        first_chunk = chunks * rank / splits;
        last_chunk = chunks * (rank + 1) / splits;
        by_width = reciprocal_of(row_places(arguments));
        by_height = reciprocal_of(arguments.pooled_height);
    }
    __device__ __forceinline__ Index unit(unsigned before) const {
        return first + before * step;
    }
    __device__ __forceinline__ static int splits_of(const ForwardArguments& arguments) {
        return fixed_splits == 0 ? static_cast<int>(arguments.layout[2] >> 1) : fixed_splits;
    }
    __device__ __forceinline__ static const Share& in(const unsigned char* shared) {
        return *reinterpret_cast<const Share*>(shared + share_at);
    }

    __device__ __forceinline__ static int filter_tile(Index unit) {
        return static_cast<int>(filter_tiles == 1 ? 0 : unit - divide(unit, filter_tiles) * filter_tiles);
    }
};
static_assert(sizeof(Share) <= 48);

/// A unit's tile: `count` places, the first of which is (image, row, column). Written by the fetching warp, read by all
/// others.
struct __align__(16) Unit {
    Index tile;
    Index image;
    int count, row, column;
    int blocks;  // of the map

    __device__ __forceinline__ Unit(const ForwardArguments& arguments, const Layout& layout, Index unit) {
        tile = divide(unit, filter_tiles);
        const int width = row_places(arguments);
        const Index area = static_cast<Index>(arguments.pooled_height) * width;
        const Index first = tile * layout.places;
        const Index left = arguments.batch * area - first;
        count = left < layout.places ? static_cast<int>(left) : layout.places;
        image = divide(first, area);
        const Index rest = first - image * area;
        row = static_cast<int>(divide(rest, width));
        column = static_cast<int>(rest - static_cast<Index>(row) * width);
        blocks = 0;
    }

    /// Where the map has the tile's position `index`, with tap 0 of channel 0.
    __device__ __forceinline__ int place_in_map(const ForwardArguments& arguments, const Layout& layout, const Share& share,
                                                int index) const {
        const unsigned width = arguments.pooled_width, height = arguments.pooled_height;
        const unsigned along = column + index;
        const unsigned rows_after = times_in(along, width, share.by_width);
        const unsigned segment = layout.by_rows ? rows_after : times_in(row + rows_after, height, share.by_height);
        const unsigned q = along - rows_after * width - (layout.by_rows && rows_after == 0 ? column : 0);
        return static_cast<int>((rows_after + segment * reach_h) * phases_h * layout.pitch + q);
    }
};
static_assert(sizeof(Unit) == 32);

/// One segment of a tile.
struct Segment {
    Index image;
    int row, column;    // its first place
    int rows, columns;  // of places
    int groups_before;  // row groups of the map before its own
    int pixels_before;  // floats of each channel's pixels before its own

    /// The line and column of pixels where the first position's window begins; negative in the padding.
    __device__ __forceinline__ int y() const { return Rows::step * row - padding_h; }
    __device__ __forceinline__ int x(const ForwardArguments& arguments) const {
        return Columns::step * first_position(arguments, column) - padding_w;
    }
    __device__ __forceinline__ int lines() const { return Rows::step * (rows - 1) + window_h; }
};

/// The segments of a tile: the first, equal ones between, and the last.
struct Segments {
    const ForwardArguments& arguments;
    const Layout& layout;
    const Unit& unit;
    int count;
    int width;  // of rows, in places
    int first_rows, full_rows, last_rows;

    __device__ __forceinline__ Segments(const ForwardArguments& arguments_, const Layout& layout_, const Unit& unit_)
        : arguments(arguments_), layout(layout_), unit(unit_) {
        width = row_places(arguments);
        const int rows = static_cast<int>(static_cast<unsigned>(unit.column + unit.count - 1) / width) + 1;
        full_rows = layout.by_rows ? 1 : arguments.pooled_height;
        first_rows = layout.by_rows ? 1 : min(rows, arguments.pooled_height - unit.row);
        const int others =
            rows == first_rows ? 0 : static_cast<int>(static_cast<unsigned>(rows - first_rows - 1) / full_rows) + 1;
        count = 1 + others;
        last_rows = others == 0 ? first_rows : rows - first_rows - (others - 1) * full_rows;
    }

    __device__ __forceinline__ Segment operator[](int index) const {
        const int rows = index == 0 ? first_rows : index == count - 1 ? last_rows : full_rows;
        Segment segment{unit.image, unit.row, 0, rows, width, 0, 0};
        if (layout.by_rows) {
            segment.row += index;
            if (segment.row >= arguments.pooled_height) segment.row = 0, ++segment.image;
            segment.column = index == 0 ? unit.column : 0;
            segment.columns = index == 0 ? min(unit.count, width - unit.column) : unit.count - (width - unit.column);
        } else if (index > 0) {
            segment.row = 0;
            segment.image += index;
        }
        if (index > 0) {
            const int rows_before = first_rows + (index - 1) * full_rows;
            const int lines_before = rows_before * Rows::step + index * (window_h - Rows::step);
            segment.groups_before = rows_before + index * reach_h;
            segment.pixels_before = (lines_before * layout.pixel_pitch + index * pixel_slack + 3) / 4 * 4;
        }
        return segment;
    }
};

}  // namespace kiln
