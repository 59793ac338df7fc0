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
    static constexpr int vector = position_tiles % 2 == 1 ? 2 : 4;  // neighbouring positions
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

/// A lane's box sums of one k-step, for all positions of the warp: of k = t, then of k = t + 4.
struct BoxValues {
    float values[2][thread_positions];

    /// `boxes` is the address of row t and the lane's first position.
    __device__ __forceinline__ void load(unsigned boxes) {
        constexpr int vector = ThreadTile::vector;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
#pragma unroll
            for (int first = 0; first < thread_positions; first += vector) {
                ld_shared<vector>(boxes + 4 * (4 * half * box_pitch + ThreadTile::position_offset(first)), &values[half][first]);
            }
        }
    }
    __device__ __forceinline__ void split(Fragment (&fragments)[position_tiles]) const {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
#pragma unroll
            for (int i = 0; i < thread_positions; ++i) fragments[i / 2].set(2 * half + i % 2, values[half][i]);
        }
    }
};

/// What a lane holds of 8 × 8 weights: B's two registers, of the rounded weights and of what rounding left.
struct WeightFragment {
    unsigned large[2];
    unsigned small[2];

    __device__ __forceinline__ void load(unsigned from) {
        float values[lane_weights];
        ld_shared<lane_weights>(from, values);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            if constexpr (splits_weights) {
                large[i] = (__float_as_uint(values[i]) + 0x1000u) & 0xffffe000u;
                small[i] = __float_as_uint(values[i] - __uint_as_float(large[i]));
            } else {
                large[i] = __float_as_uint(values[i]);
                if constexpr (!is_tf32) small[i] = __float_as_uint(values[2 + i]);
            }
        }
    }
};

/// The operands with which a chain begins, loaded while the one before it is multiplied.
struct Operands {
    BoxValues boxes;
    WeightFragment weights;

    __device__ __forceinline__ void load(unsigned from_boxes, unsigned from_weights) {
        boxes.load(from_boxes);
        weights.load(from_weights);
    }
};

