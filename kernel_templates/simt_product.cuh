// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a chunk is multiplied: sums[position][filter] += Σ over k of boxes[k][position]·weights[k][filter], in register tiles; then
// bias, activation, and sums over filters.
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
        return first_position + position_lane * position_vector + position_offset(i);
    }
    static __device__ constexpr int position_offset(int i) {
        return i / position_vector * position_lanes * position_vector + i % position_vector;
    }
    static constexpr int filter_vector = thread_filters % 4 == 0 ? 4 : thread_filters % 2 == 0 ? 2 : 1;
    __device__ __forceinline__ int filter(int j) const { return first_filter + filter_lane * filter_vector + filter_offset(j); }
    static __device__ constexpr int filter_offset(int j) {
        return j / filter_vector * filter_lanes * filter_vector + j % filter_vector;
    }
    __device__ __forceinline__ int filter_group() const { return first_filter / (filter_lanes * thread_filters); }
};

template <int vector>
__device__ __forceinline__ void ld_shared(unsigned from, float* to) {
    if constexpr (vector == 4) {
        asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3]) : "r"(from));
    } else if constexpr (vector == 2) {
        asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(to[0]), "=f"(to[1]) : "r"(from));
    } else {
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(to[0]) : "r"(from));
    }
}

/// sums += boxes[k]·weights[k], for one k; the addresses of both from this thread's first position and filter on.
__device__ __forceinline__ void multiply_step(unsigned boxes, unsigned weights, ThreadSums& sums) {
    float box[thread_positions], weight[thread_filters];
#pragma unroll
    for (int i = 0; i < thread_positions; i += ThreadTile::position_vector) {
        ld_shared<ThreadTile::position_vector>(boxes + 4 * ThreadTile::position_offset(i), box + i);
    }
#pragma unroll
    for (int j = 0; j < thread_filters; j += ThreadTile::filter_vector) {
        ld_shared<ThreadTile::filter_vector>(weights + 4 * ThreadTile::filter_offset(j), weight + j);
    }
#pragma unroll
    for (int i = 0; i < thread_positions; ++i) {
#pragma unroll
        for (int j = 0; j < thread_filters; ++j) sums[i][j] = fmaf(box[i], weight[j], sums[i][j]);
    }
}

/// A chunk in chains of at most `longest_chain` steps, each of which is added to `totals` when it ends.
__device__ __forceinline__ void multiply_chunk(const float (*boxes)[positions], const float* weights, ThreadSums& totals) {
    // Two steps at once rename sums, for which there are no registers where much else lives on.
    constexpr int unrolled = chain_k % 2 == 0 && !is_short_of_registers ? 2 : 1;
    const ThreadTile tile;
    unsigned box = shared_address(&boxes[0][tile.position(0)]);
    unsigned weight = shared_address(weights + tile.filter(0));
#pragma unroll 1
    for (int first = 0; first < chunk_k; first += chain_k) {
        ThreadSums sums;
        clear(sums);
#pragma unroll unrolled
        for (int k = first; k < first + chain_k; ++k) {
            if (chunk_k % chain_k != 0 && k == chunk_k) break;
            multiply_step(box, weight, sums);
            box += 4 * positions;
            weight += 4 * filters;
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
__device__ __forceinline__ void activate_tile(const Shared&, const ForwardArguments& arguments, int filter_tile,
                                              const ThreadSums& totals, float (&sums)[thread_positions]) {
    const float* const bias = static_cast<const float*>(arguments.weights) +
                              static_cast<Index>(filter_tiles) * chunks * chunk_k * filters + filter_tile * filters;
    const ThreadTile thread;
    float filter_bias[thread_filters];
#pragma unroll
    for (int j = 0; j < thread_filters; ++j) filter_bias[j] = spec::has_bias ? __ldg(bias + thread.filter(j)) : 0.0f;
    const auto is_real = [&](int j) {
        return out_channels % filters == 0 || filter_tile * filters + thread.filter(j) < out_channels;
    };
    sum_activated(totals, filter_bias, is_real, sums);
}

/// Adds the warp's filter lanes and puts a value for each position where `finish_images` looks for it.
__device__ __forceinline__ void store_position_sums(Shared& shared, bool is_first, float (&sums)[thread_positions]) {
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
