// SPDX-License-Identifier: Apache-2.0
#pragma once

// The builders: box sums of a tile and a chunk of channels, from pixels in shared memory.
namespace kiln {

__host__ __device__ constexpr bool uses_column(int column) {
    for (int phase = 0; phase < phases_at_once; ++phase) {
        for (int dx = 0; dx < pool_w; ++dx) {
            if (Columns::residue(phase) + stride_w * dx == column) return true;
        }
    }
    return false;
}

/// The pixels of one line that a thread's sums are of; those outside of the image count as zero.
struct LinePixels {
    float values[column_loads];

    __device__ __forceinline__ void load(const float* pixels, int x, int width, bool inside) {
#pragma unroll
        for (int column = 0; column < column_loads; ++column) {
            if (!uses_column(column)) continue;
            const bool there = inside && (padding_w == 0 || static_cast<unsigned>(x + column) < static_cast<unsigned>(width));
            values[column] = there ? pixels[column] : 0.0f;
        }
    }
    /// The sums of `pool_w` of them, one for each phase at once.
    __device__ __forceinline__ void sum(float (&sums)[phases_at_once]) const {
#pragma unroll
        for (int phase = 0; phase < phases_at_once; ++phase) {
            sums[phase] = values[Columns::residue(phase)];
#pragma unroll
            for (int dx = 1; dx < pool_w; ++dx) sums[phase] += values[Columns::residue(phase) + stride_w * dx];
        }
    }
};

/// One thread's columns of a block. Lines past the segment's may be another stage's, on their way, or a map: they are not read,
/// and the boxes that they would be in are used by no window.
struct Column {
    const ForwardArguments& arguments;
    const Layout& layout;
    const float* pixels;
    float* map;
    int x, y;           // of the first pixel
    int groups, lines;  // that the segment has from here on

    __device__ __forceinline__ void load_line(LinePixels& loaded, int line, bool is_there) const {
        const bool inside =
            is_there && (padding_h == 0 || static_cast<unsigned>(y + line) < static_cast<unsigned>(arguments.height));
        loaded.load(pixels + line * layout.pixel_pitch, x, arguments.width, inside);
    }
    /// A row group's boxes, from the sums of its lines.
    __device__ __forceinline__ void store_boxes(const float (*sums)[phases_at_once], int group) const {
#pragma unroll
        for (int phase_h = 0; phase_h < phases_h; ++phase_h) {
            const int first = Rows::residue(phase_h);
#pragma unroll
            for (int phase = 0; phase < phases_at_once; ++phase) {
                float box = sums[first][phase];
#pragma unroll
                for (int dy = 1; dy < pool_h; ++dy) box += sums[first + stride_h * dy][phase];
                map[phase * layout.phase_stride + (group * phases_h + phase_h) * layout.pitch] = box;
            }
        }
    }

    /// All row groups at once. `is_full`: all of the block's are there, and their lines.
    template <bool is_full>
    __device__ __forceinline__ void build_at_once() const {
        float sums[block_lines][phases_at_once];
#pragma unroll
        for (int line = 0; line < block_lines; ++line) {
            if (!uses_line(line, map_rows)) continue;
            LinePixels loaded;
            load_line(loaded, line, is_full || line < lines);
            loaded.sum(sums[line]);
        }
#pragma unroll
        for (int group = 0; group < map_rows; ++group) {
            if (!is_full && group >= groups) break;
            store_boxes(sums + group * Rows::step, group);
        }
    }