/// totals += boxes · weights over one chain of k-steps; `weights` is the address of the lane's of the warp's first 8 filters. The
/// small products come before the large ones, because the tensor core's adder truncates. `first` has the operands of the first
/// step; those of the next chain's are loaded into it, from the other addresses.
template <int steps>
__device__ __forceinline__ void multiply_chain(unsigned boxes, unsigned weights, Operands& first, unsigned next_boxes,
                                               unsigned next_weights, ThreadSums& totals) {
    Fragment fragments[steps][position_tiles];
    first.boxes.split(fragments[0]);
#pragma unroll
    for (int step = 1; step < steps; ++step) {
        BoxValues values;
        values.load(boxes + step * (4 * 8 * box_pitch));
        values.split(fragments[step]);
    }
    const WeightFragment first_weight = first.weights;
    first.load(next_boxes, next_weights);
#pragma unroll
    for (int j = 0; j < filter_tiles_each; ++j) {
        float chain[position_tiles][4] = {};
        unsigned large[steps][2];
#pragma unroll
        for (int step = 0; step < steps; ++step) {
            WeightFragment weight = first_weight;
            if (step > 0 || j > 0) weight.load(weights + 4 * (step * step_floats + j * 32 * lane_weights));
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

/// Sums of one kind of products, as mma.sync holds them.
using PartSums = float[position_tiles][filter_tiles_each][4];

/// totals = boxes · weights, where one chain is all: the sums of small products and of large ones are apart, so that the small
/// ones need not come first. `boxes` and `weights` are addresses of the lane's.
__device__ __forceinline__ void multiply_in_one_chain(unsigned boxes, unsigned weights, ThreadSums& totals) {
    PartSums small = {}, large = {};
    Operands ahead;
    ahead.load(boxes, weights);
#pragma unroll 1
    for (int step = 0; step < chunk_steps; ++step) {
        Fragment fragments[position_tiles];
        ahead.boxes.split(fragments);
        const WeightFragment first_weight = ahead.weights;
        const bool is_last = step + 1 == chunk_steps;  // then the same are loaded again
        const unsigned next_boxes = is_last ? boxes : boxes + 4 * 8 * box_pitch;
        const unsigned next_weights = is_last ? weights : weights + 4 * step_floats;
        ahead.load(next_boxes, next_weights);
#pragma unroll
        for (int j = 0; j < filter_tiles_each; ++j) {
            WeightFragment weight = first_weight;
            if (j > 0) weight.load(weights + 4 * (j * 32 * lane_weights));
#pragma unroll
            for (int i = 0; i < position_tiles; ++i) {
                mma_m16n8k8_tf32(large[i][j], fragments[i].large, weight.large[0], weight.large[1], large[i][j]);
            }
            if constexpr (is_tf32) continue;
#pragma unroll
            for (int i = 0; i < position_tiles; ++i) {
                mma_m16n8k8_tf32(small[i][j], fragments[i].large, weight.small[0], weight.small[1], small[i][j]);
            }
#pragma unroll
            for (int i = 0; i < position_tiles; ++i) {
                mma_m16n8k8_tf32(small[i][j], fragments[i].small, weight.large[0], weight.large[1], small[i][j]);
            }
        }
        boxes = next_boxes;
        weights = next_weights;
    }
#pragma unroll
    for (int i = 0; i < thread_positions; ++i) {
#pragma unroll
        for (int j = 0; j < thread_filters; ++j) {
            const int each = i % 2 * 2 + j % 2;
            totals[i][j] = small[i / 2][j / 2][each] + large[i / 2][j / 2][each];
        }
    }
}

/// A chunk in chains, of which the last may be shorter; warps that divide k take them in turn.
__device__ __forceinline__ void multiply_chunk(const float (*boxes)[box_pitch], const float* weights, ThreadSums& totals) {
    const ThreadTile tile;
    unsigned box = shared_address(&boxes[tile.t][tile.position(0)]);
    unsigned weight = shared_address(weights + (tile.first_filter / 8 * 32 + static_cast<int>(threadIdx.x % 32)) * lane_weights);
    constexpr int whole_chains = chunk_steps / chain_steps, rest = chunk_steps % chain_steps;
    constexpr unsigned box_step = k_warps * (chain_steps * 4 * 8 * box_pitch);
    constexpr unsigned weight_step = k_warps * (chain_steps * 4 * step_floats);
    const int first_chain = k_warps > 1 ? tile.k_group : 0;
    if constexpr (is_one_chain) {
        multiply_in_one_chain(box, weight, totals);
        return;
    }
    if constexpr (k_warps > 1) {
        if (first_chain >= whole_chains + (rest > 0 ? 1 : 0)) return;  // there are fewer chains than warps
        box += first_chain * (chain_steps * 4 * 8 * box_pitch);
        weight += first_chain * (chain_steps * 4 * step_floats);
    }
    Operands ahead;
    ahead.load(box, weight);
#pragma unroll 1
    for (int chain = first_chain; chain < whole_chains; chain += k_warps) {
        const bool is_last = chain + k_warps >= whole_chains + (rest > 0 ? 1 : 0);  // then the same are loaded again
        const unsigned next_box = is_last ? box : box + box_step, next_weight = is_last ? weight : weight + weight_step;
        multiply_chain<chain_steps>(box, weight, ahead, next_box, next_weight, totals);
        box = next_box;
        weight = next_weight;
    }
    if constexpr (rest > 0) {
        if (k_warps == 1 || first_chain == whole_chains % k_warps) {
            multiply_chain<rest>(box, weight, ahead, box, weight, totals);
        }
    }
}

/// Adds the sums of the warps that have divided k, by halves; the first of them has all in the end. No warp reads boxes any more.
__device__ __forceinline__ void add_divided_sums(Shared& shared, ThreadSums& totals) {
    constexpr int group_threads = threads / k_warps;
    const int group = thread_index() / group_threads, in_group = thread_index() % group_threads;
#pragma unroll
    for (int groups = k_warps / 2; groups > 0; groups /= 2) {
        float* const exchanged = shared.box_memory + exchange_begin + group % groups * (positions * filters) + in_group;
        const bool gives = group >= groups && group < 2 * groups, takes = group < groups;
#pragma unroll
        for (int i = 0; i < thread_positions; ++i) {
#pragma unroll
            for (int j = 0; j < thread_filters; ++j) {
                if (gives) exchanged[(i * thread_filters + j) * group_threads] = totals[i][j];
            }
        }
        sync_tile();
#pragma unroll
        for (int i = 0; i < thread_positions; ++i) {
#pragma unroll
            for (int j = 0; j < thread_filters; ++j) {
                if (takes) totals[i][j] += exchanged[(i * thread_filters + j) * group_threads];
            }
        }
        sync_tile();
    }
}

/// Bias, activation, and the sum over this thread's filters: one value for each of its positions.
__device__ __forceinline__ void activate_tile(const Shared& shared, const ForwardArguments& arguments, int filter_tile,
                                              const ThreadSums& totals, float (&sums)[thread_positions]) {
    const ThreadTile thread;
    const int first = filter_tile * filters + thread.filter(0);
    const float* const bias =
        static_cast<const float*>(arguments.weights) + static_cast<Index>(filter_tiles) * chunks * chunk_floats;
    const float* const kept_bias = shared.weights + chunks * chunk_floats;
    // How many filters there are from the thread's first one on, if it has their whole sums. Opaque, lest differences to each of
    // its filters be kept, in registers, while products are made.
    int real = k_warps == 1 || thread.k_group == 0 ? out_channels - first : 0;
    asm volatile("" : "+r"(real));
    float filter_bias[thread_filters];
#pragma unroll
    for (int j = 0; j < thread_filters; ++j) {
        const int filter = first + ThreadTile::filter_offset(j);
        filter_bias[j] = !spec::has_bias ? 0.0f : weights_stay ? kept_bias[filter] : __ldg(bias + filter);
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
