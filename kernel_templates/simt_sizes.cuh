// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sizes of one specialisation, and where things lie in shared memory.
namespace kiln {

__host__ __device__ constexpr int ceil_divide(int a, int b) {
    return (a + b - 1) / b;
}

constexpr int in_channels = static_cast<int>(spec::in_channels);
constexpr int out_channels = static_cast<int>(spec::out_channels);
constexpr int pool_h = static_cast<int>(spec::pool_h), pool_w = static_cast<int>(spec::pool_w);
constexpr int stride_h = static_cast<int>(spec::stride_h), stride_w = static_cast<int>(spec::stride_w);
constexpr int padding_h = static_cast<int>(spec::padding_h), padding_w = static_cast<int>(spec::padding_w);
constexpr int dilation_h = static_cast<int>(spec::dilation_h), dilation_w = static_cast<int>(spec::dilation_w);

// The tile: `positions` pooled positions by `filters` filters, `thread_positions` by `thread_filters` of them in each thread.
constexpr int positions = static_cast<int>(spec::positions);
constexpr int filters = static_cast<int>(spec::filters);
constexpr int thread_positions = static_cast<int>(spec::thread_positions);
constexpr int thread_filters = static_cast<int>(spec::thread_filters);
constexpr int filter_lanes = static_cast<int>(spec::filter_lanes);
constexpr int position_lanes = 32 / filter_lanes;
constexpr int warps_along_positions = positions / (position_lanes * thread_positions);
constexpr int warps_along_filters = filters / (filter_lanes * thread_filters);
static_assert(warps_along_positions * position_lanes * thread_positions == positions);
static_assert(warps_along_filters * filter_lanes * thread_filters == filters);

constexpr int warps = warps_along_positions * warps_along_filters;
constexpr int threads = 32 * warps;
static_assert(positions % threads == 0 || threads % positions == 0);

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

// A chain of fused multiply-adds longer than this is cut, and the pieces are added (the numerics contract).
constexpr int longest_chain = 40;
constexpr int chains = ceil_divide(chunk_k, longest_chain);
constexpr int chain_k = ceil_divide(chunk_k, chains);

// The pixels behind the box sums of one channel and block of taps, and how many lanes share the work of one such window.
constexpr int window_h = (pool_h - 1) * stride_h + (taps_h - 1) * dilation_h + 1;
constexpr int window_w = (pool_w - 1) * stride_w + (taps_w - 1) * dilation_w + 1;
constexpr int window_lanes = static_cast<int>(spec::window_lanes);

/// Weights stay in shared memory for the whole launch where they are few.
constexpr bool weights_stay = filter_tiles == 1 && chunks * chunk_k * filters <= 8192;
constexpr int weight_chunks = weights_stay ? chunks : 1;

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

/// What a block keeps in shared memory. Registers belong to the product, so whatever is not needed in each step lies here.
struct __align__(16) Shared {
    float boxes[chunk_k][positions];
    float weights[ceil_divide(weight_chunks * chunk_k * filters, 4) * 4];
    double position_sums[warps_along_filters][positions];
    double warp_sums[warps];
    double running[threads];  // each thread's part of the image that the run is in the middle of
    Share share;
    Index current_image;                                      // the image that the running sums belong to
    int zero;                                                 // for `thread_index`
    Place places[positions > threads ? positions : threads];  // of the threads' windows
};
static_assert(sizeof(Shared) == spec::shared_bytes);

/// Whether all 168 registers that three warps of a scheduler leave each other are taken: by sums and totals that live on while
/// chunks are brought in, with weights or from padded images.
constexpr bool is_short_of_registers = chunks > 1 && (!weights_stay || padding_h > 0 || padding_w > 0) &&
                                       thread_positions* thread_filters >= 64 && static_cast<int>(spec::blocks) * warps > 8;

/// threadIdx.x, worked out anew each time where registers are short: what follows from it would otherwise be kept, in registers
/// that the product needs. A volatile read of zero is what no part of the compiler sees through.
__device__ __forceinline__ int thread_index() {
    extern __shared__ float4 dynamic_shared[];
    int index;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(index));
    if constexpr (is_short_of_registers) index += reinterpret_cast<const volatile Shared*>(dynamic_shared)->zero;
    return index;
}

}  // namespace kiln
