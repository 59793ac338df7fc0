// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a chunk is multiplied, and what becomes of the logits.
//
// A warp's part of a tile is 16·position_tiles × 8·filter_tiles_each. Which positions are the rows of a fragment is free, so lane
// 4g + t takes neighbouring ones, 2 or 4 with one load, for the rows that mma.sync wants of it:
//
//   boxes, k = t      [ … | 4g  4g+1  4g+2  4g+3 | … ]     rows g and g + 8 of the first fragment, and of the second:
//                           a[0] a[1]  a[0] a[1]           with k = t + 4 below them, a[2] and a[3] of both
//
// Banks: lanes of one g read four rows, 8 banks apart, and two (with 8-byte loads, four) g fill those 8. Weights lie as lanes
// want them, [8 filters][lane 4g + t]: large at k = t and t + 4, then small; column g of B is filter g of the eight, and of C and
// D a lane has filters 2t and 2t + 1 for rows g and g + 8.
namespace kiln {

/// Which positions and filters of the tile a thread holds.
struct ThreadTile {
    static constexpr int vector = position_tiles == 1 ? 2 : 4;  // neighbouring positions
    int g, t;
    int first_position, first_filter;  // of its warp
    int k_group;                       // which of the warps that divide k for this part of the tile

    __device__ __forceinline__ ThreadTile() {
        const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
        g = lane / 4;
        t = lane % 4;
        first_position = warp % warps_along_positions * (16 * position_tiles);
        first_filter = warp / warps_along_positions % warps_along_filters * (8 * filter_tiles_each);
        k_group = warp / (warps_along_positions * warps_along_filters);
    }
    /// Where its i-th position is in the tile: of fragment i / 2 row g, if i is even, or g + 8.
    __device__ __forceinline__ int position(int i) const { return first_position + g * vector + position_offset(i); }
    static __device__ constexpr int position_offset(int i) { return i / vector * 8 * vector + i % vector; }
    /// Its j-th filter likewise: of product j / 2 column 2t or 2t + 1.
    __device__ __forceinline__ int filter(int j) const { return first_filter + 2 * t + filter_offset(j); }
    static __device__ constexpr int filter_offset(int j) { return j / 2 * 8 + j % 2; }
    __device__ __forceinline__ int filter_group() const { return first_filter / (8 * filter_tiles_each); }
};

/// One k-step of 16 positions in a thread's registers: rounded values, and what rounding left.
struct Fragment {
    unsigned large[4];
    unsigned small[4];

    /// Sets element `i`. The large part is rounded to tf32, half away from zero, by integer arithmetic. A NaN may become a zero
    /// there, but is still one in the small part, as is what is left of an infinity.
    __device__ __forceinline__ void set(int i, float value) {
        if constexpr (is_tf32) {
            // The tensor core ignores what the mask would clear, and with it the payloads of some NaNs.
            large[i] = value != value ? 0x7fffffffu : __float_as_uint(value) + 0x1000u;
        } else {
            large[i] = (__float_as_uint(value) + 0x1000u) & 0xffffe000u;
            small[i] = __float_as_uint(value - __uint_as_float(large[i]));
        }
    }
};

/// The fragments of one k-step, of all positions of the warp. `boxes` is the address of row t and the lane's first position.
__device__ __forceinline__ void load_fragments(unsigned boxes, Fragment (&fragments)[position_tiles]) {
    constexpr int vector = ThreadTile::vector;
#pragma unroll
    for (int half = 0; half < 2; ++half) {  // k = t, then k = t + 4
#pragma unroll
        for (int first = 0; first < thread_positions; first += vector) {
            float values[vector];
            ld_shared<vector>(boxes + 4 * (4 * half * box_pitch + ThreadTile::position_offset(first)), values);
#pragma unroll
            for (int i = 0; i < vector; ++i) fragments[(first + i) / 2].set(2 * half + (first + i) % 2, values[i]);
        }
    }
}

/// What a lane holds of 8 × 8 weights: B's two registers, of the rounded weights and of what rounding left.
struct WeightFragment {
    unsigned large[2];
    unsigned small[2];

