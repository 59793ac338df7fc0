// SPDX-License-Identifier: Apache-2.0
#pragma once

// The builders: box sums of a tile and a chunk of channels, from pixels in shared memory.
namespace kiln {

/// Divides small numbers: exact while dividend · divisor < 2^32.
struct Divider {
    unsigned divisor, reciprocal;

    __device__ __forceinline__ explicit Divider(unsigned by) : divisor(by), reciprocal(0xffffffffu / by + 1) {}
    __device__ __forceinline__ unsigned divide(unsigned dividend) const {
        return divisor == 1 ? dividend : __umulhi(dividend, reciprocal);
    }
};

// A thread makes one column of one phase at a time, or, where columns are an odd number of pixels apart, all phases: neighbouring
// threads' pixels then lie in different banks, and phases share what they load.
constexpr int phases_at_once = Columns::step % 2 == 1 ? phases_w : 1;
constexpr int column_loads = (phases_at_once == 1 ? 0 : Columns::residue(phases_w - 1)) + stride_w * (pool_w - 1) + 1;

__host__ __device__ constexpr bool uses_column(int column) {
    for (int phase = 0; phase < phases_at_once; ++phase) {
        for (int dx = 0; dx < pool_w; ++dx) {
            if (Columns::residue(phase) + stride_w * dx == column) return true;
        }
    }
    return false;
}

/// The sums of `pool_w` pixels of one line, one for each phase at once; pixels outside of the image count as zero.
__device__ __forceinline__ void sum_line(const float* pixels, int x, int width, bool inside, float (&sums)[phases_at_once]) {
    float values[column_loads];
#pragma unroll
    for (int column = 0; column < column_loads; ++column) {
        if (!uses_column(column)) continue;
        const bool there = inside && (padding_w == 0 || static_cast<unsigned>(x + column) < static_cast<unsigned>(width));
        values[column] = there ? pixels[column] : 0.0f;
    }
#pragma unroll
    for (int phase = 0; phase < phases_at_once; ++phase) {
        sums[phase] = values[Columns::residue(phase)];
#pragma unroll
        for (int dx = 1; dx < pool_w; ++dx) sums[phase] += values[Columns::residue(phase) + stride_w * dx];
    }
}

/// One thread's columns of a block. Lines past the segment's may be another stage's, on their way, or a map: they are not read,
/// and the boxes that they would be in are used by no window. `is_full`: there are none.
template <bool is_full>
__device__ __forceinline__ void build_columns(const ForwardArguments& arguments, const Layout& layout, const Block& block,
                                              const float* pixels, int x, float* map) {
    float lines[block_lines][phases_at_once];
#pragma unroll
    for (int i = 0; i < block_lines; ++i) {
        if (!uses_line(i)) continue;
        const bool inside = (is_full || i < block.lines) &&
                            (padding_h == 0 || static_cast<unsigned>(block.y + i) < static_cast<unsigned>(arguments.height));
        sum_line(pixels + i * layout.pixel_pitch, x, arguments.width, inside, lines[i]);
    }
#pragma unroll
    for (int group = 0; group < map_rows; ++group) {
        if (!is_full && group >= block.groups) break;
#pragma unroll
        for (int phase_h = 0; phase_h < phases_h; ++phase_h) {
            const int first = group * Rows::step + Rows::residue(phase_h);
#pragma unroll
            for (int phase = 0; phase < phases_at_once; ++phase) {
                float box = lines[first][phase];
#pragma unroll
                for (int dy = 1; dy < pool_h; ++dy) box += lines[first + stride_h * dy][phase];
                map[phase * layout.phase_stride + (group * phases_h + phase_h) * layout.pitch] = box;
            }
        }
    }
}

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
                const float* const from = pixels + start + column + (layout.by_rows ? 0 : block.x);
                float* const to = map + channel * layout.channel_stride + phase * layout.phase_stride + block.map + q;
                if (block.groups >= map_rows && block.lines >= block_lines) {
                    build_columns<true>(arguments, layout, block, from, block.x + column, to);
                } else {
                    build_columns<false>(arguments, layout, block, from, block.x + column, to);
                }
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
