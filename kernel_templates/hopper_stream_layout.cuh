// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a run-time shape is laid over the block: strips of columns, streams of rows, slots of the ring.
//
//   pooled map of an image, as strips of `blocks`·16 columns        a block's warps
//     +----------+----------+----------+                              stream 0: blocks 0 1 2 …   \  each stream walks down its own
//     |          |          |          |                              stream 1: blocks 0 1 2 …    | run of units, `blocks` warps
//     |  strip 0 |  strip 1 |  strip 2 |  a unit: a pooled row        …                          /  side by side
//     |          |          |          |  of a strip
//     +----------+----------+----------+
//
// Units are counted down a strip, then along the strips, then through the images; a run is a contiguous range of them.
namespace kiln {

/// a / b, rounded down, for 0 <= a and 1 <= b: a chain of a few instructions where a is small, as it mostly is. Sizes are worked out
/// before the first byte can be asked for.
__device__ __forceinline__ Index quotient(Index a, int b) {
    // Below 2^20 the half keeps the rounded quotient away from whole numbers by more than its error.
    if (a < 1 << 20) return static_cast<Index>((static_cast<float>(static_cast<int>(a)) + 0.5f) * reciprocal_approximate(static_cast<float>(b)));
    return a / b;
}
__device__ __forceinline__ int quotient(int a, int b) { return static_cast<int>(quotient(static_cast<Index>(a), b)); }

/// `items` units divided into `runs` runs: the first `longer` have length + 1, the others `length`.
struct Division {
    Index items;
    int runs;
    int longer;
    Index length;

    __device__ __forceinline__ void set(Index all_items, Index most_runs) {
        items = all_items;
        runs = static_cast<int>(most_runs < all_items ? most_runs : all_items);
        length = quotient(items, runs);
        longer = static_cast<int>(items - length * runs);
    }
    __device__ __forceinline__ Index begin(int run) const { return run * length + smaller(run, longer); }
    __device__ __forceinline__ int units(int run) const { return static_cast<int>(length) + (run < longer ? 1 : 0); }
    /// The run that has this unit.
    __device__ __forceinline__ Index of(Index unit) const {
        const Index in_longer = longer * (length + 1);
        return unit < in_longer ? unit / (length + 1) : longer + (unit - in_longer) / length;
    }
};

struct Layout {
    int blocks;
    int strips;
    int streams;  // of this block that have a run
    int pitch;    // of a slot's rows, in floats
    int channel_bytes;
    int slot_bytes;
    int slots;           // of each stream
    int parts;           // producer warps that share a stream's stages
    int word_bytes;      // what threads may copy at a time: 16, 8 or 4
    bool rows_together;  // a channel's rows lie together, in memory and in the slot
    bool is_bulk;        // the copy engine brings them
    Division division;

    /// By whole warps.
    __device__ __forceinline__ void set(const ForwardArguments& arguments) {
        const int row_blocks = (arguments.pooled_width + warp_columns - 1) / warp_columns;
        strips = (row_blocks + max_blocks - 1) / max_blocks;
        blocks = strips == 1 ? row_blocks : quotient(row_blocks + strips - 1, strips);

        const int columns = smaller(warp_columns * blocks, arguments.pooled_width);
        pitch = (lead + (columns - 1) * column_step + window_w + 3) / 4 * 4;
        const auto address = reinterpret_cast<unsigned long long>(arguments.x);
        const int alignment = static_cast<int>(address | 4ull * static_cast<unsigned>(arguments.width));
        word_bytes = alignment % 16 == 0 ? 16 : alignment % 8 == 0 ? 8 : 4;
        is_bulk = padding_h == 0 && padding_w == 0 && word_bytes == 16;
        rows_together = is_bulk && strips == 1;
        if (rows_together) pitch = arguments.width;
        channel_bytes = (stage_rows * pitch * 4 + bank_bytes + 127) / 128 * 128;
        slot_bytes = slot_head_bytes + pass_channels * channel_bytes;
        const int all_slots = quotient(ring_bytes / 128, slot_bytes / 128);

        const int grid = static_cast<int>(gridDim.x);
        const int block = static_cast<int>(blockIdx.x);
        const int most_streams = smaller(quotient(warps, blocks), larger(1, all_slots / 2));
        division.set(arguments.batch * strips * arguments.pooled_height, static_cast<Index>(grid) * most_streams);
        // Run r belongs to stream r / grid of block r mod grid: where there are few, they spread over the blocks.
        const int lane = static_cast<int>(threadIdx.x) % 32;
        streams = __popc(__ballot_sync(0xffffffffu, lane < most_streams && lane * grid + block < division.runs));
        parts = streams <= 1 ? 4 : streams == 2 ? 2 : 1;
        slots = smaller(quotient(all_slots, streams), max_slots);
    }

    /// Where a stream's ring starts, from the start of shared memory.
    __device__ __forceinline__ int ring_of(int stream) const { return ring_offset + stream * slots * slot_bytes; }
    __device__ __forceinline__ int run_of(int stream) const {
        return stream * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x);
    }
};

/// Where a stream is on its run.
struct Walk {
    Index image = 0;
    int strip = 0;
    int row = 0;    // of the pooled map
    int units = 0;  // left, from here on
    bool is_fresh = true;  // nothing is kept from a unit above

    __device__ __forceinline__ void start(const ForwardArguments& arguments, const Layout& layout, int run) {
        const Index begin = layout.division.begin(run);
        units = layout.division.units(run);
        const Index column = quotient(begin, arguments.pooled_height);
        row = static_cast<int>(begin - column * arguments.pooled_height);
        image = layout.strips == 1 ? column : quotient(column, layout.strips);
        strip = static_cast<int>(column - image * layout.strips);
    }

    /// `count` units on; not past the strip's end.
    __device__ __forceinline__ void advance(const ForwardArguments& arguments, const Layout& layout, int count) {
        units -= count;
        row += count;
        is_fresh = row == arguments.pooled_height;
        if (is_fresh) {
            row = 0;
            if (++strip == layout.strips) {
                strip = 0;
                ++image;
            }
        }
    }
};

/// What a consumer warp seldom needs: in shared memory, because its registers hold fragments.
struct Station {
    Walk walk;  // where the current segment starts
    int run;
    int block;
};

// Shared memory: the layout, the weights' barrier, the warps' stations; weights and bias; the rings.
// Each stream has a ring of slots of its own. A slot begins with its barriers `full` and `empty`, 8 bytes each.
constexpr int weights_barrier_offset = 80;
constexpr int stations_offset = 96;
static_assert(sizeof(Layout) <= weights_barrier_offset && sizeof(Station) == station_bytes);

}  // namespace kiln
