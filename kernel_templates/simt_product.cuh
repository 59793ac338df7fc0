// SPDX-License-Identifier: Apache-2.0
#pragma once

// The register-tiled product of a chunk: sums[position][filter] += Σ over k of boxes[k][position]·weights[k][filter].
namespace kiln {

/// Which positions and filters of the tile a thread holds. Lanes are laid out so that a warp's 16-byte loads of either operand
/// touch few distinct words: neighbours in the lowest bit share filters, neighbours in the next bits share positions.
struct ThreadTile {
    int position_lane, filter_lane;
    int first_position, first_filter;  // of its warp

    __device__ __forceinline__ ThreadTile() {
        const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
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

/// sums += boxes[k]·weights[k], for one k.
__device__ __forceinline__ void multiply_step(const float* boxes, const float* weights, const ThreadTile& tile,
                                              ThreadSums& sums) {
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

__device__ __forceinline__ void clear(ThreadSums& sums) {
#pragma unroll
    for (int i = 0; i < thread_positions; ++i) {
#pragma unroll
        for (int j = 0; j < thread_filters; ++j) sums[i][j] = 0;
    }
}

/// A chunk in chains of at most `longest_chain` steps, each of which is added to `totals` when it ends.
__device__ __forceinline__ void multiply_chunk(const Shared& shared, const float* weights, const ThreadTile& tile,
                                               ThreadSums& totals) {
    constexpr int unrolled = chain_k % 2 == 0 ? 2 : 1;
#pragma unroll 1
    for (int first = 0; first < chunk_k; first += chain_k) {
        ThreadSums sums;
        clear(sums);
#pragma unroll unrolled
        for (int k = first; k < first + chain_k; ++k) {
            if (chunk_k % chain_k != 0 && k == chunk_k) break;
            multiply_step(shared.boxes[k], weights + k * filters, tile, sums);
        }
#pragma unroll
        for (int i = 0; i < thread_positions; ++i) {
#pragma unroll
            for (int j = 0; j < thread_filters; ++j) totals[i][j] += sums[i][j];
        }
    }
}

}  // namespace kiln
