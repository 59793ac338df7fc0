// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where there are no maps: the boxes of two neighbouring positions, summed by the thread that multiplies them, from pixels in
// shared memory. Each pixel is read once for all taps of both.
namespace kiln {

// The first columns of boxes, seen from the pair's first pixel: `dilation_w` apart for taps, a step for positions.
constexpr int box_columns = Columns::step + dilation_w * (kernel_w - 1) + 1;
constexpr int pair_columns = Columns::step + window_w;

__host__ __device__ constexpr bool has_box(int column) {
    for (int kx = 0; kx < kernel_w; ++kx) {
        if (dilation_w * kx == column || Columns::step + dilation_w * kx == column) return true;
    }
    return false;
}
__host__ __device__ constexpr bool pair_uses_column(int column) {
    for (int dx = 0; dx < pool_w; ++dx) {
        if (has_box(column - stride_w * dx)) return true;
    }
    return false;
}
__host__ __device__ constexpr bool pair_uses_line(int line) {
    for (int ky = 0; ky < kernel_h; ++ky) {
        for (int dy = 0; dy < pool_h; ++dy) {
            if (dilation_h * ky + stride_h * dy == line) return true;
        }
    }
    return false;
}

/// Σ over d < `length` of value(first + d·step). Neighbouring sums have all but one value in common: they are added in such an
/// order that the compiler finds that part of an even one and of the next odd one to be the same.
template <int length, int step, class Value>
__device__ __forceinline__ float sum_of_neighbours(int first, const Value& value) {
    const bool is_odd = first / step % 2 != 0;
    if (length == 1) return value(first);
    float middle = value(first + (is_odd ? 0 : step));
#pragma unroll
    for (int d = 1; d < length - 1; ++d) middle += value(first + (is_odd ? d : d + 1) * step);
    return is_odd ? middle + value(first + (length - 1) * step) : value(first) + middle;
}

/// A thread's pixels of one chunk, and the sums that it makes of them, line by line as batches of products need them.
struct Windows {
    static constexpr int fours = ceil_divide(chunk_channels, 4);  // the thread has a channel of each
    static_assert(has_maps || lanes_are_channels);
    static_assert(has_maps || (padding_h == 0 && padding_w == 0));
    static_assert(has_maps || fixed_splits == 1);

    const float* corners[fours];  // the pair's first pixels
    int pitch;
    float sums[fours][window_h][box_columns];  // of a line's pixels

    __device__ __forceinline__ void read_line(int four, int line) {
        const float* const pixels = corners[four] + line * pitch;
        float values[pair_columns];
#pragma unroll
        for (int column = 0; column < pair_columns; ++column) {
            if (pair_uses_column(column)) values[column] = pixels[column];
        }
#pragma unroll
        for (int column = 0; column < box_columns; ++column) {
            if (!has_box(column)) continue;
            sums[four][line][column] = sum_of_neighbours<pool_w, stride_w>(column, [&](int at) { return values[at]; });
        }
    }
    __device__ __forceinline__ float box(int four, int line, int column) const {
        return sum_of_neighbours<pool_h, stride_h>(line, [&](int at) { return sums[four][at][column]; });
    }

    /// How many lines of its channel the items up to this one need, and those before it.
    __device__ static constexpr int lines_of(int index) {
        return dilation_h * item(index).ky + stride_h * (pool_h - 1) + 1;
    }
    __device__ static constexpr int lines_before(int index) {
        return index == 0 || item(index).channel != item(index - 1).channel ? 0 : lines_of(index - 1);
    }
    /// Values of rows g, g + 8, which are the pair, at k = t, then of the same rows at k = t + 4: for `count` k-steps from
    /// `first` on.
    template <int first, int count>
    __device__ __forceinline__ void get(float (&result)[long_steps][4]) {
#pragma unroll
        for (int step = 0; step < count; ++step) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int index = 2 * (first + step) + half;
                const Item at = item(index);
#pragma unroll
                for (int line = lines_before(index); line < lines_of(index); ++line) {
                    if (pair_uses_line(line)) read_line(at.channel / 4, line);
                }
                const int line = dilation_h * at.ky, column = dilation_w * at.kx;
                result[step][2 * half] = box(at.channel / 4, line, column);
                result[step][2 * half + 1] = box(at.channel / 4, line, Columns::step + column);
            }
        }
    }
};

/// Where a place's pixels are in a channel's, but for the alignment, and what that follows from.
struct Corner {
    int offset;
    unsigned source;
    bool has_first, has_second;  // whether the pair's positions are no other's, and there

    __device__ __forceinline__ Corner(const ForwardArguments& arguments, const Layout& layout, const Share& share,
                                      const Unit& unit, int index) {
        const unsigned width = row_places(arguments), height = arguments.pooled_height;
        const unsigned along = unit.column + index;
        const unsigned rows_after = times_in(along, width, share.by_width);
        const int place = static_cast<int>(along - rows_after * width);
        const int of_segment =
            static_cast<int>(layout.by_rows ? rows_after : times_in(unit.row + rows_after, height, share.by_height));
        const Segment segment = Segments(arguments, layout, unit)[of_segment];
        const int row =
            layout.by_rows ? 0 : unit.row + static_cast<int>(rows_after) - of_segment * static_cast<int>(height) - segment.row;
        const int x = layout.by_rows ? segment.x(arguments) : 0;
        const int position = first_position(arguments, place);
        offset = segment.pixels_before + row * Rows::step * layout.pixel_pitch + position * Columns::step - x;
        const unsigned line = static_cast<unsigned>(segment.image) * in_channels * arguments.height + segment.y();
        source = address_of(arguments.x) + line * arguments.width + x;
        has_first = 2 * place == position;
        has_second = arguments.pooled_width > 1;
    }
    /// A channel's first pixel of the place.
    __device__ __forceinline__ const float* in(const ForwardArguments& arguments, const Layout& layout, const float* pixels,
                                               int chunk, int channel) const {
        return pixels + channel * layout.pixel_channel_stride + offset +
               alignment(arguments, source, input_channel_of(chunk, channel));
    }
};

}  // namespace kiln
