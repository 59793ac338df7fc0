// SPDX-License-Identifier: Apache-2.0
#pragma once

// What families whose blocks have tiles of positions share: sizes of one specialisation that the spec, the tile's `positions` and
// `filters`, and its chunk fix.
namespace kiln {

// The tile: `positions` pooled positions by `filters` filters.
constexpr int positions = static_cast<int>(spec::positions);
constexpr int filters = static_cast<int>(spec::filters);

// The reduction runs over (channel, ky, kx) in chunks of `chunk_channels` channels by a block of taps that divides the kernel.
constexpr int chunk_channels = static_cast<int>(spec::chunk_channels);
constexpr int taps_h = static_cast<int>(spec::taps_h), taps_w = static_cast<int>(spec::taps_w);
constexpr int taps = taps_h * taps_w;
constexpr int tap_blocks_h = static_cast<int>(spec::kernel_h) / taps_h;
constexpr int tap_blocks_w = static_cast<int>(spec::kernel_w) / taps_w;
constexpr int tap_blocks = tap_blocks_h * tap_blocks_w;
constexpr int chunks = ceil_divide(in_channels, chunk_channels) * tap_blocks;
constexpr int chunk_k = chunk_channels * taps;
constexpr int filter_tiles = ceil_divide(out_channels, filters);
static_assert(taps_h * tap_blocks_h == spec::kernel_h && taps_w * tap_blocks_w == spec::kernel_w);

// The pixels behind the box sums of one channel and block of taps, and how many lanes share the work of one such window.
constexpr int window_h = (pool_h - 1) * stride_h + (taps_h - 1) * dilation_h + 1;
constexpr int window_w = (pool_w - 1) * stride_w + (taps_w - 1) * dilation_w + 1;
constexpr int window_lanes = static_cast<int>(spec::window_lanes);

/// What a block has to do: the `run`-th of `runs` runs of consecutive tiles and, where tiles are few and `splits` blocks divide
/// the filters of each run, the `split`-th part of the filters.
struct Share {
    Runs runs;
    int run, split, splits;
    int tiles;    // of the run
    Index begin;  // its first position in the batch
    int first_filter_tile, end_filter_tile;

    __device__ __forceinline__ Index begin_of(int tile) const { return begin + static_cast<Index>(tile) * positions; }
};

/// One window's place, in the image and in x.
struct Place {
    Index offset;     // of its first pixel, in channel 0
    int row, column;  // of that pixel, negative in the padding
};

}  // namespace kiln