    __device__ __forceinline__ explicit WeightFragment(unsigned from) {
        float values[lane_weights];
        ld_shared<lane_weights>(from, values);
        large[0] = __float_as_uint(values[0]);
        large[1] = __float_as_uint(values[1]);
        if constexpr (!is_tf32) {
            small[0] = __float_as_uint(values[2]);
            small[1] = __float_as_uint(values[3]);
        }
    }
};

/// totals += boxes · weights over one chain of k-steps; `weights` is the address of the lane's of the warp's first 8 filters. The
/// small products come before the large ones, because the tensor core's adder truncates.
template <int steps>
__device__ __forceinline__ void multiply_chain(unsigned boxes, unsigned weights, ThreadSums& totals) {
    Fragment fragments[steps][position_tiles];
#pragma unroll
    for (int step = 0; step < steps; ++step) load_fragments(boxes + step * (4 * 8 * box_pitch), fragments[step]);
#pragma unroll
    for (int j = 0; j < filter_tiles_each; ++j) {
        float chain[position_tiles][4] = {};
        unsigned large[steps][2];
#pragma unroll
        for (int step = 0; step < steps; ++step) {
            const WeightFragment weight(weights + 4 * (step * step_floats + j * 32 * lane_weights));
            large[step][0] = weight.large[0];
            large[step][1] = weight.large[1];
            if constexpr (is_tf32) continue;
#pragma unroll
            for (int i = 0; i < position_tiles; ++i) {
                mma_m16n8k8_tf32(chain[i], fragments[step][i].large, weight.small[0], weight.small[1], chain[i]);
            }
#pragma unroll
            for (int i = 0; i < position_tiles; ++i) {
                mma_m16n8k8_tf32(chain[i], fragments[step][i].small, weight.large[0], weight.large[1], chain[i]);
            }
        }
#pragma unroll
        for (int step = 0; step < steps; ++step) {
#pragma unroll
            for (int i = 0; i < position_tiles; ++i) {
                mma_m16n8k8_tf32(chain[i], fragments[step][i].large, large[step][0], large[step][1], chain[i]);
            }
        }
#pragma unroll
        for (int i = 0; i < position_tiles; ++i) {
            totals[2 * i][2 * j] += chain[i][0];
            totals[2 * i][2 * j + 1] += chain[i][1];
            totals[2 * i + 1][2 * j] += chain[i][2];
            totals[2 * i + 1][2 * j + 1] += chain[i][3];
        }
    }
}

/// A chunk in chains, of which the last may be shorter; warps that divide k take them in turn.
__device__ __forceinline__ void multiply_chunk(const float (*boxes)[box_pitch], const float* weights, ThreadSums& totals) {
    const ThreadTile tile;
    unsigned box = shared_address(&boxes[tile.t][tile.position(0)]);
    unsigned weight = shared_address(weights + (tile.first_filter / 8 * 32 + static_cast<int>(threadIdx.x % 32)) * lane_weights);
    constexpr int whole_chains = chunk_steps / chain_steps;
    if constexpr (k_warps > 1) {
        box += tile.k_group * (chain_steps * 4 * 8 * box_pitch);
        weight += tile.k_group * (chain_steps * 4 * step_floats);
    }
#pragma unroll 1
    for (int chain = k_warps > 1 ? tile.k_group : 0; chain < whole_chains; chain += k_warps) {
        multiply_chain<chain_steps>(box, weight, totals);
        box += k_warps * (chain_steps * 4 * 8 * box_pitch);
        weight += k_warps * (chain_steps * 4 * step_floats);
    }
    if constexpr (chunk_steps % chain_steps != 0) {
        if (k_warps == 1 || tile.k_group == whole_chains % k_warps)
            multiply_chain<chunk_steps % chain_steps>(box, weight, totals);
    }
}

/// Adds the sums of the warps that have divided k, by halves; the first of them has all in the end. No warp reads boxes any more.
__device__ __forceinline__ void add_divided_sums(Shared& shared, ThreadSums& totals) {
    constexpr int group_threads = threads / k_warps;
    const int group = thread_index() / group_threads, in_group = thread_index() % group_threads;
#pragma unroll
    for (int groups = k_warps / 2; groups > 0; groups /= 2) {
        float* const exchanged = shared.box_memory + group % groups * (positions * filters) + in_group;
        const bool gives = group >= groups && group < 2 * groups, takes = group < groups;
#pragma unroll
        for (int i = 0; i < thread_positions; ++i) {
#pragma unroll
            for (int j = 0; j < thread_filters; ++j) {
                if (gives) exchanged[(i * thread_filters + j) * group_threads] = totals[i][j];
            }
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < thread_positions; ++i) {
#pragma unroll
            for (int j = 0; j < thread_filters; ++j) {
                if (takes) totals[i][j] += exchanged[(i * thread_filters + j) * group_threads];
            }
        }
        __syncthreads();
    }
}

/// Bias, activation, and the sum over this thread's filters: one value for each of its positions.
__device__ __forceinline__ void activate_tile(const ForwardArguments& arguments, int filter_tile, const ThreadSums& totals,
                                              float (&sums)[thread_positions]) {
    const ThreadTile thread;
    const int first = filter_tile * filters + thread.filter(0);
    const float* const bias =
        static_cast<const float*>(arguments.weights) + static_cast<Index>(filter_tiles) * chunks * chunk_floats + first;
    // How many filters there are from the thread's first one on, if it has their whole sums. Opaque, lest differences to each of
    // its filters be kept, in registers, while products are made.
    int real = k_warps == 1 || thread.k_group == 0 ? out_channels - first : 0;
    asm volatile("" : "+r"(real));
    float filter_bias[thread_filters];
#pragma unroll
    for (int j = 0; j < thread_filters; ++j) {
        filter_bias[j] = spec::has_bias ? __ldg(bias + ThreadTile::filter_offset(j)) : 0.0f;
    }
    constexpr bool all_are_real = out_channels % filters == 0 && k_warps == 1;
    const auto is_real = [&](int j) { return all_are_real || ThreadTile::filter_offset(j) < real; };
    sum_activated(totals, filter_bias, is_real, sums);
}

/// Adds the four lanes that share a position and puts its sum where `finish_images` looks for it.
__device__ __forceinline__ void store_position_sums(Shared& shared, bool is_first, float (&sums)[thread_positions]) {
    const ThreadTile thread;
#pragma unroll
    for (int i = 0; i < thread_positions; ++i) {
#pragma unroll
        for (int offset = 1; offset < 4; offset *= 2) sums[i] += __shfl_xor_sync(0xffffffffu, sums[i], offset);
        if (thread.t == 0 && (k_warps == 1 || thread.k_group == 0)) {
            double& slot = shared.position_sums[thread.filter_group()][thread.position(i)];
            slot = (is_first ? 0.0 : slot) + static_cast<double>(sums[i]);
        }
    }
}

}  // namespace kiln
