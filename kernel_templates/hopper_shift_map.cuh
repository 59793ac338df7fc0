// SPDX-License-Identifier: Apache-2.0
#pragma once

// The builders: box sums of a tile and a chunk of channels, from pixels in shared memory.
namespace kiln {

/// One column of the map, in up to `map_rows` rows of one segment: what a thread makes at a time. Listed once for each unit.
struct __align__(16) Column {
    int pixels;     // where its first pixel is in a channel's pixels, but for the alignment
    int spot;       // its first row's; negative before the tile's first
    unsigned rows;  // how many, times 4, plus what the alignment follows from
    unsigned
        ends;  // bytes: its first line that is in the image, and the first that is not or is not fetched; the same of columns

    __device__ __forceinline__ int first_line() const {
        return ends & 0xff;
    }
    __device__ __forceinline__ int past_line() const {
        return ends >> 8 & 0xff;
    }
    __device__ __forceinline__ int first_column() const {
        return ends >> 16 & 0xff;
    }
    __device__ __forceinline__ int past_column() const {
        return ends >> 24;
    }
    __device__ __forceinline__ bool is_inside() const {
        return first_line() == 0 && past_line() >= block_lines && first_column() == 0 && past_column() >= column_loads;
    }
};
static_assert(sizeof(Column) == 16);

__device__ __forceinline__ unsigned byte_of(int value) {
    return static_cast<unsigned>(min(max(value, 0), 255));
}

/// Where the columns of one segment's row have all their pixels inside of the image: from `first` to `past`.
struct InnerColumns {
    int first, past;