    /// One row group after the other. What its boxes have in common with the next one's is summed once, and the next one's
    /// pixels are on their way while its boxes are made.
    __device__ __forceinline__ void build_in_turn() {
        float sums[group_lines][phases_at_once];
        LinePixels loaded[group_lines];
        const auto load = [&](int line) {
            if (uses_line(line, 2)) load_line(loaded[line], line, line < last_lines || line < lines);
        };
        const auto sum = [&](int line) {
            if (uses_line(line, 2)) loaded[line].sum(sums[line]);
        };
#pragma unroll
        for (int line = 0; line < group_lines; ++line) load(line);
#pragma unroll
        for (int line = 0; line < kept_lines; ++line) sum(line);
        int left = min(groups, map_rows);
#pragma unroll 1
        while (true) {
#pragma unroll
            for (int line = kept_lines; line < group_lines; ++line) sum(line);
            if (--left > 0) {
                pixels += Rows::step * layout.pixel_pitch;
                y += Rows::step;
                lines -= Rows::step;
#pragma unroll
                for (int line = kept_lines; line < group_lines; ++line) load(line);
            }
            store_boxes(sums, 0);
            if (left == 0) break;
            map += phases_h * layout.pitch;
#pragma unroll
            for (int line = 0; line < kept_lines; ++line) {
#pragma unroll
                for (int phase = 0; phase < phases_at_once; ++phase) sums[line][phase] = sums[line + Rows::step][phase];
            }
        }
    }

    __device__ __forceinline__ void build() {
        if constexpr (builds_in_turn) {
            build_in_turn();
        } else if (groups >= map_rows && lines >= block_lines) {
            build_at_once<true>();
        } else {
            build_at_once<false>();
        }
    }
};

/// A builder warp's life: its part of the map for each chunk of each unit. Warps take 32 columns of a block in turn, lanes one
/// each: columns of all the chunk's channels, one after the other.
__device__ __forceinline__ void build_maps(const ForwardArguments& arguments, unsigned char* shared) {
    const Layout layout(arguments);
    const Share& share = Share::in(shared);
    const Barriers barriers(shared);
    constexpr int kinds = phases_w / phases_at_once;  // of columns, side by side
    const int warp = static_cast<int>(threadIdx.x) / 32 - consumer_threads / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const Divider by_width(layout.pitch * kinds);
    const unsigned columns = by_width.divisor * chunk_channels;
    const Divider by_groups((columns + 31) / 32);
    Turn<pixel_stages> pixel_turn;
    Turn<2> map_turn;
    Turn<unit_places> unit_turn;
    Turn<block_places> block_turn;
    for (unsigned before = 0; share.unit(before) < share.units; ++before) {
        const Block* const blocks = reinterpret_cast<const Block*>(shared + blocks_at) + block_turn.index * most_blocks;
#pragma unroll 1
        for (int chunk = share.first_chunk; chunk < share.last_chunk; ++chunk) {
            mbarrier_wait_parity(barriers.map_empty + 8 * map_turn.index, map_turn.parity ^ 1);
            mbarrier_wait_parity(barriers.pixels_full + 8 * pixel_turn.index, pixel_turn.parity);
            const float* const pixels = reinterpret_cast<const float*>(shared + pixels_at) + pixel_turn.index * pixel_floats;
            float* const map = reinterpret_cast<float*>(shared + maps_at) + map_turn.index * map_floats;
            const unsigned work = reinterpret_cast<const Unit*>(shared + units_at)[unit_turn.index].blocks * by_groups.divisor;
#pragma unroll 1
            for (unsigned at = warp; at < work; at += builder_warps) {
                const unsigned of_block = by_groups.divide(at);
                const unsigned place = (at - of_block * by_groups.divisor) * 32 + lane;
                const unsigned channel = by_width.divide(place);
                const unsigned u = place - channel * by_width.divisor;
                if (place >= columns) continue;
                const Block& block = blocks[of_block];
                const int q = u / kinds, phase = u % kinds;
                const int column = Columns::step * q + Columns::residue(phase);
                const int start = channel * layout.pixel_channel_stride + block.pixels +
                                  alignment(arguments, block.source, input_channel_of(chunk, channel));
                Column{arguments,
                       layout,
                       pixels + start + column + (layout.by_rows ? 0 : block.x),
                       map + channel * layout.channel_stride + phase * layout.phase_stride + block.map + q,
                       block.x + column,
                       block.y,
                       block.groups,
                       block.lines}
                    .build();
            }
            mbarrier_arrive(barriers.map_full + 8 * map_turn.index);
            mbarrier_arrive(barriers.pixels_empty + 8 * pixel_turn.index);
            map_turn.advance();
            pixel_turn.advance();
        }
        unit_turn.advance();
        block_turn.advance();
    }
}

}  // namespace kiln
