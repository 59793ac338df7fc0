// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a chunk is multiplied: sums[position][filter] += Σ over k of boxes[k][position]·weights[k][filter], in register tiles; then bias,
// activation, and sums over filters.
namespace kiln {

/// Which positions and filters of the tile a thread holds. Lanes are laid out so that a warp's 16-byte loads of either operand
/// touch few distinct words: neighbours in the lowest bit share filters, neighbours in the next bits share positions.
struct ThreadTile {
    int position_lane, filter_lane;
    int first_position, first_filter;  // of its warp

    __device__ __forceinline__ ThreadTile() {
        const int thread = thread_index();
        const int lane = thread % 32, warp = thread / 32;
        filter_lane = lane / 2 % filter_lanes;
        position_lane = lane % 2 + lane / (2 * filter_lanes) * 2;
        first_position = warp % warps_along_positions * position_lanes * thread_positions;
        first_filter = warp / warps_along_positions * filter_lanes * thread_filters;
    }
    /// Where its i-th position is in the tile: vectors, dealt to the lanes in turn. Filters likewise.
    static constexpr int position_vector = thread_positions % 4 == 0 ? 4 : thread_positions % 2 == 0 ? 2 : 1;
    __device__ __forceinline__ int position(int i) const {
        return first_position + (i / position_vector * position_lanes + position_lane) * position_vector + i % position_vector;
    }
    static constexpr int filter_vector = thread_filters % 4 == 0 ? 4 : thread_filters % 2 == 0 ? 2 : 1;
    __device__ __forceinline__ int filter(int j) const {
        return first_filter + (j / filter_vector * filter_lanes + filter_lane) * filter_vector + j % filter_vector;
    }
    __device__ __forceinline__ int filter_group() const { return first_filter / (filter_lanes * thread_filters); }
};

using ThreadSums = float[thread_positions][thread_filters];

template <int vector>
__device__ __forceinline__ void load_shared(const float* from, float* to) {
    if constexpr (vector == 4) {
        const float4 loaded = *reinterpret_cast<const float4*>(from);
        to[0] = loaded.x, to[1] = loaded.y, to[2] = loaded.z, to[3] = loaded.w;
    } else if constexpr (vector == 2) {
        const float2 loaded = *reinterpret_cast<const float2*>(from);
        to[0] = loaded.x, to[1] = loaded.y;
    } else {
        to[0] = *from;
    }
}

__device__ __forceinline__ void clear(ThreadSums& sums) {
#pragma unroll
    for (int i = 0; i < thread_positions; ++i) {
#pragma unroll
        for (int j = 0; j < thread_filters; ++j) sums[i][j] = 0;
    }
}

/// sums += boxes[k]·weights[k], for one k.
__device__ __forceinline__ void multiply_step(const float* boxes, const float* weights, const ThreadTile& tile, ThreadSums& sums) {
    float box[thread_positions], weight[thread_filters];
#pragma unroll
    for (int i = 0; i < thread_positions; i += ThreadTile::position_vector) {
        load_shared<ThreadTile::position_vector>(boxes + tile.position(i), box + i);
    }
#pragma unroll
    for (int j = 0; j < thread_filters; j += ThreadTile::filter_vector) {
        load_shared<ThreadTile::filter_vector>(weights + tile.filter(j), weight + j);
    }
#pragma unroll
    for (int i = 0; i < thread_positions; ++i) {
#pragma unroll
        for (int j = 0; j < thread_filters; ++j) sums[i][j] = fmaf(box[i], weight[j], sums[i][j]);
    }
}

/// A chunk in chains of at most `longest_chain` steps, each of which is added to `totals` when it ends.
__device__ __forceinline__ void multiply_chunk(const float (*boxes)[positions], const float* weights, ThreadSums& totals) {
    constexpr int unrolled = chain_k % 2 == 0 ? 2 : 1;
    const ThreadTile tile;
#pragma unroll 1
    for (int first = 0; first < chunk_k; first += chain_k) {
        ThreadSums sums;
        clear(sums);
#pragma unroll unrolled
        for (int k = first; k < first + chain_k; ++k) {
            if (chunk_k % chain_k != 0 && k == chunk_k) break;
            multiply_step(boxes[k], weights + k * filters, tile, sums);
        }
#pragma unroll
        for (int i = 0; i < thread_positions; ++i) {
#pragma unroll
            for (int j = 0; j < thread_filters; ++j) totals[i][j] += sums[i][j];
        }
    }
}

/// The logits of one tile, from position `begin` of the batch, without their bias.
__device__ __forceinline__ void multiply_tile(Shared& shared, const ForwardArguments& arguments, Index begin, int filter_tile,
                                              ThreadSums& totals) {
    clear(totals);
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; ++chunk) {
        build_chunk(shared, arguments, begin, filter_tile, chunk);
        __syncthreads();
        multiply_chunk(shared.boxes, shared.weights + (weights_stay ? chunk : 0) * (chunk_k * filters), totals);
        __syncthreads();
    }
}

/// Bias, activation, and the sum over this thread's filters: one value for each of its positions.
__device__ __forceinline__ void activate_tile(const ForwardArguments& arguments, int filter_tile,
                                              const ThreadSums& totals, float (&sums)[thread_positions]) {
    const float* const bias = static_cast<const float*>(arguments.weights) +
                              static_cast<Index>(filter_tiles) * chunks * chunk_k * filters + filter_tile * filters;
    const ThreadTile thread;
    float filter_bias[thread_filters];
#pragma unroll
    for (int j = 0; j < thread_filters; ++j) filter_bias[j] = spec::has_bias ? __ldg(bias + thread.filter(j)) : 0.0f;
#pragma unroll
    for (int i = 0; i < thread_positions; ++i) {
        float values[thread_filters];
#pragma unroll
        for (int j = 0; j < thread_filters; ++j) {
            const float value = activate(spec::has_bias ? totals[i][j] + filter_bias[j] : totals[i][j]);
            const bool real = out_channels % filters == 0 || filter_tile * filters + thread.filter(j) < out_channels;
            values[j] = real ? value : 0.0f;
        }
        sums[i] = pairwise_sum<thread_filters>(values);
    }
}

/// Adds the warp's filter lanes and puts a value for each position where `ImageSums::add_many` looks for it.
__device__ __forceinline__ void store_position_sums(Shared& shared, bool is_first,
                                                    float (&sums)[thread_positions]) {
    const ThreadTile thread;
#pragma unroll
    for (int i = 0; i < thread_positions; ++i) {
#pragma unroll
        for (int offset = 2; offset < 2 * filter_lanes; offset *= 2) sums[i] += __shfl_xor_sync(0xffffffffu, sums[i], offset);
        if (thread.filter_lane == 0) {
            double& slot = shared.position_sums[thread.filter_group()][thread.position(i)];
            slot = (is_first ? 0.0 : slot) + static_cast<double>(sums[i]);
        }
    }
}

}  // namespace kiln