    __device__ __forceinline__ InnerColumns(const Layout& layout, int x, int width) {
        const int room = width - column_loads - x;
        first = padding_w == 0 ? 0 : min(layout.pitch, (max(0, -x) + Columns::step - 1) / Columns::step);
        past = padding_w == 0 ? layout.pitch : room < 0 ? first : max(first, min(layout.pitch, room / Columns::step + 1));
    }
};

/// The builders list a tile's columns, `thread` of them all taking its share; returns their number.
__device__ __forceinline__ int list_columns(const Segments& segments, int thread, Column* columns) {
    const ForwardArguments& arguments = segments.arguments;
    const Layout& layout = segments.layout;
    int count = 0;
#pragma unroll 1
    for (int index = 0; index < segments.count; ++index) {
        const Segment segment = segments[index];
        const int all = (segment.rows + map_rows - 1) / map_rows * layout.pitch;
        const unsigned line = static_cast<unsigned>(segment.image) * in_channels * arguments.height + segment.y();
        const int x = segment.x();
        // Those at the image's edges come last, so that few warps have both kinds.
        const InnerColumns inner(layout, x, arguments.width);
        const int inner_width = inner.past - inner.first, all_inner = all / layout.pitch * inner_width;
        const unsigned source = address_of(arguments.x) + line * arguments.width + (layout.strips == 1 ? 0 : x);
#pragma unroll 1
        for (int i = thread; i < all; i += 32 * builder_warps) {
            const bool is_inner = padding_w == 0 || i < all_inner;
            const int width = is_inner ? inner_width : layout.pitch - inner_width, from = is_inner ? 0 : all_inner;
            const int block = static_cast<int>(static_cast<unsigned>(i - from) / width), row = block * map_rows;
            int q = i - from - block * width;
            if (is_inner || q >= inner.first) q += is_inner ? inner.first : inner_width;
            const int first_line = segment.y() + Rows::step * row, first_column = x + Columns::step * q;
            const int lines = segment.lines - Rows::step * row;  // of windows: those below the image count, as zeros
            columns[count + i] = {
                segment.pixels_before + Rows::step * row * layout.pixel_pitch + Columns::step * q + (layout.strips == 1 ? x : 0),
                (segment.rows_before + row) * layout.pitch + q - segments.unit.column,
                (lines <= 0 ? 0 : min(segment.rows - row, map_rows)) * 4 + (source & 3),
                byte_of(-first_line) | byte_of(min(lines, arguments.height - first_line)) << 8 | byte_of(-first_column) << 16 |
                    byte_of(arguments.width - first_column) << 24};
        }
        count += all;
    }
    return count;
}

/// What a thread may find around its column's pixels: nothing but pixels of its own stage; lines that are none, past the
/// segment's; or, where there is padding, pixels outside of the image.
enum class Surroundings { pixels, past_lines, padding };

/// The sums of `pool_w` pixels of one line, one for each phase; pixels outside of the image count as zero.
template <Surroundings around>
__device__ __forceinline__ void sum_line(const float* pixels, const Column& column, bool inside, float (&sums)[phases_w]) {
    float values[column_loads];
#pragma unroll
    for (int i = 0; i < column_loads; ++i) {
        if (!uses_column(i)) continue;
        if constexpr (around == Surroundings::padding) {
            values[i] = inside && i >= column.first_column() && i < column.past_column() ? pixels[i] : 0.0f;
        } else {
            values[i] = pixels[i];
        }
    }
#pragma unroll
    for (int phase = 0; phase < phases_w; ++phase) {
        sums[phase] = values[Columns::residue(phase)];
#pragma unroll
        for (int dx = 1; dx < pool_w; ++dx) sums[phase] += values[Columns::residue(phase) + stride_w * dx];
    }
}

/// Two floats as bf16, each rounded to nearest.
__device__ __forceinline__ unsigned pack_bf16(float low, float high) {
    unsigned result;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
    return result;
}

/// The smaller of two magnitudes with the product's sign.
__device__ __forceinline__ float min_xorsign_abs(float a, float b) {
    float result;
    asm("min.xorsign.abs.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}

/// Writes a box where it has a place: what the tensor cores see of it, and what that leaves.
__device__ __forceinline__ void put_box(unsigned char* to, float box, bool has_place) {
    if constexpr (is_tf32) {
        // The tensor core ignores what a mask would clear, and with it the payloads of some NaNs.
        const bool is_nan = box != box;
        const unsigned seen = is_nan ? 0x7fffffffu : __float_as_uint(box) + 0x1000u;
        if (has_place) *reinterpret_cast<unsigned*>(to) = seen;
    } else {
        // Rounded half away from zero; a NaN may become a zero. The rest is exact, and NaN where the box is not finite.
        const float rounded = __uint_as_float((__float_as_uint(box) + 0x1000u) & 0xffffe000u);
        const float rest = box - rounded;
        if (has_place) *reinterpret_cast<float*>(to) = rounded;
        if constexpr (bf16_corrections) {
            // The largest floats would round to infinity. A NaN may become a number here: the rest has it.
            const unsigned pair = pack_bf16(rest, min_xorsign_abs(box, __uint_as_float(0x7f7f0000u)));
            if (has_place) *reinterpret_cast<unsigned*>(to + part_bytes) = pair;
        } else {
            if (has_place) *reinterpret_cast<float*>(to + part_bytes) = rest;
        }
    }
}

/// Lines past the segment's may be another stage's, on their way, or a map: they are not read, and the boxes that they would be
/// in are used by no window. `map`: the thread's image and channel of spot 0 in phase 0.
template <Surroundings around>
__device__ __forceinline__ void build_column(const Layout& layout, const Column& column, int spots, const float* pixels,
                                             unsigned char* map) {
    float lines[block_lines][phases_w];
#pragma unroll
    for (int i = 0; i < block_lines; ++i) {
        if (!uses_line(i)) continue;
        const int line = around == Surroundings::past_lines ? min(i, column.past_line() - 1) : i;
        sum_line<around>(pixels + line * layout.pixel_pitch, column, i >= column.first_line() && i < column.past_line(),
                         lines[i]);
    }
#pragma unroll
    for (int row = 0; row < map_rows; ++row) {
        const int spot = column.spot + row * layout.pitch;
        // Rows of whole tiles are all there; what follows has no branches, so that rows go on side by side.
        const bool has_row =
            (!may_be_alone || static_cast<unsigned>(spot) < static_cast<unsigned>(spots)) && row < column.rows / 4;
        if (!may_be_beside && !has_row) continue;
        unsigned char* const to = map + (16 * spot << layout.beside_bits);
#pragma unroll
        for (int phase_h = 0; phase_h < phases_h; ++phase_h) {
            const bool has_place = may_be_beside ? has_row && !(is_short(phase_h) && spot >= spots - layout.pitch) : true;
            const int first = row * Rows::step + Rows::residue(phase_h);
#pragma unroll
            for (int phase_w = 0; phase_w < phases_w; ++phase_w) {
                float box = lines[first][phase_w];
#pragma unroll
                for (int dy = 1; dy < pool_h; ++dy) box += lines[first + stride_h * dy][phase_w];
                put_box(to + 16 * phase_start(phase_h, phase_w), box, has_place);
            }
        }
    }
}

/// A builder warp's life: its part of the map for each chunk of each unit. A warp takes eight columns at a time, or one of eight
/// images, with four lanes each, one for each channel: what they write then lies together.
__device__ __forceinline__ void build_maps(const ForwardArguments& arguments, unsigned char* shared) {
    const Layout layout(arguments);
    const Share share(arguments, layout);
    const Barriers barriers(shared);
    const int thread = static_cast<int>(threadIdx.x) - consumer_threads, channel = thread % 4;
    const int image = thread / 4 & ((1 << layout.beside_bits) - 1);
    Column* const columns = reinterpret_cast<Column*>(shared + columns_at);
    Count<pixel_stages> pixel_turn;
    Count<2> map_turn;
    Count<unit_places> unit_turn;
    int next = thread / 32;  // of the warps' turns
#pragma unroll 1
    for (int index = share.first; index < share.units; index += share.step) {
        if (unit_turn.count == 0) {
            barrier_sync(4, 32 * (builder_warps + 1));  // the unit is described
        } else {
            mbarrier_wait_parity(barriers.pixels_full + 8 * pixel_turn.index(), pixel_turn.parity());  // and so it is here
            barrier_sync(1, 32 * builder_warps);  // the last list has been used
        }
        const Unit& unit = reinterpret_cast<const Unit*>(shared + units_at)[unit_turn.index()];
        const int count = list_columns(Segments(arguments, layout, unit), thread, columns);
        const int spots = layout.with_reach(unit.count);
        unit_turn.advance();
        const int columns_at_once = 8 >> layout.beside_bits;
        const int turns = (count + columns_at_once - 1) >> (3 - layout.beside_bits);
        const int turns_past_round = static_cast<unsigned>(turns) % builder_warps;
        barrier_sync(1, 32 * builder_warps);
#pragma unroll 1
        for (int four = share.first_chunk * fours; four < (share.first_chunk + share.own_chunks) * fours; ++four) {
            if (four % fours == 0) mbarrier_wait_parity(barriers.map_empty + 8 * map_turn.index(), map_turn.parity() ^ 1);
            mbarrier_wait_parity(barriers.pixels_full + 8 * pixel_turn.index(), pixel_turn.parity());
            const float* pixels = reinterpret_cast<const float*>(shared + pixels_at) + pixel_turn.index() * pixel_floats +
                                  channel * layout.pixel_channel_stride;
            unsigned char* map = shared + maps_at + map_turn.index() * map_bytes + four % fours * four_bytes + 4 * channel;
            int aligned_channel = input_channel_of(four, channel);
            if constexpr (may_be_beside) {
                if (layout.copies_fours(arguments)) {  // of the channels, which follow each other, the first is aligned
                    const int first = input_channel_of(four, 0);
                    pixels += (aligned_channel - first - channel) * layout.pixel_channel_stride;
                    aligned_channel = first;
                }
                aligned_channel += image * in_channels;
                pixels += image * layout.pixel_image_stride;
                map += 16 * image;
            }
            const unsigned plane = alignment(arguments, 0, aligned_channel);
#pragma unroll 1
            for (int i = next * columns_at_once + (thread % 32 >> (2 + layout.beside_bits)); i < count;
                 i += columns_at_once * builder_warps) {
                // Channels take their turns in different columns: their pixels then lie in different banks.
                int own = layout.are_beside() ? i + channel : i;
                while (may_be_beside && own >= count) own -= count;
                const Column column = columns[own];
                const float* const from = pixels + column.pixels + ((column.rows + plane) & 3);
                if (column.rows < 4) continue;
                if constexpr (padding_h == 0 && padding_w == 0) {
                    build_column<Surroundings::past_lines>(layout, column, spots, from, map);
                } else if (column.is_inside()) {
                    build_column<Surroundings::pixels>(layout, column, spots, from, map);
                } else {
                    build_column<Surroundings::padding>(layout, column, spots, from, map);
                }
            }
            next -= turns_past_round;  // the warps go on with the next channels in their order
            if (next < 0) next += builder_warps;
            mbarrier_arrive(barriers.pixels_empty + 8 * pixel_turn.index());
            pixel_turn.advance();
            if ((four + 1) % fours != 0) continue;
            fence_proxy_async();
            mbarrier_arrive(barriers.map_full + 8 * map_turn.index());
            map_turn.advance();
        }
    }
}

}  // namespace kiln
