// SPDX-License-Identifier: Apache-2.0
#include "specialisation_simt.cuh"
#include "arguments.cuh"
#include "common.cuh"
#include "simt_sizes.cuh"
#include "simt_boxes.cuh"
#include "simt_product.cuh"
#include "simt_images.cuh"

// The fp32 family: plain fused multiply-adds, right for every spec and shape.
//
//     z[position, o] = bias[o] + Σ over k of box[k, position]·weight[k, o]        k = (channel, ky, kx)
//     y[image]       = Σ over its positions and all o of activation(z)
//
// Positions are flattened over the batch: m = (image·pooled_height + i)·pooled_width + j. A tile is `positions` consecutive m by
// `filters` filters, so tiles neither know nor care where rows and images end. Each block takes a run of consecutive tiles.
//
//     x ──loads──▶ registers ──box sums──▶ shared.boxes[k][position] ─┐
//     weights ───────────────copies──────▶ shared.weights[k][filter] ─┴─▶ sums[8][8] in registers, a chunk of k at a time
//     chunk's sums ──added──▶ totals[8][8] ──bias, activation──▶ a sum per position ──▶ a sum per image ──▶ meet ──▶ y
//
// Packed weights: [filter tile][chunk][k][filter], zero where padded, scaled; then the bias, [filter tile][filter], scaled.
namespace kiln {

/// Copies `floats` values, a multiple of 4 and aligned to 16 bytes except where a tile has one to three filters.
template <int floats>
__device__ __forceinline__ void copy_to_shared(const float* from, float* to) {
    if constexpr (floats % 4 == 0) {
#pragma unroll 2
        for (int i = static_cast<int>(threadIdx.x); i < floats / 4; i += threads) {
            reinterpret_cast<float4*>(to)[i] = __ldg(reinterpret_cast<const float4*>(from) + i);
        }
    } else {
#pragma unroll 1
        for (int i = static_cast<int>(threadIdx.x); i < floats; i += threads) to[i] = __ldg(from + i);
    }
}

/// Where each position's window starts, and which images the tile touches. Positions past the end take the last one's window:
/// they are computed and not counted.
__device__ __forceinline__ void locate_windows(Shared& shared, const ForwardArguments& arguments, int tile) {
    const Index begin = shared.share.begin_of(tile);
    const Index positions_per_image = static_cast<Index>(arguments.pooled_height) * arguments.pooled_width;
    const int count = static_cast<int>(min(static_cast<Index>(positions), arguments.batch * positions_per_image - begin));
    if (threadIdx.x == 0) shared.counts[tile % 2] = count;
#pragma unroll 1
    for (int position = static_cast<int>(threadIdx.x); position < positions; position += threads) {
        const Index m = begin + min(position, count - 1);
        const Index image = m / positions_per_image;
        const Index rest = m - image * positions_per_image;
        const int i = static_cast<int>(rest / arguments.pooled_width);
        const int j = static_cast<int>(rest - static_cast<Index>(i) * arguments.pooled_width);
        const int row = i * (stride_h * pool_h) - padding_h, column = j * (stride_w * pool_w) - padding_w;
        shared.origins[position] = (image * in_channels * arguments.height + row) * arguments.width + column;
        if constexpr (is_padded) {
            shared.corners[position][0] = row;
            shared.corners[position][1] = column;
        }
        if (position == 0) shared.first_image = image;
        if (position == count - 1) shared.last_image = image;
    }
}

/// Whether x and the width allow the widest loads.
__device__ __forceinline__ bool is_vectored(const ForwardArguments& arguments) {
    constexpr int vector = widest_vector();
    return vector > 1 && arguments.width % vector == 0 && reinterpret_cast<unsigned long long>(arguments.x) % (4 * vector) == 0;
}

/// The logits of one tile without their bias.
__device__ __forceinline__ void multiply_tile(Shared& shared, const ForwardArguments& arguments, const ThreadTile& thread,
                                              int filter_tile, int count, ThreadSums& totals) {
    clear(totals);
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; ++chunk) {
        if constexpr (!weights_stay) {
            const Index at = (static_cast<Index>(filter_tile) * chunks + chunk) * (chunk_k * filters);
            copy_to_shared<chunk_k * filters>(static_cast<const float*>(arguments.weights) + at, shared.weights);
        }
        // Where one chunk is all, its box sums serve every tile of filters.
        if (chunks > 1 || filter_tile == shared.share.first_filter_tile) {
            if (is_vectored(arguments)) {
                build_boxes<widest_vector()>(shared, arguments, chunk, count);
            } else {
                build_boxes<1>(shared, arguments, chunk, count);
            }
        }
        __syncthreads();
        multiply_chunk(shared, shared.weights + (weights_stay ? chunk * (chunk_k * filters) : 0), thread, totals);
        __syncthreads();
    }
}

