// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sizes of one specialisation, and where things lie in shared memory.
namespace kiln {

// A warp has `position_tiles` × `filter_tiles_each` products of 16 positions × 8 filters. Each such part of the tile of
// `positions` × `filters` has `k_warps` warps, which divide the k-steps of a chunk among them and add their sums in the end.
constexpr int position_tiles = static_cast<int>(spec::position_tiles);
constexpr int filter_tiles_each = static_cast<int>(spec::filter_tiles_each);
constexpr int thread_positions = 2 * position_tiles, thread_filters = 2 * filter_tiles_each;  // of a warp's part, in each lane
constexpr int warps_along_positions = positions / (16 * position_tiles);
constexpr int warps_along_filters = filters / (8 * filter_tiles_each);
static_assert(warps_along_positions * 16 * position_tiles == positions);
static_assert(warps_along_filters * 8 * filter_tiles_each == filters);

constexpr int k_warps = static_cast<int>(spec::k_warps);
constexpr int warps = warps_along_positions * warps_along_filters * k_warps;
constexpr int threads = 32 * warps;  // that multiply

// Box sums are built by warps that do nothing else, the last of the block, or where there are none by all in turn.
constexpr int builder_warps = static_cast<int>(spec::builder_warps);
constexpr bool builds_apart = builder_warps > 0;
constexpr int building_threads = builds_apart ? 32 * builder_warps : threads;
constexpr int block_threads = threads + 32 * builder_warps;
static_assert(positions % building_threads == 0 || building_threads % positions == 0);
static_assert(!builds_apart || chunks > 1 || filter_tiles == 1);  // box sums are not kept for the next tile of filters

// A chunk's k-steps, of 8 rows of boxes each; rows past the chunk's own stay zero. A chain of `chain_steps` k-steps starts at
// zero in the tensor cores, and is added to the totals, rounded to nearest, when it ends (the numerics contract).
constexpr int chunk_steps = ceil_divide(chunk_k, 8);
constexpr int chain_steps = static_cast<int>(spec::chain_steps);
// Operands of a chain of at most 4 k-steps stay in registers, so that its small products can come first; a longer one is all of
// k.
constexpr bool is_one_chain = chain_steps > 4;
static_assert(!is_one_chain || (chunks == 1 && k_warps == 1 && chain_steps == chunk_steps));

// Rows of boxes are an odd multiple of 8 words apart: then the four rows that the lanes of a fragment read at a time lie in
// different banks.
constexpr int box_pitch = positions + 8;
using Boxes = float (*)[box_pitch];
constexpr int box_stages = static_cast<int>(spec::box_stages);

// Where warps have divided k, half of them hand their sums to the other half, and so on: through the memory of the boxes, where
// rows of padding would not stay zero, or behind it if the next boxes are being built there.
constexpr int stage_floats = 8 * chunk_steps * box_pitch;
constexpr int exchanged_floats = k_warps / 2 * positions * filters;
constexpr int exchange_begin = builds_apart ? box_stages * stage_floats : 0;
static_assert(k_warps == 1 || chunk_k % 8 == 0);
constexpr int box_floats =
    exchange_begin + exchanged_floats > box_stages* stage_floats ? exchange_begin + exchanged_floats : box_stages* stage_floats;

// Weights in the order of their use: [k-step][8 filters][lane], what a lane needs of 8 × 8 weights for one product: those for
// k = t and k = t + 4. For tf32 they are rounded. For fp32 there are both parts, the rounded ones and what rounding left of them;
// but where builders bring many again and again, whole ones come, half as many bytes, and warps split them.
constexpr bool is_tf32 = spec::is_tf32 != 0;
constexpr int parts_floats = chunk_steps * (filters / 8 * 32 * (is_tf32 ? 2 : 4));

/// Weights stay in shared memory for the whole launch where they are few; else a chunk is multiplied while the next one's come.
constexpr bool weights_stay = filter_tiles == 1 && chunks * parts_floats <= 12288;
constexpr bool splits_weights = builds_apart && !is_tf32 && filter_tiles * chunks * parts_floats > 65536;
constexpr int lane_weights = is_tf32 || splits_weights ? 2 : 4;
constexpr int step_floats = filters / 8 * 32 * lane_weights;
constexpr int chunk_floats = chunk_steps * step_floats;
constexpr int weight_stages = weights_stay ? chunks : builds_apart ? box_stages : 2;

/// What a block keeps in shared memory.
struct __align__(16) Shared {
    float box_memory[box_floats];
    float weights[weight_stages * chunk_floats + (weights_stay ? filters : 0)];  // those that stay have their bias behind them
    double position_sums[warps_along_filters][positions];
    double warp_sums[warps];
    double running[threads];  // each thread's part of the image that the run is in the middle of
    Share share;
    Index current_image;                                                        // the image that the running sums belong to
    unsigned long long filled[box_stages], multiplied[box_stages];              // barriers; builds_apart alone uses them
    Place places[positions > building_threads ? positions : building_threads];  // of the threads' windows

    __device__ __forceinline__ Boxes boxes(int stage) {
        return reinterpret_cast<Boxes>(box_memory + stage * stage_floats);
    }
};
static_assert(sizeof(Shared) == spec::shared_bytes);

/// threadIdx.x, read anew each time: what follows from it would otherwise be kept, in registers that the product needs.
__device__ __forceinline__ int thread_index() {
    int index;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(index));
    return index;
}

__device__ __forceinline__ int building_thread() {
    return builds_apart ? thread_index() - threads : thread_index();
}

/// All threads that multiply meet.
__device__ __forceinline__ void sync_tile() {
    if constexpr (builds_apart) {
        bar_sync(1, threads);
    } else {
        __syncthreads();
    }
}

}  // namespace kiln
