// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sizes of one specialisation, and where things lie in shared memory.
namespace kiln {

// Of the tile, each thread has `thread_positions` by `thread_filters`.
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
constexpr int building_threads = threads;  // all of them
constexpr bool builds_apart = false;

// A chain of fused multiply-adds longer than this is cut, and the pieces are added (the numerics contract).
constexpr int longest_chain = 40;
constexpr int chains = ceil_divide(chunk_k, longest_chain);
constexpr int chain_k = ceil_divide(chunk_k, chains);

/// Weights stay in shared memory for the whole launch where they are few.
constexpr bool weights_stay = filter_tiles == 1 && chunks * chunk_k * filters <= 8192;
constexpr int weight_chunks = weights_stay ? chunks : 1;

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
using Boxes = float (*)[positions];
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

__device__ __forceinline__ int building_thread() {
    return thread_index();
}

/// All threads that share a tile meet.
__device__ __forceinline__ void sync_tile() {
    __syncthreads();
}

}  // namespace kiln