/// Bias, activation, and the sum over this thread's filters: one value for each of its positions.
__device__ __forceinline__ void activate_tile(const ForwardArguments& arguments, const ThreadTile& thread, int filter_tile,
                                              const ThreadSums& totals, float (&sums)[thread_positions]) {
    const float* const bias = static_cast<const float*>(arguments.weights) +
                              static_cast<Index>(filter_tiles) * chunks * chunk_k * filters + filter_tile * filters;
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
__device__ __forceinline__ void store_position_sums(Shared& shared, const ThreadTile& thread, bool is_first,
                                                    float (&sums)[thread_positions]) {
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

extern "C" __global__ void __launch_bounds__(kiln::threads, static_cast<int>(spec::blocks))
    kiln_forward(const __grid_constant__ ForwardArguments arguments) {
    using namespace kiln;
    extern __shared__ float4 dynamic_shared[];
    Shared& shared = *reinterpret_cast<Shared*>(dynamic_shared);

    const ThreadTile thread;
    if (threadIdx.x == 0) {
        shared.share = share_of_work(arguments);
        shared.current_image = -1;
    }
    if constexpr (weights_stay) {
        copy_to_shared<chunks * chunk_k * filters>(static_cast<const float*>(arguments.weights), shared.weights);
    }
    __syncthreads();

    double running = 0;  // this thread's part of the image that the run is in the middle of
    for (int tile = 0;; ++tile) {
        const bool is_last_round = tile == shared.share.tiles;  // without positions: it finishes the last image
        if (!is_last_round) {
            locate_windows(shared, arguments, tile);
            __syncthreads();
            const bool continues = shared.current_image == shared.last_image;  // the whole tile is more of the same image
#pragma unroll 1
            for (int filter_tile = shared.share.first_filter_tile; filter_tile < shared.share.end_filter_tile; ++filter_tile) {
                ThreadSums totals;
                multiply_tile(shared, arguments, thread, filter_tile, shared.counts[tile % 2], totals);
                float sums[thread_positions];
                activate_tile(arguments, thread, filter_tile, totals, sums);
                if (continues) {
                    const int count = shared.counts[tile % 2];
#pragma unroll
                    for (int i = 0; i < thread_positions; ++i) sums[i] = thread.position(i) < count ? sums[i] : 0.0f;
                    running += static_cast<double>(pairwise_sum<thread_positions>(sums));
                } else {
                    store_position_sums(shared, thread, filter_tile == shared.share.first_filter_tile, sums);
                }
            }
            if (continues) continue;
        }
        const Index current = shared.current_image, next = is_last_round ? current + 1 : shared.last_image;
        running = finish_images(shared, arguments, current < 0 ? shared.first_image : current, next, shared.share.begin_of(tile),
                                is_last_round ? 0 : shared.counts[tile % 2], running);
        if (is_last_round) break;
        if (threadIdx.x == 0) shared.current_image = next;
        __syncthreads();
    }
}
