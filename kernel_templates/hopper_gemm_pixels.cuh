// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pixels on their way into shared memory, by bulk copies of whole runs of lines, and the work on the maps that are made of them.
namespace kiln {

/// Up to `map_rows` row groups of one segment, in all channels and columns.
struct __align__(16) Block {
    int map;          // where its first row group is in a channel's map
    int pixels;       // where its first line is in a channel's pixels, but for the alignment
    unsigned source;  // which the alignment follows from
    int x, y;         // the first pixel's place in the image; negative in the padding
    int groups;       // that are the segment's
    int lines;        // that the segment has from the block's first
    int unused;
};
static_assert(sizeof(Block) == 32);

/// The channel of x behind a chunk's channel. Those past the last have weights of zero; they get the last one, which the windows
/// use anyway.
__device__ __forceinline__ int input_channel_of(int chunk, int channel) {
    if constexpr (twos_in_turn) {
        const int four = chunk * (chunk_channels / 4) + channel / 4;
        return four / 2 * 8 + four % 2 * 2 + channel / 2 % 2 * 4 + channel % 2;
    }
    return min(chunk * chunk_channels + channel, in_channels - 1);
}

/// Lists a tile's runs: the lines of a segment, or its only one where segments are rows, clipped to the image. Returns their
/// number.
__device__ __forceinline__ int list_runs(const Segments& segments, Run* runs) {
    const ForwardArguments& arguments = segments.arguments;
    const bool by_rows = segments.layout.by_rows;
    const int count = segments.count * (by_rows ? window_h : 1);
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x % 32); i < count; i += 32) {
        const Segment segment = segments[by_rows ? i / window_h : i];
        const int y = segment.y(), x = by_rows ? segment.x(arguments) : 0;
        const int first_line = max(by_rows ? i % window_h : 0, -y);
        const int last_line = min(by_rows ? i % window_h + 1 : segment.lines(), arguments.height - y);  // past it
        const int first_column = max(x, 0);
        const int last_column = by_rows
                                    ? min(x + (segment.columns * place_positions - 1) * Columns::step + window_w, arguments.width)
                                    : arguments.width;
        const bool is_empty = last_line <= first_line || last_column <= first_column;
        runs[i] = {(segment.image * in_channels * arguments.height + y + first_line) * arguments.width + first_column,
                   segment.pixels_before + first_line * segments.layout.pixel_pitch + first_column - x,
                   is_empty ? 0 : (last_line - first_line - 1) * arguments.width + last_column - first_column};
    }
    return count;
}

/// Lists the blocks of a tile's map and returns their number.
__device__ __forceinline__ int list_blocks(const Segments& segments, Block* blocks) {
    const ForwardArguments& arguments = segments.arguments;
    const Layout& layout = segments.layout;
    const auto blocks_of = [](int rows) { return (rows + reach_h + map_rows - 1) / map_rows; };
    const int first = blocks_of(segments.first_rows), full = blocks_of(segments.full_rows);
    const int count = first + (segments.count == 1 ? 0 : (segments.count - 2) * full + blocks_of(segments.last_rows));
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x % 32); i < count; i += 32) {
        const int index = i < first ? 0 : 1 + static_cast<int>(static_cast<unsigned>(i - first) / full);
        const int group = (i - (index == 0 ? 0 : first + (index - 1) * full)) * map_rows;
        const Segment segment = segments[index];
        const int groups = segment.rows + reach_h - group;
        const unsigned line = static_cast<unsigned>(segment.image) * in_channels * arguments.height + segment.y();
        blocks[i] = {(segment.groups_before + group) * phases_h * layout.pitch,
                     segment.pixels_before + Rows::step * group * layout.pixel_pitch,
                     address_of(arguments.x) + line * arguments.width + (layout.by_rows ? segment.x(arguments) : 0),
                     segment.x(arguments),
                     segment.y() + Rows::step * group,
                     groups,
                     segment.lines() - Rows::step * group,
                     0};
    }
    return count;
}

/// A warp: asks for the pixels of a chunk, `run_count` runs in each of its channels. It has yet to arrive at `full`.
__device__ __forceinline__ void fetch_chunk(const ForwardArguments& arguments, const Layout& layout, const Run* runs,
                                            int run_count, int chunk, float* stage, unsigned full) {
    const Index plane = static_cast<Index>(arguments.height) * arguments.width;
    const Index all = arguments.batch * in_channels * plane;
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x % 32); i < run_count * chunk_channels; i += 32) {
        const Run run = runs[i / chunk_channels];
        const int channel = i % chunk_channels;
        const Index at = run.source + input_channel_of(chunk, channel) * plane;
        const int target = channel * layout.pixel_channel_stride + run.target;
        const int shift = static_cast<int>(address_of(arguments.x + at) - target) & 3;
        if (run.count > 0) fetch_run(arguments.x, all, at, run.count, stage + target + shift, full);
    }
}

}  // namespace kiln
